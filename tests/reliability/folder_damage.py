"""Flipped bits and truncations at random places of every file of a run folder: refused, named, or without effect."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tests.reliability import worlds
from tests.reliability.command import RESULTS, Answer, call
from tests.reliability.report import Row

CASES: Final = 150
PART: Final = 50
"""Cases of each row in `make test-all`: every file of a run is damaged once or more often."""
"""Of each of the four: flips and truncations, of a finished and of a killed run."""
READERS: Final = (
    ("show", "DIR", "--json"),
    ("show", "DIR", "messages", "--json"),
    ("show", "DIR", "events", "--json"),
    ("show", "DIR", "queues", "--json"),
    ("explain", "DIR", "--json"),
    ("diff", "WHOLE", "DIR", "--json"),
)
BEFORE: Final = (
    "126: other output with exit 0 (22), `diff` says the same result (104)",
    "88: `diff` says the same result",
    "103: other results with exit 0 (46, of them 14 in tables), traceback (34), file not named (23)",
    "115: traceback (83), other results with exit 0 (32)",
)
PARTIAL: Final = (("show", "DIR", "events", "--json"),)
"""What can be read of a killed run."""


class Damage(NamedTuple):
    """One case."""

    text: str
    file: str
    data: bytes


def some_rows(work: Path) -> list[Row]:
    """A third of the cases of each row."""
    return rows(work, PART)


def rows(work: Path, cases: int = CASES) -> list[Row]:
    """Four rows of so many cases each."""
    whole, killed = worlds.finished(work), worlds.killed(work)
    case = work / "case"
    finished_rule = "every reader names the file (exit 2) or prints what it prints of the whole run; `verify` names it"
    killed_rule = (
        "`--resume` names the file at once (exit 2), or ends with the digest and the bytes of the whole "
        "run; readers and `verify` as above"
    )
    table = (
        ("bit flips in a finished run", finished_rule, _flips, whole, _read_all, BEFORE[0]),
        ("truncations in a finished run", finished_rule, _cuts, whole, _read_all, BEFORE[1]),
        ("bit flips in a killed run", killed_rule, _flips, killed, _resume, BEFORE[2]),
        ("truncations in a killed run", killed_rule, _cuts, killed, _resume, BEFORE[3]),
    )
    found = []
    for number, (what, rule, damages, folder, judge, before) in enumerate(table):
        failures = []
        for damage in damages(folder, random.Random(number), cases):
            shutil.copytree(folder, case)
            (case / damage.file).write_bytes(damage.data)
            faults = judge(damage, case, whole, work)
            failures += [f"{damage.text}: {'; '.join(faults)}"] if faults else []
            shutil.rmtree(case)
        found.append(Row(f"{what}: {rule}", cases, before, failures))
    return found


def _flips(folder: Path, chance: random.Random, cases: int) -> Iterator[Damage]:
    for file in _chosen(folder, chance, cases):
        data = bytearray((folder / file).read_bytes())
        place, bit = chance.randrange(len(data)), chance.randrange(8)
        data[place] ^= 1 << bit
        yield Damage(f"bit {bit} of byte {place} of {file}", file, bytes(data))


def _cuts(folder: Path, chance: random.Random, cases: int) -> Iterator[Damage]:
    for file in _chosen(folder, chance, cases):
        data = (folder / file).read_bytes()
        length = chance.choice([0, chance.randrange(len(data)), len(data) - 1])
        yield Damage(f"{file} cut to {length} of {len(data)} bytes", file, data[:length])


def _chosen(folder: Path, chance: random.Random, cases: int) -> list[str]:
    """Every file as often as any other."""
    files = sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".lock" and path.stat().st_size
    )
    files = [file for file in files if _belongs(folder, file)]
    picked = [files[number % len(files)] for number in range(cases)]
    chance.shuffle(picked)
    return picked


def _belongs(folder: Path, file: str) -> bool:
    """Whether a file is part of the run: a killed process leaves other files, which are not read."""
    index = folder / "checkpoint" / "checkpoint.json"
    if "/" not in file or file.endswith("checkpoint.json"):
        return not file.endswith(".pending")
    about = json.loads(index.read_text(encoding="utf-8"))
    number = int(file.rpartition("-")[2].partition(".")[0])
    if file.startswith("checkpoint/"):
        return number == about["number"]
    parts = about["parts"][file.removeprefix("parts/").partition("-")[0]]
    return number <= (parts if isinstance(parts, int) else len(parts))


def _read_all(damage: Damage, case: Path, whole: Path, work: Path) -> list[str]:
    return [*_readers(READERS, damage, case, whole, work, whole), *_verify(damage, case, whole)]


def _resume(damage: Damage, case: Path, whole: Path, work: Path) -> list[str]:
    faults = [*_readers(PARTIAL, damage, case, whole, work, work / "killed"), *_verify(damage, case, work / "killed")]
    answer = call("run", worlds.scenario(work), "--out", case, "--resume", "--quiet")
    if answer.defect:
        faults.append(f"run --resume: {answer.defect}")
    elif answer.code == 2:
        faults += [] if _named(damage, answer) else [f"run --resume: exit 2 does not name it: {answer.err.strip()}"]
        faults += ["run --resume: refused after it had simulated"] if "packet-hops" in answer.err else []
    elif answer.code != 0:
        faults.append(f"run --resume: exit {answer.code}")
    else:
        faults += [
            f"run --resume: {name} differs from the whole run's"
            for name in RESULTS
            if (case / name).read_bytes() != (whole / name).read_bytes()
        ]
        if worlds.manifest(case)["digest"] != worlds.manifest(whole)["digest"]:
            faults.append("run --resume: another digest")
    return faults


_WANTED: dict[tuple[Path, tuple[str, ...]], Answer] = {}


def _readers(
    commands: tuple[tuple[str, ...], ...], damage: Damage, case: Path, whole: Path, work: Path, source: Path
) -> Iterator[str]:
    for words in commands:
        wanted = _wanted(source, words, work, whole)
        answer = _call(words, case, whole)
        name = " ".join(words)
        if answer.defect:
            yield f"{name}: {answer.defect}"
        elif answer.code == 2 != wanted.code:
            if not _named(damage, answer):
                yield f"{name}: exit 2 does not name it: {answer.err.strip()}"
        elif words[0] == "diff" and answer.code == 0 and not _same_values(damage, case, whole):
            yield f"{name}: says the same result"
        elif (answer.code, answer.out) != (wanted.code, wanted.out) and words[0] != "diff":
            yield f"{name}: other output, and no error"


def _wanted(source: Path, words: tuple[str, ...], work: Path, whole: Path) -> Answer:
    """Output of the command for an undamaged copy at the same path."""
    key = (source, words)
    if key not in _WANTED:
        aside = work / "aside"
        (work / "case").rename(aside)
        shutil.copytree(source, work / "case")
        _WANTED[key] = _call(words, work / "case", whole)
        shutil.rmtree(work / "case")
        aside.rename(work / "case")
    return _WANTED[key]


def _call(words: tuple[str, ...], case: Path, whole: Path) -> Answer:
    return call(*({"DIR": case, "WHOLE": whole}.get(word, word) for word in words))


def _verify(damage: Damage, case: Path, source: Path) -> Iterator[str]:
    answer = call("verify", case, "--json")
    if "no verb" in answer.err:  # measured on a commit that has none
        return
    if answer.defect:
        yield f"verify: {answer.defect}"
        return
    if answer.code == 0 and not _same_values(damage, case, source):
        yield "verify: says that all is whole"
    if answer.code == 1:
        named = [it["file"] for it in json.loads(answer.out)["files"] if it["fault"]]
        if named != [damage.file]:
            yield f"verify: names {named}"
    elif answer.code == 2:
        yield f"verify: exit 2: {answer.err.strip()}"


def _same_values(damage: Damage, case: Path, source: Path) -> bool:
    """Whether the damage is without effect: white space of an index."""
    if not damage.file.endswith((".json", ".jsonl")):
        return False
    try:
        return bool(json.loads((case / damage.file).read_bytes()) == json.loads((source / damage.file).read_bytes()))
    except ValueError:
        return False


def _named(damage: Damage, answer: Answer) -> bool:
    return Path(damage.file).name in answer.err and "hint:" in answer.err
