"""What a baseline lists is what differs between the files, no more and no less: held against their rows.

A row is a value with the words that lead to it, or a line with the lines that it stands below. A listed change stands
for the rows that have its words; every row that went or came is one of some change.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from fabric.configs.frr.nesting import nested
from fabric.configs.load import load_network
from fabric.configs.network import Network
from fabric.configs.text.yamlfile import YamlText
from fabric.errors import InputErrors
from fabric.validate.baseline import changes
from tests.mistakes.mistake import Mistake, good, write
from tests.mistakes.score import CASES, one_of_each_check

Row = tuple[str, ...]
"""The words that lead to a value, and those of the value."""
_SPLIT: Final = re.compile(r"[\s|,'\[\]]+")
_NO_WORDS: Final = frozenset(("*", ""))
_NO_VALUE: Final = frozenset(("present", "(not shown)", '""'))
_CUT: Final = "…"
_AT: Final = " > "
"""Between the keys of a value, in the last part of its row: the value as a whole."""
_RANGE: Final = re.compile(r"\d+-\d+")


def words(text: str) -> Row:
    return tuple(it for it in _SPLIT.split(text) if it not in _NO_WORDS)


def rows_of(path: Path) -> frozenset[Row]:
    """Every row of a file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix in {".json", ".yaml"}:
        return frozenset(_of_tree((json.loads(text) if path.suffix == ".json" else YamlText(text, "").value), ()))
    found: list[Row] = []
    above: list[tuple[int, str]] = [(-1, "")]
    for raw in (nested(text) if path.suffix == ".conf" else text).split("\n"):
        line = raw.strip()
        if not line or line[0] in "!#" or line == "end" or line.startswith("exit"):
            continue
        indent = len(raw) - len(raw.lstrip())
        while above[-1][0] >= indent:
            above.pop()
        found.append(words(" ".join((*(it for _, it in above), line))))
        above.append((indent, re.sub(r"^(router bgp) \S+", r"\1", line)))
    return frozenset(found)


def _of_tree(tree: Any, path: tuple[str, ...]) -> list[Row]:  # noqa: ANN401  JSON
    if isinstance(tree, dict | list) and tree:
        items = tree.items() if isinstance(tree, dict) else enumerate(tree)
        return [
            row for key, value in items for row in _of_tree(value, (*path, str(key) if isinstance(tree, dict) else ""))
        ]
    shown = "" if tree in ({}, [], None) else json.dumps(tree) if isinstance(tree, bool) else str(tree)
    return [(*words(" ".join((*path, shown))), f"{_AT.join(path)}={shown}")]


def of_switch(folder: Path, name: str) -> frozenset[Row]:
    return frozenset(row for path in sorted(folder.glob(f"{name}.*")) for row in rows_of(path))


@cache
def before(language: str, loopbacks: bool, interior: str, folder: Path) -> Network:
    """The working fabric."""
    folder.mkdir()
    write(language, good(language, loopbacks=loopbacks, interior=interior), folder)
    return load_network([folder])


def _gone(old: frozenset[Row], new: frozenset[Row]) -> set[Row]:
    """Rows of one state alone, without an empty mapping that the other state has something in."""
    paths = [it[-1].partition("=")[0].split(_AT) for it in new]
    full = {f"{_AT.join(it[:length])}=" for it in paths for length in range(len(it))}
    return {row for row in old - new if row[-1] not in full}


def untrue(old: Path, new: Path, said: tuple[str, ...], names: list[str]) -> list[str]:
    """Listed changes that no row has, and rows of no listed change."""
    found = []
    for name in names:
        its = of_switch(old, name), of_switch(new, name)
        went, came = _gone(*its), _gone(*reversed(its))
        if any(_RANGE.fullmatch(word) for row in went | came for word in row):
            return []  # the rows of each number are compared
        told: set[Row] = set()
        for line in (it.removeprefix(f"{name}: ") for it in said if it.startswith(f"{name}: ")):
            if " order: " in line or _CUT in line or "; the switch m" in line:
                return []  # of the meaning, or cut
            what, _, change = line.removesuffix(" (not judged)").rpartition(": ")
            _, _, rest = what.rpartition(": ")
            what = re.sub(r"^\S+\.conf\|", "", rest if "*" in rest else what)
            values = change.split(" → ")
            if len(values) == 1:  # a password
                return []
            for value, rows in zip(values, (went, came), strict=True):
                if value == "absent":
                    continue
                asked = set(words(what if value in _NO_VALUE else f"{what} {value}"))
                its_rows = [row for row in rows if asked.issubset(row)]
                if not its_rows:
                    found.append(f"{name}: {line}: no row has {value}")
                told.update(its_rows)
        found += [f"{name}: not told: {' '.join(row)}" for row in (went | came) - told]
    return found


def judged(case: Mistake, work: Path, folder: Path) -> list[str]:
    case.write(work)
    try:
        after = load_network([work])
    except InputErrors:  # a file that cannot be read is not compared
        return []
    good_one = before(case.language, case.loopbacks, case.interior, folder)
    names = sorted(good_one.devices.keys() & after.devices.keys())
    return untrue(folder, work, changes(good_one, after), names)


def _folder(case: Mistake, base: Path) -> Path:
    return base / f"before-{case.language}-{case.loopbacks}-{case.interior}"


@pytest.mark.parametrize("case", one_of_each_check(), ids=lambda it: it.id)
def test_what_is_listed_is_what_differs(
    case: Mistake, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert judged(case, tmp_path, _folder(case, tmp_path_factory.getbasetemp())) == []


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda it: it.id)
def test_of_every_mistake_what_is_listed_is_what_differs(
    case: Mistake, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert judged(case, tmp_path, _folder(case, tmp_path_factory.getbasetemp())) == []
