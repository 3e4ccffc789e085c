"""The fabrics and their mutants: made from tests/mistakes, whose mistakes name leaf1, leaf2, spine1 and spine2."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from bench.configs.plan import shape_of, switches
from bench.configs.sarif import Answer
from tests.mistakes.mistake import LANGUAGES, Mistake, write
from tests.mistakes.score import CASES

_MUTANTS: Final = ((20, 40), (200, 12), (1000, 3), (2000, 2))
"""(switches up to which, mutants of each language that are asked for); one above."""
ANSWERS: Final = "answers.json"
HEALTHY: Final = "working"


def default_mutants(size: int) -> int:
    """Mutants of each language; larger fabrics take longer."""
    return next((count for most, count in _MUTANTS if size <= most), 1)


def sample(language: str, count: int) -> list[Mistake]:
    """The first mistake of each check, in an order in which every prefix spreads over the corpus."""
    first: dict[str, Mistake] = {}
    for case in CASES:
        usual = not case.loopbacks and not case.interior and "*" not in case.file
        refused = {"refused", "R5"} & set(case.checks.split())
        if case.language == language and usual and not refused and case.where:
            first.setdefault(case.checks.split()[0], case)
    cases = list(first.values())
    stride = max(1, len(cases) // count)
    return [*cases[::stride], *(it for row, it in enumerate(cases) if row % stride)][:count]


def fabric_of(language: str, size: int) -> dict[str, Any]:
    """{file name: content} of the working fabric."""
    files: dict[str, Any] = LANGUAGES[language].good(switches(shape_of(size)))
    return files


def answer_of(case: Mistake, size: int, number: int) -> Answer:
    """The answer of a mutant."""
    devices, checks = tuple(case.devices.split()), tuple(case.checks.split())
    return Answer(f"{case.language}-{size}-{number:03d}", case.language, size, case.title, devices, case.where, checks)


def mutants(files: dict[str, Any], language: str, size: int, count: int) -> Iterator[tuple[Answer, str, Any]]:
    """(answer, file, its content with the mistake) of each mutant that can be made of a working fabric's files."""
    for number, case in enumerate(sample(language, count)):
        if case.file not in files:
            continue
        try:
            content = case.edit(copy.deepcopy(files[case.file]))
        except (KeyError, ValueError, AssertionError, StopIteration):
            continue  # the mistake speaks of a cable that this fabric has otherwise
        if content != files[case.file]:
            yield answer_of(case, size, number), case.file, content


def export(folder: Path, language: str, size: int, count: int) -> list[Answer]:
    """Write the working fabric and each mutant as a folder of configurations, and the answers beside them."""
    files = fabric_of(language, size)
    _write(language, files, folder / f"{language}-{size}-{HEALTHY}")
    answers = []
    for answer, name, content in mutants(files, language, size, count):
        _write(language, {**files, name: content}, folder / answer.id)
        answers.append(answer)
    known = read_answers(folder) if (folder / ANSWERS).exists() else []
    rows = [asdict(it) for it in (*known, *answers)]
    (folder / ANSWERS).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return answers


def read_answers(folder: Path) -> list[Answer]:
    """The answers of an exported folder."""
    rows = json.loads((folder / ANSWERS).read_text(encoding="utf-8"))
    return [Answer.of_json(it) for it in rows]


def _write(language: str, files: dict[str, Any], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write(language, files, folder)
