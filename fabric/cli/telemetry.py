"""``fabric telemetry lint``: counters that cannot be true, in files, runs and answers of exporters."""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fabric.errors import InputErrors, Problem, UnitError
from fabric.units import PS_PER_S, count, parse_rate_bps, parse_time_ps
from fabric.visible import visible

if TYPE_CHECKING:  # pyarrow and the catalogue are loaded when there is something to judge
    from telemetry.lint.rules import Finding
    from telemetry.lint.series import Batch

SCRAPES: Final = 3
INTERVAL: Final = "1s"
SHOWN: Final = 3
"""Series of one group that the text names."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the actions."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    lint = actions.add_parser(
        "lint", help="counters that cannot be true: impossible deltas, resets, stale values, clocks"
    )
    lint.description = (
        "Judge counters without knowing the traffic: more than the line rate allows in an interval, resets and wraps,\n"
        "stale and repeated values, wrong clocks, gaps. Exit 1 where something is found."
    )
    lint.add_argument(
        "sources",
        metavar="FILE|DIR|URL",
        nargs="+",
        help="Prometheus text or OpenMetrics, OTLP JSON, IPFIX, a table in Parquet, Arrow or CSV, a run directory, or "
        "the address of an exporter, which is asked several times",
    )
    lint.add_argument(
        "--rate", metavar="RATE", help="line rate of ports whose rate the source does not say, such as 100G"
    )
    lint.add_argument(
        "--scrapes", metavar="N", type=int, default=SCRAPES, help=f"of an address: answers to read (default {SCRAPES})"
    )
    lint.add_argument(
        "--interval", metavar="TIME", default=INTERVAL, help=f"of an address: time between two (default {INTERVAL})"
    )
    lint.add_argument("--json", action="store_true", help="print the findings as JSON")


def run(args: argparse.Namespace) -> int:
    """Read, judge, print."""
    problems: list[Problem] = []
    rate_bps: int | None = None
    interval_s: float | None = None
    try:
        rate_bps = None if args.rate is None else parse_rate_bps(args.rate)
    except UnitError as error:
        problems.append(Problem("--rate", error.text, error.hint))
    try:
        interval_s = parse_time_ps(args.interval) / PS_PER_S
    except UnitError as error:
        problems.append(Problem("--interval", error.text, error.hint))
    if args.scrapes < 2:
        problems.append(Problem("--scrapes", f"{args.scrapes} answers have no interval", "give 2 or more"))
    if problems:
        raise InputErrors("options", problems)
    from telemetry.lint.rules import check  # noqa: PLC0415  pyarrow and the catalogue

    results = []
    for source in args.sources:
        batch = _batch(source, args.scrapes, interval_s or 0.0)
        results.append((batch, check(batch, rate_bps)))
    if args.json:
        print(json.dumps([_as_json(batch, found) for batch, found in results], indent=2))
    else:
        print("\n".join(line for batch, found in results for line in _lines(batch, found)))
    return int(any(found for _, found in results))


def _batch(source: str, scrapes: int, interval_s: float) -> Batch:
    """The series of a source. Raises: InputErrors, FabricError."""
    if source.startswith(("http://", "https://")):
        from telemetry.lint.scrape import scrape  # noqa: PLC0415  as in run()

        return scrape(source, scrapes, interval_s)
    from telemetry.lint.readers import from_store, read  # noqa: PLC0415  as in run()

    path = Path(source)
    if path.is_dir():
        from fabric.runs.rundir import RunDir  # noqa: PLC0415  as in run()
        from telemetry.sources.recorded import store_of  # noqa: PLC0415

        return from_store(source, store_of(RunDir.open(path)))
    return read(path)


def _groups(found: list[Finding]) -> dict[tuple[str, int | None], list[Finding]]:
    groups: dict[tuple[str, int | None], list[Finding]] = defaultdict(list)
    for it in found:
        groups[it.rule, it.time_ns].append(it)
    return groups


def _when(batch: Batch, time_ns: int | None) -> str:
    if time_ns is None:
        return ""
    if batch.unix and time_ns > 0:
        whole, rest = divmod(time_ns, 1_000_000_000)
        try:
            return f" at {datetime.fromtimestamp(whole, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"
        except (OverflowError, ValueError, OSError):
            return f" at {whole} s"
    return f" at {time_ns} ns"


def _lines(batch: Batch, found: list[Finding]) -> list[str]:
    n_samples = sum(len(it.values) for it in batch.series)
    head = f"{visible(batch.source)}: {len(batch.series):,} series, {n_samples:,} samples: "
    lines = [head + (count(len(found), "finding") if found else "clean")]
    if not batch.has_times:
        lines.append("  the samples have no times: only values and their order are judged")
    for (rule, time_ns), group in _groups(found).items():
        together = f", {len(group)} series together" if len(group) > SHOWN else ""
        lines.append(f"  {rule}{_when(batch, time_ns)}{together}")
        lines += [f"    {visible(it.series)}: {it.text}" for it in group[:SHOWN]]
        if len(group) > SHOWN:
            lines.append(f"    and {len(group) - SHOWN} more (--json)")
    return lines


def _as_json(batch: Batch, found: list[Finding]) -> dict[str, object]:
    return {
        "source": batch.source,
        "series": len(batch.series),
        "samples": sum(len(it.values) for it in batch.series),
        "judged_with_times": batch.has_times,
        "findings": [{"rule": it.rule, "series": it.series, "time_ns": it.time_ns, "text": it.text} for it in found],
    }
