"""Snapshots made by hand from the tables' dtypes, so that the exporter is tested without an engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

from fabric.engine.counters import Snapshot
from fabric.state import types
from fabric.state.codes import N_CLASSES, N_DROP_REASONS
from fabric.topology.assemble import assemble
from fabric.topology.model import Fabric, LinkSpec, NodeSpec, Role
from telemetry.derive import RunInfo

G: Final = 10**9


@pytest.fixture
def tiny() -> Fabric:
    """Two hosts, one leaf: ports 0 (h0), 1 (h1), 2 and 3 (leaf0)."""
    nodes = [NodeSpec("h0", Role.HOST, 0), NodeSpec("h1", Role.HOST, 0), NodeSpec("leaf0", Role.LEAF, 1, "rack 1")]
    return assemble("tiny", nodes, [LinkSpec(host, "leaf0", 100 * G, 10_000) for host in ("h0", "h1")])


@pytest.fixture
def still() -> Callable[..., Snapshot]:
    """A Snapshot of an idle fabric whose tables are all zero but for who owns what."""
    return make_still


def make_still(fabric: Fabric, *, time_ps: int = 0, pools: int = 1, qps: int = 0, messages: int = 0,
               vnis: int = 0) -> Snapshot:
    n_ports, n_hosts = len(fabric.ports), len(fabric.hosts)
    shapes: dict[str, Any] = {
        "devices": (types.DEVICE, len(fabric.nodes)), "ports": (types.PORT, n_ports),
        "queues": (types.QUEUE, (n_ports, N_CLASSES)), "pgs": (types.PG, (n_ports, N_CLASSES)),
        "prios": (types.PRIO, (n_ports, N_CLASSES)), "pools": (types.POOL, pools * len(fabric.switches)),
        "hosts": (types.HOST, n_hosts), "qps": (types.QP, qps), "rqps": (types.RQP, qps),
        "messages": (types.MESSAGE, messages), "rmessages": (types.RMESSAGE, messages),
        "switches": (types.SWITCH, len(fabric.switches)),
        "drops": (types.DROP, (n_ports, N_CLASSES, N_DROP_REASONS)),
        "segments": (types.SEGMENT, (len(fabric.switches), vnis)), "asks": (types.ASK, 0),
        "groups": (types.GROUP, 0), "members": (types.MEMBER, 0)}
    tables = {name: np.zeros(shape, dtype) for name, (dtype, shape) in shapes.items()}
    tables["ports"]["node"] = [port.node for port in fabric.ports]
    tables["ports"]["up"] = 1
    tables["ports"]["rate_bps"] = [fabric.links[port.link].rate_bps for port in fabric.ports]
    tables["pools"]["switch"] = np.repeat([node.id for node in fabric.switches], pools)
    tables["pools"]["size_bytes"] = 1_000_000
    tables["pgs"]["limit_bytes"] = -1
    tables["messages"]["start_ps"] = tables["messages"]["end_ps"] = -1
    return Snapshot(time_ps=time_ps, fabric=fabric, finished=False, events=0, packet_hops=0, **tables)


@pytest.fixture
def info() -> RunInfo:
    return RunInfo(version="1.2.3", run="run-7", scenario="tiny.yml", model="asic", seed=7)
