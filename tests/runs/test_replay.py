"""A run directory gives back the Snapshots from which it was written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fabric.dataplane.engine.counters import Snapshot
from fabric.errors import RunDirError
from fabric.runs import endstate, files, simulate
from fabric.runs.observables import OBSERVABLES
from fabric.runs.replay import snapshots
from fabric.runs.rundir import RunDir
from fabric.runs.series import snapshot_rows
from fabric.runs.session import Hooks, Plan
from fabric.runs.simulate import Options
from fabric.scenario.load import load_scenario
from telemetry.catalogue.metrics import BY_NAME, UNRECORDED
from telemetry.record.sampler import record
from telemetry.sources.recorded import store_of
from telemetry.sources.run_info import of_plan
from tests.committed import accept

SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"


def both(scenario: Path, out: Path) -> tuple[list[Snapshot], RunDir, Plan]:
    """Snapshots as they were taken, and the directory."""
    taken: list[Snapshot] = []
    compiled, plan = simulate.prepare(load_scenario(scenario))
    simulate.simulate(compiled, plan, Options(out), Hooks(on_sample=taken.append))
    return taken, RunDir.open(out), plan


@pytest.mark.parametrize(
    "name",
    [
        "incast",
        "link-failure",
        "slow-receiver",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("pause-storm", "all-to-all")),  # 11 and 4 s
    ],
)
def test_replayed_metrics_are_those_of_the_run(name: str, tmp_path: Path) -> None:
    taken, run, plan = both(SCENARIOS / f"{name}.yml", tmp_path / "run")
    wanted = [metric for metric in BY_NAME if BY_NAME[metric].source not in UNRECORDED]
    live, again = record(taken, of_plan(plan), wanted), store_of(run)
    assert again.times_ns.tolist() == live.times_ns.tolist()
    assert again.metrics == live.metrics
    for metric in live.metrics:
        ours, theirs = live.series(metric), again.series(metric)
        assert ours.keys() == theirs.keys(), metric
        for labels, (time_ns, value) in ours.items():
            again_ns, again_value = theirs[labels]
            earlier = len(again_ns) - len(time_ns)  # groups of next hops that were added later are 0 before
            assert again_ns[earlier:].tolist() == time_ns.tolist(), (metric, labels)
            assert not earlier or (metric.startswith("fabric_ecmp_") and not again_value[:earlier].any())
            # Times are kept in whole nanoseconds: a sum of many completions may differ in the last digits.
            np.testing.assert_allclose(
                again_value[earlier:], value, rtol=1e-9, atol=1.1e-9, err_msg=f"{metric} {labels}"
            )


def test_replayed_snapshots_have_the_observables_of_the_run(tmp_path: Path) -> None:
    taken, run, _ = both(SCENARIOS / "incast.yml", tmp_path / "run")
    for now, again in zip(taken, snapshots(run), strict=True):
        left, right = snapshot_rows(now), snapshot_rows(again)
        ratio = np.array([it.is_ratio for it in OBSERVABLES])[left["observable"]]
        for field in ("time_ns", "observable", "device", "port", "class", "item"):
            assert left[field].tolist() == right[field].tolist()
        assert left["value"][~ratio].tolist() == right["value"][~ratio].tolist()


def test_the_last_snapshot_is_exact(tmp_path: Path) -> None:
    taken, run, _ = both(SCENARIOS / "incast.yml", tmp_path / "run")
    *_, last = snapshots(run)
    assert (last.time_ps, last.finished, last.events) == (taken[-1].time_ps, True, taken[-1].events)
    for table in ("ports", "queues", "pgs", "prios", "pools", "hosts", "messages"):
        ours, theirs = getattr(taken[-1], table), getattr(last, table)
        kept = [name for name in theirs.dtype.names if not name.endswith(endstate.LINKS)]
        assert all((ours[name] == theirs[name]).all() for name in kept), table


def test_no_counter_of_time_grows_by_a_rounding_at_the_end(tmp_path: Path) -> None:
    """A storm that ended at 2 ms was told to last to the end of the run: the last sample was 1.6 ns longer."""
    _, run, _ = both(SCENARIOS / "pause-storm.yml", tmp_path / "run")
    store = store_of(run, ["fabric_pfc_receive_paused_seconds_total"])
    for labels, (_, values) in store.series("fabric_pfc_receive_paused_seconds_total").items():
        assert values[-1] == values[-2], labels


def test_a_run_without_its_tables_is_reported(tmp_path: Path) -> None:
    _, run, _ = both(SCENARIOS / "incast.yml", tmp_path / "run")
    (tmp_path / "run" / files.TABLES).write_bytes(b"torn")
    with pytest.raises(RunDirError, match="is truncated to 4 of"):
        list(snapshots(run))
    accept(tmp_path / "run")  # accept the edited file
    with pytest.raises(RunDirError, match="cannot be read"):
        list(snapshots(RunDir.open(tmp_path / "run")))
    (tmp_path / "run" / files.TABLES).unlink()
    with pytest.raises(RunDirError, match="is missing"):
        list(snapshots(RunDir.open(tmp_path / "run")))


def test_tables_of_another_version_are_refused_and_not_a_defect_of_ours(tmp_path: Path) -> None:
    _, run, _ = both(SCENARIOS / "incast.yml", tmp_path / "run")
    path = run.path / files.TABLES
    with np.load(path) as found:
        tables = {name: found[name] for name in found.files}
    hosts = tables["hosts"]
    tables["hosts"] = np.zeros(hosts.shape, [*hosts.dtype.descr, ("of_old", np.int64)])
    np.savez_compressed(path, **tables)
    accept(run.path)
    run = RunDir.open(run.path)
    with pytest.raises(RunDirError, match=r"a column 'hosts\.of_old'") as caught:
        list(snapshots(run))
    assert "--force" in caught.value.hint
