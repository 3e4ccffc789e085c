"""The engine of a live run, with taps that may come and go while it runs.

Rules
1. Without a tap, this is LiveEmulator. With one, it stops at least once in each delay of a tapped cable and before each
   dated edit, so no frame passes by (fabric/capture/taps.py). More stops never change a result.
2. Events that only the tap needs are recorded only while it is attached, and are not among those of drain_events().
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fabric.capture.taps import RECORD, Sighting, Taps
from fabric.dataplane.engine.ordering import joined
from fabric.dataplane.state.codes import INFINITY_PS, EventKind, Stop, TraceBit
from fabric.scenario.compile.scenario import CompiledScenario
from fabric.scenario.inject import LiveEmulator

_KINDS: Final = {TraceBit.MARK: EventKind.MARK, TraceBit.DROP: EventKind.DROP}
"""Categories of RECORD, and the only event of each."""
Sink = Callable[[list[Sighting], int], None]
"""Takes frames in order, and the time before which none will come any more."""


class TappedEmulator(LiveEmulator):
    """The emulator of a pass. All methods belong to the simulation thread."""

    def __init__(self, compiled: CompiledScenario, **options: Any) -> None:  # noqa: ANN401  the base's own options
        super().__init__(compiled, **options)
        self._own = compiled.record
        self._hidden = [int(kind) for bit, kind in _KINDS.items() if not self._own & bit]
        self._tap: tuple[Taps, Sink] | None = None
        self._target_ps = 0
        """The next stop of the tap."""
        self._drained: list[NDArray[Any]] = []

    def attach(self, taps: Taps, sink: Sink) -> None:
        """From now on, give the frames of `taps` to `sink`; between two advances, when none has been cut short."""
        self._drained.append(super().drain_events())
        self.state.config[0]["trace_mask"] = int(self._own | RECORD)
        self._tap, self._target_ps = (taps, sink), 0

    def detach(self) -> None:
        """End attach(); the sink gets the frames that have passed."""
        if self._tap is None:
            return
        self._note()
        taps, sink = self._tap
        self._tap = None
        self.state.config[0]["trace_mask"] = int(self._own)
        sink(taps.rest(), self.now_ps + 1)

    def advance(self, until_ps: int, *, budget: int | None = None) -> Stop:
        """As the base; a stop of the tap counts as one window of the budget."""
        if self._tap is None:
            return super().advance(until_ps, budget=budget)
        left = budget
        while True:
            if self._target_ps <= self.now_ps:
                self._target_ps = min(self.now_ps + self._tap[0].step_ps(), self._edit_after(self.now_ps))
            bound_ps = min(until_ps, self._target_ps)
            stop = super().advance(bound_ps, budget=left)
            if stop is Stop.BUDGET:
                return stop  # devices are at different times: the tap reads at the next stop of all
            self._look()
            if stop is Stop.IDLE or bound_ps >= until_ps:
                return stop
            if left is not None:
                left -= 1
                if left < 1:
                    return Stop.BUDGET

    def drain_events(self) -> NDArray[Any]:
        """As the base, without the events that only the tap needs."""
        if self._tap is None and not self._drained:
            return super().drain_events()
        self._note()
        found, self._drained = joined(self._drained), []
        return found

    def _edit_after(self, now_ps: int) -> int:
        return next((edit.time_ps for edit in self._edits[self._applied :] if edit.time_ps > now_ps), INFINITY_PS)

    def _look(self) -> None:
        """Read the cables and the events at a stop of all devices."""
        assert self._tap is not None  # noqa: S101  advance() has seen it
        taps, sink = self._tap
        taps.read()
        self._note()
        sink(taps.settled(self.now_ps), self.now_ps - taps.longest_ps())

    def _note(self) -> None:
        rows = super().drain_events()
        if self._tap is not None:
            self._tap[0].note(rows)
        self._drained.append(rows[~np.isin(rows["kind"], self._hidden)] if self._hidden and rows.size else rows)
