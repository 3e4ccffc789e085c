"""Where ports, the MMU and hosts call the link flow control: one function a hook, made of the registry's kernels.

A hook is a chain of comparisons with constants, as those of congestion control (docs/decisions/0044): it holds only the
kinds that have a kernel for it, so a hook that no kind uses is an empty function and costs nothing. The question what a
port may send is no hook: port/flowcontrol/gate answers it from one bitmap, and the kinds set the bits.

| hook | called by | when |
|---|---|---|
| sent | switch/egress, host/nic, host/ns3_nic | a frame of class c begins to leave (a sender spends credits) |
| received | receive(), below | an intact flow-control frame takes effect; returns whether some class may send again |
| arrived | switch/ingress, host/station | a frame of class c has come in, before anything may discard it |
| freed | switch/buffer, host/slow_receiver, host/station | bytes of class c have left the buffer: grant credits |
| full | switch/buffer, host/slow_receiver | the buffer of class c has reached its limit: stop the peer |
| drained | switch/buffer, host/slow_receiver | after full: the buffer has room again |
| expire | engine/dispatch | the port's timer may be due; returns whether some class may send again |
| speed_changed | engine/kernels | the port has another speed; quantum_ps is its new time of 512 bits |
| link_lost | engine/kernels | the cable is dead: forget what both ends have asked for in class c |
| disabled | engine/kernels | class c is no longer under flow control |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from fabric.dataplane.port.damage import INTACT, damaged
from fabric.dataplane.port.flowcontrol.registry import KINDS, Kernel
from fabric.dataplane.state import pool
from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.types import State


def _chain(hook: str, link: Callable[[int, Kernel, Kernel], Kernel], otherwise: Kernel) -> Kernel:
    """The function of one hook: `link(code, kernel, otherwise)` for each kind that has it, the first outermost."""
    for kind in reversed(KINDS):
        own: Kernel | None = getattr(kind, hook)
        if own is not None:
            otherwise = link(int(kind.code), own, otherwise)
    return otherwise


# ===== what a kind without the hook does =====


@hot
def _no_bytes(state: State, device: int, port: int, c: int, size_bytes: int, now_ps: int) -> None:
    pass


@kernel
def _no_class(state: State, device: int, port: int, c: int, now_ps: int) -> None:
    pass


@kernel
def _no_frame(state: State, device: int, port: int, packet: np.uint32, now_ps: int) -> bool:
    return False


@kernel
def _no_timer(state: State, device: int, port: int, now_ps: int) -> bool:
    return False


@kernel
def _no_speed(state: State, device: int, port: int, now_ps: int, quantum_ps: int) -> None:
    pass


# ===== one comparison of a chain, for each signature =====


def _bytes(code: int, own: Kernel, otherwise: Kernel) -> Kernel:
    @hot
    def count(state: State, device: int, port: int, c: int, size_bytes: int, now_ps: int) -> None:
        if state.config[0]["flow_control"] == code:
            own(state, device, port, c, size_bytes, now_ps)
        else:
            otherwise(state, device, port, c, size_bytes, now_ps)

    return count


def _class(code: int, own: Kernel, otherwise: Kernel) -> Kernel:
    @kernel
    def change(state: State, device: int, port: int, c: int, now_ps: int) -> None:
        if state.config[0]["flow_control"] == code:
            own(state, device, port, c, now_ps)
        else:
            otherwise(state, device, port, c, now_ps)

    return change


def _frame(code: int, own: Kernel, otherwise: Kernel) -> Kernel:
    @kernel
    def obey(state: State, device: int, port: int, packet: np.uint32, now_ps: int) -> bool:
        if state.config[0]["flow_control"] == code:
            return bool(own(state, device, port, packet, now_ps))
        return bool(otherwise(state, device, port, packet, now_ps))

    return obey


def _timer(code: int, own: Kernel, otherwise: Kernel) -> Kernel:
    @kernel
    def expire(state: State, device: int, port: int, now_ps: int) -> bool:
        if state.config[0]["flow_control"] == code:
            return bool(own(state, device, port, now_ps))
        return bool(otherwise(state, device, port, now_ps))

    return expire


def _speed(code: int, own: Kernel, otherwise: Kernel) -> Kernel:
    @kernel
    def change_speed(state: State, device: int, port: int, now_ps: int, quantum_ps: int) -> None:
        if state.config[0]["flow_control"] == code:
            own(state, device, port, now_ps, quantum_ps)
        else:
            otherwise(state, device, port, now_ps, quantum_ps)

    return change_speed


sent: Final = _chain("sent", _bytes, _no_bytes)
received: Final = _chain("received", _frame, _no_frame)
arrived: Final = _chain("arrived", _bytes, _no_bytes)
freed: Final = _chain("freed", _bytes, _no_bytes)
full: Final = _chain("full", _class, _no_class)
drained: Final = _chain("drained", _class, _no_class)
expire: Final = _chain("expire", _timer, _no_timer)
speed_changed: Final = _chain("speed_changed", _speed, _no_speed)
link_lost: Final = _chain("link_lost", _class, _no_class)
disabled: Final = _chain("disabled", _class, _no_class)


@kernel
def receive(state: State, device: int, port: int, packet: np.uint32, now_ps: int) -> bool:
    """Take in a flow-control frame whose response time has run; True if some class may send again (kick the port).

    Called by engine/dispatch. The row of the frame is free afterwards.
    """
    row, released = state.ports[port], False
    row["rx_pause_pkts"] += 1
    row["rx_bytes"] += i64(state.packets[packet]["size"])
    row["rx_pkts"] += 1
    # A damaged frame is counted in fcs_errors; `drops` counts frames of traffic classes only.
    if row["bit_error_ratio"] <= 0.0 or damaged(state, device, port, packet) == INTACT:
        released = bool(received(state, device, port, packet, now_ps))
    pool.give(state, device, packet)
    return released
