"""Faults of routing that overlap: each acts until its own end."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest

from fabric.controlplane.network import events as e
from fabric.controlplane.network.network import Network
from fabric.faults.overlap import settle
from fabric.scenario.compile.scenario import place
from fabric.scenario.load import build_scenario

FAST: Final = {
    "update_delay": "100us",
    "fib_delay": "50us",
    "carrier_delay": "50us",
    "prune_delay": "20us",
    "learn_delay": "50us",
    "connect_retry": "1s",
}


def network(*faults: dict[str, Any], at_ms: int, **bgp: object) -> Network:
    raw = {
        "name": "overlap",
        "topology": {
            "kind": "leaf-spine",
            "leaves": 2,
            "spines": 2,
            "hosts_per_leaf": 2,
            "host_rate": "100G",
            "fabric_rate": "100G",
        },
        "routing": "bgp",
        "bgp": {**FAST, **bgp},
        "vxlan": {},
        "workload": [{"kind": "incast", "receiver": "host1", "senders": ["*"], "size": "1MB"}],
        "faults": list(faults),
        "run": {"duration": "100s"},
    }
    placed = place(build_scenario(raw, Path("overlap.yml")))
    assert placed.control is not None
    return placed.control.at(at_ms * 10**6)


def up(at: Network, switch: str) -> list[bool]:
    """Whether each session of a switch is established."""
    [mine] = [it for it in at.switches if it.router.name == switch]
    return [peer.established is not None for peer in mine.speaker.peers.values()] if mine.daemon_up else []


S: Final = 1000
PAIRS: Final[dict[str, dict[str, Any]]] = {
    "bgp-crash": {"switch": "spine1"},
    "switch-crash": {"switch": "spine1"},
    "wrong-asn": {"switch": "spine1", "asn": 64_999},
    "link-silent": {"link": "leaf*--spine1"},
}


@pytest.mark.parametrize("kind", PAIRS)
def test_sessions_come_back_only_when_the_second_fault_has_ended(kind: str) -> None:
    one = {"kind": kind, "at": "1s", "until": "20s", **PAIRS[kind]}
    two = {"kind": kind, "at": "15s", "until": "40s", **PAIRS[kind]}
    states = [up(network(one, two, at_ms=at_s * S), "leaf1") for at_s in (0, 14, 38, 75)]
    assert states == [[True, True], [False, True], [False, True], [True, True]]
    assert up(network(one, at_ms=38 * S), "leaf1") == [True, True]  # otherwise the second assertion would prove nothing


def test_a_dead_daemon_stays_dead_when_its_switch_starts_again() -> None:
    crash = {"kind": "switch-crash", "switch": "spine1", "at": "1s", "until": "20s"}
    daemon = {"kind": "bgp-crash", "switch": "spine1", "at": "10s", "until": "50s"}
    assert [up(network(crash, daemon, at_ms=at_s * S), "leaf1") for at_s in (45, 80)] == [[False, True], [True, True]]


def test_a_daemon_does_not_start_on_a_switch_that_is_down() -> None:
    crash = {"kind": "switch-crash", "switch": "spine1", "at": "1s", "until": "50s"}
    daemon = {"kind": "bgp-crash", "switch": "spine1", "at": "10s", "until": "20s"}
    at = network(crash, daemon, at_ms=45 * S)
    assert not next(it for it in at.switches if it.router.name == "spine1").daemon_up


def test_a_cut_cable_stays_down_when_its_switch_starts_again() -> None:
    crash = {"kind": "switch-crash", "switch": "spine1", "at": "1s", "until": "20s"}
    cut = {"kind": "link-down", "link": "leaf1--spine1", "at": "10s", "until": "50s"}
    assert [up(network(crash, cut, at_ms=at_s * S), "spine1") for at_s in (45, 80)] == [[False, True], [True, True]]


def test_a_silent_cable_stays_silent_when_its_hung_switch_starts_again() -> None:
    hung = {"kind": "switch-crash", "switch": "spine1", "carrier": "kept", "at": "1s", "until": "20s"}
    silent = {"kind": "link-silent", "link": "leaf1--spine1", "at": "2s", "until": "60s"}
    assert [up(network(hung, silent, at_ms=at_s * S), "spine1") for at_s in (58, 95)] == [[False, True], [True, True]]


def test_the_end_of_a_policy_fault_brings_back_what_is_configured_not_what_accepts_all() -> None:
    configured = [{"switch": "leaf1", "neighbour": "spine1", "direction": "import", "rules": [{"accept": False}]}]
    fault = {
        "kind": "route-policy",
        "switch": "leaf1",
        "neighbour": "spine1",
        "direction": "import",
        "rules": [{"set": {"local_pref": 200}}],
        "at": "1s",
        "until": "3s",
    }

    def next_hops(at_s: int) -> int:
        [leaf] = [
            it for it in network(fault, at_ms=at_s * S, policies=configured).switches if it.router.name == "leaf1"
        ]
        return len({port for key in list(leaf.forwarding.keys()) for port in leaf.forwarding.ports(key)})

    assert [next_hops(at_s) for at_s in (0, 2, 5)] == [1, 2, 1]


def test_a_policy_for_all_neighbours_covers_one_for_a_neighbour_until_it_ends() -> None:
    """In the other order: when a fault ends, the setting of the remaining fault returns, not the configured one."""
    deny, accept = [{"accept": False}], [{"accept": True}]
    mine = {"kind": "route-policy", "switch": "leaf1", "direction": "import"}

    def next_hops(*faults: dict[str, Any]) -> list[int]:
        found = []
        for at_s in (2, 4, 6, 9):
            [leaf] = [it for it in network(*faults, at_ms=at_s * S).switches if it.router.name == "leaf1"]
            far = [ports for key in list(leaf.forwarding.keys()) if (ports := leaf.forwarding.ports(key))]
            found.append(len({port for ports in far for port in ports}))
        return found

    one = {**mine, "neighbour": "spine1", "rules": deny}
    every = {**mine, "rules": accept}
    assert next_hops({**one, "at": "1s", "until": "8s"}) == [1, 1, 1, 2]
    assert next_hops({**one, "at": "1s", "until": "8s"}, {**every, "at": "3s", "until": "5s"}) == [1, 2, 1, 2]
    none = {**mine, "rules": deny}
    back = {**mine, "neighbour": "spine1", "rules": accept}
    assert next_hops({**none, "at": "1s", "until": "8s"}, {**back, "at": "3s", "until": "5s"}) == [0, 1, 0, 2]
    assert next_hops({**back, "at": "1s", "until": "5s"}, {**none, "at": "3s", "until": "8s"}) == [2, 0, 0, 2]


# ===== the rules without a network =====


def events_sent(*faults: tuple[list[e.ControlEvent], bool]) -> list[str]:
    return [f"{event.time_ns} {type(event).__name__}" for event in settle(faults)]


def test_the_events_of_one_fault_are_unchanged() -> None:
    events: list[e.ControlEvent] = [e.RouterCrash(1, 0, carrier=False), e.RouterBoot(5, 0)]
    assert events_sent((events, True)) == ["1 RouterCrash", "5 RouterBoot"]


def test_a_drain_outlives_a_start_of_the_daemon() -> None:
    drain: list[e.ControlEvent] = [e.Drain(1, 0, on=True), e.Drain(9, 0, on=False)]
    daemon: list[e.ControlEvent] = [e.DaemonCrash(2, 0), e.DaemonStart(4, 0)]
    assert events_sent((drain, True), (daemon, True)) == [
        "1 Drain",
        "2 DaemonCrash",
        "4 DaemonStart",
        "4 Drain",
        "9 Drain",
    ]


def test_sessions_that_one_drain_has_closed_stay_closed_while_it_lasts() -> None:
    closing: list[e.ControlEvent] = [e.Drain(1, 0, on=True), e.Shutdown(3, 0), e.DaemonStart(9, 0)]
    other: list[e.ControlEvent] = [e.Drain(2, 0, on=True), e.Drain(6, 0, on=False)]
    assert events_sent((closing, True), (other, True)) == ["1 Drain", "3 Shutdown", "9 DaemonStart"]
    longer: list[e.ControlEvent] = [e.Drain(2, 0, on=True), e.Drain(12, 0, on=False)]
    assert events_sent((closing, True), (longer, True)) == [
        "1 Drain",
        "3 Shutdown",
        "9 DaemonStart",
        "9 Drain",
        "12 Drain",
    ]


def test_of_two_wrong_numbers_the_one_before_is_in_force_again() -> None:
    one: list[e.ControlEvent] = [e.Reconfigure(1, 0, 100), e.Reconfigure(9, 0, None)]
    two: list[e.ControlEvent] = [e.Reconfigure(2, 0, 200), e.Reconfigure(5, 0, None)]
    assert [(it.time_ns, it.asn) for it in settle([(one, True), (two, True)]) if isinstance(it, e.Reconfigure)] == [
        (1, 100),
        (2, 200),
        (5, 100),
        (9, None),
    ]
    long: list[e.ControlEvent] = [e.Reconfigure(2, 0, 200), e.Reconfigure(12, 0, None)]
    assert [(it.time_ns, it.asn) for it in settle([(one, True), (long, True)]) if isinstance(it, e.Reconfigure)] == [
        (1, 100),
        (2, 200),
        (12, None),
    ]


def test_a_host_that_two_faults_have_taken_away_is_back_when_the_second_ends() -> None:
    gone = [[e.HostGone(begin, "m", 7, 0), e.HostSeen(end, "m", "ip", 7, 0, "port")] for begin, end in ((1, 5), (3, 8))]
    assert events_sent(*((list(events), True) for events in gone)) == ["1 HostGone", "8 HostSeen"]


def test_the_events_of_endpoint_churn_are_unchanged() -> None:
    serial = count(1)
    churn: list[e.ControlEvent] = [
        make
        for _ in range(2)
        for make in (e.HostSeen(next(serial), "m", "ip", 7, 0, "port"), e.HostGone(next(serial), "m", 7, 0))
    ]
    assert events_sent((churn, False)) == ["1 HostSeen", "2 HostGone", "3 HostSeen", "4 HostGone"]
