"""Settings -> engine parameters of switches, ports and hosts: buffer arithmetic, named curves, words into numbers.

Pools of every switch: 0 ingress (shared by all groups), 1 egress lossless (by default all memory: a lossless packet is
admitted at ingress only, as SONiC's egress_lossless_profile has it), 2 egress lossy.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeVar

from fabric.dataplane.port.flowcontrol.params import PfcParams
from fabric.dataplane.state.codes import HashAlgorithm, HashField, LoadBalance, WatchdogAction, WatchdogRule
from fabric.dataplane.state.params import (
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
from fabric.errors import Problem
from fabric.ids import PortId
from fabric.scenario.compile.curves import curve_of, descending
from fabric.scenario.compile.layers import Origin, Settings
from fabric.scenario.compile.profiles import Profiles, Shapers, port_watchdog
from fabric.scenario.presets.headroom import headroom_bytes
from fabric.scenario.schema.endpoints import HostSettings
from fabric.scenario.schema.switches import (
    Buffer,
    EcnCurve,
    EcnName,
    Egress,
    EgressLimit,
    EgressPools,
    EgressQueue,
    PortSettings,
    SwitchSettings,
    Watchdog,
)
from fabric.scenario.schema.values import bitmap
from fabric.theory.headroom import cells, nic_xoff_bytes, response_ps
from fabric.topology.model import Fabric, Link, Node
from fabric.units import format_size_bytes
from fabric.workload.streams import stream_word

ETHERNET_HEADER_BYTES: Final = 14
INGRESS, EGRESS_LOSSLESS, EGRESS_LOSSY = range(3)
_NO_LIMIT_BYTES: Final = 2**40
"""A host's send queues are bounded by its messages, not by a switch's memory."""
_MLX5_MIN_MTU: Final = 9216


class Lowering:
    """One pass over the fabric; problems are collected, results are complete only where there are none."""

    def __init__(
        self,
        fabric: Fabric,
        settings: Settings,
        seed: int,
        problems: list[Problem],
        *,
        pfc: bool,
        roce_frame_bytes: int,
    ) -> None:
        self.fabric = fabric
        self.settings = settings
        self.seed = seed
        self.problems = problems
        self.pfc = pfc
        self.roce_frame_bytes = roce_frame_bytes
        """Longest data frame, with FCS and overlay."""
        self._ports: dict[tuple[object, ...], PortParams] = {}
        self._found: dict[tuple[str, str], list[Problem]] = {}
        self._every: dict[int, frozenset[int]] = {}
        self.profiles = Profiles()
        self.shapers = Shapers()

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
        self.problems += self.profiles.problems()
        self.problems += self.shapers.problems()
        for same in self._found.values():
            more = f" (and {len(same) - 1} more)" if len(same) > 1 else ""
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
        link, origin = self._link(port), self.settings.port_origins[port]
        peer_mtu, peer_response = self._peer(port)
        every = self._lossless(node) if self.pfc else frozenset()
        key = (id(settings), id(whole), every, link.rate_bps, link.delay_ps, peer_mtu, peer_response)
        if key not in self._ports:
            lossless = frozenset(needed(settings.lossless)) if self.pfc else frozenset()
            reaction = response_ps(peer_response, link.rate_bps)
            auto = headroom_bytes(
                link.rate_bps,
                link.delay_ps,
                max(needed(settings.mtu), peer_mtu),
                needed(whole.latency),
                needed(whole.cell),
                reaction,
                roce_frame_bytes=self.roce_frame_bytes,
                other_classes=max(len(lossless) - 1, 0),
            )
            pgs = tuple(
                self._pg(self.profiles.of(settings, origin, group, group in lossless), whole, group in lossless, auto)
                for group in range(8)
            )
            for priority in sorted(set(settings.pfc_send or ()) - lossless):
                text = f"has no effect for priority {priority}: its group is not lossless at "
                self._find(
                    f"send {priority}",
                    Problem(origin.place("pfc_send"), text + self.fabric.port_name(port), "name it in lossless"),
                )
            for number, group in enumerate(pgs):
                self._check_group(node, port, number, group, needed(whole.memory))
            self._ports[key] = PortParams(
                mtu_bytes=needed(settings.mtu) + ETHERNET_HEADER_BYTES,
                flow_control=self._flow_control(settings, lossless, link.rate_bps),
                pgs=pgs,
                queues=self._queues(settings, whole, every, link.rate_bps, origin),
                dscp_to_tc=None if settings.dscp_to_tc == whole.dscp_to_tc else dscp_table(settings),
                egress_shares=_shares(settings.egress or Egress()),
                shaper=self.shapers.of(settings.port_shaper, link.rate_bps, origin, "port_shaper"),
            )
        return self._ports[key]

    def _flow_control(
        self, settings: PortSettings | HostSettings, lossless: frozenset[int], rate_bps: int
    ) -> PfcParams:
        priorities = bitmap(tuple(lossless) if settings.pfc_priorities is None else settings.pfc_priorities)
        send = honour = priorities
        if isinstance(settings, PortSettings):
            send = priorities if settings.pfc_send is None else bitmap(settings.pfc_send)
            honour = priorities if settings.pfc_honour is None else bitmap(settings.pfc_honour)
        return PfcParams(
            classes=send | honour if self.pfc else 0,
            unsent=honour & ~send if self.pfc else 0,
            ignored=send & ~honour if self.pfc else 0,
            pause_quanta=needed(settings.pause_quanta),
            response_ps=response_ps(_response(settings.response), rate_bps),
        )

    @staticmethod
    def _pg(buffer: Buffer, whole: SwitchSettings, lossless: bool, auto: int) -> PgParams:
        if not lossless:
            return PgParams(
                lossless=False,
                pool=INGRESS,
                reserved_bytes=0,
                dynamic_th=needed(buffer.lossy_dynamic_th),
                static_th_bytes=0,
                xoff_bytes=0,
                xon_bytes=0,
                xon_offset_bytes=0,
            )
        headroom = auto if buffer.headroom == "auto" else cells(whole_number(buffer.headroom), needed(whole.cell))
        return PgParams(
            lossless=True,
            pool=INGRESS,
            reserved_bytes=needed(buffer.reserved),
            dynamic_th=buffer.dynamic_th,
            static_th_bytes=buffer.static_th or 0,
            xoff_bytes=headroom,
            xon_bytes=needed(buffer.xon),
            xon_offset_bytes=needed(buffer.xon_offset),
        )

    def _find(self, kind: str, problem: Problem) -> None:
        """One problem for all devices with the same kind of problem; it names the first device."""
        self._found.setdefault((problem.path, kind), []).append(problem)

    def _check_group(self, node: Node, port: PortId, number: int, group: PgParams, memory: int) -> None:
        def where(field: str) -> str:
            """The group's own profile goes before `buffer`."""
            origin = self.settings.port_origins[port]
            own = ("buffer_pg", number, field)
            return origin.place(*own) if origin.gives(*own) else origin.place("buffer", field)

        name = f"at {self.fabric.port_name(port)}"
        if group.static_th_bytes and group.xon_bytes > group.static_th_bytes:
            self._find(
                "xon",
                Problem(
                    where("xon"),
                    f"xon ({group.xon_bytes} B) is above static_th ({group.static_th_bytes} B) {name}, so "
                    f"a "
                    "pause would end before it began",
                    "lower xon below static_th",
                ),
            )
        if group.lossless and group.xoff_bytes > memory:
            self._find(
                "headroom",
                Problem(
                    where("headroom"),
                    f"one group's headroom ({format_size_bytes(group.xoff_bytes)}) {name} exceeds the "
                    f"memory of {node.name} ({format_size_bytes(memory)})",
                    "shorten the cable, lower headroom, or give a larger memory",
                ),
            )

    def _queues(
        self, settings: PortSettings, whole: SwitchSettings, lossless: frozenset[int], rate_bps: int, origin: Origin
    ) -> tuple[QueueParams, ...]:
        to_queue = dict(whole.tc_to_queue or {})
        no_loss = {to_queue.get(priority, priority) for priority in lossless}
        default = {to_queue.get(priority, priority) for priority in needed(whole.lossless)} | no_loss
        marking = set(settings.ecn_queues) if settings.ecn_queues is not None else default
        curve = self._curve(settings.ecn, rate_bps, origin, "ecn")
        curves = dict.fromkeys(marking, curve)
        curves |= {
            queue: self._curve(ecn, rate_bps, origin, "ecn_by_queue", queue)
            for queue, ecn in (settings.ecn_by_queue or {}).items()
        }
        scheduler = settings.scheduler or {}
        egress = settings.egress or Egress()
        given = (egress.lossless or EgressQueue(), egress.lossy or EgressQueue())
        lossless_th = _limit(given[0], None, needed(whole.memory))
        lossy_th = _limit(given[1], needed(needed(settings.buffer).lossy_dynamic_th), 0)
        return tuple(
            QueueParams(
                pool=EGRESS_LOSSLESS if queue in no_loss else EGRESS_LOSSY,
                dynamic_th=(lossless_th if queue in no_loss else lossy_th)[0],
                static_th_bytes=(lossless_th if queue in no_loss else lossy_th)[1],
                ecn=curves.get(queue),
                strict=scheduler.get(queue) == "strict",
                weight=_weight(scheduler, queue),
                reserved_bytes=given[queue not in no_loss].reserved or 0,
                shaper=self.shapers.of((settings.shaper or {}).get(queue), rate_bps, origin, "shaper", queue),
            )
            for queue in range(8)
        )

    def _curve(
        self, ecn: EcnCurve | EcnName | None, rate_bps: int, origin: Origin, *place: str | int
    ) -> EcnParams | None:
        wrong = descending(ecn, rate_bps)
        if wrong is not None:
            self._find("curve", Problem(origin.place(*place), *wrong))
        return curve_of(ecn, rate_bps)

    def _lossless(self, node: Node) -> frozenset[int]:
        """Priorities that are lossless at the switch or at any of its ports."""
        if node.id not in self._every:
            named = [needed(self.settings.switches[node.id].lossless)]
            named += [needed(self.settings.switch_ports[PortId(port)].lossless) for port in node.ports]
            self._every[node.id] = frozenset().union(*named)
        return self._every[node.id]

    def _switch(self, node: Node, ports: list[PortParams]) -> SwitchParams:
        settings = self.settings.switches[node.id]
        hash_ = needed(settings.hash)
        own = stream_word(self.seed, f"switch.{node.name}.hash") & 0xFFFF_FFFF
        seed = own if hash_.seed == "per-switch" else hash_.seed
        return SwitchParams(
            latency_ps=needed(settings.latency),
            cell_bytes=needed(settings.cell),
            pools=self._pools(node, settings, ports),
            dscp_to_tc=dscp_table(settings),
            tc_to_pg=_pg_table(settings, self._lossless(node) if self.pfc else frozenset()),
            tc_to_queue=tuple((settings.tc_to_queue or {}).get(tc, tc) for tc in range(8)),
            mark_at_dequeue=settings.mark == "dequeue",
            hash_algorithm=HashAlgorithm[needed(hash_.algorithm).upper()],
            hash_seed=whole_number(seed),
            hash_fields=int(sum(HashField[it.upper().replace("-", "_")] for it in needed(hash_.fields))),
            load_balance=LoadBalance[needed(settings.load_balancing).upper().replace("-", "_")],
            flowlet_gap_ps=needed(settings.flowlet_gap) if settings.load_balancing == "flowlet" else 0,
            notice_bytes=0 if settings.congestion_notices == "off" else whole_number(settings.congestion_notices),
            watchdog=(watchdog := self._watchdog(node, settings)),
            port_watchdogs=self._port_watchdogs(node, settings.watchdog, watchdog),
        )

    def _pools(self, node: Node, settings: SwitchSettings, ports: list[PortParams]) -> tuple[PoolParams, ...]:
        memory = needed(settings.memory)
        shared_headroom = 0 if settings.shared_headroom == "off" else whole_number(settings.shared_headroom)
        private = 0 if shared_headroom else sum(group.xoff_bytes for port in ports for group in port.pgs)
        reserved = sum(group.reserved_bytes for port in ports for group in port.pgs)
        left = memory - private - shared_headroom - reserved
        where = self.settings.switch_origins[node.id].place("pool")
        parts = (
            f"headroom {format_size_bytes(private + shared_headroom)} and guarantees "
            f"{format_size_bytes(reserved)} of {node.n_ports} ports"
        )
        if left <= 0:
            self._find(
                "memory",
                Problem(
                    where,
                    f"{node.name}: {parts} exceed its memory of {format_size_bytes(memory)}",
                    "use shared_headroom, shorter cables, fewer lossless priorities, or another asic",
                ),
            )
        elif settings.pool != "auto" and whole_number(settings.pool) > left:
            self._find(
                "pool",
                Problem(
                    where,
                    f"{node.name}: a pool of {format_size_bytes(whole_number(settings.pool))} beside {parts} "
                    f"exceeds "
                    f"its memory of {format_size_bytes(memory)}",
                    f"at most {format_size_bytes(left)} is left",
                ),
            )
        size = left if settings.pool == "auto" else whole_number(settings.pool)
        return (
            PoolParams("ingress", max(size, 0), shared_headroom),
            self._egress_pool(node, "lossless", memory, ports, memory),
            self._egress_pool(node, "lossy", max(size, 0), ports, memory),
        )

    def _egress_pool(self, node: Node, name: str, auto: int, ports: list[PortParams], memory: int) -> PoolParams:
        pools = self.settings.switches[node.id].egress_pools or EgressPools()
        given = pools.lossless if name == "lossless" else pools.lossy
        size = auto if given is None or given == "auto" else whole_number(given)
        which = EGRESS_LOSSLESS if name == "lossless" else EGRESS_LOSSY
        reserved = sum(queue.reserved_bytes for port in ports for queue in port.queues if queue.pool == which)
        if reserved and (given is None or given == "auto"):
            size = max(size - reserved, 0)
        if size + reserved > memory or (reserved and not size):
            self._find(
                f"egress {name}",
                Problem(
                    self.settings.switch_origins[node.id].place("egress_pools", name),
                    f"{node.name}: a pool of {format_size_bytes(size)} and reserves of "
                    f"{format_size_bytes(reserved)} in "
                    f"{node.n_ports} ports' queues exceed its memory of {format_size_bytes(memory)}",
                    "lower egress.lossless.reserved and egress.lossy.reserved, or the pool",
                ),
            )
        return PoolParams(f"egress_{name}", size, 0)

    def _watchdog(self, node: Node, settings: SwitchSettings) -> WatchdogParams | None:
        spec = settings.watchdog
        if not isinstance(spec, Watchdog):
            return None
        rule = self.settings.asics[node.id].watchdog_rule if spec.rule == "auto" else WatchdogRule[spec.rule.upper()]
        poll_ps, charge_ps = spec.actual_poll or spec.poll, spec.poll
        if spec.kind == "hardware":
            rule, poll_ps, charge_ps = WatchdogRule.HARDWARE, needed(spec.granularity), 0
        elif rule == WatchdogRule.MELLANOX or poll_ps == charge_ps:  # its script counts what has passed
            charge_ps = 0
        watched = tuple(self._lossless(node)) if spec.priorities is None else spec.priorities
        return WatchdogParams(
            poll_ps=poll_ps,
            charge_ps=charge_ps,
            detection_ps=spec.detection,
            action=WatchdogAction[spec.action.upper()],
            rule=rule,
            restoration_ps=None if spec.restoration == "never" else whole_number(spec.restoration),
            priorities=bitmap(watched),
        )

    def _port_watchdogs(
        self, node: Node, spec: Watchdog | Literal["off"] | None, whole: WatchdogParams | None
    ) -> dict[int, WatchdogParams | None]:
        """Watchdogs of the ports that do not take the switch's; None: the port has none."""
        found: dict[int, WatchdogParams | None] = {}
        for port in node.ports:
            own = self.settings.switch_ports[PortId(port)].port_watchdog
            if own is None:
                continue
            path = self.settings.port_origins[PortId(port)].place("port_watchdog")
            at = f"at {self.fabric.port_name(port)}"
            if whole is None or not isinstance(spec, Watchdog):
                text = f"has no effect {at}: {node.name} has no watchdog, which polls"
                self._find("no watchdog", Problem(path, text, "give switches.watchdog, or remove it"))
            elif own == "off":
                found[port] = None
            else:
                mine = port_watchdog(own, whole)
                times = [mine.detection_ps, *([] if mine.restoration_ps is None else [mine.restoration_ps])]
                if spec.kind == "hardware" and any(time % needed(spec.granularity) for time in times):
                    text = f"detection or restoration is no multiple of the chip's step {at}"
                    self._find("step", Problem(path, text, "give multiples of switches.watchdog.granularity"))
                if spec.kind == "software" and min(times) < spec.poll:
                    text = f"detection or restoration is shorter than a poll {at}"
                    self._find("poll", Problem(path, text, "lengthen it, or lower switches.watchdog.poll"))
                found[port] = mine
        return found

    def _host(self, node: Node) -> HostParams:
        settings = self.settings.hosts[node.id]
        buffer = needed(settings.rx_buffer)
        link = self._link(node.first_port)
        mtu = max(needed(settings.mtu), _MLX5_MIN_MTU)
        auto_xoff = buffer - nic_xoff_bytes(link.rate_bps, link.delay_ps, mtu)
        xoff = auto_xoff if settings.rx_xoff == "auto" else whole_number(settings.rx_xoff)
        xon = xoff - mtu if settings.rx_xon == "auto" else whole_number(settings.rx_xon)
        # A host that consumes at line rate has no receive buffer; faults/slow_receiver.py checks the hosts that it
        # slows.
        if settings.drain != "off" and not 0 < xon < xoff < buffer:
            self._find(
                "receive",
                Problem(
                    self.settings.host_origins[node.id].place("rx_buffer"),
                    f"{node.name}: 0 < rx_xon < rx_xoff < rx_buffer does not hold for {xon} B, {xoff} B, {buffer} B",
                    "enlarge rx_buffer, or set rx_xoff and rx_xon in this order",
                ),
            )
        return HostParams(
            latency_ps=needed(settings.latency),
            drain_bps=0 if settings.drain == "off" else whole_number(settings.drain),
            rx_buffer_bytes=buffer,
            rx_xoff_bytes=max(xoff, 0),
            rx_xon_bytes=max(xon, 0),
        )

    def _host_port(self, node: Node, port: PortId) -> PortParams:
        settings = self.settings.hosts[node.id]
        rate = self._link(port).rate_bps
        peer = self.fabric.peer_of(port)
        leaf = None if peer.is_host else self.settings.switch_ports[self.fabric.ports[port].peer]
        lossless = frozenset(needed(leaf.lossless)) if self.pfc and leaf is not None else frozenset()
        key = (id(settings), rate, lossless)
        if key not in self._ports:
            scheduler: Mapping[int, object] = settings.scheduler or {}
            self._ports[key] = PortParams(
                mtu_bytes=needed(settings.mtu) + ETHERNET_HEADER_BYTES,
                flow_control=self._flow_control(settings, lossless, rate),
                pgs=(),
                queues=tuple(
                    QueueParams(
                        pool=0,
                        dynamic_th=None,
                        static_th_bytes=_NO_LIMIT_BYTES,
                        ecn=None,
                        strict=scheduler.get(queue) == "strict",
                        weight=_weight(scheduler, queue),
                    )
                    for queue in range(8)
                ),
            )
        return self._ports[key]


def _limit(given: EgressLimit, dynamic_th: int | None, static_th: int) -> tuple[int | None, int]:
    """(dynamic_th or None, static_th) as given, else those of the model."""
    if given.static_th is not None:
        return None, given.static_th
    if given.dynamic_th is not None:
        return given.dynamic_th, 0
    return dynamic_th, static_th


def _shares(egress: Egress) -> tuple[EgressShareParams, ...]:
    """A port's limits in the egress pools."""
    given = ((EGRESS_LOSSLESS, egress.port_lossless), (EGRESS_LOSSY, egress.port_lossy))
    return tuple(
        EgressShareParams(pool, limit.dynamic_th, limit.static_th or 0) for pool, limit in given if limit is not None
    )


def dscp_table(settings: PortSettings) -> tuple[int, ...]:
    """64 traffic classes: dscp / 8 (class selectors, RFC 2474 section 4.2.2), with the user's entries on top."""
    return tuple((settings.dscp_to_tc or {}).get(dscp, dscp // 8) for dscp in range(64))


def _pg_table(settings: SwitchSettings, lossless: frozenset[int]) -> tuple[int, ...]:
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
    """A setting as a number. Raises TypeError for one of its words."""
    if not isinstance(value, int):
        raise TypeError(f"{value!r} should have been resolved to a number")
    return value


T = TypeVar("T")


def needed(value: T | None) -> T:
    """A setting for which the model has a default."""
    if value is None:
        raise TypeError("a setting without a default was left out")
    return value
