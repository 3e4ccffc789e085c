"""A cable that is cut under shortest paths: until when routes led into it, and which field decided."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabric.explain.evidence import Evidence
from fabric.explain.message import explain_message
from fabric.explain.repairs import repairs
from fabric.runs import simulate as simulating
from fabric.runs.rundir import RunDir
from fabric.scenario.load import build_scenario
from telemetry.diagnosis.changes import Source
from telemetry.sources.change_log import change_log

CUT: dict[str, Any] = {
    "name": "cut",
    "topology": {
        "kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 1, "host_rate": "100G", "fabric_rate": "100G",
    },
    "workload": [{"kind": "permutation", "size": "20MB", "shift": 1}],
    "telemetry": {"interval": "100us"},
}  # fmt: skip


def simulated(path: Path, until: str | None = None, more: dict[str, Any] | None = None, **run: Any) -> RunDir:  # noqa: ANN401  fields of run
    """Both cables of leaf1 in turn, so that each message meets one that is cut."""
    file = path / "scenario.yml"
    file.write_text("{}", encoding="utf-8")
    end = {} if until is None else {"until": until}
    faults = [{"kind": "link-down", "link": "leaf1--spine1", "at": "200us", **end}]
    faults.append({"kind": "link-down", "link": "leaf1--spine2", "at": "200us", "until": until or "700us"})
    data = {**CUT, "faults": faults, "run": {"duration": "3ms", "seed": 1, **run}, **(more or {})}
    compiled, plan = simulating.prepare(build_scenario(data, file))
    simulating.simulate(compiled, plan, simulating.Options(path / "out"))
    return RunDir.open(path / "out")


def words(run: RunDir) -> str:
    head = explain_message(Evidence(run), "permutation/0").reasons
    return "\n".join(it.text for it in head)


@pytest.mark.parametrize(("delay", "shown", "until"), [("300us", "300us", "500us"), (None, "1ms", "1.2ms")])
def test_the_field_that_ended_a_black_hole_is_named_with_its_value(
    tmp_path: Path, delay: str | None, shown: str, until: str
) -> None:
    run = simulated(tmp_path, **({} if delay is None else {"reroute_delay": delay}))
    text = words(run)
    assert f"(run.reroute_delay {shown})" in text
    assert "lost carrier at 200us" in text
    assert f"routes led there until {until}" in text
    assert "transport.retransmit_timeout" in text
    found = [it for it in change_log(run) if it.source is Source.ROUTES]
    assert found[0].text == f"shortest paths computed again, {shown} after the link (run.reroute_delay)"
    assert found[0].time_ns == 200_000 + {"300us": 300_000, "1ms": 1_000_000}[shown]


def test_a_carrier_that_is_back_before_the_routes_move_ends_the_black_hole(tmp_path: Path) -> None:
    assert "had it back at 600us, before routes avoided it (run.reroute_delay 1ms)" in words(
        simulated(tmp_path, "600us")
    )


@pytest.mark.parametrize(
    ("more", "second_ns"),
    [({}, 500_000), ({"switches": {"load_balancing": "source-routed"},
                      "transport": {"source_routes": {"withdrawal": "300us"}}}, 700_000)],
)  # fmt: skip
def test_switches_compute_paths_for_all_cables_and_nics_leave_each_after_its_own_delay(
    tmp_path: Path, more: dict[str, Any], second_ns: int
) -> None:
    cuts = [("spine1", "200us"), ("spine2", "400us")]
    faults = [{"kind": "link-down", "link": f"leaf1--{spine}", "at": at} for spine, at in cuts]
    run = simulated(tmp_path, more={"faults": faults, **more}, **({} if more else {"reroute_delay": "300us"}))
    assert [it.computed_ns for it in repairs(run)] == [500_000, second_ns]


def test_a_run_that_ends_first_has_no_new_paths(tmp_path: Path) -> None:
    run = simulated(tmp_path, duration="800us")
    assert "routes still led there when the run ended (run.reroute_delay 1ms)" in words(run)
    assert not [it for it in change_log(run) if it.source is Source.ROUTES]
    assert min(it.computed_ns for it in repairs(run)) == 1_200_000


def test_where_nics_choose_paths_their_delay_is_named_and_not_that_of_switches(tmp_path: Path) -> None:
    routes = {
        "switches": {"load_balancing": "source-routed"},
        "transport": {"source_routes": {"withdrawal": "150us"}, "retransmit_timeout": "400us"},
    }
    run = simulated(tmp_path, more=routes)
    text = words(run)
    assert "routes led there until 350us (transport.source_routes.withdrawal 150us)" in text
    assert "run.reroute_delay" not in text
    assert "path chosen by its NIC" in text
    found = [it.text for it in change_log(run) if it.source is Source.ROUTES]
    assert found[0] == "NICs choose source routes again, 150us after the link (transport.source_routes.withdrawal)"
