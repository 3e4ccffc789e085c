"""What-if studies for Python: the damage of failures, maintenance and growth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from io import StringIO
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Final, Literal, Self

from fabric.api.scenarios import Scenario, Source, source_data
from fabric.api.studies import StudyProgress, check_workers
from fabric.api.words import python_words
from fabric.errors import InputErrors, Problem
from fabric.render.html import to_html
from fabric.render.text import console_for, print_document
from fabric.whatif.damage import Effect
from fabric.whatif.question import question_of
from fabric.whatif.seeds import spread
from fabric.whatif.study import Finding, place
from fabric.whatif.whole import Answer, answer

EffectWord = Literal["breaks", "loses", "slows", "none", "not-simulated"]
_WORDS: Final[Mapping[Effect, EffectWord]] = {
    Effect.BREAKS: "breaks",
    Effect.LOSES: "loses",
    Effect.SLOWS: "slows",
    Effect.NONE: "none",
}


@dataclass(frozen=True, slots=True)
class Failure:
    """One failure and its damage; it may stand for others that are equal by symmetry."""

    name: str
    kind: str
    """'link', 'optic', 'leaf', 'spine', 'risk-group', 'double', ..."""
    effect: EffectWord
    """breaks: hosts cut off, or work not delivered; loses: packets of lossless classes; slows: 2 % or more."""
    damage_ratio: float | None
    """1 - delivered / slowdown; None where the run failed."""
    hosts_cut: int | None
    undelivered: int | None
    """Messages and transfers that were delivered without the failure."""
    slowdown: float | None
    outage_ns: int | None
    """Longest time in which a host received nothing although it was behind; None: not measured."""
    equal: tuple[str, ...]
    """Names of all that this one stands for, its own included."""
    command: str
    """Command that repeats the run."""
    problem: str
    """Why the run failed; '' where it did not."""
    damage_half_width: float | None = None
    """Of several seeds: half of the 95 % interval of damage_ratio, which is their mean; effect, counts and outage are
    those of the worst seed. None with one seed."""


class WhatIf:
    """The findings of a what-if study, worst failure first.

    A study that was given no directory owns a temporary one, which is removed by close(), at the end of a `with` block,
    or with the object.
    """

    def __init__(self, directory: Path, found: Answer, temporary: TemporaryDirectory[str] | None = None) -> None:
        self.directory: Path = directory
        """Folder of the study: the findings, the run without a failure, and that of the worst failure."""
        self._found = found
        self._temporary = temporary
        file = found.study.question.file
        of_failures = [it for it in found.study.findings if it.case.kind in {"failure", "double"}]
        self.failures: tuple[Failure, ...] = tuple(_failure(it, file) for it in of_failures)
        """In order of damage."""

    @property
    def verdict(self) -> str:
        """The findings in one or two sentences."""
        return self._found.document.verdict

    @property
    def data(self) -> Mapping[str, Any]:
        """whatif.json: also redundancy, maintenance and growth, numbers in base units."""
        return self._found.data

    def html(self) -> str:
        """The findings as one self-contained page."""
        return to_html(self._found.document)

    def close(self) -> None:
        """Remove a temporary folder; one given by the caller is kept. May be called again."""
        if self._temporary is not None:
            self._temporary.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __str__(self) -> str:
        """The text of `fabric whatif`."""
        out = StringIO()
        print_document(self._found.document, console_for(out))
        return out.getvalue()

    def __repr__(self) -> str:
        return f"<fabric.WhatIf {self.verdict!r}>"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def whatif(
    scenario: Scenario | Source,
    out: str | PathLike[str] | None = None,
    *,
    kinds: Sequence[str] | None = None,
    only: Sequence[str] = (),
    double: Sequence[str] = (),
    drain: Sequence[str] = (),
    grow: Sequence[str] = (),
    singles: bool = False,
    run_all: bool = False,
    at: str | None = None,
    optic_errors: float | None = None,
    seeds: int = 1,
    workers: int | None = None,
    dask: str | None = None,
    resume: bool = False,
    yes: bool = False,
    progress: Callable[[StudyProgress], None] | None = None,
) -> WhatIf:
    """Simulate a scenario without a failure and then with one failure after the other, and rank them by damage.

    Parameters
    ----------
    scenario        what fabric.load takes, or what it returned
    out             folder of the study; without it a temporary one, which the result removes
    kinds           single failures of these kinds only: 'link', 'optic', 'leaf', 'spine', 'super-spine', 'switch',
                    'pod', 'plane', 'risk-group'
    only            single failures of parts with these names or patterns only, such as 'spine*'
    double          pairs that fail at the same time: 'spine1,spine2'
    drain           maintenance of these switches, pods or risk groups
    grow            more of something: 'pod', 'job', '400G:800G', or a value such as 'topology.spines=8'
    singles         every single failure beside double, drain or grow; without those it is the default
    run_all         simulate every part, not one for each group that is equal by symmetry
    at              when failures begin, such as '200us'; None: after a quarter of the run without a failure
    optic_errors    bit error ratio of a degraded optic, behind FEC; None: 1e-6
    seeds           runs of each case, with the scenario's seed and the numbers after it: intervals of the damage
    workers, dask, resume, yes, progress
                    as of fabric.sweep

    Returns: WhatIf. A run that failed is a failure with its problem, not an error. Raises: InputErrors for a scenario
    or parameters that cannot be used, RunDirError for the folder, FabricError where the scenario without a failure
    cannot be simulated. A script calls this below `if __name__ == '__main__':`, as fabric.sweep.
    """
    problems = check_workers(workers, dask)
    if resume and out is None:
        problems.append(Problem("resume", "has no effect without out", "name the directory, or leave it out"))
    for name, given in (("only", only), ("double", double), ("drain", drain), ("grow", grow), ("kinds", kinds)):
        if isinstance(given, str):
            problems.append(Problem(name, f"is the text {given!r}", f"give a list: {name}=[{given!r}]"))
    if problems:
        raise InputErrors("parameters", problems)
    with python_words():
        if isinstance(scenario, Scenario):
            data, file, sets = scenario.data, scenario.file, scenario.sets
        else:  # as written: run.reroute_delay is for the failures of the study, and refused in a run without any
            (data, file, _), sets = source_data(scenario), ()
        question = question_of(
            file, data, sets, kinds=kinds, only=only, double=double, drain=drain, grow=grow,
            singles=singles, run_all=run_all, at=at, optic_errors=optic_errors, confirmed=yes, seeds=seeds,
        )  # fmt: skip
        placed = place(question)
        temporary = TemporaryDirectory(prefix="fabric-", ignore_cleanup_errors=True) if out is None else None
        where = Path(temporary.name) / "study" if temporary else Path(out or "")

        def tell(done: int, every: int, _name: str) -> None:
            if progress is not None:
                progress(StudyProgress(done, every, 0, None))

        try:
            found = answer(question, placed, where, dask=dask, workers=workers, resume=resume, on_result=tell)
        except BaseException:
            if temporary is not None:
                temporary.cleanup()
            raise
    return WhatIf(where, found, temporary)


def _failure(it: Finding, file: Path) -> Failure:
    hurt = it.damage
    against = None if it.outcome is None else it.outcome.compared
    return Failure(
        it.case.name,
        it.case.what,
        "not-simulated" if hurt is None else _WORDS[hurt.effect],
        None if hurt is None else hurt.damage_ratio,
        None if hurt is None else hurt.hosts_cut,
        None if hurt is None else hurt.undelivered,
        None if hurt is None else hurt.slowdown,
        None if against is None else against.outage_ns,
        it.case.members or (it.case.name,),
        it.case.command(file),
        it.failure,
        None if (known := spread(it.runs)) is None else known.half_width,
    )
