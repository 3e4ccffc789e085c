"""Messages at both ends: posting, completion, and dependent messages.

A message is posted to its queue pair at its start time, or once all its dependencies are met at its source host
(`at_arrival`: the earlier message's last byte arrived here; else: it was completed here) plus its compute delay.
Pending postings are a heap per host, ordered by (time, number); its head is the host's START event.
"""

from __future__ import annotations

import numpy as np

from fabric.dataplane.state import calendar
from fabric.dataplane.state.codes import INFINITY_PS, Aux
from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.types import Heap, State

_START = int(Aux.START)
u = np.uint32


@hot
def before(heap: Heap, a: int, b: int) -> bool:
    """Heap order: (time, order)."""
    return bool(heap[a]["time_ps"] < heap[b]["time_ps"]) or (
        heap[a]["time_ps"] == heap[b]["time_ps"] and heap[a]["order"] < heap[b]["order"]
    )


@kernel
def heap_push(heap: Heap, base: int, count: int, time_ps: int, order: int, item: int) -> None:
    """Insert into the heap of `count` entries at `base`; the caller provides room."""
    place = count
    while place > 0:
        parent = (place - 1) >> 1
        above = heap[base + parent]
        if above["time_ps"] < time_ps or (above["time_ps"] == time_ps and above["order"] <= order):
            break
        row = heap[base + place]
        row["time_ps"], row["order"], row["item"] = above["time_ps"], above["order"], above["item"]
        place = parent
    row = heap[base + place]
    row["time_ps"], row["order"], row["item"] = time_ps, order, item


@kernel
def _sift_down(heap: Heap, base: int, count: int, place: int, time_ps: int, order: int) -> int:
    """Place for an entry (time, order) at or below the free `place` among `count` entries; earlier ones move up."""
    while True:
        child = 2 * place + 1
        if child >= count:
            return place
        if child + 1 < count and before(heap, base + child + 1, base + child):
            child += 1
        below = heap[base + child]
        if time_ps < below["time_ps"] or (time_ps == below["time_ps"] and order <= below["order"]):
            return place
        row = heap[base + place]
        row["time_ps"], row["order"], row["item"] = below["time_ps"], below["order"], below["item"]
        place = child


@kernel
def heap_pop(heap: Heap, base: int, count: int) -> None:
    """Remove the first of `count` entries at `base`."""
    last = count - 1
    moved = heap[base + last]
    time_ps, order, item = i64(moved["time_ps"]), i64(moved["order"]), i64(moved["item"])
    row = heap[base + _sift_down(heap, base, last, 0, time_ps, order)]
    row["time_ps"], row["order"], row["item"] = time_ps, order, item


@kernel
def heap_move(heap: Heap, base: int, count: int, place: int, time_ps: int) -> None:
    """Another time for the entry at a place among `count` entries at `base`."""
    order, item = i64(heap[base + place]["order"]), i64(heap[base + place]["item"])
    heap_push(heap, base, _sift_down(heap, base, count, place, time_ps, order), time_ps, order, item)


@kernel
def schedule_start(state: State, device: int, message: int, time_ps: int) -> None:
    """Put a message (row number) into its host's posting heap."""
    host = state.hosts[device]
    heap_push(state.starts, i64(host["starts"]), i64(host["n_starts"]), time_ps, message, message)
    host["n_starts"] += 1
    first = state.starts[i64(host["starts"])]
    calendar.schedule(
        state, device, calendar.aux_source(state, device, _START), i64(first["time_ps"]), i64(first["order"])
    )


@kernel
def pop_start(state: State, device: int) -> int:
    """Take the message that is due; schedules the next."""
    host = state.hosts[device]
    base = i64(host["starts"])
    message = i64(state.starts[base]["item"])
    heap_pop(state.starts, base, i64(host["n_starts"]))
    host["n_starts"] -= 1
    time_ps, order = INFINITY_PS, 0
    if host["n_starts"] > 0:
        time_ps, order = i64(state.starts[base]["time_ps"]), i64(state.starts[base]["order"])
    calendar.schedule(state, device, calendar.aux_source(state, device, _START), time_ps, order)
    return message


@kernel
def postpone_start(state: State, device: int, now_ps: int) -> None:
    """The posting that is due now comes after every event of its instant that is scheduled already."""
    host = state.hosts[device]
    base, count = i64(host["starts"]), i64(host["n_starts"])
    message, order = i64(state.starts[base]["item"]), calendar.next_order(state, now_ps)
    heap_pop(state.starts, base, count)
    heap_push(state.starts, base, count - 1, now_ps, order, message)
    first = state.starts[base]
    calendar.schedule(
        state, device, calendar.aux_source(state, device, _START), i64(first["time_ps"]), i64(first["order"])
    )


@kernel
def release_dependents(state: State, device: int, message: int, at_arrival: int, now_ps: int) -> None:
    """A message arrived (or was completed) at this host: its dependents have one dependency less."""
    row = state.messages[u(message)]
    first = i64(row["first_dep"])
    for index in range(first, first + i64(row["n_deps"])):
        dependent = state.dependents[index]
        if dependent["at_arrival"] != at_arrival:
            continue
        later = state.messages[dependent["message"]]
        later["waits_for"] -= 1
        later["ready_ps"] = max(i64(later["ready_ps"]), now_ps + i64(later["delay_ps"]))
        if later["waits_for"] == 0:
            schedule_start(state, device, i64(dependent["message"]), i64(later["ready_ps"]))
