"""Whether a run may begin: its estimate against the resources of the machine, before anything large is made.

Rules
1. An impossible run is refused: its least memory or disk space is more than there is, or it has more samples than
   MAX_SAMPLES, or more packets, messages or queue pairs than the engine can number. No option overrides a refusal.
2. A run that is likely to take more memory or disk space than there is, or longer than LONG_S, needs a confirmation.
3. Every objection names the field that decides most, and a value that fits.

Not here: the question to the user (the command line), measuring the machine (machine.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from fabric.errors import InputErrors, Problem
from fabric.scenario.estimate import machine as machines
from fabric.scenario.estimate.figures import PSN_LIMIT, ROW_LIMIT, Estimate, Share
from fabric.scenario.estimate.machine import Limit, Machine
from fabric.topology.quantities import exact_size, exact_time
from fabric.units import format_duration_s, format_measured_bytes

MAX_SAMPLES: Final = 1_000_000
"""Number of samples: a sample takes a millisecond or more, and its rows some kilobytes."""
LONG_S: Final = 3600.0
"""A run that is likely to take longer needs a confirmation. Every scenario, playbook and measurement that comes with
the package takes less than two minutes; the progress line of a shorter run shows its remaining time, and Ctrl-C keeps
the results so far. A run of more than an hour is usually left alone, and a wrong unit (10 s for 10 ms) is found the
next morning.
"""
STAGE: Final = "estimating the run"
YES: Final = "or confirm with --yes"
_MARGIN: Final = 0.8
"""Share of the available resource that a proposed value uses."""

Admit = Callable[[Estimate], None]
"""Called with the estimate of a fabric before it is built, and of the run before its messages are made.
Raises: InputErrors."""


@dataclass(frozen=True)
class Objection:
    """One reason not to begin."""

    problem: Problem
    final: bool
    """False: a confirmation is enough."""


@dataclass(frozen=True)
class Admission:
    """The check of one run.

    Parameters
    ----------
    file : str               of the scenario, for messages
    out : Path, optional     folder of the results; None: no results are written
    compiles_only : bool     no simulation: only the memory for compiling counts
    paced : bool             simulated time follows a clock, so the estimated time is ignored
    confirm : callable, optional    called where a confirmation is enough; None: the run is refused
    """

    file: str
    out: Path | None = None
    compiles_only: bool = False
    paced: bool = False
    confirm: Callable[[Sequence[Problem]], bool] | None = None
    machine: Callable[[], Machine] = field(default=machines.machine)

    def __call__(self, estimate: Estimate) -> None:
        """Raises: InputErrors with every objection."""
        found = self.objections(estimate)
        final = [it.problem for it in found if it.final]
        if final:
            raise InputErrors(STAGE, final)
        if found and (self.confirm is None or not self.confirm([it.problem for it in found])):
            raise InputErrors(STAGE, [it.problem for it in found])

    def objections(self, estimate: Estimate) -> list[Objection]:
        """All objections against the run."""
        return [
            *self._capacity(estimate),
            *self._memory(estimate),
            *(() if self.compiles_only else (*self._disk(estimate), *self._samples(estimate), *self._time(estimate))),
        ]

    # ===== each kind of objection =====

    def _capacity(self, estimate: Estimate) -> Iterator[Objection]:
        if estimate.longest_psn >= PSN_LIMIT:
            yield Objection(
                Problem(
                    f"{self.file}: {estimate.longest_field}",
                    f"{estimate.longest_psn:,.0f} packets on one queue pair are "
                    f"more than the {PSN_LIMIT - 1:,} that can be numbered",
                    "send less, in larger packets (transport.mtu) or on more queue pairs (transport.qp)",
                ),
                final=True,
            )
        for name in ("messages", "queue pairs"):
            figure = estimate.figures.get(name)
            if figure is not None and figure.least >= ROW_LIMIT:
                yield self._objection(
                    f"{figure.least:,.0f} {name} are more than the {ROW_LIMIT - 1:,} that can be numbered",
                    figure.least,
                    ROW_LIMIT,
                    estimate.shares["messages"],
                    final=True,
                )
                return

    def _memory(self, estimate: Estimate) -> Iterator[Objection]:
        here = self.machine()
        name = "memory to compile" if self.compiles_only else "memory"
        if here.memory is not None:
            has = here.memory.free_bytes + here.used_bytes
            yield from self._bytes(estimate, name, Limit(has, here.memory.name), "of memory")

    def _disk(self, estimate: Estimate) -> Iterator[Objection]:
        if self.out is None or "disk while it runs" not in estimate.figures:
            return
        space, largest = machines.disk(self.out), machines.largest_file_bytes()
        if space is not None:
            yield from self._bytes(estimate, "disk while it runs", space, "on disk")
        if largest is not None:
            yield from self._bytes(estimate, "disk", Limit(largest, "RLIMIT_FSIZE of this process"), "in its files")

    def _bytes(self, estimate: Estimate, name: str, limit: Limit, what: str) -> Iterator[Objection]:
        figure = estimate.figures[name]
        final = figure.least > limit.free_bytes
        if not final and figure.likely <= limit.free_bytes:
            return
        amount = figure.least if final else figure.likely
        text = (
            f"the run takes {'at least' if final else 'about'} {format_measured_bytes(amount, 3)} {what}; "
            f"there are {format_measured_bytes(limit.free_bytes, 3)} ({limit.name})"
        )
        yield self._objection(text, figure.likely, limit.free_bytes, estimate.shares[name], final=final)

    def _samples(self, estimate: Estimate) -> Iterator[Objection]:
        figure = estimate.figures.get("samples")
        if figure is not None and figure.least > MAX_SAMPLES:
            yield self._objection(
                f"at least {figure.least:,.0f} samples are more than {MAX_SAMPLES:,}",
                figure.least,
                MAX_SAMPLES,
                estimate.shares["samples"],
                final=True,
            )

    def _time(self, estimate: Estimate) -> Iterator[Objection]:
        figure = estimate.figures.get("time")
        if figure is None or self.paced or figure.likely <= LONG_S:
            return
        yield self._objection(
            f"the run is likely to take {format_duration_s(figure.likely)} on one thread of this "
            f"program's reference machine, more than {format_duration_s(LONG_S)}",
            figure.likely,
            LONG_S,
            estimate.shares["time"],
            final=False,
        )

    def _objection(self, text: str, amount: float, limit: float, shares: Sequence[Share], *, final: bool) -> Objection:
        """An objection at the field that decides most, with the value that fits if no other field changes."""
        found = sorted(shares, key=lambda it: -it.amount)
        if not found or not found[0].amount:
            return Objection(Problem(self.file, text, f"give it more{'' if final else f', {YES}'}"), final)
        decisive = found[0]
        left = limit * _MARGIN - (amount - decisive.amount)
        hint = _remedy(decisive, left)
        second = next((it.field for it in found[1:] if it.field != decisive.field and it.amount > limit / 10), "")
        if left <= 0 and second:
            hint += f", and {second}"
        return Objection(Problem(f"{self.file}: {decisive.field}", text, hint if final else f"{hint}, {YES}"), final)


def compiling(file: str) -> Admission:
    """The check of verbs that do not simulate: `fabric path`, `fabric scenario check`."""
    return Admission(file, compiles_only=True)


def _remedy(share: Share, left: float) -> str:
    """The value of a field at which its part is `left`."""
    name = share.field.rpartition(".")[2]
    if not share.value or not share.kind:
        return "lower it"
    if left <= 0:
        return f"{'raise' if share.growth < 0 else 'lower'} it"
    value = share.value * (left / share.amount) ** (1 / share.growth)
    if share.kind == "time":
        if name == "stop":
            return f"end {exact_time(_rounded(value))} after start, or earlier"
        return f"{name}: {exact_time(_rounded(value, up=share.growth < 0))}"
    if share.kind == "size":
        return f"{name}: {exact_size(_rounded(value))}"
    return f"{name}: {_rounded(value)}"


def _rounded(value: float, *, up: bool = False) -> int:
    """Two significant digits, at least 1."""
    if value < 1:
        return 1
    step = int(10 ** max(math.floor(math.log10(value)) - 1, 0))
    return max((math.ceil(value / step) if up else math.floor(value / step)) * step, 1)
