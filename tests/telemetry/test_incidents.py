"""The offline road: states of an alert, incidents with a root, and scores against the truth, from small stores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pytest

from telemetry.alerting.alert import Severity
from telemetry.alerting.alerts import BY_NAME
from telemetry.alerting.evaluate import Firing, Offline, evaluate_store
from telemetry.alerting.incidents import incidents
from telemetry.alerting.outlive import kept_s
from telemetry.alerting.promql.series import is_stale
from telemetry.alerting.rules import SCRAPE_S
from telemetry.alerting.score import devices_of, score
from telemetry.diagnosis.root import Kind, Root
from telemetry.record.store import Store

MS = 10**6


def store(samples: int, series: dict[tuple[str, ...], Sequence[float]]) -> Store:
    """('metric', 'label=value', ...) -> values, one a millisecond: one a nominal scrape; NaN: not there."""
    found = Store()
    for sample in range(samples):
        found.begin(sample * MS)
    found_series = {("fabric_sim_elapsed_seconds_total",): np.arange(samples) * 1e-3, **series}
    for (metric, *pairs), values in found_series.items():
        track = found.track(metric)
        track.labels.append(tuple((name, value) for name, _, value in (pair.partition("=") for pair in pairs)))
        row = np.array([len(track.labels) - 1], np.int32)
        for sample, value in enumerate(values):
            track.append(sample, row, np.array([float(value)]))
    return found


def up(values: Sequence[float]) -> dict[tuple[str, ...], Sequence[float]]:
    info = ("fabric_port_info", "device=leaf1", "port=e0", "peer_device=spine1", "peer_port=e9")
    return {("fabric_port_up", "device=leaf1", "port=e0"): values, info: [1] * len(values)}


def firings(of: Store, name: str) -> list[tuple[int | None, ...]]:
    """(pending, firing, cleared, resolved) of each, in ms."""
    return [
        tuple(None if at is None else at // MS for at in (it.pending_ns, it.firing_ns, it.cleared_ns, it.resolved_ns))
        for it in Offline(of).firings(BY_NAME[name])
    ]


@pytest.mark.parametrize(
    ("speeds", "seen"), [([100] * 20, []), ([100] * 5 + [25] * 15, [(5, 9)]), ([100] * 5 + [25] * 4 + [100] * 11, [])]
)
def test_an_alert_is_pending_before_it_fires(speeds: list[int], seen: list[tuple[int, int]]) -> None:
    slow = {
        ("fabric_port_speed_bytes_per_second", "device=leaf1", "port=e0"): speeds,
        ("fabric_port_configured_speed_bytes_per_second", "device=leaf1", "port=e0"): [100] * len(speeds),
        **up([1] * len(speeds)),
    }
    assert [it[:2] for it in firings(store(len(speeds), slow), "FabricLinkDegraded")] == seen


def test_an_alert_that_explains_nothing_resolves_when_its_expression_is_false() -> None:
    group = ("device=leaf1", "port=e0", "priority=3")
    used = {
        ("fabric_pg_headroom_watermark_bytes", *group): [0] * 5 + [90] * 8 + [0] * 17,
        ("fabric_pg_headroom_limit_bytes", *group): [100] * 30,
    }
    assert firings(store(30, used), "FabricHeadroomNearlyFull") == [(5, 9, 17, 17)]  # the maximum of a minute


KEPT: Final = kept_s("FabricLinkDown") // SCRAPE_S
"""Scrapes for which it is kept firing."""


@pytest.mark.parametrize(
    ("values", "seen"),
    [
        ([1] * 20, []),
        ([1] * 5 + [0] * 15, [(5, 7, None, None)]),
        ([1] * 5 + [0] * 2 + [1] * 13, []),  # two scrapes: pending, then gone
        ([1] * 5 + [0] * 3 + [1] * 60, [(5, 7, 8, 8 + KEPT)]),  # 30 s are over at the third
        ([1] * 5 + [0] * 3 + [1] * 8, [(5, 7, 8, None)]),  # the run ends while it is kept
        ([0] * 4 + [1] * 4 + [0] * 12, [(0, 2, None, None)]),  # back while it is kept: it never resolved,
        ([0] * 4 + [1] * 4 + [0] + [1] * 60, [(0, 2, 9, 9 + KEPT)]),  # and it is kept from the last time
        ([0] * 4 + [1] * KEPT + [0] * 4, [(0, 2, None, None)]),
        ([0] * 4 + [1] * (KEPT + 1) + [0] * 4, [(0, 2, 4, 4 + KEPT), (5 + KEPT, 7 + KEPT, None, None)]),
    ],
)
def test_an_alert_that_explains_others_is_kept_firing(values: list[int], seen: list[tuple[int | None, ...]]) -> None:
    """As rules/alerting.go has it, which test_outlive.py asks a real Prometheus for."""
    assert firings(store(len(values), up(values)), "FabricLinkDown") == seen


def test_an_alert_without_for_fires_at_once() -> None:
    dropped = {
        ("fabric_pg_dropped_packets_total", "device=leaf1", "port=e0", "priority=3"): [0] * 5 + [2] * 15,
        ("fabric_pg_lossless", "device=leaf1", "port=e0", "priority=3"): [1] * 20,
    }
    assert firings(store(20, dropped), "FabricLosslessDrop") == [(5, 5, None, None)]


def test_a_series_that_vanishes_ends_its_alert_and_one_that_never_was_is_silent() -> None:
    gone = store(20, up([0] * 10 + [float("nan")] * 10))
    assert firings(gone, "FabricLinkDown") == [(0, 2, 10, None)]
    assert firings(store(20, {}), "FabricLinkDown") == []


def test_a_run_without_samples_has_no_alerts() -> None:
    assert evaluate_store(Store()).firings == []


def test_an_alert_that_waits_for_its_time_at_the_end_of_the_run_is_pending() -> None:
    def waiting(states: list[float]) -> list[tuple[str, int]]:
        found = evaluate_store(store(len(states), up(states)))
        return [(it.alert.name, it.pending_ns // MS) for it in found.pending if it.alert.name == "FabricLinkDown"]

    assert waiting([1] * 8 + [0] * 2) == [("FabricLinkDown", 8)]
    assert waiting([0] + [1] * 8 + [0]) == [("FabricLinkDown", 9)]
    assert waiting([1] * 8 + [0] * 3) == [], "after two evaluations it fires"
    assert waiting([1] * 8 + [0, 1]) == []
    assert evaluate_store(Store()).pending == []


def test_an_alert_that_still_fires_is_not_pending_although_its_row_has_come_back() -> None:
    slow = ("fabric_pfc_receive_paused_seconds_total", "device=leaf1", "port=e0", "priority=3")
    run = store(
        24,
        {
            slow: [min(it, 12) * MS / 2e9 for it in range(18)]
            + [6.0 * MS / 1e9 + (it + 1) * MS / 2e9 for it in range(6)],
            ("fabric_sim_elapsed_seconds_total",): [it * MS / 1e9 for it in range(24)],
            ("fabric_port_info", "device=leaf1", "port=e0", "peer_device=host1", "peer_port=eth0"): [1] * 24,
            ("fabric_device_info", "device=host1", "role=host"): [1] * 24,
            ("fabric_rnic_receive_buffer_peak_bytes", "device=host1"): [1] * 24,
        },
    )
    found = evaluate_store(run)
    [fired] = [it for it in found.firings if it.alert.name == "FabricSlowReceiver"]
    assert fired.resolved_ns is None
    assert "FabricSlowReceiver" not in {it.alert.name for it in found.pending}


def test_evaluations_come_as_often_as_the_dilation_says() -> None:
    run = store(20, up([0] * 20))
    assert len(evaluate_store(run, dilation=15_000).grid_ns) == 20
    slow = evaluate_store(run, dilation=150_000)
    assert len(slow.grid_ns) == 20, "windows and evaluations stretch alike"
    assert [it.firing_ns for it in slow.firings] == [2 * MS]


def test_a_recorded_row_that_is_absent_is_stale_and_not_old() -> None:
    queue = ("device=leaf1", "port=e0", "queue=3")
    run = store(
        10,
        {
            ("fabric_ecn_marked_packets_total", *queue): range(10),
            ("fabric_ecn_eligible_packets_total", *queue): [0] + [9] * 9,
        },
    )
    offline = Offline(run)
    name = "device_port_queue:fabric_ecn_marked:ratio_rate1m"
    kept = offline._database.series(name)[0].values
    assert not is_stale(kept)[1]
    assert is_stale(kept)[-1], "nothing eligible passed in the last minute"


def firing(name: str, *, begin: int = 0, end: int | None = None, **labels: str) -> Firing:
    end_ns = None if end is None else end * MS
    return Firing(BY_NAME[name], labels, begin * MS, (begin + 2) * MS, end_ns, end_ns, 0.5)


STORM = firing("FabricPfcStorm", begin=2, device="leaf1", port="e0", priority="3", peer_device="host1")


def paused(port: str, begin: int, end: int | None = None) -> Firing:
    return firing("FabricPfcPauseRatioHigh", begin=begin, end=end, device="spine1", port=port, priority="3")


def test_what_a_storm_explains_is_its_incident_and_its_host_the_root() -> None:
    found = incidents([STORM, paused("e0", 4), paused("e1", 5)], store(20, {}))
    assert len(found) == 1
    assert (found[0].root_device, found[0].severity) == ("host1", Severity.CRITICAL)
    assert found[0].headline.startswith("host1 kept leaf1:e0")
    assert found[0].devices == ("host1", "leaf1", "spine1")
    assert (found[0].began_ns, found[0].fired_ns, found[0].ended_ns) == (2 * MS, 4 * MS, None)
    assert found[0].as_json()["alerts"] == {"FabricPfcStorm": 1, "FabricPfcPauseRatioHigh": 2}


def test_two_roots_at_one_time_are_two_incidents() -> None:
    other = replace(STORM, labels={**STORM.labels, "device": "leaf9", "peer_device": "host9"})
    assert [it.root_device for it in incidents([STORM, other], store(20, {}))] == ["host1", "host9"]


def test_one_root_long_after_is_another_incident() -> None:
    before, after = (
        firing("FabricLosslessDrop", begin=begin, end=end, device="leaf1", port="e0", priority="3")
        for begin, end in ((0, 3), (12, 15))
    )
    assert len(incidents([before, after], store(20, {}))) == 2
    soon = replace(after, pending_ns=6 * MS)
    assert len(incidents([before, soon], store(20, {}))) == 1, "a quiet minute is 4 ms"


def test_both_ends_of_one_cable_are_one_incident() -> None:
    cable = {
        ("fabric_port_info", "device=leaf1", "port=e0", "peer_device=spine1", "peer_port=e9"): [1] * 20,
        ("fabric_port_info", "device=spine1", "port=e9", "peer_device=leaf1", "peer_port=e0"): [1] * 20,
    }
    ends = [firing("FabricLinkDown", device="leaf1", port="e0"), firing("FabricLinkDown", device="spine1", port="e9")]
    assert len(incidents(ends, store(20, cable))) == 1
    assert len(incidents(ends, store(20, {}))) == 2, "without the cable nothing joins them"


def test_pauses_without_a_cause_alert_take_the_root_that_most_samples_name() -> None:
    def cause(root: str) -> tuple[str, ...]:
        return ("fabric_pfc_pause_cause_info", "device=spine1", "port=e0", "priority=3", f"root_device={root}")

    nan = float("nan")
    run = store(20, {cause("leaf1"): [nan] * 5 + [1] * 10 + [nan] * 5, cause("leaf2"): [nan] * 15 + [1] * 5})
    assert [it.root_device for it in incidents([paused("e0", 6)], run)] == ["leaf1"]
    assert [it.root_device for it in incidents([paused("e0", 6)], store(20, {}))] == [""]


DROPS = [firing("FabricLosslessDrop", begin=5, device=name, port="e0", priority="3") for name in ("leaf1", "leaf2")]
TO_SPINES = {
    ("fabric_port_info", f"device={leaf}", f"port=e{port}", f"peer_device=spine{port}", f"peer_port=e{leaf}"): [1] * 20
    for leaf in ("leaf1", "leaf2")
    for port in (1, 2)
}


def root(kind: Kind, device: str, began: int = 4, ended: int = 8) -> Root:
    return Root(kind, device, began * MS, ended * MS, ("because",), priority=3)


def test_losses_behind_a_switch_with_a_wrong_map_are_one_incident_at_that_switch() -> None:
    wrong = root(Kind.DSCP_MAP, "spine1")
    [found] = incidents(DROPS, store(20, TO_SPINES), diagnosed=[wrong])
    assert (found.root_device, found.cause) == ("spine1", wrong)
    assert found.as_json()["cause"]["kind"] == "dscp-map"


@pytest.mark.parametrize(
    ("others", "roots"),
    [
        ([root(Kind.DSCP_MAP, "spine1"), root(Kind.HEADROOM_SHORT, "leaf2")], ["spine1", "leaf2"]),  # its own first
        ([root(Kind.DSCP_MAP, "leaf9")], ["leaf1", "leaf2"]),  # no neighbour
        ([root(Kind.DSCP_MAP, "spine1", began=30, ended=40)], ["leaf1", "leaf2"]),  # after they had ended
        ([root(Kind.INCAST, "spine1")], ["leaf1", "leaf2"]),  # loses nothing
        ([], ["leaf1", "leaf2"]),
    ],
)
def test_a_root_explains_an_alert_of_its_runbook_at_its_place_in_its_time(others: list[Root], roots: list[str]) -> None:
    ended = [replace(it, cleared_ns=20 * MS) for it in DROPS]
    assert [it.root_device for it in incidents(ended, store(20, TO_SPINES), diagnosed=others)] == roots


TRUTH = {
    "name": "broken-nic",
    "kind": "pause-storm",
    "objects": {"hosts": ["host1"], "links": None},
    "start_ns": 1 * MS,
    "end_ns": 20 * MS,
}


def test_a_fault_is_found_by_an_incident_that_names_its_device_in_time() -> None:
    found = score(incidents([STORM], store(20, {})), [TRUTH])
    assert (found.precision, found.recall, found.delay_ns) == (1.0, 1.0, 3 * MS)


@pytest.mark.parametrize("truth", [{**TRUTH, "objects": {"hosts": ["host2"]}}, {**TRUTH, "start_ns": 0, "end_ns": MS}])
def test_another_device_or_another_time_is_a_miss_and_a_false_incident(truth: dict[str, object]) -> None:
    found = score(incidents([STORM], store(20, {})), [truth])
    assert (found.precision, found.recall, found.delay_ns) == (0.0, 0.0, None)


def test_without_incidents_or_faults_there_is_no_share() -> None:
    assert (score([], []).precision, score([], []).recall) == (None, None)
    assert score([], [TRUTH]).recall == 0.0


@pytest.mark.parametrize(
    ("objects", "devices"),
    [
        ({"links": ["leaf1:Ethernet0--spine1:Ethernet8"], "bit_error_ratio": 1e-6}, {"leaf1", "spine1"}),
        ({"ports": ["leaf1:Ethernet0", "leaf1:Ethernet4"], "changes": {}}, {"leaf1"}),
        ({"hosts": ["host1"], "switches": ["s1"], "via": ["s2"]}, {"host1", "s1"}),
        ({"hosts": ["host1"], "to": "leaf2", "cable": "none"}, {"host1", "leaf2"}),
    ],
)
def test_devices_of_a_truth_record_are_those_that_were_broken(objects: dict[str, object], devices: set[str]) -> None:
    assert devices_of({"objects": objects}) == devices


def test_a_storm_of_thousands_of_alerts_is_joined_without_looking_at_every_pair() -> None:
    many = [
        firing("FabricPfcPauseRatioHigh", begin=4, device=f"leaf{row}", port="e0", priority="3")
        for row in range(20_000)
    ]
    found = incidents([STORM, *many], store(20, {}))
    assert [it.root_device for it in found] == ["host1"]
    assert len(found[0].firings) == 20_001
