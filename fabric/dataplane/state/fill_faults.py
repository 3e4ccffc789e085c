"""Rows of faults that may overlap on one port or host: counted losses, pause storms.

A port or host holds the first row of a list; row 0 is unused. Rows are never reused, so a list needs no other
bookkeeping: a run has as many rows as faults.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.state import types as t
from fabric.dataplane.state.codes import INFINITY_PS, Aux
from fabric.dataplane.state.fill_switches import schedule_from_outside


def key_of(fault: str) -> int:
    """A fault's name as a number that fits a table; 0 for none."""
    return int.from_bytes(blake2b(fault.encode(), digest_size=7).digest(), "big") if fault else 0


def lose_every(state: t.State, port: int, every: int, fault: str, *, all_kinds: bool = False) -> t.State:
    """Begin to lose every n-th data frame that arrives at a port, in addition to other faults; returns State with the
    row. `all_kinds`: of all frames but those of flow control, also acknowledgements, notifications and ARP.
    """
    if not fault:
        state.ports[port]["first_loss"] = 0
    if every == 0:
        return state
    losses = _longer(state.losses, t.LOSS)
    row = losses[-1]
    row["fault"], row["every"], row["next"] = key_of(fault), every, state.ports[port]["first_loss"]
    row["all_kinds"] = all_kinds
    state.ports[port]["first_loss"] = len(losses) - 1
    return state._replace(losses=losses)


def lose_no_more(state: t.State, port: int, fault: str) -> None:
    """A fault's losses at a port end."""
    before, at = 0, int(state.ports[port]["first_loss"])
    while at:
        following = int(state.losses[at]["next"])
        if int(state.losses[at]["fault"]) != key_of(fault):
            before = at
        elif before:
            state.losses[before]["next"] = following
        else:
            state.ports[port]["first_loss"] = following
        at = following


def begin_storm(
    state: t.State, host: int, port: int, classes: int, times: tuple[int, int, int], quanta: int
) -> t.State:
    """Begin a pause storm of a host, in addition to others; returns State with its row.

    Parameters
    ----------
    times : (now, end, gap) in ps
    """
    now_ps, until_ps, gap_ps = times
    storms = _longer(state.storms, t.STORM)
    row, owner = storms[-1], state.hosts[host]
    row["classes"], row["quanta"], row["gap_ps"], row["until_ps"] = classes, quanta, gap_ps, until_ps
    row["next_ps"], row["next"] = now_ps, owner["first_storm"]
    owner["first_storm"], owner["storm_port"] = len(storms) - 1, port
    schedule_from_outside(state, host, Aux.STORM, now_ps)
    return state._replace(storms=storms)


def end_storms(state: t.State, host: int) -> None:
    """All storms of a host end."""
    state.hosts[host]["first_storm"] = 0
    schedule_from_outside(state, host, Aux.STORM, INFINITY_PS)


def _longer(table: NDArray[Any], kind: np.dtype[Any]) -> NDArray[Any]:
    longer = t.rows(len(table) + 1, kind)
    longer[: len(table)] = table
    return longer
