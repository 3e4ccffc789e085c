"""The digest of a run: that of the engine, and the content of every table that the run writes.

Values are hashed, not files: the layout of Parquet and NumPy files depends on the versions of libraries, and two runs
with the same values have the same result. Rows of events and time series are hashed coded, as in the parts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


class Content:
    """SHA-256 over tables, in the order of the calls."""

    def __init__(self) -> None:
        self._sha = hashlib.sha256()

    def add_array(self, name: str, values: NDArray[np.generic]) -> None:
        """Values of one column or table; its name, type and length are hashed with it."""
        self._sha.update(
            f"{name} {values.dtype.descr if values.dtype.names else values.dtype.str} {values.shape}\n".encode()
        )
        self._sha.update(np.ascontiguousarray(values).tobytes())

    def add_rows(self, name: str, table: pa.Table) -> None:
        """Columns of plain integers or floats without nulls."""
        for column in table.column_names:
            self.add_array(f"{name}.{column}", table[column].to_numpy())

    def add_table(self, name: str, table: pa.Table) -> None:
        """Any table of a run: numbers, names, lists of names; null differs from every value."""
        for field in table.schema:
            self._add(f"{name}.{field.name}", table[field.name].combine_chunks())

    def hexdigest(self, engine: str) -> str:
        """The digest of the engine and the tables."""
        found = self._sha.copy()
        found.update(engine.encode())
        return found.hexdigest()

    def _add(self, name: str, column: pa.Array | pa.ChunkedArray) -> None:
        if isinstance(column, pa.ChunkedArray):  # combine_chunks() of a column without chunks
            column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        self.add_array(f"{name} null", column.is_null().to_numpy(zero_copy_only=False))
        if pa.types.is_list(column.type):
            self.add_array(f"{name} rows", pa.compute.list_value_length(column).fill_null(0).to_numpy())
            self._add(f"{name} items", column.flatten())
        elif pa.types.is_string(column.type):
            self.add_array(f"{name} lengths", pa.compute.binary_length(column).fill_null(0).to_numpy())
            self._add_texts(column.drop_null().to_pylist())
        elif pa.types.is_boolean(column.type):
            self.add_array(name, column.cast(pa.int8()).fill_null(0).to_numpy())
        else:
            self.add_array(name, column.fill_null(0).to_numpy())

    def _add_texts(self, texts: Iterable[str]) -> None:
        self._sha.update("".join(texts).encode())
