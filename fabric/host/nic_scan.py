"""The NIC of the public HPCC simulator: one list of queue pairs, scanned round robin for every packet (Law.HPCC).

Rules (they differ from host/nic in ways that move completion times, so they are kept to the letter)
1. Acknowledgements first: in the control queue, or, where they travel in the data class, in that class's queue and
   stopped by its pause.
2. The scan starts after the queue pair served last and takes the first that is not paused, has packets left, is not
   bound by its window and whose next departure has come.
3. Finished queue pairs are taken off the list during that scan, which shifts the others but not the pointer.
4. If none may send, one wake-up is scheduled at the earliest departure of those with packets left, if that is in the
   future and no wake-up is pending.
"""

from __future__ import annotations

import numpy as np

from fabric.host import sender
from fabric.port import transmit
from fabric.port.pause import aux_source
from fabric.state import calendar
from fabric.state.codes import INFINITY_PS, Aux
from fabric.state.jit import i64, kernel
from fabric.state.types import State

_WAKE = int(Aux.WAKE)
u = np.uint32


@kernel
def enlist(state: State, device: int, qp: int) -> None:
    """Append a new queue pair to the list."""
    host = state.hosts[device]
    state.waits[i64(host["waits"]) + i64(host["n_waits"])]["item"] = qp
    host["n_waits"] += 1


@kernel
def _has_left(state: State, qp: int) -> bool:
    row = state.qps[u(qp)]
    return bool(row["next_psn"] < row["posted_psn"])


@kernel
def _is_finished(state: State, qp: int) -> bool:
    row = state.qps[u(qp)]
    return bool(row["acked_psn"] >= row["posted_psn"])


@kernel
def _remove_finished(state: State, device: int, first: int) -> None:
    host = state.hosts[device]
    base, count = i64(host["waits"]), i64(host["n_waits"])
    kept = first
    for place in range(first, count):
        item = i64(state.waits[base + place]["item"])
        if not _is_finished(state, item):
            state.waits[base + kept]["item"] = item
            kept += 1
    host["n_waits"] = kept


@kernel
def _scan(state: State, device: int, port: int, now_ps: int) -> int:
    """The queue pair that sends now, or -1; tidies the list (rules 2 and 3)."""
    host = state.hosts[device]
    base, count, last = i64(host["waits"]), i64(host["n_waits"]), i64(host["scan_last"])
    chosen, finished = -1, count
    for step in range(1, count + 1):
        place = (step + last) % count
        qp = i64(state.waits[base + place]["item"])
        paused = i64(state.ports[u(port)]["paused"]) >> i64(state.qps[u(qp)]["tc"]) & 1
        if paused == 0 and _has_left(state, qp) and not sender.is_blocked(state, qp):
            if state.qps[u(qp)]["available_ps"] <= now_ps:
                chosen = qp
                break
        elif _is_finished(state, qp):
            finished = min(finished, place)
    if finished < count:
        _remove_finished(state, device, finished)
    if chosen >= 0:
        for place in range(i64(host["n_waits"])):
            if i64(state.waits[base + place]["item"]) == chosen:
                host["scan_last"] = place
                break
    return chosen


@kernel
def _schedule_wake(state: State, device: int, now_ps: int) -> None:
    host = state.hosts[device]
    base = i64(host["waits"])
    earliest_ps = INFINITY_PS
    for place in range(i64(host["n_waits"])):
        qp = i64(state.waits[base + place]["item"])
        if _has_left(state, qp):
            earliest_ps = min(earliest_ps, i64(state.qps[u(qp)]["available_ps"]))
    source = aux_source(state, device, _WAKE)
    if now_ps < earliest_ps < INFINITY_PS and calendar.pending_ps(state, device, source) >= INFINITY_PS:
        calendar.schedule(state, device, source, earliest_ps, calendar.NEW_ORDER)


@kernel
def _send_frame(state: State, device: int, port: int, tc: int, now_ps: int) -> None:
    queue = state.queues[u(port * 8 + tc)]
    packet = queue["head"]
    size_bytes = i64(state.packets[packet]["size"])
    queue["depth_bytes"] -= size_bytes
    queue["depth_pkts"] -= 1
    queue["sent_pkts"] += 1
    queue["sent_bytes"] += size_bytes
    if packet == queue["tail"]:
        queue["head"] = queue["tail"] = 0
        state.ports[u(port)]["nonempty"] = i64(state.ports[u(port)]["nonempty"]) & ~(1 << tc) & 0xFF
    else:
        queue["head"] = state.packets[packet]["next"]
    transmit.launch(state, device, port, packet, transmit.occupy(state, port, size_bytes, now_ps))


@kernel
def transmit_next(state: State, device: int, port: int, now_ps: int) -> None:
    """The port is idle: send what the rules say."""
    out = state.ports[u(port)]
    if out["up"] == 0:
        return
    eligible = i64(out["nonempty"]) & ~i64(out["paused"])
    if out["ctrl_head"] != 0:
        transmit.send_control(state, device, port, now_ps)
    elif eligible != 0:
        tc = 0
        while eligible >> tc & 1 == 0:
            tc += 1
        _send_frame(state, device, port, tc, now_ps)
    else:
        qp = _scan(state, device, port, now_ps)
        if qp < 0:
            _schedule_wake(state, device, now_ps)
            return
        packet = sender.make_packet(state, device, qp, now_ps)
        size_bytes = i64(state.packets[packet]["size"])
        tc = i64(state.packets[packet]["tc"])
        state.queues[u(port * 8 + tc)]["sent_pkts"] += 1
        state.queues[u(port * 8 + tc)]["sent_bytes"] += size_bytes
        end_ps = transmit.occupy(state, port, size_bytes, now_ps)
        transmit.launch(state, device, port, packet, end_ps)
        sender.pace(state, device, qp, size_bytes, end_ps - now_ps, now_ps)
    transmit.wake_when_free(state, device, port)


@kernel
def kick(state: State, device: int, port: int, now_ps: int) -> None:
    """Something may have become eligible."""
    if not transmit.is_busy(state, port, now_ps):
        transmit_next(state, device, port, now_ps)
