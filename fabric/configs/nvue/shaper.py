"""NVUE's `qos egress-shaper` profiles: the largest rate of a port, and of each of its queues.

Rates are in kb/s. Source: NVIDIA Cumulus Linux 5.x user guide, "Quality of Service": Egress Shaping.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from fabric.configs.model import Limit
from fabric.configs.nvue.reader import Reader


@dataclass(frozen=True, slots=True)
class Shaper:
    """One profile."""

    port: Limit | None = None
    queues: dict[int, Limit] = field(default_factory=dict)


def read_shapers(reader: Reader) -> dict[str, Shaper]:
    """Profile name -> its limits. `default-global` holds at ports that name no other."""
    found = {}
    for profile in reader.at("qos", "egress-shaper"):
        path = ("qos", "egress-shaper", str(profile))
        queues = {}
        for queue, _, at in reader.entries(*path, "traffic-class"):
            limit = _limit(reader, at, "max-rate")
            if limit is not None:
                queues[queue] = limit
        found[str(profile)] = Shaper(_limit(reader, path, "port-max-rate"), queues)
    return found


def _limit(reader: Reader, path: tuple[str, ...], word: str) -> Limit | None:
    row = reader.at(*path)
    rate = reader.number((*path, word), row[word], 0, 10**12) if word in row else None
    return None if rate is None else Limit(reader.where(*path), word, rate / 1000)
