"""Two link flow controls beside PFC, which a test registers: none at all, and credits. Run it uncompiled; prints JSON.

Credits as in InfiniBand (IBTA volume 1, 7.9) and UEC's CBFC, one account a port and class. The receiver grants the
bytes that have left its buffer plus the buffer's size. The sender stops where a frame of full size would exceed the
grant.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from dataclasses import replace
from enum import IntEnum
from pathlib import Path
from typing import Any, Final

import numpy as np

from fabric.dataplane.port.flowcontrol import gate, pfc, registry
from fabric.dataplane.port.flowcontrol.registry import Kind
from fabric.dataplane.state.codes import FlowControl, Stop
from fabric.dataplane.state.params import FlowControlParams, PortParams
from fabric.dataplane.state.types import State

BUFFER_BYTES: Final = 20_000
"""What each port holds of a class for its peer."""
FULL_FRAME_BYTES: Final = 1024 + 62


class Codes(IntEnum):
    """Codes beside those of the product."""

    NONE = 1
    CREDITS = 2


# Written by uncompiled kernels only: a kind of the product has a table in State.
_sent_bytes: dict[tuple[int, int], int] = defaultdict(int)
_granted_bytes: dict[tuple[int, int], int] = defaultdict(lambda: BUFFER_BYTES)
_freed_bytes: dict[tuple[int, int], int] = defaultdict(int)
most_held_bytes = [0]


def sent(state: State, device: int, port: int, c: int, size_bytes: int, now_ps: int) -> None:
    if gate.is_controlled(state, port, c):
        _sent_bytes[port, c] += size_bytes
        if _sent_bytes[port, c] + FULL_FRAME_BYTES > _granted_bytes[port, c]:
            gate.pause(state, device, port, c, now_ps, 0)


def received(state: State, device: int, port: int, packet: np.uint32, now_ps: int) -> bool:
    frame, released = state.packets[packet], False
    for c in range(8):
        if int(frame["classes"]) >> c & 1:
            state.prios[port * 8 + c]["rx_xon_pkts"] += 1
            _granted_bytes[port, c] = int(frame["seq"])
            if not gate.may_send(state, port, c) and _sent_bytes[port, c] + FULL_FRAME_BYTES <= int(frame["seq"]):
                gate.resume(state, device, port, c, now_ps, 0)
                released = True
    return released


def freed(state: State, device: int, port: int, c: int, size_bytes: int, now_ps: int) -> None:
    if gate.is_controlled(state, port, c):
        _freed_bytes[port, c] += size_bytes
        pfc.send(state, device, port, 1 << c, 0, _freed_bytes[port, c] + BUFFER_BYTES, now_ps)


def arrived(state: State, device: int, port: int, c: int, size_bytes: int, now_ps: int) -> None:
    most_held_bytes[0] = max(most_held_bytes[0], int(state.pgs[port * 8 + c]["use_bytes"]) + size_bytes)


def _own(code: int, port: PortParams) -> FlowControlParams:
    """Parameters of the kind, with the classes and the response time that the port has with PFC."""
    given = port.flow_control
    return FlowControlParams(kind=code, classes=given.classes, response_ps=given.response_ps)  # type: ignore[arg-type]


def simulate(code: int) -> dict[str, Any]:
    """Four hosts send to one, behind buffers that only flow control keeps from overflowing."""
    from worlds import US, World, parameters, topology

    from fabric.dataplane.engine.driver import Emulator

    messages = tuple((sender, 5 - sender, 150_000, 0, 3) for sender in (0, 1, 2, 3))
    world = World(leaves=2, hosts=3, pool_kb=100, cc=0, messages=messages)
    fabric = topology(world)
    params = parameters(world, fabric)
    if code != FlowControl.PFC:
        params = replace(params, ports=[replace(port, flow_control=_own(code, port)) for port in params.ports])
    emulator = Emulator(fabric, params)
    while emulator.advance(20_000 * US) == Stop.BUDGET:
        pass
    now = emulator.snapshot()
    return {
        "done": int(now.hosts["messages_done"].sum()),
        "drops": int(now.drops["pkts"].sum()),
        "xoff_frames": int(now.prios["tx_xoff_pkts"].sum()),
        "other_frames": int(now.prios["tx_xon_pkts"].sum()),
        "pauses": int(now.prios["pauses"].sum()),
        "paused_ports": int((now.prios["rx_paused_ps"].sum(axis=1) > 0).sum()),
    }


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    registry.KINDS = (  # type: ignore[misc]
        *registry.KINDS,
        Kind(code=Codes.NONE, title="no flow control"),  # type: ignore[arg-type]
        Kind(code=Codes.CREDITS, title="credits", sent=sent, received=received, arrived=arrived, freed=freed),  # type: ignore[arg-type]
    )
    found = {"pfc": simulate(0), "none": simulate(Codes.NONE), "credits": simulate(Codes.CREDITS)}
    found["credits"]["most_held_bytes"] = int(most_held_bytes[0])
    sys.stdout.write(json.dumps(found))
