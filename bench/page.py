"""Tables into docs/performance.md: between two marks per section, so that the prose around them stays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.cases import NAMES
from bench.sections import SECTIONS, case_table
from bench.table import Table
from fabric.errors import InputErrors, Problem


def tables(found: Mapping[str, Any]) -> dict[str, Table]:
    """Tables by mark: cases share one, every other section has its own."""
    shown = {name: found[name] for name in NAMES if name in found}
    made = {"cases": case_table(shown)} if shown else {}
    return made | {name: SECTIONS[name].table(found[name]) for name in SECTIONS if name in found and name not in NAMES}


def conditions_line(conditions: Mapping[str, Any], yardstick: float) -> str:
    """Conditions of the measurement, in one line."""
    load = ", ".join(f"{value:.2f}" for value in conditions["load_average"])
    return (
        f"{conditions['cpu']}, {conditions['cores']} cores, {conditions['system']}; load average before: {load}; "
        f"Python {conditions['python']}, Numba {conditions['numba']}, NumPy {conditions['numpy']}; "
        f"yardstick {yardstick / 1e6:.0f} M steps/s; {conditions['date']}"
    )


def check(page: Path, names: list[str]) -> None:
    """Check that the page has the marks of these sections.

    Raises: InputErrors with one problem per mark that is missing, and one if the cases' table would lose some of them.
    """
    text = page.read_text(encoding="utf-8")
    wanted = dict.fromkeys(["conditions", *("cases" if name in NAMES else name for name in names)])
    problems = [
        Problem(str(page), f"has no place for '{name}'", f"add the lines {_begin(name)} and {_end(name)}")
        for name in wanted
        if _begin(name) not in text or _end(name) not in text
    ]
    lost = [name for name in NAMES if name not in names]
    if 0 < len(lost) < len(NAMES):
        problems.append(
            Problem(
                "--only",
                f"cases share one table, which would lose {', '.join(lost)}",
                f"add {' '.join(f'--only {name}' for name in lost)}",
            )
        )
    if problems:
        raise InputErrors("reading the page", problems)


def parts(made: Mapping[str, Table], conditions: str, *, whole: bool) -> dict[str, str]:
    """Text by mark. The conditions are those of the page where all of it was measured; else each table states its own,
    and the line of the page stays that of the other tables.
    """
    if whole:
        return {"conditions": conditions, **{name: table.markdown() for name, table in made.items()}}
    alone = f"Measured apart from the rest of the page: {conditions}."
    return {
        name: replace(table, note=f"{table.note}\n\n{alone}" if table.note else alone).markdown()
        for name, table in made.items()
    }


def write(page: Path, parts: Mapping[str, str]) -> None:
    """Replace the text between the marks of each part (check() has found them)."""
    text = page.read_text(encoding="utf-8")
    for name, part in parts.items():
        before, rest = text.split(_begin(name), 1)
        after = rest.split(_end(name), 1)[1]
        text = f"{before}{_begin(name)}\n{part}\n{_end(name)}{after}"
    page.write_text(text, encoding="utf-8")


def _begin(name: str) -> str:
    return f"<!-- bench: {name} -->"


def _end(name: str) -> str:
    return f"<!-- end: {name} -->"
