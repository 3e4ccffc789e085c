"""The watchdog's queues and the classes in them: alerts name a class by the switch's own map."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from fabric.dataplane.engine.counters import Snapshot
from fabric.topology.model import Fabric
from telemetry.catalogue.columns import SnapshotMetrics
from telemetry.catalogue.derive import RunInfo


def test_a_watched_queue_names_the_class_that_the_switch_puts_into_it(
    tiny: Fabric, still: Callable[..., Snapshot]
) -> None:
    """By the switch's own map, because the number of a queue is no priority."""
    snapshot = still(tiny, qps=1)
    switch = snapshot.fabric.switches[0]
    queues, pgs, switches = snapshot.queues.copy(), snapshot.pgs.copy(), snapshot.switches.copy()
    switches["tc_to_queue"][0] = [0, 1, 4, 4, 3, 5, 4, 7]
    switches["tc_to_pg"][0] = [0, 0, 2, 3, 4, 0, 0, 0]
    queues["wd_watched"][switch.ports[0]][[3, 4, 6, 7]] = 1
    pgs["lossless"][switch.ports[1]][[2, 3, 4]] = 1
    mapped = replace(snapshot, queues=queues, pgs=pgs, switches=switches)
    columns = SnapshotMetrics(RunInfo("1", "r", "s", "m", 0), ["fabric_pfcwd_queue_info"]).columns(mapped)
    (found,) = tuple(columns)
    assert {(it["queue"], it["priority"]) for it in found.labels} == {
        ("3", "4"),
        ("4", "2"),  # both lossless classes of queue 4, and not class 6, which is lossy
        ("4", "3"),
        ("6", "6"),  # nothing is put into queue 6
        ("7", "7"),
    }
