"""Does a configuration change break something? A table of findings, and an exit code for CI.

Usage: python validate_in_ci.py NEW [OLD], folders of switch configurations; without arguments, the shipped example.
"""

from __future__ import annotations

import sys
from pathlib import Path

import fabric
from fabric.shipped import folder


def main(new: Path, old: Path | None) -> int:
    """Print what the change breaks; 1 where a new finding is an error."""
    verdict = fabric.validate(new, baseline=old)
    for change in verdict.changes:
        print(f"changed  {change}")
    for finding in verdict.findings:
        print(f"{finding.severity:5}  {finding.check:3}  {finding.device:8}  {finding.object:20}  {finding.text}")
        print(f"       at {finding.place or 'no single line'}; remedy: {finding.remedy}")
    print(f"{verdict.counts}, {verdict.known} known before, {len(verdict.fixed)} fixed")
    Path("verdict.sarif").write_text(verdict.render("sarif"), encoding="utf-8")
    return verdict.exit_code("error")


if __name__ == "__main__":
    example = folder("examples") / "validate-example"
    given = [Path(name) for name in sys.argv[1:3]] or [example / "after", example / "before"]
    sys.exit(main(given[0], given[1] if len(given) > 1 else None))
