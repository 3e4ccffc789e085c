"""Cyclic buffer dependencies of the routes, also after a failure, and the traffic that stops them."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest
from broken_fabrics import switch, written
from fabrics import HOSTS, small_fabric

from fabric.cli.main import main
from fabric.configs.load import load_network
from fabric.configs.network import Network
from fabric.proof.cut import Cutter
from fabric.proof.outcome import simulate
from fabric.proof.search.cycles import Cycle, Waits, fill, flows, waits
from fabric.proof.search.runs import Runs
from fabric.validate.facts import Facts

DSCP = 26
SQUARE = ((0, 1), (1, 2), (2, 3), (0, 3))
KITE = (*SQUARE, (0, 2))


def mesh(folder: Path, cables: tuple[tuple[int, int], ...], asn: str = "") -> Network:
    """Switches with a host each and these cables; all of one AS where a number is given."""
    number = max(max(it) for it in cables) + 1
    near = {n: {"Ethernet0": (f"host{n}", "eth0")} for n in range(number)}
    for a, b in cables:
        here, there = f"Ethernet{8 * len(near[a])}", f"Ethernet{8 * len(near[b])}"
        near[a][here], near[b][there] = (f"s{b}", there), (f"s{a}", here)
    tables = {f"s{n}": switch(f"s{n}", asn or str(65001 + n), "ToRRouter", its) for n, its in near.items()}
    return written(folder, tables, HOSTS)


def found_in(network: Network) -> tuple[Facts, Waits]:
    """The search's first step."""
    facts = Facts(network)
    return facts, waits(facts, DSCP)


def test_leaves_and_spines_have_no_cycle_with_any_link_less(tmp_path: Path) -> None:
    _, found = found_in(written(tmp_path, small_fabric(), HOSTS))
    assert not found.cycles
    assert found.summary == (
        "cyclic buffer dependencies of lossless ports: none, with all links, and without each of 4 links"
    )


def test_a_failure_that_closes_a_cycle_is_named(tmp_path: Path) -> None:
    """Two triangles with a common side: without it they are a square, whose opposite corners use both ways."""
    _, found = found_in(mesh(tmp_path, KITE))
    assert [it.failed for it in found.cycles] == [(("s0", "Ethernet24"), ("s2", "Ethernet24"))] * 2
    assert all({end[0] for end in it.ports} == {"s0", "s1", "s2", "s3"} for it in found.cycles)
    assert found.cycles[0].text.endswith("after s0:Ethernet24--s2:Ethernet24 has failed")


def test_a_port_that_pauses_no_roce_is_in_no_cycle(tmp_path: Path) -> None:
    network = mesh(tmp_path, SQUARE)
    for device in network.devices.values():
        for port in device.ports.values():
            port.lossless = frozenset()
    assert not waits(Facts(network), DSCP).cycles


def test_a_switch_takes_no_path_over_its_own_as_after_a_failure(tmp_path: Path) -> None:
    """As spines have one AS: what comes down to a leaf does not go up to another spine."""
    tables = small_fabric()
    facts = Facts(written(tmp_path, tables, HOSTS))
    (hop,) = (it for it in facts.routes.hops["leaf1"] if it.into[0] == "spine1")
    after = facts.routes.without(frozenset((hop.out, hop.into)))
    (tree,) = (it for it in after.trees if it.destination == "leaf1")
    assert "spine1" not in tree.next_hops
    for name in ("spine1", "spine2"):
        tables[name]["DEVICE_METADATA"]["localhost"]["bgp_asn"] = f"6500{name[-1]}"
    facts = Facts(written(tmp_path / "two", tables, HOSTS))
    (tree,) = (it for it in facts.routes.without(frozenset((hop.out, hop.into))).trees if it.destination == "leaf1")
    assert tree.near["spine1"] == ("leaf2",)


@pytest.mark.parametrize("seed", range(6))
def test_failures_that_are_skipped_add_no_next_hop(seed: int, tmp_path: Path) -> None:
    """`gains` makes few trees again; all trees made again say the same."""
    rng = random.Random(seed)
    cables = (*(it for it in combinations(range(7), 2) if rng.random() < 0.45), (0, 6), (1, 6))
    routes = Facts(mesh(tmp_path, tuple(dict.fromkeys(cables)))).routes
    before = {tree.destination: tree for tree in routes.trees}
    for hop in [hop for hops in routes.hops.values() for hop in hops]:
        after = routes.without(frozenset((hop.out, hop.into)))
        more = any(
            set(tree.near.get(name, ())) - set(before[tree.destination].near.get(name, ()))
            for tree in after.trees
            for name in tree.reach(routes.edges)
        )
        assert routes.gains(hop.out, hop.into) == more


def test_each_wait_of_a_cycle_has_a_flow_over_its_two_ports(tmp_path: Path) -> None:
    facts, found = found_in(mesh(tmp_path, KITE))
    cycle = found.cycles[0]
    assert cycle.failed is not None
    paths = flows(facts.routes.without(frozenset(cycle.failed)), cycle)
    entered = [tuple(into for _, into in path) for path in paths]
    assert set(entered) == {(end, cycle.ports[(n + 1) % 4]) for n, end in enumerate(cycle.ports)}


def test_the_traffic_of_a_cycle_stops_it(tmp_path: Path) -> None:
    facts, found = found_in(mesh(tmp_path, KITE))
    runs = Runs(1)
    cycle = fill(facts, Cutter(facts), found.cycles[0], DSCP, runs)
    assert cycle.outcome == "deadlock"
    (hit,) = runs.hits.values()
    assert hit.title == "deadlock after a failure"
    assert "4 of them never completed; after s0:Ethernet24--s2:Ethernet24 has failed" in hit.text
    assert "routing: given" in hit.scenario


def test_frames_that_are_lost_while_a_cycle_fills_are_a_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With next to no headroom; that this cycle also blocks is hidden."""
    monkeypatch.setattr("fabric.proof.search.cycles.simulate", lambda *of: replace(simulate(*of), cycle=[]))
    mesh(tmp_path / "configs", KITE)
    for file in (tmp_path / "configs").glob("s*.json"):
        text = re.sub(r'"xoff": "\d+"', '"xoff": "1000"', file.read_text(encoding="utf-8"))
        file.write_text(text, encoding="utf-8")
    facts, found = found_in(load_network([tmp_path / "configs"]))
    runs = Runs(1)
    cycle = fill(facts, Cutter(facts), found.cycles[0], DSCP, runs)
    assert re.fullmatch(r"[\d,]+ frames lost before it closes", cycle.outcome)
    (hit,) = runs.hits.values()
    assert (hit.reason, hit.loses, hit.title) == ("headroom", True, "loss while a cyclic buffer dependency fills")
    assert hit.place is not None
    assert f"name: {hit.name}\n" in hit.scenario


@pytest.mark.parametrize(("others", "words"), [(1, ", or one other link, has"), (2, ", or one of 2 other links, has")])
def test_one_other_link_is_one(others: int, words: str) -> None:
    assert words in Cycle((("s0", "a"), ("s1", "b")), (("s2", "a"), ("s3", "a")), others).text


def test_fabric_run_reproduces_the_deadlock(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    mesh(tmp_path / "configs", KITE)
    monkeypatch.setattr("fabric.proof.search.search.QUANTITIES", {})
    monkeypatch.setattr("fabric.proof.search.search.FAMILIES", ())
    out = tmp_path / "proofs"
    options = ["--prove", "--search", "0", "--prove-out", str(out), "--quiet", "--fail-on", "never"]
    assert main(["validate", str(tmp_path / "configs"), *options]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "deadlock after a failure: " in shown
    assert "cyclic buffer dependencies of lossless ports: 2, with all links, and without each of 5 links" in shown
    file = next(out.glob("search-cycle-*.yml"))
    assert main(["run", str(file), "--out", str(tmp_path / "run"), "--quiet"]) == 1
