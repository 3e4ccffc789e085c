"""Wrong words of a newcomer: each is answered with what is wanted, and nothing is made on the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric.cli.main import main


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["serve", "incast", "--dilation", "fast"], "'fast' is not a number; seconds of wall clock"),
        (["run", "incast", "--threads", "many"], "'many' is not a whole number; "),
    ],
)
def test_a_word_in_place_of_a_number_is_answered_with_the_options_meaning(
    words: list[str], answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    err = capsys.readouterr().err
    assert answer in err
    assert "invalid" not in err


@pytest.mark.parametrize("what", ["incast", "validate-example"])
def test_init_makes_no_folder_for_its_file(what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "absent" / "mine"
    assert main(["init", what, "-o", str(out)]) == 2
    assert f"the folder {out.parent} does not exist" in capsys.readouterr().err
    assert not out.parent.exists()
    out.parent.mkdir()
    assert main(["init", what, "-o", str(out)]) == 0
