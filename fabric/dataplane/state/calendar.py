"""Calendar of a device: its event sources and the order among them.

A device has a fixed set of sources (data in, pause in and port free for each port, then codes.Aux) and every source
has at most one pending time. There are two orders of events at equal times (codes.Order):

SOURCE     keys `time << KEY_BITS | source` in one winner tree per device; the root is the device's next event.
INSERTION  one winner tree over all sources of all devices, ordered by (time, sequence number of the scheduling), as a
           global event list would be. The high bits of a sequence number are the nanosecond of the scheduling. With a
           tie key in the configuration a random number replaces it: events at equal times run in random order.

A source without a pending event holds INFINITY_PS.
"""

from __future__ import annotations

import numpy as np

from fabric.dataplane.state import ancestry
from fabric.dataplane.state.codes import INFINITY_PS, Order
from fabric.dataplane.state.compiled.jit import entry, hot, i64, kernel
from fabric.dataplane.state.rng import mix32
from fabric.dataplane.state.types import KEY_BITS, State

NEW_ORDER = -1
"""Pass as `order`: take the next sequence number."""

_SOURCE_ORDER = int(Order.SOURCE)
_WORD = 0xFFFFFFFF
_SOURCE_MASK = (1 << KEY_BITS) - 1
_IDLE_KEY = INFINITY_PS
_END_PS = INFINITY_PS >> KEY_BITS
u = np.uint32


@hot
def next_order(state: State, time_ps: int) -> int:
    """Take a sequence number for an event at time_ps (insertion order only; 0 otherwise)."""
    if state.config[0]["order"] == _SOURCE_ORDER:
        return 0
    return _number(state, time_ps)


@kernel
def _number(state: State, time_ps: int) -> int:
    config = state.config[0]
    order = i64(config["next_order"])
    config["next_order"] = order + 1
    key = i64(config["tie_key"])
    if key != 0:
        return mix32((mix32((order ^ key) & _WORD) + (order >> 32)) & _WORD)
    if config["ancestry_rows"] != 0:
        ancestry.note(state, order, time_ps)
    return order


@kernel
def begin_event(state: State, time_ps: int, order: int) -> None:
    """Insertion order: an event begins; events that it schedules get sequence numbers of this nanosecond."""
    config = state.config[0]
    config["event_order"] = order
    if time_ps != config["now_ps"]:
        config["now_ps"] = time_ps
        config["next_order"] = max(i64(config["next_order"]), ancestry.first_number(time_ps))


@kernel
def set_leaf(state: State, leaf: int, time_ps: int, order: int) -> None:
    """Insertion order: put (time, order) at a leaf of the global tree and replay its path to the root."""
    if order < 0 and time_ps < INFINITY_PS:
        order = _number(state, time_ps)
    node, winner = state.global_tree.shape[0] // 2 + leaf, leaf
    state.global_time[node], state.global_order[node] = time_ps, order
    while node > 1:
        other_ps = i64(state.global_time[node ^ 1])
        if other_ps < time_ps or (other_ps == time_ps and state.global_order[node ^ 1] < order):
            winner = i64(state.global_tree[node ^ 1])
            time_ps, order = other_ps, i64(state.global_order[node ^ 1])
        node >>= 1
        before = i64(state.global_tree[node])
        if winner == before and before != leaf:
            break  # this leaf was not and is not the first below this node, so no node above changes
        state.global_tree[node], state.global_time[node], state.global_order[node] = winner, time_ps, order


@hot
def schedule(state: State, device: int, source: int, time_ps: int, order: int) -> None:
    """Set a source's pending time; INFINITY_PS cancels. `order` is NEW_ORDER or a packet's own number."""
    row = state.devices[device]
    base = i64(row["tree"])
    if state.config[0]["order"] != _SOURCE_ORDER:
        set_leaf(state, (base >> 1) + source, time_ps, order)
        return
    tree = state.tree
    node = i64(row["leaves"]) + source
    key = _IDLE_KEY
    if time_ps < _END_PS:  # an event beyond the range of a key never comes
        key = (time_ps << KEY_BITS) | source
    tree[u(base + node)] = key
    while node > 1:
        sibling = tree[u(base + (node ^ 1))]
        key = min(key, sibling)
        node >>= 1
        tree[u(base + node)] = key


@hot
def aux_source(state: State, device: int, aux: int) -> int:
    """Source of an event of a device that belongs to none of its ports (codes.Aux)."""
    return 3 * i64(state.devices[device]["n_ports"]) + aux


@hot
def pending_ps(state: State, device: int, source: int) -> int:
    """The pending time of a source, or INFINITY_PS."""
    row = state.devices[device]
    base = i64(row["tree"])
    if state.config[0]["order"] != _SOURCE_ORDER:
        return i64(state.global_time[state.global_tree.shape[0] // 2 + (base >> 1) + source])
    key = i64(state.tree[u(base + i64(row["leaves"]) + source)])
    if key == _IDLE_KEY:
        return INFINITY_PS
    return key >> KEY_BITS


@hot
def schedule_earlier(state: State, device: int, source: int, time_ps: int) -> None:
    """Move a source's event to an earlier time; a later time changes nothing."""
    if time_ps < pending_ps(state, device, source):
        schedule(state, device, source, time_ps, NEW_ORDER)


@hot
def first_key(state: State, device: int) -> int:
    """Packed key of the device's next event (source order)."""
    return i64(state.tree[u(i64(state.devices[device]["tree"]) + 1)])


@hot
def key_time_ps(key: int) -> int:
    """Time of a packed key; INFINITY_PS for the idle key."""
    if key == _IDLE_KEY:
        return INFINITY_PS
    return key >> KEY_BITS


@hot
def key_source(key: int) -> int:
    """Source of a packed key."""
    return key & _SOURCE_MASK


@hot
def note_first(state: State, device: int) -> None:
    """Update next_ps after a change of a device's calendar outside run_device."""
    state.next_ps[state.devices[device]["slot"]] = key_time_ps(first_key(state, device))


@entry
def place(state: State, device: int, source: int, time_ps: int, order: int) -> None:
    """schedule() from outside a run (build, dated edits); updates next_ps."""
    schedule(state, device, source, time_ps, order)
    note_first(state, device)
