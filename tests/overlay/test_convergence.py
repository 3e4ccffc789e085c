"""Whatever hosts do and however late routes arrive: at the end all switches agree; no table contradicts itself."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric.overlay.actions import Action, Originate, Withdraw
from fabric.overlay.config import DuplicateDetection, VniConfig
from fabric.overlay.evpn_attributes import read
from fabric.overlay.evpn_nlri import EvpnKey, key_of
from fabric.overlay.mac import MacKind, NeighborKind
from fabric.overlay.vtep import Vtep
from fabric.routing.bgp.actions import Change
from fabric.routing.bgp.rib import Selection
from tests.overlay.conftest import S, leaf, select

VNI, LEAVES = 10100, 3
MACS = tuple(f"02:00:00:00:00:0{n}" for n in range(1, 4))
IPS = ("10.0.0.1", "10.0.0.2", "2001:db8::1")


class LateMesh:
    """VTEPs whose routes wait in one queue for each ordered pair, until they are let through."""

    def __init__(self) -> None:
        config = {"duplicates": DuplicateDetection(enabled=False), "ageing_ns": None}
        self.vteps = [Vtep(leaf(number, (VniConfig(VNI),), **config)) for number in range(1, LEAVES + 1)]
        self.announced: list[dict[EvpnKey, Originate]] = [{} for _ in self.vteps]
        self.heard: dict[tuple[int, EvpnKey, int], Selection] = {}
        self.queues: dict[tuple[int, int], deque[tuple[EvpnKey, Originate | None]]] = {
            (a, b): deque() for a in range(LEAVES) for b in range(LEAVES) if a != b}
        for index, vtep in enumerate(self.vteps):
            self.note(index, vtep.start(0))

    def note(self, index: int, actions: Iterable[Action]) -> None:
        for action in actions:
            if not isinstance(action, Originate | Withdraw):
                continue
            said = action if isinstance(action, Originate) else None
            for key in action.keys:
                if said is None:
                    del self.announced[index][key]               # what was never announced is never withdrawn
                else:
                    self.announced[index][key] = said
                for other in range(LEAVES):
                    if other != index:
                        self.queues[index, other].append((key, said))

    def let_through(self, pair: tuple[int, int], now_ns: int) -> None:
        sender, receiver = pair
        key, said = self.queues[pair].popleft()
        old = self.heard.pop((sender, key, receiver), None)
        new = None if said is None else select(said, 65000)
        if new is not None:
            self.heard[sender, key, receiver] = new
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
    st.tuples(st.just("route"), st.integers(0, LEAVES - 1), st.just(""), st.just("")))


def _play(steps: list[tuple[str, int, str, str]]) -> LateMesh:
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
    """No table contradicts itself, or what its switch announces."""
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
    """Whether a switch keeps a MAC for its bindings and has heard a higher sequence number than is announced now."""
    entry = mesh.vteps[index].vnis[VNI].macs.get(mac)
    if entry is None or entry.kind is not MacKind.AUTO:
        return False
    return any(read(said.attributes.ext_communities).sequence < entry.remote_sequence
               for key, said in mesh.announced[at].items() if key.mac == mac)


def _check_all(mesh: LateMesh) -> None:
    """All agree where every MAC is, but those that remember a higher sequence number, as FRR does; the one place is
    where it is announced.
    """
    for mac in MACS:
        at = [index for index, routes in enumerate(mesh.announced)
              if any(key.mac == mac and not key.ip for key in routes)]
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
        claims = {(index, key.mac) for index, routes in enumerate(mesh.announced) for key in routes
                  if key.ip == ip and key.mac}
        bound = [vtep.vnis[VNI].neighbors.get(ip) for vtep in mesh.vteps]
        if len(claims) == 1:                         # two MACs that claim one address are the hosts' own quarrel
            [(at_leaf, mac)] = claims
            for index, neighbor in enumerate(bound):
                if index != at_leaf and _remembers(mesh, index, at_leaf, mac):
                    continue
                assert neighbor is not None
                assert (neighbor.mac, neighbor.kind) == (
                    mac, NeighborKind.LOCAL if index == at_leaf else NeighborKind.REMOTE)
        elif not claims:
            assert all(one is None or one.kind is NeighborKind.LOCAL for one in bound)
    for index, vtep in enumerate(mesh.vteps):
        heard = {key_of(key).inner for (_, key, receiver) in mesh.heard if receiver == index}
        assert set(vtep.vnis[VNI].imports) == heard
        _check_one(mesh, index)


@given(st.lists(events, max_size=14))
@settings(max_examples=250, deadline=None)
def test_all_switches_agree_once_every_route_has_arrived(steps: list[tuple[str, int, str, str]]) -> None:
    _check_all(_play(steps))


@pytest.mark.slow
@given(st.lists(events, max_size=30))
@settings(max_examples=3000, deadline=None)
def test_all_switches_agree_after_long_histories(steps: list[tuple[str, int, str, str]]) -> None:
    _check_all(_play(steps))


@given(st.lists(events, max_size=14))
@settings(max_examples=100, deadline=None)
def test_the_same_events_give_the_same_announcements(steps: list[tuple[str, int, str, str]]) -> None:
    assert _play(steps).announced == _play(steps).announced
