"""Routes of a speaker. Routes that always had the same paths form one `Group`.

    Path        one path to some routes: source, attributes, next hop, payload, time of receipt
    Selection   result of the decision process: best path, multipath set
    Group       routes that every neighbour has announced alike since they were first received
    Table       all routes of a family: Adj-RIBs-In and Loc-RIB, by group

A leaf receives the same block of routes from every spine. Stored one by one, the cost of an UPDATE would grow with its
routes. Stored by group, it is one dictionary entry, and one run of the decision process serves the whole block. A group
is split as soon as an UPDATE, a policy or a withdrawal treats two of its routes differently (partition refinement), so
the paths of every route are always exact.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from fabric.controlplane.bgp.cause import Cause

if TYPE_CHECKING:
    from fabric.controlplane.bgp.afi import AddressFamily
    from fabric.controlplane.bgp.attributes import Attributes


class Source(NamedTuple):
    """Source of paths: one object per session, and one for local routes."""

    name: str
    """Neighbour's name; '' for routes of this speaker."""
    asn: int
    """Neighbour's AS; the own one for local routes."""
    external: bool
    """True for eBGP."""
    router_id: int
    """BGP identifier."""
    address: bytes
    """Packed address of the neighbour; b'' for local routes."""
    client: bool = False
    """A client of this route reflector."""

    @property
    def local(self) -> bool:
        """True for routes this speaker originated."""
        return not self.name


@dataclass(slots=True, eq=False)
class Path:
    """One path to one or more routes, in the Adj-RIB-In after import policy. Compared by identity."""

    source: Source
    attributes: Attributes
    next_hop: bytes
    """Packed; 4, 16 or 32 bytes; b'' for local routes without one ('self')."""
    payload: Hashable
    """See afi.Block."""
    received_ns: int
    weight: int = 0
    """FRR's: 32768 for local routes; policy may set it."""
    stale: bool = field(default=False)
    """Kept for a peer that restarts gracefully, RFC 4724 section 4.2."""

    def repeats(self, other: Path) -> bool:
        """Whether both have the same content, from any source. Equal attributes are one object within a fabric."""
        return self.attributes is other.attributes and self.next_hop == other.next_hop and self.payload == other.payload

    def same(self, other: Path) -> bool:
        """Whether both have the same content and source, at any time of receipt."""
        return self is other or (
            self.attributes == other.attributes
            and self.next_hop == other.next_hop
            and self.payload == other.payload
            and self.weight == other.weight
            and self.source == other.source
        )


class Selection(NamedTuple):
    """Result of the decision process for a route."""

    best: Path
    multipath: tuple[Path, ...]
    """All equal-cost paths, the best first."""

    @property
    def next_hops(self) -> tuple[bytes, ...]:
        """Packed next hops, in the order of `multipath`, without repetition."""
        return tuple(dict.fromkeys(path.next_hop for path in self.multipath))

    def same(self, other: Selection | None) -> bool:
        """Whether the multipath sets are the same, with the same attributes."""
        return self is other or (
            other is not None
            and len(self.multipath) == len(other.multipath)
            and all(mine.same(theirs) for mine, theirs in zip(self.multipath, other.multipath, strict=True))
        )


class Sent(NamedTuple):
    """What was advertised to an update group for a route."""

    attributes: Attributes
    next_hop: bytes
    """b'': this end's address of each session."""
    payload: Hashable


class Group:
    """Routes with the same paths. Compared by identity."""

    __slots__ = (
        "_keys",
        "best_received",
        "changed_ns",
        "incumbent",
        "members",
        "paths",
        "reported",
        "selection",
        "sent",
        "version",
    )

    def __init__(self, keys: tuple[bytes, ...]) -> None:
        self.members: dict[bytes, None] = dict.fromkeys(keys)
        self._keys: tuple[bytes, ...] | None = keys if len(self.members) == len(keys) else None
        self.paths: dict[str, Path] = {}
        """Source name -> path, oldest announcement first."""
        self.selection: Selection | None = None
        self.best_received: Path | None = None
        """If the table reports received paths: the best one at the last arrival, or an unreachable one if all are."""
        self.reported: Path | None = None
        """The path last reported by RoutesReceived; None: none."""
        self.incumbent: Path | None = None
        """The best path before the last decision."""
        self.sent: dict[int, Sent] = {}
        """Index of the update group -> what was advertised."""
        self.version = 0
        """Table version of the last change of the selection."""
        self.changed_ns = 0

    @property
    def keys(self) -> tuple[bytes, ...]:
        """Routes of the group, in the order of arrival."""
        if self._keys is None:
            self._keys = tuple(self.members)
        return self._keys

    def split(self, keys: list[bytes]) -> Group:
        """Move `keys`, some but not all of the group, to a new group with the same history."""
        other = Group(tuple(keys))
        for key in keys:
            del self.members[key]
        self._keys = None
        other.paths = dict(self.paths)
        other.selection = self.selection
        other.best_received = self.best_received
        other.reported = self.reported
        other.incumbent = self.incumbent
        other.sent = dict(self.sent)
        other.version = self.version
        other.changed_ns = self.changed_ns
        return other


class Table:
    """All routes of one family of a speaker."""

    def __init__(self, family: AddressFamily, cause: Cause | None = None) -> None:
        self.family = family
        self._cause = cause if cause is not None else Cause()
        self.group_of: dict[bytes, Group] = {}
        self.groups: dict[Group, None] = {}
        self.dirty: dict[Group, int] = {}
        """Groups whose paths changed since their last decision, in order of the first change -> cause (cause.py)."""
        self.accepted: dict[str, int] = {}
        """Routes in the Adj-RIB-In, by source."""
        self.version = 0
        self.empty: dict[Group, int] = {}
        """Groups without a path; removed once every update group has withdrawn them."""
        self.reports_received = False
        """Whether `fresh` is maintained: best received paths are reported before the decision process (received.py)."""
        self.fresh: dict[Group, int] = {}
        """Groups whose best received path may have changed."""
        self.older: dict[Group, Path] = {}
        """Paths that the next decision treats as the older one of equal paths (ties.py)."""
        self.queues: list[dict[Group, int]] = [self.dirty, self.empty, self.fresh]
        """Every queue of groups; both parts of a split group stay in each."""

    def put(self, name: str, keys: tuple[bytes, ...], path: Path) -> bool:
        """Set the path of `name` for `keys`; True if any group is now dirty."""
        changed, cause, reports_received, attributes = False, self._cause.now, self.reports_received, path.attributes
        for group in self.groups_of(keys, create=True):
            old = group.paths.get(name)
            if old is None:
                self.accepted[name] = self.accepted.get(name, 0) + len(group.members)
            elif not old.stale and old.same(path):
                continue  # announced again: the time of the first announcement counts, as in FRR
            group.paths[name] = path
            self.dirty[group] = cause
            if reports_received and (
                old is not None
                or (best_received := group.best_received) is None
                or best_received.attributes is not attributes
                or best_received.next_hop != path.next_hop
                or best_received.payload != path.payload
            ):  # Path.repeats
                self.fresh[group] = cause
            changed = True
        return changed

    def remove(self, name: str, keys: tuple[bytes, ...]) -> bool:
        """Remove the path of `name` from `keys`; True if any group is now dirty."""
        if not self.accepted.get(name):
            return False
        first = self.group_of.get(keys[0])
        if first is not None and (first.keys is keys or first.keys == keys):
            if name not in first.paths:
                return False
            self._drop(first, name)
            return True
        # Do not split groups for routes that `name` does not have.
        held = [key for key in keys if (group := self.group_of.get(key)) is not None and name in group.paths]
        changed = False
        for group in self.groups_of(tuple(held), create=False):
            self._drop(group, name)
            changed = True
        return changed

    def remove_source(self, name: str, *, stale_only: bool = False) -> bool:
        """Remove all paths of `name`, or all stale ones; True if any group is now dirty."""
        if not self.accepted.get(name):
            return False
        changed = False
        for group in self.groups:
            path = group.paths.get(name)
            if path is not None and (path.stale or not stale_only):
                self._drop(group, name)
                changed = True
        return changed

    def mark_stale(self, name: str) -> None:
        """Mark all paths of `name` stale (RFC 4724 section 4.2, RFC 7313 section 4)."""
        for group in self.groups:
            path = group.paths.get(name)
            if path is not None:
                stale = group.paths[name] = replace(path, stale=True)
                if group.best_received is path:
                    group.best_received = stale
                self.dirty[group] = self._cause.now

    def _drop(self, group: Group, name: str) -> None:
        path = group.paths.pop(name)
        if path is group.best_received:
            self.fresh[group] = self._cause.now
        self.accepted[name] -= len(group.members)
        self.dirty[group] = self._cause.now

    def groups_of(self, keys: tuple[bytes, ...], *, create: bool) -> list[Group]:
        """Groups that hold exactly `keys`; larger groups are split, and new routes get a group if `create`."""
        if not keys:
            return []
        first = self.group_of.get(keys[0])
        if first is not None and (first.keys is keys or first.keys == keys):
            return [first]
        touched: dict[Group, list[bytes]] = {}
        fresh: list[bytes] = []
        group_of = self.group_of
        for key in dict.fromkeys(keys):
            group = group_of.get(key)
            if group is None:
                fresh.append(key)
            elif group in touched:
                touched[group].append(key)
            else:
                touched[group] = [key]
        result = [
            group if len(taken) == len(group.members) else self.split(group, taken) for group, taken in touched.items()
        ]
        if fresh and create:
            group = Group(keys if len(fresh) == len(keys) else tuple(fresh))
            self._enter(group)
            result.append(group)
        return result

    def split(self, group: Group, keys: list[bytes]) -> Group:
        """Split `keys` from `group`, in every queue too."""
        other = group.split(keys)
        self._enter(other)
        for queue in self.queues:
            if group in queue:
                queue[other] = queue[group]
        return other

    def _enter(self, group: Group) -> None:
        self.groups[group] = None
        for key in group.members:
            self.group_of[key] = group

    def sweep(self) -> None:
        """Remove groups without paths that no update group still has to withdraw."""
        for group in list(self.empty):
            if group.paths:
                del self.empty[group]
            elif not group.sent and group not in self.dirty:
                del self.empty[group]
                del self.groups[group]
                for key in group.members:
                    del self.group_of[key]
