"""Summaries are correct: losses of lossless classes, causes before symptoms, rows that are not shown, units."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabric.cli.main import main
from fabric.dataplane.engine.counters import Snapshot
from fabric.dataplane.state.codes import DropReason
from fabric.explain.diff import messages_title
from fabric.explain.diff_words import row_change
from fabric.explain.drops import explain_drops
from fabric.explain.evidence import Evidence
from fabric.explain.report import compose
from fabric.render import run_page as page
from fabric.render.document import Facts, Status, Table
from fabric.runs import dictionary, summary
from fabric.runs.left_out import left_out
from fabric.runs.rundir import RunDir
from fabric.runs.summary import Ending, judge
from fabric.scenario.schema.expectations import METRICS, from_summary, parse, summary_key, to_summary

IDEAL = np.array([1_000_000, 1_000_000])
LOSSLESS = 3
SMALL = """\
name: small
topology: {kind: leaf-spine, leaves: 2, spines: 1, hosts_per_leaf: 4, host_rate: 100G, fabric_rate: 100G}
switches: {asic: trident3}
workload: [{kind: incast, receiver: host1, senders: ["*"], size: 400KB}]
telemetry: {interval: 20us}
"""


def summarised(now: Snapshot, ending: str = "duration", **more: Any) -> dict[str, Any]:  # noqa: ANN401  of summarise()
    return summary.summarise(now, IDEAL, [], Ending(ending), {}, {}, **more)


def texts(found: dict[str, Any], level: str | None = None) -> list[str]:
    return [it["text"] for it in found["verdict"] if level in {None, it["level"]}]


def with_lossless(now: Snapshot) -> Snapshot:
    now.pgs["lossless"][2:, LOSSLESS] = 1
    now.qps["tc"] = LOSSLESS
    return now


@pytest.mark.parametrize("reason", list(DropReason))
def test_a_lossless_loss_for_any_reason_removes_the_good_verdict(
    reason: DropReason, still: Callable[..., Snapshot]
) -> None:
    clean = summarised(with_lossless(still(1_000)))
    assert "no packet of a lossless class was lost" in texts(clean, "good")
    now = with_lossless(still(1_000))
    now.drops["pkts"][3, LOSSLESS, reason] = 21_469
    found = summarised(now)
    assert [text for text in texts(found, "good") if "lossless" in text or "loss" in text] == []
    starved = found["metrics"]["drops.lossless"]
    assert found["metrics"]["drops.lossless_any"] == 21_469
    assert found["drops"]["lossless_by_reason"] == {reason.name.lower(): {"pkts": 21_469}}
    if starved:
        assert "21,469 packets of lossless classes dropped for lack of buffer" in texts(found, "problem")
    else:
        [text] = [text for text in texts(found, "warning") if "lossless" in text]
        assert text.startswith("21,469 packets of lossless classes lost, none of them for lack of buffer: 21,469 ")


def test_congestion_and_other_losses_are_distinguished(still: Callable[..., Snapshot]) -> None:
    now = with_lossless(still(1_000))
    now.drops["pkts"][3, LOSSLESS, DropReason.HEADROOM] = 5
    now.drops["pkts"][3, LOSSLESS, DropReason.WATCHDOG] = 7
    now.drops["pkts"][3, 0, DropReason.WATCHDOG] = 100  # of a class that may lose packets
    found = summarised(now)
    assert (found["metrics"]["drops.lossless"], found["metrics"]["drops.lossless_any"]) == (5, 12)
    assert "5 packets of lossless classes dropped for lack of buffer" in texts(found, "problem")
    assert "7 packets of lossless classes lost for other reasons: 7 watchdog" in texts(found, "warning")


def test_without_a_lossless_class_none_is_praised(still: Callable[..., Snapshot]) -> None:
    found = summarised(still(1_000))
    assert found["drops"]["lossless_classes"] == []
    assert "no class is lossless: PFC is off everywhere" in texts(found, "note")
    assert not any("lossless class was lost" in text for text in texts(found))


def test_messages_outside_lossless_classes_are_not_praised(still: Callable[..., Snapshot]) -> None:
    now = with_lossless(still(1_000))
    now.qps["tc"] = [LOSSLESS, 0]
    found = summarised(now)
    assert "no packet of a lossless class was lost, but messages are sent in class 0, which is not lossless" in texts(
        found, "note"
    )
    assert not any("lossless" in text for text in texts(found, "good"))
    now.drops["pkts"][3, 0, DropReason.EGRESS_THRESHOLD] = 8
    assert "8 packets of classes 0 and 3, in which messages are sent, lost where this is not lossless" in texts(
        summarised(now), "warning"
    )


def test_a_class_that_one_switch_lacks_is_not_praised(still: Callable[..., Snapshot]) -> None:
    now = with_lossless(still(1_000))
    now.pgs["lossless"][3, LOSSLESS] = now.pgs["lossless"][2, LOSSLESS] = 0
    now.pgs["lossless"][0, LOSSLESS] = 1
    now.drops["pkts"][3, LOSSLESS, DropReason.INGRESS_THRESHOLD] = 4
    found = summarised(now)
    assert "4 packets of class 3, in which messages are sent, lost where this is not lossless" in texts(found)
    assert not any("lossless" in text for text in texts(found, "good"))


@pytest.mark.parametrize(
    ("reason", "lost", "said"),
    [
        (DropReason.INJECTED, 4, "livelock: 1 queue pair"),
        (DropReason.WATCHDOG, 900, "and they were dropped: watchdog"),
        (DropReason.LINK_DOWN, 450, "and they were dropped: link down"),
        (DropReason.LINK_DOWN, 449, "livelock: 1 queue pair"),
    ],
)
def test_repeats_that_are_all_dropped_are_no_livelock(
    still: Callable[..., Snapshot], reason: DropReason, lost: int, said: str
) -> None:
    now = with_lossless(still(1_000_000))
    now.messages["start_ps"][0] = 0
    now.qps["sent_pkts"][0], now.qps["retransmitted_pkts"][0], now.qps["available_ps"][0] = 1_000, 900, 1_000_000
    now.drops["pkts"][3, LOSSLESS, reason] = lost
    ending = Ending("no progress", stalled_since_ps=0)
    found = texts(summary.summarise(now, IDEAL, [], ending, {}, {}), "problem")
    assert [said in text for text in found if "mostly repeats" in text] == [True]


def test_the_cause_stands_before_the_messages_it_held_up(still: Callable[..., Snapshot]) -> None:
    now = with_lossless(still(1_000_000))
    now.messages["start_ps"] = 0
    now.prios["tx_xoff_pkts"][1, LOSSLESS] = 9
    found = summarised(now)
    assert found["headline"] == "broken NIC: b sent 9 pause frames without holding anything back"
    assert texts(found)[0] == found["headline"]
    assert "2 of 2 messages were not done when run.duration was over (at 1us)" in texts(found)
    now.hosts["rx_peak_bytes"][1] = 500_000
    assert summarised(now)["headline"] == (
        "slow receiver: b sent 9 pause frames as its receive buffer filled up to 500KB"
    )


def test_the_cause_of_failed_messages_is_the_headline(still: Callable[..., Snapshot]) -> None:
    now = still(1_000_000)
    now.messages["start_ps"], now.messages["failed"] = 0, 1
    now.drops["pkts"][3, 0, DropReason.MTU] = 4
    found = summarised(now)
    assert found["headline"].startswith("4 packets dropped at leaf:Ethernet4 (MTU): larger than the egress port's MTU")
    assert found["verdict"][1] == {
        "level": "problem",
        "text": "2 messages failed: the queue pair reached its retry limit",
    }


def test_without_a_fault_the_headline_gives_the_result(still: Callable[..., Snapshot]) -> None:
    now = still(10_000_000)
    now.messages["start_ps"], now.messages["end_ps"] = 0, 5_000_000
    assert summarised(now)["headline"].startswith("all 2 messages done, goodput ")


def test_no_name_of_the_summary_is_in_picoseconds_and_metrics_carry_their_unit(still: Callable[..., Snapshot]) -> None:
    now = still(10_000_000)
    now.messages["start_ps"], now.messages["end_ps"] = 0, [4_000_000, 5_000_500]
    found = summary.summarise(
        now, IDEAL, [parse("fct.max < 5us"), parse("queue.peak < 1MB")], Ending("duration"), {}, {}
    )

    def names(value: object) -> Iterator[str]:
        if isinstance(value, dict):
            for name, part in value.items():
                yield name
                yield from names(part)
        elif isinstance(value, list):
            for part in value:
                yield from names(part)

    assert [name for name in names(json.loads(json.dumps(found))) if name.endswith("_ps")] == []
    metrics = found["metrics"]
    assert set(metrics) == {summary_key(name) for name in METRICS}
    assert (metrics["fct.p50_ns"], metrics["fct.max_ns"], metrics["simulated.time_ns"]) == (4_000, 5_000.5, 10_000)
    slow, deep = found["expectations"]
    assert (slow["unit"], slow["value"], slow["actual"], slow["met"]) == ("ns", 5_000, 5_000.5, False)
    assert (deep["unit"], deep["value"], deep["actual"], deep["met"]) == ("bytes", 10**6, 0, True)


def test_an_expectation_is_compared_to_the_picosecond() -> None:
    assert judge(parse("fct.p99 <= 2ms"), 2 * 10**9 + 1)["met"] is False
    assert judge(parse("fct.p99 <= 2ms"), 2 * 10**9)["met"] is True


@pytest.mark.parametrize("value", [0, 999, 1_000, 1_500, 10**15, None])
def test_a_metric_survives_the_way_into_the_summary_and_back(value: int | None) -> None:
    for metric in METRICS:
        assert from_summary(metric, to_summary(metric, value)) == value


def test_the_dictionary_names_every_metric_as_the_summary_has_it(still: Callable[..., Snapshot]) -> None:
    rows = dictionary.dictionary()["metrics"]
    assert [row["in_summary"] for row in rows] == list(map(summary_key, METRICS))
    assert {row["unit"] for row in rows} == {"ns", "bytes", "bit/s", "count", "ratio"}


def test_a_table_that_stops_says_how_many_rows_are_left_and_where_they_are(still: Callable[..., Snapshot]) -> None:
    now = still(1_000_000)
    now.queues["peak_bytes"] = np.arange(1, now.queues.size + 1).reshape(now.queues.shape)
    now.queues["marked_pkts"][0, :3] = 1
    found = summarised(now)
    assert found["row_counts"]["buffers.queues"] == now.queues.size
    out = io.StringIO()
    page.print_summary({"name": "n", "status": "done", "seed": 1, "duration_ps": 10**9}, found, out, Path("runs/n"))
    assert f"{now.queues.size - 5} more: fabric show runs/n queues" in out.getvalue()
    assert "runs/n ecn" not in out.getvalue()  # three rows, all shown


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Run a small scenario with overrides; the folder of each is made once."""
    folder = tmp_path_factory.mktemp("words")
    file = folder / "small.yml"
    file.write_text(SMALL + "run: {duration: 3ms}\n", encoding="utf-8")
    made: dict[tuple[str, ...], Path] = {}

    def simulate(*sets: str) -> Path:
        if sets not in made:
            out = folder / f"run{len(made)}"
            options = [word for item in sets for word in ("--set", item)]
            assert main(["run", str(file), "-o", str(out), "--quiet", *options]) in {0, 1}
            made[sets] = out
        return made[sets]

    return simulate


STORM = "faults=[{kind: pause-storm, hosts: [host1], at: 20us, duration: 2500us}]"
WATCHED = "switches.watchdog={poll: 500us, detection: 1ms, restoration: 1ms}"


def tile(run: Path, key: str) -> tuple[Any, Status]:
    document = compose(Evidence(RunDir.open(run)))
    [facts] = [
        block
        for section in document.sections
        for block in section.blocks
        if isinstance(block, Facts) and section.key == "overview"
    ]
    [fact] = [fact for fact in facts.facts if fact.key == key]
    return fact.value, fact.status


def test_the_tile_is_not_green_where_the_watchdog_dropped_lossless_packets(simulated: Callable[..., Path]) -> None:
    run = simulated(STORM, WATCHED)
    lost, status = tile(run, "lossless_lost")
    assert lost > 0
    assert status is Status.WARNING
    assert tile(run, "lossless_drops") == (0, Status.NEUTRAL)
    assert tile(simulated(), "lossless_lost") == (0, Status.GOOD)
    assert tile(simulated("pfc=off"), "lossless_lost") == (None, Status.NEUTRAL)


def test_lossless_losses_without_lack_of_buffer_name_what_lost_them(simulated: Callable[..., Path]) -> None:
    evidence = Evidence(RunDir.open(simulated(STORM, WATCHED)))
    lost = evidence.run.summary["drops"]["lossless_by_reason"]["watchdog"]["pkts"]
    assert explain_drops(evidence).verdict.endswith(f"none of these for lack of buffer: {lost:,} watchdog.")


def test_the_report_leads_with_the_broken_nic(simulated: Callable[..., Path]) -> None:
    document = compose(Evidence(RunDir.open(simulated(STORM, WATCHED))))
    assert document.verdict.startswith("Broken NIC host1:eth0 (class 3) started at ")
    assert "not done" not in document.verdict


def test_messages_that_a_short_run_leaves_undone_are_accounted_for(simulated: Callable[..., Path]) -> None:
    run = simulated("run.duration=150us")
    verdict = compose(Evidence(RunDir.open(run))).verdict
    assert " of 7 messages were not done when run.duration was over (at 150us)" in verdict
    assert not verdict[0].isdigit()
    assert "the longest in progress" in verdict


@pytest.mark.parametrize("question", ["pfc", "drops", "message"])
def test_advice_about_events_names_the_field_of_the_scenario(
    question: str, simulated: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    run = simulated(STORM, WATCHED, "telemetry.events=[]")
    main(["explain", question, str(run)])
    out = " ".join(capsys.readouterr().out.split())
    assert "TraceBit" not in out
    assert "to telemetry.events of the scenario and run it again" in out


def test_a_report_of_unrecorded_pauses_does_not_say_that_nothing_was_paused(
    simulated: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    main(["report", str(simulated(STORM, WATCHED, "telemetry.events=[]")), "--text"])
    out = " ".join(capsys.readouterr().out.split())
    assert "Nothing was paused" not in out
    assert "add 'pause' to telemetry.events" in out
    main(["report", str(simulated("workload[0].size=1KB")), "--text"])
    assert "Nothing was paused" in capsys.readouterr().out


def test_diff_compares_settings_and_not_how_they_are_spelled_out(
    simulated: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    plain, curve = (
        simulated(),
        simulated(
            "switches.ecn={kmin: 10KB, kmax: 40KB, pmax: 0.2}",
            "transport.ack_every=1",
            "hosts.latency=500ns",
            "switches.hash={algorithm: murmur3}",
            "topology.host_cable=3m",
        ),
    )
    capsys.readouterr()
    assert main(["diff", str(plain), str(curve), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["scenario"] == {
        "switches.ecn": ["hpcc", {"kmin": "10KB", "kmax": "40KB", "pmax": 0.2, "drop_non_ect": False}]
    }
    assert list(found["manifest"]) == ["digest"]
    more = simulated(
        'workload=[{kind: incast, receiver: host1, senders: ["*"], size: 400KB}, {kind: permutation, size: 1KB}]'
    )
    capsys.readouterr()
    assert main(["diff", str(plain), str(more), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert list(found["scenario"]) == ["workload[1]"]
    assert main(["diff", str(plain), str(more)]) == 1
    assert "{kind: permutation, name: permutation, start: 0ps" in capsys.readouterr().out
    main(["diff", str(plain), str(simulated("switches.pfc_priorities=[3]", "expectations=[messages.done == 7]"))])
    assert "[messages.done == 7]" in capsys.readouterr().out  # and no markup of the terminal's


def test_diff_divides_the_two_times_that_it_prints(
    simulated: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    plain, curve = simulated(), simulated("switches.ecn={kmin: 10KB, kmax: 40KB, pmax: 0.2}")
    capsys.readouterr()
    assert main(["diff", str(plain), str(curve), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)["messages"]
    assert found["ratio"] == {name: found["b_ns"][name] / found["a_ns"][name] for name in found["a_ns"]}
    assert found["ratio"] != found["factor"]
    assert found["total_a"] == found["total_b"] == found["in_both"] + found["only_a"]
    assert main(["diff", str(plain), str(curve)]) == 1
    assert f"{found['in_both']} of {found['total_a']} messages done in both" in capsys.readouterr().out


def test_a_change_says_where_its_sides_are_of_different_messages() -> None:
    row = {
        "metric": "fct.mean", "change": -0.814, "a_left_out": "11 of 46 messages not done",
        "b_left_out": "24 of 46 messages not done",
    }  # fmt: skip
    assert row_change(row) == "-81.4% (not the same messages)"
    assert row_change({**row, "b_left_out": row["a_left_out"]}) == "-81.4%"
    assert row_change({**row, "change": None}) == ""


@pytest.mark.parametrize(
    ("metric", "counts", "said"),
    [
        ("step.p99", (12, 9), "+25.0% (not the same steps)"),
        ("step.p99", (12, 12), "+25.0%"),
        ("inference.ttft.p50", (3, 4), "+25.0% (not the same requests)"),
        ("step.done", (None, None), "+25.0%"),
    ],
)
def test_a_change_of_step_times_is_of_steps_and_not_of_messages(
    metric: str, counts: tuple[int | None, int | None], said: str
) -> None:
    metrics = {"messages.total": 46, "messages.unfinished": 24}
    row = {
        "metric": metric, "change": 0.25, "a_left_out": left_out(metric, {"messages.total": 46}),
        "b_left_out": left_out(metric, metrics), "a_count": counts[0], "b_count": counts[1],
    }  # fmt: skip
    assert row["b_left_out"] == ""
    assert row_change(row) == said


def test_the_title_of_a_comparison_has_both_totals_only_where_they_differ() -> None:
    found = {"in_both": 22, "total_a": 46, "total_b": 48, "unchanged": 8}
    title = "Completion time of the 22 of 46 and 48 messages done in both, 8 of them unchanged"
    assert messages_title(found) == title
    assert messages_title({**found, "total_b": 46}) == title.replace(" and 48", "")


def test_tables_of_the_report_say_what_they_leave_out(simulated: Callable[..., Path]) -> None:
    run = simulated("workload=[{kind: all-to-all, size: 10KB}]")
    document = compose(Evidence(RunDir.open(run)))
    tables = {block.key: block for section in document.sections for block in section.blocks if isinstance(block, Table)}
    assert tables["slowest"].title == "The 15 slowest of 56 messages"
    assert f"All of them: fabric show {run} messages" in tables["slowest"].note


def test_a_run_whose_messages_failed_does_not_say_that_all_are_done(
    simulated: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    run = simulated(
        "faults=[{kind: drop-every, port: 'host1:*', every: 1, at: 1us}]",
        "transport.retransmit_timeout=20us",
        "transport.retries=1",
    )
    assert RunDir.open(run).summary["stop"]["reason"] == "all messages done or failed"
    capsys.readouterr()
    main(["show", str(run)])
    assert "small  done: all messages done or failed at " in capsys.readouterr().out
    plain = RunDir.open(simulated()).summary
    assert plain["stop"]["reason"] == "all messages done"


def test_the_reason_that_cost_most_packets_comes_first(still: Callable[..., Snapshot]) -> None:
    now = still(1_000)
    now.drops["pkts"][3, 0, DropReason.INGRESS_THRESHOLD] = 5
    now.drops["pkts"][3, 0, DropReason.EGRESS_THRESHOLD] = 50
    assert summarised(now)["headline"].startswith("50 packets dropped")


@pytest.mark.parametrize(
    ("reason", "first"),
    [(DropReason.LINK_DOWN, "7 packets dropped"), (DropReason.MTU, "7 packets dropped"),
     (DropReason.WATCHDOG, "slow receiver: b"), (DropReason.HEADROOM, "slow receiver: b")],
)  # fmt: skip
def test_losses_that_no_pause_can_cause_come_before_a_host_that_pauses(
    still: Callable[..., Snapshot], reason: DropReason, first: str
) -> None:
    now = with_lossless(still(1_000_000))
    now.messages["start_ps"] = 0
    now.prios["tx_xoff_pkts"][1, LOSSLESS], now.hosts["rx_peak_bytes"][1] = 9, 500_000
    now.drops["pkts"][3, 0, reason] = 7
    assert summarised(now)["headline"].startswith(first)
