"""What an operator sees of routing between subnets: fabric evpn, route --vrf, path."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabric.cli.main import main

SCENARIO = str(Path(__file__).parents[2] / "scenarios" / "tenant-routing.yml")
STATIC = ("--set", "routing=shortest-path", "--set", "bgp=null", "--set", "faults=[]", "--set", "expectations=[]")


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    code = main([*words, "--json"])
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return code, found


def text(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(list(words)) == 0
    return " ".join(capsys.readouterr().out.split())


def test_l3_vnis_stand_beside_the_others_as_frr_shows_them(capsys: pytest.CaptureFixture[str]) -> None:
    _, found = answer(capsys, "evpn", "vni", SCENARIO, "--node", "leaf4")
    assert found["50010"] == {
        "vni": 50010,
        "type": "L3",
        "vxlanIf": "vx50010",
        "numMacs": 3,
        "numArpNd": 3,
        "numRemoteVteps": "n/a",
        "tenantVrf": "training",
    }
    assert set(found) == {"10030", "50010"}


def test_router_macs_and_next_hops_come_and_go_with_the_routes(capsys: pytest.CaptureFixture[str]) -> None:
    _, before = answer(capsys, "evpn", "rmac", SCENARIO, "--node", "leaf1")
    _, during = answer(capsys, "evpn", "next-hops", SCENARIO, "--node", "leaf1", "--at", "2ms")
    assert before["50010"]["numRmacs"] == 3
    assert "10.0.0.4" in {row["vtepIp"] for row in before["50010"].values() if isinstance(row, dict)}
    assert set(during["50010"]) == {"numNextHops", "10.0.0.2", "10.0.0.3"}
    assert "02:00:00:13:00:00" in text(capsys, "evpn", "rmac", SCENARIO, "--node", "leaf1")
    assert "10.0.0.4" not in text(capsys, "evpn", "next-hops", SCENARIO, "--node", "leaf1", "--at", "2ms")


def test_routes_show_both_vnis_and_the_router_mac(capsys: pytest.CaptureFixture[str]) -> None:
    _, two = answer(capsys, "evpn", "routes", SCENARIO, "--node", "leaf4", "--type", "2", "--match", "172.16.0.2")
    [[route]] = [list(by.values())[1:] for by in two.values() if isinstance(by, dict)]
    assert {path["VNI"] for path in route["paths"]} == {"10010/50010"}
    assert all("Rmac:02:00:00:10:00:00" in path["extendedCommunity"]["string"] for path in route["paths"])
    _, five = answer(capsys, "evpn", "routes", SCENARIO, "--node", "leaf1", "--type", "5")
    assert "[5]:[0]:[24]:[10.64.3.0]" in five["10.0.0.4:3"]
    _, plain = answer(capsys, "evpn", "routes", SCENARIO, "--node", "leaf4", "--type", "3")
    assert "VNI" not in json.dumps(plain)


def test_the_proof_says_whom_leaves_reach_within_a_tenant(capsys: pytest.CaptureFixture[str]) -> None:
    code, _ = answer(capsys, "evpn", "check-isolation", SCENARIO)
    assert code == 0
    shown = text(capsys, "evpn", "check-isolation", SCENARIO, "--at", "2ms")
    assert "Proved apart: other, training." in shown
    assert "leaf1 training 50010 12 9 host13, host14, host15" in shown
    assert "leaf4 training 50010 12 12 -" in shown


def test_a_tenants_table_has_gateways_hosts_and_prefixes(capsys: pytest.CaptureFixture[str]) -> None:
    _, table = answer(capsys, "route", "leaf1", SCENARIO, "--vrf", "training")
    assert [route["protocol"] for route in table["172.16.0.0/24"]] == ["connected", "bgp"]
    assert [route["selected"] for route in table["172.16.0.0/24"]] == [True, False]
    [far] = table["10.64.3.0/24"]
    assert far["nexthops"] == [
        {
            "fib": True,
            "ip": "10.0.0.4",
            "afi": "ipv4",
            "interfaceName": "br50010",
            "onLink": True,
            "active": True,
            "rmac": "02:00:00:13:00:00",
        }
    ]
    _, one = answer(capsys, "route", "leaf1", "host14", SCENARIO, "--vrf", "training")
    assert list(one) == ["10.64.3.0/24"]
    _, home = answer(capsys, "route", "leaf4", "host14", SCENARIO, "--vrf", "training")
    assert [hop["interfaceName"] for hop in home["10.64.3.0/24"][0]["nexthops"]] == [
        "Ethernet0",
        "Ethernet4",
        "Ethernet8",
    ]
    assert "9 prefixes in VRF training, L3 VNI 50010" in text(capsys, "route", "leaf1", SCENARIO, "--vrf", "training")


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["leaf1", SCENARIO, "--vrf", "other"], "leaf1 does not route for a tenant 'other'"),
        (["spine1", SCENARIO, "--vrf", "training"], "name a leaf with hosts of a tenant that has an l3_vni"),
        (["leaf1", "host14", SCENARIO, "--vrf", "training", "--at", "2ms"], "leaf1 has no route to 10.64.3.3/32"),
        (["leaf1", "nobody", SCENARIO, "--vrf", "training"], "'nobody' is no host, address or prefix"),
        (["leaf1", SCENARIO, "--vrf", "training", *STATIC], "has no tables of tenants"),
    ],
)
def test_a_table_that_is_not_there_is_refused_with_a_remedy(
    capsys: pytest.CaptureFixture[str], words: list[str], shown: str
) -> None:
    assert main(["route", *words]) == 2
    assert shown in capsys.readouterr().err


def test_a_path_between_subnets_says_where_it_is_routed(capsys: pytest.CaptureFixture[str]) -> None:
    shown = text(capsys, "path", "host5", "host14", SCENARIO)
    assert "leaf2 routes by 10.64.3.0/24 into L3 VNI 50010, to VTEP 10.0.0.4 (leaf4)" in shown
    assert "host5:eth0 → leaf2:Ethernet" in shown
    assert "→ host14; 4 hops" in shown
    assert "leaf1 routes by 172.16.0.5/32" in text(capsys, "path", "host3", "host6", SCENARIO)


def test_a_path_under_one_leaf_needs_no_tunnel(capsys: pytest.CaptureFixture[str]) -> None:
    for more in ((), STATIC):
        shown = text(capsys, "path", "host7", "host5", SCENARIO, *more)
        assert "without a tunnel" in shown
        assert "leaf2:Ethernet0 → host5; 2 hops" in shown


def test_a_path_whose_route_was_withdrawn_is_lost_where_it_would_be_routed(capsys: pytest.CaptureFixture[str]) -> None:
    shown = text(capsys, "path", "host5", "host14", SCENARIO, "--at", "2ms")
    assert "Lost at leaf2: it has no route" in shown
    assert "leaf2 has no route to host14 in L3 VNI 50010" in shown


def test_without_a_control_plane_the_path_is_that_of_the_shortest_routes(capsys: pytest.CaptureFixture[str]) -> None:
    shown = text(capsys, "path", "host5", "host14", SCENARIO, *STATIC)
    assert "leaf2 routes into L3 VNI 50010, and the leaf of host14 routes once more" in shown


def test_within_a_segment_nothing_is_routed_and_between_tenants_there_is_no_path(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert "Routed" not in text(capsys, "path", "host1", "host9", SCENARIO)
    assert "No path: host1 is in training (VNI 10010), host4 in other" in text(
        capsys, "path", "host1", "host4", SCENARIO
    )


def test_a_subnet_behind_two_vteps_has_the_paths_to_both_and_the_hash_that_chose(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # Between the two gratuitous ARPs of a moved host there is no host route of it: two leaves announce its subnet.
    moved = (
        "--set",
        "faults=[{kind: mac-move, host: host1, to: leaf2, at: 1ms}]",
        "--set",
        "bgp.learn_delay=100us",
        "--set",
        "expectations=[]",
        "--at",
        "3ms",
    )
    vteps = {}
    for port in ("50001", "50000"):
        _, found = answer(capsys, "path", "host13", "host1", SCENARIO, *moved, "--sport", port)
        paths = found["paths"]["paths"]
        assert {row["path"].rpartition(" → ")[2] for row in paths} == {"leaf1", "leaf2", "leaf3"}
        assert sum(row["source_ports"] for row in paths) == 16_384
        first = found["choice"]["decisions"][0]
        assert (first["switch"], first["header"], first["members"]) == ("leaf4", "inner", 3)
        assert first["hashed"].startswith(f"10.64.3.2:{port} ")
        assert int(first["hash"], 16) % 3 == first["member"]
        [taken] = [row for row in paths if row["taken"]]
        assert taken["path"].endswith(first["egress"].partition("(")[2].rstrip(")"))
        vteps[port] = first["egress"]
    assert len(set(vteps.values())) == 2


def test_the_default_table_misses_no_host_that_a_tenants_table_has(capsys: pytest.CaptureFixture[str]) -> None:
    shown = text(capsys, "route", "leaf1", SCENARIO)
    assert "without a route" not in shown
    assert "3 hosts in VRF training: use --vrf training." in shown
    assert "10.64.3.2/32" not in shown
    one = text(capsys, "route", "leaf1", "host14", SCENARIO)
    assert "none needed: host14 is in VRF training: use --vrf training." in one
    assert text(capsys, "route", "leaf1", "10.64.3.3", SCENARIO) == one
    assert "black hole" not in one.lower()
    assert answer(capsys, "route", "leaf1", "host14", SCENARIO) == (0, {})


def test_hosts_of_tenants_that_a_leaf_has_nothing_of_are_no_black_holes_there(
    capsys: pytest.CaptureFixture[str],
) -> None:
    apart = (
        "--set",
        "vxlan.tenants[1].hosts=[host4, host8, host12]",
        "--set",
        "vxlan.tenants[0].routed=[host13, host14, host15, host16]",
    )
    assert "host4 is of tenant other, which has no host on leaf4" in text(
        capsys, "route", "leaf4", "host4", SCENARIO, *apart
    )
    shown = text(capsys, "route", "leaf4", SCENARIO, *apart)
    assert "3 hosts of tenant other, which has no host on leaf4." in shown
    assert "without a route" not in shown


def test_a_route_that_evpn_should_have_is_still_missed(capsys: pytest.CaptureFixture[str]) -> None:
    gone = ("--set", "faults=[{kind: host-leave, hosts: [host9], at: 1ms}]", "--set", "expectations=[]")
    assert "Black hole" in text(capsys, "route", "leaf1", "host9", SCENARIO, "--at", "2ms", *gone)
    assert "1 host without a route" in text(capsys, "route", "leaf1", SCENARIO, "--at", "2ms", *gone)


def test_a_static_route_says_that_routed_packets_pass_it_by(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = (
        "--set",
        "faults=[{kind: route, switches: [leaf1], hosts: [host10], via: [], at: 1ms}]",
        "--set",
        "expectations=[]",
        "--at",
        "2ms",
    )
    assert "Packets from other subnets of tenant training do not take it" in text(
        capsys, "route", "leaf1", "host10", SCENARIO, *wrong
    )


@pytest.mark.parametrize("more", [(), STATIC])
def test_neighbours_on_routed_ports_are_said_to_be_in_one_subnet(
    capsys: pytest.CaptureFixture[str], more: tuple[str, ...]
) -> None:
    shown = text(capsys, "path", "host13", "host14", SCENARIO, *more)
    assert "host13 and host14 are on routed ports of leaf4, in its subnet of one tenant; leaf4" in shown
    assert "are in different subnets of one tenant" in text(capsys, "path", "host13", "host1", SCENARIO, *more)


def test_a_tenants_route_says_who_brought_it_and_how_the_underlay_leads_there(
    capsys: pytest.CaptureFixture[str],
) -> None:
    far = text(capsys, "route", "leaf1", "host14", SCENARIO, "--vrf", "training")
    assert "10.64.3.0/24 in VRF training, L3 VNI 50010." in far
    assert "from EVPN Type-5 (prefix) routes; packets go into L3 VNI 50010" in far
    assert "10.0.0.4 (leaf4): by Ethernet16 to spine1, Ethernet20 to spine2" in far
    assert "[5]:[0]:[24]:[10.64.3.0]" in far
    assert "best: Router ID" in far
    assert "Type-2 (host)" in text(capsys, "route", "leaf1", "host5", SCENARIO, "--vrf", "training")
    own = text(capsys, "route", "leaf1", "host1", SCENARIO, "--vrf", "training")
    assert "leaf1 is its gateway, and 172.16.0.2 (02:00:00:00:00:00, VNI 10010) is at Ethernet0." in own
    assert "connected wins" in own
    assert "routed ports of leaf4 (Ethernet0, Ethernet4, Ethernet8)" in text(
        capsys, "route", "leaf4", "host14", SCENARIO, "--vrf", "training"
    )


def test_a_tunnel_without_a_route_in_the_underlay_is_said_to_lose_packets(capsys: pytest.CaptureFixture[str]) -> None:
    cut = (
        "--set",
        "faults=[{kind: link-down, link: 'leaf1--spine*', at: 1ms}]",
        "--set",
        "expectations=[]",
        "--set",
        "bgp.carrier_delay=5ms",
        "--at",
        "3ms",
    )
    assert "10.0.0.4 (leaf4): no route in the underlay" in text(
        capsys, "route", "leaf1", "host14", SCENARIO, "--vrf", "training", *cut
    )


def test_without_a_control_plane_a_tenants_table_is_refused_with_what_happens_instead(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["route", "leaf1", "host14", SCENARIO, "--vrf", "training", *STATIC]) == 2
    shown = capsys.readouterr().err
    assert "what leaves route for tenants takes the routes to their hosts" in shown
    assert "leave --vrf out" in shown


@pytest.mark.parametrize("table", ["rmac", "next-hops"])
def test_a_table_by_l3_vni_that_is_empty_says_why(capsys: pytest.CaptureFixture[str], table: str) -> None:
    bridged = str(Path(SCENARIO).with_name("mac-move.yml"))
    assert "No leaf here has an L3 VNI" in text(capsys, "evpn", table, bridged)
    assert "No leaf here" not in text(capsys, "evpn", table, SCENARIO)


def test_the_proof_for_programs_has_numbers_and_lists(capsys: pytest.CaptureFixture[str]) -> None:
    _, found = answer(capsys, "evpn", "check-isolation", SCENARIO, "--at", "2ms")
    row = found["reach"]["reach"][0]
    assert (row["switch"], row["l3_vni"], row["without"]) == ("leaf1", 50010, ["host13", "host14", "host15"])
    assert found["reach"]["reach"][-1]["without"] == []
