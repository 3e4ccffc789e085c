"""Retransmission timers of a host: one event for all queue pairs.

Deadlines only move later while a queue pair makes progress, so the host keeps one lower bound; when it comes, every
queue pair is looked at and the bound is set anew. No event per ACK.
"""

from __future__ import annotations

import numpy as np

from fabric.host import nic, sender
from fabric.port.pause import aux_source
from fabric.state import calendar
from fabric.state.codes import INFINITY_PS, Aux
from fabric.state.jit import i64, kernel
from fabric.state.types import State

_TIMEOUT = int(Aux.TIMEOUT)
u = np.uint32


@kernel
def on_timeout(state: State, device: int, now_ps: int) -> None:
    """Expire what is due and set the next look."""
    host = state.hosts[device]
    host["timeout_ps"] = INFINITY_PS
    calendar.schedule(state, device, aux_source(state, device, _TIMEOUT), INFINITY_PS, 0)
    first = i64(host["first_qp_list"])
    next_ps = INFINITY_PS
    for index in range(first, first + i64(host["n_qps"])):
        qp = i64(state.qp_list[index])
        if state.qps[u(qp)]["deadline_ps"] <= now_ps and sender.expire(state, device, qp, now_ps):
            nic.activate(state, device, qp, now_ps)
        next_ps = min(next_ps, i64(state.qps[u(qp)]["deadline_ps"]))
    host["timeout_ps"] = next_ps
    calendar.schedule(state, device, aux_source(state, device, _TIMEOUT), next_ps, calendar.NEW_ORDER)
