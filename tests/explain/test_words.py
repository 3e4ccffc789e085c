"""Texts of the page and of the verdict that qualify their numbers."""

from __future__ import annotations

import io
import re
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from fabric.dataplane.state.codes import DropReason
from fabric.render.run_page import _ROUTING, _worst, print_summary
from fabric.render.tables import cell
from fabric.runs.verdict import _arp, _drops, _messages, _never_reached, _timeouts


def test_a_delay_of_nothing_is_at_once_and_no_delay_is_a_dash() -> None:
    assert [cell(value, "delay") for value in (0, None, 15_000_000)] == ["at once", "-", "15ms"]
    assert [cell(value, "ns") for value in (0, None)] == ["-", "-"]


def test_the_routing_table_of_the_page_says_when_the_first_reaction_came() -> None:
    console = Console(file=io.StringIO(), width=200)
    shown: list[object] = []
    console.print = lambda *objects: shown.extend(objects)  # type: ignore[assignment,misc]
    row = dict.fromkeys(_ROUTING) | {"event": "leaf1 lost power", "reaction_ns": 0}
    _worst(console, "Routing", [row], _ROUTING)
    [grid] = shown
    columns = {str(column.header): list(column.cells) for column in grid.columns}  # type: ignore[attr-defined]
    assert columns["reaction"] == ["at once"]
    assert columns["convergence"] == ["-"]


def test_a_port_that_lost_in_two_classes_is_named_once_with_both() -> None:
    ports = [
        {"port": "leaf1:Ethernet0", "class": 3, "reasons": ["no_route"]},
        {"port": "leaf2:Ethernet0", "class": 0, "reasons": ["no_route"]},
        {"port": "leaf1:Ethernet0", "class": 0, "reasons": ["no_route", "link_down"]},
    ]
    metrics = {"drops.lossless": 0, **{f"drops.{reason.name.lower()}": 0 for reason in DropReason}, "drops.no_route": 7}
    [text] = [text for _, text in _drops(metrics, {"drops": {"ports": ports}}) if "dropped" in text]
    assert re.search(r"^7 packets dropped at leaf1:Ethernet0 \(classes 0 and 3\), leaf2:Ethernet0 \(no route\)", text)


def test_faults_and_repairs_after_the_end_are_reported_as_not_reached() -> None:
    ms = 10**6
    crash = {"kind": "switch-crash", "start_ns": ms, "end_ns": 6 * ms, "repaired": True}
    flap = {"kind": "link-flap", "start_ns": 8 * ms, "end_ns": 9 * ms, "repaired": True}
    lasting = {"kind": "link-down", "start_ns": ms, "end_ns": 100 * ms, "repaired": False}
    assert list(_never_reached([crash, flap, lasting], 5_300_000)) == [
        (
            "note",
            (
                "the run ended at 5.3ms, so 1 fault never happened (link-flap at 8ms) and 1 repair never came "
                "(switch-crash at 6ms)"
            ),
        )
    ]
    assert list(_never_reached([crash, lasting], 7 * ms)) == []


def after(timeouts: tuple[int, ...], *, done: int = 4, failed: int = 0, dropped: int = 9) -> dict[str, str]:
    """Sentences about messages and timeouts of a run with four messages, by level. timeouts: of each queue pair."""
    metrics: dict[str, Any] = {
        "messages.total": 4,
        "messages.done": done,
        "messages.failed": failed,
        "goodput.total": 7e9,
        "slowdown.p99": None,
        "transport.timeouts": sum(timeouts),
        "drops.total": dropped,
    }
    now: Any = SimpleNamespace(qps=np.array([(it,) for it in timeouts], [("timeouts", np.int64)]))
    summary = {"stop": {"reason": "done", "time_ns": 70_000_000, "stalled_since_ns": None}}
    return dict([*_messages(now, metrics, summary), *_timeouts(now, metrics)])


def test_goodput_is_no_good_result_where_a_timer_ran_out() -> None:
    assert after((0, 0)) == {"good": "all 4 messages done, goodput 7Gbit/s over the run"}
    found = after((2, 0, 1))
    assert "goodput" not in found["good"]
    assert found["warning"] == (
        "3 retransmission timeouts of 2 queue pairs: what was lost waited for a timer; goodput 7Gbit/s over the run "
        "includes the waits"
    )


def test_timeouts_without_a_loss_name_the_timer_that_is_too_short() -> None:
    text = after((1,), dropped=0)["warning"]
    assert "nothing was dropped: acknowledgements came later than transport.retransmit_timeout" in text


def test_messages_that_failed_are_a_problem_and_their_run_has_no_goodput_to_praise() -> None:
    found = after((8, 8), done=0, failed=4)
    assert found["problem"].startswith("4 messages failed")
    assert "good" not in found
    assert "goodput" not in found["warning"]


def test_what_a_hung_switch_lost_for_two_reasons_is_listed_by_reason() -> None:
    ports = [
        {"port": f"{name}:Ethernet0", "class": 3, "reasons": ["no_route", "injected"]} for name in ("spine1", "leaf1")
    ]
    metrics = {
        "drops.lossless": 0,
        **{f"drops.{reason.name.lower()}": 0 for reason in DropReason},
        "drops.no_route": 7,
        "drops.injected": 5,
    }
    hung = {"name": "a", "kind": "switch-crash", "objects": {"switches": ["spine1"], "carrier": "kept"},
            "start_ns": 5_000, "end_ns": 9_000, "repaired": False}  # fmt: skip
    down = {**hung, "objects": {"switches": ["spine1"], "carrier": "lost"}}
    for truth, clauses in (([hung], 1), ([down], 0), ([], 0)):
        summary = {"drops": {"ports": ports}, "stop": {"time_ns": 9_000}}
        texts = [text for _, text in _drops(metrics, summary, truth) if "dropped" in text]
        assert len(texts) == 2
        assert [text.count("; spine1 hung") for text in texts] == [clauses, clauses]


@pytest.mark.parametrize(
    ("reaction_ns", "convergence_ns", "named"),
    [(100_000, 20_000, True), (20_000, 100_000, False), (None, 20_000, False)],
)
def test_the_two_clocks_of_routing_are_explained_where_the_first_is_the_longer(
    reaction_ns: int | None, convergence_ns: int, named: bool
) -> None:
    event = dict.fromkeys(_ROUTING, 0) | {
        "event": "spine1 lost power",
        "reaction_ns": reaction_ns,
        "convergence_ns": convergence_ns,
    }
    nothing: dict[str, object] = {
        section: {table: [] for table in ("paused_ports", "ports", "queues", "headroom")}
        for section in ("pfc", "drops", "buffers", "ecn")
    }
    summary = {
        **nothing,
        "stop": {"reason": "duration", "time_ns": 1},
        "watchdog": [],
        "verdict": [],
        "expectations": [],
        "messages": {"by_size": []},
        "routing": {"events": [event], "n_events": 1},
        "headline": "",
        "row_counts": defaultdict(int),
        "metrics": {"goodput.total_bps": 0, "transport.retransmits": 0, "cnp.sent": 0},
    }
    out = io.StringIO()
    print_summary({"name": "n", "status": "done", "seed": 1, "duration_ps": 10**9}, summary, out, Path("runs/n"))
    assert ("Reaction: BGP's first" in out.getvalue()) == named


@pytest.mark.parametrize(
    ("suppressed", "expected"),
    [
        (30, ["leaves answered all of 30 ARP requests themselves"]),
        (
            20,
            ["leaves answered 67% of 30 ARP requests; the rest became 40 VXLAN copies, and hosts received 90 requests"],
        ),
    ],
)
def test_requests_that_leaves_answered_all_leave_no_rest(suppressed: int, expected: list[str]) -> None:
    counts: dict[str, float | int | None] = {
        "arp.requests": 30,
        "arp.suppressed": suppressed,
        "arp.copies": 40,
        "arp.arrived": 90,
    }
    assert [text for _, text in _arp(counts)] == expected


@pytest.mark.parametrize(
    ("lost", "timeouts", "held", "words"),
    [
        (5, 0, 0, ": 5 packets were lost, and no retransmission timer (transport.retransmit_timeout) ran out before"),
        (1, 0, 0, ": 1 packet was lost, and no"),
        (5, 2, 0, ": 5 packets were lost, and 2 retransmission timeouts did not help"),
        (1, 1, 0, ": 1 packet was lost, and 1 retransmission timeout did not help"),
        (0, 0, 1, ": 1 port stood paused at the end"),
        (0, 0, 0, " although 3 messages waited"),
    ],
)
def test_a_run_in_which_nothing_is_delivered_any_more_says_why(lost: int, timeouts: int, held: int, words: str) -> None:
    metrics: dict[str, Any] = {
        "messages.total": 4, "messages.done": 1, "messages.failed": 0, "slowdown.p99": None,
        "transport.timeouts": timeouts, "drops.total": lost,
    }  # fmt: skip
    paused = np.zeros((6, 8), np.bool_)
    paused[:held, 3] = True
    now: Any = SimpleNamespace(paused=paused)
    summary = {"stop": {"reason": "duration", "time_ns": 70_000_000, "stalled_since_ns": 4_900_000}}
    text = dict(_messages(now, metrics, summary))["problem"]
    assert words in text
    assert text.startswith("nothing was delivered after 4.9ms although 3 messages waited")
    assert text.endswith("waited") == (not lost and not held)
