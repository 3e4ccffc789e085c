"""Wrong words of a newcomer: each is answered with what is wanted, and what is made on the way is named."""

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
def test_init_says_that_it_makes_a_folder(what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "absent" / "twice" / "mine"
    assert main(["init", what, "-o", str(out)]) == 0
    assert capsys.readouterr().out.startswith(f"made the folder {out.parent}, which did not exist\nwrote ")
    assert main(["init", what, "-o", str(out), "--force"]) == 0
    assert capsys.readouterr().out.startswith("wrote ")


def test_init_names_a_parent_that_is_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["init", "incast", "-o", str(tmp_path / "file" / "mine.yml")]) == 2
    assert str(tmp_path / "file") in capsys.readouterr().err
