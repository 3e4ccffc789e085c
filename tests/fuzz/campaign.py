"""Many cases by their seeds: what is done with each, and what came of all of them.

A case is its seed: `python -m tests.fuzz.campaign valid 17` judges it again and writes its files to fuzz-valid-17/ in
a new temporary folder, or in that of `--out`. The output names the written fuzz.yml; `fabric run --check` with it runs
the case as a user would.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from fabric.errors import InputErrors
from tests.fuzz.choices import seeded
from tests.fuzz.mutants import mutant
from tests.fuzz.oracle import How, Verdict, judge
from tests.fuzz.scenarios import Case, repaired, scenario

KINDS: Final = ("valid", "mutant")


@dataclass
class Tally:
    """What came of a number of cases."""

    cases: int = 0
    reached: Counter[str] = field(default_factory=Counter)
    """Stage -> cases that ended there: refused by it, or simulated."""
    compared: Counter[str] = field(default_factory=Counter)
    """What was compared with the first run -> cases that the engine ran."""
    too_large: int = 0
    cut: int = 0
    events: int = 0
    failures: list[str] = field(default_factory=list)

    def add(self, kind: str, seed: int, how: How, verdict: Verdict) -> None:
        """One case more."""
        self.cases += 1
        self.reached[verdict.reached] += 1
        self.too_large += verdict.too_large
        self.cut += verdict.cut
        self.events += verdict.events
        if verdict.reached == "engine":
            self.compared.update(how.names())
        self.failures += [f"{kind} {seed}: {text}" for text in verdict.failures]

    def join(self, other: Tally) -> None:
        """The cases of another tally, too."""
        self.cases += other.cases
        self.reached += other.reached
        self.compared += other.compared
        self.too_large += other.too_large
        self.cut += other.cut
        self.events += other.events
        self.failures += other.failures

    def __str__(self) -> str:
        stages = ", ".join(f"{count:,} {stage}" for stage, count in self.reached.items())
        return (
            f"{self.cases:,} cases ({stages}), {self.events:,} events, {self.too_large} too large, "
            f"{self.cut} cut off; {dict(self.compared)}; {len(self.failures)} failures"
        )


def made(kind: str, seed: int, folder: Path) -> Case:
    """The case of a seed."""
    if kind == "mutant":
        return mutant(seeded(seed))
    case = scenario(seeded(seed))
    try:
        return repaired(case, folder)[0]
    except InputErrors:  # judge() says with which problems, and whether they are clear
        return case


def how_of(seed: int) -> How:
    """What is compared: in most cases one thing, so that thousands take minutes."""
    return How(
        threads=2 if seed % 8 == 1 else 1,
        sequential=seed % 5 == 2,
        resume=seed % 5 == 3,
        resolved=seed % 5 == 4,
        command=seed % 40 == 5,
    )


def tried(kind: str, seed: int, folder: Path, tally: Tally) -> Verdict:
    """Judge the case of a seed."""
    how = how_of(seed)
    verdict = judge(made(kind, seed, folder), folder, how)
    tally.add(kind, seed, how, verdict)
    return verdict


def campaign(kind: str, seeds: Iterable[int], folder: Path) -> Tally:
    """Judge the cases of these seeds."""
    tally = Tally()
    for seed in seeds:
        tried(kind, seed, folder, tally)
    return tally


def main(words: list[str]) -> int:
    """Judge single cases again, and write their files."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.campaign", description="Judge single cases again.")
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("seeds", nargs="+", type=int, metavar="SEED")
    parser.add_argument("--out", metavar="DIR", type=Path, help="folder for the files (default: a new temporary one)")
    asked = parser.parse_args(words)
    out = asked.out or Path(tempfile.mkdtemp(prefix="fuzz-"))
    kind, failed = asked.kind, 0
    for seed in asked.seeds:
        folder = out / f"fuzz-{kind}-{seed}"
        case = made(kind, seed, folder)
        case.write(folder)
        verdict = judge(case, folder, how_of(seed))
        lines = [
            f"{folder}/fuzz.yml: reached the {verdict.reached} ({case.about or 'valid'})",
            *map(str, verdict.refused),
            *verdict.failures,
        ]
        sys.stdout.write("\n  ".join(lines) + "\n")
        failed += bool(verdict.failures)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
