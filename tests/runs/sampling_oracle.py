"""The sampler that read observable by observable: slow, short, and the measure of what fabric.runs.series writes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.engine.counters import Snapshot
from fabric.dataplane.state.codes import N_CLASSES
from fabric.runs.observables import OBSERVABLES, POSITION, Scope
from fabric.runs.series import BY_SCOPE, ROW, n_rows, place
from fabric.units import PS_PER_NS


class SlowSampler:
    """Compares every value of every row with the last one written."""

    def __init__(self) -> None:
        self._last: dict[int, NDArray[np.int64]] = {}
        self._last_ps = 0

    def sample(self, now: Snapshot) -> NDArray[np.void]:
        """Rows (of ROW) of all values that changed since the previous call."""
        busy = self._last.get(POSITION["busy_ns"], np.zeros(len(now.ports), np.int64)).copy()
        found = []
        for scope in Scope:
            rows = np.arange(n_rows(now, scope))
            for observable in BY_SCOPE[scope]:
                code = POSITION[observable.name]
                last = np.zeros(rows.size, np.int64)
                before = self._last.get(code, last[:0])
                last[: before.size] = before
                value = observable.read(now, rows)
                if observable.name == "tx_utilisation_ratio":
                    elapsed_ns = (now.time_ps - self._last_ps) / PS_PER_NS
                    spent_ns = now.ports["busy_ps"] // PS_PER_NS - busy
                    value = spent_ns / elapsed_ns if elapsed_ns else last.view(np.float64)
                bits = np.asarray(value, np.float64 if OBSERVABLES[code].is_ratio else np.int64).view(np.int64)
                changed = rows[bits != last]
                part = np.empty(changed.size, ROW)
                part["time_ns"], part["observable"], part["value"] = now.time_ps // PS_PER_NS, code, bits[changed]
                part["device"], part["port"], part["class"], part["item"] = place(now, scope, changed)
                found.append(part)
                self._last[code] = bits.copy()
        self._last_ps = now.time_ps
        return np.concatenate(found)


def slow_pauses(prios: NDArray[Any], ports: NDArray[Any], time_ps: int) -> NDArray[Any]:
    """What with_present_pauses returns, field by field over the whole table."""
    found = prios.reshape(-1, N_CLASSES).copy()
    paused = (ports["paused"][:, np.newaxis] >> np.arange(N_CLASSES) & 1) != 0
    lasting = np.where(paused, np.maximum(time_ps - found["since_ps"], 0), 0)
    found["rx_paused_ps"] += lasting
    found["longest_ps"] = np.maximum(found["longest_ps"], lasting)
    found["recent_ps"] = np.where(paused, lasting, found["recent_ps"])
    found["tx_paused_ps"] += np.where(found["xoff_sent"] != 0, np.maximum(time_ps - found["sent_since_ps"], 0), 0)
    return found
