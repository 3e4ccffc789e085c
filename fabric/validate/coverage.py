"""What a verdict does not cover: parts of files that were not understood, or that no check uses.

Every format of a verdict has these rows. Equal parts of one file are one row with the first place and a count.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from fabric.configs.model import Place, Unread
from fabric.validate.runner import Verdict

NOT_UNDERSTOOD: Final = "not understood"
NOT_JUDGED: Final = "not judged"


@dataclass(frozen=True, slots=True)
class Uncovered:
    """One row."""

    kind: str
    """NOT_UNDERSTOOD or NOT_JUDGED."""
    place: Place
    what: str
    count: int
    roce: str
    """How it could act on RoCE; '' where it could not."""

    def __str__(self) -> str:
        times = f" ({self.count} times)" if self.count > 1 else ""
        return f"{self.kind}: {self.what}{times}{f', {self.roce}' if self.roce else ''} ({self.place})"


def uncovered(verdict: Verdict) -> tuple[Uncovered, ...]:
    """Every row, in the order of the files; what was not understood first."""
    return (*_rows(NOT_UNDERSTOOD, verdict.unread), *_rows(NOT_JUDGED, verdict.unjudged))


def _rows(kind: str, items: Sequence[Unread]) -> Iterable[Uncovered]:
    found: dict[tuple[str, str, str], tuple[Place, int]] = {}
    for item in items:
        # A line that is not understood keeps its place; known fields and lines are one row for all their places.
        key = item.place.file, item.what, "" if kind == NOT_JUDGED else str(item.place)
        place, count = found.get(key, (item.place, 0))
        found[key] = place, count + (item.count if kind == NOT_JUDGED else 1)
    effects = {(item.place.file, item.what): item.roce for item in items if item.roce}
    for (file, what, _), (place, count) in found.items():
        yield Uncovered(kind, place, what, count, effects.get((file, what), ""))
