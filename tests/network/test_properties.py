"""After any events, once everything is repaired and has converged, the fabric is as if no event had occurred."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabric.controlplane.network import events as e
from fabric.controlplane.network.config import Bfd, ControlConfig, Design, SpineAsn
from tests.network.worlds import MS, World, world

S = 1000 * MS
CONFIGS = {
    "ebgp": ControlConfig(),
    "bfd": ControlConfig(bfd=Bfd(10 * MS, 3)),
    "distinct": ControlConfig(spine_asn=SpineAsn.DISTINCT),
    "ibgp-rr": ControlConfig(design=Design.IBGP_RR),
    "unnumbered": ControlConfig(unnumbered=True),
}


def breakages(here: World) -> st.SearchStrategy[tuple[type[e.ControlEvent], type[e.ControlEvent], tuple[Any, ...]]]:
    """(failure, repair, kind of resource)."""
    cables = st.sampled_from([cable.row for cable in here.plan.cables])
    routers = st.sampled_from([router.row for router in here.plan.routers])
    ports = st.sampled_from(
        [
            (here.row(here.fabric.peer_of(port).name), here.fabric.ports[port].peer)
            for host in here.fabric.hosts
            for port in host.ports
        ]
    )
    return st.one_of(
        st.tuples(st.just(e.CableDown), st.just(e.CableUp), st.tuples(cables)),
        st.tuples(st.just(e.CableSilent), st.just(e.CableSilenceEnded), st.tuples(cables)),
        st.tuples(st.just(e.DaemonCrash), st.just(e.DaemonStart), st.tuples(routers)),
        st.tuples(st.just(e.HostPortDown), st.just(e.HostPortUp), ports),
        st.tuples(st.just(e.RouterCrash), st.just(e.RouterBoot), st.tuples(routers)),
    )


def dated(
    breakage: tuple[type[e.ControlEvent], type[e.ControlEvent], tuple[Any, ...]],
    begin: int,
    lasts: int,
    unit_ns: int = MS,
) -> list[e.ControlEvent]:
    broken, repaired, what = breakage
    extra: dict[str, Any] = {"carrier": lasts % 2 == 0} if broken is e.RouterCrash else {}
    return [broken(begin * unit_ns, *what, **extra), repaired((begin + lasts) * unit_ns, *what)]


@pytest.mark.parametrize("name", CONFIGS)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(data=st.data())
def test_a_repaired_fabric_forwards_as_a_healthy_one(name: str, data: st.DataObject) -> None:
    check(world(config=CONFIGS[name]), data)


@pytest.mark.slow
@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("kind", ["leaf-spine", "clos3", "dual-tor"])
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_repaired_fabric_forwards_as_a_healthy_one(kind: str, name: str, data: st.DataObject) -> None:
    numbers: dict[str, dict[str, object]] = {
        "leaf-spine": {"leaves": 3, "spines": 2, "links_per_pair": 2},
        "clos3": {"pods": 2, "leaves_per_pod": 2, "spines_per_pod": 2, "super_spines": 2, "hosts_per_leaf": 1},
        "dual-tor": {"racks": 2, "hosts_per_rack": 1, "spines": 2},
    }
    check(world(kind, CONFIGS[name], overlay=kind != "dual-tor", **numbers[kind]), data)


@pytest.mark.parametrize("name", CONFIGS)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(data=st.data())
def test_a_fabric_that_was_broken_for_milliseconds_forwards_as_a_healthy_one(name: str, data: st.DataObject) -> None:
    """Outages about as long as daemons and BFD take to notice them."""
    check(world(config=CONFIGS[name], overlay=False), data, unit_ns=2000)


def check(here: World, data: st.DataObject, unit_ns: int = MS) -> None:
    events: list[e.ControlEvent] = []
    for _ in range(data.draw(st.integers(1, 5))):
        begin, lasts = data.draw(st.integers(0, 20_000)), data.draw(st.integers(1, 15_000))
        events += dated(data.draw(breakages(here)), begin, lasts, unit_ns)
    # A switch crashes and boots, a cable fails and heals, while others do: the last word on each thing is a repair.
    events.sort(key=lambda event: event.time_ns)
    last_ns = events[-1].time_ns
    ends: list[e.ControlEvent] = [e.CableSilenceEnded(last_ns + 1, cable.row) for cable in here.plan.cables]
    ends += [e.CableUp(last_ns + 1, cable.row) for cable in here.plan.cables]
    run = here.run([*events, *ends], until_ms=last_ns / MS + 120_000)
    network = run.at(last_ns + 120 * S)
    for router in here.plan.routers:
        switch = network.switches[router.row]
        assert {key: ports for key, ports in switch.routes().items() if ports} == {
            key: ports for key, ports in run.routes_at_start[router.row].items() if ports
        }, (router.name, events)
        assert switch.locations() == run.locations_at_start[router.row], (router.name, events)


def test_what_is_said_after_a_silence_does_not_overtake_what_was_said_in_it() -> None:
    """Otherwise a leaf keeps the older of two paths permanently. A cable flaps, is silent for 1 s, and recovers."""
    here = world("dual-tor", CONFIGS["distinct"], overlay=False, racks=2, hosts_per_rack=1, spines=2)
    run = here.run(
        [
            e.CableDown(0, 2),
            e.CableDown(0, 0),
            e.CableSilent(0, 0),
            e.CableUp(MS, 0),
            e.CableUp(16 * MS, 2),
            e.CableSilenceEnded(1028 * MS, 0),
        ],
        until_ms=30_000,
    )
    network = run.at(30 * S)
    for router, switch in zip(here.plan.routers, network.switches, strict=True):
        assert {key: ports for key, ports in switch.routes().items() if ports} == {
            key: ports for key, ports in run.routes_at_start[router.row].items() if ports
        }
