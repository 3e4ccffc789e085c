"""Transfers at both ends: how far each is, what its next message waits for, and the rows of messages under way.

Rules (docs/decisions/0055)
1. A transfer's messages are posted in order: message k once message k-1 was posted, start_ps has passed and every need
   is met, then delay_ps + size * delay_fs_per_byte / 1000 later. So a transfer has at most one posting to come; those
   of a host are a heap in order of (time, transfer), whose head is the host's TRANSFER event. A computation has no
   queue pair: at that moment its message is completed instead.
2. A message of 0 bytes is not sent. It counts as posted, arrived and completed with the one before it; those in front
   of the first message count from the beginning.
3. Counts grow in order: a message that arrived before an earlier one of its transfer (selective repeat) waits in a list
   and is counted with it. All needs of a host's transfers are known at the host.
4. The row of a message is taken from its source when it is posted and given back when it is acknowledged, or when the
   driver has read it. The source also writes the row's receiving side then. Why no other thread uses it: every packet
   of the former message had been accepted before its last acknowledgement was sent, and a receiver touches the row of
   a packet only if it has not accepted it before. What it wrote was in an earlier window than that acknowledgement.
"""

from __future__ import annotations

import numpy as np

from fabric.collectives.transfers import Event
from fabric.dataplane.host.messages import heap_pop, heap_push, release_dependents
from fabric.dataplane.state import calendar
from fabric.dataplane.state.codes import INFINITY_PS, LINE, Aux, Issue, Shared
from fabric.dataplane.state.compiled.atomic import load_acquire, replace_if
from fabric.dataplane.state.compiled.jit import entry, hot, i64, kernel
from fabric.dataplane.state.types import NO_QP, State

_ARRIVED, _COMPLETED = int(Event.ARRIVED), int(Event.COMPLETED)
_TRANSFER = int(Aux.TRANSFER)
_FREE, _LIVE, _DONE = int(Issue.FREE), int(Issue.LIVE), int(Issue.DONE)
_SPARE = int(Shared.SPARE_MESSAGE) * LINE
_PORTION = 4
"""Rows that a host takes at once from the common store."""
_NO_QP = int(NO_QP)
u = np.uint32


@hot
def is_issued(state: State, message: int) -> bool:
    """Whether a message row is one of a transfer."""
    return message > i64(state.config[0]["n_messages"])


# ===== the series =====


@kernel
def size_bytes(state: State, transfer: int, index: int) -> int:
    """Size of one message (collectives/transfers); `first` and `stride` are in 0..modulus-1."""
    row = state.transfers[u(transfer)]
    size = i64(row["small_bytes"])
    if (i64(row["first"]) + i64(row["stride"]) * index) % i64(row["modulus"]) < row["n_longer"]:
        size += i64(row["unit_bytes"])
    return size


@kernel
def from_on(state: State, transfer: int, index: int) -> int:
    """The first message from `index` on that is not empty; the number of messages if there is none."""
    row = state.transfers[u(transfer)]
    count = i64(row["count"])
    if row["small_bytes"] > 0 or row["qp"] == _NO_QP:
        return min(index, count)
    while index < count and size_bytes(state, transfer, index) == 0:
        index += 1
    return index


# ===== needs =====


@kernel
def _is_met(state: State, need: int, index: int) -> bool:
    """Whether message `index` of the need's later transfer has what it needs of the earlier one."""
    row = state.needs[need]
    earlier = state.transfers[row["earlier"]]
    wanted = min(i64(row["lead"]) + i64(row["per"]) * index, i64(earlier["count"]))
    if wanted <= 0:
        return True
    event = i64(row["event"])
    if event == _ARRIVED:
        return bool(i64(state.rtransfers[row["earlier"]]["arrived"]) >= wanted)
    if event == _COMPLETED:
        return bool(i64(earlier["completed"]) >= wanted)
    return bool(i64(earlier["posted"]) >= wanted)


@kernel
def _plan(state: State, device: int, transfer: int, now_ps: int) -> None:
    """Every need of the next message is met: put its posting into the host's heap; the caller schedules its head."""
    row, agenda = state.transfers[u(transfer)], state.agendas[device]
    ready_ps = max(now_ps, i64(row["start_ps"]))
    size = size_bytes(state, transfer, i64(row["posted"]))
    row["ready_ps"], row["size_bytes"] = ready_ps, size
    time_ps = ready_ps + i64(row["delay_ps"]) + size * i64(row["delay_fs_per_byte"]) // 1000
    heap_push(state.turns, i64(agenda["turns"]), i64(agenda["n_turns"]), time_ps, transfer, transfer)
    agenda["n_turns"] += 1


@kernel
def _schedule(state: State, device: int) -> None:
    """Set the host's TRANSFER event to the head of its heap."""
    agenda = state.agendas[device]
    time_ps, order = INFINITY_PS, 0
    if agenda["n_turns"] > 0:
        first = state.turns[i64(agenda["turns"])]
        row = state.transfers[first["item"]]
        time_ps, order = i64(first["time_ps"]), i64(row["number"]) + i64(row["posted"])
    calendar.schedule(state, device, calendar.aux_source(state, device, _TRANSFER), time_ps, order)


@kernel
def _prepare(state: State, device: int, transfer: int, now_ps: int) -> None:
    """Look at the needs of the next message, if there is one, and plan it if all are met."""
    row = state.transfers[u(transfer)]
    first, index, waits = i64(row["first_need"]), i64(row["posted"]), 0
    ended = index >= i64(row["count"])
    for need in range(first, first + i64(row["n_needs"])):
        met = ended or _is_met(state, need, index)
        state.needs[need]["met"] = 1 if met else 0
        if not met:
            waits += 1
    row["waits_for"] = waits
    if waits == 0 and not ended:
        _plan(state, device, transfer, now_ps)


@kernel
def _wake(state: State, device: int, first: int, count: int, now_ps: int) -> None:
    """A count of a transfer has grown at this host: look at the needs that name it, a part of State.wakes."""
    planned = False
    for place in range(first, first + count):
        need = i64(state.wakes[place])
        waiting = state.needs[need]
        if waiting["met"] != 0:
            continue
        later = i64(waiting["later"])
        if not _is_met(state, need, i64(state.transfers[u(later)]["posted"])):
            continue
        waiting["met"] = 1
        its = state.transfers[u(later)]
        its["waits_for"] -= 1
        if its["waits_for"] == 0:
            _plan(state, device, later, now_ps)
            planned = True
    if planned:
        _schedule(state, device)


@kernel
def _wake_completed(state: State, device: int, transfer: int, now_ps: int) -> None:
    row = state.transfers[u(transfer)]
    if row["n_completed"] > 0:
        _wake(state, device, i64(row["first_wake"]) + i64(row["n_arrived"]), i64(row["n_completed"]), now_ps)


@entry
def begin(state: State) -> None:
    """Before time 0: count empty messages at the front, and plan every message whose needs are met."""
    for transfer in range(i64(state.config[0]["n_transfers"])):
        index = from_on(state, transfer, 0)
        row = state.transfers[transfer]
        row["posted"], row["completed"] = index, index
        state.rtransfers[transfer]["arrived"] = index
    for transfer in range(i64(state.config[0]["n_transfers"])):
        _prepare(state, i64(state.transfers[transfer]["src"]), transfer, 0)
    for host in range(i64(state.config[0]["n_hosts"])):
        _schedule(state, host)
        calendar.note_first(state, host)


# ===== rows of messages =====


@kernel
def has_row(state: State, device: int) -> bool:
    """Whether the host has a free message row, taken from the common store if need be."""
    agenda, base = state.agendas[device], i64(state.config[0]["n_messages"])
    if agenda["free"] != 0:
        return True
    first = load_acquire(state.shared, _SPARE)
    while True:
        if first + _PORTION > state.messages.shape[0]:
            return False
        if replace_if(state.shared, _SPARE, first, first + _PORTION):
            break
        first = load_acquire(state.shared, _SPARE)
    for message in range(first, first + _PORTION):
        state.messages[u(message)]["next"] = message + 1
        state.issued[u(message - base)]["state"] = _FREE
    state.messages[u(first + _PORTION - 1)]["next"] = 0
    agenda["free"] = first
    return True


@kernel
def _give(state: State, device: int, message: int) -> None:
    """A message has ended: its row is free, or waits for the driver."""
    agenda, mark = state.agendas[device], state.issued[u(message - i64(state.config[0]["n_messages"]))]
    if state.config[0]["keep_messages"] != 0:
        mark["state"] = _DONE
        state.messages[u(message)]["next"] = agenda["done"]
        agenda["done"] = message
    else:
        mark["state"] = _FREE
        state.messages[u(message)]["next"] = agenda["free"]
        agenda["free"] = message


@entry
def release_done(state: State) -> None:
    """The driver has read every finished message: their rows are free."""
    base = i64(state.config[0]["n_messages"])
    for host in range(state.agendas.shape[0]):
        agenda = state.agendas[host]
        message = i64(agenda["done"])
        while message != 0:
            following = i64(state.messages[u(message)]["next"])
            state.issued[u(message - base)]["state"] = _FREE
            state.messages[u(message)]["next"] = agenda["free"]
            agenda["free"] = message
            message = following
        agenda["done"] = 0


@kernel
def _issue(state: State, device: int, transfer: int, now_ps: int) -> int:
    """Fill a free row with the transfer's next message; the row number. The host has a row (has_row)."""
    agenda, row = state.agendas[device], state.transfers[u(transfer)]
    message = i64(agenda["free"])
    made, there = state.messages[u(message)], state.rmessages[u(message)]
    place = message - i64(state.config[0]["n_messages"])
    agenda["free"] = made["next"]
    index, size, n_pkts = i64(row["posted"]), i64(row["size_bytes"]), 0
    if row["qp"] != _NO_QP:  # a computation has no queue pair, and no packets
        payload = i64(state.qps[u(i64(row["qp"]))]["payload_bytes"])
        n_pkts = (size + payload - 1) // payload
    made["qp"], made["next"], made["waits_for"], made["n_deps"] = row["qp"], 0, 0, 0
    made["size_bytes"], made["n_pkts"], made["base_psn"] = size, n_pkts, 0
    made["ready_ps"], made["delay_ps"], made["start_ps"], made["end_ps"] = row["ready_ps"], 0, now_ps, -1
    made["retransmitted_pkts"], made["failed"] = 0, 0
    there["arrived_ps"], there["first_ps"], there["hops"], there["received_pkts"] = -1, -1, 0, 0
    mark = state.issued[u(place)]
    mark["transfer"], mark["index"], mark["state"], mark["ready_ps"] = transfer, index, _LIVE, row["ready_ps"]
    return message


# ===== progress =====


@kernel
def due(state: State, device: int) -> int:
    """The transfer whose message is due."""
    return i64(state.turns[i64(state.agendas[device]["turns"])]["item"])


@kernel
def needs_row(state: State, transfer: int) -> bool:
    """Whether the next message gets a row: computations have one only for the driver."""
    return bool(state.transfers[u(transfer)]["qp"] != _NO_QP) or bool(state.config[0]["keep_messages"] != 0)


@kernel
def take_due(state: State, device: int, now_ps: int) -> int:
    """Take the message that is due from the heap; its row, or 0 for a computation, which is carried out."""
    agenda, transfer = state.agendas[device], due(state, device)
    row = state.transfers[u(transfer)]
    heap_pop(state.turns, i64(agenda["turns"]), i64(agenda["n_turns"]))
    agenda["n_turns"] -= 1
    if row["first_ps"] < 0:
        row["first_ps"] = now_ps
    # 0 where the needs had been met before the last posting.
    row["waited_ps"] += i64(row["ready_ps"]) - i64(row["posted_ps"])
    row["posted_ps"] = now_ps
    if row["qp"] != _NO_QP:
        return _issue(state, device, transfer, now_ps)
    if state.config[0]["keep_messages"] != 0:
        message = _issue(state, device, transfer, now_ps)
        state.messages[u(message)]["start_ps"] = row["ready_ps"]
        state.messages[u(message)]["end_ps"] = now_ps
        _give(state, device, message)
    row["completed"] = i64(row["posted"]) + 1
    row["completed_ps"] = now_ps
    row["done_messages"] += 1
    return 0


@kernel
def go_on(state: State, device: int, transfer: int, now_ps: int) -> None:
    """The transfer's message has been posted, or computed: the next one is that behind it."""
    row = state.transfers[u(transfer)]
    row["posted"] = from_on(state, transfer, i64(row["posted"]) + 1)
    _prepare(state, device, transfer, now_ps)
    if row["qp"] == _NO_QP:
        _wake_completed(state, device, transfer, now_ps)
    elif row["n_posted"] > 0:
        first = i64(row["first_wake"]) + i64(row["n_arrived"]) + i64(row["n_completed"])
        _wake(state, device, first, i64(row["n_posted"]), now_ps)
    _schedule(state, device)


@kernel
def count_failure(state: State, message: int) -> None:
    """A message of a failed queue pair, if it is one of a transfer. Its row stays: packets may still be under way."""
    if is_issued(state, message):
        mark = state.issued[u(message - i64(state.config[0]["n_messages"]))]
        state.transfers[mark["transfer"]]["failed_messages"] += 1


@kernel
def refuse(state: State, device: int, message: int) -> None:
    """A message was posted to a queue pair that had failed: nothing of it is sent."""
    count_failure(state, message)
    _give(state, device, message)


@kernel
def arrived(state: State, device: int, message: int, now_ps: int) -> None:
    """The last byte of a message arrived at this host: whatever waits for it goes on."""
    if not is_issued(state, message):
        release_dependents(state, device, message, 1, now_ps)
        return
    place = message - i64(state.config[0]["n_messages"])
    transfer, index = i64(state.issued[u(place)]["transfer"]), i64(state.issued[u(place)]["index"])
    row = state.rtransfers[u(transfer)]
    if index != row["arrived"]:
        state.ahead[u(place)] = row["ahead"]
        row["ahead"] = place
        return
    index = from_on(state, transfer, index + 1)
    # Rows in the list are live: the queue pair's earlier message was missing, so none of them can be acknowledged.
    before, place = 0, i64(row["ahead"])
    while place != 0:
        following = i64(state.ahead[u(place)])
        if state.issued[u(place)]["index"] != index:
            before, place = place, following
            continue
        if before == 0:
            row["ahead"] = following
        else:
            state.ahead[u(before)] = following
        index = from_on(state, transfer, index + 1)
        before, place = 0, i64(row["ahead"])
    row["arrived"], row["arrived_ps"] = index, now_ps
    its = state.transfers[u(transfer)]
    _wake(state, device, i64(its["first_wake"]), i64(its["n_arrived"]), now_ps)


@kernel
def acknowledged(state: State, device: int, message: int, now_ps: int) -> None:
    """A message is complete at its source, which is this host; its row may be another message's afterwards."""
    if not is_issued(state, message):
        release_dependents(state, device, message, 0, now_ps)
        return
    mark = state.issued[u(message - i64(state.config[0]["n_messages"]))]
    transfer, index = i64(mark["transfer"]), i64(mark["index"])
    row = state.transfers[u(transfer)]
    row["completed"], row["completed_ps"] = from_on(state, transfer, index + 1), now_ps
    row["done_messages"] += 1
    row["retransmitted_pkts"] += i64(state.messages[u(message)]["retransmitted_pkts"])
    _give(state, device, message)
    _wake_completed(state, device, transfer, now_ps)
