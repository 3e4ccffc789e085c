"""Losses of a dated event between samples, and the sentences about the largest losses."""

from __future__ import annotations

from typing import Any

import pytest

from fabric.controlplane.network.events import ControlEvent
from fabric.controlplane.network.record import Convergence
from fabric.runs import convergence

US = 1_000
LOSSES = [(200 * US, "leaf1", 4), (300 * US, "leaf1", 6), (300 * US, "leaf2", 3), (900 * US, "leaf1", 1)]
"""(sample, where, packets lost since the sample before)."""


def event(at_us: int, settled_us: int | None) -> Convergence:
    return Convergence(
        ControlEvent(at_us * US), at_us * US, last_fib_ns=None if settled_us is None else settled_us * US
    )


@pytest.mark.parametrize(
    ("at_us", "settled_us", "packets", "converging"),
    [
        (150, 250, 14, 13),  # the samples round the window are at 100 us and 300 us
        (200, 300, 10, 9),  # a sample counts what came before it
        (0, 1_000, 14, 14),
        (310, 810, 1, 1),
        (300, 320, 1, 0),
        (900, 5_000, 0, 0),
        (250, None, 10, 10),
    ],
)
def test_losses_are_counted_between_the_samples_round_a_window(
    at_us: int, settled_us: int | None, packets: int, converging: int
) -> None:
    [lost] = convergence.blame(LOSSES, [event(at_us, settled_us)], [{"leaf1"}], 100 * US)
    assert (lost.packets, lost.converging) == (packets, converging)


def test_a_loss_is_put_down_to_the_latest_event_that_reached_the_device() -> None:
    records = [event(0, 1_000), event(250, 500)]
    first, second = convergence.blame(LOSSES, records, [{"leaf1"}, {"leaf2"}], 100 * US)
    assert (first.packets, second.packets) == (11, 3)  # leaf1 still loses packets to the first
    first, second = convergence.blame(LOSSES, records, [{"leaf1"}, set()], 100 * US)
    assert (first.packets, second.packets) == (11, 3)  # no event reached leaf2: the latest
    first, second = convergence.blame(LOSSES, records, [{"leaf1"}, {"leaf1", "leaf2"}], 100 * US)
    assert (first.packets, second.packets, second.converging) == (4, 10, 9)


def test_nothing_is_lost_where_no_counter_ever_moved() -> None:
    [lost] = convergence.blame([], [event(0, None)], [{"leaf1"}], 100 * US)
    assert (lost.packets, lost.converging) == (0, 0)


def row(**values: object) -> dict[str, Any]:
    return {
        "event": "spine1 lost power",
        "time_ns": 10**6,
        "convergence_ns": 2 * 10**6,
        "updates": 12,
        "packets_lost": 0,
        "packets_lost_converging": 0,
        "messages_under_way": 3,
        "slowdown_p50": 1.5,
        "slowdown_max": 2.0,
        **values,
    }


def section(*events: dict[str, Any], **values: object) -> dict[str, Any]:
    return {"events": list(events), "n_events": len(events), "alarms": [], "n_alarms": 0, **values}


def test_the_events_with_most_losses_are_listed_in_order_of_time() -> None:
    rows = [
        row(event=f"event {number}", time_ns=number * 10**6, packets_lost=lost, packets_lost_converging=lost)
        for number, lost in enumerate((5, 0, 7, 9, 1))
    ]
    texts = list(convergence.sentences(section(*rows)))
    assert [text.partition(" at ")[0] for _, text in texts[:3]] == ["event 0", "event 2", "event 3"]
    assert {level for level, _ in texts[:3]} == {"warning"}
    assert texts[3:] == [("note", "2 more routing events in the table below")]


def test_alarms_that_are_not_listed_are_counted() -> None:
    alarm = {"time_ns": 1, "switch": "leaf1", "vni": 100, "mac": "02:00:00:00:00:01", "text": "moved 5 times"}
    texts = list(convergence.sentences(section(alarms=[alarm] * 9, n_alarms=9)))
    assert len(texts) == 4
    assert texts[3] == ("warning", "6 more alarms about duplicate MACs; summary.json lists them")


def test_an_event_that_cost_nothing_is_a_note_and_a_black_hole_is_named() -> None:
    [(level, text)] = convergence.sentences(section(row()))
    assert (level, "converged in 2ms" in text, "no packet lost" in text) == ("note", True, True)
    [(level, text)] = convergence.sentences(section(row(packets_lost=9, packets_lost_converging=2)))
    assert level == "warning"
    assert "9 packets lost, 7 of them after routes had settled on a black hole" in text
    [(level, text)] = convergence.sentences(section(row(convergence_ns=None)))
    assert level == "note"
    assert "no route changed" in text


def test_forwarding_that_changed_without_bgp_is_not_said_to_have_converged() -> None:
    [(_, text)] = convergence.sentences(section(row(convergence_ns=0)))
    assert "converged at once, 12 BGP updates" in text
    [(_, text)] = convergence.sentences(section(row(convergence_ns=0, updates=0, packets_lost=9)))
    assert "forwarding changed at once, no BGP update by the end, 9 packets lost" in text
    assert "converged" not in text


def test_losses_while_timers_run_are_no_black_hole_that_routes_settled_on() -> None:
    [lost] = convergence.blame(LOSSES, [event(150, 160)], [{"leaf1"}], 100 * US, unsettled={0})
    assert (lost.packets, lost.converging) == (14, 14)
    wait = "bgp.update_delay 50ms runs until 65ms at leaf1"
    [(level, text)] = convergence.sentences(section(row(packets_lost=9, packets_lost_converging=9, pending=wait)))
    assert level == "warning"
    assert f"BGP had not converged when the run ended: {wait}; 9 packets lost" in text
    assert "settled" not in text
    [(level, text)] = convergence.sentences(section(row(convergence_ns=None, pending=wait)))
    assert (level, f"no route changed by the end: {wait}" in text) == ("note", True)


def test_metrics_cover_the_whole_run_and_are_absent_without_a_control_plane() -> None:
    # More events than the list has: the others count as well.
    found = section(
        row(),
        row(convergence_ns=None),
        n_events=500,
        slowest_ns=3 * 10**6,
        packets_lost_converging=4,
        updates=24,
        sessions_lost=8,
    )
    assert convergence.routing_metrics(found) == {
        "convergence.max": 3 * 10**9,
        "convergence.lost": 4,
        "convergence.events": 500,
        "bgp.updates": 24,
        "bgp.sessions_lost": 8,
    }
    assert set(convergence.routing_metrics(None).values()) == {None}
