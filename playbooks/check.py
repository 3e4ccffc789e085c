"""One playbook and its healthy twin as a job of a worker process."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from fabric.errors import FabricError, InputErrors
from fabric.runs.simulate import Options
from playbooks import runner
from playbooks.schema import load_playbook
from playbooks.twin import TwinResult, run_twin


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of one playbook and of its twin."""

    name: str
    met: bool
    twin: TwinResult | None
    """None: the playbook declares none."""
    checks: int
    """Steps with checks."""
    alerts: tuple[str, ...]
    """Alerts that fired."""
    root: str
    """The first root that a step checks, as measured; '' where no step does."""
    problems: tuple[str, ...]
    """Why it failed, in sentences; none where it did not."""
    wall_s: float
    bad_input: bool = False
    """The file is no valid playbook, or cannot be prepared; the problems say why."""

    @property
    def passed(self) -> bool:
        """Whether the playbook was met and its twin silent."""
        return self.met and (self.twin is None or self.twin.silent)


def check(folder: Path) -> Checked:
    """Run a playbook in a temporary folder, and its twin in memory.

    Bad input (playbook.yml, its scenario, acts, hosts, twin) is a problem of its result, so that the others go on.
    """
    began = time.perf_counter()
    try:
        playbook = load_playbook(folder)
        prepared = runner.prepare(folder)
        with tempfile.TemporaryDirectory(prefix="fabric-playbook-") as work:
            result = runner.run(prepared, Options(out=Path(work) / "run"), page=False)
        twin = None if playbook.twin is None else run_twin(folder, playbook, playbook.twin)
    except FabricError as error:
        bad = isinstance(error, InputErrors)
        return Checked(folder.name, False, None, 0, (), "", (str(error),), time.perf_counter() - began, bad)
    failed = [f"{it.step.text} {line}" for it in result.steps for line in it.failed]
    alerts = () if result.alerts is None or result.alerts.met else result.alerts.lines
    expected = () if result.outcome.exit_code == 0 else ("an expectation of the scenario was not met",)
    return Checked(
        folder.name,
        result.met,
        twin,
        sum(it.met is not None for it in result.steps),
        () if result.alerts is None else result.alerts.fired,
        next(
            (line.rpartition(": ")[2] for it in result.steps for line in it.lines if line.startswith("root.kind")), ""
        ),
        (*failed, *alerts, *expected, *(() if twin is None else twin.lines)),
        time.perf_counter() - began,
    )
