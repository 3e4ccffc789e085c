"""No value of an accepted file changes in silence: a baseline lists it, whatever any check says of it."""

from __future__ import annotations

import copy
import fnmatch
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from fabric.configs.frr.merge import FrrFile, add_frr
from fabric.configs.load import parse_device
from fabric.configs.model import Device
from fabric.configs.text.yamlfile import YamlText
from fabric.errors import InputErrors
from fabric.validate.changed_statements import changed_statements
from fabric.validate.checks.base import Severity
from fabric.validate.judge import Request, judge
from tests.mistakes.mistake import CORPUS, REMOVED, Edit, both, good, put, write

EXAMPLES: Final = Path(__file__).resolve().parents[2] / "docs/howto"
SHIPPED: Final = ("validate-example/before", "validate-nvue-example/before", "validate-nxos-example/before",
                  "tenants-example/working", "qualify-example")  # fmt: skip
"""Examples of the guides; files of FRR are those of the corpus."""
WORD: Final = re.compile(r"[^\s]+")


def other(value: str) -> str:
    """A value of the same kind."""
    digits = re.search(r"\d+(?!.*\d)", value)
    return value[: digits.start()] + str(int(digits[0]) + 1) + value[digits.end() :] if digits else f"{value}x"


def of_tree(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, str]]:  # noqa: ANN401  JSON
    """The tree with one value changed, and the new value."""
    for key, value in list(tree.items() if isinstance(tree, dict) else enumerate(tree)):
        if isinstance(value, dict | list):
            yield from of_tree(value, (*path, key))
        elif value is not None:
            new = (not value) if isinstance(value, bool) else type(value)(other(str(value)))
            tree[key] = new
            yield (*path, key), str(new).lower() if isinstance(new, bool) else str(new)
            tree[key] = value


def of_text(text: str) -> Iterator[tuple[str, str]]:
    """The text with one word changed, and the new word."""
    for match in WORD.finditer(text):
        row = text[text.rfind("\n", 0, match.start()) + 1 :].lstrip()
        if not row.startswith(("!", "#", "end\n", "exit")):
            new = other(match[0])
            yield text[: match.start()] + new + text[match.end() :], new


def variants(text: str, file: str) -> Iterator[tuple[str, str]]:
    """The file with one value changed, and the new value."""
    if file.endswith((".cfg", ".conf")):
        yield from of_text(text)
        return
    tree = json.loads(text) if file.endswith(".json") else YamlText(text, file).value
    for path, new in of_tree(tree):
        if path[:2] != (0, "header"):
            yield json.dumps(tree), new


def listed(old: Device, text: str, changed: str, file: str, beside: str = "") -> str | None:
    """What is listed; None where the changed file is refused."""
    contents = [{file: text}, {file: changed}]
    try:
        new = parse_device(changed, file) if not beside else with_frr(beside, file, changed)
    except InputErrors:
        return None
    if new.name != old.name:
        return None
    return " ".join(changed_statements(old, new, *contents) if not beside else of_frr(old, new, beside, contents))


def with_frr(tables: str, file: str, text: str) -> Device:
    device = parse_device(tables, "leaf1.json")
    add_frr(device, FrrFile(file, text))
    return device


def of_frr(old: Device, new: Device, tables: str, contents: list[dict[str, str]]) -> Iterator[str]:
    return changed_statements(old, new, *({**its, "leaf1.json": tables} for its in contents))


def files() -> Iterator[tuple[str, str, str]]:
    """(name, text, CONFIG_DB beside it) of every file that is tried."""
    for folder in SHIPPED:
        for path in sorted((EXAMPLES / folder).iterdir()):
            if path.stem in {"leaf1", "config_db"}:
                yield f"{folder}/{path.name}", path.read_text(encoding="utf-8"), ""
    for language in CORPUS:
        its = good(language)
        tree = next(content for name, content in its.items() if name.startswith("leaf1.") and "frr" not in name)
        text = tree if isinstance(tree, str) else CORPUS[language].text(tree)
        if language == "frr":
            yield "leaf1.frr.conf", its["leaf1.frr.conf"], text
        else:
            yield (
                f"leaf1 of {language}.{'cfg' if isinstance(tree, str) else 'json' if language == 'sonic' else 'yaml'}",
                text,
                "",
            )


FILES: Final = tuple(files())


def silent(name: str, text: str, beside: str, every: int) -> tuple[list[tuple[str, str]], int]:
    """New values that are not listed, and how many were tried."""
    old = with_frr(beside, name, text) if beside else parse_device(text, name)
    found, tried = [], 0
    for number, (changed, new) in enumerate(variants(text, name)):
        said = listed(old, text, changed, name, beside) if number % every == 0 else None
        tried += said is not None
        if said is not None and new.strip(",") not in said and "not shown" not in said:
            found.append((new, said))
    return found, tried


@pytest.mark.parametrize("number", range(len(FILES)), ids=[it[0] for it in FILES])
def test_a_changed_value_is_listed(number: int) -> None:
    found, tried = silent(*FILES[number], every=11)
    assert tried > 3
    assert found == []


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(FILES)), ids=[it[0] for it in FILES])
def test_each_changed_value_is_listed(number: int) -> None:
    found, tried = silent(*FILES[number], every=1)
    assert tried > 50
    assert found == []


def everywhere(language: str, edits: dict[str, Edit], folder: Path) -> tuple[list[str], list[str]]:
    """Changes and checks of the causes, of a change that all switches of a pattern have."""
    files = good(language)
    for name in ("old", "new"):
        (folder / name).mkdir()
    write(language, files, folder / "old")
    for pattern, edit in edits.items():
        files |= {it: edit(copy.deepcopy(files[it])) for it in fnmatch.filter(files, pattern)}
    write(language, files, folder / "new")
    verdict = judge(Request([folder / "new"], baseline=folder / "old"))
    return list(verdict.changes), [it.check.id for it in verdict.causes if it.severity >= Severity.WARN]


def test_a_vni_that_all_switches_change_alike_is_listed(tmp_path: Path) -> None:
    edit = put("VXLAN_TUNNEL_MAP", "vtep|map_10100_Vlan100", "vni", value="10200")
    said, causes = everywhere("sonic", {"leaf?.json": edit}, tmp_path)
    line = "VXLAN_TUNNEL_MAP|vtep|map_10100_Vlan100|vni: 10100 → 10200"
    assert said == [f"leaf1: {line}", f"leaf2: {line}"]
    assert causes == []


@pytest.mark.parametrize("with_pfc", [True, False])
def test_a_fabric_whose_roce_becomes_lossy_is_an_error(with_pfc: bool, tmp_path: Path) -> None:
    mode = put("qos", "roce", "mode", value="lossy")
    edit = mode if with_pfc else both(mode, put("qos", "pfc", value=REMOVED))
    said, causes = everywhere("nvue", {"*[12].yaml": edit}, tmp_path)
    assert [it for it in said if "mode" in it] == [
        f"{name}: qos roce mode: lossless → lossy" for name in ("leaf1", "leaf2", "spine1", "spine2")
    ]
    assert causes == (["R9"] if with_pfc else ["M14"])
