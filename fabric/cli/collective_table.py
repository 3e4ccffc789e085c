"""The table of `fabric collective`: one run for each size, and what is printed, drawn and kept of it."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from fabric import shipped
from fabric.cli.collective import LEAF_RANKS, ONE_SWITCH_RANKS
from fabric.cli.options.estimating import admission
from fabric.cli.options.output import write_file
from fabric.cli.options.sizes import sizes_of
from fabric.cli.options.threads import problems_of_threads
from fabric.cli.terminal.progress import ProgressLine
from fabric.collectives.registry import ALGORITHMS, CHOOSERS
from fabric.errors import InputErrors, Problem
from fabric.render.collective_chart import bandwidth_svg
from fabric.runs import simulate
from fabric.runs.collective_times import Fit, Measured, Prepared, fitted, measured, prepare_collective
from fabric.runs.rundir import RunDir
from fabric.runs.session import Hooks, Progress
from fabric.scenario.load import apply_overrides, build_scenario
from fabric.scenario.schema.scenario import Scenario
from fabric.scenario.yaml_input import read_yaml
from fabric.units import PS_PER_NS, PS_PER_US, format_rate_bps

MAX_RANKS: Final = 4096
DEFAULT_RANKS: Final = 8
DURATION: Final = "10s"
"""Simulated time after which an operation counts as failed."""
_TYPES: Final = {1: "int8", 2: "half", 4: "float", 8: "double"}
_FIELDS: Final = (
    "ranks", "channels", "chunk", "ranks_per_node", "root", "element", "placement", "send_latency", "reduction_rate",
    "repeat", "warm_up", "generation", "skew", "exponent", "lockstep",
)  # fmt: skip
"""Options that are fields of the workload."""


def run_table(args: argparse.Namespace) -> int:
    """Simulate each size and print the table."""
    sizes = _checked(args)
    scenarios = [_scenario(args, size) for size in sizes]
    rows: list[tuple[Measured, Prepared]] = []
    with TemporaryDirectory(prefix="fabric-", ignore_cleanup_errors=True) as temporary:
        folder = args.out or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        with ProgressLine(sys.stderr, quiet=args.quiet) as line:
            total = _Total(sizes, line)
            for size, scenario in zip(sizes, scenarios, strict=True):
                rows.append(_measure(args, scenario, folder / f"{size}B", total))
                total.next()
    fit = fitted([row for row, _ in rows])
    data = _as_data(args, rows, fit)
    if args.out is not None:
        write_file(args.out / "collective.json", json.dumps(data, indent=2) + "\n")
    if args.plot is not None:
        _plot(args, [row for row, _ in rows])
    if args.json:
        print(json.dumps(data, indent=2))
    else:
        _print(args, rows, fit)
    return 0


def _measure(args: argparse.Namespace, scenario: Scenario, out: Path, total: _Total) -> tuple[Measured, Prepared]:

    check = admission(scenario, yes=args.yes, out=out.parent)
    compiled, plan = simulate.prepare(scenario, sets=args.sets, text="", admit=check)
    prepared = prepare_collective(scenario, compiled)
    expected = prepared.form.time_ps if prepared.form is not None else 0
    total.expect(expected * (prepared.spec.repeat + prepared.spec.warm_up))
    outcome = simulate.simulate(
        compiled, plan, simulate.Options(out, threads=args.threads), Hooks(on_progress=total.update)
    )
    if outcome.status == "interrupted":
        raise KeyboardInterrupt
    return measured(prepared, RunDir.open(out)), prepared


class _Total:
    """Progress over all sizes: each counts by its bytes and a constant."""

    SMALL = 1 << 20

    def __init__(self, sizes: Sequence[int], line: ProgressLine) -> None:
        self.weights = [size + self.SMALL for size in sizes]
        self.line, self.at, self.expected, self.begun = line, 0, 1, time.monotonic()

    def expect(self, expected_ps: int) -> None:
        """Simulated time of the next size."""
        self.expected = max(expected_ps, 1)

    def next(self) -> None:
        """A size is done."""
        self.at += 1

    def update(self, at: Progress) -> None:
        """Show the progress of all sizes."""
        done = sum(self.weights[: self.at]) + self.weights[self.at] * min(at.now_ps / self.expected, 1)
        share = done / sum(self.weights)
        elapsed = time.monotonic() - self.begun
        left = elapsed * (1 - share) / share if share > 0 else None
        end = max(round(self.expected), at.now_ps)
        self.line.update(replace(at, end_ps=end, eta_s=left))


def _checked(args: argparse.Namespace) -> list[int]:
    """The sizes. Raises: InputErrors with every problem of the options."""
    problems: list[Problem] = []
    sizes = sizes_of(args.sizes, problems)
    if args.ranks is not None and not 2 <= args.ranks <= MAX_RANKS:
        problems.append(Problem("--ranks", f"{args.ranks} is not within 2..{MAX_RANKS}", "such as --ranks 64"))
    problems += problems_of_threads(args)

    able = [name for name, item in ALGORITHMS.items() if args.action in item.operations]
    if args.algorithm not in {*able, *CHOOSERS}:
        problems.append(
            Problem(
                "--algorithm",
                f"'{args.algorithm}' is no algorithm for {args.action}",
                f"use one of {', '.join([*able, *CHOOSERS])}",
            )
        )
    if problems:
        raise InputErrors("options", problems)
    return sizes


def _scenario(args: argparse.Namespace, size: int) -> Scenario:
    """The scenario of one size."""
    entry: dict[str, Any] = {
        "kind": "collective", "operation": args.action, "algorithm": args.algorithm, "size": f"{size}B",
    }  # fmt: skip
    entry.update({field: value for field in _FIELDS if (value := getattr(args, field, None)) is not None})
    if getattr(args, "matrix", None) is not None:
        entry["matrix"] = str(args.matrix.absolute())
    if args.scenario is None:
        file = Path("default fabric")
        raw: dict[str, Any] = {"name": "collective", "topology": _default_topology(args.ranks or DEFAULT_RANKS)}
        entry.setdefault("ranks", DEFAULT_RANKS)
    else:
        file = shipped.scenario(args.scenario)
        raw = {key: value for key, value in read_yaml(file).items() if key != "expectations"}
    settings = raw.get("run")
    raw["run"] = {**(settings if isinstance(settings, dict) else {}), "duration": DURATION, "stop": "done"}
    if raw.get("model", "asic") == "asic" and isinstance(transport := raw.setdefault("transport", {}), dict):
        transport.setdefault("qp", {"per": "pair", "count": 1})  # messages between two ranks arrive in order
    raw["workload"] = [entry]
    return build_scenario(apply_overrides(raw, args.sets), file)


def _default_topology(ranks: int) -> dict[str, Any]:
    """One switch, or a fabric of leaves that is not oversubscribed."""
    alone = ranks <= ONE_SWITCH_RANKS
    per_leaf = ranks if alone else LEAF_RANKS
    return {
        "kind": "leaf-spine", "leaves": -(-ranks // per_leaf), "spines": 1 if alone else LEAF_RANKS,
        "hosts_per_leaf": per_leaf, "host_rate": "400G", "fabric_rate": "400G",
    }  # fmt: skip


def _as_data(args: argparse.Namespace, rows: Sequence[tuple[Measured, Prepared]], fit: Fit | None) -> dict[str, Any]:
    return {
        "operation": args.action,
        "algorithm": args.algorithm,
        "ranks": rows[0][1].request.n_ranks,
        "line_rate_bps": rows[0][0].line_bps,
        "rows": [
            {
                "size_bytes": row.size_bytes,
                "count": row.count,
                "algorithm": at.algorithm,
                "reason": at.reason or None,
                "channels": at.request.channels,
                "pieces": at.request.pieces,
                "time_ns": row.time_ps / PS_PER_NS,
                "mean_time_ns": row.mean_time_ps / PS_PER_NS,
                "algbw_bytes_per_s": row.algorithm_bytes_per_s,
                "busbw_bytes_per_s": row.bus_bytes_per_s,
                "line_share_ratio": row.line_share_ratio,
                "expected_ns": None if row.form is None else row.form.time_ps / PS_PER_NS,
                "expected_by": None if row.form is None else row.form.formula,
                "deviation_ratio": row.deviation_ratio,
                "message_alpha_ns": at.cost.main.alpha_ps / PS_PER_NS,
                "goodput_bps": round(8 * 10**15 / at.cost.main.fs_per_byte),
            }
            for row, at in rows
        ],
        "fit": None if fit is None else {"alpha_ns": fit.alpha_ps / PS_PER_NS, "bytes_per_s": fit.bytes_per_s},
    }


def _print(args: argparse.Namespace, rows: Sequence[tuple[Measured, Prepared]], fit: Fit | None) -> None:
    """Columns of nccl-tests, then the line rate and the expected time."""
    first = rows[0][1]
    what, request = first.request.what, first.request
    print(
        f"# {args.action} by {args.algorithm}, {request.n_ranks} ranks, NIC {format_rate_bps(rows[0][0].line_bps)}; "
        "time of the slowest rank; GB = 10^9 B"
    )
    head = ("size", "count", "type", "redop", "root", "time", "algbw", "busbw", "of line", "expected", "deviation")
    unit = ("(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "")
    lines = [head, unit]
    for row, _ in rows:
        deviation = row.deviation_ratio
        lines.append(
            (
                str(row.size_bytes), str(row.count), _TYPES[request.element_bytes], "sum" if what.reduces else "none",
                str(request.root) if what.has_root else "-1", f"{row.time_ps / PS_PER_US:.2f}",
                f"{row.algorithm_bytes_per_s / 1e9:.2f}", f"{row.bus_bytes_per_s / 1e9:.2f}",
                f"{row.line_share_ratio:.1%}", "-" if row.form is None else f"{row.form.time_ps / PS_PER_US:.2f}",
                "-" if deviation is None else f"{deviation:+.2%}",
            )
        )  # fmt: skip
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    for line in lines:
        print("  ".join(f"{cell:>{width}}" for cell, width in zip(line, widths, strict=True)).rstrip())
    for row, at in rows:
        if at.reason:
            print(f"# {row.size_bytes} B by {at.algorithm}: {at.reason}")
    if fit is not None:
        print(f"# fit: time = {fit.alpha_ps / PS_PER_US:.2f} us + size / {fit.bytes_per_s / 1e9:.2f} GB/s")
    for formula in dict.fromkeys(row.form.formula for row, _ in rows if row.form is not None):
        print(f"# expected: {formula}")
    link = rows[-1][1].cost.main
    print(f"# of a message of the last size: alpha {link.alpha_ps / PS_PER_US:.3f} us, "
          f"{8e15 / link.fs_per_byte / 1e9:.1f} Gb/s of payload")  # fmt: skip


def _plot(args: argparse.Namespace, rows: Sequence[Measured]) -> None:

    measured = [(row.size_bytes, row.bus_bytes_per_s) for row in rows]
    expected = [
        (row.size_bytes, row.bus_bytes_per_s * row.time_ps / row.form.time_ps)
        for row in rows
        if row.form is not None and row.form.time_ps
    ]
    title = f"{args.action} by {args.algorithm}"
    write_file(args.plot, bandwidth_svg(title, measured, expected, rows[0].line_bps))
    print(f"wrote {args.plot}", file=sys.stderr)
