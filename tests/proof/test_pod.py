"""Two leaves and two spines: how far pauses spread, and what `fabric run` says of it."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from broken_fabrics import written
from fabrics import HOSTS, small_fabric

from fabric.proof.cut import Cutter, NoCutError
from fabric.proof.outcome import simulate
from fabric.proof.search.adversary import Genome, hunt, traffic_of, tried_workload
from fabric.proof.search.bench import Traffic
from fabric.proof.search.classes import members
from fabric.proof.search.output import as_data, as_searched, as_text
from fabric.proof.search.pod import Pod, pod_at, spread
from fabric.proof.search.runs import Runs, hot_pairs
from fabric.proof.search.search import Search
from fabric.validate.facts import Facts

DSCP = 26


@pytest.fixture(scope="module")
def pod(tmp_path_factory: pytest.TempPathFactory) -> Pod:
    """Of the clean fabric."""
    facts = Facts(written(tmp_path_factory.mktemp("clean"), small_fabric(), HOSTS))
    cutter = Cutter(facts)
    rows, _ = members(facts, cutter, DSCP)
    return pod_at(cutter, next(it for it in rows if it.device == "leaf1" and it.kind.peer == "switch"), DSCP)


def test_a_pod_has_two_leaves_and_two_spines_with_their_hosts(pod: Pod) -> None:
    assert pod.name == "leaf1, leaf2, spine1, spine2"
    assert (pod.near, pod.far, pod.hot) == (("host1", "host2"), ("host3",), "host4")


def test_a_spine_without_hosts_begins_no_pod(tmp_path: Path) -> None:
    facts = Facts(written(tmp_path, small_fabric(), HOSTS))
    cutter = Cutter(facts)
    rows, _ = members(facts, cutter, DSCP)
    with pytest.raises(NoCutError):
        pod_at(cutter, next(it for it in rows if it.device == "spine1"), DSCP)


def test_ports_with_several_senders_or_a_fault_cannot_keep_up(pod: Pod) -> None:
    rows = (
        ("host1", "host3", 1, 1.0),
        ("host2", "host1", 1, 1.0),
        ("host3", "host1", 1, 1.0),
        ("host1", "host4", 1, 1.0),
    )
    assert hot_pairs(pod.bench, Traffic("x", rows, 1.0)) == {
        ("host2", "host1"), ("host3", "host1"), ("host1", "host4")
    }  # fmt: skip
    fault = {"kind": "pause-storm", "hosts": ["host3"]}
    assert ("host1", "host3") in hot_pairs(pod.bench, Traffic("x", rows, 1.0, (fault,)))


def test_a_storm_pauses_a_host_of_the_other_leaf_that_sends_elsewhere(pod: Pod) -> None:
    runs = Runs(1)
    best = tried_workload(pod.bench, runs, pod.first()[0], pod.aim())
    assert best.rungs.held == ("host1",)
    assert best.rungs.links == 2
    hit = spread(pod, runs, best)
    assert hit is not None
    assert hit.text == ("leaf2:Ethernet8 cannot keep up with 1 host; paused although they send nothing there: host1")
    assert not hit.loses
    run = simulate(yaml.safe_load(hit.scenario))
    assert [met for text, met in run.expectations if text.startswith("pfc.paused_hosts")] == [False]
    assert run.count("drops.lossless") == 0


def test_a_storm_that_ends_before_a_buffer_is_full_spreads_nothing(pod: Pod) -> None:
    runs = Runs(1)
    rows = (("host1", "host3", 1_000_000, 1.0), ("host2", "host4", 1_000_000, 1.0))
    short = Genome(rows, (("pause-storm", "host4", 5.0, 10.0),))
    assert spread(pod, runs, tried_workload(pod.bench, runs, short, pod.aim())) is None


def test_equal_seeds_find_the_same(pod: Pod) -> None:
    found = [[it.genome for it in hunt(pod.bench, Runs(3), 8, pod.aim())] for _ in range(2)]
    assert found[0] == found[1]
    assert traffic_of(pod.bench, found[0][0], "pod").name == "pod"


def test_a_search_tells_how_far_pauses_spread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the clean fabric, without ladders and margins."""
    monkeypatch.setattr("fabric.proof.search.search.QUANTITIES", {})
    monkeypatch.setattr("fabric.proof.search.search.FAMILIES", ())
    monkeypatch.setattr("fabric.proof.search.search._LEAST_FOR_ONE", 2)
    found = Search(written(tmp_path, small_fabric(), HOSTS), 1, 2).carry_out(lambda *_: None)
    text = " ".join(as_text(found).split())
    assert "the furthest pause: 1 host without data for a port that cannot keep up" in text
    assert "pauses that spread: leaf2:Ethernet8 cannot keep up with 1 host" in text
    assert "no loss" in text
    assert not found.certain
    assert as_data(found)["pauses_that_spread"][0]["family"] == "pod"
    assert [it.fails for it in as_searched(found).losses] == [False]
