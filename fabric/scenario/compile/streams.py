"""Datagrams of the `workload:` section -> streams of the engine, checked against the fabric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from fabric.dataplane.state.params import PortParams, QueuePairs, Streams
from fabric.errors import Problem
from fabric.scenario.compile.tenancy import Tenancy, check_tenants
from fabric.scenario.compile.traffic import check_reachable
from fabric.topology.model import Fabric
from fabric.topology.paths import EcmpTable
from fabric.workload.datagrams import Stream

DISCARD_UDP_PORT: Final = 9
"""Destination port of datagrams: the discard service (RFC 863)."""
_FCS: Final = 4


def compile_streams(
    made: Sequence[Stream], fabric: Fabric, ports: Sequence[PortParams], header_bytes: int, problems: list[Problem]
) -> Streams | None:
    """The streams as columns; None without any.

    Parameters
    ----------
    made : streams sorted by source (workload/datagrams)
    ports : by PortId; a frame must fit the sender's NIC, and may be too large for ports behind it
    header_bytes : of a UDP datagram without payload, FCS included
    """
    for path, it in {it.path: it for it in made}.items():
        most = ports[it.port].mtu_bytes + _FCS
        if it.frame_bytes > most:
            text = f"{it.frame_bytes} B are more than {fabric.port_name(it.port)} sends, {most} B"
            problems.append(Problem(f"{path}.frame", text, "lower frame, or raise hosts.mtu"))
        if it.frame_bytes < header_bytes:
            text = f"{it.frame_bytes} B do not hold the headers of a UDP datagram, {header_bytes} B"
            problems.append(Problem(f"{path}.frame", text, f"give {header_bytes}B or more"))
    if not made:
        return None

    def column(name: str) -> np.ndarray:
        return np.array([getattr(it, name) for it in made], np.int64)

    return Streams(
        src=column("src"),
        dst=column("dst"),
        port=column("port"),
        src_udp_port=column("src_udp_port"),
        dst_udp_port=np.full(len(made), DISCARD_UDP_PORT, np.int64),
        frame_bytes=column("frame_bytes"),
        rate_bps=column("rate_bps"),
        dscp=column("dscp"),
        ect=column("ect").astype(np.bool_),
        start_ps=column("start_ps"),
        count=column("count"),
        entry=[it.entry for it in made],
    )


def check_streams(
    made: Sequence[Stream],
    streams: Streams | None,
    fabric: Fabric,
    tenancy: Tenancy,
    routes: EcmpTable,
    path: str,
    problems: list[Problem],
) -> None:
    """Report streams between tenants, of silent hosts, and without a path."""
    if streams is None:
        return
    check_tenants(tenancy, fabric, np.stack([streams.src, streams.dst]), lambda row: made[row].path, problems)
    silent = {host for tenant in tenancy.segments for host in tenant.silent}
    quiet = next((it for it in made if it.src in silent or it.dst in silent), None)
    if quiet is not None:
        name = fabric.nodes[quiet.dst if quiet.dst in silent else quiet.src].name
        text = f"'{name}' is a silent host (vxlan.silent), for which leaves flood frames; flooding of datagrams"
        problems.append(Problem(quiet.path, f"{text} is not modelled", "name other hosts, or remove it from silent"))
    ends = QueuePairs(streams.src, streams.dst, streams.dscp, streams.src_udp_port, streams.dst_udp_port, streams.port)
    problems += check_reachable(fabric, routes, ends, path)
