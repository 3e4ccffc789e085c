"""Parquet files are read in the calling thread, with the result that pyarrow's own scanner would give."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fabric.runs import parquet

ROOT = Path(__file__).resolve().parents[2]


def file_of(rows: int, group: int, kind: pa.DataType) -> io.BytesIO:
    names = pa.array([f"name{number % 5}" for number in range(rows)], pa.string()).cast(kind)
    table = pa.table(
        {
            "number": pa.array(range(rows), pa.int64()),
            "name": names,
            "ports": pa.array([[str(it)] * (it % 3) for it in range(rows)], pa.list_(pa.string())),
        }
    )
    out = io.BytesIO()
    pq.write_table(table, out, row_group_size=group)
    return io.BytesIO(out.getvalue())


@pytest.mark.parametrize("kind", [pa.string(), pa.dictionary(pa.int32(), pa.string())], ids=["text", "dictionary"])
@pytest.mark.parametrize(("rows", "group"), [(0, 10), (7, 10), (95, 10)])
@pytest.mark.parametrize("columns", [None, ["ports"], ["name", "number"]], ids=str)
@pytest.mark.parametrize("values", [None, ["name1", "name3"], ["nobody"], []], ids=str)
def test_a_file_is_read_as_the_scanner_reads_it(
    rows: int, group: int, kind: pa.DataType, columns: list[str] | None, values: list[str] | None
) -> None:
    ours = parquet.read(file_of(rows, group, kind), columns, None if values is None else ("name", values))
    filters: Any = None if values is None else [("name", "in", values)]
    if values == []:  # the scanner takes no empty list of values
        assert ours.num_rows == 0
        return
    theirs = pq.read_table(file_of(rows, group, kind), columns=columns, filters=filters)
    assert ours.schema.names == theirs.schema.names
    assert ours.to_pylist() == theirs.to_pylist()


def test_nothing_reads_with_threads_that_may_outlive_the_command() -> None:
    found = [
        str(file.relative_to(ROOT))
        for folder in ("fabric", "telemetry", "playbooks")
        for file in sorted((ROOT / folder).rglob("*.py"))
        if "pq.read_table(" in file.read_text(encoding="utf-8")
    ]
    assert found == []
