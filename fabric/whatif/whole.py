"""A whole what-if study in one call: claim the folder, simulate, explain the worst failure, write the findings."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabric.errors import InputErrors, Problem
from fabric.render.document import Document, Section
from fabric.render.html import to_html
from fabric.render.json import to_json
from fabric.runs.files import Sum, write_text
from fabric.studies.carry_out import LOCAL_CLUSTER, executor_of
from fabric.whatif.admission import Confirm, admitted, again, size_of
from fabric.whatif.page import compose
from fabric.whatif.results import DATA, PAGE, claimed
from fabric.whatif.study import Place, Question, Study, baselines, study
from fabric.whatif.worst import FOLDER, explained


@dataclass(frozen=True)
class Answer:
    """The findings of a study."""

    study: Study
    document: Document
    data: dict[str, Any]
    """whatif.json."""


def answer(
    question: Question,
    placed: Place,
    folder: Path,
    *,
    dask: str | None = None,
    workers: int | None = None,
    resume: bool = False,
    command: str = "",
    form: Callable[[Study, Sequence[Section], str], Document] = compose,
    on_result: Callable[[int, int, str], None] = lambda _done, _all, _name: None,
    confirm: Confirm = lambda _problems: False,
) -> Answer:
    """Simulate every case that `folder` does not have yet, and write whatif.json and whatif.html.

    Parameters
    ----------
    workers : int        processes on this machine; None: one for each processor that this process may use
    command : str        the command line that repeats the study, for the page
    form : callable      makes the page of the study, the sections on its worst failure, and the command
    on_result : callable gets (runs finished, runs in all, name of the last one)
    confirm : callable   asks the user about a study that is likely to be long, or to need more memory than there is

    Raises: InputErrors where it is too large or not confirmed, RunDirError for the folder, FabricError where the
    baseline cannot be simulated or the workers are lost: finished runs are kept, as they are on Ctrl-C.
    """
    here = dask in {None, LOCAL_CLUSTER}
    processes = (workers or len(os.sched_getaffinity(0))) if here else None
    size = size_of(question, placed)

    def accept(problems: Sequence[Problem]) -> bool:
        return question.confirmed or confirm(problems)

    if not resume:  # before there is a folder
        admitted(size, processes, size.least_runs, accept)
    with claimed(folder, question.identity(), resume=resume) as results:
        status = "interrupted"
        slots = admitted(size, processes, max(size.least_runs - len(results.found), 0), lambda _: True)

        def admit(runs: int) -> None:
            if runs > size.least_runs or (resume and runs):
                try:
                    admitted(size, processes, runs, accept)
                except InputErrors as error:
                    raise InputErrors(error.stage, again(error.problems)) from None

        sums: dict[str, Sum] = {}
        try:
            with executor_of(dask, slots) as executor:
                found = study(question, placed, results, executor, on_result, admit)
            document = form(found, explained(found, folder), command)
            write_text(folder / PAGE, to_html(document), sums)
            data = {
                "directory": str(folder),
                "page": str(folder / PAGE),
                **to_json(document),
                "measured": _measured(found),
            }
            write_text(folder / DATA, json.dumps(data, indent=2) + "\n", sums)
            status = "done"
        finally:
            kept = [it for it in (*baselines(question), FOLDER) if (folder / it / "manifest.json").is_file()]
            results.end(status, sums, kept)
    return Answer(found, document, data)


def _measured(found: Study) -> dict[str, object]:
    """Costs of the study."""
    outcomes = [it.outcome for it in found.findings if it.outcome is not None]
    return {
        "runs": found.runs,
        "wall_s": found.wall_s,
        "packet_hops": sum(it.packet_hops for it in outcomes),
        "peak_rss_bytes": max((it.peak_rss_bytes for it in outcomes), default=0),
    }
