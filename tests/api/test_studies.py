"""Studies from Python: the folders of the command line, typed results, all problems together, and the guard."""

from __future__ import annotations

import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest

import fabric
from fabric.cli.main import main
from fabric.studies import carry_out
from fabric.studies.jobs import Function, Job, Result
from fabric.studies.local import call
from fabric.whatif import whole

SCENARIO = """
name: small
topology: {kind: leaf-spine, leaves: 2, spines: 2, hosts_per_leaf: 2, host_rate: 100G, fabric_rate: 100G}
switches: {ecn: {kmin: 50KB, kmax: 200KB, pmax: 0.2}}
workload: [{kind: incast, receiver: host4, senders: ["*"], size: 100KB}]
run: {duration: 1ms}
"""
STUDY: dict[str, Any] = {
    "name": "two",
    "scenario": "small.yml",
    "parameters": {"kmin": {"set": "switches.ecn.kmin", "values": ["10KB", "50KB"]}},
    "repetitions": {"seeds": 2},
    "measures": ["fct.p99"],
}


class Inline:
    """An executor in this process."""

    slots = 1
    where = "here"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def results(self, function: Function, jobs: deque[Job]) -> Iterator[Result]:
        """As Executor.results."""
        while jobs:
            job = jobs.popleft()
            value, failure, wall_s, worker = call(function, job.argument)
            yield Result(job.key, value, failure, wall_s, worker)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(carry_out, "executor_of", lambda *_: Inline())
    monkeypatch.setattr(whole, "executor_of", lambda *_: Inline())
    (tmp_path / "small.yml").write_text(SCENARIO, encoding="utf-8")
    return tmp_path


def problems(error: pytest.ExceptionInfo[fabric.InputErrors]) -> list[str]:
    return [problem.path for problem in error.value.problems]


def test_a_sweep_gives_its_table_figures_and_folder(here: Path) -> None:
    told: list[fabric.StudyProgress] = []
    study = fabric.sweep(STUDY, here / "out", progress=told.append)
    assert (study.name, study.status, study.directory) == ("two", "done", here / "out")
    assert study.table(["kmin_bytes", "seed"]).to_pydict() == {
        "kmin_bytes": [10_000, 10_000, 50_000, 50_000],
        "seed": [1, 2, 1, 2],
    }
    with pytest.raises(fabric.RunDirError, match="no column nothing"):
        study.table(["nothing"])
    assert study.costs().num_rows == len(told) == 4
    assert (told[-1].done, told[-1].total, told[-1].failed) == (4, 4, 0)
    assert [it["point"] for it in study.figures["points"]] == [0, 1]
    assert (study.front, study.chosen, study.patches) == ((), None, {})
    assert "<html" in study.report_html()
    again = fabric.open_study(here / "out")
    assert again.digest == study.digest
    assert repr(again) == "<fabric.StudyResult 'two': done, 4 runs>"
    study.verify()
    (here / "out" / "points.json").write_text("{}", encoding="utf-8")
    with pytest.raises(fabric.RunDirError, match=r"points\.json"):
        study.verify()
    with pytest.raises(fabric.RunDirError, match=r"points\.json"):
        _ = again.figures


def test_a_sweep_without_a_folder_removes_its_own(here: Path) -> None:
    with fabric.sweep(STUDY | {"repetitions": {"seeds": 1}}) as study:
        folder = study.directory
        assert folder.is_dir()
    assert not folder.exists()
    assert {it.name for it in here.iterdir()} == {"small.yml"}


def test_a_finished_study_is_an_error_with_words_of_python(here: Path) -> None:
    fabric.sweep(STUDY | {"repetitions": {"seeds": 1}}, here / "out")
    with pytest.raises(fabric.RunDirError) as error:
        fabric.sweep(STUDY, here / "out")
    assert "resume=True" in error.value.hint
    assert "--" not in str(error.value)


def test_all_problems_of_the_parameters_come_together(here: Path) -> None:
    with pytest.raises(fabric.InputErrors) as error:
        fabric.sweep(STUDY, workers=0, resume=True, force=True)
    assert problems(error) == ["workers", "resume", "resume", "force"]
    with pytest.raises(fabric.InputErrors) as unknown:
        fabric.tune(STUDY)
    assert {it.partition(": ")[2] for it in problems(unknown)} == {"tune", "objectives"}
    with pytest.raises(fabric.FabricError, match="a int is not a study"):
        fabric.sweep(7)  # type: ignore[arg-type]
    with pytest.raises(fabric.InputErrors) as asked:
        fabric.whatif("small.yml", kinds=["planet"], singles=True, at="5")
    assert problems(asked) == ["kinds", "at", "singles=True"]
    with pytest.raises(fabric.InputErrors) as text:
        fabric.whatif("small.yml", only="spine*", resume=True)
    assert problems(text) == ["resume", "only"]
    assert {it.name for it in here.iterdir()} == {"small.yml"}


def test_a_what_if_study_ranks_failures(here: Path) -> None:
    told: list[fabric.StudyProgress] = []
    scenario = SCENARIO.replace("duration: 1ms", "duration: 1ms, reroute_delay: 50us")
    found = fabric.whatif(scenario, here / "out", kinds=["spine", "leaf"], progress=told.append)
    assert (told[-1].done, told[-1].total) == (len(found.failures), len(found.failures))
    worst = found.failures[0]
    assert (worst.kind, worst.effect, worst.hosts_cut) == ("leaf", "breaks", 2)
    assert worst.damage_ratio is not None
    assert sum(len(it.equal) for it in found.failures) == 4
    assert f"leaf {worst.name}" in found.verdict
    assert found.data["ranking"]["failures"][0]["name"] == worst.name
    assert worst.command.startswith("fabric run ")
    assert "Failures by damage" in str(found)
    whole_file = (here / "out" / "whatif.json").read_bytes()
    assert main(["verify", str(here / "out")]) == 0
    (here / "out" / "whatif.json").write_bytes(whole_file.replace(b'"breaks"', b'"mended"', 1))
    (here / "out" / "baseline" / "truth.jsonl").write_text("?", encoding="utf-8")
    assert main(["verify", str(here / "out")]) == 1
    with pytest.raises(fabric.FabricError, match="what-if study already"):
        fabric.whatif(scenario, here / "out", kinds=["spine"])


@pytest.mark.slow
def test_a_script_without_the_guard_is_told(tmp_path: Path) -> None:
    script = tmp_path / "unguarded.py"
    script.write_text("import fabric\nfabric.sweep('ecn-curve', workers=1)\n", encoding="utf-8")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode != 0
    assert "put the call below `if __name__ == '__main__':`" in done.stderr
    assert "worker processes end while they start" in done.stderr, "and none is started again and again"
