"""Law.HPCC: the index of a host's queue pairs, so that nobody has to look at all of them (host/nic_scan).

The simulator keeps a list in order of creation and scans it for every packet. Here a queue pair has a slot, its number
in order of creation, and what the scan asks is kept up to date:
1. SlotSet.LISTED, READY and FINISHED are bitmaps by slot; a place on the list is the number of listed slots below.
2. A queue pair with packets left is WAITING (in the host's heap, by its next departure) or PAST (that has come). READY
   are those that are PAST and, when last looked at, not bound by their window.
3. refresh() after whatever changes a queue pair: its sending, an acknowledgement. No other queue pair is looked at.
4. A window that grows and shrinks with the rate changes without an event, when a rate timer runs. So a ready queue pair
   is looked at again when it is chosen, and a blocked one when a timer may have raised its rate (State.checks).
5. All queue pairs are of one class (scenario/hpcc), so a pause concerns all of a host or none.
"""

from __future__ import annotations

import numpy as np

from fabric.host import sender
from fabric.host.messages import heap_pop, heap_push
from fabric.state import bits
from fabric.state.codes import INFINITY_PS, CongestionControl, Departure, SlotSet
from fabric.state.jit import hot, i64, kernel
from fabric.state.types import State
from fabric.transport import hpcc_dcqcn

LISTED, READY, FINISHED = int(SlotSet.LISTED), int(SlotSet.READY), int(SlotSet.FINISHED)
_NO_DEPARTURE, _WAITING, _PAST = int(Departure.NONE), int(Departure.WAITING), int(Departure.PAST)
_HPCC_DCQCN = int(CongestionControl.HPCC_DCQCN)
_BEFORE_ALL = -1
"""Of an entry of State.checks: made in an earlier instant."""
u = np.uint32


@hot
def base_of(state: State, device: int, which: int) -> int:
    """First word of one of a host's bitmaps."""
    nic = state.nics[device]
    words = i64(nic["words"])
    return i64(nic["first_word"]) + which * (words + (words + bits.WORD_BITS - 1) // bits.WORD_BITS)


@hot
def _insert(state: State, device: int, which: int, slot: int) -> None:
    bits.insert(state, base_of(state, device, which), i64(state.nics[device]["words"]), slot)


@hot
def _remove(state: State, device: int, which: int, slot: int) -> None:
    bits.remove(state, base_of(state, device, which), i64(state.nics[device]["words"]), slot)


@hot
def next_in(state: State, device: int, which: int, first: int) -> int:
    """The first slot from `first` on that is in a bitmap; -1: none."""
    return bits.next_member(state, base_of(state, device, which), i64(state.nics[device]["words"]), first)


@hot
def queue_pair(state: State, device: int, slot: int) -> int:
    """The queue pair of a slot."""
    return i64(state.slots[i64(state.hosts[device]["waits"]) + slot])


@hot
def has_left(state: State, qp: int) -> bool:
    """Whether a queue pair has packets left to send."""
    row = state.qps[u(qp)]
    return bool(row["next_psn"] < row["posted_psn"])


@kernel
def enlist(state: State, device: int, qp: int) -> None:
    """Append a new queue pair to the list; refresh() is to follow."""
    host, nic = state.hosts[device], state.nics[device]
    slot = i64(nic["slots"])
    nic["slots"] = slot + 1
    state.slots[i64(host["waits"]) + slot] = qp
    state.pairs[u(qp)]["slot"] = slot + 1
    _insert(state, device, LISTED, slot)
    host["n_waits"] += 1


@kernel
def delist(state: State, device: int, slot: int) -> None:
    """Take a finished queue pair off the list."""
    qp = queue_pair(state, device, slot)
    pair = state.pairs[u(qp)]
    _remove(state, device, LISTED, slot)
    _remove(state, device, FINISHED, slot)
    if pair["ready"] != 0:
        _remove(state, device, READY, slot)
    if pair["where"] == _PAST:
        state.nics[device]["past"] -= 1
    pair["slot"] = pair["where"] = pair["ready"] = pair["finished"] = 0     # its entries in heaps are dropped there
    state.hosts[device]["n_waits"] -= 1


@hot
def _set_ready(state: State, device: int, qp: int, ready: bool) -> None:
    pair = state.pairs[u(qp)]
    if ready and pair["ready"] == 0:
        pair["ready"] = 1
        _insert(state, device, READY, i64(pair["slot"]) - 1)
    elif not ready and pair["ready"] != 0:
        pair["ready"] = 0
        _remove(state, device, READY, i64(pair["slot"]) - 1)


@kernel
def _check_later(state: State, device: int, qp: int, now_ps: int) -> None:
    """A blocked queue pair is looked at again when its rate may have changed (rule 4)."""
    pair, nic, host = state.pairs[u(qp)], state.nics[device], state.hosts[device]
    time_ps = hpcc_dcqcn.next_change_ps(state, qp)
    if pair["checked"] == 0 and time_ps < INFINITY_PS:
        # A timer of this instant that has not run yet: again at the next event, not in this one.
        order = _BEFORE_ALL if time_ps > now_ps else i64(state.config[0]["event_order"])
        heap_push(state.checks, i64(host["waits"]), i64(nic["n_checks"]), time_ps, order, qp)
        nic["n_checks"] += 1
        pair["checked"] = 1


@hot
def _is_blocked(state: State, device: int, qp: int, now_ps: int) -> bool:
    config = state.config[0]
    if config["window_bytes"] == 0:
        return False
    if config["variable_window"] == 0:
        return sender.is_blocked(state, qp)
    if config["cc"] == _HPCC_DCQCN:
        hpcc_dcqcn.advance(state, device, qp, now_ps)
    if not sender.is_blocked(state, qp):
        return False
    _check_later(state, device, qp, now_ps)
    return True


@hot
def refresh(state: State, device: int, qp: int, now_ps: int) -> None:
    """Bring the index up to date after a queue pair has changed."""
    pair, row = state.pairs[u(qp)], state.qps[u(qp)]
    if pair["slot"] == 0:
        return
    nic = state.nics[device]
    if has_left(state, qp):
        if row["available_ps"] <= now_ps:
            if pair["where"] == _NO_DEPARTURE:
                nic["past"] += 1
                pair["where"] = _PAST
        elif pair["where"] != _WAITING:
            if pair["where"] == _PAST:
                nic["past"] -= 1
            pair["where"] = _WAITING
            host = state.hosts[device]
            heap_push(state.waits, i64(host["waits"]), i64(nic["n_waits"]), i64(row["available_ps"]), qp, qp)
            nic["n_waits"] += 1
        pair["blocked"] = 1 if _is_blocked(state, device, qp, now_ps) else 0
        _set_ready(state, device, qp, pair["where"] == _PAST and pair["blocked"] == 0)
    elif pair["where"] != _NO_DEPARTURE:
        nic["past"] -= 1        # what waits has packets left, until it is acknowledged as a whole
        pair["where"] = _NO_DEPARTURE
        _set_ready(state, device, qp, False)
    if pair["finished"] == 0 and row["acked_psn"] >= row["posted_psn"]:
        pair["finished"] = 1
        _insert(state, device, FINISHED, i64(pair["slot"]) - 1)


@kernel
def _mature(state: State, device: int, now_ps: int) -> None:
    """Departures whose time has come."""
    host, nic = state.hosts[device], state.nics[device]
    base = i64(host["waits"])
    while nic["n_waits"] > 0 and state.waits[base]["time_ps"] <= now_ps:
        qp = i64(state.waits[base]["item"])
        heap_pop(state.waits, base, i64(nic["n_waits"]))
        nic["n_waits"] -= 1
        pair = state.pairs[u(qp)]
        if pair["slot"] != 0:
            pair["where"] = _PAST
            nic["past"] += 1
            if pair["blocked"] == 0:
                _set_ready(state, device, qp, True)


@kernel
def _check(state: State, device: int, now_ps: int) -> None:
    """Blocked queue pairs whose rate may have risen (rule 4)."""
    host, nic, order = state.hosts[device], state.nics[device], i64(state.config[0]["event_order"])
    base = i64(host["waits"])
    while nic["n_checks"] > 0:
        entry = state.checks[base]
        if entry["time_ps"] > now_ps or (entry["time_ps"] == now_ps and entry["order"] >= order):
            return
        qp = i64(entry["item"])
        heap_pop(state.checks, base, i64(nic["n_checks"]))
        nic["n_checks"] -= 1
        state.pairs[u(qp)]["checked"] = 0
        if state.pairs[u(qp)]["blocked"] != 0:
            refresh(state, device, qp, now_ps)


@hot
def catch_up(state: State, device: int, now_ps: int) -> None:
    """Before anything is chosen: what time alone has changed."""
    host, nic = state.hosts[device], state.nics[device]
    if nic["n_waits"] > 0 and state.waits[i64(host["waits"])]["time_ps"] <= now_ps:
        _mature(state, device, now_ps)
    if nic["n_checks"] > 0 and state.checks[i64(host["waits"])]["time_ps"] <= now_ps:
        _check(state, device, now_ps)


@hot
def may_send(state: State, device: int, qp: int, now_ps: int) -> bool:
    """Whether a ready queue pair's window is still open; if not, it is blocked from now on (rule 4)."""
    if state.config[0]["variable_window"] == 0 or not _is_blocked(state, device, qp, now_ps):
        return True
    state.pairs[u(qp)]["blocked"] = 1
    _set_ready(state, device, qp, False)
    return False


@kernel
def next_departure_ps(state: State, device: int) -> int:
    """When the first departure is due of those with packets left; 0: one has come already; INFINITY_PS: none is."""
    host, nic = state.hosts[device], state.nics[device]
    base = i64(host["waits"])
    if nic["past"] > 0:
        return 0
    while nic["n_waits"] > 0:
        first = state.waits[base]
        if state.pairs[first["item"]]["slot"] != 0:
            return i64(first["time_ps"])
        heap_pop(state.waits, base, i64(nic["n_waits"]))
        nic["n_waits"] -= 1
    return INFINITY_PS
