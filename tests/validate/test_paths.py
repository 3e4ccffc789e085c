"""Paths: forwarding tables, static routes, BGP sessions; loops, dead ends, valleys and cycles of pauses over them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fabrics import HOSTS, Judge, Tables, small_fabric

from fabric.cli.main import main
from fabric.configs.load import load_network
from fabric.configs.routes import parse_fib
from fabric.errors import InputErrors
from fabric.validate.checks.base import Finding
from fabric.validate.runner import Verdict, validate
from tests.recordings import FRR as RECORDED

UPLINKS = {"spine1": "Ethernet16", "spine2": "Ethernet24"}
LEAVES = {"leaf1": ("10.1.0.0/24", "Ethernet8"), "leaf2": ("10.2.0.0/24", "Ethernet16")}
"""Prefix of each leaf's hosts, and the spines' port to it."""
Fib = dict[str, list[dict[str, Any]]]


def healthy() -> Fib:
    """Tables as `ip -j route` prints them: leaves spread over both spines, spines send down."""
    fib: Fib = {}
    for name, (prefix, _) in LEAVES.items():
        other = next(it for leaf, (it, _) in LEAVES.items() if leaf != name)
        fib[name] = [
            {"dst": prefix, "dev": "Ethernet0", "protocol": "kernel", "scope": "link"},
            {
                "dst": other,
                "protocol": "bgp",
                "nexthops": [
                    {"gateway": f"10.9.{n}.1", "dev": dev, "weight": 1, "flags": []}
                    for n, dev in enumerate(UPLINKS.values())
                ],
            },
            {"dst": "default", "gateway": "192.0.2.1", "dev": "eth0"},
        ]
    for spine in UPLINKS:
        fib[spine] = [
            {"dst": prefix, "gateway": "10.9.0.0", "dev": dev, "protocol": "bgp"} for prefix, dev in LEAVES.values()
        ]
    return fib


def route(fib: Fib, name: str, prefix: str, **fields: Any) -> Fib:  # noqa: ANN401
    fib[name] = [row for row in fib[name] if row["dst"] != prefix] + ([{"dst": prefix, **fields}] if fields else [])
    return fib


@pytest.fixture
def follow(tmp_path: Path) -> Callable[..., Verdict]:
    def run(fib: Fib, fabric: dict[str, Tables] | None = None) -> Verdict:
        folder, tables = tmp_path / "configs", tmp_path / "fib"
        for path in (folder, tables):
            path.mkdir(exist_ok=True)
        for name, content in (fabric or small_fabric()).items():
            (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
        (folder / "hosts.json").write_text(json.dumps(HOSTS), encoding="utf-8")
        for name, rows in fib.items():
            (tables / f"{name}.json").write_text(json.dumps(rows), encoding="utf-8")
        return validate(load_network([folder], fibs=[tables]), only={"D1", "D9", "D10", "D11", "L9"})

    return run


def keys(found: Verdict | list[Finding]) -> set[tuple[str, str, str]]:
    findings = found.findings if isinstance(found, Verdict) else found
    return {(it.check.id, it.device, it.object) for it in findings}


def test_healthy_tables_are_clean_and_the_verdict_says_that_it_followed_them(follow: Callable[..., Verdict]) -> None:
    verdict = follow(healthy())
    assert keys(verdict) == set()
    assert verdict.paths == "FIBs of 4 of 4 switches"


def test_two_routes_that_point_at_each_other_are_a_loop_and_a_deadlock(follow: Callable[..., Verdict]) -> None:
    fib = route(healthy(), "spine1", "10.2.0.0/24", gateway="10.9.0.0", dev="Ethernet8")  # back to leaf1
    verdict = follow(fib)
    assert keys(verdict) == {("D9", "leaf1", "10.2.0.0/24"), ("D1", "leaf1", "leaf1:Ethernet16")}
    (loop,) = [it for it in verdict.findings if it.check.id == "D9"]
    assert loop.text == "loop leaf1 → spine1 → leaf1"
    assert loop.place is not None
    assert loop.place.file.endswith("leaf1.json")


def test_a_spine_without_the_prefix_is_a_dead_end(follow: Callable[..., Verdict]) -> None:
    verdict = follow(route(healthy(), "spine2", "10.2.0.0/24"))
    assert keys(verdict) == {("D10", "spine2", "10.2.0.0/24")}
    assert "leaf2 would deliver it" in verdict.findings[0].text


def test_a_route_that_drops_is_a_dead_end(follow: Callable[..., Verdict]) -> None:
    verdict = follow(route(healthy(), "spine2", "10.2.0.0/24", type="blackhole"))
    assert keys(verdict) == {("D10", "spine2", "10.2.0.0/24")}


def test_a_next_hop_on_the_management_port_is_a_dead_end(follow: Callable[..., Verdict]) -> None:
    verdict = follow(route(healthy(), "leaf1", "10.2.0.0/24", gateway="192.0.2.1", dev="eth0"))
    assert keys(verdict) == {("D10", "leaf1", "10.2.0.0/24")}


def three_leaves() -> tuple[dict[str, Tables], Fib]:
    """leaf3 hangs on spine2 only, so that spine1 has to reach it over another leaf."""
    fabric, fib = small_fabric(), healthy()
    leaf = json.loads(
        json.dumps(fabric["leaf2"]).replace("leaf2", "leaf3").replace("host3", "host5").replace("host4", "host6")
    )
    for table in ("PORT", "DEVICE_NEIGHBOR", "PORT_QOS_MAP", "PFC_WD"):
        leaf[table].pop("Ethernet16")
    leaf["DEVICE_NEIGHBOR"]["Ethernet24"] = {"name": "spine2", "port": "Ethernet32"}
    fabric["leaf3"] = leaf
    for table in ("PORT", "PORT_QOS_MAP", "PFC_WD"):
        fabric["spine2"][table]["Ethernet32"] = dict(fabric["spine2"][table]["Ethernet16"])
    fabric["spine2"]["CABLE_LENGTH"]["AZURE"]["Ethernet32"] = "40m"
    fabric["spine2"]["BUFFER_PG"]["Ethernet32|3"] = dict(fabric["spine2"]["BUFFER_PG"]["Ethernet16|3"])
    fabric["spine2"]["DEVICE_NEIGHBOR"]["Ethernet32"] = {"name": "leaf3", "port": "Ethernet24"}
    fib["leaf3"] = [
        {"dst": "10.3.0.0/24", "dev": "Ethernet0"},
        *({"dst": prefix, "gateway": "10.9.1.1", "dev": "Ethernet24"} for prefix, _ in LEAVES.values()),
    ]
    for leaf_name in LEAVES:
        route(fib, leaf_name, "10.3.0.0/24", gateway="10.9.1.1", dev="Ethernet24")
    route(fib, "spine2", "10.3.0.0/24", gateway="10.9.1.2", dev="Ethernet32")
    route(fib, "spine1", "10.3.0.0/24", gateway="10.9.0.2", dev="Ethernet16")  # down to leaf2, up to spine2
    return fabric, fib


def test_a_way_that_goes_down_and_up_again_is_a_valley(follow: Callable[..., Verdict]) -> None:
    fabric, fib = three_leaves()
    assert keys(follow(fib, fabric)) == set()  # nobody uses spine1 for it
    route(fib, "leaf1", "10.3.0.0/24", gateway="10.9.0.1", dev="Ethernet16")
    assert keys(follow(fib, fabric)) == {("D11", "leaf2", "10.3.0.0/24")}


def test_two_valleys_in_opposite_directions_close_a_cycle_of_pauses(follow: Callable[..., Verdict]) -> None:
    fabric, fib = three_leaves()
    route(fib, "leaf1", "10.3.0.0/24", gateway="10.9.0.1", dev="Ethernet16")  # leaf1 spine1 leaf2 spine2 leaf3
    route(fib, "spine2", "10.2.0.0/24", gateway="10.9.1.0", dev="Ethernet8")  # to leaf2 over leaf1 and spine1
    route(fib, "leaf1", "10.2.0.0/24", gateway="10.9.0.1", dev="Ethernet16")
    found = follow(fib, fabric)
    assert {it.check.id for it in found.findings} == {"D1", "D11"}
    (cycle,) = [it for it in found.findings if it.check.id == "D1"]
    assert cycle.text == ("cycle leaf1:Ethernet24 → spine1:Ethernet8 → leaf2:Ethernet16 → spine2:Ethernet16")


def test_a_bad_hop_hurts_only_the_paths_that_tables_take(follow: Callable[..., Verdict]) -> None:
    fabric = small_fabric()
    for key in ("pfc_enable", "pfcwd_sw_enable"):
        fabric["spine1"]["PORT_QOS_MAP"]["Ethernet16"][key] = ""
    assert {it.check.id for it in follow(healthy(), fabric).findings} == {"L9"}
    fib = healthy()
    for leaf, (prefix, _) in LEAVES.items():
        route(fib, next(it for it in LEAVES if it != leaf), prefix, gateway="10.9.1.1", dev="Ethernet24")
    assert keys(follow(fib, fabric)) == set()  # everything goes over spine2


def test_switches_without_a_table_take_the_shortest_way_and_the_verdict_says_so(follow: Callable[..., Verdict]) -> None:
    fib = {name: rows for name, rows in healthy().items() if name in {"leaf1", "leaf2"}}
    verdict = follow(fib)
    assert keys(verdict) == set()
    assert verdict.paths == "FIBs of 2 of 4 switches, shortest over all links that are up for the others"


def test_a_leaf_of_which_no_prefix_is_known_is_named(follow: Callable[..., Verdict]) -> None:
    fib = route(healthy(), "leaf2", "10.2.0.0/24")
    assert "shortest to leaf2, of which no prefix is known" in follow(fib).paths


FRR = {
    "10.1.0.0/24": [
        {
            "protocol": "connected",
            "selected": True,
            "installed": True,
            "nexthops": [{"fib": True, "directlyConnected": True, "interfaceName": "Ethernet0", "active": True}],
        }
    ],
    "10.2.0.0/24": [
        {"protocol": "static", "nexthops": [{"ip": "10.9.9.9", "interfaceName": "Ethernet8"}]},
        {
            "protocol": "bgp",
            "selected": True,
            "installed": True,
            "nexthops": [
                {"fib": True, "ip": "10.9.0.1", "afi": "ipv4", "interfaceName": "Ethernet16", "active": True},
                {"ip": "10.9.1.1", "interfaceName": "Ethernet24", "active": True, "recursive": True},
            ],
        },
    ],
}
EOS = {
    "vrfs": {
        "default": {
            "routes": {
                "10.1.0.0/24": {
                    "routeType": "connected",
                    "vias": [{"interface": "Ethernet0"}],
                    "directlyConnected": True,
                },
                "10.2.0.0/24": {"routeType": "eBGP", "vias": [{"nexthopAddr": "10.9.0.1", "interface": "Ethernet16"}]},
            }
        }
    }
}
IPROUTE = [
    {"dst": "10.1.0.0/24", "dev": "Ethernet0"},
    {"dst": "10.2.0.0/24", "gateway": "10.9.0.1", "dev": "Ethernet16"},
    {"dst": "10.2.0.0/24", "gateway": "10.9.1.1", "dev": "Ethernet24", "metric": 50},
]


@pytest.mark.parametrize("table", [FRR, EOS, IPROUTE], ids=["frr", "eos", "iproute"])
def test_three_ways_of_printing_a_table_mean_the_same(table: Any) -> None:  # noqa: ANN401
    assert {str(it.prefix): [str(hop) for hop in it.hops] for it in parse_fib(table, "x.json")} == {
        "10.1.0.0/24": ["Ethernet0"],
        "10.2.0.0/24": ["via 10.9.0.1 Ethernet16"],
    }


@pytest.mark.parametrize(
    "table",
    [
        [],
        {},
        3,
        None,
        [3],
        {"vrfs": {}},
        {"10.0.0.0/8": [3]},
        {"10.0.0.0/99": []},
        [{"dst": "nowhere"}],
        {"vrfs": {"default": {"routes": {"x": 1}}}},
        [{}],
    ],
)
def test_what_is_no_table_is_refused_with_the_remedy(table: Any) -> None:  # noqa: ANN401
    with pytest.raises(InputErrors) as caught:
        parse_fib(table, "x.json")
    assert all(problem.hint and problem.path.startswith("x.json") for problem in caught.value.problems)


def test_a_table_of_a_switch_that_was_not_given_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, content in small_fabric().items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    tables = tmp_path / "fib.json"
    tables.write_text(json.dumps({"leaf9": IPROUTE, "leaf1": {"x": []}}), encoding="utf-8")
    assert main(["validate", *(str(tmp_path / f"{name}.json") for name in small_fabric()), "--fib", str(tables)]) == 2
    err = capsys.readouterr().err
    assert "'leaf9', which is no switch that was given" in err
    assert "'x' is no route" in err


def with_static(fabric: dict[str, Tables], name: str, prefix: str, **fields: str) -> None:
    fabric[name].setdefault("STATIC_ROUTE", {})[f"default|{prefix}"] = fields


def addressed() -> dict[str, Tables]:
    fabric = small_fabric()
    for number, leaf in enumerate(("leaf1", "leaf2"), 1):
        fabric[leaf]["VLAN_INTERFACE"] = {f"Vlan10|10.{number}.0.1/24": {}}
        for plane, (spine, port) in enumerate(UPLINKS.items()):
            fabric[leaf].setdefault("INTERFACE", {})[f"{port}|10.9.{number}{plane}.0/31"] = {}
            fabric[spine].setdefault("INTERFACE", {})[f"Ethernet{8 * number}|10.9.{number}{plane}.1/31"] = {}
    return fabric


def test_static_routes_are_followed_by_gateway_and_by_interface(judge: Judge) -> None:
    only = {"D1", "D9", "D10", "D11"}
    fabric = addressed()
    with_static(fabric, "leaf1", "10.2.0.0/24", nexthop="10.9.10.1")
    with_static(fabric, "spine1", "10.2.0.0/24", nexthop="10.9.20.0", ifname="Ethernet16")
    assert judge(fabric, only=only) == []
    with_static(fabric, "spine1", "10.2.0.0/24", ifname="Ethernet8")
    assert {it.check.id for it in judge(fabric, only=only)} == {"D1", "D9"}
    with_static(fabric, "spine1", "10.2.0.0/24", nexthop="10.8.8.8")
    found = judge(fabric, only=only)
    assert keys(found) == {("D10", "spine1", "10.2.0.0/24")}
    assert found[0].place is not None


def test_a_static_route_behind_bgp_is_not_followed(judge: Judge) -> None:
    fabric = addressed()
    with_static(fabric, "spine1", "10.2.0.0/24", ifname="Ethernet8", distance="200")
    assert judge(fabric, only={"D1", "D9", "D10"}) == []


def test_a_link_without_a_bgp_session_carries_nothing(judge: Judge) -> None:
    fabric = addressed()
    for leaf in ("leaf1", "leaf2"):
        for spine in UPLINKS:
            fabric[leaf].setdefault("BGP_NEIGHBOR", {})[f"{leaf}-{spine}"] = {"name": spine, "asn": "65000"}
            fabric[spine].setdefault("BGP_NEIGHBOR", {})[f"{spine}-{leaf}"] = {
                "name": leaf,
                "asn": fabric[leaf]["DEVICE_METADATA"]["localhost"]["bgp_asn"],
            }
    for key in ("pfc_enable", "pfcwd_sw_enable"):
        fabric["spine1"]["PORT_QOS_MAP"]["Ethernet16"][key] = ""
    assert {it.check.id for it in judge(fabric, only={"L9"})} == {"L9"}
    fabric["leaf2"]["BGP_NEIGHBOR"].pop("leaf2-spine1")
    assert judge(fabric, only={"L9"}) == []
    assert [(it.device, it.object) for it in judge(fabric, only={"P3"})] == [("spine1", "BGP_NEIGHBOR|spine1-leaf2")]


def test_a_switch_that_was_not_given_is_named_and_its_links_are_uplinks_all_the_same(
    follow: Callable[..., Verdict], judge: Judge
) -> None:
    fabric = small_fabric()
    fabric.pop("spine2")
    assert "switches that were not given: spine2" in follow({"leaf1": healthy()["leaf1"]}, fabric).paths
    assert [it for it in judge(fabric, only={"D4"}) if it.severity > 1] == []


def test_what_frr_and_the_kernel_print_of_one_switch_agree() -> None:
    files = sorted((RECORDED / "2x2").glob("*/*.json"))
    compared = 0
    for path in files:
        dump = json.loads(path.read_text(encoding="utf-8"))
        if "frr" not in dump or not dump["kernel"].get("route"):
            continue
        tables = [
            {
                route.prefix: {(hop.gateway, hop.interface) for hop in route.hops}
                for route in parse_fib(table, path.name)
            }
            for table in (dump["frr"]["ip_route"], dump["kernel"]["route"])
        ]
        loopbacks = {prefix for prefix in tables[0].keys() - tables[1].keys() if prefix.prefixlen == 32}
        assert tables[0].keys() - loopbacks == tables[1].keys(), path
        assert all(tables[0][prefix] == hops for prefix, hops in tables[1].items()), path
        compared += len(tables[1])
    assert compared > 50
