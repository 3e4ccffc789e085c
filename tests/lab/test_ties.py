"""Order of arrival distinguished from real differences: two networks with different start orders model both sides."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fabric.controlplane.bgp.afi import IPV4_UNICAST
from fabric.controlplane.bgp.attributes import path_length
from fabric.controlplane.bgp.policy import Match, Policy, Rule, Set
from fabric.controlplane.network import events as e
from fabric.controlplane.network.config import ControlConfig, Jitter, NodePolicy, SpineAsn
from fabric.controlplane.network.network import Network
from fabric.lab.compare import differences
from fabric.lab.modelled import model
from fabric.lab.observed import EVPN_TABLE, IPV4_TABLE
from fabric.lab.ties import adopt_order
from fabric.show import bgp as frr_bgp
from fabric.show.evpn import bgp_evpn_vni
from tests.network.worlds import MS, World, world

S = 1000 * MS
DISTINCT = ControlConfig(spine_asn=SpineAsn.DISTINCT, jitter=Jitter.OFF)
CLOS = {"pods": 2, "leaves_per_pod": 2, "spines_per_pod": 2, "super_spines": 4, "hosts_per_leaf": 1}


def answers(network: Network) -> dict[str, dict[str, Any]]:
    """The output that FRR would have in place of each switch."""
    return {
        switch.router.name: {
            IPV4_TABLE: frr_bgp.ipv4(switch.speaker),
            EVPN_TABLE: frr_bgp.evpn(switch.speaker),
            "show bgp l2vpn evpn vni json": {} if switch.vtep is None else bgp_evpn_vni(switch.vtep),
        }
        for switch in network.switches
        if switch.daemon_up
    }


def rows(one: Network, other: Network) -> list[tuple[str, str]]:
    return [(row.node, row.table) for row in differences(model(one), model(other))]


def other_start(here: World, seed: int) -> Network:
    """The same fabric with another start order of its daemons."""
    config = replace(here.config, jitter=Jitter.FRR, boot_spread_ns=900 * MS)
    network = Network(here.plan, config, seed)
    network.converge()
    return network


@pytest.mark.parametrize("overlay", [True, False], ids=["EVPN", "IPv4 only"])
def test_fabrics_that_differ_by_order_of_arrival_are_equal_once_it_is_taken_over(overlay: bool) -> None:
    here = world("clos3", DISTINCT, overlay=overlay, **CLOS)
    differed = set()
    for seed in range(6):
        real, ours = other_start(here, seed), here.network()
        differed |= {table for _, table in rows(real, ours)}
        adopt_order(ours, answers(real))
        assert rows(real, ours) == []
    assert "bgp_ipv4" in differed  # or the test would show nothing
    assert not overlay or "evpn" in differed


def test_what_was_taken_over_stands_through_a_failure_and_its_repair() -> None:
    here = world("clos3", DISTINCT, **CLOS)
    cable = here.cable("p1-leaf1", "p1-spine1")
    real, ours = other_start(here, 1), here.network()
    adopt_order(ours, answers(real))
    for network in (real, ours):
        at_ns = network.now_ns - network.epoch_ns + S
        network.schedule([e.CableDown(at_ns, cable)])
        network.advance(at_ns + 20 * S)
    adopt_order(ours, answers(real))
    assert rows(real, ours) == []


def test_a_fabric_that_prefers_one_path_for_a_reason_stays_different() -> None:
    """LOCAL_PREF decides there, not the order: no choice is adopted, and the consequences are not called a tie."""
    here = world("clos3", DISTINCT, overlay=False, **CLOS)
    hidden = NodePolicy("p1-leaf1", "p1-spine2", "import", Policy((Rule(Match(), set=Set(local_pref=200)),)))
    real, ours = World(here.fabric, replace(DISTINCT, policies=(hidden,)), overlay=False).network(), here.network()
    before = set(rows(real, ours))
    assert ("p1-leaf1", "kernel_fib") in before
    adopt_order(ours, answers(real))
    left = set(rows(real, ours))
    assert {("p1-leaf1", "kernel_fib"), ("p1-leaf1", "rib"), ("p1-leaf1", "bgp_ipv4")} <= left


def test_a_longer_path_is_never_taken_over_and_neither_is_a_neighbour_that_has_none() -> None:
    here = world("clos3", DISTINCT, overlay=False, **CLOS)
    network = here.network()
    tried = 0
    for switch in network.switches:
        for keys, selection in list(switch.speaker.loc_rib(IPV4_UNICAST)):
            longer = [
                path
                for path in switch.speaker.candidates(IPV4_UNICAST, keys[0])
                if path_length(path.attributes.as_path) > path_length(selection.best.attributes.as_path)
            ]
            for name in ["192.0.2.99", *(path.source.name for path in longer)]:
                assert switch.speaker.prefer_older(IPV4_UNICAST, {keys[0]: name}, network.now_ns)[0] == 0
            tried += len(longer)
    assert tried


def test_internal_paths_are_never_a_matter_of_age() -> None:
    """RFC 5004 covers external paths only: the router identifier decides between internal ones."""
    from fabric.controlplane.network.config import Design

    here = world("clos3", ControlConfig(design=Design.IBGP_RR, jitter=Jitter.OFF), **CLOS)
    for seed in range(3):
        assert rows(other_start(here, seed), here.network()) == []
