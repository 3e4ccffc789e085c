"""`python -m tests.reliability [NAME...]`: run families of reliability tests and print a row for each kind of try.

With `--write FILE` the rows are kept in measured/, and FILE becomes the page of all rows that are kept. With
`--page FILE` the page is written of the kept rows alone; nothing is run. The exit status is 1 where a case failed.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from tests.reliability.registry import FAMILIES, kept_page
from tests.reliability.report import keep, row_text


def main() -> int:
    """Run, print, write."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.reliability", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("families", nargs="*", metavar="NAME", help=f"all where absent: {', '.join(FAMILIES)}")
    parser.add_argument("--write", metavar="FILE", type=Path, help="keep the rows, and write the page")
    parser.add_argument("--page", metavar="FILE", type=Path, help="run nothing; write the page of the kept rows")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    words = parser.parse_args()
    unknown = sorted(set(words.families) - set(FAMILIES))
    if unknown:
        parser.error(f"no such family: {', '.join(unknown)}; there are {', '.join(FAMILIES)}")
    if words.page and (words.write or words.families):
        parser.error("--page runs nothing: give it alone")
    found = {}
    for name in () if words.page else words.families or FAMILIES:
        with tempfile.TemporaryDirectory(prefix=f"reliability-{name}-") as work:
            found[name] = FAMILIES[name].rows(Path(work))
        if not words.json:
            print(f"{name}\n" + "\n".join(f"- {row_text(row)}" for row in found[name]), flush=True)
        if words.write:
            keep(name, found[name])
    if words.json:
        print(json.dumps({name: [asdict(row) for row in rows] for name, rows in found.items()}, indent=1))
    target = words.write or words.page
    if target:
        target.write_text(kept_page(), encoding="utf-8")
    return int(any(row.failures for rows in found.values() for row in rows))


if __name__ == "__main__":
    sys.exit(main())
