"""Equal paths of which another is the older one: what the order of arrival alone decides (RFC 5004)."""

from __future__ import annotations

from collections.abc import Mapping

from fabric.routing.bgp.decision import Preferences, decide
from fabric.routing.bgp.hearing import Metric
from fabric.routing.bgp.rib import Table


def prefer(table: Table, older: Mapping[bytes, str], preferences: Preferences, metric: Metric, cause: int) -> int:
    """Let the path of a neighbour be the older one of those that are equal to the best; nothing where it is not equal.

    `older`: route -> name of the neighbour. Returns the number of routes that change their best path when the decision
    process runs next.
    """
    wanted: dict[str, list[bytes]] = {}
    for key, name in older.items():
        group = table.group_of.get(key)
        if (group is not None and name in group.paths and group.selection is not None
                and group.selection.best.source.name not in {name, ""}):
            wanted.setdefault(name, []).append(key)
    changed = 0
    for name, keys in wanted.items():
        for group in table.carve(tuple(keys), create=False):
            path = group.paths[name]
            selection = decide(tuple(group.paths.values()), preferences, path, metric).selection
            if selection is None or selection.best is not path:
                continue
            changed += len(group.members)
            table.older[group] = path
            table.dirty[group] = cause
            if table.eager:
                group.heard, table.fresh[group] = path, cause
    return changed
