"""Counters of a looped run: totals over passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from fabric.dataplane.engine.counters import Snapshot
from fabric.topology.model import Fabric
from telemetry.catalogue.derive import RunInfo
from telemetry.live.collector import LiveCollector
from telemetry.live.mailbox import Mailbox
from telemetry.live.pacing import Pacer
from telemetry.live.simulation import Phase, Standing
from telemetry.live.totals import Totals


def families(number: float) -> list[Metric]:
    counter = CounterMetricFamily("c", "", labels=["port"])
    counter.add_metric(["p1"], number)
    gauge = GaugeMetricFamily("g", "", value=number)
    histogram = HistogramMetricFamily("h", "")
    histogram.add_metric([], [("1.0", number), ("+Inf", 2 * number)], 3 * number)
    return [counter, gauge, histogram]


def values(found: list[Metric]) -> dict[str, float]:
    return {
        sample.name + str(sample.labels.get("le", "")): sample.value for family in found for sample in family.samples
    }


def test_counters_and_histograms_add_up_and_gauges_do_not() -> None:
    totals = Totals().plus(families(5)).plus(families(7))
    assert values(list(totals.added_to(families(1)))) == {
        "c_total": 13,
        "g": 1,
        "h_bucket1.0": 13,
        "h_bucket+Inf": 26,
        "h_count": 26,
        "h_sum": 39,
    }


def test_a_series_that_begins_late_begins_with_what_earlier_passes_counted() -> None:
    late = CounterMetricFamily("c", "", labels=["port"])
    late.add_metric(["p2"], 4)
    totals = Totals().plus([late])
    both = [
        sample
        for family in totals.plus(families(1)).added_to(families(0))
        for sample in family.samples
        if family.name == "c"
    ]
    assert {sample.labels["port"]: sample.value for sample in both} == {"p1": 1, "p2": 4}
    again = CounterMetricFamily("c", "", labels=["port"])
    again.add_metric(["p2"], 0)
    assert values(list(totals.added_to([again])))["c_total"] == 4


def test_a_series_that_the_present_pass_does_not_have_yet_stays() -> None:
    totals = Totals().plus(families(5))
    late = CounterMetricFamily("c", "", labels=["port"])
    late.add_metric(["p2"], 4)
    shown = {family.name: family for family in totals.added_to([late])}
    assert {sample.labels["port"]: sample.value for sample in shown["c"].samples} == {"p2": 4, "p1": 5}
    assert values([shown["h"]]) == values([families(5)[2]])  # a whole family that is missing, in its order
    assert shown["h"].type == "histogram"
    assert "g" not in shown
    assert values(list(totals.plus([late]).added_to([])))["h_sum"] == 15


class Simulation:
    """As much of a live simulation as a collector asks for; its run is a Snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.mailbox = Mailbox()
        self.mailbox.ask = lambda work, timeout_s=0.0: work()  # type: ignore[method-assign,assignment]
        self.pacer = Pacer(1000)
        self.number, self.now, self.started = 1, snapshot, True
        self.engine = self

    def snapshot(self) -> Snapshot:
        return self.now

    def standing(self) -> Standing:
        return Standing(
            Phase.RUNNING,
            self.number,
            self.number - 1,
            self.now.time_ps,
            (self.number - 1) * 10**12 + self.now.time_ps,
            1000.0,
            0.001,
            0.25,
        )


@pytest.fixture
def snapshots(tiny: Fabric, still: Callable[..., Snapshot]) -> Callable[[int, int], Snapshot]:
    def make(time_ps: int, rx_bytes: int) -> Snapshot:
        snapshot = still(tiny, time_ps=time_ps)
        snapshot.ports["rx_bytes"] = np.int64(rx_bytes)
        return snapshot

    return make


def read(collector: LiveCollector, name: str) -> float:
    return next(sample.value for family in collector.collect() for sample in family.samples if sample.name == name)


def test_a_counter_never_falls_from_one_pass_to_the_next(
    snapshots: Callable[[int, int], Snapshot], info: RunInfo
) -> None:
    simulation = Simulation(snapshots(0, 0))
    collector = LiveCollector(info)
    collector.watch(simulation, simulation.snapshot, simulation.snapshot)  # type: ignore[arg-type]
    seen = []
    for number in (1, 2, 3):
        simulation.number = number
        collector.begin(number)
        for time_ps, rx_bytes in ((10**11, 10), (10**12, 50)):
            simulation.now = snapshots(time_ps, rx_bytes)
            seen.append(read(collector, "fabric_port_receive_bytes_total"))
        collector.end("duration", simulation.now)
    assert seen == [10, 50, 60, 100, 110, 150]
    assert read(collector, "fabric_sim_elapsed_seconds_total") == 3.0
    assert read(collector, "fabric_sim_time_seconds") == 1.0
    assert read(collector, "fabric_sim_passes_total") == 2


def test_a_look_from_before_the_end_of_a_pass_is_added_to_no_later_pass(
    snapshots: Callable[[int, int], Snapshot], info: RunInfo
) -> None:
    simulation = Simulation(snapshots(10**12, 50))
    collector = LiveCollector(info)
    collector.watch(simulation, simulation.snapshot, simulation.snapshot)  # type: ignore[arg-type]
    collector.begin(1)

    def passes_go_by_before_the_scrape_goes_on(work: Callable[[], Any], timeout_s: float = 0.0) -> Any:  # noqa: ANN401
        found = work()
        for number in (1, 2, 3):
            collector.end("duration", simulation.now)
            collector.begin(number + 1)
        return found

    simulation.mailbox.ask = passes_go_by_before_the_scrape_goes_on  # type: ignore[method-assign]
    assert read(collector, "fabric_port_receive_bytes_total") == 50


def test_how_the_run_is_paced_is_said(snapshots: Callable[[int, int], Snapshot], info: RunInfo) -> None:
    simulation = Simulation(snapshots(10**11, 10))
    ticks = iter([0.0, 0.5, 100.0, 100.5])
    collector = LiveCollector(info, clock=lambda: next(ticks))
    collector.watch(simulation, simulation.snapshot, simulation.snapshot)  # type: ignore[arg-type]
    collector.begin(1)
    first = {family.name for family in collector.collect()}
    assert "fabric_sim_realtime_ratio" not in first
    simulation.now = snapshots(2 * 10**11, 10)
    found = {sample.name: sample.value for family in collector.collect() for sample in family.samples}
    assert found["fabric_sim_realtime_ratio"] == pytest.approx(0.001)
    assert found["fabric_sim_dilation_ratio"] == 1000
    assert found["fabric_sim_slipped_seconds_total"] == 0.25
    assert found["fabric_sim_paused"] == found["fabric_sim_ended"] == 0
