"""A whole what-if study in one call: claim the folder, simulate, explain the worst failure, write the findings."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabric.render.document import Document, Section
from fabric.render.html import to_html
from fabric.render.json import to_json
from fabric.runs.files import Sum, write_text
from fabric.studies.carry_out import executor_of
from fabric.whatif.page import compose
from fabric.whatif.results import DATA, PAGE, claimed
from fabric.whatif.study import BASELINE, Place, Question, Study, study
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
) -> Answer:
    """Simulate every case that `folder` does not have yet, and write whatif.json and whatif.html.

    Parameters
    ----------
    workers : int        processes on this machine; None: one for each processor that this process may use
    command : str        the command line that repeats the study, for the page
    form : callable      makes the page of the study, the sections on its worst failure, and the command
    on_result : callable gets (runs finished, runs in all, name of the last one)

    Raises: InputErrors, RunDirError for the folder, FabricError where the baseline cannot be simulated or the workers
    are lost: finished runs are kept, as they are on Ctrl-C.
    """
    with claimed(folder, question.identity(), resume=resume) as results:
        status = "interrupted"
        sums: dict[str, Sum] = {}
        try:
            with executor_of(dask, workers or len(os.sched_getaffinity(0))) as executor:
                found = study(question, placed, results, executor, on_result)
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
            results.end(status, sums, [it for it in (BASELINE, FOLDER) if (folder / it / "manifest.json").is_file()])
    return Answer(found, document, data)


def _measured(found: Study) -> dict[str, object]:
    """Costs of the study."""
    outcomes = [it.outcome for it in found.findings if it.outcome is not None]
    return {
        "runs": len(found.findings) + 1,
        "wall_s": found.wall_s,
        "packet_hops": sum(it.packet_hops for it in outcomes),
        "peak_rss_bytes": max((it.peak_rss_bytes for it in outcomes), default=0),
    }
