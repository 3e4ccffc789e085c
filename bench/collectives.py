"""`python -m bench.collectives`: tables of collectives with the expected times, as `fabric collective` measures them.

`tables`: all-reduce by ring, trees, halving-doubling and hierarchy at 8, 64, 256 and 1,024 ranks. `accuracy`: every
algorithm and operation at several numbers of ranks and sizes, with the deviation from the expected time. `congestion`:
pipelined trees, whose ranks share ports, by parameters of DCQCN. Fabrics are one switch without contention between
ports, or servers of 8 GPUs on rails. `--write FILE` puts the tables between the marks of a Markdown page.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, Final

import yaml

from bench import page
from bench.machine import conditions, yardstick_steps_per_s
from fabric.cli.main import main as fabric_main
from fabric.collectives.registry import ALGORITHMS
from fabric.errors import FabricError

Row = dict[str, Any]
GPUS: Final = 8
TABLE_RANKS: Final = (8, 64, 256, 1024)
TABLE_SIZES: Final = "64KiB,1MiB,16MiB"
TABLE_ALGORITHMS: Final[dict[str, tuple[str, ...]]] = {
    "ring": (),
    "double-binary-tree": ("--chunk", "512KiB", "--set", "transport.cc=none"),
    "halving-doubling": (),
    "hierarchical": ("--ranks-per-node", str(GPUS)),
}
ACCURACY_RANKS: Final = (2, 7, 64, 256)
ACCURACY_SIZES: Final = "100003B,1MiB"
QUICK_RANKS: Final = (8, 64)
PRESETS: Final = ("mlx5", "paper-2015", "hpcc-dcqcn", "hpcc-dcqcn-paper", "simai")
CONGESTED_RANKS: Final = (8, 16)


def scenario(ranks: int, *, servers: bool) -> dict[str, Any]:
    """One switch, or servers of 8 GPUs, each with a NIC on the rail of its place; 400G."""
    topology: dict[str, Any] = {"host_rate": "400G", "fabric_rate": "400G"}
    if servers and ranks <= GPUS:
        topology = {"kind": "server", "gpus": ranks, "scale_up": {"profile": "h100-hgx"}}
    elif servers:
        scale_up = {"profile": "h100-hgx", "pcie": "gen5"}
        topology |= {
            "kind": "rail", "nodes_per_pod": ranks // GPUS, "rails": GPUS, "spines": ranks // GPUS, "scale_up": scale_up
        }  # fmt: skip
    else:
        topology |= {"kind": "leaf-spine", "leaves": 1, "spines": 1, "hosts_per_leaf": ranks}
    return {
        "name": f"collective-{ranks}",
        "topology": topology,
        "switches": {} if topology["kind"] == "server" else {"memory": "1GB"},  # for the headroom of many ports
        "workload": [{"kind": "all-to-all", "size": "1KB"}],
        "run": {"duration": "1s"},
    }


def measured(folder: Path, operation: str, algorithm: str, ranks: int, sizes: str, more: Sequence[str]) -> Row:
    """The JSON of one `fabric collective`, with the seconds that it took."""
    item = ALGORITHMS[algorithm]
    servers = "--ranks-per-node" in more or item.needs_nodes
    file = folder / f"{ranks}-{servers}.yml"
    file.write_text(yaml.safe_dump(scenario(ranks, servers=servers)), encoding="utf-8")
    words = ["collective", operation, str(file), "--algorithm", algorithm, "--sizes", sizes]
    words += ["--quiet", "--json", "--yes"]
    out, began = io.StringIO(), time.perf_counter()
    with redirect_stdout(out):
        code = fabric_main([*words, *more])
    if code:
        raise FabricError(f"`fabric {' '.join([*words, *more])}` ended with exit code {code}", "run it by itself")
    found: Row = json.loads(out.getvalue())
    return found | {"seconds": time.perf_counter() - began}


def tables(folder: Path, *, quick: bool) -> str:
    """The tables of nccl-tests of four algorithms."""
    parts = []
    for algorithm, more in TABLE_ALGORITHMS.items():
        lines = [
            "| ranks | size | time, us | algbw, GB/s | busbw, GB/s | expected, us | error | expected by |",
            "|---:|---:|---:|---:|---:|---:|---:|---|",
        ]
        for ranks in QUICK_RANKS if quick else TABLE_RANKS:
            found = measured(folder, "all-reduce", algorithm, ranks, TABLE_SIZES, more)
            _tell(f"{algorithm}, {ranks} ranks", found)
            lines += [
                f"| {ranks} | {row['size_bytes']} | {row['time_ns'] / 1e3:.2f} "
                f"| {row['algbw_bytes_per_s'] / 1e9:.2f} | {row['busbw_bytes_per_s'] / 1e9:.2f} "
                f"| {row['expected_ns'] / 1e3:.2f} | {row['deviation_ratio']:+.2%} | {row['expected_by']} |"
                for row in found["rows"]
            ]
        options = f" ({' '.join(more)})" if more else ""
        parts.append(f"### all-reduce, {algorithm}{options}\n\n" + "\n".join(lines))
    return "\n\n".join(parts)


def accuracy(folder: Path, *, quick: bool) -> str:
    """Deviations of every algorithm and operation."""
    ranks_of = QUICK_RANKS if quick else ACCURACY_RANKS
    head = [f"{ranks} ranks" for ranks in ranks_of]
    lines = ["| algorithm | operation | " + " | ".join(head) + " |", "|---|---|" + "---:|" * len(head)]
    for algorithm, operation in _pairs():
        cells = [_accuracy_cell(folder, algorithm, operation, ranks) for ranks in ranks_of]
        lines.append(f"| {algorithm} | {operation} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _pairs() -> Iterator[tuple[str, str]]:
    for algorithm, item in ALGORITHMS.items():
        for operation in item.operations:
            chain_again = algorithm in {"multi-ring", "bidirectional-ring"} and operation in {"broadcast", "reduce"}
            if operation != "all-to-all-v" and not chain_again:
                yield algorithm, operation


def _accuracy_cell(folder: Path, algorithm: str, operation: str, ranks: int) -> str:
    item = ALGORITHMS[algorithm]
    if operation in item.power_of_two and ranks & (ranks - 1):
        return ""
    if item.needs_nodes and (ranks % GPUS or ranks == GPUS):
        return ""
    more: list[str] = []
    if item.needs_nodes:
        more += ["--ranks-per-node", str(GPUS)]
    if algorithm in {"multi-ring", "bidirectional-ring"}:
        more += ["--channels", str(GPUS if algorithm == "multi-ring" else 2)]
    found = measured(folder, operation, algorithm, ranks, ACCURACY_SIZES, more)
    _tell(f"{algorithm}, {operation}, {ranks} ranks", found)
    cells = [_percent(row) for row in found["rows"]]
    if any(abs(row["deviation_ratio"] or 0) > 0.01 for row in found["rows"]):
        again = measured(folder, operation, algorithm, ranks, ACCURACY_SIZES, [*more, "--set", "transport.cc=none"])
        cells = [
            cell if cell == (free := _percent(other)) else f"{cell} ({free})"
            for cell, other in zip(cells, again["rows"], strict=True)
        ]
    return ", ".join(cells)


def _percent(row: Row) -> str:
    return "-" if row["deviation_ratio"] is None else f"{row['deviation_ratio'] * 100:+.2f}"


def congestion(folder: Path, *, quick: bool) -> str:
    """Trees of 16 MiB with chunks of 512 KiB, by the NICs' parameters."""
    choices = {"no congestion control": "transport.cc=none"} | {
        name: f"transport.dcqcn={name}" for name in PRESETS[: 2 if quick else None]
    }
    lines = ["| algorithm | ranks | " + " | ".join(choices) + " |", "|---|---:|" + "---:|" * len(choices)]
    for algorithm in ("binary-tree", "double-binary-tree"):
        for ranks in CONGESTED_RANKS:
            cells = []
            for setting in choices.values():
                more = ("--chunk", "512KiB", "--set", setting)
                found = measured(folder, "all-reduce", algorithm, ranks, "16MiB", more)["rows"][0]
                cells.append(f"{found['time_ns'] / found['expected_ns']:.2f}")
            lines.append(f"| {algorithm} | {ranks} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


SECTIONS: Final[dict[str, Callable[..., str]]] = {"tables": tables, "accuracy": accuracy, "congestion": congestion}


def _tell(what: str, found: Row) -> None:
    worst = max((abs(row["deviation_ratio"] or 0) for row in found["rows"]), default=0)
    print(f"  {what}: {found['seconds']:.1f} s, largest deviation {worst:.2%}", file=sys.stderr, flush=True)


def main(given: Sequence[str] | None = None) -> int:
    """Measure, then print or write."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.collectives", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", metavar="NAME", action="append", choices=tuple(SECTIONS), default=[],
        help=f"measure only this; repeatable: {', '.join(SECTIONS)}",
    )  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="8 and 64 ranks only: a minute")
    parser.add_argument("--write", metavar="FILE", type=Path, help="put the tables between this Markdown file's marks")
    args = parser.parse_args(given)
    names = [name for name in SECTIONS if name in (args.only or SECTIONS)]
    if args.write and args.quick:
        parser.error("--write needs full measurements: leave out --quick")
    if args.write:
        page.check(args.write, names)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="collectives-") as folder:
        found = {name: SECTIONS[name](Path(folder), quick=args.quick) for name in names}
    took = f"these tables took {time.perf_counter() - began:.0f} s"
    line = f"{page.conditions_line(conditions(), yardstick_steps_per_s())}; {took}."
    if args.write:
        page.write(args.write, {"conditions": line} | found)
    else:
        print("\n\n".join([line, *found.values()]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
