"""The quality of a run's incidents: precision, recall and delay against the ground truth.

A fault is found if an incident overlaps it and its root is a device in the fault's record. An incident that matches no
fault is false. A link or a port in the record stands for the devices at its ends; of a host that moves the leaf that it
moves to is one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from telemetry.alerting.incidents import Incident


@dataclass(frozen=True, slots=True)
class Found:
    """One fault and whether it was found."""

    name: str
    kind: str
    start_ns: int
    delay_ns: int | None
    """Time from the fault to the first alert of the first incident that names it; None: it was missed."""


@dataclass(frozen=True, slots=True)
class Score:
    """Incidents compared with the ground truth."""

    faults: Sequence[Found]
    incidents: int
    true_incidents: int

    @property
    def precision(self) -> float | None:
        """True incidents over all; None without any."""
        return self.true_incidents / self.incidents if self.incidents else None

    @property
    def recall(self) -> float | None:
        """Faults found over all; None without any."""
        return sum(it.delay_ns is not None for it in self.faults) / len(self.faults) if self.faults else None

    @property
    def delay_ns(self) -> float | None:
        """Median delay of the faults found, simulated time."""
        delays = [it.delay_ns for it in self.faults if it.delay_ns is not None]
        return median(delays) if delays else None

    def as_json(self) -> dict[str, Any]:
        """For --json."""
        return {
            "precision": self.precision,
            "recall": self.recall,
            "delay_ns": self.delay_ns,
            "incidents": self.incidents,
            "faults": [
                {"name": it.name, "kind": it.kind, "start_ns": it.start_ns, "delay_ns": it.delay_ns}
                for it in self.faults
            ],
        }


def devices_of(record: Mapping[str, Any]) -> frozenset[str]:
    """Names of the devices in a line of truth.jsonl."""
    return frozenset(_devices(record["objects"]))


def _devices(objects: Mapping[str, Any]) -> Iterator[str]:
    for key in ("hosts", "switches", "devices"):
        yield from objects.get(key) or ()
    if "to" in objects:  # where a host's address was learned
        yield objects["to"]
    for key in ("ports", "links"):
        for text in objects.get(key) or ():
            yield from (end.partition(":")[0] for end in text.split("--"))


def score(found: Sequence[Incident], truth: Sequence[Mapping[str, Any]], *, grace_ns: int = 0) -> Score:
    """Score a run's incidents.

    Parameters
    ----------
    found : incidents
    truth : lines of truth.jsonl
    grace_ns : how long after the end of a fault an alert may begin, because rules look back over a window
    """
    faults, true = [], set()
    for record in truth:
        named = devices_of(record)
        hits = [
            row
            for row, it in enumerate(found)
            if it.root_device in named
            and it.began_ns <= record["end_ns"] + grace_ns
            and (it.ended_ns is None or it.ended_ns >= record["start_ns"])
        ]
        true |= set(hits)
        delays = [max(found[row].fired_ns - record["start_ns"], 0) for row in hits]
        faults.append(Found(record["name"], record["kind"], record["start_ns"], min(delays, default=None)))
    return Score(tuple(faults), len(found), len(true))
