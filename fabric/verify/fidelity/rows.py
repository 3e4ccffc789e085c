"""The registry of rows: families of comparisons, in the order in which they are printed.

A family is a function from the folder of recorded reference runs (None: not available) to its rows. One that needs no
recording ignores the argument; one that needs it and gets None has no rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from fabric.verify.fidelity import closed_forms, recorded, theory_rows
from fabric.verify.fidelity.table import Row

Family = Callable[[Path | None], Sequence[Row]]

FAMILIES: Final[Mapping[str, Family]] = {
    "Closed forms": closed_forms.rows,
    "The public HPCC simulator, recorded runs": recorded.rows,
    "Theory and published set-ups": theory_rows.rows,
}
"""Heading -> family."""


def all_rows(reference: Path | None) -> dict[str, Sequence[Row]]:
    """Every row, by heading; ids are unique."""
    return {heading: family(reference) for heading, family in FAMILIES.items()}
