"""Cut-outs of a fabric: the hops that one finding is about, with hosts at their ends.

A chain is one loop-free path from a host to a host, over the port of the finding. Where no host is known at an end, a
stand-in takes its place, and the cut-out says so. Lengths are metres, rates Mb/s.
"""

from __future__ import annotations

import copy
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final

from fabric.configs.model import Device
from fabric.configs.network import Cable, End, Host, Network
from fabric.configs.watchdogs import watched_queues
from fabric.errors import FabricError
from fabric.validate.facts import Facts, Line

DEFAULT_MBPS: Final = 100_000
HOST_CABLE_M: Final = 5
SWITCH_CABLE_M: Final = 40
"""Assumed where neither the configurations nor the links state a length."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


class NoCutError(FabricError):
    """No path of packets can be cut out around a finding."""


@dataclass(frozen=True, slots=True)
class Hop:
    """A switch of a chain, and the ports by which data enters and leaves it."""

    device: str
    enters: str
    leaves: str


@dataclass(frozen=True, slots=True)
class Joint:
    """A cable of a cut-out."""

    a: End
    b: End
    cable: Cable | None


@dataclass
class Cut:
    """A part of a network."""

    network: Network
    """The switches of the cut-out, copied, each with its ports in the cut-out; and the hosts' settings."""
    joints: list[Joint]
    hosts: dict[str, End]
    """Host to the switch port that it is attached to."""
    hops: tuple[Hop, ...]
    """From the first host of `senders` to `receiver`."""
    senders: tuple[str, ...]
    receiver: str
    assumed: tuple[str, ...] = ()
    stand_ins: frozenset[str] = frozenset()
    bulk: tuple[str, ...] = field(default=())
    """Senders of traffic beside RoCE."""
    not_ect: bool = False
    """Whether some sender's packets are not ECN-capable."""
    routes: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    """Switch to host to the ports of its next hops; {}: shortest paths."""

    def entering(self, device: str) -> tuple[str, ...]:
        """Ports by which the senders' data enters a switch: those of hosts, and the chain's; all of one beside it."""
        found = [
            port for host in (*self.senders, *self.bulk) for switch, port in [self.hosts[host]] if switch == device
        ]
        found += [hop.enters for hop in self.hops if hop.device == device]
        return tuple(dict.fromkeys(found)) or tuple(self.network.devices[device].ports)

    def leaving(self, device: str) -> tuple[str, ...]:
        """Ports by which their data leaves it."""
        found = tuple(hop.leaves for hop in self.hops if hop.device == device)
        return found or tuple(self.network.devices[device].ports)

    def host(self, name: str) -> Host | None:
        """Settings of a host."""
        return self.network.host(name)

    def copied(self) -> Cut:
        """The same cut-out with copies of its switches: a remedy changes the copies only."""
        devices = {name: _copied(device, device.ports) for name, device in self.network.devices.items()}
        network = replace(self.network, devices=devices, hosts=dict(self.network.hosts))
        routes = {name: dict(table) for name, table in self.routes.items()}
        return replace(self, network=network, joints=list(self.joints), hosts=dict(self.hosts), routes=routes)


def _copied(device: Device, ports: Iterable[str]) -> Device:
    kept = {name: device.ports[name] for name in ports if name in device.ports}
    small = replace(device, ports=kept, watched_queues=watched_queues(device), unread=[], unjudged=[],
                    sessions=[], routes=[])  # fmt: skip
    return copy.deepcopy(small, {id(device.locator): device.locator})


class Cutter:
    """Cuts chains out of one network."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self._cables: dict[End, Cable] = {end: it for it in facts.network.links for end in (it.a, it.b)}
        self._ports: dict[str, list[str]] = {}
        for end in self._cables:
            if end[0] in facts.network.devices:
                self._ports.setdefault(end[0], []).append(end[1])

    def chain(self, device: str, port: str, *, enters: bool = True, senders: int = 1, bulk: int = 0) -> Cut:
        """A chain whose data enters `device` by `port`, or leaves it there.

        Parameters
        ----------
        senders    hosts that send RoCE, all attached to the first switch
        bulk       further hosts that send other traffic, attached to the last switch

        Raises: NoCutError.
        """
        outer = self._away(device, port)
        inner = self._inner(device, port, {hop for hop, _, _ in outer} | {device})
        if enters:
            hops = [Hop(name, far, near) for name, near, far in reversed(outer)]
            hops.append(Hop(device, port, inner[0][1]))
            hops += [Hop(name, near, far) for name, near, far in inner[1:]]
        else:
            hops = [Hop(name, far, near) for name, near, far in reversed(inner[1:])]
            hops.append(Hop(device, inner[0][1], port))
            hops += [Hop(name, near, far) for name, near, far in outer]
        first, last = hops[0], hops[-1]
        taken = {(hop.device, port) for hop in hops for port in (hop.enters, hop.leaves)}
        starts = [(first.device, first.enters), *self._more(first.device, taken, senders - 1)]
        return self._assembled(hops, starts, self._more(last.device, taken | set(starts), bulk))

    def local(self, device: str, port: str, *, senders: int = 1, bulk: int = 0, onward: bool = True) -> Cut:
        """Hosts at other ports of a switch that send into one of its ports.

        Parameters
        ----------
        senders    hosts that send RoCE
        bulk       hosts that send other traffic
        onward     follow the path beyond the port to a host; else a stand-in takes the place of its peer

        Raises: NoCutError where no other port is up.
        """
        taken = {(device, port)}
        starts = self._more(device, taken, senders)
        if len(starts) < senders:
            raise NoCutError(
                f"{device} has {len(starts)} ports beside {port} that are up, and {senders} are needed", ""
            )
        others = self._more(device, taken | set(starts), bulk)
        if len(others) < bulk:
            raise NoCutError(f"{device} has no {senders + bulk} ports beside {port} that are up", "")
        hops = [Hop(device, starts[0][1], port)]
        hops += [Hop(name, near, far) for name, near, far in (self._away(device, port) if onward else [])]
        return self._assembled(hops, starts, others)

    def star(self, device: str, out: str, starts: Iterable[str]) -> Cut:
        """Hosts at ports of one switch that send into another one; a stand-in takes the place of a peer switch."""
        ports = list(starts)
        return self._assembled([Hop(device, ports[0], out)], [(device, port) for port in ports], [])

    def whole(self, hosts: Iterable[End]) -> Cut:
        """All switches with all of their cables that are up, and hosts at these ports of theirs.

        Raises: NoCutError where there are fewer than two hosts.
        """
        ends = list(hosts)
        if len(ends) < 2:
            raise NoCutError(f"{len(ends)} ports lead to hosts, and traffic needs two", "")
        hops = [Hop(name, port, port) for name, port in ends]
        cut = self._assembled(hops[:1], ends[:-1], [], end=ends[-1])
        for cable in self.facts.network.links:
            ends_ = (cable.a, cable.b)
            if all(it[0] in self.facts.network.devices and it[1] in self._usable(it[0]) for it in ends_):
                cut.joints.append(Joint(cable.a, cable.b, cable))
        used: dict[str, list[str]] = {name: [] for name in self.facts.network.devices}
        for joint in cut.joints:
            for name, port in (joint.a, joint.b):
                if name in used and port not in used[name]:
                    used[name].append(port)
        whole = self.facts.network.devices
        devices = {name: _copied(whole[name], ports) for name, ports in used.items() if ports}
        cut.network = replace(cut.network, devices=devices)
        every = tuple(Hop(name, port, port) for name, device in devices.items() for port in device.ports)
        return replace(cut, hops=every)  # data enters and leaves by all ports

    def usable(self, device: str) -> list[str]:
        """Ports of a switch that are up: the cabled ones, or all where no cable of it is known."""
        return self._usable(device)

    def cable_m(self, device: str, port: str) -> int:
        """Length of the cable of a port, metres, as a scenario gets it."""
        end = device, port
        peer = self.facts.peers.get(end) or ("", "")
        host = self.facts.faces_host(self._line(device, port))
        stated = lengths(Joint(end, peer, self._cables.get(end)), self.facts.network)
        return max(stated, default=HOST_CABLE_M if host else SWITCH_CABLE_M)

    def diamond(self, device: str, port: str, hosts: int) -> Cut:
        """Two paths from the hosts of a switch to those of another one; the first leaves by the port.

        Hosts at the far end are in `bulk`, and `receiver`. The hops of the first path come first, then the others.

        Raises: NoCutError where no second path is known.
        """
        peers = self.facts.peers
        for near in self._usable(device):
            a, b = peers.get((device, port)), peers.get((device, near))
            if near == port or a is None or b is None or a[0] == b[0]:
                continue
            for far in self._switches_beyond(*a):
                ways = [it for it in self._switches_beyond(*b) if it[1][0] == far[1][0] != device]
                if ways:
                    return self._two_ways((device, port), (device, near), a, b, far, ways[0], hosts)
        raise NoCutError(f"no second path is known beside {device} {port}", "")

    def _switches_beyond(self, device: str, came: str) -> list[tuple[str, End]]:
        """(port, what it leads to) of a switch, without the port that we came by; empty where it was not given."""
        if device not in self.facts.network.devices:
            return []
        found = [(it, self.facts.peers.get((device, it))) for it in self._usable(device) if it != came]
        return [(port, end) for port, end in found if end is not None and end[0] in self.facts.network.devices]

    def _two_ways(
        self, p: End, q: End, a: End, b: End, over_a: tuple[str, End], over_b: tuple[str, End], hosts: int
    ) -> Cut:
        start, end = p[0], over_a[1][0]
        starts = self._more(start, {p, q}, hosts)
        ends = self._more(end, {over_a[1], over_b[1]}, len(starts))
        if not starts or not ends:
            raise NoCutError(f"{start} or {end} has no port beside those of its two paths", "")
        hops = [Hop(start, starts[0][1], p[1]), Hop(a[0], a[1], over_a[0]), Hop(end, over_a[1][1], ends[-1][1])]
        cut = self._assembled(hops, starts, ends[:-1])
        whole, devices = self.facts.network.devices, cut.network.devices
        for name, ports in ((start, [q[1]]), (b[0], [b[1], over_b[0]]), (end, [over_b[1][1]])):
            kept = sorted({*(devices[name].ports if name in devices else ()), *ports})
            devices[name] = _copied(whole[name], kept)
        cut.joints += [
            Joint(q, b, self._cables.get(q)),
            Joint((b[0], over_b[0]), over_b[1], self._cables.get(over_b[1])),
        ]
        more = (Hop(start, starts[0][1], q[1]), Hop(b[0], b[1], over_b[0]), Hop(end, over_b[1][1], ends[-1][1]))
        return replace(cut, hops=(*cut.hops, *more))

    def through(self, device: str, enters: str, leaves: str) -> Cut:
        """A host at one port of a switch that sends out of another, and a further host.

        Raises: NoCutError where no third port is up.
        """
        start = (device, enters)
        others = self._more(device, {start, (device, leaves)}, 1)
        if not others:
            raise NoCutError(f"{device} has no third port that is up", "")
        return self._assembled([Hop(device, enters, leaves)], [start], others)

    def meeting(self, device: str, port: str) -> Cut:
        """Two hosts that send into one other port of a switch: one at the port, which a stand-in has for a switch.

        Raises: NoCutError where the switch has no three ports that are up.
        """
        out = self._inner(device, port, {device})[0][1]
        more = self._more(device, {(device, port), (device, out)}, 1)
        if not more:
            raise NoCutError(f"{device} has no third port that is up: no incast", "")
        hops = [Hop(device, port, out)]
        hops += [Hop(name, near, far) for name, near, far in self._away(device, out)]
        return self._assembled(hops, [(device, port), *more], [])

    def ring(self, switches: list[str]) -> Cut:
        """Switches whose cables form a ring, in its order, each with one host.

        Raises: NoCutError where two that follow each other have no cable, or one has no host.
        """
        hops, starts = [], []
        size = len(switches)
        joined = [self._between(switches[n], switches[(n + 1) % size]) for n in range(size)]
        for number, name in enumerate(switches):
            hops.append(Hop(name, joined[number - 1][1][1], joined[number][0][1]))
            port = next((it for it in self._usable(name) if self.facts.faces_host(self._line(name, it))), None)
            if port is None:
                raise NoCutError(f"{name} has no host", "")
            starts.append((name, port))
        cut = self._assembled(hops, starts, [], end=starts[-1])
        cut.joints.append(Joint(*joined[-1], self._cables.get(joined[-1][0])))
        return cut

    def routed(self, start: str, end: str, reached: Iterable[str]) -> Cut:
        """Switches that packets from one to another come to, and those of the shortest paths, with all of their links.

        One host sends at `start`, one receives at `end`. The routes back, to the sender, are shortest paths; those to
        the receiver are left to the caller.

        Raises: NoCutError where no path leads to `end`, or one of the two has no port for a host.
        """
        near = self.facts.routes.distances([end])
        if start not in near:
            raise NoCutError(f"no path from {start} to {end}", "")
        inside = dict.fromkeys((start, end, *reached))
        layer = {start}
        while layer - {end}:
            layer = {to for name in layer for to in self._nearer(name, near)}
            inside.update(dict.fromkeys(sorted(layer)))
        path, at = [start], start
        while at != end:
            at = next(self._nearer(at, near))
            path.append(at)
        ends = [self._host_port(name) for name in (start, end)]
        pairs = [self._between(a, b) for a, b in pairwise(path)]
        enters = [ends[0], *(peer[1] for _, peer in pairs)]
        leaves = [*(here[1] for here, _ in pairs), ends[1]]
        hops = [Hop(name, enters[number], leaves[number]) for number, name in enumerate(path)]
        cut = self._assembled(hops, [(start, ends[0])], [])
        cut.joints = [it for it in cut.joints if it.a[0] in cut.hosts]
        for cable in self.facts.network.links:
            a, b = cable.a, cable.b
            if all(end_[0] in inside and end_[1] in self._usable(end_[0]) for end_ in (a, b)):
                cut.joints.append(Joint(a, b, cable))
        used: dict[str, set[str]] = {name: set() for name in inside}
        for joint in cut.joints:
            for name, port in (joint.a, joint.b):
                if name in used:
                    used[name].add(port)
        whole = self.facts.network
        devices = {name: _copied(whole.devices[name], sorted(ports)) for name, ports in used.items()}
        cut.network = replace(cut.network, devices=devices)
        cut.routes = {name: {cut.senders[0]: self.nearer(cut, name, start)} for name in inside if name != start}
        return cut

    def woven(self, paths: Sequence[Sequence[tuple[End, End]]]) -> tuple[Cut, list[tuple[str, str]]]:
        """Paths of packets over cables between switches, with hosts at their ends.

        Parameters
        ----------
        paths    each a list of (port that packets leave by, port that they enter)

        Packets to the end of a path follow it; those back to its beginning, acknowledgements, take the shortest way
        over the cables of all paths. Returns the cut-out, and (sender, receiver) of each path.

        Raises: NoCutError where a switch at an end has no port for a host.
        """
        hops: dict[Hop, None] = {}
        pairs: list[tuple[End, End]] = []
        taken: dict[tuple[str, bool], int] = {}
        for path in paths:
            start, end = self._host_ends(path[0][0][0], taken), self._host_ends(path[-1][1][0], taken, last=True)
            enters = [start[1], *(into[1] for _, into in path)]
            leaves = [*(out[1] for out, _ in path), end[1]]
            names = [path[0][0][0], *(into[0] for _, into in path)]
            hops.update(dict.fromkeys(map(Hop, names, enters, leaves)))
            pairs.append((start, end))
        starts = list(dict.fromkeys(start for start, _ in pairs))
        ends = list(dict.fromkeys(end for _, end in pairs))
        cut = self._assembled([next(iter(hops))], starts, ends[:-1], end=ends[-1])
        used: dict[str, set[str]] = {}
        for out, into in {min(step): step for path in paths for step in path}.values():
            cut.joints.append(Joint(out, into, self._cables.get(out)))
        for joint in cut.joints:
            for name, port in (joint.a, joint.b):
                if name not in cut.hosts:
                    used.setdefault(name, set()).add(port)
        whole = self.facts.network
        cut.network = replace(
            cut.network, devices={name: _copied(whole.devices[name], sorted(ports)) for name, ports in used.items()}
        )
        cut.hops = tuple(hops)
        at = {end: host for host, end in cut.hosts.items()}
        named = [(at[start], at[end]) for start, end in pairs]
        for path, (_, receiver) in zip(paths, named, strict=True):
            for (name, port), _ in path:
                own = cut.routes.setdefault(name, {})
                own[receiver] = tuple(dict.fromkeys((*own.get(receiver, ()), port)))
        self._ways_back(cut)
        return cut, named

    @staticmethod
    def _ways_back(cut: Cut) -> None:
        """Next hops to every host from the switches that have none yet: the shortest way over the cut-out."""
        ports: dict[str, list[tuple[str, str]]] = {}
        for joint in cut.joints:
            for here, there in ((joint.a, joint.b), (joint.b, joint.a)):
                if here[0] not in cut.hosts and there[0] not in cut.hosts:
                    ports.setdefault(there[0], []).append((here[0], here[1]))
        for host, (switch, _) in cut.hosts.items():
            seen, queue = {switch}, deque([switch])
            while queue:
                for name, port in ports.get(queue.popleft(), ()):
                    if name not in seen:
                        seen.add(name)
                        queue.append(name)
                        cut.routes.setdefault(name, {}).setdefault(host, (port,))

    def _host_ends(self, name: str, taken: dict[tuple[str, bool], int], *, last: bool = False) -> End:
        """A port of a switch for a host: others from call to call, senders from the first, receivers from the last."""
        found = [port for port in self._usable(name) if self._open(name, port)]
        found.sort(key=lambda port: not self.facts.faces_host(self._line(name, port)))
        found = [it for it in found if self.facts.faces_host(self._line(name, it))] or found
        if not found:
            raise NoCutError(f"{name} has no port to a host", "")
        number = taken[name, last] = taken.get((name, last), -1) + 1
        return name, found[-1 - number % len(found)] if last else found[number % len(found)]

    def _nearer(self, name: str, near: Mapping[str, int]) -> Iterator[str]:
        """Neighbours that are one hop nearer."""
        return (to for to in self.facts.routes.near.get(name, ()) if near.get(to) == near[name] - 1)

    def nearer(self, cut: Cut, name: str, to: str) -> tuple[str, ...]:
        """Ports of a switch of a cut-out that lead to switches nearer to another one."""
        near = self.facts.routes.distances([to])
        found = []
        for joint in cut.joints:
            for here, there in ((joint.a, joint.b), (joint.b, joint.a)):
                if here[0] == name and there[0] in near and near[there[0]] == near.get(name, 0) - 1:
                    found.append(here[1])
        return tuple(sorted(found))

    def _host_port(self, name: str) -> str:
        """A port to a host, or to what was not given. Raises: NoCutError."""
        found = [port for port in self._usable(name) if self._open(name, port)]
        found.sort(key=lambda port: not self.facts.faces_host(self._line(name, port)))
        if not found:
            raise NoCutError(f"{name} has no port to a host", "")
        return found[0]

    def _open(self, name: str, port: str) -> bool:
        peer = self.facts.peers.get((name, port))
        return peer is None or peer[0] not in self.facts.network.devices

    def _between(self, a: str, b: str) -> tuple[End, End]:
        for port in self._usable(a):
            peer = self.facts.peers.get((a, port))
            if peer is not None and peer[0] == b and peer[1] in self._usable(b):
                return (a, port), peer
        raise NoCutError(f"no cable between {a} and {b}", "")

    def _away(self, device: str, port: str) -> list[tuple[str, str, str]]:
        """Switches beyond a port up to one with a host: (switch, port towards us, port to the next)."""
        peer = self.facts.peers.get((device, port))
        if peer is None or peer[0] not in self.facts.network.devices or peer[1] not in self._usable(peer[0]):
            return []
        return self._search(peer[0], peer[1], {device})

    def _inner(self, device: str, port: str, closed: set[str]) -> list[tuple[str, str, str]]:
        """From a switch, without a port, to a host: [(device, '', port out), (switch, in, out), ...]."""
        found = self._search(device, port, closed - {device})
        if not found:
            raise NoCutError(f"no path leaves {device} by another port than {port}", "")
        return [(name, (out if number == 0 else near), out) for number, (name, near, out) in enumerate(found)]

    def _search(self, start: str, came: str, closed: set[str]) -> list[tuple[str, str, str]]:
        """Breadth-first to the nearest port that leads to a host, or to a peer that is not given."""
        queue: deque[tuple[str, str, tuple[tuple[str, str, str], ...]]] = deque([(start, came, ())])
        seen = {start, *closed}
        fallback: list[tuple[str, str, str]] = []
        while queue:
            name, near, path = queue.popleft()
            onward = []
            for port in self._usable(name):
                if port == near:
                    continue
                peer = self.facts.peers.get((name, port))
                if peer is None or peer[0] not in self.facts.network.devices:
                    if peer is not None and self.facts.faces_host(self._line(name, port)):
                        return [*path, (name, near, port)]
                    fallback = fallback or [*path, (name, near, port)]
                elif peer[0] not in seen and peer[1] in self._usable(peer[0]):
                    onward.append((peer, port))
            for peer, port in onward:
                seen.add(peer[0])
                queue.append((peer[0], peer[1], (*path, (name, near, port))))
        return fallback

    def _line(self, device: str, port: str) -> Line:
        line = self.facts.line((device, port))
        if line is None:
            raise NoCutError(f"{device} has no port {port}", "")
        return line

    def _usable(self, device: str) -> list[str]:
        """Ports that are up: the cabled ones, or all where no cable of the switch is known."""
        ports = self.facts.network.devices[device].ports
        cabled = [name for name in self._ports.get(device, ()) if name in ports]
        return [name for name in cabled or ports if ports[name].admin_up]

    def _assembled(self, hops: list[Hop], starts: list[End], others: list[End], end: End | None = None) -> Cut:
        end = end or (hops[-1].device, hops[-1].leaves)
        joints: list[Joint] = []
        hosts: dict[str, End] = {}
        assumed: list[str] = []
        stand_ins: set[str] = set()
        for before, after in pairwise(hops):
            a, b = (before.device, before.leaves), (after.device, after.enters)
            joints.append(Joint(a, b, self._cables.get(a)))
        for at in dict.fromkeys((*starts, *others, end)):
            name, known = self._host_name(at, hosts)
            hosts[name] = at
            if not known:
                stand_ins.add(name)
                assumed.append(f"{name} stands in for what is beyond {at[0]} {at[1]}")
            joints.append(Joint((name, "eth0"), at, self._cables.get(at)))
        names = list(hosts)
        used: dict[str, set[str]] = {hop.device: {hop.enters, hop.leaves} for hop in hops}
        for switch, port in hosts.values():
            used.setdefault(switch, set()).add(port)
        whole = self.facts.network
        devices = {name: _copied(whole.devices[name], sorted(ports)) for name, ports in used.items()}
        return Cut(
            replace(whole, devices=devices, links=(), unread=(), unjudged=(), fibs={}, hosts=dict(whole.hosts)),
            joints,
            hosts,
            tuple(hops),
            tuple(names[: len(starts)]),
            names[-1],
            tuple(assumed),
            frozenset(stand_ins),
            tuple(names[len(starts) : len(starts) + len(others)]),
        )

    def _more(self, device: str, taken: set[End], count: int) -> list[End]:
        """Further ports of a switch for hosts: those of hosts first, then any; at most as many as there are."""
        free = [port for port in self._usable(device) if (device, port) not in taken]
        free.sort(key=lambda port: not self.facts.faces_host(self._line(device, port)))
        return [(device, port) for port in free[: max(0, count)]]

    def _host_name(self, at: End, hosts: dict[str, End]) -> tuple[str, bool]:
        peer = self.facts.peers.get(at)
        known = peer is not None and peer[0] not in self.facts.network.devices and peer[0] not in hosts
        if peer is not None and known and _NAME.fullmatch(peer[0]):
            return peer[0], self.facts.faces_host(self._line(*at))
        number = 1
        while f"stand-in{number}" in hosts:
            number += 1
        return f"stand-in{number}", False


def lengths(joint: Joint, network: Network) -> Iterator[int]:
    """Every length that is stated of a cable: that of the links, then those of the ports at its ends."""
    if joint.cable is not None and joint.cable.length_m:
        yield joint.cable.length_m
        return
    for end in (joint.a, joint.b):
        port = network.port(end)
        if port is not None and port.cable_m:
            yield port.cable_m
