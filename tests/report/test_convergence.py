"""What a dated event cost: losses between samples, sentences that tell the worst."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fabric.report import convergence

US = 1_000
LOSSES = (np.array([200, 300, 900]) * US, np.array([4, 10, 11]))
"""4 packets lost before the sample at 200 us, 6 more before 300 us, 1 more before 900 us."""


@pytest.mark.parametrize(("from_us", "until_us", "lost"), [
    (150, 250, 10),         # the samples round the window are at 100 us and 300 us
    (200, 300, 6),          # a sample counts what came before it
    (0, 1_000, 11), (300, 800, 0), (310, 810, 1), (900, 5_000, 0)])
def test_losses_are_counted_between_the_samples_round_a_window(from_us: int, until_us: int, lost: int) -> None:
    assert convergence._lost(LOSSES, from_us * US, until_us * US, 100 * US) == lost


def test_nothing_is_lost_where_no_counter_ever_moved() -> None:
    none = (np.zeros(0, np.int64), np.zeros(0, np.int64))
    assert convergence._lost(none, 0, 10**9, 100 * US) == 0


def row(**values: object) -> dict[str, Any]:
    return {"event": "spine1 lost power", "time_ns": 10**6, "convergence_ns": 2 * 10**6, "updates": 12,
            "packets_lost": 0, "packets_lost_converging": 0, "messages_under_way": 3, "slowdown_p50": 1.5,
            "slowdown_max": 2.0, **values}


def test_the_costliest_events_are_told_in_order_of_time() -> None:
    rows = [row(event=f"event {number}", time_ns=number * 10**6, packets_lost=lost, packets_lost_converging=lost)
            for number, lost in enumerate((5, 0, 7, 9, 1))]
    told = list(convergence.sentences({"events": rows, "alarms": []}))
    assert [text.partition(" at ")[0] for _, text in told] == ["event 0", "event 2", "event 3"]
    assert {level for level, _ in told} == {"warning"}


def test_an_event_that_cost_nothing_is_a_note_and_a_black_hole_is_named() -> None:
    [(level, text)] = convergence.sentences({"events": [row()], "alarms": []})
    assert (level, "converged in 2ms" in text, "no packet lost" in text) == ("note", True, True)
    [(level, text)] = convergence.sentences({"events": [row(packets_lost=9, packets_lost_converging=2)], "alarms": []})
    assert level == "warning"
    assert "9 packets lost, 7 of them after routes had settled on a black hole" in text
    [(level, text)] = convergence.sentences({"events": [row(convergence_ns=None)], "alarms": []})
    assert level == "note"
    assert "no route changed" in text


def test_metrics_speak_of_the_whole_run_and_are_absent_without_a_control_plane() -> None:
    section = {"events": [row(), row(convergence_ns=None, packets_lost_converging=4)], "n_events": 2, "updates": 24,
               "sessions_lost": 8}
    assert convergence.routing_metrics(section) == {
        "convergence.max": 2 * 10**9, "convergence.lost": 4, "convergence.events": 2, "bgp.updates": 24,
        "bgp.sessions_lost": 8}
    assert set(convergence.routing_metrics(None).values()) == {None}
