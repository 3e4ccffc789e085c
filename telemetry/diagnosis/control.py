"""Roots in the control plane: sessions, EVPN routes, MAC moves, ARP; and ranks of jobs that compute longer."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.units import count
from telemetry.diagnosis.root import Kind, Root
from telemetry.diagnosis.view import Values, View, grown

MOVES: Final = 5
"""MAC moves from which on they are no migration (RFC 7432 section 15.1)."""
_ROUTES_LOST: Final = 0.1
_EVPN: Final = "l2vpn-evpn"
_FLOODED: Final = 0.5
_LEAST_REQUESTS: Final = 20
_STRAGGLER: Final = 1.2
"""Computation of the slowest rank over that of the median one, as of FabricStragglerRank."""


def control_roots(view: View, broken: frozenset[str]) -> Iterator[Root]:
    """Roots of sessions and routes, without those of the devices in `broken`, whose links or themselves are down."""
    sessions = list(_sessions(view, broken))
    yield from sessions
    down = broken | {device for it in sessions for device in it.devices}
    refused = list(_refused(view, down))
    yield from refused
    if not refused:
        yield from _routes(view, down)
    yield from _moves(view)
    yield from _floods(view)
    yield from _stragglers(view)


def _sessions(view: View, broken: frozenset[str]) -> Iterator[Root]:
    """Sessions that were lost between devices that are alive; the device with most of them is the root."""
    lost: dict[tuple[str, str], NDArray[np.bool_]] = {}
    for labels, state in view.series("fabric_bgp_peer_state", state="established"):
        device, peer = labels["device"], labels["peer"]
        down = np.maximum.accumulate(state) > state
        if down.any() and not {device, peer} & broken:
            lost[device, peer] = down
    while lost:
        named = Counter(name for pair in lost for name in pair)
        name = max(sorted(named), key=lambda it: named[it])
        its = {pair: lost.pop(pair) for pair in list(lost) if name in pair}
        peers = sorted({it for pair in its for it in pair} - {name})
        began, ended = view.span(np.any(list(its.values()), axis=0))
        text = f"sessions with {', '.join(peers)} left Established while the links stayed up"
        yield Root(Kind.BGP_DOWN, name, began, ended, (text,), members=tuple(peers))


def _refused(view: View, broken: frozenset[str]) -> Iterator[Root]:
    """VTEPs of which no neighbour has an EVPN route, or that have none of any neighbour, over sessions that are up.

    Only a device with hosts, only while the same neighbours exchange EVPN routes with others, and only where packets
    have no route meanwhile: a leaf without hosts of an overlay announces none.
    """
    held: dict[tuple[str, str], Values] = {}
    for labels, values in view.series("fabric_bgp_prefixes", family=_EVPN):
        held[labels["device"], labels["peer"]] = values
    up = {(it["device"], it["peer"]): v > 0 for it, v in view.series("fabric_bgp_peer_state", state="established")}
    lost: dict[str, Values] = {}
    for (port, _), values in view.drops("no_route").items():
        lost[view.device(port)] = lost.get(view.device(port), np.zeros(view.size)) + values
    leaves = {view.device(view.peer(int(port))) for host in view.fabric.hosts for port in host.ports}
    for name in sorted(leaves - broken):
        peers = sorted({peer for device, peer in held if device == name} - broken)
        for pairs, words in (
            ([(peer, name) for peer in peers], "has an EVPN route of it"),
            ([(name, peer) for peer in peers], "gives it an EVPN route that it accepts"),
        ):
            none = np.full(view.size, bool(pairs))
            for pair in pairs:
                none &= (held[pair] == 0) & up[pair] if pair in held and pair in up else False
            others = [
                values > 0
                for (device, peer), values in held.items()
                if (device in peers and peer != name) or (device != name and peer in peers)
            ]
            shown = none & np.any(np.array([np.zeros(view.size, bool), *others]), axis=0)
            victims = {device: float(it[shown].sum()) for device, it in lost.items() if it[shown].sum() > 0}
            if words.startswith("gives"):
                victims = {device: it for device, it in victims.items() if device == name}
            if victims:
                began, ended = view.span(shown)
                packets = (
                    f"{count(int(sum(victims.values())), 'packet')} had no next hop at {', '.join(sorted(victims))}"
                )
                text = f"the session is up with {', '.join(peers)}, and none of them {words}: {packets} meanwhile"
                yield Root(Kind.EVPN_LOSS, name, began, ended, (text,), members=tuple(sorted(set(victims) - {name})))
                break


def _routes(view: View, broken: frozenset[str]) -> Iterator[Root]:
    """EVPN routes that are gone for good at devices whose sessions are up, at those that they were lost by."""
    fallen: dict[str, NDArray[np.bool_]] = {}
    told: dict[str, str] = {}
    for labels, held in view.series("fabric_evpn_routes", route_type="macip"):
        device, lower = labels["device"], _fallen(held)
        if lower is not None and device not in broken:
            fallen[device] = lower
            told[device] = f"{held.max():,.0f} MAC/IP routes before, {held[-1]:,.0f} at the end, sessions up"
    if not fallen or broken:
        return
    lost = {name: it for name, it in _lost_by(view).items() if not set(name) & broken}
    if not lost:  # the sessions are not known
        name = max(sorted(fallen), key=lambda it: float(np.count_nonzero(fallen[it])))
        lost, told = {(name,): fallen[name]}, {name: told[name]}
    for names, lower in lost.items():
        name, others = names[0], names[1:]
        first = np.any([lower, fallen.get(name, lower)], axis=0)
        began, ended = view.span(first)
        text = f"{', '.join(others)} lost its EVPN routes, sessions up" if others else told.get(name, "")
        members = tuple(sorted({*fallen, *others} - {name}))
        yield Root(Kind.EVPN_LOSS, name, began, ended, (text,), members=members)


def _lost_by(view: View) -> dict[tuple[str, ...], NDArray[np.bool_]]:
    """(device, neighbours that have fewer EVPN routes from it) to the intervals with fewer.

    A device that passes on what others withdrew has fewer itself. One that has fewer from none gave them up, if all of
    its neighbours have fewer from it; where one of several has, that one rejects them, and is the device.
    """
    fewer: dict[tuple[str, str], NDArray[np.bool_]] = {}
    given: dict[str, set[str]] = defaultdict(set)
    for labels, held in view.series("fabric_bgp_prefixes", family=_EVPN):
        given[labels["peer"]].add(labels["device"])
        lower = _fallen(held)
        if lower is not None:
            fewer[labels["device"], labels["peer"]] = lower
    receivers = {device for device, _ in fewer}
    found: dict[tuple[str, ...], NDArray[np.bool_]] = {}
    for source in sorted({peer for _, peer in fewer} - receivers):
        of = {device: lower for (device, peer), lower in fewer.items() if peer == source}
        if set(of) == given[source]:
            found[source, *sorted(of)] = np.any(list(of.values()), axis=0)
            continue
        for device, lower in of.items():
            found[(device,)] = lower | found.get((device,), np.zeros(view.size, np.bool_))
    return found


def _fallen(held: Values) -> NDArray[np.bool_] | None:
    """Intervals with fewer routes than before, of a number that has not come back; None of others."""
    most = float(held.max())
    return held < (1 - _ROUTES_LOST) * most if most and held[-1] < (1 - _ROUTES_LOST) * most else None


def _moves(view: View) -> Iterator[Root]:
    """Moves within one VNI at one device: an address is in one VNI, so moves in several are of several addresses.

    A host that migrates moves once and is where its address is. After one move, or a few, packets without a next hop
    at the device that counted it tell that the host is not there.
    """
    moved = {
        (labels["device"], labels["vni"]): grown(values)
        for labels, values in view.series("fabric_evpn_mac_moves_total")
    }
    if moved:
        lost = {place: _after(its, _without_route(view, place[0])) for place, its in moved.items()}
        name, vni = max(sorted(moved), key=lambda it: (moved[it].sum() >= MOVES, lost[it].sum(), moved[it].sum()))
        its, gone = moved[name, vni], lost[name, vni]
        if its.sum() >= MOVES or gone.sum() > 0:
            began, ended = view.span((its > 0) | (gone > 0))
            same = ((device, values) for (device, of), values in moved.items() if of == vni and device != name)
            others = tuple(sorted(device for device, values in same if values.sum() > 0))
            text = f"{count(int(its.sum()), 'move')} of MAC addresses in VNI {vni}"
            if gone.sum() > 0:
                text += f"; since then {count(int(gone.sum()), 'packet')} had no next hop at {name}"
            yield Root(Kind.MAC_MOVE, name, began, ended, (text,), members=others)


def _without_route(view: View, device: str) -> Values:
    """Packets that had no next hop at a device, by interval."""
    its = [values for (port, _), values in view.drops("no_route").items() if view.device(port) == device]
    return np.asarray(np.sum(its, axis=0)) if its else np.zeros(view.size)


def _after(moves: Values, lost: Values) -> Values:
    """Losses from the first move on; none where there were losses before: then the move is not what began them."""
    moved = np.cumsum(moves) > 0
    return np.where(moved, lost, 0.0) if not lost[~moved].any() else np.zeros_like(lost)


def _floods(view: View) -> Iterator[Root]:
    """VNIs most of whose ARP requests are flooded, all leaves of it as one root: it is one setting."""
    vnis: dict[str, dict[str, tuple[float, float, Values]]] = defaultdict(dict)
    flooded = {(it["device"], it["vni"]): v for it, v in view.series("fabric_arp_requests_flooded_total")}
    for labels, values in view.series("fabric_arp_requests_total"):
        device, vni = labels["device"], labels["vni"]
        sent = grown(flooded.get((device, vni), np.zeros(view.size)))
        asked, copied = float(grown(values).sum()), float(sent.sum())
        if asked >= _LEAST_REQUESTS and copied > _FLOODED * asked:
            vnis[vni][device] = asked, copied, sent
    for vni, its in vnis.items():
        name = max(sorted(its), key=lambda it: its[it][1])
        began, ended = view.span(np.any([it[2] > 0 for it in its.values()], axis=0))
        requests, copies = sum(it[0] for it in its.values()), sum(it[1] for it in its.values())
        text = f"VNI {vni}: {copies:,.0f} of {requests:,.0f} ARP requests were flooded by {count(len(its), 'VTEP')}"
        yield Root(Kind.ARP_FLOOD, name, began, ended, (text,), members=tuple(sorted(set(its) - {name})))


def _stragglers(view: View) -> Iterator[Root]:
    for labels, ratio in view.series("fabric_job_straggler_ratio"):
        slow = ratio >= _STRAGGLER
        if np.count_nonzero(slow) > 1:
            began, ended = view.span(slow)
            text = f"the slowest rank computed up to {ratio.max():.2f} times as long as the median one"
            yield Root(Kind.STRAGGLER, labels["workload"], began, ended, (text,))
