"""``fabric errors``: the catalogue of errors: what a message means, its cause and its remedy."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from fabric.errors import InputErrors, Problem

if TYPE_CHECKING:
    from fabric.errorlist.entries import Entry


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "what", metavar="ID|MESSAGE", nargs="?", help="an id, or a line that a command printed; without it, a summary"
    )
    parser.add_argument("--json", action="store_true", help="print JSON; without ID or MESSAGE all entries")
    parser.epilog = (
        "examples:\n  fabric errors\n  fabric errors has-no-unit\n"
        "  fabric errors 'incast.yml: run.duration: 10 has no unit'"
    )


def run(args: argparse.Namespace) -> int:
    """Print; 2 where nothing has this id or these words."""
    from fabric.errorlist.causes import area, cause, remedies  # noqa: PLC0415  --help reads no catalogue
    from fabric.errorlist.entries import entries  # noqa: PLC0415

    if args.what is None:
        listed = list(entries().values())
        if args.json:
            print(json.dumps([_told(it) for it in listed], indent=2))
            return 0
        print(f"{len(listed):,} errors have an id; docs/errors.md lists them.")
        for name, count in sorted(Counter(area(it) or "several parts" for it in listed).items()):
            print(f"  {name:22} {count:5,}")
        print("`fabric errors ID` or `fabric errors MESSAGE` shows one.")
        return 0
    entry = entries().get(args.what) or _of_line(args.what)
    if entry is None:
        hint = "give one line as it was printed, without its hint; `fabric errors` has a summary"
        raise InputErrors("options", [Problem("ID|MESSAGE", "no error has this id or these words", hint)])
    if args.json:
        print(json.dumps(_told(entry), indent=2))
        return 0
    print(f"{entry.id}\n  message: {entry.text}\n  cause: {cause(entry)}")
    for remedy in remedies(entry) or ("in the message",):
        print(f"  remedy: {remedy}")
    print(f"  from: {', '.join(entry.modules)}\n  page: docs/errors.md#{entry.id}")
    return 0


def _told(entry: Entry) -> dict[str, Any]:
    from fabric.errorlist.causes import cause, remedies  # noqa: PLC0415  as in run()

    return {**asdict(entry), "cause": cause(entry), "remedies": remedies(entry)}


def _of_line(line: str) -> Entry | None:
    """The entry of a printed line: of the message after its place, which ends with a colon."""
    from fabric.errorlist.entries import match  # noqa: PLC0415  as in run()

    parts = line.strip().removeprefix("error: ").split(": ")
    texts = (": ".join(parts[number:]) for number in range(len(parts)))
    return next((entry for text in texts if (entry := match(text)) is not None), None)
