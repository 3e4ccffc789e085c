"""Numbers of the summary against values computed by hand."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fabric.dataplane.engine.counters import Snapshot
from fabric.dataplane.state.codes import DropReason, QpState
from fabric.render.run_page import print_summary
from fabric.runs import measures, messages, summary
from fabric.runs.left_out import left_out
from fabric.runs.summary import Ending, judge
from fabric.scenario.schema.expectations import METRICS, parse

IDEAL = np.array([1_000_000, 1_000_000])


def done(now: Snapshot, *fct_ps: int) -> Snapshot:
    for row, duration_ps in enumerate(fct_ps):
        now.messages["start_ps"][row], now.messages["end_ps"][row] = 1_000, 1_000 + duration_ps
    return now


def test_quantiles_are_measured_values() -> None:
    found = messages.distribution(np.arange(1, 101))
    assert found == {"mean": 50.5, "p50": 50, "p90": 90, "p95": 95, "p99": 99, "p999": 100, "max": 100}
    assert set(messages.distribution(np.zeros(0)).values()) == {None}
    assert messages.distribution(np.array([7]))["p999"] == 7


def test_every_declared_metric_is_measured(still: Callable[..., Snapshot]) -> None:
    assert set(measures.measure(still(), IDEAL, 0)) == set(METRICS)


def test_a_lossless_loss_is_one_of_a_lossless_class_for_want_of_buffer(still: Callable[..., Snapshot]) -> None:
    now = still(1_000)
    now.pgs["lossless"][2, 3] = 1
    now.drops["pkts"][3, 3, DropReason.EGRESS_THRESHOLD] = 5  # class 3 is lossless on this switch
    now.drops["pkts"][3, 0, DropReason.INGRESS_THRESHOLD] = 7
    now.drops["pkts"][3, 3, DropReason.LINK_DOWN] = 11  # lost, but not for lack of buffer
    found = measures.measure(now, IDEAL, 0)
    assert (found["drops.lossless"], found["drops.lossy"], found["drops.link_down"]) == (5, 7, 11)


def test_jain_is_one_for_equal_shares_and_falls_with_inequality(still: Callable[..., Snapshot]) -> None:
    now = done(still(10_000_000), 1_000_000, 1_000_000)
    now.qps["src"] = [0, 1]
    assert measures.jain(now) == pytest.approx(1.0)
    now.messages["size_bytes"] = [1_000_000, 1]
    assert measures.jain(now) == pytest.approx(0.5, abs=0.01)
    assert measures.jain(still()) is None


def test_an_expectation_on_a_metric_without_a_value_is_not_met() -> None:
    assert judge(parse("fct.p99 < 2ms"), None)["met"] is False
    assert judge(parse("fct.p99 < 2ms"), 1_999_000_000)["met"] is True


def test_failed_messages_are_not_done_and_have_no_completion_time(still: Callable[..., Snapshot]) -> None:
    now = done(still(5_000_000), 2_000_000)
    now.messages["start_ps"][1], now.messages["failed"][1] = 0, 1
    found = summary.summarise(now, IDEAL, [], Ending("duration"), {}, {})
    assert found["messages"]["by_state"] == {"waiting": 0, "outstanding": 0, "done": 1, "failed": 1}
    assert found["metrics"]["fct.max_ns"] == 2_000
    assert found["metrics"]["slowdown.max"] == 2.0
    assert found["verdict"][0]["level"] == "problem"
    assert found["verdict"][0]["text"] == "1 message failed: the queue pair reached its retry limit"


def test_an_mtu_loss_is_called_mtu_and_has_a_remedy(still: Callable[..., Snapshot]) -> None:
    now = still(1_000)
    now.drops["pkts"][3, 0, DropReason.MTU] = 4
    texts = [it["text"] for it in summary.summarise(now, IDEAL, [], Ending("duration"), {}, {})["verdict"]]
    assert any("(MTU)" in text and "raise the MTU" in text and "leaf:Ethernet4" in text for text in texts)


def test_paused_hosts_are_counted_by_the_switch_that_paused_them(still: Callable[..., Snapshot]) -> None:
    now = still(1_000_000)
    now.prios["pauses"][0, 3], now.prios["rx_paused_ps"][0, 3] = 2, 600_000
    now.prios["tx_xoff_pkts"][2, 3] = 2
    found = summary.summarise(now, IDEAL, [], Ending("duration"), {}, {})
    assert found["metrics"]["pfc.paused_hosts"] == 1
    assert {"level": "note", "text": "1 host paused by leaf"} in found["verdict"]
    assert found["pfc"]["paused_ports"] == [
        {
            "port": "a:eth0",
            "class": 3,
            "by": "leaf",
            "paused_ns": 600,
            "paused_ratio": 0.6,
            "pauses": 2,
            "longest_ns": 0,
        }
    ]


def given_up(now: Snapshot, row: int, at_ps: int) -> Snapshot:
    """Message `row` failed, with its queue pair, at at_ps."""
    now.messages["start_ps"][row], now.messages["failed"][row] = 0, 1
    now.qps["state"][row], now.qps["available_ps"][row] = QpState.FAILED, at_ps
    return now


@pytest.mark.parametrize("failed", [1, 2])
@pytest.mark.parametrize("at_ps", [400_000_000, 7_000_000_000])
def test_goodput_is_over_the_time_to_the_last_failure(still: Callable[..., Snapshot], failed: int, at_ps: int) -> None:
    now = replace(done(still(9_000_000_000), 1_000_000), finished=True)
    for row in range(2 - failed, 2):
        given_up(now, row, at_ps)
    if failed == 2:
        now.messages["end_ps"][0] = -1
    now.hosts["goodput_bytes"][1] = 1_000
    assert measures.span_ps(now) == at_ps
    assert measures.measure(now, IDEAL, 0)["goodput.total"] == pytest.approx(8_000 * 1e12 / at_ps)


def test_a_message_posted_to_a_queue_pair_that_gave_up_failed_when_it_was_posted(
    still: Callable[..., Snapshot],
) -> None:
    now = replace(given_up(given_up(still(9_000), 0, 1_000), 1, 1_000), finished=True)
    now.messages["start_ps"][1] = 5_000
    assert measures.failures_ps(now).tolist() == [1_000, 5_000]
    assert measures.span_ps(now) == 5_000


def test_a_host_all_of_whose_messages_failed_makes_goodput_unfair(still: Callable[..., Snapshot]) -> None:
    now = given_up(done(still(10_000_000), 1_000_000), 1, 9_000_000)
    now.qps["src"] = [0, 1]
    assert measures.jain(now) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("metric", "failed", "unfinished", "said"),
    [
        ("fct.p99", 2, 0, "2 of 3 messages failed"),
        ("slowdown.mean", 2, 1, "2 of 3 messages failed, 1 not done"),
        ("fct.max", 0, 1, "1 of 3 messages not done"),
        ("goodput.jain", 2, 1, "2 of 3 messages failed"),
        ("goodput.total", 0, 1, ""),
        ("fct.p50", 0, 0, ""),
        ("drops.total", 2, 0, ""),
    ],
)
def test_a_figure_says_how_many_messages_it_leaves_out(metric: str, failed: int, unfinished: int, said: str) -> None:
    counts = {"messages.total": 3, "messages.failed": failed, "messages.unfinished": unfinished}
    assert left_out(metric, counts) == said


def test_an_expectation_on_completion_times_says_how_many_messages_failed(still: Callable[..., Snapshot]) -> None:
    now = given_up(done(still(5_000_000), 2_000_000), 1, 4_000_000)
    rows = summary.summarise(
        now, IDEAL, [parse("fct.p99 < 3us"), parse("drops.total == 0")], Ending("duration"), {}, {}
    )["expectations"]
    assert [it["left_out"] for it in rows] == ["1 of 2 messages failed", ""]
    out = io.StringIO()
    found = summary.summarise(now, IDEAL, [parse("fct.p99 < 3us")], Ending("duration"), {}, {})
    print_summary({"name": "x", "status": "done", "seed": 1, "duration_ps": 10**9}, found, out, Path("run"))
    assert "2us (1 of 2 messages failed)" in out.getvalue()
    assert "goodput 0bit/s (1 of 2 messages failed)" in out.getvalue()
