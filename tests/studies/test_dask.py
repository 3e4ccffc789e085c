"""Dask distributed: a worker that is killed costs nothing, a scheduler that is killed ends the study with a remedy."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import warnings
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import yaml
from small_study import SCENARIO, written
from worker_jobs import die, refuse, slow_double

from fabric.cli.main import main
from fabric.errors import FabricError
from fabric.studies import dask as dask_module
from fabric.studies.dask import DaskWorkers
from fabric.studies.dataset import JOURNAL, StudyResults
from fabric.studies.jobs import Job
from tests.waiting import LIMIT_S, until

pytestmark = [pytest.mark.slow, pytest.mark.timed]  # Dask and we give up what does not answer in time

_CLUSTER = """
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    found = LocalCluster(
        n_workers=int(sys.argv[1]), threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0",
        scheduler_kwargs={"dashboard": False}, silence_logs=50,
    )
    print(found.scheduler_address, *(it.pid for it in found.workers.values()), flush=True)
    sys.stdin.read()  # until this process is killed, or the test's
"""


_PATIENT = f"""
from fabric.studies import dask
dask.CONNECT_S, dask.LOST_S = {LIMIT_S}, 60.0
from fabric.cli.main import entry
entry()
"""
"""`fabric`, where a scheduler that is slow to answer does not count as lost."""


@pytest.fixture(scope="module", autouse=True)
def patient() -> Iterator[None]:
    """On a slow machine a worker takes more than the usual 15 s to start, and 10 s to take the place of another."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dask_module, "CONNECT_S", LIMIT_S)
        patch.setattr(dask_module, "LOST_S", LIMIT_S)
        yield


@pytest.fixture(scope="module")
def cluster() -> Iterator[DaskWorkers]:
    with DaskWorkers("local:2") as found:
        yield found


def test_a_cluster_on_this_machine_needs_no_port_that_another_may_have() -> None:
    with socket.socket() as other:
        with suppress(OSError):  # then another has it already
            other.bind(("127.0.0.1", 8787))
            other.listen()
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            with DaskWorkers("local:1") as workers:
                assert workers.slots == 1
    assert [str(it.message) for it in said if "8787" in str(it.message)] == []


def test_the_jobs_of_a_killed_worker_are_done_by_others(cluster: DaskWorkers) -> None:
    found = []
    for result in cluster.results(slow_double, deque(Job(f"k{it}", it) for it in range(40))):
        found.append(result.value)
        if len(found) == 10:
            os.kill(next(iter(cluster.cluster.workers.values())).pid, signal.SIGKILL)
    assert sorted(found) == [2 * it for it in range(40)]


def test_a_job_that_kills_its_workers_and_one_that_raises_are_failures(cluster: DaskWorkers) -> None:
    (killed,) = cluster.results(die, deque([Job("d", None)]))
    assert killed.failure is not None
    assert killed.failure.kind == "killed"
    (raised,) = cluster.results(refuse, deque([Job("r", "why not")]))
    assert raised.failure is not None
    assert raised.failure.text == "ValueError: why not"


def killing(workers: DaskWorkers, jobs: deque[Job], scheduler: subprocess.Popen[str]) -> list[int]:
    """Results, with the scheduler killed after five."""
    found = []
    for result in workers.results(slow_double, jobs):
        found.append(result.value)
        if len(found) == 5:
            scheduler.kill()
    return found


def test_a_scheduler_that_is_killed_ends_the_study_and_names_resume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_module, "LOST_S", 2.0)
    with scheduler_with_workers(tmp_path, 1) as (scheduler, address, _):
        jobs = deque(Job(f"s{it}", it) for it in range(200))
        with DaskWorkers(address) as workers, pytest.raises(FabricError, match="lost") as caught:
            killing(workers, jobs, scheduler)
        assert "--resume" in caught.value.hint
        assert len(jobs) > 0


@contextmanager
def scheduler_with_workers(folder: Path, count: int) -> Iterator[tuple[subprocess.Popen[str], str, list[int]]]:
    """(process of the scheduler, its address, processes of its workers)."""
    script = folder / "cluster.py"
    script.write_text(_CLUSTER, encoding="utf-8")
    paths = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    with subprocess.Popen(
        [sys.executable, script, str(count)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": paths},
    ) as scheduler:
        try:
            assert scheduler.stdout is not None
            address, *workers = scheduler.stdout.readline().split()
            yield scheduler, address, [int(it) for it in workers]
        finally:
            scheduler.kill()


def wait_for(journal: Path, lines: int) -> None:
    """Until a study has kept so many runs."""
    until(lambda: journal.is_file() and journal.read_bytes().count(b"\n") >= lines, f"{journal} has {lines} lines")


def test_a_sweep_survives_a_killed_worker_and_is_resumed_after_a_killed_scheduler(tmp_path: Path) -> None:
    file, out = written(tmp_path, repetitions={"seeds": 24}), tmp_path / "dask"
    command = [sys.executable, "-c", _PATIENT, "sweep", str(file), "--out", str(out), "--quiet", "--yes"]
    with (
        scheduler_with_workers(tmp_path, 2) as (scheduler, address, pids),
        subprocess.Popen([*command, "--dask", address], stderr=subprocess.PIPE, text=True) as sweep,
    ):
        wait_for(out / JOURNAL, 5)
        os.kill(pids[0], signal.SIGKILL)  # its jobs are done by the other, or by the one that takes its place
        wait_for(out / JOURNAL, 20)
        scheduler.kill()
        _, said = sweep.communicate(timeout=LIMIT_S)
    assert sweep.returncode == 2
    assert "lost" in said
    assert "--resume" in said
    assert "Traceback" not in said
    assert 20 <= StudyResults(out).runs().num_rows < 96
    with scheduler_with_workers(tmp_path, 1) as (_, address, _):
        subprocess.run([*command, "--dask", address, "--resume"], check=True, capture_output=True)
    assert main(["sweep", str(file), "--out", str(tmp_path / "here"), "--quiet", "--workers", "1", "--yes"]) == 0
    assert StudyResults(out).digest() == StudyResults(tmp_path / "here").digest()
    assert main(["verify", str(out)]) == 0


def test_a_what_if_study_on_dask_finds_what_local_processes_find(tmp_path: Path) -> None:
    file = tmp_path / "small.yml"
    file.write_text(yaml.safe_dump(SCENARIO), encoding="utf-8")
    words = ["whatif", str(file), "--kinds", "spine,leaf", "--quiet"]
    with scheduler_with_workers(tmp_path, 1) as (_, address, _):
        assert main([*words, "--out", str(tmp_path / "dask"), "--dask", address]) == 0
    assert main([*words, "--out", str(tmp_path / "here"), "--workers", "1"]) == 0
    there, here = (json.loads((tmp_path / it / "whatif.json").read_text(encoding="utf-8")) for it in ("dask", "here"))
    assert there["ranking"] == here["ranking"]
    assert main(["verify", str(tmp_path / "dask")]) == 0


def test_no_scheduler_is_an_error_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_module, "CONNECT_S", 0.5)
    with (
        pytest.raises(FabricError, match="no Dask scheduler with workers answers at tcp"),
        DaskWorkers("tcp://127.0.0.1:9"),
    ):
        pass


def test_dask_and_local_processes_make_the_same_table(tmp_path: Path) -> None:
    file = written(tmp_path, repetitions={"seeds": 1})
    for name, options in (("here", ["--workers", "1"]), ("dask", ["--dask", "local", "--workers", "1"])):
        assert main(["sweep", str(file), "--out", str(tmp_path / name), "--quiet", *options]) == 0
    assert StudyResults(tmp_path / "here").digest() == StudyResults(tmp_path / "dask").digest()


def test_a_search_on_dask_has_the_table_of_one_on_local_processes(tmp_path: Path) -> None:
    kmin = {"set": "switches.ecn.kmin", "log_range": {"from": "5KB", "to": "100KB"}}
    tune = {"trials": 6, "confirm": 2, "at_once": 3}
    file = written(tmp_path, parameters={"kmin": kmin}, objectives={"fct.p99": "min"}, tune=tune)
    for name, options in (("here", ["--workers", "1"]), ("dask", ["--dask", "local", "--workers", "2"])):
        assert main(["tune", str(file), "--out", str(tmp_path / name), "--quiet", *options]) == 0
    assert StudyResults(tmp_path / "here").digest() == StudyResults(tmp_path / "dask").digest()
