"""The user's configuration file: where it is, what it sets, what overrides it, and what is refused."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from fabric.cli import run, settings
from fabric.cli.main import build_parser, main
from fabric.cli.options.folders import free_folder, reserved_folder
from fabric.errors import InputErrors


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of a configuration file that does not exist yet, in a home of its own."""
    for name in ("FABRIC_CONFIG", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    found = tmp_path / "config/fabric-emulator/config.toml"
    found.parent.mkdir(parents=True)
    return found


def rows(capsys: pytest.CaptureFixture[str]) -> dict[str, tuple[object, str]]:
    assert main(["config", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    return {it["key"]: (it["value"], it["source"]) for it in found["settings"]}


def test_without_a_file_every_value_is_the_default(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert rows(capsys) == {"colour": ("auto", "default"), "threads": (1, "default"), "out": ("runs", "default")}
    assert main(["config"]) == 0
    shown = capsys.readouterr().out
    assert str(file) in shown
    assert "no such file" in shown


def test_the_file_sets_values_and_is_named_as_their_source(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text('threads = 3\nout = "results"\n')
    assert rows(capsys) == {
        "colour": ("auto", "default"), "threads": (3, str(file)), "out": ("results", str(file)),
    }  # fmt: skip
    assert settings.settings().threads == 3
    assert free_folder("x") == Path("results/x")


def test_the_variable_names_another_file_or_none(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text("threads = 3\n")
    other = file.parent / "other.toml"
    other.write_text("threads = 5\n")
    monkeypatch.setenv("FABRIC_CONFIG", str(other))
    assert rows(capsys)["threads"] == (5, str(other))
    monkeypatch.setenv("FABRIC_CONFIG", "")
    assert rows(capsys)["threads"] == (1, "default")
    monkeypatch.setenv("FABRIC_CONFIG", str(file.parent / "absent.toml"))
    assert main(["config"]) == 2
    assert "FABRIC_CONFIG" in capsys.readouterr().err


def test_a_relative_folder_of_configurations_is_ignored(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "config")  # XDG Base Directory Specification: paths must be absolute
    monkeypatch.setenv("HOME", str(file.parent))
    assert settings.config_file() == file.parent / ".config/fabric-emulator/config.toml"


@pytest.mark.parametrize(
    ("text", "place", "remedy"),
    [
        ("thread = 2", "thread", "did you mean 'threads'?"),
        ("zzz = 2", "zzz", "colour, threads, out"),
        ("threads = 0", "threads", "give 1 or more"),
        ("threads = true", "threads", "give 1 or more"),
        ('threads = "2"', "threads", "give 1 or more"),
        ('colour = "red"', "colour", "auto, always or never"),
        ('out = ""', "out", 'such as out = "runs"'),
        ("out = 7", "out", 'such as out = "runs"'),
        ("threads = ", "is no TOML", "threads = 2"),
        ("[run]\nthreads = 2", "run", "colour, threads, out"),
    ],
)
def test_a_bad_file_is_one_error_of_every_verb(
    text: str, place: str, remedy: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(text)
    for words in (["config"], ["demo"]):
        assert main(words) == 2
        told = capsys.readouterr().err
        assert str(file) in told
        assert place in told
        assert remedy in told
    assert main(["config", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["problems"]


def test_problems_of_a_file_are_reported_together(file: Path) -> None:
    file.write_text('threads = 0\ncolour = "red"\n')
    with pytest.raises(InputErrors) as caught:
        settings.settings()
    assert len(caught.value.problems) == 2


@pytest.mark.parametrize(("value", "escapes"), [("always", True), ("never", False), ("auto", False)])
def test_colours_are_as_configured(value: str, escapes: bool, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(f'colour = "{value}"\n')
    assert main(["topology", "show", "incast"]) == 0
    assert ("\x1b[" in capsys.readouterr().out) == escapes


def test_the_environment_overrides_the_file(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text('colour = "always"\n')
    monkeypatch.setenv("NO_COLOR", "1")
    assert rows(capsys)["colour"] == ("never", "NO_COLOR in the environment")
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert rows(capsys)["colour"] == ("always", "FORCE_COLOR in the environment")


def test_the_example_is_a_file_with_the_defaults(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "--example"]) == 0
    text = capsys.readouterr().out
    assert tomllib.loads(text) == {"colour": "auto", "threads": 1, "out": "runs"}
    file.write_text(text)
    assert main(["config"]) == 0


def test_a_run_goes_to_the_configured_folder_with_the_configured_threads(file: Path) -> None:
    file.write_text('threads = 2\nout = "results"\n')
    assert reserved_folder("incast") == Path("results/incast")
    assert reserved_folder("incast") == Path("results/incast-2")
    _, parsers = build_parser(load=("run",))
    for words, threads in (([], 2), (["--threads", "3"], 3), (["--scheduler", "sequential"], 1)):
        args = parsers["run"].parse_args(["incast", *words])
        run._fill_in(args)
        assert args.threads == threads
