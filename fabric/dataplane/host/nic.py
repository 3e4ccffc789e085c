"""The NIC's transmit side: ready queue pairs in round robin per class, queued frames, pacing.

Rules
1. A queue pair with work is READY (in its port's round robin for its class), WAITING (paced: in the host's heap until
   its next departure) or BLOCKED (window). A cut moves a departure later: the heap holds the time of the next check,
   which is never too late, and a READY queue pair that may not send yet becomes WAITING again.
2. Classes share the port by its scheduler; within a class, queued frames (ACK, NAK, CNP) go before new data.
3. PAUSE stops both data and queued frames of its class; other classes go on.
4. WAKE is scheduled only when the port has no frame before the heap's first departure (always on hosts with
   several ports, which share the heap).
5. Where packets of one queue pair leave by several ports (host/nic_ports), the round robin of a class is that of the
   NIC: its first port keeps the list, and a port's bit of the class says that the list may have a queue pair for it.
"""

from __future__ import annotations

import numpy as np

from fabric.dataplane.host import nic_ports, ns3_nic, sender, source_route
from fabric.dataplane.host.messages import heap_pop, heap_push
from fabric.dataplane.port import scheduler, transmit
from fabric.dataplane.port.drop import discard
from fabric.dataplane.port.flowcontrol import gate
from fabric.dataplane.port.flowcontrol import hooks as flow
from fabric.dataplane.state import calendar, semantics
from fabric.dataplane.state.codes import INFINITY_PS, Aux, DropReason, QpState
from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.types import NO_QP, State
from fabric.dataplane.transport import hooks
from fabric.dataplane.transport.laws import law

_WAKE = int(Aux.WAKE)
_IDLE, _READY, _WAITING = int(QpState.IDLE), int(QpState.READY), int(QpState.WAITING)
_BLOCKED, _FAILED = int(QpState.BLOCKED), int(QpState.FAILED)
_LINK_DOWN = int(DropReason.LINK_DOWN)
u = np.uint32


@hot
def _list_of(state: State, port: int, tc: int) -> int:
    """Row of the queue that keeps the ready queue pairs of a class for a port."""
    if nic_ports.several(state):
        port = i64(state.devices[state.ports[u(port)]["node"]]["first_port"])
    return port * 8 + tc


@kernel
def _offer(state: State, qp: int) -> None:
    """A ready queue pair waits for all ports that it may use."""
    row = state.qps[u(qp)]
    device, tc = i64(row["src"]), i64(row["tc"])
    first = i64(state.devices[device]["first_port"])
    for port in range(first, first + i64(state.devices[device]["n_ports"])):
        if nic_ports.may_use(state, device, qp, port):
            state.ports[u(port)]["nonempty"] = i64(state.ports[u(port)]["nonempty"]) | 1 << tc


@hot
def _enlist(state: State, qp: int) -> None:
    row = state.qps[u(qp)]
    port, tc = i64(row["port"]), i64(row["tc"])
    queue = state.queues[u(_list_of(state, port, tc))]
    row["state"] = _READY
    row["next"] = 0
    if nic_ports.several(state):
        _offer(state, qp)
    if queue["ready_tail"] == 0:
        queue["ready_head"] = qp + 1
        if not nic_ports.several(state):
            state.ports[u(port)]["nonempty"] = i64(state.ports[u(port)]["nonempty"]) | 1 << tc
    else:
        state.qps[u(i64(queue["ready_tail"]) - 1)]["next"] = qp + 1
    queue["ready_tail"] = qp + 1


@kernel
def _park(state: State, device: int, qp: int) -> None:
    host, row = state.hosts[device], state.qps[u(qp)]
    row["state"] = _WAITING
    heap_push(state.waits, i64(host["waits"]), i64(host["n_waits"]), i64(row["available_ps"]), qp, qp)
    host["n_waits"] += 1


@kernel
def _wake_due(state: State, device: int, now_ps: int) -> bool:
    """Enlist the queue pairs whose departure is due; returns whether there was one."""
    host, found = state.hosts[device], False
    base = i64(host["waits"])
    while host["n_waits"] > 0 and state.waits[base]["time_ps"] <= now_ps:
        qp = i64(state.waits[base]["item"])
        heap_pop(state.waits, base, i64(host["n_waits"]))
        host["n_waits"] -= 1
        if state.qps[u(qp)]["state"] == _FAILED:
            continue
        if state.qps[u(qp)]["available_ps"] > now_ps:
            _park(state, device, qp)
        else:
            _enlist(state, qp)
            found = True
    return found


@hot
def _schedule_wake(state: State, device: int, now_ps: int) -> None:
    host = state.hosts[device]
    time_ps = INFINITY_PS
    if host["n_waits"] > 0:
        # The first departure may be past: it was due while the port was busy, and a control frame went first.
        time_ps = max(i64(state.waits[i64(host["waits"])]["time_ps"]), now_ps)
    calendar.schedule(state, device, calendar.aux_source(state, device, _WAKE), time_ps, calendar.NEW_ORDER)


@hot
def _take_frame(state: State, port: int, tc: int) -> np.uint32:
    queue = state.queues[u(port * 8 + tc)]
    packet = queue["head"]
    queue["depth_bytes"] -= i64(state.packets[packet]["size"])
    queue["depth_pkts"] -= 1
    if packet == queue["tail"]:
        queue["head"] = queue["tail"] = 0
        if state.queues[u(_list_of(state, port, tc))]["ready_head"] == 0:
            scheduler.emptied(state, port, tc)
    else:
        queue["head"] = state.packets[packet]["next"]
    return packet


@kernel
def _take_for(state: State, device: int, port: int, tc: int) -> int:
    """Of the NIC's list of a class, take the first queue pair whose turn the port is, else the first that may use it;
    -1: none may.
    """
    queue = state.queues[u(_list_of(state, port, tc))]
    before, found, found_before = 0, 0, 0
    at = i64(queue["ready_head"])
    while at != 0:
        if nic_ports.may_use(state, device, at - 1, port):
            its_turn = nic_ports.in_turn(state, device, at - 1, tc) == port
            if its_turn or found == 0:
                found, found_before = at, before
            if its_turn:
                break
        before, at = at, i64(state.qps[u(at - 1)]["next"])
    if found == 0:
        scheduler.emptied(state, port, tc)
        return -1
    following = state.qps[u(found - 1)]["next"]
    if found_before == 0:
        queue["ready_head"] = following
    else:
        state.qps[u(found_before - 1)]["next"] = following
    if following == 0:
        queue["ready_tail"] = found_before
    if queue["ready_head"] == 0:
        first = i64(state.devices[device]["first_port"])
        for other in range(first, first + i64(state.devices[device]["n_ports"])):
            if state.queues[u(other * 8 + tc)]["head"] == 0:
                scheduler.emptied(state, other, tc)
    return found - 1


@hot
def _take_queue_pair(state: State, device: int, port: int, tc: int) -> int:
    if nic_ports.several(state):
        return _take_for(state, device, port, tc)
    queue = state.queues[u(port * 8 + tc)]
    qp = i64(queue["ready_head"]) - 1
    queue["ready_head"] = state.qps[u(qp)]["next"]
    if queue["ready_head"] == 0:
        queue["ready_tail"] = 0
        if queue["head"] == 0:
            scheduler.emptied(state, port, tc)
    return qp


@hot
def _put_back(state: State, device: int, port: int, qp: int, now_ps: int) -> None:
    row = state.qps[u(qp)]
    # Another port may be free before this one.
    free_ps = now_ps if nic_ports.several(state) else i64(state.ports[u(port)]["busy_until_ps"])
    if not sender.has_work(state, qp):
        row["state"] = _IDLE
    elif sender.is_blocked(state, qp):
        row["state"] = _BLOCKED
    elif row["available_ps"] <= free_ps:
        _enlist(state, qp)
    else:
        _park(state, device, qp)


@kernel
def transmit_next(state: State, device: int, port: int, now_ps: int) -> None:
    """The port is idle: send a control frame, a queued frame, or the next packet of a ready queue pair."""
    out, config = state.ports[u(port)], state.config[0]
    full_frame_bytes = i64(config["payload_bytes"]) + i64(config["data_header_bytes"])
    if out["up"] == 0:
        return
    while True:
        if out["ctrl_head"] != 0:
            transmit.send_control(state, device, port, now_ps)
            break
        if state.hosts[device]["n_waits"] > 0 and state.devices[device]["n_ports"] == 1:
            # Hosts with several ports leave this to WAKE, which kicks every port with a due queue pair.
            _wake_due(state, device, now_ps)
        eligible = gate.eligible(state, port)
        if eligible == 0:
            break
        tc = scheduler.pick(state, port, eligible, full_frame_bytes)
        queue = state.queues[u(port * 8 + tc)]
        if queue["head"] != 0:
            packet = _take_frame(state, port, tc)
            size_bytes = i64(state.packets[packet]["size"])
            transmit.launch(state, device, port, packet, transmit.occupy(state, port, size_bytes, now_ps))
            flow.sent(state, device, port, tc, size_bytes, now_ps)
            queue["sent_pkts"] += 1
            queue["sent_bytes"] += size_bytes
            break
        qp = _take_queue_pair(state, device, port, tc)
        if qp < 0:
            continue
        if not sender.has_work(state, qp):
            if state.qps[u(qp)]["state"] != _FAILED:
                state.qps[u(qp)]["state"] = _IDLE
            continue
        if i64(config["recovery"]) & 1 and sender.is_blocked(state, qp):
            state.qps[u(qp)]["state"] = _BLOCKED  # the missing packet for which it was enlisted has arrived
            continue
        if state.qps[u(qp)]["available_ps"] > now_ps:
            _park(state, device, qp)  # its rate was cut while the port was busy
            continue
        packet = sender.make_packet(state, device, port, qp, now_ps)
        size_bytes = i64(state.packets[packet]["size"])
        queue["sent_pkts"] += 1
        queue["sent_bytes"] += size_bytes
        end_ps = transmit.occupy(state, port, size_bytes, now_ps)
        flow.sent(state, device, port, tc, size_bytes, now_ps)
        sender.pace(state, device, qp, size_bytes, end_ps - now_ps, now_ps)
        transmit.launch(state, device, port, packet, end_ps)
        _put_back(state, device, port, qp, now_ps)
        break
    waiting = out["ctrl_head"] != 0 or gate.eligible(state, port) != 0
    if waiting and transmit.is_busy(state, port, now_ps):
        transmit.wake_when_free(state, device, port)
    if state.hosts[device]["n_waits"] > 0 and (not waiting or state.devices[device]["n_ports"] > 1):
        _schedule_wake(state, device, now_ps)


@hot
def kick(state: State, device: int, port: int, now_ps: int) -> None:
    """Something may have become eligible on this port."""
    if semantics.scans_queue_pairs(state):
        ns3_nic.kick(state, device, port, now_ps)
        return
    if state.ports[u(port)]["up"] == 0:
        return
    if not transmit.is_busy(state, port, now_ps):
        transmit_next(state, device, port, now_ps)
    elif state.ports[u(port)]["ctrl_head"] != 0 or gate.eligible(state, port) != 0:
        transmit.wake_when_free(state, device, port)


@kernel
def _start(state: State, device: int, qp: int, now_ps: int) -> None:
    """A queue pair has become ready: kick its port, or from its turn on those that it may use until one takes it."""
    row = state.qps[u(qp)]
    if not nic_ports.several(state):
        kick(state, device, i64(row["port"]), now_ps)
        return
    first, n_ports = i64(state.devices[device]["first_port"]), i64(state.devices[device]["n_ports"])
    port = nic_ports.in_turn(state, device, qp, i64(row["tc"]))
    for _ in range(n_ports):
        if row["state"] != _READY:
            return
        if nic_ports.may_use(state, device, qp, port):
            kick(state, device, port, now_ps)
        port = port + 1 if port + 1 < first + n_ports else first


@kernel
def activate(state: State, device: int, qp: int, now_ps: int) -> None:
    """A queue pair has something to send; no effect if it is already scheduled."""
    row = state.qps[u(qp)]
    if semantics.scans_queue_pairs(state):
        ns3_nic.activate(state, device, qp, now_ps)
        return
    if (row["state"] != _IDLE and row["state"] != _BLOCKED) or not sender.has_work(state, qp):
        return
    if state.config[law(state, qp)]["variable_window"] != 0:
        hooks.catch_up(state, device, qp, now_ps)  # the window is in proportion to the rate
    if sender.is_blocked(state, qp):
        return
    if row["available_ps"] <= now_ps:
        if nic_ports.several(state):
            row["available_ps"] = now_ps  # due from now on: it has waited for no port
        _enlist(state, qp)
        _start(state, device, qp, now_ps)
    else:
        _park(state, device, qp)
        _schedule_wake(state, device, now_ps)


@kernel
def _wake_in_turn(state: State, device: int, now_ps: int) -> None:
    """Start the queue pairs whose departure is due one after another, each from the port whose turn it is."""
    host = state.hosts[device]
    base = i64(host["waits"])
    while host["n_waits"] > 0 and state.waits[base]["time_ps"] <= now_ps:
        qp = i64(state.waits[base]["item"])
        heap_pop(state.waits, base, i64(host["n_waits"]))
        host["n_waits"] -= 1
        if state.qps[u(qp)]["state"] == _FAILED:
            continue
        if state.qps[u(qp)]["available_ps"] > now_ps:
            _park(state, device, qp)
        else:
            _enlist(state, qp)
            _start(state, device, qp, now_ps)
    _schedule_wake(state, device, now_ps)


@kernel
def on_wake(state: State, device: int, now_ps: int) -> None:
    """The heap's first departure has come."""
    if semantics.scans_queue_pairs(state):
        ns3_nic.on_wake(state, device, now_ps)
        return
    if nic_ports.several(state):
        _wake_in_turn(state, device, now_ps)
        return
    if not _wake_due(state, device, now_ps):
        _schedule_wake(state, device, now_ps)
        return
    first = i64(state.devices[device]["first_port"])
    for port in range(first, first + i64(state.devices[device]["n_ports"])):
        kick(state, device, port, now_ps)
    wake = calendar.aux_source(state, device, _WAKE)
    if state.hosts[device]["n_waits"] > 0 and state.devices[device]["n_ports"] > 1:
        _schedule_wake(state, device, now_ps)
    elif calendar.pending_ps(state, device, wake) == now_ps:
        # Not scheduled again. One update of the calendar in place of two: what is left in the heap is later than now.
        calendar.schedule(state, device, wake, INFINITY_PS, 0)


@kernel
def _follow_rates(state: State, device: int, now_ps: int) -> None:
    """Departures may be earlier after queue pairs have another line rate: order them again."""
    host = state.hosts[device]
    count, base = i64(host["n_waits"]), i64(host["waits"])
    for place in range(count):
        qp = i64(state.waits[base + place]["item"])
        heap_push(state.waits, base, place, i64(state.qps[u(qp)]["available_ps"]), qp, qp)
    if count > 0:
        _schedule_wake(state, device, now_ps)


@kernel
def change_line(state: State, device: int, port: int, now_ps: int) -> None:
    """A port has another speed (lanes lost or back): planned departures follow the new rates."""
    host = state.hosts[device]
    first = i64(host["first_qp_list"])
    for index in range(first, first + i64(host["n_qps"])):
        qp = i64(state.qp_list[index])
        if nic_ports.uses(state, device, qp, port) and state.qps[u(qp)]["line_bps"] > 0:
            hooks.change_line(state, qp, now_ps, nic_ports.line_bps(state, device, qp))
    if semantics.scans_queue_pairs(state):
        return
    _follow_rates(state, device, now_ps)
    for index in range(first, first + i64(host["n_qps"])):
        qp = i64(state.qp_list[index])  # the window is a share of the new speed: it may be open now
        varies = state.config[law(state, qp)]["variable_window"] != 0
        if varies and nic_ports.uses(state, device, qp, port) and state.qps[u(qp)]["state"] == _BLOCKED:
            activate(state, device, qp, now_ps)


@kernel
def change_ports(state: State, device: int, now_ps: int) -> None:
    """Queue pairs may leave by other ports than before: offer them those, with the rates of these."""
    host = state.hosts[device]
    first = i64(host["first_qp_list"])
    for index in range(first, first + i64(host["n_qps"])):
        qp = i64(state.qp_list[index])
        row = state.qps[u(qp)]
        if row["line_bps"] > 0 and row["line_bps"] != nic_ports.line_bps(state, device, qp):
            hooks.change_line(state, qp, now_ps, nic_ports.line_bps(state, device, qp))
        if row["state"] == _READY:
            _offer(state, qp)
    _follow_rates(state, device, now_ps)
    for index in range(first, first + i64(host["n_qps"])):
        qp = i64(state.qp_list[index])
        if state.qps[u(qp)]["state"] == _READY:
            _start(state, device, qp, now_ps)
        elif state.qps[u(qp)]["state"] == _BLOCKED and state.config[law(state, qp)]["variable_window"] != 0:
            activate(state, device, qp, now_ps)


@kernel
def queue_frame(state: State, device: int, port: int, packet: np.uint32, now_ps: int) -> None:
    """Send a frame made by this host (ACK, NAK, CNP) in its class, or in the control queue if the model has one for
    ACKs. Where several ports lead to its destination, `port` is not asked (host/nic_ports).
    """
    frame = state.packets[packet]
    tc, sender_row = i64(frame["tc"]), i64(state.config[0]["n_qps"]) + i64(frame["qp"])
    if nic_ports.several(state) and i64(frame["qp"]) != NO_QP:
        port = nic_ports.in_turn(state, device, sender_row, tc)
    out = state.ports[u(port)]
    if out["up"] == 0:
        discard(state, device, port, packet, _LINK_DOWN, now_ps, 0, 0, 0)
        return
    if state.config[0]["route_choice"] != 0 and i64(frame["qp"]) != NO_QP:
        source_route.encapsulate(state, device, port, packet, sender_row)
    if state.config[0]["ack_strict_at_host"] != 0:
        transmit.queue_control(state, device, port, packet, now_ps)
        return
    queue = state.queues[u(port * 8 + tc)]
    frame["next"] = 0
    depth = i64(queue["depth_bytes"]) + i64(frame["size"])
    queue["depth_bytes"] = depth
    queue["depth_pkts"] += 1
    queue["enqueued_pkts"] += 1
    queue["enqueued_bytes"] += i64(frame["size"])
    queue["watermark_bytes"] = max(i64(queue["watermark_bytes"]), depth)
    queue["peak_bytes"] = max(i64(queue["peak_bytes"]), depth)
    if queue["tail"] == 0:
        queue["head"] = packet
        out["nonempty"] = i64(out["nonempty"]) | 1 << tc
    else:
        state.packets[queue["tail"]]["next"] = packet
    queue["tail"] = packet
    kick(state, device, port, now_ps)
