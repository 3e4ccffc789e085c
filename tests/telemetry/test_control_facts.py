"""Facts of the control plane become series where there are any, and only there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from fabric.engine.counters import Snapshot
from fabric.topology.model import Fabric
from telemetry.columns import SnapshotMetrics
from telemetry.control import BGP_STATES, BgpPeer, BgpPrefixes, ControlFacts, EvpnRoutes, MacMoves, VniCounters
from telemetry.derive import RunInfo
from telemetry.metrics import CONTROL
from telemetry.observation import observe

Still = Callable[..., Snapshot]
FACTS = ControlFacts(
    peers=(BgpPeer("leaf0", "spine0", "established", 2),),
    prefixes=(BgpPrefixes("leaf0", "spine0", "l2vpn-evpn", 12), BgpPrefixes("leaf0", "spine0", "ipv4-unicast", 7)),
    evpn=(EvpnRoutes("leaf0", "macip", 4),), vnis=(VniCounters("leaf0", 10100, 5, 1, 90, 80),),
    moves=(MacMoves("leaf0", 10100, 3),))


def values(metrics: SnapshotMetrics, now: Snapshot) -> dict[str, dict[tuple[str, ...], float]]:
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for it in metrics.columns(now):
        for labels, value in zip(it.labels, it.values.tolist(), strict=True):
            found.setdefault(it.name, {})[tuple(labels.values())] = value
    return found


def test_every_control_metric_has_a_series_of_its_fact(tiny: Fabric, still: Still, info: RunInfo) -> None:
    found = values(SnapshotMetrics(info), observe(still(tiny), control=FACTS))
    assert all(spec.name in found for spec in CONTROL)
    assert found["fabric_bgp_peer_flaps_total"] == {("leaf0", "spine0"): 2}
    assert found["fabric_bgp_prefixes"]["leaf0", "spine0", "ipv4-unicast"] == 7
    assert found["fabric_evpn_routes"] == {("leaf0", "macip"): 4}
    vni = {name: list(found[name].values()) for name in (spec.name for spec in CONTROL) if "10100" in str(found[name])}
    assert [value for values in vni.values() for value in values] == [3, 5, 1, 90, 80]


@pytest.mark.parametrize("state", BGP_STATES)
def test_a_session_is_in_one_state(tiny: Fabric, still: Still, info: RunInfo, state: str) -> None:
    facts = replace(FACTS, peers=(BgpPeer("leaf0", "spine0", state),))
    found = values(SnapshotMetrics(info), observe(still(tiny), control=facts))["fabric_bgp_peer_state"]
    assert {key[2] for key, value in found.items() if value} == {state}
    assert len(found) == len(BGP_STATES)


def test_without_a_control_plane_there_is_no_control_metric(tiny: Fabric, still: Still, info: RunInfo) -> None:
    found = values(SnapshotMetrics(info), still(tiny))
    assert not {spec.name for spec in CONTROL} & found.keys()


def test_new_peers_join_behind_the_old_ones(tiny: Fabric, still: Still, info: RunInfo) -> None:
    metrics = SnapshotMetrics(info)
    values(metrics, observe(still(tiny), control=FACTS))
    more = replace(FACTS, peers=(*FACTS.peers, BgpPeer("leaf0", "spine1", "active", 9)))
    assert values(metrics, observe(still(tiny), control=more))["fabric_bgp_peer_flaps_total"] == {
        ("leaf0", "spine0"): 2, ("leaf0", "spine1"): 9}
