"""The worst failure once more with all its events, explained by the parts that explain any run."""

from __future__ import annotations

import shutil
from pathlib import Path

from fabric.errors import RunDirError
from fabric.explain.evidence import Evidence
from fabric.explain.whole_run import explain_run
from fabric.render.document import Prose, Section
from fabric.runs.rundir import RunDir
from fabric.studies.simulation import Variant, simulate_variant
from fabric.visible import command
from fabric.whatif.damage import Effect
from fabric.whatif.measure import Measured, measured
from fabric.whatif.seeds import worst_seed
from fabric.whatif.study import Finding, Study

FOLDER = "worst"


def worst_of(study: Study) -> Finding | None:
    """The first failure of the ranking, if it has an effect."""
    return next(
        (
            it
            for it in study.findings
            if it.case.kind in {"failure", "double"} and it.damage is not None and it.damage.effect is not Effect.NONE
        ),
        None,
    )


def explained(study: Study, folder: Path) -> list[Section]:
    """Simulate the worst failure into `folder` and explain it; no section where no failure has an effect.

    A directory that an earlier call has left is used again if it is of the same run.
    """
    found = worst_of(study)
    run = None if found is None else worst_seed(found.runs)
    if found is None or run is None:
        return []
    out = folder / FOLDER
    if not _is_of(out, run.outcome.measured):
        shutil.rmtree(out, ignore_errors=True)
        question = study.question
        values = {} if run is found.runs[0] else {"run.seed": run.seed}
        simulate_variant(Variant(found.case.data, question.file, values, keep=out, confirmed=question.confirmed))
    seed = f" with run.seed={run.seed}" if len(found.runs) > 1 else ""
    document = explain_run(Evidence(RunDir.open(out)))
    blocks = [
        Prose(f"{found.case.what} {found.case.name}{seed}. {document.verdict}", document.status),
        *(block for section in document.sections for block in section.blocks),
        Prose(f"All of it: {command('fabric', 'report', out)}"),
    ]
    return [Section("worst", "The worst failure explained", tuple(blocks))]


def _is_of(out: Path, facts: Measured) -> bool:
    """Whether `out` holds a run with these facts. Digests cannot be compared: runs of a study record no events."""
    if not (out / "manifest.json").is_file():
        return False
    try:
        return measured(RunDir.open(out)) == facts
    except RunDirError:
        return False
