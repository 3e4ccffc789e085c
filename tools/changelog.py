"""`python -m tools.changelog`: gather the files of changes/ into a section of CHANGELOG.md, and remove them.

    python -m tools.changelog --preview     prints the section, changes nothing
    python -m tools.changelog               writes it; docs/releasing.md has the steps before and after

The version is that of fabric/__init__.py, its only definition. A file that cannot be gathered stops everything: exit 2,
and nothing is changed.
"""

from __future__ import annotations

import argparse
import datetime as dt
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from fabric import __version__
from tools.requirements import ROOT

KINDS: Final = ("added", "changed", "fixed", "removed")
"""In the order of their sections."""
_NAME: Final = re.compile(r"(?P<number>\d*)(?P<word>-?[^.]*)\.(?P<kind>[^.]+)\.md")


def changes(folder: Path) -> tuple[dict[str, list[tuple[Path, str]]], list[str]]:
    """(kind -> files with their texts in order of number and name, what cannot be gathered)."""
    found: dict[str, list[tuple[int, Path, str]]] = {kind: [] for kind in KINDS}
    problems = []
    for file in sorted(folder.iterdir()):
        if file.name == "README.md":
            continue
        parts = _NAME.fullmatch(file.name)
        text = file.read_text(encoding="utf-8").strip()
        if parts is None or parts["kind"] not in KINDS:
            problems.append(f"{file.name}: no such kind; name it NUMBER-WORD.KIND.md, with {', '.join(KINDS)}")
        elif not parts["number"]:
            problems.append(f"{file.name}: no number; name it NUMBER-WORD.{parts['kind']}.md")
        elif not text:
            problems.append(f"{file.name}: empty; write one or two sentences to the user")
        else:
            found[parts["kind"]].append((int(parts["number"]), file, text))
    ordered = {kind: [(file, text) for _, file, text in sorted(rows)] for kind, rows in found.items() if rows}
    return ordered, problems


def section(found: Mapping[str, list[tuple[Path, str]]], date: str) -> str:
    """The section of this version, Markdown."""
    lines = [f"## {__version__} ({date})"]
    for kind, rows in found.items():
        lines += ["", f"### {kind.capitalize()}", ""]
        lines += [f"- {text}".replace("\n", "\n  ") for _, text in rows]
    return "\n".join(lines) + "\n"


def written(text: str, new: str) -> str:
    """The changelog with the section before all others."""
    head, mark, rest = text.partition("\n## ")
    return f"{head.rstrip()}\n\n{new}" + (f"{mark}{rest}" if mark else "")


def _refuse(problems: list[str]) -> int:
    print("\n".join(f"error: {problem}" for problem in problems), file=sys.stderr)
    return 2


def main(given: list[str] | None = None) -> int:
    """Gather; 2 where nothing can be released."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.changelog", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--preview", action="store_true", help="print the section, change nothing")
    parser.add_argument(
        "--date",
        type=dt.date.fromisoformat,
        default=dt.datetime.now(tz=dt.UTC).date(),
        help="date of the release, such as 2030-01-02 (default: today, UTC)",
    )
    words = parser.parse_args(given)
    page = ROOT / "CHANGELOG.md"
    text = page.read_text(encoding="utf-8")
    found, problems = changes(ROOT / "changes")
    if not found and not problems:
        problems = ["changes/ has no change: there is nothing to release"]
    if f"\n## {__version__} (" in text:
        problems.append(f"CHANGELOG.md has {__version__} already; write the next version into fabric/__init__.py")
    if problems:
        return _refuse(problems)
    new = section(found, str(words.date))
    if words.preview:
        print(new, end="")
        return 0
    page.write_text(written(text, new), encoding="utf-8")
    gathered = [file for rows in found.values() for file, _ in rows]
    for file in gathered:
        file.unlink()
    print(f"CHANGELOG.md: {__version__} with {len(gathered)} changes", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
