"""What a new user types first: shipped scenarios by name, `fabric init`, `fabric help`, `fabric explain DIR`, -m."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from fabric import shipped
from fabric.cli.init import starters
from fabric.cli.main import main
from fabric.scenario.compile.scenario import compile_scenario
from fabric.scenario.load import load_scenario


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "name", ["incast", "incast.yml", "scenarios/incast.yml", "alerts/storm", "scenarios/alerts/storm.yml"]
)
def test_a_shipped_scenario_is_found_from_any_folder(name: str, empty: Path) -> None:
    found = load_scenario(name)
    assert found.file.is_file()
    assert found.name in {"incast", "storm"}
    assert list(empty.iterdir()) == []


def test_a_file_of_the_user_comes_before_a_shipped_one(empty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "permutation", "--out", "incast.yml"]) == 0
    capsys.readouterr()
    assert load_scenario("incast.yml").name == "permutation"
    assert load_scenario("incast").name == "incast"


@pytest.mark.parametrize("name", ["../incast.yml", "scenarios/../../x.yml", "/nowhere/incast.yml", "starters", "."])
def test_only_scenarios_below_the_shipped_folder_are_found(name: str, empty: Path) -> None:
    assert shipped.scenario(Path(name)) == Path(name)


@pytest.mark.parametrize("folder", ["validate-example/before", "docs/howto/validate-example/before"])
def test_an_example_is_found_from_any_folder(folder: str, empty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", folder]) == 0
    assert main(["rollout", folder, folder, "--estimate"]) == 0
    assert list(empty.iterdir()) == []


@pytest.mark.parametrize("name", ["howto/live.md", "../validate-example", "/validate-example", "validate-example/no"])
def test_only_examples_are_found_besides_what_is_there(name: str, empty: Path) -> None:
    assert shipped.example(name) == Path(name)
    (empty / "validate-example/before").mkdir(parents=True)
    assert shipped.example("validate-example/before") == Path("validate-example/before")


def test_a_mistyped_scenario_is_told_the_nearest_shipped_one(empty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scenario", "check", "incsat.yml"]) == 2
    assert "did you mean 'incast.yml'?" in capsys.readouterr().err


def test_the_list_names_every_shipped_scenario(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scenario", "list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["scenarios"]
    assert [it["name"] for it in found] == [file.stem for file in shipped.scenarios()]
    assert all(it["description"] for it in found)


@pytest.mark.parametrize("name", starters())
def test_a_starter_compiles_and_explains_itself(name: str, empty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", name]) == 0
    file = empty / f"{name}.yml"
    text = file.read_text(encoding="utf-8")
    assert text.startswith("#")
    assert text.count("#") >= 6
    assert f"fabric run {name}.yml" in capsys.readouterr().out
    compiled = compile_scenario(load_scenario(file))
    assert compiled.name == name
    assert compiled.expectations


def test_there_is_a_starter_for_each_kind_of_fabric() -> None:
    assert {"leaf-spine", "clos3", "rail", "dual-tor", "storage", "job"} <= set(starters())


@pytest.mark.parametrize("name", starters())
def test_what_a_starter_has_in_comments_is_a_scenario_as_well(name: str, empty: Path) -> None:
    assert main(["init", name]) == 0
    file = empty / f"{name}.yml"
    text = file.read_text(encoding="utf-8")
    blocks = [part for part in text.split("\n\n") if re.match(r"# \w+: ", part)]
    for block in blocks:
        whole = re.sub(r"^# ", "", block, flags=re.MULTILINE)
        file.write_text(text.replace(block, whole), encoding="utf-8")
        compile_scenario(load_scenario(file))


_BY_OTHER_VERBS = {"alerts", "drills", "fidelity", "starters", "testplans"}
"""Folders of scenarios that `fabric init` does not offer."""


def test_every_shipped_scenario_is_copied_with_the_files_that_it_names(
    empty: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copied: set[Path] = set()
    for file in shipped.scenarios():
        folder = empty / file.stem
        folder.mkdir()
        assert main(["init", file.stem, "--out", str(folder / "mine.yml"), "--json"]) == 0
        beside = [Path(it) for it in json.loads(capsys.readouterr().out)["beside"]]
        assert sorted(beside) == sorted(it for it in folder.rglob("*") if it.is_file() and it.name != "mine.yml")
        copied.update(it.relative_to(folder) for it in beside)
        if beside:
            compile_scenario(load_scenario(folder / "mine.yml"))
    # No field that names files is left out: every file that is no scenario belongs to one.
    folder = shipped.folder("scenarios")
    others = [folder, *(it for it in folder.iterdir() if it.is_dir() and it.name not in _BY_OTHER_VERBS)]
    files = {file.relative_to(folder) for it in others for file in it.iterdir() if file.is_file()}
    assert copied == files - {file.relative_to(folder) for file in shipped.scenarios()}


def test_a_file_that_another_scenario_also_names_may_stay(empty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "training-job"]) == 0
    assert main(["init", "two-jobs"]) == 0
    (empty / "jobs/small.yml").write_text("mine", encoding="utf-8")
    (empty / "two-jobs.yml").unlink()
    assert main(["init", "two-jobs"]) == 2
    assert "small.yml" in capsys.readouterr().err
    assert (empty / "jobs/small.yml").read_text(encoding="utf-8") == "mine"


def test_init_overwrites_nothing_unless_forced(empty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (empty / "leaf-spine.yml").write_text("mine", encoding="utf-8")
    assert main(["init"]) == 2
    assert (empty / "leaf-spine.yml").read_text(encoding="utf-8") == "mine"
    assert "--force" in capsys.readouterr().err
    assert main(["init", "--force"]) == 0
    assert (empty / "leaf-spine.yml").read_text(encoding="utf-8") != "mine"


def test_the_validate_example_finds_what_its_change_broke(empty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "validate-example"]) == 0
    assert main(["validate", "validate-example/after", "--baseline", "validate-example/before"]) == 1
    assert "leaf1" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["validate-nvue-example", "validate-nxos-example"])
def test_the_state_before_a_change_has_no_finding_and_each_mistake_is_one_cause(
    empty: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert main(["init", name]) == 0
    assert main(["validate", f"{name}/before", "--fail-on", "warn"]) == 0
    assert main(["validate", f"{name}/after", "--baseline", f"{name}/before"]) == 1
    assert ": 4 causes of " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "code", "shown"),
    [
        pytest.param("margins-example", 1, "loss without a finding", marks=pytest.mark.slow),
        ("qualify-example", 0, "13 green"),
        ("rollout-example", 0, "safe order found"),
        pytest.param("seed-example", 0, "18 green", marks=pytest.mark.slow),
        ("tenants-example", 0, "4 hosts in 3 segments"),
        ("validate-example", 1, "leaf1"),
        ("validate-nvue-example", 1, "$ nv set interface swp3 link mtu 9216"),
        ("validate-nxos-example", 1, "$ interface Ethernet1/3; mtu 9216"),
    ],
)
def test_the_command_that_init_prints_after_an_example_shows_it(
    empty: Path, capsys: pytest.CaptureFixture[str], name: str, code: int, shown: str
) -> None:
    assert main(["init", name, "--out", "mine", "--json"]) == 0
    (step,) = json.loads(capsys.readouterr().out)["next"]
    words = shlex.split(step)
    assert words[0] == "fabric"
    assert "mine" in {Path(word).parts[0] for word in words}
    assert main(words[1:]) == code
    assert shown in capsys.readouterr().out


def test_an_unknown_starter_is_told_the_nearest(empty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "leafspine"]) == 2
    assert "did you mean 'leaf-spine'?" in capsys.readouterr().err


def test_help_is_a_word_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help"]) == 0
    general = capsys.readouterr().out
    assert main(["--help"]) == 0
    assert general == capsys.readouterr().out
    assert main(["help", "init"]) == 0
    assert "usage: fabric init" in capsys.readouterr().out
    assert main(["help", "ruin"]) == 2
    assert "did you mean 'run'?" in capsys.readouterr().err


def test_explain_of_a_run_answers_everything_in_short(empty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "pause-storm", "--out", "storm", "--quiet"]) in {0, 1}
    capsys.readouterr()
    assert main(["explain", "storm"]) == 0
    short = capsys.readouterr().out
    assert main(["explain", "run", "storm"]) == 0
    assert short == capsys.readouterr().out
    assert "a NIC pauses though it holds nothing: host4:eth0" in short.splitlines()[1]
    for question in ("pfc storm", "drops storm", "message storm"):
        assert f"fabric explain {question}" in short
    assert main(["explain", "storm", "--json"]) == 0
    assert {"pfc", "drops", "message"} <= set(json.loads(capsys.readouterr().out))


def test_explain_of_no_run_says_what_to_give(empty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "nowhere"]) == 2
    assert "--out" in capsys.readouterr().err
    assert main(["explain", "pcf", "nowhere"]) == 2
    assert "did you mean 'pfc'?" in capsys.readouterr().err


def test_a_question_behind_the_run_is_told_the_order(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "runs/my storm", "pfc"]) == 2
    assert "did you mean `fabric explain pfc 'runs/my storm'`?" in capsys.readouterr().err


def test_a_nearest_word_is_told_without_the_list_of_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["playbook", "lst"]) == 2
    told = capsys.readouterr().err
    assert "'lst' is no choice (did you mean 'list'?)" in told
    assert "schema" not in told.splitlines()[-1]
    assert main(["playbook", "zzz"]) == 2
    assert "'zzz' is none of list, show" in capsys.readouterr().err


def test_a_missing_argument_is_told_where_it_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain"]) == 2
    assert "required: QUESTION; `fabric explain --help` explains them" in capsys.readouterr().err


def test_the_module_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "fabric", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("fabric-emulator ")
