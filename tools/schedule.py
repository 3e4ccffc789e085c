"""A plugin of pytest-xdist: whole files, the longest first; a test in which its worker ends is not begun again.

Loaded by `-p tools.schedule`. pytest-xdist 3.8 gives the file of such a test to the next worker with that test in it,
so a test that hangs would end every worker after its time.
"""

from __future__ import annotations

from typing import Final

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

LONGEST: Final = (
    "tests/reliability/test_reliability.py",
    "tests/telemetry/test_one_page.py",
    "tests/telemetry/test_storm_returns.py",
    "tests/lab/test_laboratory.py",
    "tests/telemetry/test_recipes.py",
    "tests/studies/test_dask.py",
    "tests/validate/test_robustness.py",
    "tests/telemetry/test_alert_corpus.py",
    "tests/fidelity/test_rows_asic.py",
    "tests/docs/test_page_commands.py",
    "tests/fidelity/test_mutants.py",
    "tests/test_wheel.py",
    "tests/goldens/test_goldens.py",
    "tests/cli/test_sweep.py",
    "tests/proof/test_every_proof.py",
    "tests/telemetry/test_dashboards.py",
    "tests/validate/test_robustness_languages.py",
    "tests/network/test_properties.py",
    "tests/telemetry/test_ready.py",
)
"""Files with slow tests of two minutes and more. They are begun first, so that no process is left with one alone."""

TOGETHER: Final = {"tests/validate/test_remedy_table.py": "tests/mistakes/test_mistakes.py"}
"""A file -> another one in whose process it runs, because both ask for one costly result (tests.mistakes.score)."""


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling:
    """Schedule by file."""
    return _EachOnce(config, log)


class _EachOnce(LoadFileScheduling):
    def _split_scope(self, nodeid: str) -> str:
        """Name the file whose tests go to one process together."""
        file = nodeid.partition("::")[0]
        return TOGETHER.get(file, file)

    def _assign_work_unit(self, node: WorkerController) -> None:
        """Give it the longest file that is left, else the one with most tests (pytest-xdist's own order)."""
        longest = next((file for file in LONGEST if file in self.workqueue), None)
        if longest is not None:
            self.workqueue.move_to_end(longest, last=False)
        super()._assign_work_unit(node)

    def remove_node(self, node: WorkerController) -> str | None:
        """Name the test in which a worker ended, and give the rest of its files to the others."""
        files = self.assigned_work.pop(node)
        for tests in files.values():
            for test, ended in tests.items():
                if ended:
                    continue
                tests[test] = True
                self.workqueue.update({file: left for file, left in files.items() if not all(left.values())})
                for other in self.assigned_work:
                    self._reschedule(other)
                return test
        return None
