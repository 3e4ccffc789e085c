"""Report the best received path of each route at once, before the decision process runs.

FRR imports EVPN routes into VNIs and VRFs as they arrive (bgp_update, bgp_evpn_import_route). The decision process,
and with it what is advertised, follows with the process queue. So a leaf acts on a MAC's move one update delay before
it advertises the move.
"""

from __future__ import annotations

from collections.abc import Sequence

from fabric.controlplane.bgp.actions import Change
from fabric.controlplane.bgp.decision import Metric, Preferences, decide
from fabric.controlplane.bgp.rib import Path, Selection, Table


def best_received_changes(table: Table, preferences: Preferences, metric: Metric) -> list[Change]:
    """Changes of the best received paths of `table` since the last call."""
    changes = []
    for group, cause in table.fresh.items():
        old, paths = group.reported, tuple(group.paths.values())
        new = _best(paths, preferences, group.best_received, metric)
        group.best_received = new if new is not None or not paths else paths[0]
        group.reported = new
        if old is new or (old is not None and new is not None and old.repeats(new)):
            continue
        changes.append(
            Change(
                group.keys,
                None if old is None else Selection(old, (old,)),
                None if new is None else Selection(new, (new,)),
                cause,
            )
        )
    table.fresh.clear()
    return changes


def _best(paths: Sequence[Path], preferences: Preferences, incumbent: Path | None, metric: Metric) -> Path | None:
    """The best path; the first if all are equal in content; None if no next hop is reachable."""
    if not paths:
        return None
    first = paths[0]
    attributes, next_hop, payload = first.attributes, first.next_hop, first.payload
    if all(path.attributes is attributes and path.next_hop == next_hop and path.payload == payload for path in paths):
        return first if metric is None or first.source.local or metric(next_hop) is not None else None
    selection = decide(paths, preferences, incumbent, metric).selection
    return None if selection is None else selection.best
