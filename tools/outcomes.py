"""A plugin of pytest that writes one JSON line for each test that ended: `-p tools.outcomes --outcomes FILE`.

Each line: {"id", "outcome", "seconds", "cpu_s", "message"}; `outcome` is passed, failed or skipped, `seconds` those of
set-up, call and tear-down, `cpu_s` the processor's seconds for them in this process and in children that have ended,
`message` the first line of what failed, or the reason of a skip. An expected failure has passed.
The lines are written as tests end, so that they are there after a kill.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import IO

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --outcomes."""
    parser.addoption("--outcomes", type=Path, help="write one JSON line for each test to this file")


def timed_files(outcomes: Path) -> Path:
    """Where a run with `--outcomes outcomes` lists the files that hold `timed` tests which it leaves out."""
    return outcomes.with_suffix(".timed")


@pytest.hookimpl(trylast=True)
def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """List files, so that the timed part need not collect the others; the first worker does it for all."""
    timed = sorted({item.nodeid.partition("::")[0] for item in items if item.get_closest_marker("timed")})
    if not timed:
        return
    config = items[0].config
    path = config.getoption("--outcomes")
    if path is not None and getattr(config, "workerinput", {"workerid": "gw0"})["workerid"] == "gw0":
        with timed_files(path).open("a", encoding="utf-8") as listed:  # several plugins leave tests out
            listed.writelines(f"{file}\n" for file in timed)


_BEGAN_CPU_S = pytest.StashKey[float]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, bool | None, bool | None]:
    """Note where the processor's time of the test begins."""
    item.stash[_BEGAN_CPU_S] = _cpu_s()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Give each report the processor's time so far; it travels from a worker to the process that writes."""
    report = yield
    report.cpu_s = round(_cpu_s() - item.stash[_BEGAN_CPU_S], 3)  # type: ignore[attr-defined]  # reports keep what is set
    return report


def _cpu_s() -> float:
    return sum(os.times()[:4])


def pytest_configure(config: pytest.Config) -> None:
    """Write in the process that gathers the reports, not in a worker of it."""
    path = config.getoption("--outcomes")
    if path is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Writer(path.open("w", encoding="utf-8")))


class _Writer:
    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._open: dict[str, dict[str, object]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Gather set-up, call and tear-down of a test. A worker that ends in a test: one report, of no such stage."""
        row = self._open.setdefault(
            report.nodeid, {"id": report.nodeid, "outcome": "passed", "seconds": 0.0, "cpu_s": 0.0, "message": ""}
        )
        row["seconds"] = round(float(str(row["seconds"])) + report.duration, 3)
        row["cpu_s"] = getattr(report, "cpu_s", row["cpu_s"])  # a worker that ended has none
        if report.failed and row["outcome"] != "failed":
            row |= {"outcome": "failed", "message": _first_line(report)}
        elif report.skipped and not hasattr(report, "wasxfail"):
            row |= {"outcome": "skipped", "message": _reason(report)}
        if report.when == "teardown" or report.when not in {"setup", "call"}:
            self._write(self._open.pop(report.nodeid))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that cannot be collected has failed as well."""
        if report.failed:
            self._write(
                {"id": report.nodeid, "outcome": "failed", "seconds": 0.0, "cpu_s": 0.0, "message": _first_line(report)}
            )

    def pytest_sessionfinish(self) -> None:
        """Close; a test that was interrupted has no line."""
        self._file.close()

    def _write(self, row: dict[str, object]) -> None:
        self._file.write(json.dumps(row) + "\n")
        self._file.flush()


def _first_line(report: pytest.TestReport | pytest.CollectReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    text = str(crash.message if crash is not None else report.longrepr or "")
    lines = [line.removeprefix("E ").strip() for line in text.splitlines() if line.strip()]
    return lines[0][:200] if lines else ""


def _reason(report: pytest.TestReport) -> str:
    where = report.longrepr
    return str(where[2] if isinstance(where, tuple) else where)[:200]
