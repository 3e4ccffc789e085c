"""`fabric thresholds`: a count that is absent has its reason, and an option that changes nothing is said to."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from fabric.cli.main import main

LEAF: Final = str(Path(__file__).parents[2] / "docs/howto/validate-example/after/leaf1.json")


def test_a_profile_without_xon_offset_has_the_reason_why_xon_is_not_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["thresholds", LEAF]) == 0
    found = capsys.readouterr()
    assert "no XON of pg_lossless_400000_40m_profile: it has xon 37888 B and no xon_offset" in found.out
    assert found.err == ""


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--queue-minimums", "shared"), "--queue-minimums shared changes no count"),
        (("--lossy-pool", "egress_lossless_pool"), "--lossy-pool egress_lossless_pool changes no count"),
        (("--asic", "td3"), "--asic td3 is trident3, and the HWSKU 'ACS-MSN4700'"),
    ],
)
def test_an_option_without_effect_or_against_the_file_is_said(
    options: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["thresholds", LEAF, *options]) == 0
    assert words in capsys.readouterr().err
