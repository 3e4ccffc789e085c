"""Index of a host's queue pairs for host/ns3_nic, so that no search reads all of them.

The simulator keeps a list in order of creation and scans it for every packet. Here a queue pair has a slot, its number
in order of creation, and the data of the scan is kept up to date:
1. SlotSet.LISTED, READY and FINISHED are bitmaps by slot; a place on the list is the number of listed slots below.
2. A queue pair with packets left is WAITING (in the host's heap, by its next departure) or PAST (it is due). READY
   are PAST queue pairs that were not bound by their window at the last check.
3. refresh() follows each change of a queue pair: a departure, an acknowledgement. It reads no other queue pair, but
   looks for the entry of one whose control has moved its departure.
4. A window that grows and shrinks with the rate changes without an event, when a rate timer runs. So a ready queue pair
   is checked again when it is chosen, and a blocked one when a timer may have raised its rate (State.checks).
5. All queue pairs are of one class (scenario/compile/ns3_rdma_checks), so a pause stops all of a host or none.
"""

from __future__ import annotations

import numpy as np

from fabric.dataplane.host import sender
from fabric.dataplane.host.messages import heap_move, heap_pop, heap_push
from fabric.dataplane.state import bits
from fabric.dataplane.state.codes import INFINITY_PS, Departure, SlotSet
from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.types import State
from fabric.dataplane.transport import hooks

LISTED, READY, FINISHED = int(SlotSet.LISTED), int(SlotSet.READY), int(SlotSet.FINISHED)
_NO_DEPARTURE, _WAITING, _PAST = int(Departure.NONE), int(Departure.WAITING), int(Departure.PAST)
_BEFORE_ALL = -1
"""Order of an entry of State.checks that was made in an earlier instant."""
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
    """Append a new queue pair to the list; refresh() must follow."""
    host, nic = state.hosts[device], state.nics[device]
    slot = i64(nic["slots"])
    nic["slots"] = slot + 1
    state.slots[i64(host["waits"]) + slot] = qp
    state.pairs[u(qp)]["slot"] = slot + 1
    _insert(state, device, LISTED, slot)
    host["n_waits"] += 1


@kernel
def delist(state: State, device: int, slot: int) -> None:
    """Remove a finished queue pair from the list."""
    qp = queue_pair(state, device, slot)
    pair = state.pairs[u(qp)]
    _remove(state, device, LISTED, slot)
    _remove(state, device, FINISHED, slot)
    if pair["ready"] != 0:
        _remove(state, device, READY, slot)
    if pair["where"] == _PAST:
        state.nics[device]["past"] -= 1
    pair["slot"] = pair["where"] = pair["ready"] = pair["finished"] = 0  # heaps drop its entries later
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
    """Schedule a check of a blocked queue pair at the next change of its rate (rule 4)."""
    pair, nic, host = state.pairs[u(qp)], state.nics[device], state.hosts[device]
    time_ps = hooks.next_change_ps(state, qp)
    if pair["checked"] == 0 and time_ps < INFINITY_PS:
        # A timer of this instant that has not run yet: check at the next event, not in this one.
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
    hooks.catch_up(state, device, qp, now_ps)
    if not sender.is_blocked(state, qp):
        return False
    _check_later(state, device, qp, now_ps)
    return True


@kernel
def _move_wait(state: State, device: int, qp: int) -> None:
    """The rate of a WAITING queue pair has moved its departure: so does its entry of the heap."""
    base, count = i64(state.hosts[device]["waits"]), i64(state.nics[device]["n_waits"])
    place = 0
    while i64(state.waits[base + place]["item"]) != qp:
        place += 1
    time_ps = i64(state.qps[u(qp)]["available_ps"])
    state.pairs[u(qp)]["wait_ps"] = time_ps
    heap_move(state.waits, base, count, place, time_ps)


@hot
def refresh(state: State, device: int, qp: int, now_ps: int) -> None:
    """Bring the index up to date after a queue pair has changed."""
    pair, row = state.pairs[u(qp)], state.qps[u(qp)]
    if pair["slot"] == 0:
        return
    nic = state.nics[device]
    if has_left(state, qp):
        if pair["where"] == _WAITING:
            if row["available_ps"] != pair["wait_ps"]:
                _move_wait(state, device, qp)
        elif row["available_ps"] <= now_ps:
            if pair["where"] == _NO_DEPARTURE:
                nic["past"] += 1
                pair["where"] = _PAST
        else:
            if pair["where"] == _PAST:
                nic["past"] -= 1
            pair["where"] = _WAITING
            pair["wait_ps"] = row["available_ps"]
            host = state.hosts[device]
            heap_push(state.waits, i64(host["waits"]), i64(nic["n_waits"]), i64(row["available_ps"]), qp, qp)
            nic["n_waits"] += 1
        pair["blocked"] = 1 if _is_blocked(state, device, qp, now_ps) else 0
        _set_ready(state, device, qp, pair["where"] == _PAST and pair["blocked"] == 0)
    elif pair["where"] != _NO_DEPARTURE:
        nic["past"] -= 1  # a WAITING queue pair has packets left until all are acknowledged
        pair["where"] = _NO_DEPARTURE
        _set_ready(state, device, qp, False)
    if pair["finished"] == 0 and row["acked_psn"] >= row["posted_psn"]:
        pair["finished"] = 1
        _insert(state, device, FINISHED, i64(pair["slot"]) - 1)


@kernel
def _mature(state: State, device: int, now_ps: int) -> None:
    """Mark departures that are due."""
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
    """Check blocked queue pairs whose rate may have risen (rule 4)."""
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
    """Before a choice: apply changes by time alone."""
    host, nic = state.hosts[device], state.nics[device]
    if nic["n_waits"] > 0 and state.waits[i64(host["waits"])]["time_ps"] <= now_ps:
        _mature(state, device, now_ps)
    if nic["n_checks"] > 0 and state.checks[i64(host["waits"])]["time_ps"] <= now_ps:
        _check(state, device, now_ps)


@hot
def may_send(state: State, device: int, qp: int, now_ps: int) -> bool:
    """Whether a ready queue pair's window is still open; if not, it becomes blocked (rule 4)."""
    if state.config[0]["variable_window"] == 0 or not _is_blocked(state, device, qp, now_ps):
        return True
    state.pairs[u(qp)]["blocked"] = 1
    _set_ready(state, device, qp, False)
    return False


@kernel
def next_departure_ps(state: State, device: int) -> int:
    """The first departure of queue pairs with packets left; 0: one is due already; INFINITY_PS: none."""
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
