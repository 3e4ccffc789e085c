"""What is best of what has arrived, told without waiting for the decision process.

FRR imports EVPN routes into VNIs and VRFs as they arrive (bgp_update, bgp_evpn_import_route), and the route table that
is announced from follows with the process queue. So a leaf knows of a MAC's move one update delay before it says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fabric.routing.bgp.actions import Change
from fabric.routing.bgp.decision import Preferences, decide
from fabric.routing.bgp.rib import Path, Selection, Table

Metric = Callable[[bytes], int | None] | None


def heard(table: Table, prefer: Preferences, metric: Metric) -> list[Change]:
    """Changes of what is best among all that `table` holds, since the last call."""
    changes = []
    for group, cause in table.fresh.items():
        old, paths = group.told, tuple(group.paths.values())
        new = _best(paths, prefer, group.heard, metric)
        group.heard = new if new is not None or not paths else paths[0]
        group.told = new
        if old is new or (old is not None and new is not None and old.repeats(new)):
            continue
        changes.append(Change(group.keys, None if old is None else Selection(old, (old,)),
                              None if new is None else Selection(new, (new,)), cause))
    table.fresh.clear()
    return changes


def _best(paths: Sequence[Path], prefer: Preferences, incumbent: Path | None, metric: Metric) -> Path | None:
    """The best of some paths, or any of them if all say the same; None: none can be reached."""
    if not paths:
        return None
    only = paths[0]
    its, next_hop, payload = only.attributes, only.next_hop, only.payload
    if all(path.attributes is its and path.next_hop == next_hop and path.payload == payload for path in paths):
        return only if metric is None or only.source.local or metric(next_hop) is not None else None
    selection = decide(paths, prefer, incumbent, metric).selection
    return None if selection is None else selection.best
