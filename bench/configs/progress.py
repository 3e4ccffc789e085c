"""The line of a long measurement: the step, the share of the estimated time, and the time left at the pace so far."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Final

from bench.configs.estimate import Cost, Pair
from fabric.cli.terminal.bar import Bar
from fabric.units import format_duration_s

_PARTS: Final = 1000
_RUNNING: Final = 0.99
"""Share of its estimate that a step has done at most, however long it runs."""


class Progress:
    """Steps of the measurements, each with the time that it is likely to take.

    Step 0 of a pair writes its files, step 1 is the working fabric, and then follows mutant after mutant.

    Parameters
    ----------
    bar : Bar
    costs : mapping       in the order of the measurements
    clock : callable      seconds, which only rise
    """

    def __init__(self, bar: Bar, costs: Mapping[Pair, Cost], clock: Callable[[], float] = time.monotonic) -> None:
        self._bar = bar
        self._clock = clock
        self._expected_s = {pair: [it.prepare_s, *[it.run_s] * it.runs] for pair, it in costs.items()}
        self._all_s = sum(map(sum, self._expected_s.values()))
        self._done_s = 0.0
        """Of the estimate, in steps that are finished."""
        self._took_s = 0.0
        """Time of these steps by the clock."""
        self._step: tuple[Pair, int] | None = None
        self._begun_s = 0.0

    def tick(self, pair: Pair, number: int | None) -> None:
        """A step begins, and the one before is finished; None: a step still runs."""
        if number is not None:
            self._finish()
            self._step, self._begun_s = (pair, number), self._clock()
        self._show()

    def end(self, text: str) -> None:
        """The measurement is finished; steps of mutants that could not be made are left out."""
        if self._step is not None:
            pair, number = self._step
            self._all_s -= sum(self._expected_s[pair][number + 1 :])
        self._finish()
        self._bar.say(text)

    def _show(self) -> None:
        if self._step is None:
            return
        pair, number = self._step
        pace = self._took_s / self._done_s if self._done_s else 1.0
        running_s = min(self._clock() - self._begun_s, _RUNNING * self._expected_s[pair][number] * pace)
        done_s, all_s = self._done_s * pace + running_s, self._all_s * pace
        what = {0: "writing the files", 1: "the working fabric"}.get(number, f"mutant {number - 1} of {pair.mutants}")
        left = f"about {format_duration_s(max(all_s - done_s, 0.0))} left".replace("about less", "less")
        share = done_s / all_s if all_s else 0.0
        self._bar.show(round(_PARTS * share), _PARTS, f"{pair.language} {pair.switches:,}: {what}, {left}")

    def _finish(self) -> None:
        if self._step is not None:
            pair, number = self._step
            if self._expected_s[pair][number]:  # a step that nothing was known of says nothing of the pace
                self._took_s += self._clock() - self._begun_s
                self._done_s += self._expected_s[pair][number]
            self._step = None
