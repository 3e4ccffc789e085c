"""Change which of equal paths counts as the older one: ties that only the order of arrival decides (RFC 5004)."""

from __future__ import annotations

from collections.abc import Mapping

from fabric.controlplane.bgp.decision import Metric, Preferences, decide
from fabric.controlplane.bgp.rib import Table


def prefer(table: Table, older: Mapping[bytes, str], preferences: Preferences, metric: Metric, cause: int) -> int:
    """Treat the path of a neighbour as the oldest of the paths equal to the best. No effect if it is not equal.

    `older`: route -> name of the neighbour. Returns the number of routes whose best path changes at the next run of the
    decision process.
    """
    wanted: dict[str, list[bytes]] = {}
    for key, name in older.items():
        group = table.group_of.get(key)
        if (
            group is not None
            and name in group.paths
            and group.selection is not None
            and group.selection.best.source.name not in {name, ""}
        ):
            wanted.setdefault(name, []).append(key)
    changed = 0
    for name, keys in wanted.items():
        for group in table.groups_of(tuple(keys), create=False):
            path = group.paths[name]
            selection = decide(tuple(group.paths.values()), preferences, path, metric).selection
            if selection is None or selection.best is not path:
                continue
            changed += len(group.members)
            table.older[group] = path
            table.dirty[group] = cause
            if table.reports_received:
                group.best_received, table.fresh[group] = path, cause
    return changed
