"""Imports only point down the ladder of docs/architecture.md; each breach is named with its file and line."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parent.parent
LADDER: Final = (                                     # lowest first; names on one row never import each other
    ("fabric", "fabric.errors", "fabric.units", "fabric.ids", "fabric.shipped", "fabric.reading", "fabric.yamltext"),
    ("fabric.topology", "fabric.wire"),
    ("fabric.state", "fabric.routing"),
    ("fabric.port", "fabric.transport", "fabric.overlay"),
    ("fabric.switch", "fabric.host"),
    ("fabric.engine", "fabric.control"),
    ("fabric.workload", "fabric.faults", "fabric.capture", "fabric.configs"),
    ("fabric.scenario",),
    ("fabric.validate", "fabric.report", "fabric.lab"),
    ("telemetry",),
    ("playbooks",),
    ("fabric.cli",),
    ("fabric.__main__",),
)
ROW: Final = {part: row for row, parts in enumerate(LADDER) for part in parts}
SANS_IO: Final = ("fabric.wire", "fabric.routing", "fabric.overlay")
IO_MODULES: Final = {"asyncio", "multiprocessing", "os", "random", "select", "socket", "subprocess", "threading",
                     "time"}
TELEMETRY_MAY_READ: Final = ("fabric.engine.counters", "fabric.state.codes", "fabric.topology", *LADDER[0][1:])


def part_of(module: str) -> str | None:
    """'fabric.switch.pfc' -> 'fabric.switch'; None for what is not ours."""
    top, *rest = module.split(".")
    if top not in {"fabric", "telemetry", "playbooks"}:
        return None
    return f"{top}.{rest[0]}" if top == "fabric" and rest else top


def is_within(module: str, parts: tuple[str, ...]) -> bool:
    return any(module == part or module.startswith(part + ".") for part in parts)


def imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every import, also inside functions; `from fabric import units` counts as fabric.units."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = node.module or ""
            for alias in node.names:
                whole = f"{source}.{alias.name}"
                path = ROOT / whole.replace(".", "/")
                yield node.lineno, whole if path.is_dir() or path.with_suffix(".py").is_file() else source


def breach(importer: str, imported: str) -> str | None:
    """Why `importer` may not import `imported`, or None."""
    here, there = part_of(importer), part_of(imported)
    assert here is not None
    if there is None and here in SANS_IO:
        top = imported.partition(".")[0]
        if top not in sys.stdlib_module_names:
            return "wire, routing and overlay use the standard library only"
        return "sans-I/O: time and bytes are arguments" if top in IO_MODULES else None
    if there is None:
        return None
    if there not in ROW:
        return f"{there} has no row on the ladder"
    if here == "telemetry" and there != here and not is_within(imported, TELEMETRY_MAY_READ) and there != "fabric":
        return f"telemetry may read {', '.join(TELEMETRY_MAY_READ)} only"
    if here != there and ROW[there] >= ROW[here] and not ROW[here] == ROW[there] == 0:
        return f"row {ROW[here]} may not import row {ROW[there]}"
    return None


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(chain.from_iterable((ROOT / top).rglob("*.py") for top in ("fabric", "telemetry", "playbooks"))):
        parts = path.relative_to(ROOT).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def test_every_import_points_down_the_ladder() -> None:
    breaches = [f"{path.relative_to(ROOT)}:{line}: {module} imports {imported}: {why}"
                for module, path in modules()
                for line, imported in imports(ast.parse(path.read_text(encoding="utf-8")))
                if (why := breach(module, imported)) is not None]
    assert not breaches, "\n" + "\n".join(breaches)


def test_every_part_has_a_row() -> None:
    assert {part_of(module) for module, _ in modules()} <= set(ROW)


@pytest.mark.parametrize(("importer", "imported"), [
    ("fabric.engine.loop", "telemetry.metrics"), ("fabric.switch.pfc", "fabric.host.nic"),
    ("fabric.units", "fabric.wire"), ("telemetry.collect", "fabric.engine.driver"),
    ("fabric.routing.bgp.session", "time"), ("fabric.wire.ip", "numpy"),
    ("fabric.topology.clos", "fabric.state.types"), ("playbooks.runner", "fabric.cli.run"),
    ("fabric.cli", "fabric.new"),
])
def test_a_forbidden_import_is_a_breach(importer: str, imported: str) -> None:
    assert breach(importer, imported) is not None


@pytest.mark.parametrize(("importer", "imported"), [
    ("fabric.units", "fabric.errors"), ("fabric.switch.pfc", "fabric.port.wire"),
    ("telemetry.collect", "fabric.engine.counters"), ("telemetry.sampler", "fabric.units"),
    ("fabric.cli.run", "telemetry.collect"), ("fabric.switch.pfc", "fabric.switch.buffer"),
    ("fabric.routing.bgp.message", "struct"), ("fabric.engine.driver", "numba"),
    ("fabric.topology.model", "networkx"),
])
def test_an_allowed_import_is_no_breach(importer: str, imported: str) -> None:
    assert breach(importer, imported) is None
