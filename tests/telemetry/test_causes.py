"""Causes of pauses: the right queue, host and root; no cause after the end of the pause."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import pytest

from fabric.dataplane.engine.counters import Snapshot
from fabric.topology.builders.assemble import assemble
from fabric.topology.model import Fabric, LinkSpec, NodeSpec, Role
from telemetry.catalogue.causes import pause_causes
from telemetry.catalogue.columns import SnapshotMetrics
from telemetry.catalogue.derive import Collective, RunInfo
from telemetry.catalogue.jobs import OperationClass
from telemetry.catalogue.observation import Holders, Observation, observe
from telemetry.record.sampler import record

Still = Callable[..., Snapshot]
CLASS: Final = 3


@pytest.fixture
def chain() -> Fabric:
    """h0 - a - b - h1, and h2 at b."""
    nodes = [NodeSpec(name, Role.HOST, 0) for name in ("h0", "h1", "h2")]
    nodes += [NodeSpec(name, Role.LEAF, 1) for name in ("a", "b")]
    cables = [("h0", "a"), ("a", "b"), ("h1", "b"), ("h2", "b")]
    return assemble("chain", nodes, [LinkSpec(left, right, 10**9, 1000) for left, right in cables])


def port_of(fabric: Fabric, device: str, towards: str) -> int:
    return next(
        port.id
        for port in fabric.ports
        if fabric.nodes[port.node].name == device and fabric.peer_of(port.id).name == towards
    )


def paused(
    chain: Fabric, still: Still, *pairs: tuple[str, str], deep: tuple[tuple[str, str, int], ...] = ()
) -> Snapshot:
    """`device` may not send `towards`; queues are `deep` (device, towards, bytes)."""
    now = still(chain)
    now.ports["peer"] = [port.peer for port in chain.ports]
    for device, towards in pairs:
        now.ports["paused"][port_of(chain, device, towards)] |= 1 << CLASS
    for device, towards, size in deep:
        now.queues["depth_bytes"][port_of(chain, device, towards), CLASS] = size
    return now


def held(chain: Fabric, *rows: tuple[str, str, str, int]) -> Holders:
    """(switch, came in from, waits towards, packets)."""
    columns = np.array(
        [(port_of(chain, at, came), CLASS, port_of(chain, at, to), CLASS, n) for at, came, to, n in rows]
    )
    return Holders(*columns.T)


def roots(snapshot: Snapshot) -> dict[str, tuple[str, str, str, str, str]]:
    return {
        f"{it['device']}:{it['port']}": (it["cause"], it["cause_device"], it["root"], it["root_device"], it["evidence"])
        for it in pause_causes(snapshot)
    }


def test_nothing_paused_has_no_cause(chain: Fabric, still: Still) -> None:
    assert pause_causes(paused(chain, still)) == []


def test_a_host_that_pauses_and_holds_nothing_is_a_broken_nic(chain: Fabric, still: Still) -> None:
    now = paused(chain, still, ("b", "h1"))
    assert list(roots(now).values()) == [("broken_nic", "h1", "broken_nic", "h1", "depth")]


def test_a_host_whose_receive_buffer_holds_something_is_a_slow_receiver(chain: Fabric, still: Still) -> None:
    now = paused(chain, still, ("b", "h1"))
    now.hosts["rx_used_bytes"][1] = 1
    assert list(roots(now).values()) == [("slow_receiver", "h1", "slow_receiver", "h1", "depth")]


def test_the_root_of_a_chain_is_at_its_end(chain: Fabric, still: Still) -> None:
    now = paused(chain, still, ("h0", "a"), ("a", "b"), ("b", "h1"), deep=(("a", "b", 9000), ("b", "h1", 5000)))
    found = roots(now)
    assert found["h0:eth0"] == ("paused", "a", "broken_nic", "h1", "depth")
    assert {it[2:4] for it in found.values()} == {("broken_nic", "h1")}


def test_a_queue_that_may_send_is_congested(chain: Fabric, still: Still) -> None:
    now = paused(chain, still, ("a", "b"), deep=(("b", "h1", 5000), ("b", "h2", 900)))
    assert list(roots(now).values()) == [("congestion", "b", "congestion", "b", "depth")]


def test_packets_decide_where_they_were_followed(chain: Fabric, still: Still) -> None:
    now = paused(chain, still, ("a", "b"), deep=(("b", "h1", 900_000), ("b", "h2", 900)))
    found = observe(now, holders=held(chain, ("b", "a", "h1", 1), ("b", "a", "h2", 40)))
    labels = pause_causes(found)[0]
    assert (
        chain.peer_of(
            next(
                port.id
                for port in chain.ports
                if port.name == labels["cause_port"] and chain.nodes[port.node].name == "b"
            )
        ).name
        == "h2"
    )
    assert labels["evidence"] == "packets"


def test_a_peer_that_holds_nothing_any_more_is_unknown(chain: Fabric, still: Still) -> None:
    now = paused(chain, still, ("a", "b"))
    assert list(roots(now).values()) == [("unknown", "b", "unknown", "b", "depth")]


def test_a_cycle_has_one_root(chain: Fabric, still: Still) -> None:
    now = paused(chain, still, ("a", "b"), ("b", "a"), deep=(("a", "b", 10), ("b", "a", 10)))
    found = observe(now, holders=held(chain, ("b", "a", "a", 5), ("a", "b", "b", 5)), cycle=((1, CLASS), (2, CLASS)))
    assert len({(it["root_device"], it["root_port"]) for it in pause_causes(found)}) == 1


def test_a_cause_ends_with_its_pause(chain: Fabric, still: Still, info: RunInfo) -> None:
    first = paused(chain, still, ("b", "h1"))
    later = still(chain, time_ps=2000)
    found = record([first, later], info).series("fabric_pfc_pause_cause_info")
    assert [time_ns.tolist() for time_ns, _ in found.values()] == [[0]]


def test_deadlock_is_exported_where_somebody_looks(chain: Fabric, still: Still, info: RunInfo) -> None:
    def value(now: Snapshot) -> list[float]:
        return [it.values[0] for it in SnapshotMetrics(info).columns(now) if it.name == "fabric_pfc_deadlock"]

    assert value(still(chain)) == []
    assert value(observe(still(chain), cycle=())) == [0]
    assert value(observe(still(chain), cycle=((1, 3), (2, 3)))) == [1]


def test_an_observation_is_its_snapshot(chain: Fabric, still: Still) -> None:
    now = still(chain)
    assert isinstance(observe(now), Observation)
    assert observe(now).ports is now.ports


def test_only_whole_repetitions_of_a_collective_count(chain: Fabric, still: Still) -> None:
    now = still(chain, messages=5)
    now.messages["size_bytes"] = 1000
    now.messages["start_ps"] = [0, 10, 1000, 1000, 0]
    now.messages["end_ps"] = [1_000_000, 2_000_000, 3000, -1, 7]
    info = RunInfo(
        "1",
        "r",
        "s",
        "m",
        0,
        collectives=(Collective(OperationClass("a2a", "all-to-all", "direct", ""), 2, np.array([0, 0, 1, 1, -1])),),
    )
    found = {
        it.name: it.values.tolist()
        for it in SnapshotMetrics(info).columns(now)
        if it.name.startswith("fabric_collective") and not it.name.endswith("_bucket")
    }
    assert found == {
        "fabric_collective_operations_total": [1],
        "fabric_collective_sent_bytes_total": [2000],
        "fabric_collective_bus_bytes_total": [1000],
        "fabric_collective_active_seconds_total": [2e-6],
        "fabric_collective_algbw_bytes_per_second_count": [1],
        "fabric_collective_algbw_bytes_per_second_sum": [1000e6],
        "fabric_collective_duration_seconds_count": [1],
        "fabric_collective_duration_seconds_sum": [2e-6],
        "fabric_collective_busbw_bytes_per_second_count": [1],
        "fabric_collective_busbw_bytes_per_second_sum": [500e6],
    }
