"""For any host events and any delays of routes: in the end all switches agree, and every table is consistent."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric.controlplane.bgp.actions import Change
from fabric.controlplane.bgp.rib import Selection
from fabric.controlplane.evpn.actions import Action, Originate, Withdraw
from fabric.controlplane.evpn.config import DuplicateDetection, VniConfig
from fabric.controlplane.evpn.evpn_attributes import read
from fabric.controlplane.evpn.evpn_nlri import EvpnKey, key_of
from fabric.controlplane.evpn.mac import MacKind, NeighborKind
from fabric.controlplane.evpn.vtep import Vtep
from tests.evpn.conftest import S, leaf, select

VNI, LEAVES = 10100, 3
MACS = tuple(f"02:00:00:00:00:0{n}" for n in range(1, 4))
IPS = ("10.0.0.1", "10.0.0.2", "2001:db8::1")


class LateMesh:
    """VTEPs whose routes wait in one queue for each ordered pair, until they are delivered."""

    def __init__(self) -> None:
        config = {"duplicates": DuplicateDetection(enabled=False), "ageing_ns": None}
        self.vteps = [Vtep(leaf(number, (VniConfig(VNI),), **config)) for number in range(1, LEAVES + 1)]
        self.announced: list[dict[EvpnKey, Originate]] = [{} for _ in self.vteps]
        self.received: dict[tuple[int, EvpnKey, int], Selection] = {}
        self.queues: dict[tuple[int, int], deque[tuple[EvpnKey, Originate | None]]] = {
            (a, b): deque() for a in range(LEAVES) for b in range(LEAVES) if a != b
        }
        for index, vtep in enumerate(self.vteps):
            self.note(index, vtep.start(0))

    def note(self, index: int, actions: Iterable[Action]) -> None:
        for action in actions:
            if not isinstance(action, Originate | Withdraw):
                continue
            announced_route = action if isinstance(action, Originate) else None
            for key in action.keys:
                if announced_route is None:
                    del self.announced[index][key]  # a route that was not announced is never withdrawn
                else:
                    self.announced[index][key] = announced_route
                for other in range(LEAVES):
                    if other != index:
                        self.queues[index, other].append((key, announced_route))

    def let_through(self, pair: tuple[int, int], now_ns: int) -> None:
        sender, receiver = pair
        key, announced_route = self.queues[pair].popleft()
        old = self.received.pop((sender, key, receiver), None)
        new = None if announced_route is None else select(announced_route, 65000)
        if new is not None:
            self.received[sender, key, receiver] = new
        if old is not None or new is not None:
            self.note(receiver, self.vteps[receiver].routes_changed([Change((key,), old, new)], now_ns))

    def settle(self, now_ns: int) -> None:
        while any(self.queues.values()):
            for pair, queue in self.queues.items():
                if queue:
                    self.let_through(pair, now_ns)


events = st.one_of(
    st.tuples(st.just("host"), st.integers(0, LEAVES - 1), st.sampled_from(MACS), st.sampled_from(("", *IPS))),
    st.tuples(st.just("gone"), st.integers(0, LEAVES - 1), st.sampled_from(MACS), st.just("")),
    st.tuples(st.just("clear"), st.integers(0, LEAVES - 1), st.just(""), st.sampled_from(IPS)),
    st.tuples(st.just("route"), st.integers(0, LEAVES - 1), st.just(""), st.just("")),
)


def _simulate(steps: list[tuple[str, int, str, str]]) -> LateMesh:
    mesh = LateMesh()
    for at, (what, index, mac, ip) in enumerate(steps, 1):
        vtep, now = mesh.vteps[index], at * S
        if what == "host":
            mesh.note(index, vtep.host_seen(VNI, mac, ip, f"p{index}", now))
        elif what == "gone":
            mesh.note(index, vtep.host_gone(VNI, mac, now))
        elif what == "clear":
            mesh.note(index, vtep.neighbor_gone(VNI, ip, now))
        else:
            for pair, queue in mesh.queues.items():
                if pair[1] == index and queue:
                    mesh.let_through(pair, now)
        for checked in range(LEAVES):
            _check_one(mesh, checked)
    mesh.settle((len(steps) + 1) * S)
    return mesh


def _check_one(mesh: LateMesh, index: int) -> None:
    """Every table is consistent, and agrees with the routes that its switch announces."""
    table = mesh.vteps[index].vnis[VNI]
    for ip, neighbor in table.neighbors.items():
        assert ip in table.macs[neighbor.mac].neighbors
        if neighbor.kind is NeighborKind.LOCAL and neighbor.active:
            assert table.macs[neighbor.mac].kind is MacKind.LOCAL
    for mac, entry in table.macs.items():
        assert all(table.neighbors[ip].mac == mac for ip in entry.neighbors)
        assert len(set(entry.neighbors)) == len(entry.neighbors)
        assert entry.announced == (entry.kind is MacKind.LOCAL)
        assert bool(entry.port) == (entry.kind is MacKind.LOCAL)
        assert bool(entry.vtep) == (entry.kind is MacKind.REMOTE)
        assert entry.kind is not MacKind.AUTO or entry.neighbors
    assert set(table.own_routes()) == set(mesh.announced[index])


def _remembers(mesh: LateMesh, index: int, at: int, mac: str) -> bool:
    """Whether a switch keeps a MAC for its bindings and has received a higher sequence number than the present one."""
    entry = mesh.vteps[index].vnis[VNI].macs.get(mac)
    if entry is None or entry.kind is not MacKind.AUTO:
        return False
    return any(
        read(announced_route.attributes.ext_communities).sequence < entry.remote_sequence
        for key, announced_route in mesh.announced[at].items()
        if key.mac == mac
    )


def _check_all(mesh: LateMesh) -> None:
    """All switches agree on the location of every MAC, which is the switch that announces it. Excepted are switches
    that store a higher sequence number, as in FRR.
    """
    for mac in MACS:
        at = [
            index for index, routes in enumerate(mesh.announced) if any(key.mac == mac and not key.ip for key in routes)
        ]
        assert len(at) <= 1, (mac, at)
        for index, vtep in enumerate(mesh.vteps):
            where = vtep.vnis[VNI].where(mac)
            if not at:
                assert where is None
            elif index == at[0]:
                assert where is not None
                assert where.kind is MacKind.LOCAL
            elif _remembers(mesh, index, at[0], mac):
                assert where is None
            else:
                assert where is not None
                assert where.vtep == mesh.vteps[at[0]].config.address
    for ip in IPS:
        claims = {
            (index, key.mac)
            for index, routes in enumerate(mesh.announced)
            for key in routes
            if key.ip == ip and key.mac
        }
        bound = [vtep.vnis[VNI].neighbors.get(ip) for vtep in mesh.vteps]
        if len(claims) == 1:  # two MACs that claim one address are a conflict of the hosts
            [(at_leaf, mac)] = claims
            for index, neighbor in enumerate(bound):
                if index != at_leaf and _remembers(mesh, index, at_leaf, mac):
                    continue
                assert neighbor is not None
                assert (neighbor.mac, neighbor.kind) == (
                    mac,
                    NeighborKind.LOCAL if index == at_leaf else NeighborKind.REMOTE,
                )
        elif not claims:
            assert all(one is None or one.kind is NeighborKind.LOCAL for one in bound)
    for index, vtep in enumerate(mesh.vteps):
        received = {key_of(key).inner for (_, key, receiver) in mesh.received if receiver == index}
        assert set(vtep.vnis[VNI].imports) == received
        _check_one(mesh, index)


@given(st.lists(events, max_size=14))
@settings(max_examples=250, deadline=None)
def test_all_switches_agree_once_every_route_has_arrived(steps: list[tuple[str, int, str, str]]) -> None:
    _check_all(_simulate(steps))


@pytest.mark.slow
@given(st.lists(events, max_size=30))
@settings(max_examples=3000, deadline=None)
def test_all_switches_agree_after_long_histories(steps: list[tuple[str, int, str, str]]) -> None:
    _check_all(_simulate(steps))


@given(st.lists(events, max_size=14))
@settings(max_examples=100, deadline=None)
def test_the_same_events_give_the_same_announcements(steps: list[tuple[str, int, str, str]]) -> None:
    assert _simulate(steps).announced == _simulate(steps).announced
