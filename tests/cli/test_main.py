"""The command's root: loaded modules, error texts, and the exit code of each kind of end."""

from __future__ import annotations

import argparse
import errno
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from fabric import __version__
from fabric.cli import main as cli
from fabric.cli.main import VERBS, available, build_parser, main
from fabric.errors import FabricError, InputErrors, InvariantError, Problem

HEAVY = ("numba", "numpy", "pydantic", "networkx", "pyarrow", "scapy", "rich", "matplotlib", "prometheus_client")


def fake_verb(monkeypatch: pytest.MonkeyPatch, run: Callable[[argparse.Namespace], int]) -> None:
    """Replace `completion` by a verb with its own option."""
    module = SimpleNamespace(add_arguments=lambda parser: parser.add_argument("--json", action="store_true"), run=run)
    monkeypatch.setattr(cli, "_module", lambda name: module)


def raising(error: BaseException) -> Callable[[argparse.Namespace], int]:
    def run(args: argparse.Namespace) -> int:
        raise error

    return run


def test_help_loads_no_heavy_package() -> None:
    script = (
        "import sys; from fabric.cli.main import main; main(['--help']); "
        f"print(*(set(sys.modules) & set({HEAVY!r})), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr.split() == []


def test_a_scenario_with_errors_is_refused_without_the_engine(tmp_path: Path) -> None:
    file = tmp_path / "s.yml"
    file.write_text("topologie: {}\n", encoding="utf-8")
    engine = ("numba", "scipy", "networkx", "pyarrow", "pandas")
    script = (
        f"import sys; from fabric.cli.main import main; code = main(['run', {str(file)!r}]); "
        f"print(code, *(set(sys.modules) & set({engine!r})))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["2"], done.stderr


def test_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"fabric-emulator {__version__}\n"


def test_help_names_every_verb_under_its_job(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    for verb in available():
        assert f"\n{verb.job}:" in text
        assert f"\n  {verb.name} " in text


def test_no_verb_shows_the_help_and_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "completion script" in err


def test_a_mistyped_verb_is_answered_with_the_nearest_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completoin", "bash"]) == 2
    assert "no verb 'completoin' (did you mean 'completion'?)" in capsys.readouterr().err


def test_a_mistyped_option_is_answered_with_the_nearest_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash", "--jsn"]) == 2
    assert "fabric completion: error: unknown: --jsn (did you mean '--json'?)" in capsys.readouterr().err


def test_an_abbreviated_option_is_refused() -> None:
    assert main(["completion", "bash", "--js"]) == 2


@pytest.mark.parametrize("verb", [verb.name for verb in available()])
def test_every_verb_builds_its_parser_and_prints_help(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, "--help"]) == 0
    assert f"usage: fabric {verb}" in capsys.readouterr().out


@pytest.mark.parametrize("verb", [verb.name for verb in available()])
def test_every_verb_offers_json_somewhere(verb: str) -> None:
    def options(parser: argparse.ArgumentParser) -> set[str]:
        found = {option for action in parser._actions for option in action.option_strings}
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                found.update(*(options(child) for child in action.choices.values()))
        return found

    _, parsers = build_parser(load=(verb,))
    assert "--json" in options(parsers[verb])


def test_verb_names_are_unique() -> None:
    assert len({verb.name for verb in VERBS}) == len(VERBS)


@pytest.mark.parametrize("words", [["-v", "completion"], ["completion", "-v"]])
def test_verbose_counts_before_and_after_the_verb(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    fake_verb(monkeypatch, lambda args: seen.append(args.verbose) or 0)
    assert main(words) == 0
    assert seen == [1]


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (FabricError("no such thing", "try another"), 2, "error: no such thing\n  hint: try another\n"),
        (InvariantError("bytes vanished"), 3, "defect: bytes vanished\n"),
        (FileNotFoundError(errno.ENOENT, "Not there", "a.yml"), 2, "error: a.yml: Not there\n"),
        (ZeroDivisionError("x"), 3, "defect: ZeroDivisionError: x\n"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
    ],
)
def test_each_kind_of_end_has_its_exit_code_and_text(
    error: BaseException, code: int, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_verb(monkeypatch, raising(error))
    assert main(["completion"]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(message)


def test_bad_input_shows_no_traceback_and_a_defect_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_verb(monkeypatch, raising(FabricError("no")))
    main(["completion"])
    assert "Traceback" not in capsys.readouterr().err
    fake_verb(monkeypatch, raising(RuntimeError("ours")))
    main(["completion"])
    assert "Traceback" in capsys.readouterr().err


def test_json_errors_carry_every_problem(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    problems = [Problem("s.yml: run.seed", "'x' is no number", "write 7"), Problem("s.yml: run", "is empty")]
    fake_verb(monkeypatch, raising(InputErrors("scenario", problems)))
    assert main(["completion", "--json"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["kind"] == "InputErrors"
    assert error["exit_code"] == 2
    assert [problem["path"] for problem in error["problems"]] == ["s.yml: run.seed", "s.yml: run"]
    assert error["problems"][0]["hint"] == "write 7"


def test_a_reader_that_goes_away_ends_the_command_quietly() -> None:
    script = (
        "import sys; from fabric.cli import main as cli; from types import SimpleNamespace as N\n"
        "def run(args):\n    for _ in range(100000): print('x' * 100)\n    return 0\n"
        "cli._module = lambda name: N(add_arguments=lambda parser: None, run=run)\n"
        "sys.exit(cli.main(['completion']))"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_tables_end_as_quietly() -> None:
    """rich by itself would exit with 1, which is a finding."""
    script = (
        "import sys; from fabric.cli import main as cli; from types import SimpleNamespace as N\n"
        "from fabric.render.text import console_for\n"
        "def run(args):\n    for _ in range(100000): console_for(sys.stdout).print('x' * 100)\n    return 0\n"
        "cli._module = lambda name: N(add_arguments=lambda parser: None, run=run)\n"
        "sys.exit(cli.main(['completion']))"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_the_completion_script_knows_every_verb(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(verb.name in script for verb in available())


def test_the_bash_completion_script_is_valid_bash(capsys: pytest.CaptureFixture[str]) -> None:
    main(["completion", "bash"])
    done = subprocess.run(["bash", "-n"], input=capsys.readouterr().out, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def options_of_all_verbs() -> list[tuple[str, argparse.Action]]:
    """(command, option) of every verb and action."""

    def walk(name: str, parser: argparse.ArgumentParser) -> list[tuple[str, argparse.Action]]:
        found = [(name, action) for action in parser._actions]
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                found += [it for word, inner in action.choices.items() for it in walk(f"{name} {word}", inner)]
        return found

    return [it for name, parser in build_parser()[1].items() for it in walk(name, parser)]


def test_an_output_path_is_called_out_by_every_verb() -> None:
    shown = {
        name: set(action.option_strings)
        for name, action in options_of_all_verbs()
        if {"-o", "--out", "--output", "--write"} & set(action.option_strings) and action.help is not argparse.SUPPRESS
    }
    assert len(shown) > 12
    assert {name: words for name, words in shown.items() if not {"-o", "--out"} <= words} == {}
    hidden = {name for name, action in options_of_all_verbs() if "--output" in action.option_strings}
    assert hidden == set(shown)  # taken by every verb as well, and shown by none


@pytest.mark.parametrize("option", ["-o", "--out", "--output"])
def test_every_spelling_of_the_output_path_does_the_same(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "it"
    assert main(["schema", option, str(file)]) == 0
    assert file.read_text(encoding="utf-8").startswith("# What a run leaves behind")
    assert capsys.readouterr().out == ""
    scenario = str(Path(__file__).parents[2] / "scenarios" / "incast.yml")
    assert main(["topology", "export", scenario, "--format", "containerlab", option, str(file)]) == 0
    assert "leaf1" in file.read_text(encoding="utf-8")
    assert main(["model", "docs", option, "-"]) == 0
    assert capsys.readouterr().out.startswith("# Model cards")


@pytest.mark.parametrize("shell", ["bash", "zsh"])  # shtab completes no options of verbs in tcsh
def test_completion_offers_the_output_path(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "--out" in script
    assert "--output" not in script
    for option in ("_o", "__out"):
        assert shell == "zsh" or f"_shtab_fabric_run_{option}_COMPGEN=_shtab_compgen_dirs" in script


def test_one_option_has_one_name_for_processes(capsys: pytest.CaptureFixture[str]) -> None:
    verbs = [verb.name for verb in available() if verb.name in {"sweep", "tune", "whatif"}]
    assert len(verbs) == 3
    for verb in verbs:
        main([verb, "--help"])
        text = capsys.readouterr().out
        assert "--workers N" in text
        assert "--jobs" not in text
        assert main([verb, "leaf-spine", "--workers", "2", "--dask", "tcp://127.0.0.1:1"]) == 2
        assert "--workers: has no effect with --dask" in capsys.readouterr().err
