"""Choice of the best path, RFC 4271 section 9.1.2, in FRR's order: best path, multipath set, reason of every loss.

A pure function of a set of paths and of the previous best path. Paths are eliminated clause by clause, so the outcome
does not depend on the order of arrival (except by clause 'older path'), and every loser has its clause.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

from fabric.controlplane.bgp.attributes import neighbor_asn, path_length
from fabric.controlplane.bgp.rib import Path, Selection

Metric = Callable[[bytes], int | None] | None
"""Distance of a packed next hop, None if it is unreachable; no function: every next hop counts as reachable."""


class Reason(Enum):
    """The clause that decided; value: (FRR's text, source of the rule)."""

    NOTHING_ELSE = ("First path received", "RFC 4271 section 9.1.2")
    UNREACHABLE = ("Next hop inaccessible", "RFC 4271 section 9.1.2: resolvability, 9.1.2.1")
    FAMILY = ("EVPN sequence number", "RFC 7432 section 15")
    WEIGHT = ("Weight", "FRR: local to the router")
    LOCAL_PREF = ("Local Pref", "RFC 4271 section 9.1.1")
    LOCAL_ROUTE = ("Local Route", "FRR: own routes before learned ones")
    AS_PATH = ("AS Path", "RFC 4271 section 9.1.2.2 (a)")
    ORIGIN = ("Origin", "RFC 4271 section 9.1.2.2 (b)")
    MED = ("MED", "RFC 4271 section 9.1.2.2 (c)")
    PEER_TYPE = ("Peer Type", "RFC 4271 section 9.1.2.2 (d)")
    IGP_METRIC = ("IGP Metric", "RFC 4271 section 9.1.2.2 (e)")
    OLDER = ("Older Path", "RFC 5004: avoid transitions between external paths")
    ROUTER_ID = ("Router ID", "RFC 4271 section 9.1.2.2 (f); RFC 4456 section 9: ORIGINATOR_ID instead")
    CLUSTER_LENGTH = ("Cluster length", "RFC 4456 section 9")
    NEIGHBOR_ADDRESS = ("Neighbor IP", "RFC 4271 section 9.1.2.2 (g)")

    @property
    def text(self) -> str:
        """As FRR prints it."""
        return self.value[0]

    @property
    def rule(self) -> str:
        """Source of the rule."""
        return self.value[1]


@dataclass(frozen=True, slots=True)
class Preferences:
    """Configuration of the decision process; see config.SpeakerConfig."""

    max_paths: int = 1
    multipath_relax: bool = True
    compare_router_id: bool = False
    always_compare_med: bool = False
    default_local_pref: int = 100
    rank: Callable[..., tuple[int, ...]] | None = None
    """AddressFamily.rank; None if the family adds no clause."""


class Decision(NamedTuple):
    """Outcome for one set of paths."""

    selection: Selection | None
    reason: Reason
    """The clause by which the best path won over the last loser."""
    lost: tuple[tuple[Path, Reason], ...]
    """Every path but the best, with the clause by which it lost, in the order of elimination; multipath members too."""


NOTHING: Final = Decision(None, Reason.NOTHING_ELSE, ())
_RANKS: Final = (Reason.FAMILY, Reason.WEIGHT, Reason.LOCAL_PREF, Reason.LOCAL_ROUTE, Reason.AS_PATH, Reason.ORIGIN)


def decide(paths: Sequence[Path], preferences: Preferences, incumbent: Path | None, metric: Metric) -> Decision:
    """Choose among `paths`.

    `incumbent` is the previous best path, None if there was none.
    """
    lost: list[tuple[Path, Reason]] = []
    left: list[Path] = []
    metrics: dict[int, int] = {}
    if metric is None:
        left = list(paths)
    else:
        for path in paths:
            distance = 0 if path.source.local else metric(path.next_hop)
            if distance is None:
                lost.append((path, Reason.UNREACHABLE))
            else:
                left.append(path)
                if distance:
                    metrics[id(path)] = distance
    if not left:
        return Decision(None, Reason.NOTHING_ELSE, tuple(lost))
    if len(left) == 1:
        return Decision(Selection(left[0], (left[0],)), Reason.NOTHING_ELSE, tuple(lost))
    unreachable = len(lost)
    attributes, weight = left[0].attributes, left[0].weight
    # The usual case: every spine advertises the same, so no clause about attributes can separate the paths.
    if not all(path.attributes is attributes and path.weight == weight and not path.source.local for path in left):
        left = _by_rank(left, preferences, lost)
        if len(left) > 1:
            left = _by_med(left, preferences, lost)
    if len(left) > 1:
        left = _keep_lowest(left, lambda path: not path.source.external, Reason.PEER_TYPE, lost)
    if len(left) > 1 and metrics:
        left = _keep_lowest(left, lambda path: metrics.get(id(path), 0), Reason.IGP_METRIC, lost)
    equal = left
    left = _tie_break(left, preferences, incumbent, lost)
    best = left[0]
    multipath: tuple[Path, ...] = (best,)
    if preferences.max_paths > 1 and len(equal) > 1:
        multipath = _multipath(best, equal, preferences)
    reason = lost[-1][1] if len(lost) > unreachable else Reason.NOTHING_ELSE
    return Decision(Selection(best, multipath), reason, tuple(lost))


def _by_rank(paths: list[Path], preferences: Preferences, lost: list[tuple[Path, Reason]]) -> list[Path]:
    """The clauses that compare plain numbers, in one pass over tuples."""
    ranks = []
    for path in paths:
        attributes = path.attributes
        local_pref = attributes.local_pref if attributes.local_pref is not None else preferences.default_local_pref
        ranks.append(
            (
                preferences.rank(attributes) if preferences.rank is not None else (),
                -path.weight,
                -local_pref,
                not path.source.local,
                path_length(attributes.as_path),
                attributes.origin,
            )
        )
    best = min(ranks)
    left = [path for path, rank in zip(paths, ranks, strict=True) if rank == best]
    if len(left) < len(paths):
        fallen = [
            (next(at for at in range(6) if rank[at] != best[at]), path)
            for path, rank in zip(paths, ranks, strict=True)
            if rank != best
        ]
        fallen.sort(key=lambda item: item[0])
        lost += [(path, _RANKS[at]) for at, path in fallen]
    return left


def _by_med(paths: list[Path], preferences: Preferences, lost: list[tuple[Path, Reason]]) -> list[Path]:
    """RFC 4271 section 9.1.2.2 (c): a path loses to a lower MED from the same neighbouring AS; no MED counts as 0."""
    if all(not path.attributes.med for path in paths):
        return paths
    lowest: dict[int, int] = {}
    for path in paths:
        group = 0 if preferences.always_compare_med else neighbor_asn(path.attributes.as_path)
        med = path.attributes.med or 0
        lowest[group] = min(med, lowest.get(group, med))
    left = []
    for path in paths:
        group = 0 if preferences.always_compare_med else neighbor_asn(path.attributes.as_path)
        if (path.attributes.med or 0) == lowest[group]:
            left.append(path)
        else:
            lost.append((path, Reason.MED))
    return left


def _keep_lowest(
    paths: list[Path], key: Callable[[Path], object], reason: Reason, lost: list[tuple[Path, Reason]]
) -> list[Path]:
    values: list[object] = [key(path) for path in paths]
    best = min(values)  # type: ignore[type-var]
    left = []
    for path, value in zip(paths, values, strict=True):
        if value == best:
            left.append(path)
        else:
            lost.append((path, reason))
    return left


def _router_id(path: Path) -> int:
    originator = path.attributes.originator_id
    return path.source.router_id if originator is None else originator


_LAST: Final[tuple[tuple[Reason, Callable[[Path], object]], ...]] = (
    (Reason.ROUTER_ID, _router_id),
    (Reason.CLUSTER_LENGTH, lambda path: len(path.attributes.cluster_list)),
    (Reason.NEIGHBOR_ADDRESS, lambda path: (len(path.source.address), path.source.address, path.source.name)),
)


def _tie_break(
    left: list[Path], preferences: Preferences, incumbent: Path | None, lost: list[tuple[Path, Reason]]
) -> list[Path]:
    if len(left) > 1 and incumbent is not None and not preferences.compare_router_id and incumbent.source.external:
        stays = [path for path in left if path.source.name == incumbent.source.name]
        if stays:
            lost += [(path, Reason.OLDER) for path in left if path is not stays[0]]
            return stays
    for reason, key in _LAST:
        if len(left) == 1:
            break
        left = _keep_lowest(left, key, reason, lost)
    return left


def _multipath(best: Path, equal: Iterable[Path], preferences: Preferences) -> tuple[Path, ...]:
    """Paths equal to the best up to the IGP metric, by FRR's rule for AS_PATH; the best first, then by neighbour."""
    if not preferences.multipath_relax:
        if best.source.external:
            equal = [path for path in equal if path.source.asn == best.source.asn]
        else:
            equal = [path for path in equal if path.attributes.as_path == best.attributes.as_path]
    others = sorted(
        (path for path in equal if path is not best),
        key=lambda path: (len(path.source.address), path.source.address, path.source.name),
    )
    return (best, *others[: preferences.max_paths - 1])
