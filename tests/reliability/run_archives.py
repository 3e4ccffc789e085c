"""Run directories with tables and archives that are damaged, and checksums that fit."""

from __future__ import annotations

import gzip
import json
import random
import re
import shutil
import struct
import zipfile
from io import BytesIO
from pathlib import Path

from fabric.runs import files
from tests.reliability import worlds
from tests.reliability.command import call
from tests.reliability.report import Row


def row(work: Path, each: int) -> Row:
    """Run directories: files swapped for archives that damage their readers, with checksums that fit."""
    run = worlds.finished(work, size="1KB")
    looks = [
        ("show", "messages"),
        ("show", "ports"),
        ("explain", "run"),
        ("report", "--text"),
        ("verify",),
        ("alerts", "show"),
    ]
    count, failures = 0, []
    choose = random.Random(5)
    for number in range(each):
        folder = work / "odd"
        shutil.copytree(run, folder)
        name = choose.choice(
            ["tables.npz", "messages.parquet", "counters.parquet", "timeseries.parquet", "events.parquet"]
        )
        path = folder / name
        path.write_bytes(_archive(path.read_bytes(), name, choose))
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        manifest["files"][name] = files.Sum.of(path).as_json()
        files.write_index(folder / "manifest.json", manifest)
        for words in looks:
            count += 1
            verb, *rest = words
            order = (
                [verb, "show", folder]
                if verb == "alerts"
                else [verb, "run", folder]
                if verb == "explain"
                else [verb, folder, *rest]
            )
            answer = call(*order)
            failures += [f"{name} {number}: {answer.defect}"] if answer.defect else []
        shutil.rmtree(folder)
    return Row(
        "a table or archive of a run directory is damaged, or another one, and its checksum fits: readers name the "
        "file (exit 2) or print something, never a traceback",
        count,
        "0 of 72 on fe3fa65",
        failures,
    )


def _archive(data: bytes, name: str, choose: random.Random) -> bytes:
    way = choose.randrange(6)
    if way == 0:
        return data[: choose.randrange(len(data))]
    if way == 1:
        at = choose.randrange(len(data))
        return data[:at] + choose.randbytes(4) + data[at + 4 :]
    if way == 2:
        return choose.choice([b"", b"PK\5\6" + bytes(18), b"PAR1", gzip.compress(b"x")])
    if name != "tables.npz":
        return data[:-8] + struct.pack("<I", choose.randrange(1 << 32)) + data[-4:]
    out = BytesIO()
    with zipfile.ZipFile(BytesIO(data)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        names = old.namelist()
        lost = choose.choice(names)
        for item in names:
            if item == lost and way == 3:
                continue
            content = old.read(item)
            if item == lost and way == 4:  # says that it has 2**40 rows
                content = re.sub(rb"'shape': \((\d+),", lambda match: b"'shape': (1" + b"0" * 12 + b",", content)
            if item == lost and way == 5:
                content = choose.randbytes(len(content))
            new.writestr(item, content)
    return out.getvalue()
