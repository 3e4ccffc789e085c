"""The figures of a campaign from its rows.

- precision: judged roots that have a group, over all judged roots. A root at the right device has one although its kind
  is wrong. Roots of the load are not judged.
- recall: felt faults that a root has, over all felt faults.
- root accuracy: felt faults of which kind, device, port and class are right, over all felt faults.
- A fault is felt where tail, goodput, loss or pauses differ without it by more than by other seeds. Of a fault that is
  not felt silence is right, and so is its name.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Final

from telemetry.campaign.truth import Group, group_of
from telemetry.diagnosis.rehearsed import runbooks

SAMPLE_NS: Final = 1_000_000
"""Sampling interval of every case."""
NOMINAL: Final = 15_000
"""Seconds of an operator in a simulated one (docs/alerts.md)."""
NONE: Final = "no fault"
MISSED: Final = "nothing"
_Z: Final = 1.959964


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a whole with its 95 % interval."""

    part: int
    whole: int

    @property
    def ratio(self) -> float | None:
        """None of nothing."""
        return self.part / self.whole if self.whole else None

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval at 95 %."""
        return wilson(self.part, self.whole)

    @property
    def text(self) -> str:
        """'93.1 % (27 of 29; 78.0 to 98.1)'."""
        if not self.whole:
            return "no case"
        low, high = self.interval
        return (
            f"{self.part / self.whole:.1%} ({self.part} of {self.whole}; {100 * low:.1f} to {100 * high:.1f})".replace(
                "%", " %"
            )
        )

    def as_json(self) -> dict[str, Any]:
        """For --json."""
        low, high = self.interval
        return {"part": self.part, "whole": self.whole, "ratio": self.ratio, "low": low, "high": high}


def wilson(part: int, whole: int) -> tuple[float, float]:
    """95 % interval of a proportion (E. B. Wilson, JASA 22, 1927); (0, 1) of nothing."""
    if not whole:
        return 0.0, 1.0
    share, z2 = part / whole, _Z * _Z
    middle = (share + z2 / (2 * whole)) / (1 + z2 / whole)
    half = _Z / (1 + z2 / whole) * math.sqrt(share * (1 - share) / whole + z2 / (4 * whole * whole))
    return max(middle - half, 0.0), min(middle + half, 1.0)


@dataclass(frozen=True, slots=True)
class Miss:
    """A felt fault that was not named, or not rightly; or a root without a fault."""

    seed: str
    kind: str
    """Of the fault, or of the root without one."""
    text: str


@dataclass
class Figures:
    """One view of a campaign."""

    view: str
    runs: int = 0
    felt: int = 0
    found: int = 0
    devices: int = 0
    right: int = 0
    judged: int = 0
    matched: int = 0
    load: int = 0
    """Roots of the load, not judged."""
    healthy: int = 0
    healthy_false: int = 0
    """Healthy runs with a judged root that has no group."""
    unfelt: int = 0
    delays_ns: list[int] = field(default_factory=list)
    """From a felt fault to the end of the first sample interval that shows it."""
    confusion: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(fault, what was named) -> number."""
    misses: list[Miss] = field(default_factory=list)
    false: list[Miss] = field(default_factory=list)
    by_kind: dict[str, list[int]] = field(default_factory=dict)
    """Kind -> felt, found, right."""

    @property
    def precision(self) -> Share:
        """Of judged roots."""
        return Share(self.matched, self.judged)

    @property
    def recall(self) -> Share:
        """Of felt faults."""
        return Share(self.found, self.felt)

    @property
    def accuracy(self) -> Share:
        """Of felt faults, kind, device, port and class."""
        return Share(self.right, self.felt)

    @property
    def device_accuracy(self) -> Share:
        """Of felt faults, the device alone."""
        return Share(self.devices, self.felt)

    def as_json(self) -> dict[str, Any]:
        """For --json."""
        return {
            "view": self.view,
            "runs": self.runs,
            "precision": self.precision.as_json(),
            "recall": self.recall.as_json(),
            "root_accuracy": self.accuracy.as_json(),
            "device_accuracy": self.device_accuracy.as_json(),
            "healthy_runs": self.healthy,
            "healthy_runs_with_false_roots": self.healthy_false,
            "faults_not_felt": self.unfelt,
            "roots_of_the_load": self.load,
            "delay_ns": {"median": quantile(self.delays_ns, 0.5), "p95": quantile(self.delays_ns, 0.95)},
            "by_kind": {
                name: {"felt": felt, "found": found, "right": right}
                for name, (felt, found, right) in sorted(self.by_kind.items())
            },
            "confusion": [
                {"fault": fault, "named": named, "number": number}
                for (fault, named), number in sorted(self.confusion.items())
            ],
            "misses": [{"seed": it.seed, "text": it.text} for it in self.misses],
            "false": [{"seed": it.seed, "text": it.text} for it in self.false],
        }


@dataclass(frozen=True, slots=True)
class Pages:
    """Incidents of the alerts."""

    per_storm: tuple[int, ...]
    """Pages of each run with a felt pause storm as its only fault."""
    false: int
    """Pages of healthy runs."""
    healthy_hours: float
    """Nominal hours of healthy runs."""
    delays_ns: tuple[int, ...]
    """From a felt fault to the first alert after it; runs with one fault."""
    silent: int
    """Runs with one felt fault in which no alert fired after it."""
    about: Share
    """Of the pages of runs with one felt fault, after it: those with an alert whose runbook is about its kind."""

    def as_json(self) -> dict[str, Any]:
        """For --json."""
        return {
            "pages_per_storm": list(self.per_storm),
            "false_pages": self.false,
            "healthy_hours": self.healthy_hours,
            "delay_ns": {"median": quantile(self.delays_ns, 0.5), "p95": quantile(self.delays_ns, 0.95)},
            "felt_faults_without_an_alert": self.silent,
            "pages_about_the_fault": self.about.as_json(),
        }


def quantile(values: Sequence[int], share: float) -> float | None:
    """A quantile by rank; None of nothing."""
    if not values:
        return None
    if share == 0.5:
        return float(median(values))
    return float(sorted(values)[min(math.ceil(share * len(values)), len(values)) - 1])


def figures(rows: Sequence[Mapping[str, Any]], view: str) -> Figures:
    """All figures of one view."""
    found = Figures(view)
    for row in rows:
        _add(found, row, row["views"][view])
    return found


def _add(total: Figures, row: Mapping[str, Any], view: Mapping[str, Any]) -> None:
    groups = [group_of(it) for it in row["groups"]]
    roots, pairs = view["roots"], view["pairs"]
    of_root = {root: group for root, group, _, _ in pairs}
    total.runs += 1
    total.load += sum(not it["judged"] for it in roots)
    false = [it for number, it in enumerate(roots) if it["judged"] and number not in of_root]
    total.judged += sum(it["judged"] for it in roots)
    total.matched += len(of_root)
    for it in false:
        total.confusion[NONE, it["kind"]] += 1
        total.false.append(Miss(row["seed"], it["kind"], f"{root_text(it)}: {it['evidence'][0]}"))
    if row["sort"] == "healthy":
        total.healthy += 1
        total.healthy_false += bool(false)
    for number, felt in enumerate(row["felt"]):
        group = groups[number]
        if not felt["felt"]:
            total.unfelt += 1
            continue
        pair = next((it for it in pairs if it[1] == number), None)
        _felt(total, row["seed"], group, None if pair is None else roots[pair[0]], pair)


def _felt(total: Figures, seed: str, group: Group, root: Mapping[str, Any] | None, pair: Sequence[Any] | None) -> None:
    kind = group.kind.value
    its = total.by_kind.setdefault(kind, [0, 0, 0])
    total.felt += 1
    its[0] += 1
    where = ", ".join(group.devices)
    if root is None or pair is None:
        total.confusion[kind, MISSED] += 1
        total.misses.append(Miss(seed, kind, f"{kind} at {where} ({group.change}): nothing was named"))
        return
    right, device = bool(pair[2]), bool(pair[3])
    total.found += 1
    total.devices += device
    total.right += right
    its[1] += 1
    its[2] += right
    named = root["kind"]
    total.confusion[kind, kind if named in {it.value for it in group.kinds} else named] += 1
    total.delays_ns.append(max(root["began_ns"] + SAMPLE_NS - group.start_ns, 0))
    if not right:
        total.misses.append(Miss(seed, kind, f"{kind} at {where} ({group.change}): named as {root_text(root)}"))


def pages(rows: Sequence[Mapping[str, Any]]) -> Pages:
    """Incidents of the alerts over all runs."""
    storms, delays, false, hours, silent = [], [], 0, 0.0, 0
    paged, about = 0, 0
    for row in rows:
        if row["sort"] == "healthy":
            false += row["alerts"]["pages"]
            hours += row["duration_ns"] / 1e9 * NOMINAL / 3600
        if len(row["felt"]) != 1 or not row["felt"][0]["felt"]:
            continue
        group = group_of(row["groups"][0])
        if row["what"] == ["pause-storm"]:
            storms.append(row["alerts"]["pages"])
        its = [it for it in row["alerts"]["incidents"] if it["fired_ns"] >= group.start_ns]
        fitting = {name for kind in group.kinds for name in runbooks(kind)}
        named = [bool(fitting & set(it["alerts"])) for it in its if it["severity"] == "critical"]
        paged, about = paged + len(named), about + sum(named)
        after = [it["fired_ns"] - group.start_ns for it in its]
        if after:
            delays.append(min(after))
        else:
            silent += 1
    return Pages(tuple(storms), false, hours, tuple(delays), silent, Share(about, paged))


def root_text(root: Mapping[str, Any]) -> str:
    """'silent-loss at leaf1:Ethernet0'."""
    port = f":{root['port']}" if root["port"] else ""
    return f"{root['kind']} at {root['device']}{port}"
