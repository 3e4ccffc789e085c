"""Datagrams at a constant rate: which host sends to which, by which port, and when.

The rate counts what a frame takes on the wire: its bytes, the preamble and the gap (IEEE 802.3 clause 4.4.2), so that
the line rate of a port fills it, as an RFC 2544 tester does at 100 %.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from fabric.errors import Problem
from fabric.topology.select import such
from fabric.units import PS_PER_S, format_rate_bps
from fabric.workload.batch import Ints, Surroundings
from fabric.workload.demand import Floats
from fabric.workload.qps import SOURCE_PORT_MIN
from fabric.workload.spec import DatagramsSpec

WIRE_OVERHEAD_BYTES: Final = 20
"""Preamble, SFD and inter-packet gap."""


@dataclass(frozen=True, slots=True)
class Stream:
    """The datagrams of one sender of an entry."""

    entry: str
    """Name of the entry of `workload:`."""
    path: str
    """In the scenario file."""
    src: int
    """NodeId of the sending host."""
    dst: int
    port: int
    """PortId at the sender."""
    src_udp_port: int
    frame_bytes: int
    """Ethernet header to FCS."""
    rate_bps: int
    """Preamble and gap included."""
    dscp: int
    ect: bool
    start_ps: int
    count: int


@dataclass(frozen=True, slots=True)
class StreamDemand:
    """The datagrams of one entry of `workload:`."""

    streams: int
    packets: float
    first_ps: float
    last_ps: float
    """No datagram is made after this."""
    src: Ints
    dst: Ints
    """(n,) ends of each stream."""
    frame_bytes: int
    tx_bytes: Floats
    """(n_hosts,) bytes of frames that each host sends."""
    rx_bytes: Floats


def streams(spec: DatagramsSpec, name: str, path: str, around: Surroundings) -> list[Stream]:
    """One stream for each sender; problems go to around.problems."""
    ends = _ends(spec, path, around)
    if ends is None:
        return []
    src, dst = ends
    fabric, problems = around.fabric, around.problems
    random = around.random(name, "datagrams")
    start = spec.start + (random.integers(0, spec.jitter, len(src)) if spec.jitter else np.zeros(len(src), np.int64))
    udp = SOURCE_PORT_MIN | random.integers(0, 0x4000, len(src), dtype=np.int64)
    made: list[Stream] = []
    turn: dict[tuple[int, int], int] = {}
    slow: list[int] = []
    for sender, receiver, begin, source_port in zip(
        src.tolist(), dst.tolist(), start.tolist(), udp.tolist(), strict=True
    ):
        ports = network_ports(around, sender, receiver)
        if not ports:
            text = f"'{fabric.nodes[sender].name}' has no network port towards '{fabric.nodes[receiver].name}'"
            problems.append(Problem(f"{path}.senders", text, "send between hosts of one network"))
            return []
        again = turn[sender, receiver] = turn.get((sender, receiver), -1) + 1
        port = ports[again % len(ports)]
        line_bps = fabric.links[fabric.ports[port].link].rate_bps
        rate_bps = spec.rate if spec.rate is not None else max(int((spec.load or 1.0) * line_bps), 1)
        if rate_bps > line_bps:
            slow.append(port)
        made.append(
            Stream(
                name, path, sender, receiver, port, source_port, spec.frame, rate_bps, spec.dscp, spec.ect, begin,
                _count(spec, begin, rate_bps),
            )
        )  # fmt: skip
    if slow:
        line_bps = fabric.links[fabric.ports[slow[0]].link].rate_bps
        problems.append(
            Problem(
                f"{path}.rate",
                f"{format_rate_bps(spec.rate or 0)} is more than {fabric.port_name(slow[0])} sends, "
                f"{format_rate_bps(line_bps)}{such(len(slow), 'port')}",
                "lower rate, or use load: 1.0",
            )
        )
    return made


def demand(spec: DatagramsSpec, path: str, around: Surroundings) -> StreamDemand:
    """Senders times what the rate makes of the time."""
    n = len(around.fabric.hosts)
    ends = _ends(spec, path, around)
    src, dst = (np.empty(0, np.int64),) * 2 if ends is None else ends
    last, packets = float(spec.start), np.zeros(len(src))
    for row, (sender, receiver) in enumerate(zip(src.tolist(), dst.tolist(), strict=True)):
        ports = network_ports(around, sender, receiver)
        line_bps = around.fabric.links[around.fabric.ports[ports[0]].link].rate_bps if ports else 1
        rate_bps = spec.rate if spec.rate is not None else max(int((spec.load or 1.0) * line_bps), 1)
        packets[row] = _count(spec, spec.start + spec.jitter // 2, rate_bps)
        last = max(last, spec.start + spec.jitter + packets[row] * interval_ps(spec.frame, rate_bps))
    bytes_ = packets * spec.frame
    return StreamDemand(
        len(src),
        float(packets.sum()),
        float(spec.start),
        last if spec.stop is None else min(last, spec.stop),
        src,
        dst,
        spec.frame,
        np.bincount(src, bytes_, n).astype(np.float64),
        np.bincount(dst, bytes_, n).astype(np.float64),
    )


def network_ports(around: Surroundings, sender: int, receiver: int) -> list[int]:
    """Ports of a sender's NICs on a network that the receiver is on too."""
    fabric = around.fabric
    networks = {fabric.peer_of(port).network for port in fabric.network_ports(receiver)}
    own = [port for port in fabric.network_ports(sender) if fabric.peer_of(port).network in networks]
    if not own:
        return []
    first = fabric.peer_of(own[0]).network
    return [port for port in own if fabric.peer_of(port).network == first]


def interval_ps(frame_bytes: int, rate_bps: int) -> float:
    """Time from one datagram of a stream to the next."""
    return (frame_bytes + WIRE_OVERHEAD_BYTES) * 8 * PS_PER_S / rate_bps


def _count(spec: DatagramsSpec, begin_ps: int, rate_bps: int) -> int:
    """Datagrams at begin, begin + interval and so on before stop."""
    if spec.count is not None:
        return spec.count
    span, bits = (spec.stop or 0) - begin_ps, (spec.frame + WIRE_OVERHEAD_BYTES) * 8
    return max(-(-span * rate_bps // (bits * PS_PER_S)), 1) if span > 0 else 1


def _ends(spec: DatagramsSpec, path: str, around: Surroundings) -> tuple[Ints, Ints] | None:
    """(n,) sources and destinations; None where there are problems."""
    before = len(around.problems)
    src = around.hosts(spec.senders, f"{path}.senders")
    receivers = around.hosts(spec.receivers, f"{path}.receivers")
    if len(around.problems) > before or not len(src) or not len(receivers):
        return None
    if len(receivers) > len(src):
        around.problems.append(
            Problem(
                f"{path}.receivers",
                f"{len(receivers)} receivers for {len(src)} senders: the last ones would receive nothing",
                "name more senders, or write one entry for each receiver",
            )
        )
        return None
    dst = receivers[np.arange(len(src)) % len(receivers)]
    own = np.flatnonzero(src == dst)
    if len(own):
        around.problems.append(
            Problem(
                f"{path}.receivers",
                f"'{around.fabric.nodes[int(src[own[0]])].name}' would send to itself{such(len(own), 'host')}",
                "name senders and receivers so that each sender has another host in its place",
            )
        )
        return None
    return src, dst
