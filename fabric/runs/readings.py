"""All observables of a scope at once: each table is gathered once, and each column is copied from what was gathered.

Reading them one by one costs some microseconds of Python for each of 130 observables, more than their values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.state.codes import N_DROP_REASONS
from fabric.runs.observables import Drops, Field, Observable, Ratio, Rows

if TYPE_CHECKING:  # annotations only: reading results must not load the compiler
    from fabric.dataplane.engine.counters import Snapshot


def words(table: NDArray[Any], rows: int) -> NDArray[np.int64]:
    """A structured table as (rows, words); aligned dtypes are whole words."""
    return np.ascontiguousarray(table).view(np.int64).reshape(rows, -1)


def moved_rows(now: NDArray[Any], before: NDArray[Any], rows: int) -> Rows:
    """Rows, of a table of `rows` rows, in which any word differs; ascending, a row may occur more than once."""
    if now is before:  # snapshots share what seldom changes
        return np.empty(0, np.int64)
    new, old = words(now, rows), words(before, rows)
    return np.asarray(np.flatnonzero(new.reshape(-1) != old.reshape(-1)) // new.shape[1], np.int64)


def values(observable: Observable, now: Snapshot, rows: Rows) -> NDArray[np.int64]:
    """The observable's values as int64; ratios as the bits of a float64."""
    found = observable.read(now, rows)
    return found.view(np.int64) if found.dtype == np.float64 else found.astype(np.int64, copy=False)


class Gathered:
    """Some rows of a snapshot's tables, each table gathered when it is first read.

    Parameters
    ----------
    now : Snapshot    the tables
    rows : Rows       rows of one scope
    count : int       rows of the scope in all
    """

    def __init__(self, now: Snapshot, rows: Rows, count: int) -> None:
        self._now, self._rows, self._count = now, rows, count
        self._tables: dict[str, NDArray[Any]] = {}

    def matrix(self, observables: Sequence[Observable]) -> NDArray[np.int64]:
        """(n_observables, n_rows) values, as values() gives them."""
        found = np.empty((len(observables), self._rows.size), np.int64)
        for line, observable in enumerate(observables):
            read = observable.read
            if isinstance(read, Field):
                found[line] = self._table(read.table)[read.field]
                if read.divisor != 1:
                    found[line] //= read.divisor
            elif isinstance(read, Ratio):
                found[line].view(np.float64)[:] = self._table(read.table)[read.field]
            elif isinstance(read, Drops):
                found[line] = self._table("drops").reshape(-1, N_DROP_REASONS)[read.field][:, int(read.reason)]
            else:
                found[line] = values(observable, self._now, self._rows)
        return found

    def _table(self, name: str) -> NDArray[Any]:
        table = self._tables.get(name)
        if table is None:
            table = getattr(self._now, name).reshape(-1)
            if self._rows.size < self._count:
                kind = table.dtype
                table = words(table, self._count).take(self._rows, axis=0).reshape(-1).view(kind)
            self._tables[name] = table
        return table
