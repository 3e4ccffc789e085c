"""Cables of a laboratory without namespaces: after any events they have the carrier and silence of the model's."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from fabric.controlplane.network import events as e
from fabric.controlplane.network.config import ControlConfig, Jitter
from fabric.controlplane.network.event_handlers import handle
from fabric.lab.cables import CableChanges, Cables
from tests.network.worlds import World, world

CALM = ControlConfig(jitter=Jitter.OFF)


def crash_as_faults_tell_it(here: World, router: int) -> list[e.ControlEvent]:
    """A crash and a start, each with an event for every cable, as a scenario's `switch-crash` with `until` has them."""
    cables = [here.plan.interfaces[row].cable for row in here.plan.routers[router].interfaces]
    return [
        e.RouterCrash(1, router, carrier=False),
        *(e.CableDown(1, cable) for cable in cables),
        e.RouterBoot(2, router),
        *(e.CableUp(2, cable) for cable in cables),
    ]


def interfaces_shut(cables: Cables, events: list[e.ControlEvent]) -> Iterator[set[int]]:
    """Interfaces that are shut down after each event."""
    shut = set[int]()
    for event in events:
        changes = cables.take(event)
        assert not shut & set(changes.down)
        gained = {row for rows in changes.up for row in rows}
        assert gained <= shut
        shut = (shut | set(changes.down)) - gained
        yield shut


@pytest.mark.parametrize("name", ["spine1", "leaf1"])
def test_a_switch_that_starts_has_all_its_cables_up_at_its_start(name: str) -> None:
    here = world("leaf-spine", CALM, leaves=3, overlay=False)
    events = crash_as_faults_tell_it(here, here.row(name))
    ports = len(here.plan.by_name[name].interfaces)
    shut = [len(rows) for rows in interfaces_shut(Cables(here.plan), events)]
    assert shut == [*([ports] * (ports + 1)), *([0] * (ports + 1))]


def test_a_cable_between_two_crashed_switches_has_carrier_when_the_second_starts() -> None:
    here = world("leaf-spine", CALM, overlay=False)
    leaf, spine, cable = here.row("leaf1"), here.row("spine1"), here.cable("leaf1", "spine1")
    cables = Cables(here.plan)
    for row in (leaf, spine):
        cables.take(e.RouterCrash(1, row, carrier=False))
    cables.take(e.RouterBoot(2, leaf))
    assert not cables.has_carrier(cable)
    changes = cables.take(e.RouterBoot(3, spine))
    assert cables.has_carrier(cable)
    assert (here.plan.cables[cable].a,) in changes.up or (here.plan.cables[cable].b,) in changes.up


def test_a_cut_cable_stays_down_at_the_start_of_its_switch_and_comes_with_its_own_event() -> None:
    here = world("leaf-spine", CALM, overlay=False)
    spine, cable = here.row("spine1"), here.cable("leaf1", "spine1")
    cables = Cables(here.plan)
    for event in (
        e.CableDown(1, cable),
        e.RouterCrash(2, spine, carrier=False),
        e.RouterBoot(3, spine, down_cables=frozenset({cable})),
    ):
        cables.take(event)
    assert not cables.has_carrier(cable)
    [rows] = cables.take(e.CableUp(4, cable)).up
    assert rows == (here.plan.cables[cable].a,)


def test_a_cable_that_is_repaired_beside_a_hung_switch_has_carrier_and_is_silent() -> None:
    here = world("leaf-spine", CALM, overlay=False)
    spine, cable = here.row("spine1"), here.cable("leaf1", "spine1")
    network, cables = here.network(), Cables(here.plan)
    for event in (e.CableDown(1, cable), e.RouterCrash(2, spine, carrier=True), e.CableUp(3, cable)):
        handle(event, network)
        cables.take(event)
    assert cables.has_carrier(cable)
    assert cables.is_silent(cable)
    assert (network.transports[cable].up, network.transports[cable].silent) == (True, True)


def test_an_event_of_a_host_changes_no_cable() -> None:
    here = world("leaf-spine", CALM)
    assert Cables(here.plan).take(e.HostPortDown(1, 0, 0)) == CableChanges()


@pytest.mark.parametrize("seed", range(12))
def test_cables_have_carrier_and_silence_as_in_the_model_after_any_events(seed: int) -> None:
    here = world("leaf-spine", CALM, leaves=3, overlay=False)
    network, cables = here.network(), Cables(here.plan)
    draw = random.Random(seed)
    cut, muted, crashed = set[int](), set[int](), set[int]()
    for time_ns in range(60):
        cable, router = draw.choice(here.plan.cables).row, draw.choice(here.plan.routers).row
        event: e.ControlEvent
        match draw.randrange(4):
            case 0:
                event = e.CableUp(time_ns, cable) if cable in cut else e.CableDown(time_ns, cable)
                cut ^= {cable}
            case 1:
                event = (e.CableSilenceEnded if cable in muted else e.CableSilent)(time_ns, cable)
                muted ^= {cable}
            case _ if router in crashed:
                event = e.RouterBoot(time_ns, router, frozenset(cut), frozenset(muted))
                crashed.discard(router)
            case _:
                event = e.RouterCrash(time_ns, router, carrier=draw.random() < 0.5)
                crashed.add(router)
        handle(event, network)
        cables.take(event)
        network.advance(network.now_ns - network.epoch_ns + 10_000_000)
        for transport in network.transports:
            assert cables.has_carrier(transport.cable) == transport.up, (event, transport)
            if transport.up:
                assert cables.is_silent(transport.cable) == transport.silent, (event, transport)
