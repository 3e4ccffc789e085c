"""MAC and ARP tables, own routes, flood lists and RD/RT of the recorded stages, simulated as local events."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from fabric.controlplane.bgp.afi import Block
from fabric.controlplane.bgp.attributes import sequence
from fabric.controlplane.bgp.update import Reach, Unreach, Update, encode_update
from fabric.controlplane.evpn.actions import Originate, Withdraw
from fabric.controlplane.evpn.config import VniConfig, VtepConfig
from fabric.controlplane.evpn.evpn_attributes import community_text
from fabric.controlplane.evpn.evpn_nlri import EVPN, EvpnKey
from fabric.controlplane.evpn.rd import rd_text
from fabric.show.evpn import arp_cache, bgp_evpn_vni, evpn_mac, evpn_vni, import_rt, kernel_fdb, kernel_neighbors
from tests.evpn.captured import messages
from tests.evpn.conftest import Mesh, S

STAGES: Final = ("0-initial", "3-mac-move", "4-mac-move-2", "5-mac-move-break-before-make")
A1, B2 = "02:00:00:65:01:01", "02:00:00:66:02:01"


def _config(node: dict[str, Any], hosts: dict[str, Any], port_macs: dict[str, str]) -> VtepConfig:
    return VtepConfig(
        node["name"],
        node["asn"],
        node["router_id"],
        node["vtep"],
        tuple(
            VniConfig(
                vni["vni"],
                bridge=vni["bridge"],
                vxlan=vni["vxlan"],
                bridge_mac=vni["svi_mac"],
                vxlan_mac=vni["vxlan_mac"],
                ports=tuple(
                    host["port"]
                    for host in hosts.values()
                    if host["leaf"] == node["name"] and host["vni"] == vni["vni"]
                ),
            )
            for vni in node["vnis"]
        ),
        port_macs=port_macs,
    )


@pytest.fixture
def lab(frr: Path) -> Callable[[str], Mesh]:
    """Simulates the recorded stages up to the named one, in the order and with the pauses of the recording."""
    topology = json.loads((frr / "2x2" / "topology.json").read_text())
    stages = {stage["stage"]: stage["hosts"] for stage in json.loads((frr / "2x2" / "stages.json").read_text())}

    def simulate(until: str) -> Mesh:
        links = {
            leaf: {
                link["ifname"]: link["address"]
                for stage in STAGES
                for link in json.loads((frr / "2x2" / stage / f"{leaf}.json").read_text())["kernel"]["link"]
            }
            for leaf in ("leaf1", "leaf2")
        }
        mesh = Mesh(
            *(
                _config(node, stages["0-initial"], links[node["name"]])
                for node in topology["nodes"]
                if node["role"] == "leaf"
            )
        )
        for host in stages["0-initial"].values():
            mesh.say(int(host["leaf"][-1]), host["vni"], host["mac"], host["ip"].partition("/")[0], host["port"], S)
        reached = STAGES.index(until)
        if reached >= 1:
            for second in (22, 24, 26):
                mesh.say(2, 10100, A1, "172.16.101.11", "m1", second * S)
        if reached >= 2:
            for second in (34, 36, 38):
                mesh.say(1, 10100, A1, "172.16.101.11", "m2", second * S)
        if reached >= 3:
            mesh.note(1, mesh.vteps[1].detach("pb1", 44 * S))
            mesh.deliver(44 * S)
            mesh.say(1, 10200, B2, "172.16.102.21", "m3", 45 * S)
        return mesh

    return simulate


def _expected(frr: Path, stage: str, number: int) -> dict[str, Any]:
    return dict(json.loads((frr / "2x2" / "distilled.json").read_text())[stage][f"leaf{number}"])


def _filled(row: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: row.get(key) for key in keys}


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("stage", STAGES)
def test_tables_are_those_of_frr_and_the_kernel(frr: Path, lab: Callable[[str], Mesh], stage: str, number: int) -> None:
    vtep, expected = lab(stage).vteps[number - 1], _expected(frr, stage, number)
    macs = {
        vni: {
            mac: _filled(row, "intf", "isDuplicate", "localSequence", "remoteSequence", "remoteVtep", "type")
            for mac, row in table["macs"].items()
        }
        for vni, table in evpn_mac(vtep).items()
    }
    assert macs == expected["evpn_mac"]
    arps = {
        vni: {
            ip: _filled(row, "localSequence", "mac", "remoteSequence", "remoteVtep", "state", "type")
            for ip, row in table.items()
            if ip != "numArpNd"
        }
        for vni, table in arp_cache(vtep).items()
    }
    assert arps == expected["evpn_arp"]
    vnis = {
        vni: {
            "arps": row["numArpNd"],
            "macs": row["numMacs"],
            "remote_vteps": row["remoteVteps"],
            "vtep": vtep.config.address,
        }
        for vni, row in evpn_vni(vtep).items()
    }
    assert vnis == expected["evpn_vni"]
    rows = {
        vni: _filled(row, "exportRTs", "importRTs", "originatorIp", "rd")
        for vni, row in bgp_evpn_vni(vtep).items()
        if vni.isdecimal()
    }
    assert rows == expected["bgp_vni"]
    assert {text: row["vnis"] for text, row in import_rt(vtep).items()} == expected["import_rt"]
    fdb = {
        (
            row["ifname"],
            row["mac"],
            row.get("dst"),
            "self" if "self" in row["flags"] else "master",
            "ext" if "extern_learn" in row["flags"] else row["state"] or "learned",
        )
        for row in kernel_fdb(vtep)
    }
    assert fdb == {tuple(row) for row in expected["kernel_fdb"]}
    neighbors = {
        (row["dst"], row["dev"], row["lladdr"], "ext" if "extern_learn" in row else "local")
        for row in kernel_neighbors(vtep)
    }
    assert neighbors == {tuple(row) for row in expected["kernel_neigh"]}


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("stage", STAGES)
def test_announced_routes_are_those_of_frr(frr: Path, lab: Callable[[str], Mesh], stage: str, number: int) -> None:
    mesh, expected = lab(stage), _expected(frr, stage, number)
    found: dict[str, dict[str, list[str]]] = {}
    for (index, key), selection in mesh.selected.items():
        if index == number - 1 and isinstance(key, EvpnKey):
            found.setdefault(rd_text(key.rd), {})[key.text] = sorted(
                community_text(community) for community in selection.best.attributes.ext_communities
            )
    own = {row["rd"] for row in expected["bgp_vni"].values()}
    assert found == {
        rd: {text: paths[0]["extcomm"] for text, paths in routes.items()}
        for rd, routes in expected["evpn"].items()
        if rd in own
    }


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("stage", STAGES)
def test_moves_are_counted_as_frr_counts_them(frr: Path, lab: Callable[[str], Mesh], stage: str, number: int) -> None:
    raw = json.loads((frr / "2x2" / stage / f"leaf{number}.json").read_text())["frr"]["evpn_mac_detail"]
    table = evpn_mac(lab(stage).vteps[number - 1], 60 * S)
    for vni, rows in raw.items():
        for mac, row in rows["macs"].items():
            ours = table[vni]["macs"][mac]
            assert set(ours) | {"ifindex"} == set(row) | {"ifindex"}
            assert ours["detectionCount"] == row["detectionCount"], mac
            assert ours["neighbors"] == row["neighbors"], mac


def test_a_move_announced_once_leaves_no_binding(frr: Path, lab: Callable[[str], Mesh]) -> None:
    mesh = lab("0-initial")
    mesh.say(2, 10100, A1, "172.16.101.11", "m1", 22 * S)
    recorded = json.loads((frr / "2x2" / "run-report.json").read_text())["move1"]["after_one_garp"]
    for index, name in enumerate(("leaf1", "leaf2")):
        row = recorded[name]["mac"][A1]
        ours = evpn_mac(mesh.vteps[index], 24 * S)["10100"]["macs"][A1]
        volatile = {"uptime", "ifindex"}
        assert {k: v for k, v in ours.items() if k not in volatile} == {
            k: v for k, v in row.items() if k not in volatile
        }
    old = arp_cache(mesh.vteps[0])["10100"]["172.16.101.11"]
    assert {k: old[k] for k in ("type", "state", "localSequence")} == {
        "type": "local",
        "state": "inactive",
        "localSequence": 0,
    }
    assert "172.16.101.11" not in arp_cache(mesh.vteps[1])["10100"]


def _said(mesh: Mesh, number: int) -> set[bytes]:
    """UPDATEs of a leaf's speaker with the routes that its VTEP originates."""
    config = mesh.vteps[number - 1].config
    updates = set()
    for name, action in mesh.log:
        if name != config.hostname:
            continue
        if isinstance(action, Originate):
            attributes = replace(action.attributes, as_path=sequence(config.asn))
            reach = Reach(EVPN, action.next_hop, (Block(action.keys, action.payload),))
            updates.add(encode_update(Update(attributes, (reach,))))
        elif isinstance(action, Withdraw):
            updates.add(encode_update(Update(None, (), (Unreach(EVPN, action.keys),))))
    return updates


@pytest.mark.parametrize(("number", "name"), [(1, "bgp-leaf1-spine1.pcap"), (2, "bgp-leaf2-spine2.pcap")])
def test_every_update_a_leaf_sent_first_hand_is_sent_byte_for_byte(
    frr: Path, lab: Callable[[str], Mesh], number: int, name: str
) -> None:
    own_path = b"\x02\x01" + (65100 + number).to_bytes(4, "big")
    own_rd = b"\x00\x01\x0a\xff\x01" + bytes([number])
    captured = set()
    for message, attributes in messages(frr / "2x2" / name):
        values = dict(attributes)
        announces = values.get(14, b"")[:3] == b"\x00\x19\x46" and values.get(2) == own_path
        withdraws = values.get(15, b"")[:3] == b"\x00\x19\x46" and values[15][5:11] == own_rd
        if announces or withdraws:
            captured.add(message)
    assert len(captured) >= 8
    assert captured <= _said(lab(STAGES[-1]), number)
