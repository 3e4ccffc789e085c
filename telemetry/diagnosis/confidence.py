"""Confidence of a root: the probability that its kind, device, port and class are right.

A root has a score (score()). How often roots of a score were right was measured on runs of `fabric campaign`, for each
view and family of kinds, and is kept as a table in confidence.json. A table is a non-decreasing step function of the
score: pool adjacent violators (M. Ayer et al., Ann. Math. Stat. 26, 1955), each step drawn towards the share of its
family by PRIOR cases, because some have few.

Roots of the load have no confidence: a campaign knows faults, and not which queues fill.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from telemetry.diagnosis.root import Kind, Root

UNKNOWN: Final = 0.6
"""Below this the answer is 'unknown'."""
PRIOR: Final = 4.0
_TABLE: Final = Path(__file__).with_name("confidence.json")
_MOST_DOUBLINGS: Final = 10.0
_RIVAL: Final = 2.0
"""Doublings of the margin that another root at the same devices takes away."""
_MOST_RIVALS: Final = 3

FAMILIES: Final[Mapping[str, frozenset[Kind]]] = {
    "cables": frozenset(
        {
            Kind.LINK_DOWN, Kind.LINK_FLAP, Kind.LANES_LOST, Kind.BAD_OPTIC, Kind.SILENT_LOSS, Kind.SWITCH_DOWN,
            Kind.SWITCH_HANG,
        }
    ),
    "control": frozenset({Kind.BGP_DOWN, Kind.EVPN_LOSS, Kind.MAC_MOVE, Kind.ARP_FLOOD, Kind.STRAGGLER}),
    "losses": frozenset(
        {Kind.MTU, Kind.BLACK_HOLE, Kind.DSCP_MAP, Kind.PFC_MISSING, Kind.HEADROOM_SHORT, Kind.LOSSY_OVERLOAD}
    ),
    "pauses": frozenset({Kind.DEADLOCK, Kind.WATCHDOG_FLAPPING, Kind.BROKEN_NIC, Kind.SLOW_RECEIVER}),
    "marking": frozenset({Kind.ECN_WRONG, Kind.CC_OFF}),
}  # fmt: skip
DECIDES: Final[Mapping[Kind, tuple[str, ...]]] = {
    Kind.BROKEN_NIC: ("fabric_rnic_receive_buffer_peak_bytes",),
    Kind.SLOW_RECEIVER: ("fabric_rnic_receive_buffer_peak_bytes",),
    Kind.PFC_MISSING: ("fabric_pfc_transmit_paused_seconds_total", "fabric_dropped_packets_total"),
    Kind.HEADROOM_SHORT: ("fabric_pfc_transmit_paused_seconds_total", "fabric_dropped_packets_total"),
    Kind.LOSSY_OVERLOAD: ("fabric_priority_receive_packets_total", "fabric_dropped_packets_total"),
    Kind.SILENT_LOSS: ("fabric_dropped_packets_total",),
    Kind.LINK_DOWN: ("fabric_port_down_seconds_total", "fabric_bgp_peer_state"),
    Kind.ECN_WRONG: ("fabric_ecn_marked_packets_total",),
    Kind.CC_OFF: ("fabric_ecn_marked_packets_total", "fabric_rnic_rate_cuts_total"),
    Kind.SWITCH_HANG: ("fabric_bgp_peer_state",),
}
"""Metrics that part a kind from its look-alikes, the most telling first."""
Step = tuple[float, float]
"""(least score, probability)."""


def family(kind: Kind) -> str:
    """The family of a kind; '' of the load."""
    return next((name for name, kinds in FAMILIES.items() if kind in kinds), "")


def score(root: Root, roots: Iterable[Root]) -> float:
    """Doublings of the margin, less those that other roots of rank 0 and 1 at its devices take away."""
    rivals = sum(
        it is not root and bool(family(it.kind)) and bool(it.devices & root.devices)
        and it.began_ns <= root.ended_ns and root.began_ns <= it.ended_ns
        for it in roots
    )  # fmt: skip
    doublings = min(math.log2(max(root.margin, 1.0)), _MOST_DOUBLINGS)
    return round(doublings - _RIVAL * min(rivals, _MOST_RIVALS), 3)


def isotonic(points: Sequence[tuple[float, bool]], prior: float) -> list[Step]:
    """The non-decreasing step function of right over score, each step drawn towards `prior`."""
    blocks: list[list[float]] = []  # least score, right, all
    for at, right in sorted(points):
        if blocks and blocks[-1][0] == at:
            blocks[-1][1] += right
            blocks[-1][2] += 1
        else:
            blocks.append([at, float(right), 1.0])
    pooled: list[list[float]] = []
    for block in blocks:
        pooled.append(block)
        while len(pooled) > 1 and pooled[-2][1] * pooled[-1][2] >= pooled[-1][1] * pooled[-2][2]:
            last = pooled.pop()
            pooled[-1][1] += last[1]
            pooled[-1][2] += last[2]
    return [(at, round((hits + PRIOR * prior) / (every + PRIOR), 4)) for at, hits, every in pooled]


def steps_at(steps: Sequence[Step], at: float) -> float | None:
    """The value of a step function; that of the first step below it; None without steps."""
    below = [p for least, p in steps if least <= at]
    return below[-1] if below else steps[0][1] if steps else None


@dataclass(frozen=True, slots=True)
class Table:
    """What was fitted."""

    rules: str
    """Digest of the rules that the roots came from."""
    runs: int
    """Tune seeds 0 to runs - 1."""
    views: Mapping[str, Mapping[str, Sequence[Step]]]

    @property
    def digest(self) -> str:
        """Of the table's values."""
        return sha256(json.dumps(_plain(self), sort_keys=True).encode()).hexdigest()[:16]

    def probability(self, root: Root, roots: Iterable[Root], view: str) -> float | None:
        """None of a root of the load, of one in its own words, or of a family that no run had: none was measured."""
        if root.special is not None:
            return None
        return self.at(root.kind, score(root, roots), view)

    def at(self, kind: Kind, score_: float, view: str) -> float | None:
        """The same of a score."""
        return steps_at(self.views.get(view, {}).get(family(kind), ()), score_)


def table() -> Table:
    """The table that comes with the package."""
    return _read()


@cache
def _read() -> Table:
    data = json.loads(_TABLE.read_text(encoding="utf-8"))
    views = {
        view: {name: tuple((float(a), float(b)) for a, b in steps) for name, steps in its.items()}
        for view, its in data["views"].items()
    }
    found = Table(data["rules"], data["runs"], views)
    if found.digest != data["digest"]:
        raise ValueError(f"{_TABLE.name} differs from its digest")
    return found


def unfitted(view: str) -> tuple[str, ...]:
    """Families without a confidence in a view: no run of the table had a root of them."""
    return tuple(name for name in FAMILIES if not table().views.get(view, {}).get(name))


def text_of(fitted: Table) -> str:
    """confidence.json."""
    return json.dumps(_plain(fitted) | {"digest": fitted.digest}, indent=1) + "\n"


def _plain(fitted: Table) -> dict[str, Any]:
    views = {view: {name: [list(it) for it in steps] for name, steps in its.items()} for view, its in
             fitted.views.items()}  # fmt: skip
    return {"rules": fitted.rules, "runs": fitted.runs, "views": views}


def to_enable(kind: Kind, missing: frozenset[str]) -> str:
    """The first metric that would decide and that monitoring lacks; '' where it has all."""
    return next((it for it in DECIDES.get(kind, ()) if it in missing), "")
