"""Explanations of real runs: thresholds, drops and single messages against what the run recorded."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.cli.main import main
from fabric.dataplane.state.codes import DropReason
from fabric.explain.drops import explain_drops, losses
from fabric.explain.evidence import Evidence
from fabric.explain.intervals import subtract
from fabric.explain.message import explain_message
from fabric.explain.pfc import explain_pfc, groups, pausing_factor
from fabric.explain.report import compose
from fabric.render.document import Status
from fabric.render.html import to_html
from fabric.render.json import to_json
from fabric.runs.rundir import RunDir
from tests.committed import accept
from tests.explain.explained import TOPOLOGY, incast, simulated


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    return simulated(tmp_path_factory.mktemp("calm"), workload=incast(2, "256KB"))


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    return simulated(
        tmp_path_factory.mktemp("crowded"),
        workload=[
            *incast(4, "8MB"),
            {
                "kind": "messages",
                "messages": [{"id": "bystander", "src": "host5", "dst": "host2", "size": "1MB", "start": "500us"}],
            },
        ],
    )


@pytest.mark.parametrize(
    ("control", "cause"), [("dcqcn", "DCQCN: congestion notifications"), ("dctcp", "DCTCP: marks echoed in ACKs")]
)
def test_time_below_line_rate_is_attributed_to_the_congestion_control_of_the_run(
    control: str, cause: str, tmp_path: Path
) -> None:
    evidence = simulated(
        tmp_path,
        workload=incast(4, "8MB"),
        transport={"cc": control},
        switches={"asic": "trident3", "ecn": {"kmin": "60KB", "kmax": "60001B", "pmax": 1.0}},
    )
    text = str(to_json(explain_message(evidence, "incast/0")))
    assert cause in text
    assert sum(name in text for name in ("DCQCN:", "DCTCP:")) == 1


def test_without_pauses_the_nearest_group_and_its_distance_are_named(calm: Evidence) -> None:
    document = explain_pfc(calm)
    assert document.status is Status.GOOD
    assert document.verdict.startswith("No port paused. Nearest: ")
    assert "senders" in document.verdict
    nearest = groups(calm)[0]
    assert 0 < nearest.share_ratio < 1
    assert nearest.senders in {1, 2}


def test_the_extrapolated_number_of_senders_does_pause_and_many_fewer_do_not(calm: Evidence, tmp_path: Path) -> None:
    # One spine, so that all senders share one ingress group; the forecast is made from two of them.
    one_spine = {**TOPOLOGY, "spines": 1, "hosts_per_leaf": 8, "fabric_rate": "800G"}

    def group(senders: int) -> Any:  # noqa: ANN401  Group
        names = [f"host{row}" for row in range(9, 9 + senders)]
        folder = tmp_path / str(senders)
        folder.mkdir()
        evidence = simulated(
            folder,
            topology=one_spine,
            workload=[{"kind": "incast", "receiver": "host1", "senders": names, "size": "1500KB"}],
        )
        return next(row for row in groups(evidence) if evidence.fabric.port_name(row.port).startswith("leaf1"))

    few = group(3)
    needed = math.ceil(few.factor * few.senders)
    assert few.xoffs == 0
    assert 3 < needed <= 8, "the scenario no longer straddles the threshold"
    assert group(needed).xoffs > 0


def test_a_crowded_port_is_named_as_the_origin_and_its_peers_as_paused(crowded: Evidence) -> None:
    document = explain_pfc(crowded)
    tree = to_json(document)["pause_trees"]["trees"][0]
    assert tree["label"] == "congested port leaf1:Ethernet0 towards host1 (class 3)"
    assert all(child["label"].startswith("leaf1:") for child in tree["children"])
    assert "Remedy" in document.verdict


def test_pause_trees_account_for_every_nanosecond_the_counters_paused(crowded: Evidence) -> None:
    counted = sum(crowded.counter("pfc_rx_paused_ns").values())
    explained = sum(episode.paused_ps for episode in crowded.episodes) / 1000
    assert counted > 0
    assert math.isclose(explained, counted, rel_tol=0.001)


def test_a_messages_account_adds_up_to_its_completion_time(crowded: Evidence) -> None:
    for name in ("bystander", "incast/0", "incast/3"):
        found = to_json(explain_message(crowded, name))
        assert sum(row["time_ns"] for row in found["time"]["account"]) == found["message"]["fct_ns"]


def test_a_bystanders_wait_is_blamed_on_the_port_it_never_passes(crowded: Evidence) -> None:
    rows = to_json(explain_message(crowded, "bystander"))["time"]["account"]
    assert any("congested port leaf1:Ethernet0 towards host1" in row["cause"] for row in rows)


def test_a_cycle_of_waiting_queues_is_named_and_is_bad(crowded: Evidence, tmp_path: Path) -> None:
    copy = tmp_path / "run"
    shutil.copytree(crowded.run.path, copy)
    summary = json.loads((copy / "summary.json").read_text())
    summary["deadlock"] = [{"port": "leaf1:Ethernet16", "class": 3}, {"port": "spine1:Ethernet0", "class": 3}]
    (copy / "summary.json").write_text(json.dumps(summary))
    accept(copy)
    document = explain_pfc(Evidence(RunDir.open(copy)))
    assert document.status is Status.BAD
    assert "leaf1:Ethernet16 class 3 -> spine1:Ethernet0 class 3" in document.reasons[0].text


def test_a_run_without_drops_is_reported_as_such(calm: Evidence) -> None:
    assert explain_drops(calm).verdict == "Nothing was dropped."


def test_too_little_headroom_is_attributed_with_the_time_the_peer_took(tmp_path: Path) -> None:
    evidence = simulated(
        tmp_path, workload=incast(4, "8MB"), switches={"asic": "trident3", "buffer": {"headroom": "9KB"}}
    )
    lost = [row for row in losses(evidence) if row.reason is DropReason.HEADROOM]
    assert lost
    assert "to stop, in which" in lost[0].why
    assert "enlarge it" in lost[0].why
    assert explain_drops(evidence).status is Status.BAD


def test_a_message_into_a_black_hole_failed_for_its_losses_and_has_no_path(tmp_path: Path) -> None:
    evidence = simulated(
        tmp_path,
        transport={"cc": "none", "retransmit_timeout": "50us"},
        workload=[
            {
                "kind": "messages",
                "messages": [
                    {"id": "lost", "src": "host5", "dst": "host1", "size": "1MB"},
                    {"id": "fine", "src": "host6", "dst": "host2", "size": "1MB"},
                ],
            }
        ],
        faults=[{"kind": "route", "switches": ["leaf2"], "hosts": ["host1"], "via": [], "at": "20us"}],
    )
    document = explain_message(evidence, "lost")
    lost = sum(loss.pkts for loss in losses(evidence))
    assert lost > 8
    assert document.verdict == (
        f"Failed: its queue pair reached the retry limit; {lost:,} of its packets lost at leaf2 (no_route)."
    )
    assert document.reasons[0].text.startswith("path none at the end of the run: a switch on the way to host1 has no")
    [row] = to_json(document)["losses"]["losses"]
    assert (row["device"], row["reason"], row["pkts"]) == ("leaf2", "no_route", lost)
    assert 20_000 <= row["first_ns"] <= row["last_ns"] <= evidence.end_ns
    fine = explain_message(evidence, "fine")
    assert "lost" not in fine.verdict
    assert "losses" not in to_json(fine)


def test_a_message_that_switches_spread_is_said_to_have_no_single_path(tmp_path: Path) -> None:
    evidence = simulated(tmp_path, workload=incast(2, "64KB"), switches={"asic": "trident3", "load_balancing": "spray"})
    assert explain_message(evidence, "incast/0").reasons[0].text == ("path no single path: switches spread its packets")


def test_a_host_without_carrier_is_named_where_its_message_ended_undone(tmp_path: Path) -> None:
    evidence = simulated(
        tmp_path,
        workload=incast(1, "4MB"),
        transport={"cc": "none", "retransmit_timeout": "50us"},
        faults=[{"kind": "link-down", "link": "leaf2--host5", "at": "30us"}],
        run={"duration": "2ms", "seed": 1, "reroute_delay": "10us"},
    )
    assert "host5:eth0 without carrier since 30us" in explain_message(evidence, "incast/0").verdict


def test_the_report_of_a_run_is_one_page_with_every_section(crowded: Evidence) -> None:
    page = to_html(compose(crowded))
    for section in ("overview", "pauses", "curves", "messages", "about"):
        assert f'<section id="{section}">' in page
    assert 'id="replay-data"' in page


def test_the_commands_print_json_that_agrees_with_the_text(
    crowded: Evidence, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = str(crowded.run.path)
    for question in (["pfc", directory], ["drops", directory], ["message", directory, "bystander"]):
        assert main(["explain", *question]) == 0
        text = capsys.readouterr().out
        assert main(["explain", *question, "--json"]) == 0
        verdict = json.loads(capsys.readouterr().out)["verdict"]
        assert " ".join(verdict.split())[:60] in " ".join(text.split())


def test_an_unknown_message_is_refused_with_the_nearest_id(
    crowded: Evidence, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "message", str(crowded.run.path), "bystandr"]) == 2
    assert "bystander" in capsys.readouterr().err


def test_the_report_command_writes_its_page_and_prints_where(
    crowded: Evidence, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    assert main(["report", str(crowded.run.path), "-o", str(page)]) == 0
    assert capsys.readouterr().out.strip() == str(page)
    assert page.read_text(encoding="utf-8").endswith("</html>\n")
    assert main(["report", str(crowded.run.path), "-o", str(page), "--json"]) == 2


@given(st.floats(1, 1e7), st.floats(1e6, 1e8), st.sampled_from([0.125, 0.5, 1.0, 2.0, 8.0]), st.floats(1, 20))
def test_the_forecast_inverts_the_dynamic_threshold(use: float, pool: float, alpha: float, others: float) -> None:
    """With a pool use of `others` times the group's, scaling everything by the factor meets the limit exactly."""
    limit = alpha * (pool - others * use)
    if limit <= 0:
        return
    k = pausing_factor(use, limit, pool, alpha)
    assert math.isclose(k * use, alpha * (pool - k * others * use), rel_tol=1e-6, abs_tol=1e-3)


def test_the_forecast_of_a_static_limit_is_a_plain_ratio_and_of_no_use_infinite() -> None:
    assert pausing_factor(250.0, 1000.0, 0.0, None) == 4.0
    assert pausing_factor(0.0, 1000.0, 1000.0, 1.0) == math.inf


_INTERVALS = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20)), max_size=8)


@given(_INTERVALS, _INTERVALS)
def test_subtracting_intervals_agrees_with_counting_instants(
    a: list[tuple[int, int]], b: list[tuple[int, int]]
) -> None:
    whole_set = {instant for start, length in a for instant in range(start, start + length)}
    whole = sorted((instant, instant + 1) for instant in whole_set)
    part = sorted((start, start + length) for start, length in b)
    outside, inside = subtract(whole, part)
    part_set = {instant for start, stop in part for instant in range(start, stop)}
    assert {instant for start, stop in outside for instant in range(start, stop)} == whole_set - part_set
    assert inside == len(whole_set & part_set)
