"""`python -m tests.goldens`: run every case, print what changed, and write goldens.json.

With `--check` nothing is written, and the exit status is 1 where something changed. With names, only these cases.
With `--since COMMIT` nothing is run: the results that are kept are compared with those that were kept at the commit.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tests.goldens.cases import CASES
from tests.goldens.digests import golden

FILE: Final = Path(__file__).parent / "goldens.json"


def compared(then: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[list[str], str]:
    """(cases of `then` with another result, or none, now; a sentence)."""
    changed = [name for name, row in then.items() if now.get(name) != row]
    new = len(now.keys() - then.keys())
    names = f": {', '.join(changed)}" if changed else ""
    return changed, f"{len(then) - len(changed)} of {len(then)} results are as they were, {new} cases are new{names}"


def main() -> int:
    """Run, compare, write."""
    parser = argparse.ArgumentParser(prog="python -m tests.goldens", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help="all where absent")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where a result changed")
    parser.add_argument("--json", action="store_true", help="print the results and compare nothing")
    parser.add_argument("--since", metavar="COMMIT", help="run nothing; exit 1 where a kept result differs from then")
    words = parser.parse_args()
    if words.since is not None:
        show = ["git", "show", f"{words.since}:./{FILE.name}"]
        then = subprocess.run(show, cwd=FILE.parent, capture_output=True, text=True, check=False)
        if then.returncode:
            parser.error(f"--since {words.since}: {then.stderr.strip()}")
        changed, text = compared(json.loads(then.stdout), json.loads(FILE.read_text(encoding="utf-8")))
        print(text)
        return int(bool(changed))
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
