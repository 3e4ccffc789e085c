"""The decision process over what has changed in a table (RFC 4271 section 9.1), and who must hear of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fabric.routing.bgp.actions import Change
from fabric.routing.bgp.decision import Preferences, decide
from fabric.routing.bgp.export import UpdateGroup
from fabric.routing.bgp.rib import Table


def select(table: Table, followers: Sequence[UpdateGroup], prefer: Preferences,
           metric: Callable[[bytes], int | None] | None, now_ns: int) -> list[Change]:
    """Decide about every dirty group of `table`; those whose best path changed are due to its followers."""
    changes = []
    dirty = list(table.dirty.items())
    table.dirty.clear()
    for group, cause in dirty:
        old = group.selection
        group.incumbent = table.older.pop(group, None if old is None else old.best)
        new = decide(tuple(group.paths.values()), prefer, group.incumbent, metric).selection
        group.selection = new
        if not group.paths:
            table.empty[group] = cause
        if new is old or (new is not None and new.same(old)):
            continue
        table.version += 1
        group.version, group.changed_ns = table.version, now_ns
        changes.append(Change(group.keys, old, new, cause))
        if old is None or new is None or not old.best.same(new.best):
            for follower in followers:
                follower.pending[group] = cause
    return changes
