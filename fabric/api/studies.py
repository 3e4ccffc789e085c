"""Studies for Python: sweeps, searches and what-if studies, with the folders and tables of the command line."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from os import PathLike, fspath
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

import pyarrow as pa
import yaml

from fabric.api.words import python_words
from fabric.errors import FabricError, InputErrors, Problem, RunDirError
from fabric.extras import SEARCH, SWEEP, check_installed, require
from fabric.reading import json_value
from fabric.runs import files
from fabric.studies import carry_out, integrity
from fabric.studies.dataset import POINTS, REPORT, StudyResults
from fabric.studies.plan import StudyPlan, build_study, examine, load_study
from fabric.studies.sweep import Standing

if TYPE_CHECKING:
    import pandas as pd

Source = str | PathLike[str] | Mapping[str, Any]
"""A study file, the name of a study that comes with the package, or the data of one."""
_UNNAMED: Final = "study.yml"


@dataclass(frozen=True, slots=True)
class StudyProgress:
    """Progress of a study."""

    done: int
    """Runs that have ended."""
    total: int
    """Planned so far: repetitions that depend on results are not counted. A search counts every seed of the trials that
    are left, and the confirmation of its front as it is now."""
    failed: int
    eta_s: float | None
    """Estimated wall time to the end over all workers; None where it is not known yet."""
    trials: int = 0
    """Trials of a search that have ended."""
    all_trials: int = 0
    """Trials of a search; 0: it is a sweep."""


class StudyResult:
    """The results of a sweep or a search. Files are read on demand; the study is never changed.

    A study that was given no directory owns a temporary one, which is removed by close(), at the end of a `with` block,
    or with the object.
    """

    def __init__(self, directory: Path, temporary: TemporaryDirectory[str] | None = None) -> None:
        self._results = StudyResults(directory)
        self._temporary = temporary

    @property
    def directory(self) -> Path:
        """The folder of the study (docs/study.md lists its files)."""
        return self._results.path

    @property
    def name(self) -> str:
        """Name of the study."""
        return str(self._results.index["name"])

    @property
    def status(self) -> str:
        """'done', 'interrupted', or 'running' (also of a study that was killed)."""
        return self._results.status

    @property
    def digest(self) -> str:
        """SHA-256 over the values of the table of runs; the same for any number of workers and interruptions."""
        return self._results.digest()

    @cached_property
    def figures(self) -> Mapping[str, Any]:
        """points.json, numbers in base units: intervals of every measure at every point, differences, Pareto front,
        effects; of a search the confirmed front, the chosen point and its patches. Raises: RunDirError without it.
        """
        file = self.directory / POINTS
        known = files.listed(self._results.index.get("products", {})).get(POINTS)
        fault = "missing" if known is None else known.fault(file)
        if fault:
            raise RunDirError(f"{file} is {fault}", "carry out the study again with resume=True")
        try:
            found: dict[str, Any] = json_value(file.read_bytes())
        except ValueError as error:
            raise RunDirError(
                f"{file} cannot be read: {error}", "carry out the study again with resume=True"
            ) from error
        return found

    @property
    def front(self) -> tuple[int, ...]:
        """Numbers of the points on the Pareto front; () where there is one objective or none."""
        found = self.figures["front"]
        return tuple(int(it["point"] if isinstance(it, dict) else it) for it in found)

    @property
    def chosen(self) -> Mapping[str, Any] | None:
        """Of a search: the chosen point with its settings and intervals; None of a sweep, or where there is none."""
        found: Mapping[str, Any] | None = self.figures.get("chosen")
        return found

    @property
    def patches(self) -> Mapping[str, tuple[str, ...]]:
        """Of a search: language of a switch -> the chosen point as lines of its configuration."""
        return {it["language"]: tuple(it["lines"]) for it in self.figures.get("patches", ()) if it["lines"]}

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """A row for each run, in the order of their numbers: point, seed, parameters, every metric, the scenario.

        Raises: RunDirError where a part is missing or damaged.
        """
        return self._results.runs(columns)

    def costs(self) -> pa.Table:
        """What each run took, and where: wall time, worker, attempts."""
        return self._results.costs()

    def to_pandas(self, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """As table(), as a pandas data frame. Raises: FabricError where pandas is not installed."""
        require("pandas", "use the Arrow table: study.table()")
        return self.table(columns).to_pandas()

    def report_html(self) -> str:
        """The report as one self-contained page."""
        return (self.directory / REPORT).read_text(encoding="utf-8")

    def verify(self) -> None:
        """Compare every file with its checksum. Raises: RunDirError with the damaged files."""
        _verify(self.directory)

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

    def __repr__(self) -> str:
        return f"<fabric.StudyResult {self.name!r}: {self.status}, {self._results.runs(['run']).num_rows} runs>"

    def _repr_html_(self) -> str:
        """For notebooks: name, status, and the figures of each point."""
        points = self.figures.get("points") or self.figures["front"]
        rows = "".join(
            f"<tr><td>{it['point']}</td><td>{escape(str(it['parameters']))}</td>"
            + "".join(f"<td>{found['mean']:g}</td>" for found in (it.get("measures") or it["objectives"]).values())
            + "</tr>"
            for it in points
        )
        return f"<div><strong>{escape(self.name)}</strong> {escape(self.status)}<table>{rows}</table></div>"


def sweep(
    study: Source,
    out: str | PathLike[str] | None = None,
    *,
    workers: int | None = None,
    dask: str | None = None,
    resume: bool = False,
    force: bool = False,
    yes: bool = False,
    progress: Callable[[StudyProgress], None] | None = None,
) -> StudyResult:
    """Simulate a scenario at every point of a study's design.

    Parameters
    ----------
    study       a study file, the name of one that comes with the package ('ecn-curve'), or a mapping with the same
                fields, whose scenarios are named relative to the working directory
    out         folder to write; without it a temporary one, which the result removes
    workers     processes on this machine; None: one for each processor that this process may use
    dask        address of a Dask scheduler, such as 'tcp://host:8786'; 'local': a cluster on this machine
    resume      do what is left of the study in `out`
    force       replace the study in `out`
    yes         start it even if it is likely to take more than an hour, or more memory than there is
    progress    called after each run, in this thread

    Returns: StudyResult. A run that failed is a row of the table, not an error. Raises: InputErrors for a study that
    cannot be carried out, RunDirError for the folder, FabricError where packages are missing or the workers are lost.
    KeyboardInterrupt on Ctrl-C. Finished runs are in `out` in every case, for `resume`.

    Worker processes load the main module again, as those of multiprocessing do: a script calls this below
    `if __name__ == '__main__':`.

    Example
    -------
    >>> with fabric.sweep('ecn-curve', workers=2) as study:
    ...     print(study.status, study.front)
    done (0, 1, 2, 3)
    """
    _check(out, workers, dask, resume=resume, force=force)
    with python_words():
        check_installed(*SWEEP)
        plan = _plan(study, search=False)
        examined = examine(plan)
        temporary, where = _folder(out)
        try:
            how = _how(where, workers, dask, progress, resume=resume, force=force, yes=yes)
            swept = carry_out.sweep(plan, examined, how)
        except BaseException:
            if temporary is not None:
                temporary.cleanup()
            raise
    if swept.interrupted:
        raise KeyboardInterrupt
    return StudyResult(where, temporary)


def tune(
    study: Source,
    out: str | PathLike[str] | None = None,
    *,
    workers: int | None = None,
    dask: str | None = None,
    resume: bool = False,
    force: bool = False,
    yes: bool = False,
    configs: str | PathLike[str] | None = None,
    progress: Callable[[StudyProgress], None] | None = None,
) -> StudyResult:
    """Search for the best points of a study, confirm them with new seeds, and choose one.

    Parameters are those of fabric.sweep; the study needs `tune` and `objectives` (docs/study.md). `configs`: a folder
    of configurations, for patches with their profiles, queues and ports.

    Returns: StudyResult with `chosen` and `patches`. Raises: as fabric.sweep, and FabricError where a worker was lost
    with its run: what is tried next follows from every result, so that `resume` does the lost run first.
    """
    _check(out, workers, dask, resume=resume, force=force)
    with python_words():
        check_installed(*SEARCH)
        plan = _plan(study, search=True)
        temporary, where = _folder(out)
        try:
            how = _how(where, workers, dask, progress, resume=resume, force=force, yes=yes)
            carry_out.tune(plan, replace(how, configs=None if configs is None else Path(configs)))
        except BaseException:
            if temporary is not None:
                temporary.cleanup()
            raise
    return StudyResult(where, temporary)


def open_study(directory: str | PathLike[str]) -> StudyResult:
    """The results in a folder that `fabric sweep`, `fabric tune`, or their Python functions wrote.

    Raises: RunDirError where there are none, or another version wrote them.
    """
    with python_words():
        return StudyResult(Path(directory))


def _plan(study: Source, *, search: bool) -> StudyPlan:
    if isinstance(study, Mapping):
        file = Path.cwd() / _UNNAMED
        text = str(yaml.safe_dump(dict(study), sort_keys=False, allow_unicode=True))
        return build_study(study, file, text, search=search)
    if not isinstance(study, (str, PathLike)):
        raise FabricError(f"a {type(study).__name__} is not a study", "give a path, a name, or a mapping")
    return load_study(Path(fspath(study)), search=search)


def _how(
    out: Path,
    workers: int | None,
    dask: str | None,
    progress: Callable[[StudyProgress], None] | None,
    *,
    resume: bool,
    force: bool,
    yes: bool,
) -> carry_out.How:
    def tell(at: Standing) -> None:
        if progress is not None:
            progress(StudyProgress(at.done, at.total, at.failed, at.eta_s, at.trials, at.all_trials))

    return carry_out.How(out, workers, dask, resume, force, yes, on_result=tell)


def _folder(out: str | PathLike[str] | None) -> tuple[TemporaryDirectory[str] | None, Path]:
    if out is not None:
        return None, Path(out)
    temporary = TemporaryDirectory(prefix="fabric-", ignore_cleanup_errors=True)
    return temporary, Path(temporary.name) / "study"


def check_workers(workers: int | None, dask: str | None) -> list[Problem]:
    """Problems of where runs are carried out.

    Raises: FabricError in a process that multiprocessing is still starting: the caller's script has no guard.
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise FabricError(
            "a worker process cannot start a study while it loads the main module",
            "put the call below `if __name__ == '__main__':`",
        )
    problems = []
    if workers is not None and workers < 1:
        problems.append(Problem("workers", f"{workers} processes are not possible", "give 1 or more"))
    if workers is not None and dask is not None and dask != carry_out.LOCAL_CLUSTER:
        problems.append(Problem("workers", "has no effect with dask", "the scheduler has its workers; leave it out"))
    return problems


def _check(
    out: str | PathLike[str] | None, workers: int | None, dask: str | None, *, resume: bool, force: bool
) -> None:
    """Every problem of the parameters together."""
    problems = check_workers(workers, dask)
    if resume and force:
        problems.append(Problem("resume", "contradicts force", "give one of them"))
    problems += [
        Problem(name, "has no effect without out", "name the directory, or leave it out")
        for name, given in (("resume", resume), ("force", force))
        if given and out is None
    ]
    if problems:
        raise InputErrors("parameters", problems)


def _verify(directory: Path) -> None:
    damaged = [f"{it.file}: {it.fault}" for it in integrity.examine(directory) if it.fault]
    if damaged:
        raise RunDirError(
            f"{len(damaged)} files of {directory} are damaged:\n  " + "\n  ".join(damaged),
            "restore them, or carry out the study again with force=True",
            many_lines=True,
        )
