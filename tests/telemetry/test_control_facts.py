"""Facts of the control plane become series where there are any, and only there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from fabric.dataplane.engine.counters import Snapshot
from fabric.topology.model import Fabric
from telemetry.catalogue.columns import SnapshotMetrics
from telemetry.catalogue.control import BGP_STATES, BgpPeer, BgpPrefixes, ControlFacts, EvpnRoutes, MacMoves
from telemetry.catalogue.derive import RunInfo
from telemetry.catalogue.metrics import CONTROL
from telemetry.catalogue.observation import observe

Still = Callable[..., Snapshot]
FACTS = ControlFacts(
    peers=(BgpPeer("leaf0", "spine0", "established", 2),),
    prefixes=(BgpPrefixes("leaf0", "spine0", "l2vpn-evpn", 12), BgpPrefixes("leaf0", "spine0", "ipv4-unicast", 7)),
    evpn=(EvpnRoutes("leaf0", "macip", 4),),
    moves=(MacMoves("leaf0", 10100, 3),),
)


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
    assert found["fabric_evpn_mac_moves_total"] == {("leaf0", "10100"): 3}


def test_segments_are_called_by_their_vni(tiny: Fabric, still: Still) -> None:
    now = still(tiny, vnis=2)
    now.switches["is_vtep"], now.segments["arp_flooded"] = 1, [[4, 5]]
    named = RunInfo("1", "r", "s", "m", 0, vnis=(10100, 10200))
    for info, names in ((named, ("10100", "10200")), (RunInfo("1", "r", "s", "m", 0), ("0", "1"))):
        found = values(SnapshotMetrics(info), now)["fabric_arp_requests_flooded_total"]
        assert found == {("leaf0", names[0]): 4, ("leaf0", names[1]): 5}


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
        ("leaf0", "spine0"): 2,
        ("leaf0", "spine1"): 9,
    }
