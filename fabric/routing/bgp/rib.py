"""Routes a speaker knows. Routes that always had one fate are kept as one `Group`.

    Path        one way to reach some routes: from whom, with which attributes, next hop and payload, since when
    Selection   what the decision process chose: best path, multipath set
    Group       routes for which every neighbour said the same since they were first seen
    Table       all routes of a family: Adj-RIBs-In and Loc-RIB, by group

A leaf hears the same block of routes from every spine. If the table kept them one by one, every UPDATE would cost as
much as it has routes; by group it costs one dictionary entry, and one run of the decision process serves the whole
block. A group is parted the moment an UPDATE, a policy or a withdrawal treats two of its routes differently
(partition refinement), so what any route's paths are is always exact.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from fabric.routing.bgp.cause import Cause

if TYPE_CHECKING:
    from fabric.routing.bgp.afi import AddressFamily
    from fabric.routing.bgp.attributes import Attributes


class Source(NamedTuple):
    """Where paths come from, as the decision process and views need it. One object per session, or for local routes."""

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
    """One way to reach one or more routes, as it stands in the Adj-RIB-In after import policy. Compared by identity."""

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
        """Whether both say the same, whoever said it. Attributes of one content are one object in a fabric."""
        return (self.attributes is other.attributes and self.next_hop == other.next_hop
                and self.payload == other.payload)

    def same(self, other: Path) -> bool:
        """Whether both say the same about a route, whenever they were received."""
        return self is other or (
            self.attributes == other.attributes and self.next_hop == other.next_hop and self.payload == other.payload
            and self.weight == other.weight and self.source == other.source)


class Selection(NamedTuple):
    """What the decision process chose for a route."""

    best: Path
    multipath: tuple[Path, ...]
    """All equal-cost paths, the best first."""

    @property
    def next_hops(self) -> tuple[bytes, ...]:
        """Packed next hops, in the order of `multipath`, without repetition."""
        return tuple(dict.fromkeys(path.next_hop for path in self.multipath))

    def same(self, other: Selection | None) -> bool:
        """Whether routes go the same ways with the same attributes."""
        return self is other or (
            other is not None and len(self.multipath) == len(other.multipath)
            and all(mine.same(its) for mine, its in zip(self.multipath, other.multipath, strict=True)))


class Sent(NamedTuple):
    """What an update group was told about a route."""

    attributes: Attributes
    next_hop: bytes
    """b'': each peer is told this end's address of its session."""
    payload: Hashable


class Group:
    """Routes of one fate. Compared by identity."""

    __slots__ = ("_keys", "changed_ns", "heard", "incumbent", "members", "paths", "selection", "sent", "told",
                 "version")

    def __init__(self, keys: tuple[bytes, ...]) -> None:
        self.members: dict[bytes, None] = dict.fromkeys(keys)
        self._keys: tuple[bytes, ...] | None = keys if len(self.members) == len(keys) else None
        self.paths: dict[str, Path] = {}
        """By name of the source, oldest announcement first."""
        self.selection: Selection | None = None
        self.heard: Path | None = None
        """Of a table that is eager: the best path as of the last arrival, or one that cannot be reached if none can."""
        self.told: Path | None = None
        """The path that RoutesHeard was told of last; None: none."""
        self.incumbent: Path | None = None
        """What was best before the last decision."""
        self.sent: dict[int, Sent] = {}
        """By index of the update group."""
        self.version = 0
        """Table version of the last change of the selection."""
        self.changed_ns = 0

    @property
    def keys(self) -> tuple[bytes, ...]:
        """Routes of the group, in the order in which they came."""
        if self._keys is None:
            self._keys = tuple(self.members)
        return self._keys

    def part(self, keys: list[bytes]) -> Group:
        """Take `keys`, some but not all of the group, into a group of their own with the same history."""
        other = Group(tuple(keys))
        for key in keys:
            del self.members[key]
        self._keys = None
        other.paths = dict(self.paths)
        other.selection = self.selection
        other.heard = self.heard
        other.told = self.told
        other.incumbent = self.incumbent
        other.sent = dict(self.sent)
        other.version = self.version
        other.changed_ns = self.changed_ns
        return other


class Table:
    """All routes of one family that a speaker knows."""

    def __init__(self, family: AddressFamily, cause: Cause | None = None) -> None:
        self.family = family
        self._cause = cause if cause is not None else Cause()
        self.group_of: dict[bytes, Group] = {}
        self.groups: dict[Group, None] = {}
        self.dirty: dict[Group, int] = {}
        """Groups whose paths changed since their last decision, in the order of the first change, and why: cause.py."""
        self.accepted: dict[str, int] = {}
        """Routes in the Adj-RIB-In, by source."""
        self.version = 0
        self.empty: dict[Group, int] = {}
        """Groups that have lost their last path; they go once nobody has to be told of it any more."""
        self.eager = False
        """Whether `fresh` is kept: the owner wants to know what is best as it arrives, before the decision process."""
        self.fresh: dict[Group, int] = {}
        """Groups of which the best path may say something else now."""
        self.older: dict[Group, Path] = {}
        """Paths that the next decision takes for the older of equal ones: ties.py."""
        self.queues: list[dict[Group, int]] = [self.dirty, self.empty, self.fresh]
        """Every queue of groups; a group that parts stays in each with both parts."""

    def put(self, name: str, keys: tuple[bytes, ...], path: Path) -> bool:
        """Set the path of `name` for `keys`; True if any group is now dirty."""
        changed, cause, eager, its = False, self._cause.now, self.eager, path.attributes
        for group in self.carve(keys, create=True):
            old = group.paths.get(name)
            if old is None:
                self.accepted[name] = self.accepted.get(name, 0) + len(group.members)
            elif not old.stale and old.same(path):
                continue                       # said again: the older announcement counts, as in FRR
            group.paths[name] = path
            self.dirty[group] = cause
            if eager and (old is not None or (heard := group.heard) is None or heard.attributes is not its
                          or heard.next_hop != path.next_hop or heard.payload != path.payload):       # Path.repeats
                self.fresh[group] = cause
            changed = True
        return changed

    def remove(self, name: str, keys: tuple[bytes, ...]) -> bool:
        """Take the path of `name` from `keys`; True if any group is now dirty."""
        if not self.accepted.get(name):
            return False
        first = self.group_of.get(keys[0])
        if first is not None and (first.keys is keys or first.keys == keys):
            if name not in first.paths:
                return False
            self._drop(first, name)
            return True
        # Routes that `name` does not hold must not be parted from others for its sake.
        held = [key for key in keys if (group := self.group_of.get(key)) is not None and name in group.paths]
        changed = False
        for group in self.carve(tuple(held), create=False):
            self._drop(group, name)
            changed = True
        return changed

    def remove_source(self, name: str, *, stale_only: bool = False) -> bool:
        """Take all paths of `name`, or all stale ones; True if any group is now dirty."""
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
                if group.heard is path:
                    group.heard = stale
                self.dirty[group] = self._cause.now

    def _drop(self, group: Group, name: str) -> None:
        path = group.paths.pop(name)
        if path is group.heard:
            self.fresh[group] = self._cause.now
        self.accepted[name] -= len(group.members)
        self.dirty[group] = self._cause.now

    def carve(self, keys: tuple[bytes, ...], *, create: bool) -> list[Group]:
        """Groups that hold exactly `keys`; others are parted, and new routes get a group if `create`."""
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
        result = [group if len(taken) == len(group.members) else self.part(group, taken)
                  for group, taken in touched.items()]
        if fresh and create:
            group = Group(keys if len(fresh) == len(keys) else tuple(fresh))
            self._enter(group)
            result.append(group)
        return result

    def part(self, group: Group, keys: list[bytes]) -> Group:
        """Part `keys` from `group`, in every queue too."""
        other = group.part(keys)
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
        """Take groups without paths out of the table that no update group has to take back any more."""
        for group in list(self.empty):
            if group.paths:
                del self.empty[group]
            elif not group.sent and group not in self.dirty:
                del self.empty[group]
                del self.groups[group]
                for key in group.members:
                    del self.group_of[key]
