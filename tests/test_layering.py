"""Imports only point down the ladder of docs/architecture.md; each breach is named with its file and line."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parent.parent
# fmt: off
LADDER: Final = (                                     # lowest first; names on one row never import each other
    ("fabric", "fabric.errors", "fabric.units", "fabric.ids", "fabric.shipped", "fabric.reading", "fabric.yamltext",
     "fabric.visible", "fabric.extras", "fabric.garbage_collection", "fabric.name_patterns"),
    ("fabric.errorlist",),
    ("fabric.topology", "fabric.wire", "fabric.theory", "fabric.collectives"),
    ("fabric.dataplane.state", "fabric.controlplane.bgp", "fabric.jobs", "fabric.traces"),
    ("fabric.dataplane.port", "fabric.dataplane.transport", "fabric.controlplane.evpn"),
    ("fabric.dataplane.switch", "fabric.dataplane.host"),
    ("fabric.dataplane.engine", "fabric.controlplane.network"),
    ("fabric.workload", "fabric.faults", "fabric.capture", "fabric.configs"),
    ("fabric.scenario",),
    ("fabric.runs",),
    ("fabric.render",),
    ("fabric.forwarding",),
    ("fabric.show",),
    ("fabric.explain", "fabric.lab", "fabric.validate", "fabric.verify"),
    ("fabric.studies", "fabric.rollout", "fabric.recommend", "fabric.proof"),
    ("fabric.whatif", "fabric.qualify"),
    ("fabric.api",),
    ("telemetry",),
    ("telemetry.sources",),
    ("playbooks",),
    ("telemetry.live", "telemetry.drill"),
    ("fabric.cli",),
    ("fabric.__main__",),
)
# fmt: on
ROW: Final = {part: row for row, parts in enumerate(LADDER) for part in parts}
MAX_LINES: Final = 600
MAX_MODULES: Final = 70
SANS_IO: Final = ("fabric.wire", "fabric.controlplane.bgp", "fabric.controlplane.evpn")
IO_MODULES: Final = {
    "asyncio",
    "multiprocessing",
    "os",
    "random",
    "select",
    "socket",
    "subprocess",
    "threading",
    "time",
}
TELEMETRY_MAY_READ: Final = (
    "fabric.dataplane.engine.counters",
    "fabric.dataplane.state.codes",
    "fabric.topology",
    "fabric.theory",
    *LADDER[0][1:],
)


def part_of(module: str) -> str | None:
    """The ladder's longest name for a module: 'fabric.dataplane.port.wire' -> 'fabric.dataplane.port'; None: not ours.

    A package that only holds others, such as 'fabric.dataplane', is a part of the lowest row: it has no code.
    """
    parts = module.split(".")
    if parts[0] not in {"fabric", "telemetry", "playbooks"}:
        return None
    names = (".".join(parts[:length]) for length in range(len(parts), 1, -1))
    if (found := next((name for name in names if name in ROW), None)) is not None:
        return found
    if len(parts) == 1 or parts[0] != "fabric" or any(name.startswith(f"{module}.") for name in ROW):
        return parts[0]
    return ".".join(parts[:2])


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
            return "wire, bgp and evpn use the standard library only"
        return "sans-I/O: time and bytes are arguments" if top in IO_MODULES else None
    if there is None:
        return None
    if importer == "fabric" and there == "fabric.api":
        return None  # the package's face: names it loads when they are first used
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
    breaches = [
        f"{path.relative_to(ROOT)}:{line}: {module} imports {imported}: {why}"
        for module, path in modules()
        for line, imported in imports(ast.parse(path.read_text(encoding="utf-8")))
        if (why := breach(module, imported)) is not None
    ]
    assert not breaches, "\n" + "\n".join(breaches)


def test_every_part_has_a_row() -> None:
    assert {part_of(module) for module, _ in modules()} <= set(ROW)


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("fabric.dataplane.engine.loop", "telemetry.catalogue.metrics"),
        ("fabric.dataplane.switch.pfc", "fabric.dataplane.host.nic"),
        ("fabric.units", "fabric.wire"),
        ("telemetry.export.collect", "fabric.dataplane.engine.driver"),
        ("fabric.controlplane.bgp.session", "time"),
        ("fabric.wire.ip", "numpy"),
        ("fabric.topology.builders.clos", "fabric.dataplane.state.types"),
        ("playbooks.runner", "fabric.cli.run"),
        ("fabric.cli", "fabric.new"),
    ],
)
def test_a_forbidden_import_is_a_breach(importer: str, imported: str) -> None:
    assert breach(importer, imported) is not None


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("fabric.units", "fabric.errors"),
        ("fabric.dataplane.switch.pfc", "fabric.dataplane.port.wire"),
        ("telemetry.export.collect", "fabric.dataplane.engine.counters"),
        ("telemetry.record.sampler", "fabric.units"),
        ("fabric.cli.run", "telemetry.export.collect"),
        ("fabric.dataplane.switch.pfc", "fabric.dataplane.switch.buffer"),
        ("fabric.controlplane.bgp.message", "struct"),
        ("fabric.dataplane.engine.driver", "numba"),
        ("fabric.topology.model", "networkx"),
    ],
)
def test_an_allowed_import_is_no_breach(importer: str, imported: str) -> None:
    assert breach(importer, imported) is None


def test_helpers_of_tests_that_are_imported_by_name_are_named_once() -> None:
    """One process imports tests of several folders: of two helpers with one name it would import only the first."""
    folders = [
        path.parent
        for path in (ROOT / "tests").glob("*/conftest.py")
        if "sys.path.insert" in path.read_text(encoding="utf-8")
    ]
    names = [path.stem for folder in folders for path in folder.glob("*.py") if path.stem != "conftest"]
    assert {name for name in names if names.count(name) > 1} == set()


def test_no_file_has_more_than_600_lines() -> None:
    """One purpose a file (CONTRIBUTING.md): a longer one has two."""
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for package in ("fabric", "telemetry", "playbooks")
        for path in (ROOT / package).rglob("*.py")
    }
    assert {path: lines for path, lines in lengths.items() if lines > MAX_LINES} == {}


def test_no_folder_has_more_than_70_modules() -> None:
    """A longer list is not read to its end (docs/architecture.md section 1)."""
    folders = Counter(
        str(path.parent.relative_to(ROOT))
        for package in ("fabric", "telemetry", "playbooks")
        for path in (ROOT / package).rglob("*.py")
    )
    assert {folder: files for folder, files in folders.items() if files > MAX_MODULES} == {}
