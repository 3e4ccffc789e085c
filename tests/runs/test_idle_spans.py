"""A span without events is one step, with the very files of a run that takes every sample by itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from fabric.dataplane.engine.counters import Snapshot
from fabric.dataplane.engine.driver import Emulator
from fabric.runs import simulate
from fabric.runs.rundir import RunDir
from fabric.runs.session import Hooks
from fabric.scenario.load import load_scenario
from tests.runs.test_session import FINAL, run, stopping

IDLE = {
    "name": "idle",
    "topology": {
        "kind": "leaf-spine",
        "leaves": 2,
        "spines": 2,
        "hosts_per_leaf": 2,
        "host_rate": "100G",
        "fabric_rate": "100G",
    },
    "workload": [
        {
            "kind": "messages",
            "messages": [
                {"src": "host1", "dst": "host3", "size": "200KB"},
                {"src": "host2", "dst": "host3", "size": "200KB", "start": "2ms"},
            ],
        }
    ],
    "telemetry": {"interval": "20us"},
    "run": {"duration": "4ms", "seed": 5},
}
LATE_CABLE = {"kind": "link-down", "link": "leaf1--spine1", "at": "300us", "until": "1500us"}
DARK_HOST = {"kind": "link-down", "link": "host3--leaf2", "at": "20us", "until": "2500us"}
STORM = {"kind": "pause-storm", "hosts": ["host3"], "at": "400us", "duration": "500us"}
CASES = {
    "idle": {},
    "lasting": {"run": {"duration": "4ms", "stop": "duration"}},
    "a cable is down": {"faults": [LATE_CABLE]},
    "a cable stays down": {"faults": [{**LATE_CABLE, "until": None}], "run": {"duration": "4ms", "stop": "duration"}},
    "messages wait for a cable": {"faults": [DARK_HOST]},
    "messages wait in vain": {
        "faults": [{**DARK_HOST, "until": None}],
        "run": {"duration": "4ms", "no_progress": "1ms"},
        "transport": {"retransmit_timeout": "2ms"},
    },
    "rate timers": {"faults": [DARK_HOST], "transport": {"cc": "dcqcn", "retransmit_timeout": "1ms"}},
    "no rate timers": {"faults": [DARK_HOST], "transport": {"cc": "none", "retransmit_timeout": "1ms"}},
    "a storm": {"faults": [STORM]},
    "odd samples": {"telemetry": {"interval": "17001ns"}, "run": {"duration": "2100us"}},
    "hpcc-ns3": {"model": "hpcc-ns3"},
}


def written(folder: Path, change: dict[str, object]) -> Path:
    path = folder / "idle.yml"
    content = {**IDLE, **change}
    content["faults"] = [
        {field: value for field, value in fault.items() if value is not None} for fault in content.get("faults", [])
    ]
    path.write_text(yaml.safe_dump(content))
    return path


def ignore(_now: Snapshot) -> None:
    """A hook that wants every sample, so that none is passed over."""


@pytest.mark.parametrize("name", CASES)
def test_spans_without_events_have_the_samples_of_a_run_that_takes_each(name: str, tmp_path: Path) -> None:
    path = written(tmp_path, CASES[name])
    run(path, tmp_path / "each", hooks=Hooks(on_sample=ignore))
    run(path, tmp_path / "passed")
    for file in FINAL:
        assert (tmp_path / "passed" / file).read_bytes() == (tmp_path / "each" / file).read_bytes(), file
    each, passed = (RunDir.open(tmp_path / name).manifest for name in ("each", "passed"))
    assert passed["digest"] == each["digest"]
    assert passed["samples"] == each["samples"]


@pytest.mark.parametrize("order", ["source", "insertion"])
def test_one_event_at_a_time_passes_over_the_same_samples(order: str, tmp_path: Path) -> None:
    path = written(tmp_path, {"faults": [LATE_CABLE]})
    options = {"scheduler": "sequential", "order": order}
    run(path, tmp_path / "each", hooks=Hooks(on_sample=ignore), **options)
    run(path, tmp_path / "passed", **options)
    for file in FINAL:
        assert (tmp_path / "passed" / file).read_bytes() == (tmp_path / "each" / file).read_bytes(), file


def test_a_run_that_was_interrupted_in_an_idle_span_goes_on_to_the_same_files(tmp_path: Path) -> None:
    path = written(tmp_path, {"faults": [LATE_CABLE]})
    run(path, tmp_path / "whole")
    for number, moment in enumerate((30, 3)):
        run(path, tmp_path / "cut", hooks=Hooks(on_pause=stopping(moment)), resume=number > 0)
    run(path, tmp_path / "cut", resume=True)
    for file in FINAL:
        assert (tmp_path / "cut" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes(), file


def test_an_idle_second_takes_a_few_snapshots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    look: Callable[..., Snapshot] = Emulator.snapshot

    def counted(self: Emulator, **options: bool) -> Snapshot:
        taken.append(self.now_ps)
        return look(self, **options)

    monkeypatch.setattr(Emulator, "snapshot", counted)
    late = [{"src": "host1", "dst": "host3", "size": "1KB", "start": start} for start in ("0s", "1s", "2s")]
    path = written(tmp_path, {"workload": [{"kind": "messages", "messages": late}], "run": {"duration": "10s"}})
    run(path, tmp_path / "out")
    manifest = RunDir.open(tmp_path / "out").manifest
    assert manifest["samples"] > 100_000
    assert len(taken) < 60


@pytest.mark.parametrize(
    ("duration", "interval_ps"),
    [("50us", 50_000_000), ("1ms", 100_000_000), ("2s", 100_000_000), ("2001ms", 200_000_000), ("60s", 3_000_000_000)],
)
def test_the_default_interval_gives_at_most_twenty_thousand_samples(
    duration: str, interval_ps: int, tmp_path: Path
) -> None:
    path = written(tmp_path, {"telemetry": {}, "run": {"duration": duration, "seed": 1}})
    scenario = load_scenario(path, ["run.duration=" + duration, "workload[0].messages[1].start=10us"])
    compiled, plan = simulate.prepare(scenario)
    assert compiled.sampling_ps == plan.sampling_ps == interval_ps
    assert plan.duration_ps <= 20_000 * interval_ps
