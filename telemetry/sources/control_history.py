"""The control plane's facts at given times of a run, for its metrics.

The control plane was simulated when the scenario was compiled (docs/decisions/0009). Its routing tables at a given time
come from a second simulation, which advances to each requested time; so times must ascend. Packets in tunnels are not
counted, so there are no VniCounters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from fabric.controlplane.bgp.afi import IPV4_UNICAST
from fabric.controlplane.evpn.evpn_nlri import EVPN, RouteType, key_of
from fabric.controlplane.network.network import Network
from fabric.controlplane.network.plan import ControlPlan, Interface
from fabric.controlplane.network.run import ControlRun
from fabric.controlplane.network.switch import Switch
from fabric.show.bgp import accepted
from fabric.units import PS_PER_NS
from telemetry.catalogue.control import BgpPeer, BgpPrefixes, ControlFacts, EvpnRoutes, MacMoves

_FAMILIES = {IPV4_UNICAST: "ipv4-unicast", EVPN: "l2vpn-evpn"}
_TYPES = {
    RouteType.ETHERNET_AD: "ead",
    RouteType.MAC_IP: "macip",
    RouteType.INCLUSIVE_MULTICAST: "multicast",
    RouteType.ETHERNET_SEGMENT: "es",
    RouteType.IP_PREFIX: "prefix",
}


class ControlHistory:
    """Facts of one simulated control plane; the first call takes as long as its convergence."""

    def __init__(self, run: ControlRun) -> None:
        self._run = run
        self._network: Network | None = None
        logged = {
            it.time_ns for log in (run.routes, run.locations, run.sessions, run.bindings, run.convergence) for it in log
        }
        # A routing table may follow what is logged about it by the time of one decision.
        later = {it + run.config.update_delay_ns + 1 for it in logged}
        self._changes_ns = [*sorted(logged | later), 1 << 62]
        self._next = 0
        self._facts: ControlFacts | None = None
        self._names: dict[int, dict[str, str]] = {}
        self._flaps: Counter[tuple[int, str]] = Counter()
        self._moves: Counter[tuple[int, int]] = Counter()
        self._sessions = iter([*run.sessions, None])
        self._session = next(self._sessions)
        self._moved = [*_moves(run), (1 << 62, 0, 0)]

    def at(self, time_ps: int) -> ControlFacts:
        """Facts at a time not before the last requested one."""
        time_ns = time_ps // PS_PER_NS
        if self._facts is not None and time_ns <= self._changes_ns[self._next]:
            return self._facts
        while self._changes_ns[self._next] < time_ns:
            self._next += 1
        self._count(time_ns)
        if self._network is None:
            self._network = Network(self._run.plan, self._run.config, self._run.seed)
            self._names = {it.row: _session_names(self._run.plan, it) for it in self._network.switches}
            self._network.converge()
            self._network.schedule(self._run.events)
        self._network.advance(time_ns)
        self._facts = self._gather(self._network)
        return self._facts

    def _count(self, time_ns: int) -> None:
        while self._session is not None and self._session.time_ns < time_ns:
            self._flaps[self._session.router, self._session.peer] += not self._session.up
            self._session = next(self._sessions)
        while self._moved[0][0] < time_ns:
            _, router, vni = self._moved.pop(0)
            self._moves[router, vni] += 1

    def _gather(self, network: Network) -> ControlFacts:
        return ControlFacts(
            tuple(it for switch in network.switches for it in self._peers(switch)),
            tuple(it for switch in network.switches for it in self._prefixes(switch)),
            tuple(it for switch in network.switches for it in _evpn(switch, overlay=self._run.plan.overlay)),
            tuple(
                MacMoves(router.name, it.vni, self._moves[router.row, it.vni])
                for router in self._run.plan.routers
                for it in router.vnis
            ),
        )

    def _peers(self, switch: Switch) -> Iterator[BgpPeer]:
        for session, name in self._names[switch.row].items():
            peer = switch.speaker.peers[session]
            state = peer.session.state.label.lower() if switch.daemon_up else "idle"
            yield BgpPeer(switch.router.name, name, state, self._flaps[switch.row, session])

    def _prefixes(self, switch: Switch) -> Iterator[BgpPrefixes]:
        for session, name in self._names[switch.row].items():
            peer = switch.speaker.peers[session]
            for family in peer.families:
                count = accepted(switch.speaker, peer, family) if switch.daemon_up else 0
                yield BgpPrefixes(switch.router.name, name, _FAMILIES[family], count)


def _session_names(plan: ControlPlan, switch: Switch) -> dict[str, str]:
    """Session names of a router -> the remote device, with its port where there are several sessions."""
    others = [
        (switch.name_of(plan.interfaces[row]), plan.interfaces[plan.interfaces[row].peer])
        for row in switch.router.interfaces
    ]
    several = Counter(other.router for _, other in others)

    def name(other: Interface) -> str:
        device = plan.routers[other.router].name
        return f"{device}:{other.name}" if several[other.router] > 1 else device

    return {session: name(other) for session, other in others}


def _evpn(switch: Switch, *, overlay: bool) -> Iterator[EvpnRoutes]:
    if overlay:
        held = switch.speaker.loc_rib(EVPN) if switch.daemon_up else ()
        count = Counter(key_of(key).type for keys, _ in held for key in keys)
        for kind in (RouteType.MAC_IP, RouteType.INCLUSIVE_MULTICAST, RouteType.IP_PREFIX):
            yield EvpnRoutes(switch.router.name, _TYPES[kind], count[kind])


def _moves(run: ControlRun) -> Iterator[tuple[int, int, int]]:
    """(time_ns, router, VNI) of every address that moved to another VTEP, as learnt by a router, in order of time."""
    learned = {
        (router, *place): vtep
        for router, places in enumerate(run.locations_at_start)
        for place, (vtep, _) in places.items()
    }
    for it in run.locations:
        key = it.router, it.vni, it.mac
        if it.vtep is not None:
            if learned.get(key, it.vtep) != it.vtep:
                yield it.time_ns, it.router, it.vni
            learned[key] = it.vtep
