"""The traffic of a scenario as an estimate needs it: packets, packet-hops, how long they take, and ports in use.

Computed from the demand of each entry of `workload:` (workload/demand.py): no message is made, no table allocated.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from fabric.errors import Problem
from fabric.scenario.compile.layers import merge
from fabric.scenario.compile.lower import needed
from fabric.scenario.compile.scale_up import unit_bytes
from fabric.scenario.compile.transfers import records_messages
from fabric.scenario.presets.models import default_tree
from fabric.scenario.presets.ns3_rdma import PAYLOAD_BYTES
from fabric.scenario.schema.endpoints import TransportSpec
from fabric.scenario.schema.scenario import Scenario
from fabric.scenario.surroundings import surroundings
from fabric.topology.distances import links_between, same_server
from fabric.topology.model import Fabric
from fabric.topology.spec import CustomSpec, Shape
from fabric.units import PS_PER_S
from fabric.workload.arp import RequestDemand
from fabric.workload.datagrams import StreamDemand
from fabric.workload.demand import Demand, Floats, total
from fabric.workload.registry import MESSAGE_KINDS, REQUEST_KINDS, STREAM_KINDS, TRANSFER_KINDS
from fabric.workload.spec import ArpSpec, DatagramsSpec, RequestLoad, StreamLoad

SLOWDOWN: Final = 1.6
"""Likely time from the first to the last packet over the time that the busiest port needs: geometric mean."""
OVERHEAD: Final = 1.08
"""Bytes on the wire over payload."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of `workload:` that is messages."""

    path: str
    """In the scenario file, such as 'workload[0]'."""
    demand: Demand
    queue_pairs: float
    packets: float
    """Data packets, without retransmissions."""
    links: float
    """Mean number of links on the path of a packet."""
    hops: float
    """Packet-hops of the data and of its ACKs."""
    inside: float
    """Share of the messages that stay in a server and take its scale-up links."""


class Traffic:
    """The traffic of one scenario on its fabric."""

    def __init__(self, scenario: Scenario, fabric: Fabric, duration_ps: int) -> None:
        self.scenario, self.fabric, self.duration_ps = scenario, fabric, duration_ps
        self.shape = _shape(fabric, scenario)
        self.ports = 2 * self.shape.cables
        self.problems: list[Problem] = []
        self.around = surroundings(scenario, fabric, self.problems)
        self.entries: list[Entry] = []
        self.requests: list[RequestDemand] = []
        self.streams: list[StreamDemand] = []
        self.datagram_entries: list[tuple[str, ArpSpec | DatagramsSpec, RequestDemand | StreamDemand]] = []
        """(path, spec, demand) of the entries that are no messages, in the order of the file."""
        for number, spec in enumerate(scenario.workload):
            path = f"workload[{number}]"
            where = f"{scenario.file.name}: {path}"
            if isinstance(spec, RequestLoad):
                self.requests.append(REQUEST_KINDS[spec.kind].demand(spec, where, self.around))
                self.datagram_entries.append((path, spec, self.requests[-1]))
            elif isinstance(spec, StreamLoad):
                self.streams.append(STREAM_KINDS[spec.kind].demand(spec, where, self.around))
                self.datagram_entries.append((path, spec, self.streams[-1]))
            else:
                kind = TRANSFER_KINDS.get(spec.kind) or MESSAGE_KINDS[spec.kind]
                demand = kind.demand(spec, spec.name or spec.kind, where, self.around)
                self.entries.append(self._entry(path, demand))

    def _entry(self, path: str, demand: Demand) -> Entry:
        inside = float(same_server(self.fabric, demand.src, demand.dst).mean()) if len(demand.src) else 0.0
        unit = unit_bytes(self.scenario)
        links = links_between(self.fabric, demand.src, demand.dst)
        every = 1 if self.scenario.model == "hpcc-ns3" else needed(self.transport.ack_every)
        policy = self.scenario.transport.qp
        users = demand.transfers - demand.computations if demand.transfers else demand.messages
        queue_pairs = users if policy is None or policy.per == "message" else min(users, demand.pairs * policy.count)
        packets, hops = demand.packets(self.payload_bytes), 0.0
        if inside:  # two links in a server, the rest of the mean in the network
            hops = inside * (demand.packets(unit) + demand.acks(unit, every)) * 2
            packets = (1 - inside) * packets + inside * demand.packets(unit)
        hops += (demand.packets(self.payload_bytes) + demand.acks(self.payload_bytes, every)) * (links - 2 * inside)
        return Entry(path, demand, queue_pairs, packets, links, hops, inside)

    # ===== how much =====

    @cached_property
    def transport(self) -> TransportSpec:
        """Written settings over the defaults of model `asic`; hpcc-ns3 derives its own."""
        defaults = TransportSpec.model_validate(default_tree(self.scenario.model)["transport"])
        return merge(defaults, self.scenario.transport)

    @cached_property
    def payload_bytes(self) -> int:
        """Payload of a full packet."""
        if self.scenario.model == "hpcc-ns3":
            return PAYLOAD_BYTES if self.scenario.transport.mtu is None else self.scenario.transport.mtu
        return needed(self.transport.mtu)

    @cached_property
    def messages(self) -> float:
        """Messages of all entries."""
        return sum(it.demand.messages for it in self.entries)

    @cached_property
    def message_rows(self) -> float:
        """Messages that have a separate row: those of transfers have none."""
        return sum(it.demand.message_rows for it in self.entries)

    @cached_property
    def recorded_messages(self) -> float:
        """Messages of transfers and computations that have separate rows in the results."""
        found = sum(it.demand.messages + it.demand.computations for it in self.entries if it.demand.transfers)
        return found if records_messages(self.scenario, found) else 0.0

    @cached_property
    def transfers(self) -> float:
        """Transfers of all entries."""
        return sum(it.demand.transfers for it in self.entries)

    @cached_property
    def needs(self) -> float:
        """Needs between transfers of all entries."""
        return sum(it.demand.needs for it in self.entries)

    @cached_property
    def dependencies(self) -> float:
        """Dependencies between messages of all entries."""
        return sum(it.demand.dependencies for it in self.entries)

    @cached_property
    def queue_pairs(self) -> float:
        """Queue pairs of all entries."""
        return sum(it.queue_pairs for it in self.entries)

    @cached_property
    def packets(self) -> float:
        """Data packets of all entries, without retransmissions."""
        return sum(it.packets for it in self.entries)

    @cached_property
    def hops(self) -> float:
        """Packet-hops of all entries."""
        return sum(it.hops for it in self.entries)

    @cached_property
    def request_hops(self) -> float:
        """Links that ARP requests, their copies and the answers cross."""
        return sum(map(self.hops_of, self.requests))

    def hops_of(self, demand: RequestDemand | StreamDemand) -> float:
        """Links that the requests or datagrams of an entry cross before the end of the run, were none lost."""
        if isinstance(demand, StreamDemand):
            return demand.packets * self._made(demand) * self._links(demand)
        vxlan = self.scenario.vxlan
        tenants = max(len(vxlan.tenants), 1) if vxlan is not None else 1
        floods = demand.unanswered or (vxlan is not None and vxlan.arp_suppression == "off")
        flooded = 1 + (2 * (self.shape.classes - 1) + self.shape.hosts - 1) / tenants
        return demand.requests * (flooded if floods else 2)

    @cached_property
    def datagrams(self) -> float:
        """Datagrams that are made before the end of the run, of all entries."""
        return sum(it.packets * self._made(it) for it in self.streams)

    @cached_property
    def datagram_hops(self) -> float:
        """Links that they cross, were none lost."""
        return sum(map(self.hops_of, self.streams))

    def _links(self, demand: StreamDemand) -> float:
        """Mean number of links on the path of an entry's datagrams."""
        return links_between(self.fabric, demand.src, demand.dst) if demand.streams else 0.0

    def _made(self, demand: StreamDemand) -> float:
        """Share of an entry's datagrams that are made before run.duration."""
        span = max(demand.last_ps - demand.first_ps, 1.0)
        return float(np.clip((self.duration_ps - demand.first_ps) / span, 0, 1))

    # ===== how long =====

    @cached_property
    def _through(self) -> Floats:
        """(n_hosts,) payload to the network, or from it, through the busier direction of each host."""
        return self._payload([1 - it.inside for it in self.entries])

    def _payload(self, shares: list[float]) -> Floats:
        """(n_hosts,) these shares of the entries' payload through the busier direction of each host."""
        n = len(self.around.rate_bps)
        sums = [
            sum(
                (share * total([it.demand], n, end) for share, it in zip(shares, self.entries, strict=True)),
                np.zeros(n),
            )
            for end in ("tx_bytes", "rx_bytes")
        ]
        return np.maximum(*sums)

    @cached_property
    def busy_ps(self) -> float:
        """Time that the busiest host port needs for all of its traffic."""
        network = float((self._through * 8 / self.around.rate_bps.astype(float)).max(initial=0))
        rate = np.array(
            [
                self.fabric.links[self.fabric.ports[port].link].rate_bps if port >= 0 else np.inf
                for port in self.fabric.scale_up_ports
            ]
        )
        server = float((self._payload([it.inside for it in self.entries]) * 8 / rate).max(initial=0))
        return max(network, server) * PS_PER_S

    @cached_property
    def uplink_ps(self) -> float:
        """Time that the busiest leaf's cables to other switches need, were its traffic spread evenly."""
        weight = sum(it.demand.bytes for it in self.entries)
        crossing = sum(
            it.demand.bytes
            * float(
                (
                    (self.around.leaf[it.demand.src] != self.around.leaf[it.demand.dst])
                    & ~same_server(self.fabric, it.demand.src, it.demand.dst)
                ).mean()
            )
            for it in self.entries
            if len(it.demand.src)
        ) / max(weight, 1)
        up: dict[int, int] = {}
        for switch in self.fabric.switches:
            up[switch.id] = sum(
                self.fabric.links[port.link].rate_bps
                for port, peer in self.fabric.neighbours(switch.id)
                if not peer.is_host
            )
        by_leaf = np.bincount(self.around.leaf, self._through)
        return max(
            (
                bytes_ * crossing * 8 / up[leaf] * PS_PER_S
                for leaf, bytes_ in enumerate(by_leaf.tolist())
                if bytes_ and up.get(leaf)
            ),
            default=0.0,
        )

    @cached_property
    def end_ps(self) -> tuple[float, float, float]:
        """Least, likely and latest end of the run."""
        loaded = [it.demand for it in self.entries if it.demand.messages]
        first = min((demand.first_ps for demand in loaded), default=0)
        last = max((demand.last_ps for demand in loaded), default=0)
        arp = max([0.0, *(it.last_ps for it in self.requests), *(it.last_ps for it in self.streams)])
        least = max(last, first + self.busy_ps, arp)
        likely = max(first + SLOWDOWN * max(self.busy_ps * OVERHEAD, self.uplink_ps * OVERHEAD), last, arp)
        if self.scenario.run.stop == "duration":  # nothing is pending after the last fault and the last message
            changed = max((max(it.at, getattr(it, "until", None) or 0) for it in self.scenario.faults), default=0)
            least, likely = max(least, changed), max(likely, changed)
        most = float(self.duration_ps)
        return min(least, most), min(likely, most), most

    @cached_property
    def simulated(self) -> float:
        """Share of the traffic that fits before run.duration."""
        first = min((it.demand.first_ps for it in self.entries if it.demand.messages), default=0)
        wanted = max(self.busy_ps, 1.0)
        return float(np.clip((self.duration_ps - first) / wanted, 0, 1))

    # ===== how much at once =====

    @cached_property
    def active_ports(self) -> float:
        """Ports that packets of the sampled pairs pass."""
        ends_of = [(it.demand.src, it.demand.dst) for it in self.entries] + [(it.src, it.dst) for it in self.streams]
        hosts = {int(node) for src, dst in ends_of for node in (*src.tolist(), *dst.tolist())}
        beyond = sum(min(it.demand.pairs, it.demand.messages) * max(it.links - 2, 0) * 2 for it in self.entries)
        beyond += sum(it.streams * max(self._links(it) - 2, 0) * 2 for it in self.streams)
        ends = 2 * sum(self.fabric.nodes[host].n_ports for host in hosts)
        between = self.ports - 2 * sum(host.n_ports for host in self.fabric.hosts)
        return ends + min(between, beyond)

    def in_progress(self, interval_ps: float) -> tuple[float, float]:
        """(messages in progress within one sampling interval, ports that any of them passes), on average.

        By Little's law: a message lasts as long as its bytes take, and longer by the backlog where more is posted than
        ports can carry. The ports of messages drawn at random overlap.
        """
        end = max(self.end_ps[1], 1.0)
        rate = self.around.rate_bps.astype(float)
        at_once, passed = 0.0, sum(it.streams * 2 * self._links(it) for it in self.streams)
        for entry in self.entries:
            demand = entry.demand
            if not demand.bytes:
                continue
            alone = demand.bytes * 8 / float(rate.mean()) * PS_PER_S
            through = np.maximum(demand.tx_bytes, demand.rx_bytes)
            each = through * 8 / rate * PS_PER_S
            # Messages of one size are where the bytes are; of mixed sizes a few carry most bytes.
            busy = (
                float((each * through).sum() / through.sum())
                if len(demand.size_bytes) == 1
                else float(each[through > 0].mean())
            )
            work = SLOWDOWN * OVERHEAD * max(busy, self.uplink_ps)
            backlog = max(work - (demand.last_ps - demand.first_ps), 0.0) * demand.messages / 2
            here = min((alone + backlog) / end + demand.messages * min(interval_ps / end, 1.0), demand.messages)
            at_once += here
            passed += here * 2 * entry.links
        return at_once, self.active_ports * -float(np.expm1(-passed / max(self.active_ports, 1.0)))


def _shape(fabric: Fabric, scenario: Scenario) -> Shape:
    if not isinstance(scenario.topology, CustomSpec):
        return scenario.topology.shape
    classes = {tuple(sorted({fabric.peer_of(port).id for port in host.ports})) for host in fabric.hosts}
    return Shape(len(fabric.hosts), len(fabric.switches), len(classes), len(fabric.links))
