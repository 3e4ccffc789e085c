"""The smallest scenario in which the diagnosis still names a root cause of a run, found by simulating smaller ones.

A smaller scenario is kept where the same kind of root is named at the same place and in the same class, and where the
scenario has faults also only where the same scenario without them has no such root. The place of a root about
equal-cost links is their two tiers: which of the links is the fullest is chance, and other flows choose another one.
Reductions (reducing.py) are tried until none of them is kept, or until the number of runs is used up.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from glob import escape
from pathlib import Path
from typing import Final

import yaml

from fabric.errors import FabricError, InputErrors, Problem
from fabric.runs import simulate
from fabric.runs.rundir import RunDir
from fabric.scenario.compile.scenario import admitted_fabric
from fabric.scenario.estimate.admission import Admission
from fabric.scenario.load import apply_overrides, build_scenario
from fabric.scenario.yaml_input import parse_yaml
from fabric.topology.model import Fabric
from fabric.units import count
from telemetry.diagnosis.diagnose import METRICS, diagnose
from telemetry.diagnosis.root import Kind, Root
from telemetry.sources.reducing import FAMILIES, NOT_SHOWN, Data, Smaller, places_of
from telemetry.sources.sampled import sampled

_STAGE: Final = "making a scenario smaller"
_FILES: Final = ("file", "cdf")
"""Fields that name files."""
_ANY: Final = ({"kind": "all-to-all", "size": "1KB"},)
"""A workload for every fabric, where only the fabric is built."""

Tell = Callable[[str], None]
Target = tuple[Kind, tuple[str, ...], tuple[str, ...], int | None]
"""Kind, place of the device, place of the device at the other end of its port, class."""
_OF_TIERS: Final = frozenset({Kind.POLARISED, Kind.ELEPHANTS, Kind.OVERSUBSCRIPTION})
"""Kinds that are about a group of equal-cost links."""


@dataclass(slots=True)
class Minimal:
    """The result, which grows while the search goes on."""

    source: Path
    """Scenario file of the run."""
    root: Root
    """As the run has it."""
    data: Data
    """The smallest scenario so far."""
    found: Root
    """The root in it."""
    fabric: Fabric
    before: Mapping[str, object]
    """size_of() the whole scenario."""
    left_out: list[str] = field(default_factory=list)
    runs: int = 0
    twin_checked: bool = False
    """The scenario without its faults has no such root."""
    complete: bool = False
    """No reduction of the list is left that would be kept."""
    interrupted: bool = False

    @property
    def after(self) -> Mapping[str, object]:
        """size_of() the smallest one."""
        return size_of(self.data, self.fabric)

    def text(self) -> str:
        """The scenario file, with what was done as a comment."""
        lines = [
            f"Smallest scenario found that still has {self.root.kind.value} at {self.found.place}.",
            f"From {self.source.name}, where it is at {self.root.place}; {count(self.runs, 'simulation')}.",
            "None of the reductions tried goes further."
            if self.complete
            else "The search ended before all were tried.",
        ]
        if self.twin_checked:
            lines.append("Without its faults it has no such root.")
        lines += [f"Less: {it}" for it in self.left_out]
        body = yaml.safe_dump(self.data, sort_keys=False, default_flow_style=None, width=110, allow_unicode=True)
        return "".join(f"# {it}\n" for it in lines) + str(body)

    def write(self, out: Path) -> None:
        """Write the file, and copies of the files that it names beside it. Raises: FabricError."""
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
            copy_files(self.data, self.source.parent, out.parent)
            out.write_text(self.text(), encoding="utf-8")
        except OSError as error:
            raise FabricError(f"cannot write {out}: {error.strerror}", "name another file: --out FILE") from error


def size_of(data: Data, fabric: Fabric) -> dict[str, object]:
    """What makes a scenario large."""
    lines = yaml.safe_dump(data, sort_keys=False, default_flow_style=None, width=110).count("\n")
    return {
        "hosts": len(fabric.hosts),
        "switches": len(fabric.nodes) - len(fabric.hosts),
        "cables": len(fabric.links),
        "workloads": len(data["workload"]),
        "faults": len(data.get("faults") or ()),
        "duration": str(data["run"]["duration"]),
        "lines": lines,
    }


def minimal(run: RunDir, root: Root, most: int, tell: Tell = lambda _: None) -> Minimal:
    """Search. KeyboardInterrupt ends the search and keeps the best one.

    Parameters
    ----------
    root : one of roots_of(run)
    most : simulations at most, at least two
    tell : called with a line of progress for each simulation

    Raises: InputErrors where the scenario of the run, simulated again, does not have the root.
    """
    about = run.manifest["scenario"]
    source = Path(about["file"])
    whole = apply_overrides(parse_yaml(about["text"], source), about["set"])
    whole = {name: value for name, value in deepcopy(whole).items() if name not in NOT_SHOWN}
    whole["name"] = f"{whole['name']}-minimal"[:63]
    search = _Search(source, most, tell)
    target = _target(root, run.fabric)
    first = search.named(whole, target)
    if first is None:
        text = f"the scenario of {run.path}, simulated again, does not have {root.kind.value} at {root.place}"
        hint = "acts of a playbook or changes of a live run are not in it: name a run of `fabric run`"
        raise InputErrors(_STAGE, [Problem(str(run.path), text, hint)])
    found, fabric = first
    it = Minimal(source, root, whole, found, fabric, size_of(whole, fabric))
    twin = bool(whole.get("faults")) and search.named(_healthy(whole), target) is None
    it.twin_checked = twin
    try:
        it.complete = _reduce(it, search, target)
    except KeyboardInterrupt:
        it.interrupted = True
    except _OutOfRuns:
        pass
    it.runs = search.runs
    return it


def _reduce(it: Minimal, search: _Search, target: Target) -> bool:
    """Try every family again and again until none gives anything."""
    improved = True
    while improved:
        improved = False
        for family in FAMILIES:
            while (kept := _first_kept(family(it.data, search.fabric_of), it, search, target)) is not None:
                it.data, (it.found, it.fabric) = kept[0].data, kept[1]
                it.left_out.append(kept[0].text)
                improved = True
    return True


def _first_kept(
    candidates: Iterator[Smaller], it: Minimal, search: _Search, target: Target
) -> tuple[Smaller, tuple[Root, Fabric]] | None:
    for smaller in candidates:
        if not search.is_new(smaller.data):
            continue
        found = search.named(smaller.data, target, f"without {smaller.text}")
        if found is None:
            continue
        if it.twin_checked and search.named(_healthy(smaller.data), target, "its healthy twin") is not None:
            continue
        return smaller, found
    return None


class _OutOfRuns(Exception):  # noqa: N818  not an error: the search ends
    """No simulation is left."""


class _Search:
    """Simulations, counted; scenarios that were tried."""

    def __init__(self, source: Path, most: int, tell: Tell) -> None:
        self._source, self._most, self._tell = source, most, tell
        self._tried: set[str] = set()
        self._fabrics: dict[str, Fabric | None] = {}
        self.runs = 0

    def is_new(self, data: Data) -> bool:
        """Whether a scenario was not tried yet; from now on it was."""
        key = _digest(data)
        new = key not in self._tried
        self._tried.add(key)
        return new

    def fabric_of(self, data: Data) -> Fabric | None:
        """The fabric of a scenario, or None where it has none."""
        key = _digest(data["topology"])
        if key not in self._fabrics:
            try:
                whole = {"name": "x", "topology": data["topology"], "workload": _ANY, "run": {"duration": "1ms"}}
                self._fabrics[key] = admitted_fabric(build_scenario(whole, self._source))
            except FabricError:
                self._fabrics[key] = None
        return self._fabrics[key]

    def named(self, data: Data, target: Target, text: str = "") -> tuple[Root, Fabric] | None:
        """The root in a scenario, with its fabric; None where it is not named, or the scenario is not valid.

        Raises: _OutOfRuns.
        """
        try:
            scenario = build_scenario(data, self._source)
            admit = Admission(self._source.name, confirm=lambda _: True)
            compiled, plan = simulate.prepare(scenario, text="", admit=admit)
        except FabricError:
            return None
        if self.runs >= self._most:
            raise _OutOfRuns
        self.runs += 1
        if text:
            self._tell(f"run {self.runs} of at most {self._most}: {text}")
        roots = diagnose(sampled(compiled, plan, METRICS), compiled.fabric)
        fits = (it for it in roots if _target(it, compiled.fabric) == target)
        found = next(fits, None)
        return None if found is None else (found, compiled.fabric)


def _target(root: Root, fabric: Fabric) -> Target:
    places = places_of(fabric)
    other: tuple[str, ...] = ()
    node = fabric.by_name.get(root.device)
    if node is not None and root.port:
        peer = fabric.peer_of(fabric.port_called[f"{root.device}:{root.port}"])
        other = places[peer.name]
        if root.kind in _OF_TIERS and min(node.tier, peer.tier) >= 0:
            return root.kind, (f"tier {node.tier}",), (f"tier {peer.tier}",), root.priority
    return root.kind, places.get(root.device, (root.device,)), other, root.priority


def _healthy(data: Data) -> Data:
    return {name: value for name, value in data.items() if name != "faults"}


def _digest(data: object) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True, default=str).encode()).hexdigest()


def copy_files(data: Data, old: Path, new: Path) -> None:
    """Copy the files that a scenario names, unless they are there. Raises: OSError."""
    for name in files_named(data):
        for file in (old / name).parent.glob(f"{escape(Path(name).name)}*"):  # of Chakra traces the prefix is named
            if not file.is_relative_to(old):
                continue
            target = new / file.relative_to(old)
            if file.is_file() and not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, target)


def files_named(data: Data) -> Iterator[str]:
    """Files that a scenario names, relative to itself."""
    for entry in (data["topology"], *data["workload"]):
        for name in _FILES:
            if isinstance(entry.get(name), str):
                yield entry[name]
