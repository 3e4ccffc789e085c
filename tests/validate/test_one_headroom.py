"""One statement of a headroom: `fabric validate` and `fabric headroom` say the same bytes in the same words."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from fabric.cli.main import main
from fabric.configs.load import load_network
from fabric.validate.runner import Verdict, validate
from tests.mistakes.mistake import good, replaced, write


def judged(language: str, folder: Path) -> Verdict:
    """The verdict on the working fabric."""
    write(language, good(language), folder)
    return validate(load_network([folder]))


def test_the_command_beside_a_finding_says_what_the_finding_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = {it.text: it for it in judged("sonic", tmp_path).findings if it.check.id == "H1"}
    assert found
    for text, finding in found.items():
        (command,) = (it.value for it in finding.evidence if it.value.startswith("fabric headroom"))
        assert main(shlex.split(command)[1:]) == 1
        assert text.startswith(capsys.readouterr().out.splitlines()[-1])


def test_the_line_of_the_verdict_says_that_only_assumptions_fail(tmp_path: Path) -> None:
    assert "all have bound C of 802.3, so packets are lost only as far as" in judged("sonic", tmp_path).headroom


@pytest.mark.parametrize(
    ("language", "why"),
    [
        ("eos", "the file states no headroom, the default of Arista EOS acts"),
        ("nxos", "the default of Cisco NX-OS acts, which is for up to 100 m of cable"),
        ("nvue", "the file states no headroom, the default of Cumulus Linux acts"),
    ],
)
def test_ports_whose_headroom_no_file_states_are_named_with_their_need(language: str, why: str, tmp_path: Path) -> None:
    files = good(language)
    files["topology.json"] = replaced('"links": [\n  {', '"links": [\n  {"length_m": 40,')(files["topology.json"])
    write(language, files, tmp_path)
    said = validate(load_network([tmp_path])).headroom
    assert "not judged on " in said
    assert "which needs " in said
    assert " B at 40 m if the peer stops" in said
    assert why in said


@pytest.mark.parametrize("language", ["eos", "nxos"])
def test_without_a_length_the_line_says_where_to_give_one(language: str, tmp_path: Path) -> None:
    assert "no length of its cable is known (length_m in the links file)" in judged(language, tmp_path).headroom
