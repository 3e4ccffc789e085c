"""The evidence of a playbook's run: its run directory, and its metrics as they were at each moment."""

from __future__ import annotations

from fabric.explain.evidence import Evidence
from fabric.runs.rundir import RunDir
from fabric.units import PS_PER_NS
from telemetry.diagnosis.diagnose import diagnose
from telemetry.diagnosis.root import Root
from telemetry.record.store import Store


class RunEvidence(Evidence):
    """A finished run, with the metrics that were sampled while it was simulated."""

    def __init__(self, run: RunDir, store: Store) -> None:
        super().__init__(run)
        self.store = store
        self._roots: dict[int, list[Root]] = {}

    def roots(self, until_ps: int) -> list[Root]:
        """Root causes that telemetry/diagnosis names from the metrics up to a time."""
        if until_ps not in self._roots:
            self._roots[until_ps] = diagnose(self.store.until(until_ps // PS_PER_NS), self.fabric)
        return self._roots[until_ps]
