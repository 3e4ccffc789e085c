"""Incidents: alerts that have one cause, grouped, with the device where it began.

Two alerts belong to one incident where
1. they name the same root device and overlap in time, with gaps of at most a minute,
2. one explains the other (telemetry/alerting/inhibitions.py) while both fire, or
3. they are at the two ends of one cable or one BGP session.

The root of an incident comes from its most severe alerts that name a root and that no other alert of the incident
explains, by majority if they differ; without such alerts it is the root that most alerts of the incident name. An alert
that names no root takes the device where most pauses at its port began while it fired (fabric_pfc_pause_cause_info), if
the run has that metric. Where the diagnosis has been made, its root comes before the one that an alert names
(telemetry/alerting/causes.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from telemetry.alerting.alert import Severity
from telemetry.alerting.alerts import ALERTS
from telemetry.alerting.causes import cause_of
from telemetry.alerting.evaluate import NS_PER_MS, Firing
from telemetry.alerting.inhibitions import INHIBITIONS
from telemetry.alerting.rules import MINUTE_S, NOMINAL_DILATION, timing
from telemetry.diagnosis.rehearsed import playbook, runbooks_of
from telemetry.diagnosis.root import Root
from telemetry.record.store import Store

_LOOK_BACK: Final = 5
"""Nominal minutes: the window of most expressions about losses."""
_RANK: Final = {alert.name: rank for rank, alert in enumerate(ALERTS)}


@dataclass(frozen=True)
class Incident:
    """One incident: alerts with one cause."""

    root_device: str
    """'' where it is unknown."""
    headline: str
    """Description of the most informative alert."""
    severity: Severity
    firings: Sequence[Firing]
    """In order of firing."""
    devices: Sequence[str]
    """Every device that an alert names, sorted."""
    cause: Root | None = None
    """The root cause by the diagnosis; None: it has none for these alerts, or was not asked."""

    @property
    def began_ns(self) -> int:
        """When the first alert became pending."""
        return min(it.pending_ns for it in self.firings)

    @property
    def fired_ns(self) -> int:
        """When the first alert fired: the detection delay for an operator."""
        return self.firings[0].firing_ns

    @property
    def ended_ns(self) -> int | None:
        """When the last alert's expression became false; None: one is true at the end of the run."""
        ends = [it.cleared_ns for it in self.firings]
        return None if None in ends else max(end for end in ends if end is not None)

    def as_json(self) -> dict[str, Any]:
        """For --json."""
        return {
            "root_device": self.root_device or None,
            "headline": self.headline,
            "severity": self.severity.value,
            "began_ns": self.began_ns,
            "fired_ns": self.fired_ns,
            "ended_ns": self.ended_ns,
            "alerts": dict(Counter(it.alert.name for it in self.firings)),
            "devices": list(self.devices),
            "cause": None if self.cause is None else _cause_json(self.cause),
        }


def _cause_json(it: Root) -> dict[str, Any]:
    return {
        "kind": it.kind.value,
        "where": it.place,
        "evidence": list(it.evidence),
        "first": it.meaning.act,
        "runbooks": list(runbooks_of(it)),
        "playbook": playbook(it.kind),
    }


def incidents(
    firings: Sequence[Firing], store: Store, dilation: float = NOMINAL_DILATION, diagnosed: Sequence[Root] = ()
) -> list[Incident]:
    """Group the alerts of a run.

    Parameters
    ----------
    firings : of Evaluation, in order of firing
    store : the run's metrics: cables, and causes of pauses
    dilation : as given to evaluate_store
    diagnosed : of diagnose() on the same metrics; without it, roots are those that alerts name

    Returns: incidents in order of their first alert.
    """
    quiet_ns = round(timing(dilation).ms(MINUTE_S) * NS_PER_MS / dilation)
    causes = _causes(store)
    cables = _cables(store)
    beside = _neighbours(cables)
    abouts = [cause_of(it, diagnosed, beside, _LOOK_BACK * quiet_ns) for it in firings]
    roots = [
        about.device if about is not None else it.root_device or _pause_root(it, causes)
        for it, about in zip(firings, abouts, strict=True)
    ]
    together = _Groups(len(firings))
    explained = set()
    for source, target in _explanations(firings, quiet_ns):
        together.join(source, target)
        explained.add(target)
    alike: dict[object, list[int]] = {}
    for row, it in enumerate(firings):
        for key in (roots[row], _ends(it, cables)):
            if key:
                alike.setdefault(key, []).append(row)
    for rows in alike.values():
        _join_in_time(rows, firings, quiet_ns, together)
    found = []
    for rows in together.groups():
        own = [row for row in rows if row not in explained] or rows
        lead = min(
            own,
            key=lambda row: (
                not firings[row].root_device,
                not roots[row],
                _RANK[firings[row].alert.name],
                firings[row].firing_ns,
            ),
        )
        same = [row for row in own if firings[row].alert is firings[lead].alert]
        root = _majority(roots[row] for row in same) or _majority(roots[row] for row in rows)
        about = next((abouts[row] for row in (lead, *same) if abouts[row] is not None), None)
        found.append(_incident([firings[row] for row in rows], firings[lead], root, about))
    return sorted(found, key=lambda it: it.fired_ns)


def _incident(firings: list[Firing], lead: Firing, root: str, cause: Root | None) -> Incident:
    critical = any(it.alert.severity is Severity.CRITICAL for it in firings)
    devices = {it.labels[name] for it in firings for name in ("device", "peer_device") if name in it.labels}
    return Incident(
        root,
        lead.description,
        Severity.CRITICAL if critical else Severity.WARNING,
        tuple(firings),
        tuple(sorted(devices)),
        cause,
    )


def _majority(names: Iterable[str]) -> str:
    """The most frequent name; '' without names."""
    counts = Counter(name for name in names if name)
    return min(counts, key=lambda name: (-counts[name], name), default="")


def _end(it: Firing) -> float:
    """When the expression became false: `keep_firing_for` must not join alerts."""
    return np.inf if it.cleared_ns is None else it.cleared_ns


def _overlap(one: Firing, other: Firing, quiet_ns: int) -> bool:
    return one.pending_ns <= _end(other) + quiet_ns and other.pending_ns <= _end(one) + quiet_ns


def _explanations(firings: Sequence[Firing], quiet_ns: int) -> Iterator[tuple[int, int]]:
    """(row that explains, row explained) while both fire."""
    of: dict[str, list[int]] = {}
    for row, it in enumerate(firings):
        of.setdefault(it.alert.name, []).append(row)
    labels = [it.all_labels for it in firings]
    for rule in INHIBITIONS:
        for source in of.get(rule.source, ()):
            for target in (row for name in rule.targets for row in of.get(name, ())):
                equal = all(labels[source].get(name, "") == labels[target].get(name, "") for name in rule.equal)
                if equal and _overlap(firings[source], firings[target], quiet_ns):
                    yield source, target


def _join_in_time(rows: Sequence[int], firings: Sequence[Firing], quiet_ns: int, together: _Groups) -> None:
    """Join rows unless a gap without alerts lies between them."""
    ordered = sorted(rows, key=lambda row: firings[row].pending_ns)
    until = -np.inf
    for before, row in zip([ordered[0], *ordered], ordered, strict=False):
        if firings[row].pending_ns <= until + quiet_ns:
            together.join(before, row)
        until = max(until, _end(firings[row]))


class _Groups:
    """Groups of rows (union-find)."""

    def __init__(self, count: int) -> None:
        self._parent = list(range(count))

    def _top(self, row: int) -> int:
        while self._parent[row] != row:
            self._parent[row] = row = self._parent[self._parent[row]]
        return row

    def join(self, one: int, other: int) -> None:
        """Merge the groups of two rows."""
        low, high = sorted((self._top(one), self._top(other)))
        self._parent[high] = low

    def groups(self) -> list[list[int]]:
        """Rows of each group, in order."""
        found: dict[int, list[int]] = {}
        for row in range(len(self._parent)):
            found.setdefault(self._top(row), []).append(row)
        return list(found.values())


def _cables(store: Store) -> Mapping[tuple[str, str], frozenset[tuple[str, str]]]:
    """(device, port) -> both ends of its cable."""
    found = {}
    for pairs, _ in store.iter_series("fabric_port_info"):
        it = dict(pairs)
        ends = frozenset({(it["device"], it["port"]), (it["peer_device"], it["peer_port"])})
        found[it["device"], it["port"]] = ends
    return found


def _neighbours(cables: Mapping[tuple[str, str], frozenset[tuple[str, str]]]) -> Mapping[str, set[str]]:
    """Device -> the devices at the other ends of its cables."""
    found: dict[str, set[str]] = {}
    for (device, _), ends in cables.items():
        found.setdefault(device, set()).update(name for name, _ in ends)
    return found


_OF_A_CABLE: Final = frozenset(
    {"FabricFcsErrors", "FabricSilentLoss", "FabricLinkDegraded", "FabricLinkFlapping", "FabricLinkDown"}
)


def _ends(it: Firing, cables: Mapping[tuple[str, str], frozenset[tuple[str, str]]]) -> frozenset[tuple[str, str]]:
    """Both ends of the cable, or of the BGP session, that an alert is about."""
    if it.alert.name == "FabricBgpPeerDown":
        here, there = it.labels["device"], it.labels["peer"]
        return frozenset({(min(here, there), max(here, there))})
    if it.alert.name not in _OF_A_CABLE:
        return frozenset()
    return cables.get((it.labels["device"], it.labels["port"]), frozenset())


Causes = Mapping[tuple[str, ...], Sequence[tuple[str, NDArray[np.int64]]]]
"""(device, port, priority) -> (root device, moments at which its pause was seen to begin there)."""


def _causes(store: Store) -> Causes:
    found: dict[tuple[str, ...], list[tuple[str, NDArray[np.int64]]]] = {}
    for pairs, (times, _) in store.iter_series("fabric_pfc_pause_cause_info"):
        it = dict(pairs)
        found.setdefault((it["device"], it["port"], it["priority"]), []).append((it["root_device"], times))
    return found


def _pause_root(it: Firing, causes: Causes) -> str:
    """The device where most sampled pauses of a port began while the alert fired; '' if unknown."""
    counts: Counter[str] = Counter()
    place = tuple(it.labels.get(name, "") for name in ("device", "port", "priority"))
    for root, times in causes.get(place, ()):
        counts[root] += int(np.count_nonzero((times >= it.pending_ns) & (times <= _end(it))))
    return _majority(counts.elements())
