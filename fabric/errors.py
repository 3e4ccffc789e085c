"""The errors of this project.

    FabricError                     exit 2 unless a subclass says otherwise
    ├── UnitError                   a quantity that cannot be read ('400' where '400G' is needed)
    ├── TopologyError               a fabric that cannot be built
    ├── InputErrors                 all problems of one stage of the user's files, reported together
    ├── RunDirError                 a run directory that is missing, foreign or damaged
    ├── InvariantError              exit 3: an invariant of the model was broken; always a defect of this program
    └── ProtocolError               bytes that a protocol machine refuses

    RunInterruptedError             a KeyboardInterrupt: SIGINT or SIGTERM ended a run, which has usable results

An error has facts and a hint, never a formatted traceback; the command line prints it and exits with ``exit_code``. Its
text is safe for a terminal: names in it have one line, hidden characters are spelled out (fabric/visible.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from fabric.visible import sentence, visible

_SHOWN: Final = 20


class FabricError(Exception):
    """Base class of the project's errors."""

    exit_code = 2
    many_lines = False
    """Whether the text may have several lines; in other texts a newline comes from a name."""

    def __init__(self, text: str, hint: str = "") -> None:
        super().__init__(text)
        self.text = text
        self.hint = hint

    def __str__(self) -> str:
        text = visible(self.text, lines=True) if self.many_lines else sentence(self.text)
        return f"{text}\n  hint: {visible(self.hint)}" if self.hint else text


class UnitError(FabricError, ValueError):
    """A quantity that cannot be parsed. Also a ValueError, so that pydantic collects it with other errors."""


class TopologyError(FabricError):
    """A fabric that cannot be built or drawn as specified."""


class RunDirError(FabricError):
    """A run directory that is missing, foreign or damaged."""

    def __init__(self, text: str, hint: str = "", *, many_lines: bool = False) -> None:
        super().__init__(text, hint)
        self.many_lines = many_lines


class InvariantError(FabricError):
    """An invariant of the model was broken during a run. Never a fault of the user."""

    exit_code = 3
    many_lines = True


class ProtocolError(FabricError):
    """Bytes or events that a protocol machine refuses."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem at one place of the user's input."""

    path: str
    """Where: 'scenario.yml: topology.leaves' (file, colon, dotted path)."""
    text: str
    """The problem, with the offending value."""
    hint: str = ""
    """The remedy: nearest valid spelling, range, or example."""

    def __str__(self) -> str:
        text = f"{sentence(self.path)}: {sentence(self.text)}"
        return f"{text}\n    hint: {visible(self.hint)}" if self.hint else text


class InputErrors(FabricError):  # noqa: N818  it holds many
    """All problems of one stage of reading the user's files, reported together: a line for each."""

    many_lines = True

    def __init__(self, stage: str, problems: Sequence[Problem]) -> None:
        count = len(problems)
        head = f"{sentence(stage)}: {count} problem{'s' if count != 1 else ''}"
        super().__init__("\n".join([head, *(f"  {problem}" for problem in problems)]))
        self.stage = stage
        self.problems = tuple(problems)


def first_few(problems: Sequence[Problem], file: str, question: str) -> list[Problem]:
    """The first twenty, and how many there are besides: a file of another kind is refused once, not line by line."""
    more = len(problems) - _SHOWN
    return [*problems[:_SHOWN], *([Problem(file, f"and {more} more like these", question)] if more > 0 else [])]


class RunInterruptedError(KeyboardInterrupt):
    """SIGINT or SIGTERM ended `fabric.run` early. Not a FabricError: an interrupted program should stop.

    Parameters
    ----------
    result    fabric.Result of the run up to there; if it has a given directory, it can be resumed
    """

    def __init__(self, result: Any) -> None:  # noqa: ANN401  fabric.Result is above this module
        super().__init__("the run was interrupted; its results are in `result`")
        self.result = result
