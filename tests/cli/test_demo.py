"""`fabric demo`: the gallery, and a demo in an empty folder."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fabric import shipped
from fabric.cli import demo, demo_gallery
from fabric.cli.demo_gallery import DEMOS, Demo, Step
from fabric.cli.main import build_parser, main
from playbooks.catalogue import slugs

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_gallery_has_a_dozen_demos_with_names_of_their_own() -> None:
    assert len(DEMOS) >= 12
    assert len({it.name for it in DEMOS}) == len(DEMOS)


@pytest.mark.parametrize("it", DEMOS, ids=lambda it: it.name)
def test_a_demo_asks_a_question_and_names_three_commands(it: Demo) -> None:
    assert it.question.endswith("?")
    assert it.shows.endswith(".")
    assert len(f"{it.name}  {it.question}") <= 78
    assert 0 < it.seconds <= 20
    assert len(it.ask) == 3
    assert it.page.startswith("{}/")


def test_every_command_of_the_gallery_is_one_of_this_program() -> None:
    root, _ = build_parser()
    for it in DEMOS:
        for words in (*(step.words for step in it.steps), *it.ask):
            args = root.parse_args([word.format("runs/demo") for word in words])
            if words[:2] in {("playbook", "run"), ("playbook", "show")}:
                assert args.playbook in slugs()
            if words[0] == "run":
                assert args.scenario.name in {file.stem for file in shipped.scenarios()}


def test_without_a_name_the_gallery_is_listed_and_nothing_is_written(
    empty: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo"]) == 0
    shown = capsys.readouterr().out
    for it in DEMOS:
        assert it.name in shown
        assert it.question in shown
    assert "fabric demo pfc-storm" in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert list(empty.iterdir()) == []


def test_the_list_as_json_has_everything_that_the_gallery_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["demos"]
    assert [it["name"] for it in found] == [it.name for it in DEMOS]
    assert set(found[0]) == {"name", "question", "shows", "seconds", "commands", "next"}
    assert found[0]["commands"][0].startswith("fabric playbook run pfc-storm ")


def test_an_unknown_demo_is_told_the_nearest(empty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "pfc-strom"]) == 2
    assert "did you mean 'pfc-storm'?" in capsys.readouterr().err
    assert main(["demo", "zzz"]) == 2
    assert "`fabric demo` lists them" in capsys.readouterr().err
    assert list(empty.iterdir()) == []


def test_a_demo_leaves_a_page_and_says_what_to_ask_next(empty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "validate"]) == 0
    shown = capsys.readouterr().out
    assert "$ fabric validate runs/demo-validate/after" in shown
    assert "page: runs/demo-validate/verdict.html" in shown
    assert shown.rpartition("next:")[2].count("\n  fabric ") == 3
    assert (empty / "runs/demo-validate/verdict.html").is_file()
    assert main(["demo", "validate", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["page"] == "runs/demo-validate-2/verdict.html"
    assert [it["exit_code"] for it in found["commands"]] == [0, 1]
    assert found["as_expected"] is True


def test_a_demo_does_not_write_into_a_folder_that_holds_something(
    empty: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (empty / "mine").mkdir()
    (empty / "mine/notes.txt").write_text("mine")
    assert main(["demo", "validate", "--out", "mine"]) == 2
    assert "mine: is not empty" in capsys.readouterr().err
    assert [file.name for file in (empty / "mine").iterdir()] == ["notes.txt"]
    assert main(["demo", "--out", "mine"]) == 2
    assert "--out: has no effect without a demo" in capsys.readouterr().err


def test_a_command_that_ends_otherwise_ends_the_demo(
    empty: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = replace(DEMOS[0], steps=(Step(("run", "nowhere.yml")), Step(("init",))))
    monkeypatch.setattr(demo_gallery, "DEMOS", (first,))
    monkeypatch.setattr(demo, "DEMOS", (first,))
    assert main(["demo", first.name]) == 2
    told = capsys.readouterr()
    assert "nowhere.yml" in told.err
    assert "fabric init" not in told.out
    assert "page:" not in told.out


def test_the_page_of_the_gallery_is_current_and_its_pictures_are_small() -> None:
    from tools import gallery

    assert (ROOT / gallery.PAGE).read_text(encoding="utf-8") == gallery.page(), "run: python -m tools.gallery --page"
    pictures = sorted((ROOT / gallery.PICTURES).iterdir())
    assert [file.stem for file in pictures] == sorted(it.name for it in DEMOS)
    assert max(file.stat().st_size for file in pictures) <= gallery.MAX_BYTES
