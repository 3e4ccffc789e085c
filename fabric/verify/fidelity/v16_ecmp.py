"""V16: how evenly switches' hashes spread line-rate pairs, against uniform draws; and hashes that polarise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import TraceBit
from fabric.scenario.compile.scenario import CompiledScenario
from fabric.theory.routing import balance, ecmp_monte_carlo
from fabric.verify.fidelity.experiment import PS_PER_S, compiled, emulator, simulate, wire_bytes
from fabric.verify.fidelity.table import Finding, Row, between, exactly, within

UPLINKS: Final = (8, 16, 32)
QUEUE_PAIRS: Final = (1, 4, 16)
_LEAVES: Final = 80
_SEEDS: Final = 5
_TOLERANCE: Final = 0.05


def _groups_of(engine: Emulator, switch: int) -> NDArray[np.int64]:
    """Rows of State.members of a switch's groups that have a choice."""
    groups, members = engine.state.groups, engine.state.members
    rows = [
        np.arange(int(group["first"]), int(group["first"]) + int(group["count"]))
        for group in groups
        if group["count"] > 1 and int(engine.state.ports[members[int(group["first"])]["port"]]["node"]) == switch
    ]
    return np.array(rows, np.int64)


def _data_pkts(case: CompiledScenario, pkts: NDArray[np.int64], bytes_: NDArray[np.int64]) -> NDArray[np.int64]:
    """Data frames among what members carried: one-frame messages and ACKs are of two known sizes."""
    frames = case.params.frames
    message = int(case.params.messages.size_bytes[0]) + frames.data_header_bytes + frames.reth_bytes
    return (bytes_ - frames.ack_bytes * pkts) // (message - frames.ack_bytes)


def loads(uplinks: int, queue_pairs: int) -> NDArray[np.float64]:
    """(leaves x seeds, uplinks): each leaf of each run is a draw of different flows by a different hash seed."""
    rows = []
    for seed in range(1, _SEEDS + 1):
        repeat = [f"workload[0].repeat={queue_pairs}"]
        case = compiled(
            "v16-ecmp",
            f"topology.leaves={_LEAVES}",
            f"topology.spines={uplinks}",
            f"run.seed={seed}",
            f"topology.hosts_per_leaf={uplinks}",
            f"workload[0].shift={uplinks}",
            "workload[0].size=1KB",
            *(repeat if queue_pairs > 1 else [*repeat, "workload[0].interval=null"]),
        )
        engine = simulate(case, record=TraceBit(0))
        members = engine.state.members
        for leaf in case.fabric.switches[:_LEAVES]:
            [group] = _groups_of(engine, leaf.id)
            data = _data_pkts(case, members["pkts"][group], members["bytes"][group])
            rows.append(data / queue_pairs)
    return np.array(rows, np.float64)


def drawn(uplinks: int, queue_pairs: int) -> Sequence[Finding]:
    """One size beside uniform draws."""
    load = loads(uplinks, queue_pairs)
    ours, theory = balance(load), ecmp_monte_carlo(uplinks, queue_pairs, draws=len(load))
    name = f"{uplinks} uplinks, {queue_pairs} QP"
    return (
        exactly(f"{name}: load of {len(load)} draws, pairs", len(load) * uplinks, round(float(load.sum()), 6)),
        within(f"{name}: fullest link over mean", theory.max_over_mean, ours.max_over_mean, _TOLERANCE),
        within(f"{name}: Jain's index", theory.jain, ours.jain, _TOLERANCE),
        within(f"{name}: share that fits", theory.delivered, ours.delivered, _TOLERANCE),
    )


def _hash(uplinks: Sequence[int], queue_pairs: Sequence[int]) -> Sequence[Finding]:
    return [finding for links in uplinks for pairs in queue_pairs for finding in drawn(links, pairs)]


def _simulated() -> Sequence[Finding]:
    """The load offered to a link passes up to its rate, when every queue pair sends without end."""
    findings = []
    for queue_pairs in (1, 4):
        sets = ["workload[0].repeat=1", "workload[0].interval=null"] if queue_pairs == 1 else []
        case = compiled("v16-ecmp", *sets, "workload[0].size=10GB", "run.duration=2ms")
        engine = emulator(case)
        start_ps, end_ps = PS_PER_S // 2000, PS_PER_S // 500
        [group] = _groups_of(engine, case.fabric.by_name["leaf1"].id)
        ports = engine.state.members["port"][group]
        engine.advance(start_ps)
        before = engine.snapshot()
        engine.advance(end_ps)
        after = engine.snapshot()
        offered = after.members["bytes"][group] - before.members["bytes"][group]
        scale = wire_bytes(case) / (wire_bytes(case) - case.params.frames.wire_overhead_bytes)
        load = offered * scale * 8 * PS_PER_S / (case.fabric.links[0].rate_bps * (end_ps - start_ps))
        used = (after.ports["busy_ps"][ports] - before.ports["busy_ps"][ports]) / (end_ps - start_ps)
        worst = float(np.abs(used - np.minimum(load, 1.0)).max())
        name = f"8 uplinks, {queue_pairs} QP, one draw"
        findings += [
            within(f"{name}: pairs' worth of load offered", 8.0, float(load.sum()), 0.02),
            within(
                f"{name}: share that passes",
                balance(load[None, :]).delivered * float(load.sum()) / 8,
                float(used.sum()) / 8,
                0.01,
            ),
            between(f"{name}: worst error of a link's load", 0.0, worst, 0.0, 0.01, "1 % of a link"),
        ]
    return findings


def _top_links_used(engine: Emulator) -> list[int]:
    """Per spine: how many of its links to super-spines carried data."""
    sent, fabric = engine.state.ports["tx_bytes"], engine.fabric
    spines = [node for node in fabric.switches if node.role == "spine"]
    return [
        sum(1 for own, peer in fabric.neighbours(node.id) if peer.role == "super-spine" and sent[own.id] > 0)
        for node in spines
    ]


def _polarised() -> Sequence[Finding]:
    same = _top_links_used(simulate(compiled("v16-polarisation")))
    own = _top_links_used(simulate(compiled("v16-polarisation", "switches.hash.seed=per-switch")))
    return (
        exactly("one seed everywhere: uplinks that any spine uses, of 4", 1, max(same)),
        exactly("a seed per switch: uplinks that every spine uses, of 4", 4, min(own)),
    )


ROWS: Final = (
    Row(
        "V16/quick",
        "ECMP collisions of the switches' hash, 8 uplinks, 400 draws, against uniform draws",
        "asic",
        "C",
        "Monte Carlo of balls into bins",
        lambda: _hash(UPLINKS[:1], QUEUE_PAIRS[:2]),
    ),
    Row(
        "V16/hash",
        "ECMP collisions of the switches' hash, 8 to 32 uplinks, 400 draws",
        "asic",
        "C",
        "Monte Carlo of balls into bins",
        lambda: [*_hash(UPLINKS[:1], QUEUE_PAIRS[2:]), *_hash(UPLINKS[1:], QUEUE_PAIRS)],
        slow=True,
    ),
    Row(
        "V16/simulated",
        "ECMP collisions in a running fabric, link by link",
        "asic",
        "C",
        "min(load, 1) of what is offered",
        _simulated,
    ),
    Row(
        "V16/polarisation",
        "Two tiers with one hash and one seed use one path per first choice",
        "asic",
        "C",
        "a residue already fixed; ns3-rdma issue 19",
        _polarised,
    ),
)
