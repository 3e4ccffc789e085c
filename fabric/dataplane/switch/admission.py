"""Admission of a packet whose egress port is known: MTU, egress queue, MMU, pause, then its queue."""

from __future__ import annotations

import numpy as np

from fabric.dataplane.port import transmit
from fabric.dataplane.port.drop import discard
from fabric.dataplane.state.codes import DropReason, PacketKind
from fabric.dataplane.state.compiled.jit import hot, i64
from fabric.dataplane.state.types import TX_SIZES, State
from fabric.dataplane.switch import buffer, egress
from fabric.dataplane.switch.forward import switch_row

_DATA = int(PacketKind.DATA)
_MTU = int(DropReason.MTU)
_FCS_AND_TAG = 4


@hot
def admit(state: State, device: int, port: int, packet: np.uint32, out: int, arrived_bytes: int, now_ps: int) -> None:
    """Admit a packet that came in by `port` with arrived_bytes and leaves by `out`, or discard it."""
    frame, config = state.packets[packet], state.config[0]
    switch = state.switches[switch_row(state, device)]
    if i64(frame["size"]) - _FCS_AND_TAG > state.ports[out]["mtu_bytes"]:
        discard(state, device, out, packet, _MTU, now_ps, i64(state.ports[out]["mtu_bytes"]), 0, 0)
        return
    if config["ack_strict"] != 0 and frame["kind"] != _DATA:
        transmit.queue_control(state, device, out, packet, now_ps)
        return
    q = i64(switch["tc_to_queue"][i64(frame["tc"])])
    reason = egress.refusal(state, device, out, q, packet)
    if reason != buffer.ADMITTED:
        egress.refuse(state, device, out, q, packet, reason, now_ps)
        return
    group = port * 8 + i64(switch["tc_to_pg"][i64(frame["tc"])])
    # The MMU charges the bytes that came over the cable: a VTEP adds and removes the outer header at egress, after the
    # MMU (assumed), and headroom is sized by what the peer may still send (IEEE 802.1Q annex N).
    charged = i64(state.cells[i64(switch["cells_row"]) * TX_SIZES + arrived_bytes])
    frame["charged"] = charged
    reason = buffer.admit(state, group, charged)
    if reason != buffer.ADMITTED:
        state.pgs[group]["dropped_pkts"] += 1
        discard(
            state,
            device,
            port,
            packet,
            reason,
            now_ps,
            buffer.shared_bytes(state, group),
            buffer.limit_bytes(state, group),
            i64(state.pgs[group]["headroom_bytes"]),
        )
        return
    buffer.check_pause(state, device, port, group, now_ps)
    egress.enqueue(state, device, out, q, packet, now_ps)
