"""Chakra traces of all collective operations, simulated: `python -m bench.traces [--write docs/traces.md]`.

The traces of ASTRA-sim's examples (tests/data/traces) where it has one, else traces of the same form that the writer
makes. Eight ranks on one switch. Every figure is simulated, so the table is the same on every machine.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench.page import write
from bench.table import Table
from fabric.runs.rundir import RunDir
from fabric.runs.simulate import Options, prepare, simulate
from fabric.scenario.load import build_scenario
from fabric.traces.builder import DEFAULT, builder
from fabric.traces.chakra.writer import write_chakra
from fabric.traces.formats import read_trace
from fabric.traces.graph import OPERATIONS, Kind, Op, Trace
from fabric.traces.lower import lower

NAME: Final = "traces"
RANKS: Final = 8
SIZE_BYTES: Final = 2**20
SAMPLES: Final = Path(__file__).resolve().parents[1] / "tests/data/traces/chakra"


@dataclass(frozen=True)
class Delivered:
    """The outcome of one trace."""

    operation: str
    source: str
    size_bytes: int
    """As nccl-tests prints it."""
    messages: int
    in_file_bytes: int
    """What must move at least for the operations of the file."""
    delivered_bytes: int
    undelivered: int
    """Transfers that are not done."""
    time_ns: int
    """Last arrival."""


def sample(operation: str) -> Path | None:
    """The prefix of ASTRA-sim's trace, if it has one."""
    name = operation.replace("-", "_")
    prefix = SAMPLES / name / f"{RANKS}npus_1MB" / name
    return prefix if prefix.with_name(f"{name}.0.et").is_file() else None


def deliver(operation: str, folder: Path) -> Delivered:
    """Simulate the trace of one operation."""
    prefix = sample(operation)
    source = "ASTRA-sim" if prefix else "written"
    if prefix is None:
        prefix = folder / "trace"
        op = Op(Kind.COLLECTIVE, operation=operation, size_bytes=SIZE_BYTES)
        write_chakra(Trace([[op] for _ in range(RANKS)], "chakra", ["written"]), prefix)
    account = lower(read_trace(prefix), builder()).account
    raw = {
        "name": operation,
        "topology": {"kind": "leaf-spine", "leaves": 1, "spines": 1, "hosts_per_leaf": RANKS, "host_rate": "400G",
                     "fabric_rate": "400G"},
        "workload": [{"kind": "trace", "file": str(prefix)}],
        "transport": {"qp": {"per": "pair"}},
        "run": {"duration": "100ms"},
    }  # fmt: skip
    simulate(*prepare(build_scenario(raw, folder / "trace.yml"), text=""), Options(folder / "run"))
    rows = RunDir.open(folder / "run").transfers().to_pylist()
    sent = [row for row in rows if row["src"] != row["dst"]]
    done = [row for row in sent if row["state"] == "done"]
    return Delivered(
        operation,
        source,
        sent[0]["operation_bytes"],
        sum(row["done"] for row in sent),
        account.bytes_in_file,
        sum(row["size_bytes"] for row in done),
        len(rows) - sum(row["state"] == "done" for row in rows),
        max(row["arrived_ns"] for row in done),
    )


def all_delivered() -> Iterator[Delivered]:
    """Each operation of graph.OPERATIONS."""
    for operation in OPERATIONS:
        with TemporaryDirectory() as folder:
            yield deliver(operation, Path(folder))


def table(found: list[Delivered]) -> Table:
    """For the page."""
    columns = ("operation", "trace", "algorithm", "size (B)", "messages", "must move (B)", "delivered (B)",
               "not delivered", "time (us)")  # fmt: skip
    rows = [
        (it.operation, it.source, DEFAULT[it.operation], f"{it.size_bytes:,}", f"{it.messages:,}",
         f"{it.in_file_bytes:,}", f"{it.delivered_bytes:,}", str(it.undelivered), f"{it.time_ns / 1000:.2f}")
        for it in found
    ]  # fmt: skip
    return Table(f"Chakra traces of {RANKS} ranks on one switch with 400G ports", columns, rows)


def main() -> int:
    """Print the table, or write it to the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, metavar="PAGE", help="replace the table of this page")
    args = parser.parse_args()
    found = table(list(all_delivered()))
    if args.write:
        write(args.write, {NAME: found.markdown()})
    else:
        print(found.text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
