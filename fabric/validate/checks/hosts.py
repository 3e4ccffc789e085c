"""N: host settings against the switch port they are cabled to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fabric.configs.headroom import nic_xoff_bytes
from fabric.configs.network import Host
from fabric.validate.checks.base import Check, E, Evidence, Found, W, check, listed, shows
from fabric.validate.checks.classification import map_evidence
from fabric.validate.facts import Facts

_RTT_NS: Final = 5_000
_NIC_CABLE_M: Final = 7
"""Cable length a NIC assumes that was not told (mlx5)."""


def _host(host: Host, field: str) -> Evidence:
    value = getattr(host, field)
    if isinstance(value, frozenset):
        value = listed(value)
    return Evidence(f"{host.name}.{field}", str(value), host.place)


@check("N1", E, "host and switch disagree on the lossless class",
       condition="host trusts DSCP; its RoCE DSCP is lossless at its port, for a priority it has PFC on",
       consequence="the NIC ignores or never sends pauses for the class its RoCE is in",
       remedy="mlnx_qos --trust dscp --pfc ... for the switch's priority", source="mlnx_qos; IEEE 802.1Q clause 36")
def N1(facts: Facts) -> Iterator[Found]:  # noqa: N802  named as in every report
    """Every cabled host."""
    for line, host in facts.host_lines:
        if host.trust is not None and host.trust != "dscp":
            yield Found(line.device.name, line.port.name, f"host {host.name} trusts {host.trust}",
                        (_host(host, "trust"),))
        _, priority = facts.lossless_class(line, host.roce_dscp)
        if priority is None:
            yield Found(line.device.name, line.port.name, f"RoCE DSCP {host.roce_dscp} is not lossless here",
                        (_host(host, "roce_dscp"), *map_evidence(line, "dscp_to_tc", host.roce_dscp)))
        elif host.pfc_enable is not None and priority not in host.pfc_enable:
            yield Found(line.device.name, line.port.name, f"RoCE is in priority {priority} here, the host has PFC on "
                        f"{','.join(map(str, sorted(host.pfc_enable))) or 'none'}", (_host(host, "pfc_enable"),))


@check("N2", E, "ECN is off at the host", condition="notification and reaction point are on for RoCE's priority",
       consequence="CE marks are ignored", remedy="echo 1 > /sys/class/net/IF/ecn/roce_{np,rp}/enable/PRIO",
       source="mlx5 sysfs ecn/roce_np, roce_rp")
def N2(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Where the file states the priority."""
    for line, host in facts.host_lines:
        _, priority = facts.lossless_class(line, host.roce_dscp)
        for field in ("ecn_np_prio", "ecn_rp_prio"):
            value = getattr(host, field)
            if priority is not None and value is not None and value != priority:
                yield Found(line.device.name, line.port.name, f"{field} is {value}, RoCE is in priority {priority}",
                            (_host(host, field),))


@check("N3", E, "the host's CNPs are treated as bulk", condition="the CNP DSCP's queue is not the one of DSCP 0",
       consequence="CNPs wait or are dropped: DCQCN reacts late", remedy="set cnp_dscp to the DSCP of the CNP queue",
       source="mlx5 roce_np/cnp_dscp")
def N3(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """At the port the host is cabled to."""
    for line, host in facts.host_lines:
        queue = facts.queue_of(line, host.cnp_dscp)
        if queue is not None and queue == facts.queue_of(line, 0):
            yield Found(line.device.name, line.port.name, f"CNP DSCP {host.cnp_dscp} shares queue {queue} with DSCP 0",
                        (_host(host, "cnp_dscp"), *map_evidence(line, "dscp_to_tc", host.cnp_dscp)))


@check("N4", W, "Kmin below one round trip of data", condition="with DCQCN: Kmin >= rate x 5 us",
       consequence="throughput is lost before the queue is one round trip deep", remedy="raise Kmin",
       source="NVIDIA DCQCN parameters (defaults assume hundreds of KB)")
def N4(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Lossless queues towards hosts that use DCQCN."""
    for line, host in facts.host_lines:
        if host.cc != "dcqcn" or not line.port.speed_mbps:
            continue
        for _, queue, bound in facts.lossless_queues(line):
            wred = facts.wred(line.device, bound)
            need = line.port.speed_mbps * _RTT_NS // 8000
            if wred is not None and wred.curve is not None and wred.curve.min_bytes < need:
                yield Found(line.device.name, f"{line.port.name}|{queue}", f"Kmin {wred.curve.min_bytes} B < {need} B",
                            (shows(line.device, wred.where, "green_min_threshold", wred.curve.min_bytes),))


@check("N5", W, "the NIC's buffer is too small for the cable",
       condition="(301 + 2.16 m) B per Gb/s + 2.72 MTU <= receive buffer; cable length told to the NIC above 7 m",
       consequence="the NIC drops although it pauses", remedy="mlnx_qos --cable_len, or a shorter cable",
       source="Linux mlx5e en/port_buffer.c")
def N5(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Cable of the switch port."""
    for line, host in facts.host_lines:
        cable, speed = line.port.cable_m, line.port.speed_mbps
        if not cable or not speed:
            continue
        need = nic_xoff_bytes(speed, cable, host.mtu or line.port.mtu)
        if host.rx_buffer_bytes is not None and need > host.rx_buffer_bytes:
            yield Found(line.device.name, line.port.name, f"host {host.name} needs {need} B for {cable} m, has "
                        f"{host.rx_buffer_bytes} B", (_host(host, "rx_buffer_bytes"),))
        if cable > _NIC_CABLE_M and (host.cable_m or _NIC_CABLE_M) < cable:
            yield Found(line.device.name, line.port.name, f"cable is {cable} m, host {host.name} assumes "
                        f"{host.cable_m or _NIC_CABLE_M} m",
                        (shows(line.device, line.port.cable_where, "", f"{cable}m", "cable"),))


@check("N6", W, "different congestion controls in one class",
       condition="all hosts of a class use one congestion control",
       consequence="unfairness: one of them yields to the other", remedy="one congestion control per class",
       source="reaction to marks and to delay differ in kind")
def N6(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Hosts file only."""
    hosts = [host for host in (*facts.network.hosts.values(), facts.network.default_host) if host and host.cc]
    kinds: dict[int, dict[str, Host]] = {}
    for host in hosts:
        kinds.setdefault(host.roce_dscp, {}).setdefault(host.cc or "", host)
    for dscp, found in kinds.items():
        if len(found) > 1:
            first = next(iter(found.values()))
            yield Found(first.name, f"DSCP {dscp}", "congestion controls " + ", ".join(sorted(found)),
                        tuple(_host(host, "cc") for host in found.values()))


CHECKS: Final[tuple[Check, ...]] = (N1, N2, N3, N4, N5, N6)
