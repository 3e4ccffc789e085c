"""Hostile texts in every name of a run directory."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from fabric.runs import files
from tests.reliability import worlds
from tests.reliability.hostile_tries import IN_FOLDERS, Try, row
from tests.reliability.report import Row

_NAMES: Final = re.compile(r"\b(?:host|leaf|spine)[0-9]+\b|\btried\b")


def forged(run: Path, target: Path, text: str) -> Path:
    """A run directory whose every name has a text added, with checksums that fit."""
    shutil.copytree(run, target)

    def renamed(value: Any) -> Any:  # noqa: ANN401  JSON
        if isinstance(value, str):
            return _NAMES.sub(lambda match: match[0] + text, value)
        if isinstance(value, dict):
            return {renamed(key): renamed(item) for key, item in value.items()}
        return [renamed(item) for item in value] if isinstance(value, list) else value

    for name in ("summary.json", "topology.json"):
        (target / name).write_text(json.dumps(renamed(json.loads((run / name).read_text(encoding="utf-8")))))
    lines = (run / "truth.jsonl").read_text(encoding="utf-8").splitlines()
    (target / "truth.jsonl").write_text("".join(json.dumps(renamed(json.loads(line))) + "\n" for line in lines))
    if not any(0xD800 <= ord(letter) < 0xE000 for letter in text):  # Arrow has no lone surrogates
        for file in target.glob("*.parquet"):
            table = pq.read_table(file)
            columns = [
                pa.array(renamed(table[field.name].to_pylist())).cast(field.type)
                if _is_text(field.type)
                else table[field.name]
                for field in table.schema
            ]
            pq.write_table(pa.table(columns, schema=table.schema), file)
    manifest = renamed(json.loads((run / "manifest.json").read_text(encoding="utf-8")))
    manifest["files"] = {name: files.Sum.of(target / name).as_json() for name in manifest["files"]}
    files.write_index(target / "manifest.json", manifest)
    return target


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_dictionary(kind) or pa.types.is_list(kind))


def looks(run: Path, other: Path) -> list[Try]:
    """Every command that reads a run directory, in every format."""
    tables = ("messages", "ports", "queues", "pfc", "ecn", "drops", "hosts", "events")
    return [
        *(Try("text", ("show", run, table)) for table in ("summary", *tables)),
        *(Try("csv", ("show", run, table, "--format", "csv")) for table in tables),
        *(Try("json", ("show", run, table, "--json")) for table in ("summary", *tables)),
        Try("jsonl", ("show", run, "events", "--format", "jsonl")),
        Try("jsonl", ("export", "events", run)),
        Try("text", ("report", run, "--text")),
        Try("html", ("report", run, "--out", "-")),
        Try("json", ("report", run, "--json")),
        *(Try("text", ("explain", question, run)) for question in ("run", "pfc", "drops", "message")),
        Try("json", ("explain", "run", run, "--json")),
        Try("text", ("diff", run, other)),
        Try("json", ("diff", run, other, "--json")),
        Try("text", ("verify", run)),
        Try("json", ("verify", run, "--json")),
        Try("text", ("alerts", "show", run, "--all")),
        Try("json", ("alerts", "show", run, "--json")),
        Try("openmetrics", ("export", "openmetrics", run)),
        Try("text", ("path", "host1", "host5", run)),
        Try("text", ("route", "leaf1", run)),
    ]


def run_folders(work: Path, texts: Mapping[str, str]) -> Row:
    """Run directories from another source."""
    run, other = worlds.finished(work), worlds.finished(work, "other", seed=4)

    def cases() -> Iterator[tuple[str, Sequence[Try]]]:
        for name, text in texts.items():
            if name not in IN_FOLDERS:
                continue
            folder = forged(run, work / "forged", text)
            yield name, looks(folder, other)
            shutil.rmtree(folder)

    return row(
        "the same in every name of a run directory (manifest, summary, topology, faults, columns of tables) whose "
        "checksums fit: each reader's text, colours on a terminal, JSON, JSON lines, CSV (no cell is a formula), "
        "HTML (nothing loaded, run or linked) and OpenMetrics pass a strict reader of the format",
        "126 of 256 with four of the texts on fe3fa65: control characters, forged lines, formulas, tracebacks (41)",
        cases(),
    )
