"""What several checks need to know of a network, worked out once: ports in use, peers, code points, thresholds.

Threshold models. A priority group under a dynamic threshold asks for a pause when it holds T = alpha * (free pool);
with k groups equally full T(k) = alpha B / (1 + k alpha), B the pool (SAI: "2^n of available buffer of the pool").
ECN counts at the egress queue, PFC at the ingress group: a queue fed by one group marks before that group pauses
only if Kmin < T(1). Units: bytes, Mb/s, metres.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from fabric.configs.model import Binding, BufferProfile, Device, Pool, Port, Scheduler, Wred
from fabric.configs.network import Cable, End, Host, Network
from fabric.validate.paths import Routes

_HOST_WORDS: Final = ("server", "host", "gpu")
_SWITCH_PORTS: Final = ("ethernet", "swp", "et-", "hundredgig", "fourhundredgig", "portchannel")


@dataclass(frozen=True, slots=True)
class Line:
    """A port of a switch with the switch."""

    device: Device
    port: Port

    @property
    def end(self) -> End:
        """(switch, port)."""
        return self.device.name, self.port.name

    def __str__(self) -> str:
        return f"{self.device.name}:{self.port.name}"


@dataclass(frozen=True, slots=True)
class Wire:
    """A link between two ports of known switches."""

    a: Line
    b: Line
    cable: Cable

    def __str__(self) -> str:
        return f"{self.a}↔{self.b}"


class Facts:
    """A network and what follows from it. Nothing here judges."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.devices = tuple(network.devices.values())

    @cached_property
    def peers(self) -> dict[End, End]:
        """Each end of each link to the other."""
        return {end: other for cable in self.network.links for end, other in ((cable.a, cable.b), (cable.b, cable.a))}

    @cached_property
    def wires(self) -> tuple[Wire, ...]:
        """Links of which both ends are ports that were given."""
        found = []
        for cable in self.network.links:
            a, b = self.line(cable.a), self.line(cable.b)
            if a is not None and b is not None:
                found.append(Wire(a, b, cable))
        return tuple(found)

    @cached_property
    def routes(self) -> Routes:
        """The ways packets take."""
        return Routes.of(self)

    def line(self, end: End) -> Line | None:
        """The port at an end, if its switch was given."""
        device = self.network.devices.get(end[0])
        port = None if device is None else device.ports.get(end[1])
        return None if device is None or port is None else Line(device, port)

    @cached_property
    def linked(self) -> frozenset[str]:
        """Switches of which at least one link is known."""
        return frozenset(end[0] for end in self.peers)

    @cached_property
    def lossless(self) -> tuple[Line, ...]:
        """Ports in use that have PFC on some priority."""
        return tuple(line for line in self.used if line.port.lossless)

    @cached_property
    def used(self) -> tuple[Line, ...]:
        """Ports that are up and, where the switch's cabling is known, cabled."""
        return tuple(Line(device, port) for device in self.devices for port in device.ports.values()
                     if port.admin_up and (device.name not in self.linked or (device.name, port.name) in self.peers))

    def lossless_of(self, device: Device) -> tuple[Line, ...]:
        """The lossless ports of one switch."""
        return self._by_device.get(device.name, ())

    @cached_property
    def _by_device(self) -> dict[str, tuple[Line, ...]]:
        found: dict[str, list[Line]] = {}
        for line in self.lossless:
            found.setdefault(line.device.name, []).append(line)
        return {name: tuple(lines) for name, lines in found.items()}

    def faces_host(self, line: Line) -> bool:
        """Whether a host is at the other end: one that was named, or whose type, name or port says so."""
        peer = self.peers.get(line.end)
        if peer is None or peer[0] in self.network.devices:
            return False
        name, port, kind = peer[0].lower(), peer[1].lower(), line.device.neighbor_types.get(peer[0], "").lower()
        if peer[0] in self.network.hosts or name.startswith(_HOST_WORDS) or "server" in kind:
            return True
        # A peer of which nothing is known but the default settings: a host unless its port is named as switches do.
        return self.network.default_host is not None and not kind and not port.startswith(_SWITCH_PORTS)

    def host_at(self, line: Line) -> Host | None:
        """Settings of the host at the other end."""
        peer = self.peers.get(line.end)
        return self.network.host(peer[0]) if peer is not None and self.faces_host(line) else None

    @cached_property
    def host_lines(self) -> tuple[tuple[Line, Host], ...]:
        """Every switch port with a host of known settings behind it."""
        found = ((line, self.host_at(line)) for line in self.used)
        return tuple((line, host) for line, host in found if host is not None)

    # What a packet of a code point meets on a port ------------------------------------------------------------------

    @staticmethod
    def value(device: Device, port: Port, kind: str, key: int) -> int | None:
        """What a map of the port says; the identity for PFC maps that are not there; None for a hole or no map."""
        found = device.map_of(port, kind)
        if found is None:
            return key if kind.startswith("pfc_to_") else None
        return found.entries.get(key, key if kind == "pfc_to_pg" else None)

    def classes_of(self, line: Line, priority: int) -> tuple[int, ...]:
        """Traffic classes that leave in the queue a pause of this priority stops."""
        queue = self.value(line.device, line.port, "pfc_to_queue", priority)
        map_ = line.device.map_of(line.port, "tc_to_queue")
        return () if map_ is None or queue is None else tuple(tc for tc, q in map_.entries.items() if q == queue)

    def lossless_class(self, line: Line, dscp: int) -> tuple[int | None, int | None]:
        """Traffic class of a DSCP, and the PFC priority that protects it; None where there is none."""
        tc = self.value(line.device, line.port, "dscp_to_tc", dscp)
        if tc is None:
            return None, None
        return tc, next((p for p in sorted(line.port.lossless) if tc in self.classes_of(line, p)), None)

    def queue_of(self, line: Line, dscp: int) -> int | None:
        """The egress queue of a DSCP."""
        tc = self.value(line.device, line.port, "dscp_to_tc", dscp)
        return None if tc is None else self.value(line.device, line.port, "tc_to_queue", tc)

    def lossless_queues(self, line: Line) -> Iterator[tuple[int, int, Binding | None]]:
        """(priority, queue, binding) of every lossless queue of a port."""
        for priority in sorted(line.port.lossless):
            queue = self.value(line.device, line.port, "pfc_to_queue", priority)
            if queue is not None:
                yield priority, queue, line.port.queues.get(queue)

    @staticmethod
    def wred(device: Device, binding: Binding | None) -> Wred | None:
        """The marking profile of a queue."""
        return None if binding is None or binding.wred is None else device.wreds.get(binding.wred)

    @staticmethod
    def scheduler(device: Device, binding: Binding | None) -> Scheduler | None:
        """The scheduler of a queue."""
        return None if binding is None or binding.scheduler is None else device.schedulers.get(binding.scheduler)

    def group_profile(self, line: Line, priority: int) -> BufferProfile | None:
        """The buffer profile of the group a priority is charged to."""
        group = self.value(line.device, line.port, "pfc_to_pg", priority)
        return None if group is None else line.device.profile_of(line.port.groups.get(group))

    def lossless_profiles(self, device: Device) -> dict[str, tuple[BufferProfile, list[tuple[Line, int]]]]:
        """Profile name -> (profile, its groups) for every group of this switch's lossless ports that has headroom."""
        cached = self._profiles.get(device.name)
        if cached is None:
            cached = {}
            for line in self.lossless_of(device):
                for group, bound in line.port.groups.items():
                    profile = device.profile_of(bound)
                    if profile is not None and profile.lossless:
                        cached.setdefault(profile.name, (profile, []))[1].append((line, group))
            self._profiles[device.name] = cached
        return cached

    @cached_property
    def _profiles(self) -> dict[str, dict[str, tuple[BufferProfile, list[tuple[Line, int]]]]]:
        return {}

    def smallest_threshold(self, device: Device, queue: int | None = None) -> tuple[float, BufferProfile, Pool] | None:
        """The least T(1) of the switch's lossless groups, with its profile and pool; None where no size is known.

        With `queue`, only of the groups whose priority leaves in that queue: what may fill it.
        """
        key = device.name, queue
        if key not in self._thresholds:
            found = []
            for profile, groups in self.lossless_profiles(device).values():
                pool = device.pools.get(profile.pool)
                level = None if pool is None else threshold(profile, pool, 1)
                if pool is not None and level is not None and (
                        queue is None or any(self._feeds(line, group, queue) for line, group in groups)):
                    found.append((level, profile, pool))
            self._thresholds[key] = min(found, key=lambda item: item[0], default=None)
        return self._thresholds[key]

    def _feeds(self, line: Line, group: int, queue: int) -> bool:
        return any(self.value(line.device, line.port, "pfc_to_pg", priority) == group
                   and self.value(line.device, line.port, "pfc_to_queue", priority) == queue
                   for priority in line.port.lossless)

    @cached_property
    def _thresholds(self) -> dict[tuple[str, int | None], tuple[float, BufferProfile, Pool] | None]:
        return {}


def threshold(profile: BufferProfile, pool: Pool, k: int) -> float | None:
    """T(k): what one of k equally full groups holds when it asks for a pause; None without limit or known pool size."""
    if profile.static_th_bytes is not None and profile.dynamic_th is None:
        limit = min(profile.static_th_bytes, pool.size_bytes or profile.static_th_bytes)
        return float(limit) or None                              # SAI: a static threshold of 0 is no limit
    if profile.alpha is None or pool.size_bytes is None:
        return None
    return profile.alpha * pool.size_bytes / (1 + k * profile.alpha)

