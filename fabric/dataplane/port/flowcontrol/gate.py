"""Which classes of a port link flow control lets it send: the state and the counters that all kinds share.

Rules
1. A port sends a class only while its bit in PORT.paused is 0. A kind sets and clears the bit with pause() and resume()
   alone, so events, pause times and counters mean the same for every kind.
2. Only classes in PORT.pfc_classes are under flow control. The watchdog may suspend it for a class; an edit made
   meanwhile is not undone when the watchdog restores it.
3. A port has one timer for all of its classes, and a device one for all of its ports: PORT.pfc_next_ps and Aux.PFC.
"""

from __future__ import annotations

from typing import Final

from fabric.dataplane.state import calendar, trace
from fabric.dataplane.state.codes import INFINITY_PS, LINK_FRAMES, Aux, EventKind, TraceBit
from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.types import State

_TIMER = int(Aux.PFC)
_FRAMES: Final = sum(1 << kind for kind in LINK_FRAMES)
_TRACE = int(TraceBit.PAUSE)
_PAUSED, _RESUMED = int(EventKind.PAUSED), int(EventKind.RESUMED)


# ===== what a port asks before it sends =====


@hot
def eligible(state: State, port: int) -> int:
    """Bitmap of the classes that have something to send and may send it; a shaper may hold others (port/shaper)."""
    row = state.ports[port]
    return i64(row["nonempty"]) & ~(i64(row["paused"]) | i64(row["held"]))


@hot
def may_send(state: State, port: int, c: int) -> bool:
    """Whether the port may send class c now."""
    return i64(state.ports[port]["paused"]) >> c & 1 == 0


@hot
def may_leave(state: State, port: int, c: int) -> bool:
    """Whether neither flow control nor a shaper keeps class c."""
    row = state.ports[port]
    return (i64(row["paused"]) | i64(row["held"])) >> c & 1 == 0


# ===== which classes are under flow control =====


@hot
def is_controlled(state: State, port: int, c: int) -> bool:
    """Whether class c is under flow control at this port, in one direction at least."""
    return i64(state.ports[port]["pfc_classes"]) >> c & 1 != 0


@hot
def sends_pause(state: State, port: int, c: int) -> bool:
    """Whether the port may stop class c of its peer."""
    row = state.ports[port]
    return (i64(row["pfc_classes"]) & ~i64(row["pfc_unsent"])) >> c & 1 != 0


@kernel
def obeys_pause(state: State, port: int, c: int) -> bool:
    """Whether the peer may stop class c of the port."""
    row = state.ports[port]
    return (i64(row["pfc_classes"]) & ~i64(row["pfc_ignored"])) >> c & 1 != 0


@kernel
def set_classes(state: State, port: int, classes: int) -> int:
    """Put a bitmap of classes, and no others, under flow control. Returns the classes that have lost it.

    A class that is suspended stays so, and is under flow control after restore() if it is in the bitmap.
    """
    row = state.ports[port]
    suspended = i64(row["wd_unpaused"])
    lost = (i64(row["pfc_classes"]) | suspended) & ~classes
    row["wd_unpaused"] = suspended & classes
    row["pfc_classes"] = classes & ~suspended
    return lost


@kernel
def suspend(state: State, port: int, c: int) -> None:
    """Take class c out of flow control until restore(): the port then ignores what the peer asks."""
    row = state.ports[port]
    row["wd_unpaused"] = i64(row["wd_unpaused"]) | i64(row["pfc_classes"]) & 1 << c
    row["pfc_classes"] = i64(row["pfc_classes"]) & ~(1 << c) & 0xFF


@kernel
def restore(state: State, port: int, c: int) -> None:
    """Undo suspend(), where it changed something."""
    row = state.ports[port]
    row["pfc_classes"] = i64(row["pfc_classes"]) | i64(row["wd_unpaused"]) & 1 << c
    row["wd_unpaused"] = i64(row["wd_unpaused"]) & ~(1 << c) & 0xFF


# ===== the sender's side =====


@kernel
def pause(state: State, device: int, port: int, c: int, now_ps: int, quanta: int) -> None:
    """Class c may not send from now on, unless it is paused already; `quanta` is for the event log."""
    row, prio = state.ports[port], state.prios[port * 8 + c]
    if i64(row["paused"]) >> c & 1:
        return
    row["paused"] = i64(row["paused"]) | 1 << c
    prio["since_ps"] = now_ps
    prio["begun_ps"] = now_ps
    prio["pauses"] += 1
    depth = i64(state.queues[port * 8 + c]["depth_bytes"])
    trace.emit(state, _TRACE, device, now_ps, _PAUSED, port, c, 0, trace.NO_QP, quanta, depth, 0, 0)


@kernel
def resume(state: State, device: int, port: int, c: int, now_ps: int, expired: int) -> None:
    """Class c, which is paused, may send again; `expired` says whether a timer ended the pause."""
    row, prio = state.ports[port], state.prios[port * 8 + c]
    row["paused"] = i64(row["paused"]) & ~(1 << c) & 0xFF
    duration_ps = now_ps - i64(prio["since_ps"])
    prio["rx_paused_ps"] += duration_ps
    prio["longest_ps"] = max(i64(prio["longest_ps"]), duration_ps)
    prio["recent_ps"] = duration_ps
    prio["until_ps"] = INFINITY_PS
    prio["since_ps"] = now_ps
    prio["on2off_pkts"] += 1
    depth = i64(state.queues[port * 8 + c]["depth_bytes"])
    trace.emit(state, _TRACE, device, now_ps, _RESUMED, port, c, 0, trace.NO_QP, duration_ps, depth, expired, 0)


@kernel
def paused_ps(state: State, port: int, c: int, now_ps: int) -> int:
    """How long class c has been paused since the start, the present pause included."""
    prio = state.prios[port * 8 + c]
    if may_send(state, port, c):
        return i64(prio["rx_paused_ps"])
    return i64(prio["rx_paused_ps"]) + now_ps - i64(prio["since_ps"])


@kernel
def pauses_ended(state: State, port: int, c: int) -> int:
    """How often class c was resumed since the start."""
    return i64(state.prios[port * 8 + c]["on2off_pkts"])


@kernel
def frames_received(state: State, port: int, c: int) -> int:
    """Flow-control frames for class c received since the start, obeyed or not."""
    prio = state.prios[port * 8 + c]
    return i64(prio["rx_xoff_pkts"]) + i64(prio["rx_xon_pkts"])


# ===== the receiver's side =====


@hot
def is_pausing(state: State, port: int, c: int) -> bool:
    """Whether this port has stopped class c of its peer and not yet released it."""
    return bool(state.prios[port * 8 + c]["xoff_sent"] != 0)


# ===== frames =====


@hot
def is_own_frame(kind: int) -> bool:
    """Whether a frame of this kind ends at the next device: these have a separate list on the cable (port/wire)."""
    return _FRAMES >> kind & 1 != 0


@kernel
def count_sent(state: State, port: int, classes: int, xoff: int) -> None:
    """Count a flow-control frame for a bitmap of classes that leaves the port; those in `xoff` stop."""
    for c in range(8):
        if classes >> c & 1:
            if xoff >> c & 1:
                state.prios[port * 8 + c]["tx_xoff_pkts"] += 1
            else:
                state.prios[port * 8 + c]["tx_xon_pkts"] += 1


# ===== timers =====


@kernel
def arm(state: State, device: int, port: int, time_ps: int) -> None:
    """Make sure that the kind's expire() is called at time_ps, or earlier."""
    row = state.ports[port]
    if time_ps < row["pfc_next_ps"]:
        row["pfc_next_ps"] = time_ps
        calendar.schedule_earlier(state, device, calendar.aux_source(state, device, _TIMER), time_ps)


@kernel
def rearm(state: State, device: int) -> None:
    """Schedule the device's next timer, after the kind has set PORT.pfc_next_ps of its ports."""
    row = state.devices[device]
    next_ps = INFINITY_PS
    for port in range(i64(row["first_port"]), i64(row["first_port"]) + i64(row["n_ports"])):
        next_ps = min(next_ps, i64(state.ports[port]["pfc_next_ps"]))
    calendar.schedule(state, device, calendar.aux_source(state, device, _TIMER), next_ps, calendar.NEW_ORDER)
