"""Two congestion controls at one port: the statements of docs/congestion-control.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from fabric.dataplane.engine.driver import Emulator
from fabric.scenario.compile.scenario import compile_scenario
from fabric.scenario.load import build_scenario

SCENARIO = Path(__file__).parents[2] / "scenarios" / "two-controls.yml"
MS = 10**9


def share_of_first(first: str, second: str, switches: dict[str, Any] | None = None) -> float:
    """What the first entry of the workload has of all acknowledged packets of 2 to 10 ms."""
    raw = yaml.safe_load(SCENARIO.read_text())
    raw["transport"] = {"cc": first}
    if first != second:
        raw["transport"]["overrides"] = [{"workload": "second", "cc": second}]
    raw["switches"] |= switches or {}
    for load in raw["workload"]:
        load["size"] = "40MB"
    case = compile_scenario(build_scenario(raw, SCENARIO))
    engine = Emulator(case.fabric, case.params)
    engine.advance(2 * MS)
    before = engine.state.qps["acked_psn"][:4].copy()
    engine.advance(10 * MS)
    packets = engine.state.qps["acked_psn"][:4] - before
    return float(packets[:2].sum() / packets.sum())


@pytest.mark.parametrize(
    ("first", "second"),
    [("dcqcn", "dctcp"), ("dcqcn", "swift"), ("dctcp", "timely"), ("dctcp", "swift"), ("swift", "swift")],
)
def test_these_controls_share_a_port_so_that_each_has_two_fifths_of_it_or_more(first: str, second: str) -> None:
    assert share_of_first(first, second) == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize("other", ["dcqcn", "dctcp", "timely", "swift"])
def test_hpcc_yields_to_controls_that_keep_a_queue(other: str) -> None:
    assert share_of_first(other, "hpcc") > 0.85


@pytest.mark.parametrize("control", ["dctcp", "timely", "hpcc", "swift"])
def test_hosts_without_control_leave_the_others_next_to_nothing(control: str) -> None:
    assert share_of_first(control, "none") < 0.02
