"""The smallest changes that clear the findings of a verdict, for Python: what `fabric validate --fix` finds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Literal

from fabric.api.words import python_words
from fabric.errors import InputErrors, Problem
from fabric.topology.select import nearest
from fabric.validate.fix import files
from fabric.validate.fix.search import Plan, find
from fabric.validate.judge import Request
from fabric.validate.output import data, fix, page
from fabric.validate.runner import Verdict as Judged


@dataclass(frozen=True, slots=True)
class Change:
    """One change of one switch, or of one host's settings. It was tried on a copy of the files in memory."""

    device: str
    text: str
    """Field and value in words."""
    source: str
    """Where the value is from: the remedy of a check, the baseline, or what most peers have."""
    clears: tuple[tuple[str, str, str], ...]
    """Findings that it clears, with the other changes for the same cause: (check, device, object)."""
    command: str | None
    """One line that makes the change; None where only the patch does."""


@dataclass(frozen=True, slots=True)
class Unfixed:
    """A cause without a change."""

    check: str
    devices: tuple[str, ...]
    text: str
    """What was found."""
    reason: str
    """Why there is no change."""


class Fixes:
    """Changes of one validation, the warnings and errors that they clear, and those that they do not."""

    def __init__(self, plan: Plan, judged: Judged) -> None:
        self._plan, self._judged = plan, judged
        self.changes: tuple[Change, ...] = tuple(
            Change(it.device, it.what, it.source, step.cleared, it.command or None)
            for step in plan.steps
            for it in step.changes
        )
        self.left: tuple[Unfixed, ...] = tuple(
            Unfixed(it.cause.check.id, tuple(it.cause.devices), it.cause.first.text, it.reason) for it in plan.left
        )
        self.patches: dict[str, str] = files.patches(plan)
        """File name to its text: 'leaf1.patch.json' (RFC 6902) for SONiC, else 'leaf1.commands.txt'."""

    @property
    def asked(self) -> int:
        """Warnings and errors that were to be cleared."""
        return self._plan.findings(self._plan.asked)

    @property
    def gone(self) -> int:
        """Those that the changes clear. None is new."""
        return self._plan.findings(self._plan.gone)

    def write_patches(self, folder: str | PathLike[str]) -> list[Path]:
        """Write the patches to a folder that is new, empty, or of an earlier call. Raises: InputErrors, OSError."""
        with python_words():
            return files.write_patches(self._plan, Path(folder))

    def write_copies(self, folder: str | PathLike[str]) -> list[Path]:
        """Write all files that were read to such a folder, with the changes in them. Raises: InputErrors, OSError."""
        with python_words():
            files.refuse(self._plan.start.request, Path(folder), "--fix-apply")
            return files.write_copies(self._plan, Path(folder))

    def render(self, style: Literal["text", "json", "sarif", "markdown"] = "text") -> str:
        """As `fabric validate --fix --format` writes it. Raises: InputErrors for an unknown format."""
        plan, judged = self._plan, self._judged
        writers: dict[str, Callable[[], str]] = {
            "text": lambda: fix.as_text(plan, []),
            "json": lambda: data.as_json(judged, fix.as_data(plan)),
            "sarif": lambda: data.as_sarif(judged, fix.sarif_fixes(plan)),
            "markdown": lambda: page.as_markdown(judged) + fix.as_markdown(plan),
        }
        if style not in writers:
            hint = nearest(style, list(writers))
            raise InputErrors("parameters", [Problem("style", f"{style!r} is not a format of fixes", hint)])
        return writers[style]()

    def __repr__(self) -> str:
        return f"<fabric.Fixes: {len(self.changes)} changes clear {self.gone} of {self.asked} findings>"


def fixes_of(request: Request, judged: Judged) -> Fixes:
    """Search for the changes. Raises: InputErrors."""
    with python_words():
        return Fixes(find(request, judged), judged)
