"""Output of nccl-tests (2.19): the text on standard output and the file of -J.

A data line of the text has size, count, type, redop, root, then out-of-place time (us), algbw, busbw, #wrong, then the
same in-place; -I adds four columns to each, -S a time stamp. The width of times is 7 characters with falling precision.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from fabric.errors import InputErrors, Problem
from fabric.reading import MIB, read_text
from fabric.traces.graph import MAX_BYTES, Collector

STAGE: Final = "nccl-tests log"
MAX_LOG_BYTES: Final = 64 * MIB
_COLUMNS: Final = {13: (5, 9), 21: (5, 13)}
"""Columns of a line -> where the out-of-place and the in-place time stand."""
_RANK: Final = re.compile(r"#\s+Rank\s+([0-9]{1,9})\s+Group")
_OPERATION: Final = re.compile(
    r"(all_reduce|all_gather|reduce_scatter|alltoall|broadcast|reduce|gather|scatter|sendrecv|hypercube)_perf"
)
_NAME: Final = {"alltoall": "all-to-all", "sendrecv": "send-recv"}
_AVERAGE: Final = re.compile(r"#\s*Avg bus bandwidth\s*:\s*(\S+)")
_STAMP: Final = re.compile(r"\d{2,4}[-/]\d|\d{2}:\d{2}|\d{9,}")


@dataclass(frozen=True, slots=True)
class Row:
    """One size."""

    size_bytes: int
    out_of_place_us: float
    in_place_us: float | None
    n_wrong: int | None
    """Of both; None: not checked."""


@dataclass
class Log:
    """One output."""

    file: str
    operation: str
    """'all-reduce' and others; '' where the text does not say."""
    n_ranks: int
    """0 where the text does not say."""
    rows: list[Row] = field(default_factory=list)
    average_busbw_gbs: float | None = None
    notes: list[str] = field(default_factory=list)


def read_log(path: Path) -> Log:
    """Text or JSON. Raises: InputErrors with all problems, each with its line."""
    text = read_text(path, MAX_LOG_BYTES, stage=STAGE)
    log = _json(text, path) if text.lstrip()[:1] == "{" else _text(text, path)
    if not log.rows:
        raise InputErrors(
            STAGE, [Problem(str(path), "has no line of results", "give the output of one nccl-tests program")]
        )
    seen: set[int] = set()
    doubled = {row.size_bytes for row in log.rows if row.size_bytes in seen or seen.add(row.size_bytes)}  # type: ignore[func-returns-value]
    if doubled:
        log.notes.append(f"{len(doubled)} sizes are given more than once: their mean is compared")
    wrong = sum(row.n_wrong or 0 for row in log.rows)
    if wrong:
        log.notes.append(f"{wrong:,} elements were wrong")
    return log


def _text(text: str, path: Path) -> Log:
    found = Collector(STAGE, str(path))
    log = Log(str(path), "", 0)
    ranks: set[int] = set()
    for number, line in enumerate(text.splitlines(), 1):
        if (match := _OPERATION.search(line)) is not None and not log.operation:
            log.operation = _NAME.get(match[1], match[1].replace("_", "-"))
        if (match := _RANK.match(line)) is not None:
            ranks.add(int(match[1]))
        elif (match := _AVERAGE.match(line)) is not None:
            log.average_busbw_gbs = _number(match[1])
        elif line.strip() and not line.startswith("#") and line.split()[0].isdigit():
            row = _row(line, found, f"{path}:{number}")
            if row is not None:
                log.rows.append(row)
    found.check()
    if ranks and ranks != set(range(len(ranks))):
        log.notes.append(f"names {len(ranks)} of {max(ranks) + 1} ranks")
    log.n_ranks = max(ranks) + 1 if ranks else 0
    return log


def _row(line: str, found: Collector, place: str) -> Row | None:
    words = line.split()
    n = len(words)
    while n not in _COLUMNS and n > min(_COLUMNS) and _STAMP.match(words[n - 1]):  # -S 1: a date and a time of day
        n -= 1
    if n not in _COLUMNS:
        found.add(place, f"has {n} columns", "a line of results has 13, or 21 with -I 1")
        return None
    size, (outside, inside) = int(words[0][:20]), _COLUMNS[n]
    times = [_number(words[outside]), _number(words[inside])]
    if times[0] is None or times[0] <= 0 or not 0 <= size <= MAX_BYTES:
        found.add(place, f"size {words[0][:30]!r} and out-of-place time {words[outside][:30]!r}",
                  "both are numbers, and the time is above 0")  # fmt: skip
        return None
    counts = [words[outside + 3], words[inside + 3]]
    wrong = None if all(it == "N/A" for it in counts) else sum(int(it) for it in counts if it.isdigit())
    return Row(size, times[0], times[1] or None, wrong)


def _number(word: object) -> float | None:
    try:
        value = float(word)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return value if math.isfinite(value) else None


def _json(text: str, path: Path) -> Log:
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputErrors(STAGE, [Problem(str(path), f"not JSON: {error}", "give the file of -J")]) from error
    found = Collector(STAGE, str(path))
    results = raw.get("results")
    if not isinstance(results, list):
        raise InputErrors(STAGE, [Problem(f"{path}: results", "is not a list", "give the file of -J of nccl-tests")])
    log = Log(str(path), _json_operation(raw), _json_ranks(raw), average_busbw_gbs=_json_average(raw))
    for index, it in enumerate(results):
        place = f"{path}: results.{index}"
        outside = it.get("out_of_place") if isinstance(it, dict) else None
        inside = it.get("in_place") if isinstance(it, dict) else None
        time_us = _number(outside.get("time")) if isinstance(outside, dict) else None
        size = it.get("size") if isinstance(it, dict) else None
        if type(size) is not int or not 0 <= size <= MAX_BYTES or time_us is None or time_us <= 0:
            found.add(place, "has no size in bytes and out_of_place.time in us", "give the file of -J of nccl-tests")
            continue
        wrong = [part.get("nwrong") for part in (outside, inside) if isinstance(part, dict)]
        counted = [count for count in wrong if type(count) is int]
        log.rows.append(Row(size, time_us, _number(inside.get("time")) if isinstance(inside, dict) else None,
                            sum(counted) if counted else None))  # fmt: skip
    found.check()
    return log


def _json_average(raw: dict[str, Any]) -> float | None:
    average = raw.get("average_bus_bandwidth")
    return _number(average.get("bandwidth") if isinstance(average, dict) else average)


def _json_operation(raw: dict[str, Any]) -> str:
    match = _OPERATION.search(json.dumps(raw.get("args", "")))
    return _NAME.get(match[1], match[1].replace("_", "-")) if match else ""


def _json_ranks(raw: dict[str, Any]) -> int:
    devices = raw.get("devices")
    if not isinstance(devices, list):
        return 0
    ranks = [it.get("rank") for it in devices if isinstance(it, dict)]
    numbers = [it for it in ranks if type(it) is int and it >= 0]
    return max(numbers) + 1 if numbers else len(devices)
