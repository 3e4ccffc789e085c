"""Retransmission timers of a host: one event for all queue pairs.

Deadlines only move later while a queue pair makes progress, so the host keeps one lower bound; at that time it checks
every queue pair and computes the bound again. There is no event per ACK. With recovery out-of-order the same event
serves the timers of loss detection (host/scoreboard).
"""

from __future__ import annotations

import numpy as np

from fabric.dataplane.host import nic, scoreboard, sender
from fabric.dataplane.state import calendar
from fabric.dataplane.state.codes import INFINITY_PS, Aux, Recovery
from fabric.dataplane.state.compiled.jit import i64, kernel
from fabric.dataplane.state.types import State

_TIMEOUT = int(Aux.TIMEOUT)
_OUT_OF_ORDER = int(Recovery.OUT_OF_ORDER)
_MOST = 32
"""Queue pairs that one event may serve: each writes up to three rows of the event log (trace.margin)."""
u = np.uint32


@kernel
def on_timeout(state: State, device: int, now_ps: int) -> None:
    """Expire due timers and schedule the next check."""
    host = state.hosts[device]
    host["timeout_ps"] = INFINITY_PS
    calendar.schedule(state, device, calendar.aux_source(state, device, _TIMEOUT), INFINITY_PS, 0)
    first = i64(host["first_qp_list"])
    next_ps, served = INFINITY_PS, 0
    any_order = state.config[0]["recovery"] == _OUT_OF_ORDER
    for index in range(first, first + i64(host["n_qps"])):
        qp = i64(state.qp_list[index])
        if state.qps[u(qp)]["deadline_ps"] <= now_ps:
            served += 1
            if sender.expire(state, device, qp, now_ps):
                nic.activate(state, device, qp, now_ps)
        if any_order:
            if scoreboard.next_look_ps(state, qp) <= now_ps:
                served += 1
                if scoreboard.look(state, device, qp, now_ps):
                    nic.activate(state, device, qp, now_ps)
            next_ps = min(next_ps, scoreboard.next_look_ps(state, qp))
        next_ps = min(next_ps, i64(state.qps[u(qp)]["deadline_ps"]))
        if served >= _MOST:
            next_ps = now_ps  # the others at the same time, in the next event
            break
    # An activated queue pair may have sent, which sets a timer of one that was checked before.
    next_ps = min(next_ps, i64(host["timeout_ps"]))
    host["timeout_ps"] = next_ps
    calendar.schedule(state, device, calendar.aux_source(state, device, _TIMEOUT), next_ps, calendar.NEW_ORDER)
