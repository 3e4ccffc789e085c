"""Settings -> engine parameters of switches, ports and hosts: buffer arithmetic, named curves, words into numbers.

Pools of every switch: 0 ingress (shared by all groups), 1 egress lossless (by default all memory: a lossless packet is
judged at ingress only, as SONiC's egress_lossless_profile has it), 2 egress lossy.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

from fabric.errors import Problem
from fabric.ids import PortId
from fabric.scenario.headroom import cells, headroom_bytes, response_ps
from fabric.scenario.layers import Settings
from fabric.scenario.models import ecn_curve
from fabric.scenario.switches import (
    Buffer,
    EcnCurve,
    Egress,
    EgressLimit,
    EgressPools,
    EgressQueue,
    PortSettings,
    SwitchSettings,
    Watchdog,
)
from fabric.scenario.values import bitmap
from fabric.state.codes import HashAlgorithm, LoadBalance, WatchdogAction, WatchdogRule
from fabric.state.params import (
    EcnParams,
    EgressShareParams,
    HostParams,
    PgParams,
    PoolParams,
    PortParams,
    QueueParams,
    SwitchParams,
    WatchdogParams,
)
from fabric.topology.model import Fabric, Link, Node
from fabric.units import format_size_bytes
from fabric.workload.streams import stream_word

ETHERNET_HEADER_BYTES: Final = 14
INGRESS, EGRESS_LOSSLESS, EGRESS_LOSSY = range(3)
_NO_LIMIT_BYTES: Final = 2**40
"""A host's send queues are bounded by its messages, not by a switch's memory."""
_MLX5_MIN_MTU: Final = 9216
_MLX5_MIN_GBPS: Final = 40


class Lowering:
    """One pass over the fabric; problems are collected, results are complete only where there are none."""

    def __init__(self, fabric: Fabric, settings: Settings, path: str, seed: int, problems: list[Problem], *,
                 pfc: bool) -> None:
        self.fabric = fabric
        self.settings = settings
        self.path = path
        self.seed = seed
        self.problems = problems
        self.pfc = pfc
        self._ports: dict[tuple[object, ...], PortParams] = {}
        self._found: dict[tuple[str, str], list[Problem]] = {}

    def run(self) -> tuple[dict[int, SwitchParams], list[PortParams], dict[int, HostParams]]:
        """(switches by node, ports by port, hosts by node)."""
        ports: dict[int, PortParams] = {}
        switches: dict[int, SwitchParams] = {}
        hosts: dict[int, HostParams] = {}
        for node in self.fabric.switches:
            for port in node.ports:
                ports[port] = self._switch_port(node, PortId(port))
            switches[node.id] = self._switch(node, [ports[port] for port in node.ports])
        for node in self.fabric.hosts:
            hosts[node.id] = self._host(node)
            for port in node.ports:
                ports[port] = self._host_port(node, PortId(port))
        for same in self._found.values():
            more = f" (and {len(same) - 1} more such)" if len(same) > 1 else ""
            self.problems.append(Problem(same[0].path, same[0].text + more, same[0].hint))
        return switches, [ports[port] for port in range(len(self.fabric.ports))], hosts

    def _link(self, port: PortId | int) -> Link:
        return self.fabric.links[self.fabric.ports[port].link]

    def _peer(self, port: PortId | int) -> tuple[int, int | str]:
        """(MTU, response) of the other end."""
        peer = self.fabric.ports[port].peer
        node = self.fabric.node_of(peer)
        theirs = self.settings.hosts[node.id] if node.is_host else self.settings.switch_ports[peer]
        return needed(theirs.mtu), _response(theirs.response)

    def _switch_port(self, node: Node, port: PortId) -> PortParams:
        settings, whole = self.settings.switch_ports[port], self.settings.switches[node.id]
        link = self._link(port)
        peer_mtu, peer_response = self._peer(port)
        key = (id(settings), id(whole), link.rate_bps, link.delay_ps, peer_mtu, peer_response)
        if key not in self._ports:
            lossless = frozenset(needed(whole.lossless)) if self.pfc else frozenset()
            reaction = response_ps(peer_response, link.rate_bps)
            auto = headroom_bytes(link.rate_bps, link.delay_ps, max(needed(settings.mtu), peer_mtu),
                                  needed(whole.latency),
                                  needed(whole.cell), reaction)
            pgs = tuple(self._pg(needed(settings.buffer), whole, group in lossless, auto) for group in range(8))
            for group in pgs:
                self._check_group(node, port, group, needed(whole.memory))
            self._ports[key] = PortParams(
                mtu_bytes=needed(settings.mtu) + ETHERNET_HEADER_BYTES,
                pfc_classes=self._pfc(settings.pfc_priorities, lossless),
                pause_quanta=needed(settings.pause_quanta),
                response_ps=response_ps(_response(settings.response), link.rate_bps),
                pgs=pgs, queues=self._queues(settings, whole, lossless, link.rate_bps),
                egress_shares=_shares(settings.egress or Egress()))
        return self._ports[key]

    def _pfc(self, priorities: tuple[int, ...] | None, lossless: frozenset[int]) -> int:
        if not self.pfc:
            return 0
        return bitmap(tuple(lossless) if priorities is None else priorities)

    @staticmethod
    def _pg(buffer: Buffer, whole: SwitchSettings, lossless: bool, auto: int) -> PgParams:
        if not lossless:
            return PgParams(lossless=False, pool=INGRESS, reserved_bytes=0, dynamic_th=needed(buffer.lossy_dynamic_th),
                            static_th_bytes=0, xoff_bytes=0, xon_bytes=0, xon_offset_bytes=0)
        headroom = auto if buffer.headroom == "auto" else cells(whole_number(buffer.headroom), needed(whole.cell))
        return PgParams(lossless=True, pool=INGRESS, reserved_bytes=needed(buffer.reserved),
                        dynamic_th=buffer.dynamic_th,
                        static_th_bytes=buffer.static_th or 0, xoff_bytes=headroom, xon_bytes=needed(buffer.xon),
                        xon_offset_bytes=needed(buffer.xon_offset))

    def _find(self, kind: str, problem: Problem) -> None:
        """One line for all devices with the same kind of problem: the first of them is named."""
        self._found.setdefault((problem.path, kind), []).append(problem)

    def _check_group(self, node: Node, port: PortId, group: PgParams, memory: int) -> None:
        where = f"{self.path}switches.buffer"
        name = f"at {self.fabric.port_name(port)}"
        if group.static_th_bytes and group.xon_bytes > group.static_th_bytes:
            self._find("xon", Problem(
                f"{where}.xon", f"xon ({group.xon_bytes} B) is above static_th ({group.static_th_bytes} B) {name}, so "
                                f"a "
                "pause would end before it began", "lower xon below static_th"))
        if group.lossless and group.xoff_bytes > memory:
            self._find("headroom", Problem(
                f"{where}.headroom", f"one group's headroom ({format_size_bytes(group.xoff_bytes)}) {name} exceeds the "
                f"memory of {node.name} ({format_size_bytes(memory)})",
                "shorten the cable, lower headroom, or give a larger memory"))

    def _queues(self, settings: PortSettings, whole: SwitchSettings, lossless: frozenset[int],
                rate_bps: int) -> tuple[QueueParams, ...]:
        to_queue = dict(whole.tc_to_queue or {})
        no_loss = {to_queue.get(priority, priority) for priority in lossless}
        default = {to_queue.get(priority, priority) for priority in needed(whole.lossless)}
        marking = set(settings.ecn_queues) if settings.ecn_queues is not None else default
        curve = self._curve(settings, rate_bps)
        scheduler = settings.scheduler or {}
        egress = settings.egress or Egress()
        given = (egress.lossless or EgressQueue(), egress.lossy or EgressQueue())
        lossless_th = _limit(given[0], None, needed(whole.memory))
        lossy_th = _limit(given[1], needed(needed(settings.buffer).lossy_dynamic_th), 0)
        return tuple(QueueParams(
            pool=EGRESS_LOSSLESS if queue in no_loss else EGRESS_LOSSY,
            dynamic_th=(lossless_th if queue in no_loss else lossy_th)[0],
            static_th_bytes=(lossless_th if queue in no_loss else lossy_th)[1],
            ecn=curve if queue in marking else None, strict=scheduler.get(queue) == "strict",
            weight=_weight(scheduler, queue), reserved_bytes=given[queue not in no_loss].reserved or 0)
            for queue in range(8))

    @staticmethod
    def _curve(settings: PortSettings, rate_bps: int) -> EcnParams | None:
        if isinstance(settings.ecn, EcnCurve):
            return EcnParams(settings.ecn.kmin, settings.ecn.kmax, settings.ecn.pmax, settings.ecn.drop_non_ect)
        return None if settings.ecn in {None, "off"} else ecn_curve(needed(settings.ecn), rate_bps)

    def _switch(self, node: Node, ports: list[PortParams]) -> SwitchParams:
        settings = self.settings.switches[node.id]
        hash_ = needed(settings.hash)
        own = stream_word(self.seed, f"switch.{node.name}.hash") & 0xFFFF_FFFF
        seed = own if hash_.seed == "per-switch" else hash_.seed
        return SwitchParams(
            latency_ps=needed(settings.latency), cell_bytes=needed(settings.cell),
            pools=self._pools(node, settings, ports),
            dscp_to_tc=dscp_table(settings), tc_to_pg=_pg_table(settings, pfc=self.pfc),
            tc_to_queue=tuple((settings.tc_to_queue or {}).get(tc, tc) for tc in range(8)),
            mark_at_dequeue=settings.mark == "dequeue", hash_algorithm=HashAlgorithm[needed(hash_.algorithm).upper()],
            hash_seed=whole_number(seed), load_balance=LoadBalance[needed(settings.load_balancing).upper()],
            flowlet_gap_ps=needed(settings.flowlet_gap) if settings.load_balancing == "flowlet" else 0,
            watchdog=self._watchdog(node, settings))

    def _pools(self, node: Node, settings: SwitchSettings, ports: list[PortParams]) -> tuple[PoolParams, ...]:
        memory = needed(settings.memory)
        shared_headroom = 0 if settings.shared_headroom == "off" else whole_number(settings.shared_headroom)
        private = 0 if shared_headroom else sum(group.xoff_bytes for port in ports for group in port.pgs)
        reserved = sum(group.reserved_bytes for port in ports for group in port.pgs)
        left = memory - private - shared_headroom - reserved
        where = f"{self.path}switches.pool"
        parts = (f"headroom {format_size_bytes(private + shared_headroom)} and guarantees "
                 f"{format_size_bytes(reserved)} of {node.n_ports} ports")
        if left <= 0:
            self._find("memory", Problem(
                where, f"{node.name}: {parts} exceed its memory of {format_size_bytes(memory)}",
                "use shared_headroom, shorter cables, fewer lossless priorities, or another asic"))
        elif settings.pool != "auto" and whole_number(settings.pool) > left:
            self._find("pool", Problem(
                where, f"{node.name}: a pool of {format_size_bytes(whole_number(settings.pool))} beside {parts} "
                       f"exceeds "
                f"its memory of {format_size_bytes(memory)}", f"at most {format_size_bytes(left)} is left"))
        size = left if settings.pool == "auto" else whole_number(settings.pool)
        return (PoolParams("ingress", max(size, 0), shared_headroom),
                self._egress_pool(node, "lossless", memory, ports, memory),
                self._egress_pool(node, "lossy", max(size, 0), ports, memory))

    def _egress_pool(self, node: Node, name: str, auto: int, ports: list[PortParams], memory: int) -> PoolParams:
        pools = self.settings.switches[node.id].egress_pools or EgressPools()
        given = pools.lossless if name == "lossless" else pools.lossy
        size = auto if given is None or given == "auto" else whole_number(given)
        which = EGRESS_LOSSLESS if name == "lossless" else EGRESS_LOSSY
        reserved = sum(queue.reserved_bytes for port in ports for queue in port.queues if queue.pool == which)
        if reserved and (given is None or given == "auto"):
            size = max(size - reserved, 0)
        if size + reserved > memory or (reserved and not size):
            self._find(f"egress {name}", Problem(
                f"{self.path}switches.egress_pools.{name}",
                f"{node.name}: a pool of {format_size_bytes(size)} and reserves of {format_size_bytes(reserved)} in "
                f"{node.n_ports} ports' queues exceed its memory of {format_size_bytes(memory)}",
                "lower egress.lossless.reserved and egress.lossy.reserved, or the pool"))
        return PoolParams(f"egress_{name}", size, 0)

    def _watchdog(self, node: Node, settings: SwitchSettings) -> WatchdogParams | None:
        spec = settings.watchdog
        if not isinstance(spec, Watchdog):
            return None
        rule = self.settings.asics[node.id].watchdog_rule if spec.rule == "auto" else WatchdogRule[spec.rule.upper()]
        watched = needed(settings.lossless) if spec.priorities is None else spec.priorities
        return WatchdogParams(
            poll_ps=spec.poll, detection_ps=spec.detection, action=WatchdogAction[spec.action.upper()], rule=rule,
            restoration_ps=None if spec.restoration == "never" else whole_number(spec.restoration),
            priorities=bitmap(watched))

    def _host(self, node: Node) -> HostParams:
        settings = self.settings.hosts[node.id]
        buffer = needed(settings.rx_buffer)
        link = self._link(node.first_port)
        # Linux mlx5e en/port_buffer.c, with its floors of 40G and 9216 bytes.
        gbps = max(link.rate_bps // 10**9, _MLX5_MIN_GBPS)
        mtu = max(needed(settings.mtu), _MLX5_MIN_MTU)
        metres = link.delay_ps / 5_000
        auto_xoff = buffer - int((301 + 2.16 * metres) * gbps + 2.72 * mtu)
        xoff = auto_xoff if settings.rx_xoff == "auto" else whole_number(settings.rx_xoff)
        xon = xoff - mtu if settings.rx_xon == "auto" else whole_number(settings.rx_xon)
        if not 0 < xon < xoff < buffer:
            self._find("receive", Problem(
                f"{self.path}hosts.rx_buffer", f"{node.name}: 0 < rx_xon < rx_xoff < rx_buffer does not hold for "
                                               f"{xon} B, "
                f"{xoff} B, {buffer} B", "enlarge rx_buffer, or set rx_xoff and rx_xon in this order"))
        return HostParams(latency_ps=needed(settings.latency),
                          drain_bps=0 if settings.drain == "off" else whole_number(settings.drain),
                          rx_buffer_bytes=buffer, rx_xoff_bytes=xoff, rx_xon_bytes=xon)

    def _host_port(self, node: Node, port: PortId) -> PortParams:
        settings = self.settings.hosts[node.id]
        rate = self._link(port).rate_bps
        peer = self.fabric.peer_of(port)
        leaf = None if peer.is_host else self.settings.switches[peer.id]
        lossless = frozenset(needed(leaf.lossless)) if self.pfc and leaf is not None else frozenset()
        key = (id(settings), rate, lossless)
        if key not in self._ports:
            scheduler: Mapping[int, object] = settings.scheduler or {}
            self._ports[key] = PortParams(
                mtu_bytes=needed(settings.mtu) + ETHERNET_HEADER_BYTES,
                pfc_classes=self._pfc(settings.pfc_priorities, lossless),
                pause_quanta=needed(settings.pause_quanta), response_ps=response_ps(_response(settings.response), rate),
                pgs=(),
                queues=tuple(QueueParams(pool=0, dynamic_th=None, static_th_bytes=_NO_LIMIT_BYTES, ecn=None,
                                         strict=scheduler.get(queue) == "strict", weight=_weight(scheduler, queue))
                             for queue in range(8)))
        return self._ports[key]


def _limit(given: EgressLimit, dynamic_th: int | None, static_th: int) -> tuple[int | None, int]:
    """(dynamic_th or None, static_th) as given, else as the model has it."""
    if given.static_th is not None:
        return None, given.static_th
    if given.dynamic_th is not None:
        return given.dynamic_th, 0
    return dynamic_th, static_th


def _shares(egress: Egress) -> tuple[EgressShareParams, ...]:
    """A port's limits in the egress pools."""
    given = ((EGRESS_LOSSLESS, egress.port_lossless), (EGRESS_LOSSY, egress.port_lossy))
    return tuple(EgressShareParams(pool, limit.dynamic_th, limit.static_th or 0)
                 for pool, limit in given if limit is not None)


def dscp_table(settings: SwitchSettings) -> tuple[int, ...]:
    """64 traffic classes: dscp / 8 (class selectors, RFC 2474 section 4.2.2), with the user's entries on top."""
    return tuple((settings.dscp_to_tc or {}).get(dscp, dscp // 8) for dscp in range(64))


def _pg_table(settings: SwitchSettings, *, pfc: bool) -> tuple[int, ...]:
    lossless = set(needed(settings.lossless)) if pfc else set()
    lossy = next((group for group in range(8) if group not in lossless), 0)
    default = {tc: tc if tc in lossless else lossy for tc in range(8)}
    return tuple((settings.tc_to_pg or {}).get(tc, default[tc]) for tc in range(8))


def _weight(scheduler: Mapping[int, object], queue: int) -> int:
    weight = scheduler.get(queue, 1)
    return weight if isinstance(weight, int) else 1


def _response(value: int | str | None) -> int | str:
    if value is None:
        raise TypeError("a response without a default was left out")
    return value


def whole_number(value: object) -> int:
    """A quantity that is not one of its words."""
    if not isinstance(value, int):
        raise TypeError(f"{value!r} should have been resolved to a number")
    return value


T = TypeVar("T")


def needed(value: T | None) -> T:
    """A setting for which the model has a default."""
    if value is None:
        raise TypeError("a setting without a default was left out")
    return value
