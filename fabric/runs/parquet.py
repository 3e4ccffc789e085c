"""Reading Parquet files in the calling thread only.

pyarrow.parquet.read_table starts threads, which may still run when it has returned. A process that
ends then aborts (apache/arrow issues 33975 and 34314: "terminate called without an active exception", exit
code 134); one command in twenty did so on a busy machine. A ParquetFile that is read without threads has none.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq


def read(
    source: IO[bytes] | pa.BufferReader,
    columns: Sequence[str] | None = None,
    within: tuple[str, Collection[str]] | None = None,
) -> pa.Table:
    """The table in a file, a row group at a time.

    Parameters
    ----------
    columns : sequence of str, optional        these only, in this order
    within : (column, values), optional        only rows whose value is among these

    Raises: pa.ArrowException or OSError where the file is damaged.
    """
    with pq.ParquetFile(source) as file:
        wanted = columns if columns is None or within is None else list(dict.fromkeys([*columns, within[0]]))
        groups = [
            among(file.read_row_group(number, columns=wanted, use_threads=False), within)
            for number in range(file.num_row_groups)
        ]
        empty = file.schema_arrow.empty_table()
    table = pa.concat_tables(groups) if groups else empty
    return table if columns is None else table.select(list(columns))


def among(table: pa.Table, within: tuple[str, Collection[str]] | None) -> pa.Table:
    """The rows whose value in a column is one of the given values; None: all."""
    if within is None:
        return table
    name, values = within
    column = table[name]
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return table.filter(pc.is_in(column, value_set=pa.array(list(values), column.type)))
