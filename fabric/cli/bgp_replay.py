"""``fabric bgp replay``: replay a journal and show where the speaker's output differs (exit 1)."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Final

from fabric.reading import MIB, read_text

EXIT_FINDING: Final = 1
_SHOWN: Final = 20
MAX_BYTES: Final = 256 * MIB
"""Maximum size of a journal: days of a session with a full table."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("journal", metavar="JOURNAL", type=Path, help="journal of `fabric bgp speak --journal`")
    parser.add_argument("--json", action="store_true", help="print one JSON object: inputs, outputs, differences")


def run(args: argparse.Namespace) -> int:
    """Replay and print; exit 0 where every output equals the journal byte by byte."""
    from fabric.capture.journal import read, replay  # noqa: PLC0415  --help must not load a speaker

    missing = "name a file that `fabric bgp speak --journal` wrote"
    lines = read_text(args.journal, MAX_BYTES, missing=missing).splitlines()
    journal = read(lines, str(args.journal))
    differences = list(replay(journal))
    outputs = sum(len(entry.outputs) for entry in journal.entries)
    if args.json:
        print(
            json.dumps(
                {
                    "inputs": len(journal.entries),
                    "outputs": outputs,
                    "differences": [
                        {"line": it.line, "call": it.call, "recorded": it.recorded, "replayed": it.simulated}
                        for it in differences
                    ],
                },
                indent=2,
            )
        )
        return EXIT_FINDING if differences else 0
    for it in differences[:_SHOWN]:
        print(
            f"line {it.line}, {it.call}:\n  recorded {json.dumps(it.recorded)}\n  replayed {json.dumps(it.simulated)}"
        )
    if len(differences) > _SHOWN:
        print(f"... and {len(differences) - _SHOWN} more: --json", file=sys.stderr)
    print(
        f"{len(journal.entries)} inputs, {outputs} outputs: "
        + (f"{len(differences)} differ." if differences else "all the same.")
    )
    return EXIT_FINDING if differences else 0
