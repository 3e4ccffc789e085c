"""Small fabrics, snapshots without an engine, and scenarios for the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fabric.dataplane.engine.counters import Snapshot
from fabric.dataplane.state import datagram_tables, transfer_tables, types
from fabric.dataplane.state.codes import N_CLASSES, N_DROP_REASONS
from fabric.topology.builders.assemble import assemble
from fabric.topology.model import Fabric, LinkSpec, NodeSpec, Role

INCAST = """\
name: small-incast
topology: {kind: leaf-spine, leaves: 2, spines: 2, hosts_per_leaf: 4, host_rate: 100G, fabric_rate: 100G}
switches: {asic: trident3}
workload:
  - {kind: incast, receiver: host1, senders: ["*"], size: 200KB}
telemetry: {interval: 20us}
run: {duration: 5ms, seed: 3}
expectations: [messages.done == 7, drops.lossless == 0]
"""


@pytest.fixture(scope="session")
def tiny() -> Fabric:
    """Two hosts, one leaf."""
    nodes = [NodeSpec("a", Role.HOST, 0), NodeSpec("b", Role.HOST, 0), NodeSpec("leaf", Role.LEAF, 1)]
    links = [LinkSpec(name, "leaf", 100_000_000_000, 10_000) for name in ("a", "b")]
    return assemble("tiny", nodes, links)


def _still(fabric: Fabric, time_ps: int = 0, n_messages: int = 2) -> Snapshot:
    """All counters 0; message i runs on queue pair i from host 0 to host 1."""
    n_ports, n_hosts = len(fabric.ports), len(fabric.hosts)
    ports = np.zeros(n_ports, types.PORT)
    ports["node"] = [port.node for port in fabric.ports]
    ports["peer"] = [port.peer for port in fabric.ports]
    ports["up"] = 1
    qps = np.zeros(n_messages, types.QP)
    qps["dst"] = 1
    messages = np.zeros(n_messages, types.MESSAGE)
    messages["qp"] = np.arange(n_messages)
    messages["size_bytes"] = 1000
    messages["start_ps"] = messages["end_ps"] = -1
    rmessages = np.zeros(n_messages, types.RMESSAGE)
    rmessages["first_ps"] = rmessages["arrived_ps"] = -1
    pools = np.zeros(1, types.POOL)
    pools["switch"] = n_hosts
    groups = np.zeros(2, types.GROUP)
    groups["first"], groups["count"] = [0, 1], 1
    members = np.zeros(2, types.MEMBER)
    members["port"] = [2, 3]
    return Snapshot(
        time_ps=time_ps,
        fabric=fabric,
        finished=False,
        events=0,
        packet_hops=0,
        devices=np.zeros(len(fabric.nodes), types.DEVICE),
        ports=ports,
        queues=np.zeros((n_ports, N_CLASSES), types.QUEUE),
        pgs=np.zeros((n_ports, N_CLASSES), types.PG),
        prios=np.zeros((n_ports, N_CLASSES), types.PRIO),
        pools=pools,
        switches=np.zeros(len(fabric.switches), types.SWITCH),
        hosts=np.zeros(n_hosts, types.HOST),
        qps=qps,
        rqps=np.zeros(n_messages, types.RQP),
        messages=messages,
        rmessages=rmessages,
        drops=np.zeros((n_ports, N_CLASSES, N_DROP_REASONS), types.DROP),
        groups=groups,
        members=members,
        segments=np.zeros((len(fabric.switches), 1), types.SEGMENT),
        asks=np.zeros(0, types.ASK),
        streams=np.zeros(0, datagram_tables.STREAM),
        rstreams=np.zeros(0, datagram_tables.RSTREAM),
        datagram_drops=np.zeros((0, N_CLASSES, N_DROP_REASONS), types.DROP),
        transfers=np.zeros(0, transfer_tables.TRANSFER),
        rtransfers=np.zeros(0, transfer_tables.RTRANSFER),
    )


@pytest.fixture(scope="session")
def still(tiny: Fabric) -> Callable[..., Snapshot]:
    """still(time_ps) makes a snapshot of the tiny fabric with all counters 0."""
    return lambda time_ps=0, n_messages=2: _still(tiny, time_ps, n_messages)


@pytest.fixture
def incast_file(tmp_path: Path) -> Path:
    """A scenario of seven messages on ten switch links that takes well under a second to run."""
    path = tmp_path / "small-incast.yml"
    path.write_text(INCAST, encoding="utf-8")
    return path
