"""A plugin of pytest-xdist: whole files, and a test in which its worker ends is not begun again: `-p tools.schedule`.

pytest-xdist 3.8 gives the file of such a test to the next worker with that test in it, so a test that hangs would end
every worker after its time.
"""

from __future__ import annotations

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling:
    """Schedule by file."""
    return _EachOnce(config, log)


class _EachOnce(LoadFileScheduling):
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
