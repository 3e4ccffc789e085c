"""`fabric sweep` and `fabric tune` as commands: what they refuse, what they print, and Ctrl-C in the middle."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from fabric import extras, shipped
from fabric.cli.main import main
from fabric.studies.dataset import JOURNAL, RUNS, StudyResults
from fabric.studies.plan import examine, examine_corners, load_study, read_study
from tests.waiting import LIMIT_S, until

ROOT = Path(__file__).resolve().parents[2]
STUDY = """
name: two
scenario: small.yml
parameters: {kmin: {set: switches.ecn.kmin, values: [10KB, 50KB]}}
repetitions: {seeds: SEEDS}
measures: [fct.p99]
"""
SCENARIO = {
    "name": "small",
    "topology": {"kind": "leaf-spine", "leaves": 1, "spines": 1, "hosts_per_leaf": 4,
                 "host_rate": "100G", "fabric_rate": "100G"},
    "switches": {"ecn": {"kmin": "50KB", "kmax": "200KB", "pmax": 0.2}},
    "workload": [{"kind": "incast", "receiver": "host4", "senders": ["*"], "size": "100KB"}],
    "run": {"duration": "1ms"},
}  # fmt: skip


@pytest.fixture
def study(tmp_path: Path) -> Path:
    (tmp_path / "small.yml").write_text(yaml.safe_dump(SCENARIO), encoding="utf-8")
    file = tmp_path / "two.yml"
    file.write_text(STUDY.replace("SEEDS", "2"), encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--workers", "0"], "0 processes are not possible"),
        (["--workers", "2", "--dask", "tcp://x:1"], "has no effect with --dask"),
        (["--resume", "--force"], "contradicts --force"),
        (["--list", "--estimate"], "contradicts --estimate"),
        (["--list", "--quiet"], "--quiet: has no effect with --list"),
        (["--estimate", "--yes"], "--yes: has no effect with --estimate"),
    ],
)
def test_options_that_contradict_or_do_nothing_are_refused(
    words: list[str], expected: str, study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sweep", str(study), *words]) == 2
    assert expected in capsys.readouterr().err


def test_list_and_estimate_simulate_nothing(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", str(study), "--list", "--json"]) == 0
    assert [it["values"] for it in json.loads(capsys.readouterr().out)["points"]] == [
        {"kmin": "10KB"},
        {"kmin": "50KB"},
    ]
    assert main(["sweep", str(study), "--estimate", "--json", "--workers", "2"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["runs"], facts["workers"], facts["verdict"]) == (4, 2, "starts")
    assert not (study.parent / "studies").exists()


def test_a_missing_package_is_named_with_the_command_that_installs_it(
    study: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "scipy.stats.qmc", None)
    study.write_text(study.read_text(encoding="utf-8") + "design: {kind: sobol, points: 4}\n", encoding="utf-8")
    assert main(["sweep", str(study), "--list"]) == 2
    assert "scipy is not installed" in (error := capsys.readouterr().err)
    assert "[studies]'" in error


def test_a_file_that_is_no_study_and_a_misspelled_name_are_errors(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sweep", str(study.parent / "small.yml"), "--json"]) == 2
    captured = capsys.readouterr()
    assert json.loads(captured.out)["error"]["problems"]
    assert "topology: unknown field" in captured.err
    assert main(["sweep", "ecn-curv"]) == 2
    assert "did you mean 'ecn-curve.yml'?" in capsys.readouterr().err


@pytest.mark.parametrize("file", shipped.studies(), ids=lambda it: it.stem)
def test_shipped_studies_are_valid_and_named_as_their_files(file: Path) -> None:
    study = read_study(file)
    assert study.name == file.stem
    assert study.description
    search = study.tune is not None
    plan = load_study(file, search=search)
    if len(plan.points) < 20:
        assert not (examine_corners if search else examine)(plan).invalid


@pytest.mark.slow
def test_ctrl_c_and_a_killed_worker_lose_no_finished_run(study: Path) -> None:
    study.write_text(STUDY.replace("SEEDS", "40"), encoding="utf-8")
    command = [sys.executable, "-m", "fabric", "sweep", str(study), "--workers", "2", "--quiet", "--out"]

    def folder(name: str) -> str:
        return str(study.parent / name)

    subprocess.run([*command, folder("whole")], check=True, capture_output=True)
    with subprocess.Popen([*command, folder("parts")], stderr=subprocess.PIPE, text=True) as process:
        _wait_for(Path(folder("parts")) / JOURNAL, 5)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii").split()
        workers = [it for it in children if b"spawn_main" in Path(f"/proc/{it}/cmdline").read_bytes()]
        os.kill(int(workers[0]), signal.SIGKILL)
        _wait_for(Path(folder("parts")) / JOURNAL, 10)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 130
    assert "--resume" in err
    kept = StudyResults(Path(folder("parts"))).runs().num_rows
    assert 10 <= kept < 80
    with subprocess.Popen([*command, folder("parts"), "--resume"], stderr=subprocess.PIPE) as process:
        _wait_for(Path(folder("parts")) / JOURNAL, 3)
        process.kill()  # nothing can be done at the end
    done = subprocess.run([*command, folder("parts"), "--resume", "--json"], check=True, capture_output=True)
    assert json.loads(done.stdout)["digest"] == StudyResults(Path(folder("whole"))).digest()
    assert (Path(folder("parts")) / RUNS).is_dir()


@pytest.mark.slow
def test_a_killed_search_goes_on_to_the_same_table(study: Path) -> None:
    text = STUDY.replace("SEEDS", "3").replace("values: [10KB, 50KB]", "log_range: {from: 5KB, to: 100KB}")
    more = "objectives: {fct.p99: min, ecn.marked: min}\ntune: {trials: 16, confirm: 2, at_once: 4}\n"
    study.write_text(text + more, encoding="utf-8")
    command = [sys.executable, "-m", "fabric", "tune", str(study), "--workers", "2", "--quiet", "--out"]
    whole, parts = study.parent / "whole", study.parent / "parts"
    subprocess.run([*command, str(whole)], check=True, capture_output=True)
    for resume in ([], ["--resume"]):
        with subprocess.Popen([*command, str(parts), *resume], stderr=subprocess.PIPE) as process:
            _wait_for(parts / JOURNAL, 5)
            process.kill()
    done = subprocess.run([*command, str(parts), "--resume", "--json"], check=True, capture_output=True)
    assert json.loads(done.stdout)["digest"] == StudyResults(whole).digest()


def _wait_for(journal: Path, lines: int) -> None:
    until(lambda: journal.is_file() and journal.read_bytes().count(b"\n") >= lines, f"{journal} has {lines} lines")


@pytest.mark.parametrize("verb", ["sweep", "tune"])
def test_nothing_is_simulated_where_a_package_is_missing(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = extras.find_spec
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == "scipy" else found(name))
    assert main([verb, "ecn-grid" if verb == "sweep" else "tune-ecn", "--out", str(tmp_path / "out")]) == 2
    assert "scipy is not installed" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
