"""A whole campaign: its folder, the runs that are left, and their rows.

A folder has campaign.json (which seeds, which rules) and journal.jsonl, a line with a checksum for each finished run
(fabric/studies/journal.py). Results are usable at any moment; a campaign that was interrupted is resumed by the same
command with --resume, if the rules are the same ones.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from fabric import __version__, dataplane, faults
from fabric.errors import InputErrors, RunDirError
from fabric.reading import MIB, json_value, read_text
from fabric.runs import files, lock
from fabric.studies import journal
from fabric.studies.jobs import Executor, Job
from fabric.studies.journal import Journal
from fabric.studies.sweep import Standing
from telemetry import alerting, campaign, catalogue, diagnosis
from telemetry.campaign.page import VIEWS
from telemetry.campaign.results import figures, pages
from telemetry.campaign.seeds import SIDES, Seed, Side
from telemetry.record import polling
from telemetry.sources import campaign_case as case_module
from telemetry.sources.campaign_case import campaign_case

INDEX: Final = "campaign.json"
_FORMAT: Final = 1
_AGAIN: Final = "start the campaign again with --force, or give another --out"
_AFTER: Final = frozenset({"page.py", "results.py", "calibration.py", "confidence.py", "changes.py", "rehearsed.py"})
"""Modules that only read finished rows."""


@dataclass
class Campaign:
    """The folder of a campaign, open for writing."""

    path: Path
    side: Side
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By seed, in the order in which they were finished."""
    lost: dict[str, str] = field(default_factory=dict)
    """Seed -> why its run has no result."""

    def run(self, seeds: Sequence[Seed], executor: Executor, on_result: Callable[[Standing], None]) -> None:
        """Carry out what is left; every finished run is on the disk before the next is asked for."""
        todo = deque(Job(it.text, it.text) for it in seeds if it.text not in self.rows)
        total, began, done = len(todo) + len(self.rows), time.monotonic(), 0
        _, whole = journal.read(self.path / journal.NAME)
        kept = Journal(self.path / journal.NAME, whole)
        try:
            for result in executor.results(campaign_case, todo):
                if result.failure is None:
                    self.rows[result.key] = result.value
                    kept.add(result.value)
                    done += 1
                else:
                    self.lost[result.key] = result.failure.text
                left = total - len(self.rows) - len(self.lost)
                eta = (time.monotonic() - began) / done * left if done else None
                on_result(Standing(len(self.rows), total, len(self.lost), eta))
        finally:
            kept.close()


def rules_digest() -> str:
    """Of all that a row follows from: the rules and thresholds that name roots, the alerts, metrics and polling, what
    draws, carries out and scores the cases, the faults and the engine. Results of different ones are not mixed. Pages
    and the table of confidence do not change a run.
    """
    content = sha256()
    packages = (diagnosis, alerting, campaign, catalogue, polling, faults, dataplane)
    sources = [(it.__name__, Path(it.__path__[0])) for it in packages]
    its = [(f"{name}/{file.relative_to(top)}", file) for name, top in sources for file in sorted(top.rglob("*.py"))]
    for name, file in [*its, (case_module.__name__, Path(case_module.__file__))]:
        if file.name not in _AFTER:
            content.update(name.encode() + b"\0" + file.read_bytes())
    return content.hexdigest()[:16]


@contextmanager
def opened(path: Path, side: Side, *, resume: bool, force: bool) -> Iterator[Campaign]:
    """The folder of a campaign. Raises: RunDirError."""
    index = path / INDEX
    about = {"format": _FORMAT, "version": __version__, "side": side, "rules": rules_digest()}
    if path.exists() and not path.is_dir():
        raise RunDirError(f"{path} is a file", "give another --out")
    held = path.is_dir() and any(it.name != lock.NAME for it in path.iterdir())
    if held and not index.is_file():
        raise RunDirError(f"{path} is not empty and holds no campaign", "give another --out")
    if held and not (resume or force):
        raise RunDirError(
            f"{path} holds a campaign", "give another --out, --resume to take it up again, or --force to replace it"
        )
    if resume and not held:
        raise RunDirError(f"{path} holds no campaign to resume", "leave --resume out to start one")
    rows: dict[str, dict[str, Any]] = {}
    if resume:
        if _about(path) != about:
            raise RunDirError(
                f"{path} is of other seeds, of other rules or of another engine",
                "give another --out, or --force to start again",
            )
        lines, _ = journal.read(path / journal.NAME)
        rows = {it["seed"]: it for it in lines}
    path.mkdir(parents=True, exist_ok=True)
    with lock.held(path):
        if not resume:
            (path / journal.NAME).unlink(missing_ok=True)
            files.write_json(index, about)
        yield Campaign(path, side, rows)


def read_campaign(path: Path) -> tuple[Side, str, list[dict[str, Any]]]:
    """(side, digest of the rules, rows by seed) of a finished or interrupted campaign. Raises: RunDirError."""
    about = _about(path)
    lines, _ = journal.read(path / journal.NAME)
    try:
        rows = sorted(lines, key=lambda it: int(it["seed"].partition("/")[2]))
        for view in VIEWS:
            figures(rows, view)
        pages(rows)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise RunDirError(f"{path / journal.NAME} has rows that are not of this version", _AGAIN) from error
    return about["side"], about["rules"], rows


def _about(path: Path) -> dict[str, Any]:
    """campaign.json of a folder. Raises: RunDirError."""
    index = path / INDEX
    if not os.path.lexists(index):
        raise RunDirError(f"{path} holds no campaign", "give the --out of a `fabric campaign`")
    try:
        found = json_value(read_text(index, MIB))
    except InputErrors as error:
        raise RunDirError(f"{index} {error.problems[0].text}", _AGAIN) from error
    except ValueError as error:
        raise RunDirError(f"{index} is damaged: {error}", _AGAIN) from error
    if not isinstance(found, dict) or found.get("format") != _FORMAT:
        raise RunDirError(f"{index} has another format than {_FORMAT}", _AGAIN)
    if not all(isinstance(found.get(name), str) for name in ("side", "rules")) or found["side"] not in SIDES:
        raise RunDirError(f"{index} has no valid `side` and `rules`", _AGAIN)
    return found
