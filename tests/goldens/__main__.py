"""`python -m tests.goldens`: run every case, print what changed, and write goldens.json.

With `--check` nothing is written, and the exit status is 1 where something changed. With names, only these cases.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Final

from tests.goldens.cases import CASES
from tests.goldens.digests import golden

FILE: Final = Path(__file__).parent / "goldens.json"


def main() -> int:
    """Run, compare, write."""
    parser = argparse.ArgumentParser(prog="python -m tests.goldens", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help="all where absent")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where a result changed")
    parser.add_argument("--json", action="store_true", help="print the results and compare nothing")
    words = parser.parse_args()
    unknown = sorted(set(words.cases) - set(CASES))
    if unknown:
        parser.error(f"no such case: {', '.join(unknown)}; there are {', '.join(CASES)}")
    found = {name: golden(name) for name in words.cases or CASES}
    if words.json:
        print(json.dumps(found))
        return 0
    kept = json.loads(FILE.read_text(encoding="utf-8")) if FILE.is_file() else {}
    changed = 0
    for name, row in found.items():
        before = kept.get(name, {})
        if before == row:
            continue
        changed += 1
        print(name + (": new" if not before else ""))
        for key, value in row.items():
            if before.get(key) != value:
                print(f"  {key}: {before.get(key, '-')} -> {value}")
    gone = [] if words.cases else sorted(set(kept) - set(CASES))
    print(f"{len(found)} cases, {changed} changed" + (f", gone: {', '.join(gone)}" if gone else ""))
    if words.check:
        return int(changed > 0 or bool(gone))
    kept = {name: {**kept, **found}[name] for name in CASES if name in found or name in kept}
    FILE.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
