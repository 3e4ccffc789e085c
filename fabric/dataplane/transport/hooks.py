"""Calls of the congestion control by hosts: one function for each hook, made of the registry's kernels.

A hook is a chain of comparisons with constants, `if cc == DCQCN: ... else: <the next>`, compiled into its caller: no
function pointer, and the first control of the registry costs one comparison (docs/decisions/0044). `cc` is that of the
queue pair, or of the frame's queue pair (transport/laws). The chain holds
only the controls that have a kernel for the hook; others use the default of the hook, most often no action.

| hook | called by | when |
|---|---|---|
| start | host/sender | the first message of a queue pair is posted |
| stamp | host/sender | a data packet departs: what it carries for the control |
| forwarded | switch/egress | a frame begins to leave a switch, counted, its own bytes no longer in the queue |
| consumed | host/slow_receiver | a data packet leaves a NIC's receive buffer, in which it waited |
| sent | host/sender | after each data packet's departure; returns the earliest next one |
| acknowledged | host/sender | after each ACK or NAK has been applied, completions included; `packet` is its row |
| notified | host/station | a CNP has arrived; returns whether it cut the rate |
| catch_up | host/nic, host/ns3_index | before a rate or window is read: apply timers that are due |
| next_change_ps | host/ns3_index | when the rate may change without an event |
| change_line | host/nic | the port has another speed |
| settle | engine/sequential | before a run in insertion order pauses; returns a Stop code |
| look | engine/kernels | before a copy of the row is read: set its present rate, target and alpha |
| mark_changes | host/receiver | ACKs are coalesced: whether to send the pending ACK before this packet is counted |

A control's state beyond QP's rate fields is in a table of State that has one row if the control is not in use. Fields
on the wire are written at the sender before departure and copied by the receiver, or are flags of the answer: see
`echo`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from fabric.dataplane.state.codes import INFINITY_PS, Stop
from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.types import State
from fabric.dataplane.transport import pacing
from fabric.dataplane.transport.laws import law, law_of_frame
from fabric.dataplane.transport.registry import CONTROLS, Kernel, mask_of

_NONE = int(Stop.NONE)
_ECHO: Final = mask_of(lambda control: control.echo)
_CNPS: Final = mask_of(lambda control: control.cnps)


def _chain(hook: str, link: Callable[[int, Kernel, Kernel], Kernel], otherwise: Kernel) -> Kernel:
    """The function of one hook: `link(code, kernel, otherwise)` for each control that has it, the first outermost."""
    for control in reversed(CONTROLS):
        own: Kernel | None = getattr(control, hook)
        if own is not None:
            otherwise = link(int(control.code), own, otherwise)
    return otherwise


# ===== defaults of controls without the hook =====


@hot
def _unstamped(state: State, qp: int, packet: np.uint32, now_ps: int) -> None:
    pass


@hot
def _unwritten(state: State, device: int, port: int, packet: np.uint32, now_ps: int) -> None:
    pass


@kernel
def _unnoted(state: State, packet: np.uint32, waited_ps: int) -> None:
    pass


@kernel
def _acknowledged_nothing(state: State, device: int, qp: int, packet: np.uint32, newly_pkts: int, now_ps: int) -> None:
    pass


@kernel
def _not_notified(state: State, device: int, qp: int, now_ps: int) -> bool:
    return False


@kernel
def _caught_up(state: State, device: int, qp: int, now_ps: int) -> None:
    pass


@kernel
def _never(state: State, qp: int) -> int:
    return INFINITY_PS


@kernel
def _settled(state: State, until_ps: int) -> int:
    return _NONE


@kernel
def _looked(state: State, qp: int, now_ps: int) -> None:
    pass


@kernel
def _same_mark(state: State, qp: int, marked: bool) -> bool:
    return False


# ===== one comparison of a chain, for each signature =====


def _start(code: int, own: Kernel, otherwise: Kernel) -> Kernel:
    @kernel
    def start(state: State, qp: int) -> None:
        if state.config[law(state, qp)]["cc"] == code:
            own(state, qp)
        else:
            otherwise(state, qp)

    return start


def _stamp(code: int, own: Kernel, otherwise: Kernel) -> Kernel:
    @hot
    def stamp(state: State, qp: int, packet: np.uint32, now_ps: int) -> None:
        if state.config[law(state, qp)]["cc"] == code:
            own(state, qp, packet, now_ps)
        else:
            otherwise(state, qp, packet, now_ps)

    return stamp


def _forwarded(code: int, own: Kernel, otherwise: Kernel) -> Kernel:
    @hot
    def forwarded(state: State, device: int, port: int, packet: np.uint32, now_ps: int) -> None:
        if state.config[law_of_frame(state, packet)]["cc"] == code:
            own(state, device, port, packet, now_ps)
        else:
            otherwise(state, device, port, packet, now_ps)

    return forwarded


def _consumed(code: int, own: Kernel, otherwise: Kernel) -> Kernel:
    @kernel
    def consumed(state: State, packet: np.uint32, waited_ps: int) -> None:
        if state.config[law_of_frame(state, packet)]["cc"] == code:
            own(state, packet, waited_ps)
        else:
            otherwise(state, packet, waited_ps)

    return consumed


def _sent(code: int, own: Kernel, otherwise: Kernel) -> Kernel:
    @hot
    def sent(state: State, device: int, qp: int, size_bytes: int, serialisation_ps: int, now_ps: int) -> int:
        if state.config[law(state, qp)]["cc"] == code:
            return i64(own(state, device, qp, size_bytes, serialisation_ps, now_ps))
        return i64(otherwise(state, device, qp, size_bytes, serialisation_ps, now_ps))

    return sent


def _acknowledged(code: int, own: Kernel, otherwise: Kernel) -> Kernel:
    @hot
    def acknowledged(state: State, device: int, qp: int, packet: np.uint32, newly_pkts: int, now_ps: int) -> None:
        if state.config[law(state, qp)]["cc"] == code:
            own(state, device, qp, packet, newly_pkts, now_ps)
        else:
            otherwise(state, device, qp, packet, newly_pkts, now_ps)

    return acknowledged


def _notified(code: int, own: Kernel, otherwise: Kernel) -> Kernel:
    @kernel
    def notified(state: State, device: int, qp: int, now_ps: int) -> bool:
        if state.config[law(state, qp)]["cc"] == code:
            return bool(own(state, device, qp, now_ps))
        return bool(otherwise(state, device, qp, now_ps))

    return notified


def _catch_up(code: int, own: Kernel, otherwise: Kernel) -> Kernel:
    @hot
    def catch_up(state: State, device: int, qp: int, now_ps: int) -> None:
        if state.config[law(state, qp)]["cc"] == code:
            own(state, device, qp, now_ps)
        else:
            otherwise(state, device, qp, now_ps)

    return catch_up


def _next_change_ps(code: int, own: Kernel, otherwise: Kernel) -> Kernel:
    @hot
    def next_change_ps(state: State, qp: int) -> int:
        if state.config[law(state, qp)]["cc"] == code:
            return i64(own(state, qp))
        return i64(otherwise(state, qp))

    return next_change_ps


def _change_line(code: int, own: Kernel, otherwise: Kernel) -> Kernel:
    @kernel
    def change_line(state: State, qp: int, now_ps: int, line_bps: int) -> None:
        if state.config[law(state, qp)]["cc"] == code:
            own(state, qp, now_ps, line_bps)
        else:
            otherwise(state, qp, now_ps, line_bps)

    return change_line


def _settle(code: int, own: Kernel, otherwise: Kernel) -> Kernel:
    @kernel
    def settle(state: State, until_ps: int) -> int:
        if state.config[0]["cc"] == code:
            return i64(own(state, until_ps))
        return i64(otherwise(state, until_ps))

    return settle


def _look(code: int, own: Kernel, otherwise: Kernel) -> Kernel:
    @kernel
    def look(state: State, qp: int, now_ps: int) -> None:
        if state.config[law(state, qp)]["cc"] == code:
            own(state, qp, now_ps)
        else:
            otherwise(state, qp, now_ps)

    return look


def _mark_changes(code: int, own: Kernel, otherwise: Kernel) -> Kernel:
    @hot
    def mark_changes(state: State, qp: int, marked: bool) -> bool:
        if state.config[law(state, qp)]["cc"] == code:
            return bool(own(state, qp, marked))
        return bool(otherwise(state, qp, marked))

    return mark_changes


start: Final = _chain("start", _start, pacing.start)
stamp: Final = _chain("stamp", _stamp, _unstamped)
forwarded: Final = _chain("forwarded", _forwarded, _unwritten)
consumed: Final = _chain("consumed", _consumed, _unnoted)
sent: Final = _chain("sent", _sent, pacing.sent)
acknowledged: Final = _chain("acknowledged", _acknowledged, _acknowledged_nothing)
notified: Final = _chain("notified", _notified, _not_notified)
catch_up: Final = _chain("catch_up", _catch_up, _caught_up)
next_change_ps: Final = _chain("next_change_ps", _next_change_ps, _never)
change_line: Final = _chain("change_line", _change_line, pacing.change_line)
settle: Final = _chain("settle", _settle, _settled)
look: Final = _chain("look", _look, _looked)
mark_changes: Final = _chain("mark_changes", _mark_changes, _same_mark)


# ===== on the wire =====


@hot
def echoes(state: State, qp: int) -> bool:
    """Whether ACKs and NAKs of a queue pair echo the mark of their data packet."""
    return _ECHO >> i64(state.config[law(state, qp)]["cc"]) & 1 != 0


@hot
def notifies(state: State, qp: int) -> bool:
    """Whether marked packets of a queue pair are answered with CNPs."""
    return _CNPS >> i64(state.config[law(state, qp)]["cc"]) & 1 != 0
