"""Job files and presets, as `fabric job` and `kind: job` name them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fabric.jobs.load import LoadedJob, load_job
from fabric.jobs.presets import JOBS
from fabric.jobs.spec import JobSpec
from fabric.scenario.load import apply_overrides
from fabric.scenario.yaml_input import FileKind, read_yaml


def read_job(file: str, sets: Sequence[str], folder: Path = Path()) -> LoadedJob:
    """A job file, relative to a folder, or a preset where there is no such file; with overrides 'parallel.tp=4'.

    Raises: InputErrors.
    """
    path = folder / file
    if file in JOBS and not path.exists():
        raw, name = dict(JOBS[file]), file
    else:
        kind = FileKind(
            "reading the job", "begin with 'model:', 'gpus:', 'batch:', 'compute:'", tuple(JOBS), "job", "model"
        )
        raw, name = read_yaml(path, kind), path.stem
    return load_job(apply_overrides(raw, sets, "job", tuple(JobSpec.model_fields)), file, name)
