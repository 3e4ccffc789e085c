"""Lines of progress of a search where standard error is no terminal."""

from __future__ import annotations

import io
import time

import pytest

from fabric.cli.terminal import bar
from fabric.cli.terminal.search_progress import SearchProgress
from tests.waiting import until


@pytest.fixture
def quick_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bar, "LINE_EVERY_S", 0.02)


@pytest.mark.usefixtures("quick_lines")
def test_a_step_that_takes_long_does_not_stop_the_lines() -> None:
    out = io.StringIO()
    with SearchProgress(out, quiet=False) as show:
        show.update(0, 4, "incast at leaf1 Ethernet0")
        until(lambda: out.getvalue().count("search: incast at leaf1 Ethernet0 (0%)\n") >= 2, "it is said again")
        show.update(1, 4, "step at leaf1 Ethernet0")
        until(lambda: out.getvalue().count("search: step at leaf1 Ethernet0 (25%, ") >= 2, "the next step is said")
    assert all(" left)" in line for line in out.getvalue().splitlines() if "(25%, " in line)


@pytest.mark.usefixtures("quick_lines")
def test_quiet_writes_nothing() -> None:
    out = io.StringIO()
    with SearchProgress(out, quiet=True) as show:
        show.update(0, 4, "incast at leaf1 Ethernet0")
        time.sleep(0.05)
    assert out.getvalue() == ""


class Broken(io.StringIO):
    """An output that cannot be written."""

    def write(self, _: str) -> int:
        raise OSError


@pytest.mark.usefixtures("quick_lines")
def test_an_output_that_cannot_be_written_does_not_end_the_search() -> None:
    with SearchProgress(Broken(), quiet=False) as show:
        show.update(0, 4, "incast at leaf1 Ethernet0")
        until(lambda: show._bar.quiet, "the failed line is noticed")
        show.update(1, 4, "step at leaf1 Ethernet0")
