"""The control plane of whole fabrics: cold start to convergence, then one cable lost. eBGP everywhere, EVPN, 2-tier."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Final

from bench.machine import peak_rss_bytes
from bench.worker import measure
from fabric.controlplane.network import events as e
from fabric.controlplane.network.config import NS_PER_S, ControlConfig
from fabric.controlplane.network.fabric_plan import plan_of
from fabric.controlplane.network.network import Network
from fabric.controlplane.network.plan import ControlPlan, Tenant
from fabric.topology.addressing import addressing
from fabric.topology.registry import build_topology
from fabric.topology.spec import LeafSpineSpec

SIZES: Final = ((16, 8, 16), (64, 16, 16), (128, 32, 32))
"""(leaves, spines, hosts per leaf); the last one is 4,096 hosts."""


def plan(leaves: int, spines: int, hosts_per_leaf: int) -> ControlPlan:
    """A leaf-spine fabric with one VNI for all hosts."""
    fabric = build_topology(
        LeafSpineSpec.model_validate(
            {
                "kind": "leaf-spine",
                "leaves": leaves,
                "spines": spines,
                "hosts_per_leaf": hosts_per_leaf,
                "host_rate": "100G",
                "fabric_rate": "100G",
            }
        ),
        Path(),
    )
    return plan_of(
        fabric,
        addressing(fabric),
        ControlConfig(),
        [Tenant("everybody", 10_000, tuple(host.id for host in fabric.hosts))],
    )


def converge(leaves: int, spines: int, hosts_per_leaf: int) -> dict[str, Any]:
    """Start all speakers, then cut the first cable."""
    planned = plan(leaves, spines, hosts_per_leaf)
    began, cpu_began = time.perf_counter(), time.process_time()
    network = Network(planned, ControlConfig())
    network.converge()
    wall_s, cpu_s = time.perf_counter() - began, time.process_time() - cpu_began
    received = sum(
        sum(table.accepted.values()) for switch in network.switches for table in switch.speaker.tables.values()
    )
    started = {
        "converged_ns": network.recorder.last_change_ns,
        "sends": network.recorder.sends,
        "sent_bytes": network.recorder.sent_bytes,
    }
    began = time.perf_counter()
    network.schedule([e.CableDown(0, 0)])
    network.advance(NS_PER_S)
    failure_s = time.perf_counter() - began
    [lost] = network.recorder.convergence
    assert lost.convergence_ns is not None
    assert received > 0
    return {
        "leaves": leaves,
        "spines": spines,
        "hosts": leaves * hosts_per_leaf,
        "sessions": len(planned.cables),
        "evpn_routes": leaves * (2 * hosts_per_leaf + 1),
        "routes_received": received,
        "wall_s": wall_s,
        "cpu_s": cpu_s,
        "rss_peak_bytes": peak_rss_bytes(),
        **started,
        "failure_s": failure_s,
        "failure_convergence_ns": lost.convergence_ns,
        "failure_updates": lost.updates,
        "failure_fib_changes": lost.fib_changes,
    }


def bgp(*, quick: bool = False) -> dict[str, Any]:
    """Every size in a separate process (quick: the smallest)."""
    return {
        "rows": [
            measure("bgp", leaves=leaves, spines=spines, hosts_per_leaf=hosts)
            for leaves, spines, hosts in (SIZES[:1] if quick else SIZES)
        ]
    }
