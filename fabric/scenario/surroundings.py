"""Input of the generators of a scenario's workload, beside their specs."""

from __future__ import annotations

from fabric.errors import Problem
from fabric.scenario.job_files import read_job
from fabric.scenario.schema.scenario import Scenario
from fabric.topology.model import Fabric
from fabric.workload.batch import Surroundings
from fabric.workload.spec import JobLoad


def surroundings(scenario: Scenario, fabric: Fabric, problems: list[Problem]) -> Surroundings:
    """Of one pass over the workload: generators append their problems, and jobs what they hold."""
    jobs = [
        (f"{scenario.file.name}: workload[{number}]", spec.name or spec.kind, spec)
        for number, spec in enumerate(scenario.workload)
        if isinstance(spec, JobLoad)
    ]
    return Surroundings(
        fabric, scenario.run.seed, scenario.file.parent, problems, read_job, jobs=jobs, admission=scenario.admission
    )
