"""The cases of a study: the runs that answer its questions, each as a scenario and as a command to repeat it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from fabric.topology.model import Fabric
from fabric.topology.quantities import exact_time
from fabric.visible import command
from fabric.whatif.elements import Element

CaseKind = Literal["failure", "double", "drain", "off", "growth"]
TAKES_DOWN: Final = frozenset({"link-down", "link-flap", "switch-crash"})
"""Kinds of faults after which shortest-path routing is repaired; run.reroute_delay is refused without any of them."""


@dataclass(frozen=True)
class Case:
    """One run of a study."""

    key: str
    """Unique in a study, and stable: a resumed study finds its results by it."""
    kind: CaseKind
    name: str
    what: str
    """'link', 'spine', 'two elements', ...: for tables."""
    data: Mapping[str, Any]
    """The scenario as its file would have it."""
    sets: tuple[str, ...]
    """What `fabric run` is given to repeat it, as --set takes it."""
    at_ps: int | None = None
    """When the failure begins; None: there is none."""
    elements: tuple[Element, ...] = ()
    members: tuple[str, ...] = field(default=())
    """Names of all elements that this one stands for, itself included."""

    def command(self, file: Path, out: str = "") -> str:
        """The command line that repeats this run."""
        words: list[object] = ["fabric", "run", file]
        for it in self.sets:
            words += ["--set", it]
        return command(*words, *(["--out", out] if out else []))


class CaseMaker:
    """Makes cases of one scenario."""

    def __init__(
        self, data: Mapping[str, Any], sets: Sequence[str], fabric: Fabric, at_ps: int, optic_errors: float
    ) -> None:
        """`data` has `sets` applied already."""
        self._data, self._sets, self._fabric = data, tuple(sets), fabric
        self._at_ps, self._optic_errors = at_ps, optic_errors

    def failure(self, element: Element, members: Sequence[Element]) -> Case:
        """One element fails."""
        return self._faulty(
            "failure", element.name, element.kind.value, (element,), tuple(it.name for it in members), element.key
        )

    def double(self, a: Element, b: Element) -> Case:
        """Two elements fail at the same time."""
        key = f"double {a.key}, {b.key}"
        return self._faulty("double", f"{a.name} and {b.name}", "double", (a, b), (), key)

    def drain(self, element: Element) -> list[Case]:
        """Maintenance of the switches of an element: drained by BGP (RFC 8326), and switched off without that."""
        at = exact_time(self._at_ps)
        names = [self._fabric.nodes[switch].name for switch in element.switches]
        drains = [{"kind": "drain", "switch": name, "at": at} for name in names]
        return [
            self._with_faults("drain", element.name, "drained", drains, (element,), (), f"drain {element.name}"),
            self._faulty("off", element.name, "switched off", (element,), (), f"off {element.name}"),
        ]

    def growth(self, text: str, data: Mapping[str, Any]) -> Case:
        """The scenario with more of something; a command sets the sections that differ."""
        changed = [name for name in ("topology", "workload") if data.get(name) != self._data.get(name)]
        changed += [
            name for name in data if name not in {"topology", "workload"} and data[name] != self._data.get(name)
        ]
        sets = tuple(f"{name}={_plain(data[name])}" for name in changed)
        return Case(f"grow {text}", "growth", text, "growth", without_idle_delay(data), (*self._sets, *sets))

    def _faulty(
        self, kind: CaseKind, name: str, what: str, broken: tuple[Element, ...], members: tuple[str, ...], key: str
    ) -> Case:
        faults: list[dict[str, Any]] = []
        for element in broken:
            for fault in element.faults(self._fabric, self._at_ps, self._optic_errors):
                if fault not in faults:
                    faults.append(fault)
        return self._with_faults(kind, name, what, faults, broken, members, key)

    def _with_faults(
        self,
        kind: CaseKind,
        name: str,
        what: str,
        faults: Sequence[Mapping[str, Any]],
        broken: tuple[Element, ...],
        members: tuple[str, ...],
        key: str,
    ) -> Case:
        every = [*(self._data.get("faults") or ()), *faults]
        data = without_idle_delay({**self._data, "faults": every})
        sets = [*self._sets, f"faults={_plain(every)}"]
        if data["run"] != self._data["run"]:
            sets.append("run.reroute_delay=null")
        return Case(key, kind, name, what, data, tuple(sets), self._at_ps, broken, members)


def without_idle_delay(data: Mapping[str, Any]) -> dict[str, Any]:
    """The data without run.reroute_delay where no fault takes a cable down: it is for the failures of the study."""
    found = deepcopy(dict(data))
    run, faults = found.get("run"), found.get("faults") or ()
    down = any(isinstance(it, dict) and it.get("kind") in TAKES_DOWN for it in faults)
    if isinstance(run, dict) and not down and found.get("routing", "shortest-path") == "shortest-path":
        run.pop("reroute_delay", None)
    return found


def _plain(value: object) -> str:
    """JSON, which is YAML."""
    return json.dumps(value, separators=(", ", ": "), ensure_ascii=False)
