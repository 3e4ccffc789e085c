"""Facts of a network that several checks use, computed once: ports in use, peers, code points, thresholds.

Threshold models. A priority group under a dynamic threshold asks for a pause when it holds T = alpha * (free pool);
with k groups equally full T(k) = alpha B / (1 + k alpha), B the pool (SAI: "2^n of available buffer of the pool").
ECN counts at the egress queue, PFC at the ingress group: a queue fed by one group marks before that group pauses
only if Kmin < T(1). Units: bytes, Mb/s, metres.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from fabric.configs.buffers.headroom import ROCE_MTU_BYTES
from fabric.configs.classes import classes_of, lossless_class, value_of
from fabric.configs.interface_address import interface_of
from fabric.configs.model import Binding, BufferProfile, Device, Pool, Port, Scheduler, Where, Wred
from fabric.configs.network import Cable, End, Host, Network
from fabric.validate.paths import Routes

VXLAN_V4_BYTES, VXLAN_V6_BYTES = 50, 70
_DSCPS: Final = 64
_NONE: Final[frozenset[int]] = frozenset()
_HOST_WORDS: Final = ("server", "host", "gpu")
_SWITCH_WORDS: Final = ("router", "switch", "spine", "leaf", "hub")
"""Parts of the types that SONiC gives to switches (DEVICE_NEIGHBOR_METADATA.type)."""
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
    """A network and what follows from it, without a verdict."""

    def __init__(self, network: Network, *, before: Network | None = None) -> None:
        self.network = network
        self.before = before
        """The baseline. It says which of two switches that disagree has changed."""
        self.notes: dict[str, Any] = {}
        """What several findings of one check need, worked out by the first."""
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
    def owners(self) -> dict[str, Device]:
        """Address of the default VRF to the switch that has it."""
        return self.owners_in("")

    def owners_in(self, vrf: str) -> dict[str, Device]:
        """Address of a VRF to the switch that has it. Two VRFs may use one address for different switches."""
        return self._owners.get(vrf, {})

    @cached_property
    def _owners(self) -> dict[str, dict[str, Device]]:
        found: dict[str, dict[str, Device]] = {}
        for device in self.devices:
            for name, texts in device.addresses.items():
                of_vrf = found.setdefault(device.identity.interface_vrfs.get(name, ""), {})
                of_vrf.update((str(interface_of(text).ip), device) for text in texts)
        return found

    @cached_property
    def stated_at(self) -> dict[str, list[tuple[str, Where]]]:
        """Address, without length, to the switches and places that state it."""
        found: dict[str, list[tuple[str, Where]]] = {}
        for device in self.devices:
            for (_, text), where in device.identity.address_where.items():
                found.setdefault(str(interface_of(text).ip), []).append((device.name, where))
        return found

    def across(self, device: Device, interface: str) -> tuple[str, str]:
        """(switch, port or LAG) at the other end of an interface; ('', '') where no link says so."""
        for port in device.ports.values():
            if interface in (port.name, port.lag):
                end = self.peers.get((device.name, port.name))
                line = None if end is None else self.line(end)
                if end is not None:
                    bundled = line is not None and port.lag == interface and line.port.lag
                    return end[0], str(line.port.lag) if line is not None and bundled else end[1]
        return "", ""

    @cached_property
    def routes(self) -> Routes:
        """The paths of packets."""
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
        return tuple(
            Line(device, port)
            for device in self.devices
            for port in device.ports.values()
            if port.admin_up and (device.name not in self.linked or (device.name, port.name) in self.peers)
        )

    def lossless_of(self, device: Device) -> tuple[Line, ...]:
        """The lossless ports of one switch."""
        return self._by_device.get(device.name, ())

    def used_of(self, device: Device) -> tuple[Line, ...]:
        """The ports of one switch that are in use."""
        return self._used_by_device.get(device.name, ())

    @cached_property
    def serving(self) -> frozenset[str]:
        """Switches that have a host's port up."""
        return frozenset(line.device.name for line in self.used if self.faces_host(line))

    @cached_property
    def _used_by_device(self) -> dict[str, tuple[Line, ...]]:
        found: dict[str, list[Line]] = {}
        for line in self.used:
            found.setdefault(line.device.name, []).append(line)
        return {name: tuple(lines) for name, lines in found.items()}

    @cached_property
    def _by_device(self) -> dict[str, tuple[Line, ...]]:
        found: dict[str, list[Line]] = {}
        for line in self.lossless:
            found.setdefault(line.device.name, []).append(line)
        return {name: tuple(lines) for name, lines in found.items()}

    def faces_host(self, line: Line) -> bool:
        """Whether a host is at the other end, by the hosts file, or by its type, name or port."""
        peer = self.peers.get(line.end)
        if peer is None or peer[0] in self.network.devices:
            return False
        name, port, kind = peer[0].lower(), peer[1].lower(), line.device.neighbor_types.get(peer[0], "").lower()
        if peer[0] in self.network.hosts or name.startswith(_HOST_WORDS) or "server" in kind:
            return True
        # A peer of which nothing is known but the default settings: a host unless its port is named as switches do.
        return self.network.default_host is not None and not kind and not port.startswith(_SWITCH_PORTS)

    @cached_property
    def absent(self) -> dict[str, Cable]:
        """Switches that a link names and that were not given, each with such a link.

        A node is a switch where its type says so, or where its port is named as ports of switches are.
        """
        found: dict[str, Cable] = {}
        for cable in self.network.links:
            for here, there in ((cable.a, cable.b), (cable.b, cable.a)):
                name, port = there[0], there[1].lower()
                if name in self.network.devices or name in self.network.hosts or name.lower().startswith(_HOST_WORDS):
                    continue
                device = self.network.devices.get(here[0])
                kind = "" if device is None else device.neighbor_types.get(name, "").lower()
                if any(word in kind for word in _SWITCH_WORDS) or (not kind and port.startswith(_SWITCH_PORTS)):
                    found.setdefault(name, cable)
        return found

    def host_at(self, line: Line) -> Host | None:
        """Settings of the host at the other end."""
        peer = self.peers.get(line.end)
        return self.network.host(*peer) if peer is not None and self.faces_host(line) else None

    @cached_property
    def host_lines(self) -> tuple[tuple[Line, Host], ...]:
        """Every switch port with a host of known settings behind it."""
        found = ((line, self.host_at(line)) for line in self.used)
        return tuple((line, host) for line, host in found if host is not None)

    @cached_property
    def roce_mtu(self) -> int:
        """The largest RoCE MTU of the hosts; 4096 where none is stated."""
        hosts = list(self.network.stated_hosts.values())
        return max((host.roce_mtu or 0 for host in hosts), default=0) or ROCE_MTU_BYTES

    @cached_property
    def tunnel_bytes(self) -> int:
        """Header of the VXLAN tunnels: outer Ethernet, IP, UDP, VXLAN (RFC 7348); 0 without a tunnel."""
        tunnels = [tunnel for device in self.devices for tunnel in device.tunnels.values()]
        return 0 if not tunnels else VXLAN_V6_BYTES if any(tunnel.ipv6 for tunnel in tunnels) else VXLAN_V4_BYTES

    # What most of the fabric does -------------------------------------------------------------------------------------

    @cached_property
    def usual_pfc(self) -> frozenset[int]:
        """The set of PFC priorities that most switches have on most of their lossless ports.

        A leaf has many more ports than its spines, and is one switch all the same. Of sets that equally many switches
        have, the one that protects RoCE on more ports, then the one that more ports have.
        """
        ports = Counter(line.port.lossless for line in self.lossless)
        own = (Counter(line.port.lossless for line in lines).most_common(1)[0][0] for lines in self._by_device.values())
        switches = Counter(own)
        most = max(switches.values(), default=0)
        tied = [it for it in ports if switches[it] == most]
        carry = Counter(it.port.lossless for it in self.lossless if len(tied) > 1 and self._carries_roce(it))
        return max(tied, key=lambda it: (carry[it], ports[it]), default=_NONE)

    def _carries_roce(self, line: Line) -> bool:
        return any(self.lossless_class(line, dscp)[1] is not None for dscp in self.network.roce_dscps)

    def usual_class(self, dscp: int) -> tuple[int, int] | None:
        """(class, priority) of a DSCP on most of the ports where it is lossless; None where it is lossless nowhere."""
        if dscp not in self._classes:
            found = Counter(
                (tc, priority)
                for tc, priority in (self.lossless_class(line, dscp) for line in self.lossless)
                if tc is not None and priority is not None
            )
            self._classes[dscp] = found.most_common(1)[0] if found else None
        most = self._classes[dscp]
        return None if most is None else most[0]

    def usual_queue(self, dscp: int) -> int | None:
        """The queue that a DSCP has on most of the ports where it is lossless."""
        key = "usual queue", dscp
        if key not in self._usual:
            found = Counter(
                self.queue_of(line, dscp) for line in self.lossless if self.lossless_class(line, dscp)[1] is not None
            )
            self._usual[key] = found.most_common(1)[0][0] if found else None
        return self._usual[key]

    def usual_group(self, tc: int) -> int | None:
        """The priority group that most lossless ports admit a class to."""
        key = "usual group", tc
        if key not in self._usual:
            found = Counter(self.value(line.device, line.port, "tc_to_pg", tc) for line in self.lossless)
            self._usual[key] = found.most_common(1)[0][0] if found else None
        return self._usual[key]

    @cached_property
    def _usual(self) -> dict[tuple[str, int], int | None]:
        return {}

    @cached_property
    def assumed(self) -> bool:
        """Whether RoCE's DSCP was not given, and the switches do not show it: it is lossy on most lossless ports."""
        if self.network.hosts_known or self.network.roce_given:
            return False
        protected = sum(
            any(self.lossless_class(line, dscp)[1] is not None for dscp in self.network.roce_dscps)
            for line in self.lossless
        )
        if not protected or 2 * protected >= len(self.lossless):
            return not protected
        return not any(self._mostly_stated(dscp) for dscp in self.network.roce_dscps)

    def _mostly_stated(self, dscp: int) -> bool:
        """Whether most switches state one class for a DSCP, and that class is lossless on a port: it is RoCE's."""
        usual = self.usual_class(dscp)
        classes: dict[str, int | None] = {}
        for line in self.lossless:
            item = line.device.map_of(line.port, "dscp_to_tc")
            known = item is not None and (item.stated is None or dscp in item.stated)
            classes.setdefault(
                line.device.name, self.value(line.device, line.port, "dscp_to_tc", dscp) if known else None
            )
        return usual is not None and 2 * sum(it == usual[0] for it in classes.values()) > len(classes)

    @cached_property
    def odd_hosts(self) -> dict[str, tuple[Host, int]]:
        """Hosts whose RoCE DSCP is lossless nowhere while another host's is, and that one: the host is wrong.

        Where no host's is, those of the baseline count: a mark that was changed, and that no switch was changed for.
        Else the one DSCP that every port with PFC has in a lossless class: switches that agree are not all wrong.
        """
        hosts = list(self.network.stated_hosts.values())
        good = [host.roce_dscp for host in hosts if self.usual_class(host.roce_dscp) is not None]
        if not good and self.before is not None:
            good = [dscp for dscp in self.before.roce_dscps if self.usual_class(dscp) is not None]
        if not good and hosts and not self.network.roce_given:
            good = [] if (agreed := self.agreed_dscp) is None else [agreed]
        if not good or self.network.roce_given:
            return {}
        usual = Counter(good).most_common(1)[0][0]
        return {host.name: (host, usual) for host in hosts if self.usual_class(host.roce_dscp) is None}

    @cached_property
    def agreed_dscp(self) -> int | None:
        """The DSCP that every port with PFC of every switch has in a lossless class; None where it is not just one."""
        if len({line.device.name for line in self.lossless}) < 2:
            return None
        agreed = set(range(_DSCPS))
        for line in self.lossless:
            agreed = {it for it in agreed if self.lossless_class(line, it)[1] is not None}
            if not agreed:
                break
        return next(iter(agreed)) if len(agreed) == 1 else None

    @cached_property
    def roce_dscps(self) -> tuple[int, ...]:
        """RoCE's DSCPs that the switches are held to: no mere assumption, and not those of an odd host.

        Where every host is odd, those that the hosts had in the baseline.
        """
        odd = {host.roce_dscp: usual for host, usual in self.odd_hosts.values()}
        kept = (dscp for dscp in self.network.roce_dscps if dscp not in odd)
        return () if self.assumed else tuple(kept) or tuple(dict.fromkeys(odd.values()))

    @cached_property
    def cnp_dscps(self) -> tuple[int, ...]:
        """The hosts' DSCPs of CNPs, without those that most ports put into the queue of RoCE or of bulk.

        Where none would be left, those of the baseline; else all of them: then the switches are wrong.
        """
        states = filter(None, (self.network, self.before))
        good = (tuple(dscp for dscp in it.cnp_dscps if not self._beside_data(dscp)) for it in states)
        return next(filter(None, good), self.network.cnp_dscps)

    def _beside_data(self, dscp: int) -> bool:
        """Whether most lossless ports put a DSCP into a lossless queue, or into that of DSCP 0."""
        own = [
            (self.lossless_class(it, dscp)[1], self.queue_of(it, dscp), self.queue_of(it, 0)) for it in self.lossless
        ]
        return 2 * sum(priority is not None or queue == bulk for priority, queue, bulk in own) > len(own)

    def usual_group_profile(self, line: Line, priority: int) -> str | None:
        """The lossless profile that most ports of the switch with this speed and cable have for a priority."""
        key = line.device.name, line.port.speed_mbps, line.port.cable_m, priority
        if key not in self._usual_profiles:
            found = Counter(
                profile.name
                for other in self.lossless_of(line.device)
                if (other.port.speed_mbps, other.port.cable_m) == key[1:3]
                and (profile := self.group_profile(other, priority)) is not None
                and profile.lossless
            )
            self._usual_profiles[key] = found.most_common(1)[0][0] if found else None
        return self._usual_profiles[key]

    @cached_property
    def _usual_profiles(self) -> dict[tuple[str, int | None, int | None, int], str | None]:
        return {}

    @cached_property
    def _classes(self) -> dict[int, tuple[tuple[int, int], int] | None]:
        return {}

    # The class, queue and group of a code point on a port -----------------------------------------------------------

    @staticmethod
    def value(device: Device, port: Port, kind: str, key: int) -> int | None:
        """The value of a map of the port; the identity where a PFC map is absent; None for a hole or no map."""
        return value_of(device, port, kind, key)

    @staticmethod
    def classes_of(line: Line, priority: int) -> tuple[int, ...]:
        """Traffic classes that leave in the queue a pause of this priority stops."""
        return classes_of(line.device, line.port, priority)

    @staticmethod
    def lossless_class(line: Line, dscp: int) -> tuple[int | None, int | None]:
        """Traffic class of a DSCP, and the PFC priority that protects it; None where there is none."""
        return lossless_class(line.device, line.port, dscp)

    @staticmethod
    def classes_with(line: Line, dscp: int) -> tuple[int, ...]:
        """Traffic classes that a DSCP could be mapped to: all that have a queue, but the one it has."""
        queues, classes = line.device.map_of(line.port, "tc_to_queue"), line.device.map_of(line.port, "dscp_to_tc")
        here = None if classes is None else classes.entries.get(dscp)
        return () if queues is None else tuple(tc for tc in queues.entries if tc != here)

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
                if (
                    pool is not None
                    and level is not None
                    and (queue is None or any(self.feeds(line, group, queue) for line, group in groups))
                ):
                    found.append((level, profile, pool))
            self._thresholds[key] = min(found, key=lambda item: item[0], default=None)
        return self._thresholds[key]

    def feeds(self, line: Line, group: int, queue: int) -> bool:
        """Whether a group of a port has a priority that leaves in a queue of this number."""
        return any(
            self.value(line.device, line.port, "pfc_to_pg", priority) == group
            and self.value(line.device, line.port, "pfc_to_queue", priority) == queue
            for priority in line.port.lossless
        )

    @cached_property
    def _thresholds(self) -> dict[tuple[str, int | None], tuple[float, BufferProfile, Pool] | None]:
        return {}


def threshold(profile: BufferProfile, pool: Pool, k: int) -> float | None:
    """T(k): what one of k equally full groups holds when it asks for a pause; None without limit or known pool size."""
    if profile.pause_bytes is not None:
        return float(profile.pause_bytes)
    if profile.static_th_bytes is not None and profile.dynamic_th is None:
        limit = min(profile.static_th_bytes, pool.size_bytes or profile.static_th_bytes)
        return float(limit) or None  # SAI: a static threshold of 0 is no limit
    if profile.alpha is None or pool.size_bytes is None:
        return None
    return profile.alpha * pool.size_bytes / (1 + k * profile.alpha)
