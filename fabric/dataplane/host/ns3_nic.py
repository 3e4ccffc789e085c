"""The NIC of the public ns-3 RDMA simulator: one list of queue pairs, scanned round robin for every packet.

The rules describe the simulator's scan; here an index replaces it (host/ns3_index).

Rules (exactly those of the simulator: the differences from host/nic move completion times)
1. Acknowledgements first: in the control queue, or, where they travel in the data class, in that class's queue and
   stopped by its pause.
2. The scan starts after the queue pair served last and takes the first that is not paused, has packets left, is not
   bound by its window and whose next departure has come.
3. Finished queue pairs are removed from the list during that scan, which shifts the others but not the pointer.
4. If none may send, one wake-up is scheduled at the earliest departure of those with packets left, if that is in the
   future and no wake-up is pending.
"""

from __future__ import annotations

import numpy as np

from fabric.dataplane.host import ns3_index, sender
from fabric.dataplane.port import transmit
from fabric.dataplane.port.flowcontrol import gate
from fabric.dataplane.port.flowcontrol import hooks as flow
from fabric.dataplane.state import bits, calendar
from fabric.dataplane.state.codes import INFINITY_PS, Aux
from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.types import State

_WAKE = int(Aux.WAKE)
u = np.uint32


@kernel
def _first_finished(state: State, device: int, first: int, end: int, with_left: bool) -> int:
    """The first finished queue pair among slots first..end-1; -1: none.

    After a go-back it may have packets left although the last one is acknowledged. The scan then sees it as
    finished only when it may not send.
    """
    slot = ns3_index.next_in(state, device, ns3_index.FINISHED, first)
    while slot >= 0 and slot < end:
        if with_left or not ns3_index.has_left(state, ns3_index.queue_pair(state, device, slot)):
            return slot
        slot = ns3_index.next_in(state, device, ns3_index.FINISHED, slot + 1)
    return -1


@kernel
def _remove_finished(state: State, device: int, first: int) -> None:
    """Remove every finished queue pair from a slot on from the list."""
    nic = state.nics[device]
    slot = first
    while slot >= 0:
        ns3_index.delist(state, device, slot)
        slot = ns3_index.next_in(state, device, ns3_index.FINISHED, slot + 1)
    low = ns3_index.next_in(state, device, ns3_index.LISTED, i64(nic["low"]))
    nic["low"] = low if low >= 0 else i64(nic["slots"])


@kernel
def _start(state: State, device: int) -> int:
    """The slot at which the scan starts: after the queue pair served last.

    Where queue pairs before it have been removed since, another one has its place on the list (rule 3).
    """
    host, nic = state.hosts[device], state.nics[device]
    if nic["cursor"] >= 0:
        return i64(nic["cursor"]) + 1
    place = (i64(host["scan_last"]) + 1) % i64(host["n_waits"])
    return bits.member_at(state, ns3_index.base_of(state, device, ns3_index.LISTED), i64(nic["low"]), place)


@hot
def _choose(state: State, device: int, start: int, now_ps: int) -> int:
    """The first slot from `start` on, and then from the beginning, whose queue pair may send; -1: none."""
    slot = ns3_index.next_in(state, device, ns3_index.READY, start)
    wrapped = slot < 0
    if wrapped:
        slot = ns3_index.next_in(state, device, ns3_index.READY, 0)
    while slot >= 0 and not (wrapped and slot >= start):
        if ns3_index.may_send(state, device, ns3_index.queue_pair(state, device, slot), now_ps):
            return slot
        slot = ns3_index.next_in(state, device, ns3_index.READY, slot + 1)
        if slot < 0 and not wrapped:
            wrapped = True
            slot = ns3_index.next_in(state, device, ns3_index.READY, 0)
    return -1


@hot
def _serve(state: State, device: int, slot: int, removed: bool) -> None:
    """Set the pointer to the served queue pair."""
    host, nic = state.hosts[device], state.nics[device]
    listed, cursor = ns3_index.base_of(state, device, ns3_index.LISTED), i64(nic["cursor"])
    if not removed and 0 <= cursor < slot:
        host["scan_last"] += bits.count(state, listed, cursor + 1, slot + 1)
    else:
        host["scan_last"] = bits.count(state, listed, i64(nic["low"]), slot)
    nic["cursor"] = slot


@kernel
def _scan(state: State, device: int, port: int, now_ps: int) -> int:
    """The queue pair that sends now, or -1; removes finished ones (rules 2 and 3)."""
    host, nic = state.hosts[device], state.nics[device]
    if host["n_waits"] == 0:
        return -1
    ns3_index.catch_up(state, device, now_ps)
    start, end, chosen = _start(state, device), i64(nic["slots"]), -1
    tc = i64(state.qps[ns3_index.queue_pair(state, device, i64(nic["low"]))]["tc"])
    paused = not gate.may_send(state, port, tc)
    if not paused:
        chosen = _choose(state, device, start, now_ps)
    # The first finished queue pair, in list order, among those that the scan has passed.
    if chosen < 0:
        finished = _first_finished(state, device, 0, end, paused)
    elif chosen >= start:
        finished = _first_finished(state, device, start, chosen, False)
    else:
        finished = _first_finished(state, device, 0, chosen, False)
        if finished < 0:
            finished = _first_finished(state, device, start, end, False)
    if finished >= 0:
        _remove_finished(state, device, finished)
    qp = -1
    if chosen >= 0:
        qp = ns3_index.queue_pair(state, device, chosen)
    if qp >= 0 and state.pairs[u(qp)]["slot"] != 0:
        _serve(state, device, chosen, finished >= 0)
    elif 0 <= finished <= i64(nic["cursor"]):
        nic["cursor"] = -1  # the pointer is a place on the list, which has moved up
    return qp


@kernel
def _schedule_wake(state: State, device: int, now_ps: int) -> None:
    earliest_ps = ns3_index.next_departure_ps(state, device)
    source = calendar.aux_source(state, device, _WAKE)
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
    flow.sent(state, device, port, tc, size_bytes, now_ps)


@kernel
def transmit_next(state: State, device: int, port: int, now_ps: int) -> None:
    """The port is idle: send the next frame by the rules."""
    out = state.ports[u(port)]
    if out["up"] == 0:
        return
    eligible = gate.eligible(state, port)
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
        packet = sender.make_packet(state, device, port, qp, now_ps)
        size_bytes = i64(state.packets[packet]["size"])
        tc = i64(state.packets[packet]["tc"])
        state.queues[u(port * 8 + tc)]["sent_pkts"] += 1
        state.queues[u(port * 8 + tc)]["sent_bytes"] += size_bytes
        end_ps = transmit.occupy(state, port, size_bytes, now_ps)
        flow.sent(state, device, port, tc, size_bytes, now_ps)
        transmit.launch(state, device, port, packet, end_ps)
        sender.pace(state, device, qp, size_bytes, end_ps - now_ps, now_ps)
        ns3_index.refresh(state, device, qp, now_ps)
    transmit.wake_when_free(state, device, port)


@kernel
def kick(state: State, device: int, port: int, now_ps: int) -> None:
    """Something may have become eligible on this port."""
    if state.ports[u(port)]["up"] == 0:
        return
    if transmit.is_busy(state, port, now_ps):
        transmit.wake_when_free(state, device, port)
    else:
        transmit_next(state, device, port, now_ps)


@kernel
def activate(state: State, device: int, qp: int, now_ps: int) -> None:
    """A queue pair has changed: it has more to send, or its window has opened."""
    ns3_index.refresh(state, device, qp, now_ps)
    kick(state, device, i64(state.qps[u(qp)]["port"]), now_ps)


@kernel
def on_wake(state: State, device: int, now_ps: int) -> None:
    """The first planned departure of the host has come."""
    calendar.schedule(state, device, calendar.aux_source(state, device, _WAKE), INFINITY_PS, 0)
    first = i64(state.devices[device]["first_port"])
    for port in range(first, first + i64(state.devices[device]["n_ports"])):
        kick(state, device, port, now_ps)
