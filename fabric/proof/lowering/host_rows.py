"""Rows of hosts, and of their transport: MTU, PFC, DSCPs, congestion control, timeout and retries."""

from __future__ import annotations

from typing import Final

from fabric.configs.network import Host
from fabric.proof.lowering.values import HostRow, Lowered, NotLowered, Value, size
from fabric.scenario.compile.controls import CONTROLS

_TIMEOUT_NS: Final = 4_096
"""Of a timeout exponent of 0 (IBTA 1.4 section 9.7.6.1.3)."""
DEFAULT_MTU: Final = 9_000


def _mtu(host: Host) -> Lowered:
    if host.mtu is None:
        return Value(size(DEFAULT_MTU), "assumed: the hosts' MTU is not stated")
    return Value(size(min(9_600, max(576, host.mtu))), str(host.place))


def _pfc(host: Host) -> Lowered:
    """Trusting the tag, a host sorts what it receives by another field than the switch sends by."""
    if host.global_pause:
        return Value([], f"assumed: {host.place}: link-wide pause, which excludes PFC (802.1Q 36.2); the peer has PFC")
    if host.trust == "pcp":
        return Value([], f"{host.place}: trusts the 802.1Q tag, so RoCE has no class with PFC")
    if host.pfc_enable is None:
        return None
    return Value(sorted(host.pfc_enable), str(host.place))


def _latency(_: Host) -> Lowered:
    return Value("0ns", "assumed: no configuration states it; none is the favourable end, with more of it more is lost")


def _response(_: Host) -> Lowered:
    return Value("half", "assumed: a host takes half of what 802.3 31B.3.7 allows")


def _rx_buffer(host: Host) -> Lowered:
    return None if not host.rx_buffer_bytes else Value(size(host.rx_buffer_bytes), str(host.place))


def _rx_level(host: Host, share: int) -> Lowered:
    if not host.rx_buffer_bytes:
        return None
    return Value(
        size(host.rx_buffer_bytes // share), f"assumed: 1/{share} of the buffer; no file states the NIC's levels"
    )


HOST_ROWS: Final = (
    HostRow("mtu", "mtu", _mtu),
    HostRow("pfc_enable, trust, global_pause", "pfc_priorities", _pfc),
    HostRow("NIC latency", "latency", _latency),
    HostRow("the NIC's response to a pause", "response", _response),
    HostRow("rx_buffer_bytes", "rx_buffer", _rx_buffer),
    HostRow("rx_buffer_bytes: XOFF level", "rx_xoff", lambda host: _rx_level(host, 2)),
    HostRow("rx_buffer_bytes: XON level", "rx_xon", lambda host: _rx_level(host, 4)),
)


def _roce_mtu(host: Host) -> Lowered:
    sizes = (256, 512, 1024, 2048, 4096)
    if host.roce_mtu is None:
        return Value("4096B", "assumed: the RoCE MTU is not stated")
    if host.roce_mtu not in sizes:
        return NotLowered(f"RoCE MTU {host.roce_mtu}: a scenario has {', '.join(map(str, sizes))}")
    return Value(size(host.roce_mtu), str(host.place))


def _control(host: Host) -> Lowered:
    if host.cc in CONTROLS:
        return Value(host.cc, str(host.place))
    if host.cc is None:
        return Value("dcqcn", "assumed: the hosts' congestion control is not stated")
    return NotLowered(f"congestion control {host.cc}: a scenario has {', '.join(CONTROLS)}")


def _notification(host: Host) -> Lowered:
    return Value(host.cnp_dscp, str(host.place)) if host.place.file else Value(host.cnp_dscp, "assumed")


def _timeout(host: Host) -> Lowered:
    if host.rdma_timeout is None:
        return Value("67108864ns", "assumed: exponent 14, the drivers' default")
    if host.rdma_timeout == 0:
        return Value("off", str(host.place))
    return Value(f"{_TIMEOUT_NS << host.rdma_timeout}ns", str(host.place))


def _retries(host: Host) -> Lowered:
    if host.rdma_retries is None:
        return Value(7, "assumed: the drivers' default")
    return Value(host.rdma_retries, str(host.place))


TRANSPORT_ROWS: Final = (
    HostRow("roce_mtu", "mtu", _roce_mtu),
    HostRow("cc", "cc", _control),
    HostRow("cnp_dscp", "cnp_dscp", _notification),
    HostRow("rdma_timeout", "retransmit_timeout", _timeout),
    HostRow("rdma_retries", "retries", _retries),
)
"""A scenario has one transport: that of the first sender."""
