"""A whole study in one call: claim the folder, estimate, carry out every run, analyse, write points.json and the page.

The command line and the Python interface differ in what they show on the way and in how they confirm a long study.
Neither is known here: both are functions given by the caller.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from fabric.errors import Problem
from fabric.extras import SEARCH, SWEEP, check_installed, require
from fabric.render.document import Document
from fabric.render.html import to_html
from fabric.runs import files
from fabric.runs.files import Sum, Sums
from fabric.studies.admission import admitted
from fabric.studies.analysis import Analysis, analysed
from fabric.studies.columns import run_schema
from fabric.studies.dataset import POINTS, REPORT, StudyResults, claimed
from fabric.studies.jobs import Executor
from fabric.studies.plan import Examined, StudyPlan, examine_corners
from fabric.studies.report import as_json, compose
from fabric.studies.search_size import search_totals
from fabric.studies.sweep import Ended, Standing, Sweep
from fabric.studies.sweep import about as about_study
from fabric.studies.tune import Tuned, Tuning
from fabric.studies.tune_report import chosen_patches, tune_document, tune_json, varied

if TYPE_CHECKING:
    from fabric.studies.config_patch import ConfigPatches
    from fabric.validate.fix.state import State

LOCAL_CLUSTER = "local"
"""The address of a Dask cluster on this machine."""


class Page(Protocol):
    """Composes the report of a study."""

    def __call__(self, found: Analysis, left_out: Mapping[int, str], *, complete: bool) -> Document:
        """As report.compose()."""
        ...


def _silent(_: Standing) -> None:
    return


def _unsaid(_runs: int, _where: str, _estimated_s: float) -> None:
    return


@dataclass(frozen=True)
class How:
    """How a study is carried out. The caller has checked that the choices agree."""

    out: Path
    """Folder of the results."""
    workers: int | None = None
    """Processes on this machine; None: one for each processor that this process may use."""
    dask: str | None = None
    """Address of a Dask scheduler, or 'local'; None: processes of this machine."""
    resume: bool = False
    force: bool = False
    confirmed: bool = False
    """Whether the user accepts a study or a run that is likely to be large."""
    confirm: Callable[[Sequence[Problem]], bool] = lambda _: False
    """Asks the user about the objections of the estimate."""
    configs: Path | None = None
    """Of a search: folder of configurations that get the chosen point as patches."""
    on_begin: Callable[[int, str, float], None] = _unsaid
    """Gets (runs to do, where, estimated wall time in s) once the workers are there."""
    on_result: Callable[[Standing], None] = _silent

    @property
    def processes(self) -> int:
        """Processes of this machine that may be used."""
        return self.workers or len(os.sched_getaffinity(0))

    @property
    def local_processes(self) -> int | None:
        """The same; None where the workers are elsewhere."""
        return self.processes if self.dask in {None, LOCAL_CLUSTER} else None


@dataclass(frozen=True)
class Swept:
    """A sweep that has ended: complete, or with runs left."""

    ended: Ended
    found: Analysis
    status: str
    """done, or interrupted."""
    digest: str | None
    """Of the table; None where runs are left."""
    interrupted: bool
    """Whether Ctrl-C ended it."""

    @property
    def complete(self) -> bool:
        """Whether every planned run is in the table."""
        return self.status == "done"


def executor_of(dask: str | None, slots: int) -> Executor:
    """What carries out the runs; `slots` is the number of processes on this machine.

    Where the engine has not been compiled yet, no other run begins before the first has ended: each worker would
    compile the same code.
    """
    from fabric.studies.code import is_first_use  # noqa: PLC0415  loads the compiler

    if dask is not None:
        from fabric.studies.dask import DaskWorkers  # noqa: PLC0415  an optional package

        return DaskWorkers(dask, slots, is_first_use)
    from fabric.studies.local import LocalProcesses  # noqa: PLC0415  as above

    return LocalProcesses(slots, is_first_use)


def sweep(plan: StudyPlan, examined: Examined, how: How, page: Page = compose) -> Swept:
    """Carry out the design of a study, or what is left of it. `page` composes the report that is kept with it.

    Raises: InputErrors where it is too large, RunDirError for the folder, FabricError where the workers are lost: the
    finished runs are kept.
    """
    check_installed(*SWEEP, *_for_dask(how))
    with claimed(how.out, run_schema(plan), resume=how.resume, force=how.force) as folder:
        about = about_study(plan, examined)
        finished = folder.resume(about) if how.resume else []
        left = Sweep(plan, examined, folder, finished, confirmed=how.confirmed)
        slots = admitted(plan, examined, how.local_processes, left.estimated_s, confirm=_confirm(how))
        if not how.resume:
            folder.begin(about)
        interrupted = False
        try:
            if left.todo:
                with executor_of(how.dask, slots) as executor:
                    how.on_begin(left.todo, executor.where, left.estimated_s / max(executor.slots, 1))
                    left.run(executor, how.on_result)
        except KeyboardInterrupt:
            interrupted = True
        finally:
            folder.end("done" if left.todo == 0 and not left.ended.lost else "interrupted")
        results = StudyResults(how.out)
        found = analysed(plan, results.runs())
        complete = results.status == "done"
        sums: dict[str, Sum] = {}
        files.write_json(how.out / POINTS, as_json(found), sums)
        files.write_text(how.out / REPORT, to_html(page(found, examined.invalid, complete=complete)), sums)
        folder.keep(sums)
        digest = results.digest() if complete else None
        return Swept(left.ended, found, results.status, digest, interrupted)


def tune(plan: StudyPlan, how: How) -> tuple[Tuned, Analysis, dict[str, Any]]:
    """Search for the best points of a study. Returns: what was found, the table's figures, the figures for JSON.

    Raises: as sweep(); LostRunsError where runs were lost, KeyboardInterrupt on Ctrl-C. The finished runs are kept.
    """
    by_cmaes = plan.study.tune is not None and plan.study.tune.sampler == "cmaes"
    check_installed(*SEARCH, *(("cmaes",) if by_cmaes else ()), *_for_dask(how))
    version = str(require("optuna").__version__)
    start = None if how.configs is None else _configs(how.configs)
    examined = examine_corners(plan)
    slots = how.local_processes
    whole = search_totals(plan, examined, slots or 1)
    with claimed(how.out, run_schema(plan), resume=how.resume, force=how.force) as folder:
        about = about_study(plan, examined)
        about["estimated_s"] = whole.time_s
        about["identity"] = f"{about['identity']}/optuna-{version}"  # another version asks for other points
        about["optuna"] = version
        finished = folder.resume(about) if how.resume else []
        left = max(whole.runs - len(finished), 0)
        left_s = whole.time_s * left / whole.runs
        slots = admitted(plan, examined, slots, left_s, confirm=_confirm(how))
        if not how.resume:
            folder.begin(about)
        status = "interrupted"
        try:
            with executor_of(how.dask, slots) as executor:
                how.on_begin(left, executor.where, left_s / max(executor.slots, 1))
                found = Tuning(plan, folder, finished, executor, how.on_result, confirmed=how.confirmed).run()
            status = "done"
        finally:
            folder.end(status)
        sums: dict[str, Sum] = {}
        if start is not None and found.chosen is not None:
            found.configs = _config_patches(found, start)
        analysis, facts = _written(found, how.out, sums)
        folder.keep(sums)
        return found, analysis, facts


def _for_dask(how: How) -> Sequence[str]:
    return () if how.dask is None else ("distributed",)


def _written(found: Tuned, out: Path, sums: Sums) -> tuple[Analysis, dict[str, Any]]:
    """points.json, the page and the patches of a search; their checksums go to `sums`."""
    table = StudyResults(out).runs()
    everywhere = replace(found.plan, workloads=(*found.plan.workloads, *found.plan.elsewhere))
    analysis = analysed(found.plan, table)
    facts = tune_json(found, analysed(everywhere, table))
    files.write_json(out / POINTS, facts, sums)
    files.write_text(out / REPORT, to_html(tune_document(found, analysis)), sums)
    for it in chosen_patches(found):
        if it.lines:
            files.write_text(out / f"patch-{it.language}.{it.suffix}", "\n".join(it.lines) + "\n", sums)
    for name, text in found.configs.files.items() if found.configs is not None else ():
        files.write_text(out / f"patch-{name}", text, sums)
    return analysis, facts


def _configs(folder: Path) -> State:
    from fabric.studies.config_patch import read_configs  # noqa: PLC0415  loads the checks of configurations

    return read_configs(folder)


def _config_patches(found: Tuned, start: State) -> ConfigPatches:
    from fabric.studies.config_patch import config_patches  # noqa: PLC0415  as above

    return config_patches(varied(found), json.loads(found.scenario), start)


def _confirm(how: How) -> Callable[[Sequence[Problem]], bool]:
    return (lambda _: True) if how.confirmed else how.confirm
