"""The number of series depends on the fabric, never on the traffic: traffic cannot flood Prometheus with series."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import pytest

from fabric.dataplane.engine.counters import Snapshot
from fabric.topology.builders.assemble import assemble
from fabric.topology.model import Fabric, LinkSpec, NodeSpec, Role
from telemetry.catalogue.columns import SnapshotMetrics
from telemetry.catalogue.derive import RunInfo
from telemetry.catalogue.metrics import CATALOGUE
from telemetry.export.compat.registry import LAYERS

Still = Callable[..., Snapshot]

BOUNDED: Final = {
    "device",
    "port",
    "priority",
    "queue",
    "traffic_class",
    "reason",
    "pool",
    "group",
    "size_class",
    "kind",
    "state",
    "direction",
    "peer",
    "family",
    "route_type",
    "vni",
    "workload",
    "operation",
    "algorithm",
    # labels of info metrics: facts of what the other labels name
    "version",
    "fabric",
    "run",
    "scenario",
    "model",
    "seed",
    "role",
    "tier",
    "peer_device",
    "peer_port",
    "cause",
    "cause_device",
    "cause_port",
    "root",
    "root_device",
    "root_port",
    "evidence",
}
"""Labels of which a fabric has a fixed number of values."""


def star(hosts: int) -> Fabric:
    nodes = [NodeSpec(f"h{n}", Role.HOST, 0) for n in range(hosts)] + [NodeSpec("leaf0", Role.LEAF, 1)]
    return assemble("star", nodes, [LinkSpec(f"h{n}", "leaf0", 10**11, 1000) for n in range(hosts)])


def busy(still: Still, fabric: Fabric, pairs: int) -> Snapshot:
    """`pairs` queue pairs of class 3 with two messages each, some done."""
    now = still(fabric, time_ps=10**9, qps=pairs, messages=2 * pairs)
    now.qps["tc"], now.qps["posted_psn"] = 3, 9
    now.messages["size_bytes"] = 10**6
    now.messages["start_ps"], now.messages["end_ps"] = 0, np.arange(2 * pairs) % 2 * 10**6 - 1
    now.ports["pfc_classes"], now.pgs["lossless"][:, 3] = 8, 1
    return now


def series(now: Snapshot, info: RunInfo) -> int:
    return sum(len(it.labels) for it in SnapshotMetrics(info).columns(now))


def test_traffic_makes_no_series(still: Still, info: RunInfo) -> None:
    fabric = star(4)
    few, many = busy(still, fabric, 1), busy(still, fabric, 5000)
    assert series(few, info) == series(many, info) > 100


def test_series_grow_with_ports_and_no_faster(still: Still, info: RunInfo) -> None:
    small, large = (series(busy(still, star(hosts), 2), info) for hosts in (10, 100))
    assert large < 10 * small
    assert large > 5 * small


@pytest.mark.parametrize("spec", CATALOGUE, ids=lambda it: it.name)
def test_every_label_has_a_bounded_number_of_values(spec: object) -> None:
    assert set(spec.labels) <= BOUNDED


def test_even_if_everything_drops_for_every_reason_the_number_is_bounded(still: Still, info: RunInfo) -> None:
    now = busy(still, star(4), 3)
    now.drops["pkts"], now.queues["enqueued_pkts"], now.pgs["rx_pkts"] = 1, 1, 1
    now.ports["pfc_classes"], now.ports["paused"], now.pgs["lossless"] = 255, 255, 1
    now.queues["wd_watched"] = 1
    ports, classes = len(now.ports), 8
    assert series(now, info) < ports * classes * 100 + 1000


@pytest.mark.parametrize("layer", LAYERS.values(), ids=lambda it: it.name)
def test_other_names_make_no_more_series(still: Still, info: RunInfo, layer: object) -> None:
    now = busy(still, star(8), 50)
    native = list(SnapshotMetrics(info).families(now))
    assert sum(len(it.samples) for it in layer.families(native)) <= sum(len(it.samples) for it in native)
