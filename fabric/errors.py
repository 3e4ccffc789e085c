"""Every error this project raises on purpose.

    FabricError                     exit 2 unless a subclass says otherwise
    ├── UnitError                   a quantity that cannot be read ('400' where '400G' is needed)
    ├── TopologyError               a fabric that cannot be built
    ├── InputErrors                 all problems of one stage of the user's files, reported together
    ├── RunDirError                 a run directory that is missing, foreign or damaged
    ├── InvariantError              exit 3: a law of the model was broken; always our fault
    └── ProtocolError               bytes that a protocol machine refuses

An error carries facts and a hint, never a formatted traceback; the command line prints it and exits with
``exit_code``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class FabricError(Exception):
    """Root of every error raised on purpose."""

    exit_code = 2

    def __init__(self, text: str, hint: str = "") -> None:
        super().__init__(text)
        self.text = text
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.text}\n  hint: {self.hint}" if self.hint else self.text


class UnitError(FabricError, ValueError):
    """A quantity that cannot be read. Also a ValueError, so that pydantic collects it with the others."""


class TopologyError(FabricError):
    """A fabric that cannot be built or drawn from what was asked."""


class RunDirError(FabricError):
    """A run directory that is missing, foreign or damaged."""


class InvariantError(FabricError):
    """A law of the model was broken during a run. Never the user's fault."""

    exit_code = 3


class ProtocolError(FabricError):
    """Bytes or events that a protocol machine refuses."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with one place of the user's input."""

    path: str
    """Where: 'scenario.yml: topology.leaves' (file, colon, dotted path)."""
    text: str
    """What is wrong, with the offending value."""
    hint: str = ""
    """The remedy: nearest valid spelling, range, or example."""

    def __str__(self) -> str:
        return f"{self.path}: {self.text}" + (f"\n    hint: {self.hint}" if self.hint else "")


class InputErrors(FabricError):  # noqa: N818  it holds many
    """All problems of one stage of reading the user's files, reported together."""

    def __init__(self, stage: str, problems: Sequence[Problem]) -> None:
        count = len(problems)
        head = f"{stage}: {count} problem{'s' if count != 1 else ''}"
        super().__init__("\n".join([head, *(f"  {problem}" for problem in problems)]))
        self.stage = stage
        self.problems = tuple(problems)
