"""Parts with any boundaries become the same final file, and leftovers of a killed run do not survive."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from fabric.runs import files, parts, series
from fabric.topology.model import Fabric


def rows(count: int) -> np.ndarray:
    found = np.zeros(count, series.ROW)
    found["time_ns"] = np.arange(count)
    found["device"], found["port"], found["class"], found["item"] = 2, 3, -1, -1
    return found


@pytest.mark.parametrize("cuts", [[100], [1, 2, 3], [50, 50, 99], []])
def test_the_joined_file_has_the_same_bytes_wherever_parts_were_cut(
    tmp_path: Path, tiny: Fabric, cuts: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "GROUP_ROWS", 64)
    found = []
    for name, places in (("one", cuts), ("other", [10])):
        folder = tmp_path / name
        folder.mkdir()
        writer = parts.PartWriter(folder, parts.SERIES)
        for piece in np.split(rows(150), places):
            writer.append(piece)
            writer.flush()
        parts.join(folder, parts.SERIES, writer.sums, folder / "out.parquet", tiny)
        found.append((folder / "out.parquet").read_bytes())
    assert found[0] == found[1]
    assert pq.read_metadata(tmp_path / "one" / "out.parquet").num_row_groups == 3


def test_parts_beyond_the_checkpoint_are_removed_on_resume(tmp_path: Path, tiny: Fabric) -> None:
    writer = parts.PartWriter(tmp_path, parts.SERIES)
    for _ in range(3):
        writer.append(rows(4))
        writer.flush()
    again = parts.PartWriter(tmp_path, parts.SERIES, writer.sums[:2])
    names = [path.name for path in parts.part_paths(tmp_path, parts.SERIES)]
    assert names == ["series-000001.parquet", "series-000002.parquet"]
    again.append(rows(1))
    again.flush()
    assert parts.join(tmp_path, parts.SERIES, again.sums, tmp_path / "out.parquet", tiny) == 9


def test_an_empty_stream_becomes_an_empty_table_of_the_right_columns(tmp_path: Path, tiny: Fabric) -> None:
    assert parts.join(tmp_path, parts.SERIES, [], tmp_path / "out.parquet", tiny) == 0
    assert pq.read_table(tmp_path / "out.parquet").num_rows == 0


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "it.json"
    files.write_json(target, {"a": 1})
    with pytest.raises(ValueError, match="JSON"):
        files.write_json(target, {"a": float("nan")})
    with pytest.raises(FileNotFoundError), files.replacing(target) as pending:
        (pending.parent / "absent" / "it").write_text("half")
    assert target.read_text() == '{\n  "a": 1\n}\n'
    assert [path.name for path in tmp_path.iterdir()] == ["it.json"]
