"""Snapshots made by hand from the tables' dtypes, so that the exporter is tested without an engine; a small storm."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from prometheus_client import CollectorRegistry

from fabric.cli.main import main
from fabric.dataplane.engine.counters import Snapshot
from fabric.dataplane.state import datagram_tables, transfer_tables, types
from fabric.dataplane.state.codes import N_CLASSES, N_DROP_REASONS
from fabric.topology.builders.assemble import assemble
from fabric.topology.model import Fabric, LinkSpec, NodeSpec, Role
from fabric.units import PS_PER_MS
from telemetry.catalogue.derive import RunInfo
from telemetry.export.server import serve
from telemetry.live.api import Api
from telemetry.live.audit import AuditLog
from telemetry.live.openapi import Schemas
from telemetry.live.pacing import Pacer
from telemetry.live.simulation import Program, Simulation
from tests.telemetry.programs import PATIENCE_S, wait_for
from tests.telemetry.served import OBJECT, TOKENS, PatientMailbox, Served, Still, World

G: Final = 10**9
STORM: Final = """\
name: pause-storm
topology: {kind: leaf-spine, leaves: 2, spines: 2, hosts_per_leaf: 2, host_rate: 100G, fabric_rate: 100G}
switches: {asic: trident3, watchdog: {poll: 500us, detection: 1ms, restoration: 1ms}}
transport: {retransmit_timeout: 2ms}
workload:
  - {name: towards-the-victim, kind: incast, receiver: host2, senders: [host3, host4], size: 4MB}
  - {name: bystander, kind: incast, receiver: host1, senders: [host3], size: 4MB}
faults: [{name: broken-nic, kind: pause-storm, hosts: [host2], at: 200us, duration: 3ms}]
run: {duration: 5ms, stop: duration}
telemetry: {interval: 50us}
"""
"""As scenarios/pause-storm.yml, with a third of its ports."""


@pytest.fixture(scope="session")
def stormy_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five milliseconds of a storm, from its beginning past its end; tests must not write into the folder."""
    folder = tmp_path_factory.mktemp("storm")
    (folder / "pause-storm.yml").write_text(STORM, encoding="utf-8")
    out = folder / "storm"
    assert main(["run", str(folder / "pause-storm.yml"), "--out", str(out), "--quiet"]) == 0
    return out


@pytest.fixture
def tiny() -> Fabric:
    """Two hosts, one leaf: ports 0 (h0), 1 (h1), 2 and 3 (leaf0)."""
    nodes = [NodeSpec("h0", Role.HOST, 0), NodeSpec("h1", Role.HOST, 0), NodeSpec("leaf0", Role.LEAF, 1, "rack 1")]
    return assemble("tiny", nodes, [LinkSpec(host, "leaf0", 100 * G, 10_000) for host in ("h0", "h1")])


@pytest.fixture
def still() -> Callable[..., Snapshot]:
    """A Snapshot of an idle fabric whose tables are all zero but for who owns what."""
    return make_still


def make_still(
    fabric: Fabric, *, time_ps: int = 0, pools: int = 1, qps: int = 0, messages: int = 0, vnis: int = 0
) -> Snapshot:
    n_ports, n_hosts = len(fabric.ports), len(fabric.hosts)
    shapes: dict[str, Any] = {
        "devices": (types.DEVICE, len(fabric.nodes)),
        "ports": (types.PORT, n_ports),
        "queues": (types.QUEUE, (n_ports, N_CLASSES)),
        "pgs": (types.PG, (n_ports, N_CLASSES)),
        "prios": (types.PRIO, (n_ports, N_CLASSES)),
        "pools": (types.POOL, pools * len(fabric.switches)),
        "hosts": (types.HOST, n_hosts),
        "qps": (types.QP, qps),
        "rqps": (types.RQP, qps),
        "messages": (types.MESSAGE, messages),
        "rmessages": (types.RMESSAGE, messages),
        "switches": (types.SWITCH, len(fabric.switches)),
        "drops": (types.DROP, (n_ports, N_CLASSES, N_DROP_REASONS)),
        "segments": (types.SEGMENT, (len(fabric.switches), vnis)),
        "asks": (types.ASK, 0),
        "groups": (types.GROUP, 0),
        "members": (types.MEMBER, 0),
        "streams": (datagram_tables.STREAM, 0),
        "rstreams": (datagram_tables.RSTREAM, 0),
        "datagram_drops": (types.DROP, (0, N_CLASSES, N_DROP_REASONS)),
        "transfers": (transfer_tables.TRANSFER, 0),
        "rtransfers": (transfer_tables.RTRANSFER, 0),
    }
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


@pytest.fixture
def served(tiny: Fabric, still: Callable[..., Snapshot], tmp_path: Path) -> Iterator[Served]:
    simulation = Simulation(
        Program(1000 * PS_PER_MS, PS_PER_MS, stop_when_done=False, loop=False),
        lambda: Still(lambda time_ps: still(tiny, time_ps=time_ps)),
        Pacer(1000),
        PatientMailbox(),
    )
    world = World()
    api = Api(
        simulation,
        world,
        world,
        TOKENS,
        {"scenario": "tiny", "version": "1.2.3", "hosts": 2, "switches": 1},
        Schemas(OBJECT, OBJECT, {}),
        audit := AuditLog(tmp_path / "audit"),
    )
    thread = threading.Thread(target=simulation.simulate, daemon=True)
    with audit, serve("127.0.0.1:0", CollectorRegistry(), api.beside) as server:
        host, port = server.address
        thread.start()
        wait_for(lambda: simulation.started, "the run to begin")
        yield Served(host, port, simulation, world, thread, audit.path)
        simulation.stop()
        thread.join(PATIENCE_S)
