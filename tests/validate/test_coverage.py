"""Nothing is silent: every value of an accepted file is judged, compared with a baseline, or listed as not judged."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any, Final

import pytest
from fabrics import switch

from fabric.cli.main import main
from fabric.configs.load import load_network, parse_device
from fabric.configs.model import Device
from fabric.configs.sonic.schema import FREE_FIELDS, IGNORED, SCHEMA, Rule
from fabric.validate.baseline import changes
from fabric.validate.coverage import NOT_JUDGED, NOT_UNDERSTOOD, uncovered
from fabric.validate.runner import validate
from tests.model_values import listed, values_of

FORMATS: Final = ("text", "json", "sarif", "junit", "markdown", "html")
EOS: Final = """! device: leaf1 (DCS-7060X6-64PE, EOS-4.32.1F)
hostname leaf1
qos map dscp 26 to traffic-class 3
interface Ethernet1/1
   description to host1
   speed 400g-8
"""


def sonic(**more: dict[str, Any]) -> dict[str, Any]:
    """A leaf with one port."""
    tables: dict[str, Any] = switch("leaf1", "65101", "LeafRouter", {"Ethernet0": ("host1", "eth0")})
    for table, rows in more.items():
        for key, fields in rows.items():
            tables.setdefault(table, {}).setdefault(key, {}).update(fields)
    return tables


def device_of(tables: dict[str, Any]) -> Device:
    return parse_device(json.dumps(tables, indent=1), "leaf1.json")


def seen(device: Device) -> tuple[Any, ...]:
    """Everything that a value can change: the model, the defects, and what is listed."""
    return (dict(values_of(device)), [(it.check, it.text) for it in device.defects], listed(device))


CONTEXT: Final[dict[str, dict[str, str]]] = {
    "STATIC_ROUTE": {"nexthop": "10.0.0.1,10.0.0.3,10.0.0.5", "ifname": "Ethernet0,Ethernet0,Ethernet0"},
    "COMMUNITY_SET": {"community_member": "65000:1,65000:2"},
}
"""Fields that a row needs so that the others mean something."""
VALUES: Final = {
    ("SYSTEM_DEFAULTS", "status"): ("enabled", "disabled"),
    ("STATIC_ROUTE", "blackhole"): ("false,false,false", "false,true,false"),
    ("STATIC_ROUTE", "distance"): ("1,1,1", "2,2,2"),
    ("VERSIONS", "VERSION"): ("version_1", "version_2"),
    ("BGP_GLOBALS", "router_id"): ("10.0.0.1", "10.0.0.2"),
    ("VXLAN_TUNNEL", "src_ip"): ("10.0.0.1", "10.0.0.2"),
    ("DEVICE_METADATA", "bgp_router_id"): ("10.0.0.1", "10.0.0.2"),
}
OTHER: Final[dict[str, tuple[str, str]]] = {
    "int": ("1", "2"),
    "text": ("one", "two"),
    "free": ("one", "two"),
    "list": ("1,2", "1,2,4"),
    "priorities": ("3", "3,4"),
    "ref": ("one", "two"),
    "refs": ("one", "one,two"),
}


def two_values(rule: Rule) -> tuple[str, str]:
    if rule.choices:
        return rule.choices[0], rule.choices[1]
    if rule.kind == "int":
        return str(max(rule.low, 1)), str(max(rule.low, 1) + 1)
    return OTHER[rule.kind]


KEYS: Final = {
    "DEVICE_METADATA": "localhost",
    "BUFFER_PG": "Ethernet0|3",
    "BUFFER_QUEUE": "Ethernet0|3",
    "QUEUE": "Ethernet0|3",
    "VLAN_MEMBER": "Vlan10|Ethernet0",
    "VXLAN_TUNNEL_MAP": "vtep|map",
    "BGP_NEIGHBOR": "10.0.0.1",
    "STATIC_ROUTE": "10.9.0.0/16",
    "VERSIONS": "DATABASE",
    "SWITCH_HASH": "GLOBAL",
    "SYSTEM_DEFAULTS": "tunnel_qos_remap",
    "BGP_GLOBALS": "default",
    "VRF": "Vrf1",
    "SAG": "Vlan10|IPv4",
    "BGP_NEIGHBOR_AF": "default|10.0.0.1|ipv4_unicast",
    "BGP_PEER_GROUP": "default|G",
    "BGP_PEER_GROUP_AF": "default|G|ipv4_unicast",
    "BGP_GLOBALS_AF": "default|ipv4_unicast",
    "ROUTE_REDISTRIBUTE": "default|connected|bgp|ipv4",
    "ROUTE_MAP": "MAP|10",
    "PREFIX": "SET|10|10.0.0.0/8|8..32",
    "BGP_GLOBALS_EVPN_VNI": "default|l2vpn_evpn|10100",
    "BGP_GLOBALS_EVPN_VNI_RT": "default|l2vpn_evpn|10100|65000:1",
    "BGP_GLOBALS_EVPN_RT": "Vrf1|l2vpn_evpn|65000:1",
}


@pytest.mark.parametrize(("table", "field"), [(table, field) for table, rules in SCHEMA.items() for field in rules])
@pytest.mark.parametrize("key", ["usual", "global"])
def test_no_value_of_a_known_table_is_silent(table: str, field: str, key: str) -> None:
    usual = KEYS.get(table, "Ethernet0")
    row = {"PFC_WD": "GLOBAL", "PORT_QOS_MAP": "global"}.get(table, usual) if key == "global" else usual
    one, two = (
        seen(device_of(sonic(**{table: {row: {**CONTEXT.get(table, {}), field: value}}})))
        for value in VALUES.get((table, field)) or two_values(SCHEMA[table][field])
    )
    assert one != two


@pytest.mark.parametrize("table", sorted({*IGNORED, *FREE_FIELDS}))
def test_fields_without_a_check_are_listed_and_compared(table: str) -> None:
    field = min(IGNORED.get(table, ("anything",)))
    row = KEYS.get(table, "Ethernet0")
    one, two = (device_of(sonic(**{table: {row: {field: value}}})) for value in ("1", "2"))
    assert [item.what for item in one.unjudged if field in item.what] == [f"field '{field}' of {table}"]
    assert seen(one) != seen(two)


@pytest.mark.parametrize(("field", "value"), [("cbs", "1000"), ("cir", "1000")])
def test_a_shaper_of_a_scheduler_could_act_on_roce(field: str, value: str) -> None:
    found = device_of(sonic(SCHEDULER={"data": {field: value}}))
    assert [(item.what, item.roce) for item in found.unjudged] == [(f"field '{field}' of SCHEDULER", "rate limit")]


@pytest.mark.parametrize(
    ("table", "row", "effect"),
    [
        ("ACL_RULE", {"L4_DST_PORT": "4791", "PACKET_ACTION": "DROP"}, "filter on UDP 4791"),
        ("ACL_RULE", {"L4_DST_PORT_RANGE": "4000-5000", "PACKET_ACTION": "DROP"}, "filter on UDP 4791"),
        ("ACL_RULE", {"L4_DST_PORT": "22", "PACKET_ACTION": "DROP"}, ""),
        ("PORT_STORM_CONTROL", {"kbps": "10"}, "storm control"),
        ("POLICER", {"cir": "10"}, "rate limit"),
        ("SWITCH_TRIMMING", {"size": "128"}, "QoS"),
        ("SYSLOG_CONFIG", {"rate_limit_burst": "10"}, ""),
    ],
)
def test_tables_that_are_not_understood_say_how_they_could_act_on_roce(
    table: str, row: dict[str, str], effect: str
) -> None:
    found = device_of(sonic(**{table: {"x": row}}))
    assert [(item.what, item.roce) for item in found.unread] == [(f"table {table}", effect)]


@pytest.mark.parametrize(
    ("line", "effect"),
    [
        ("ip access-list X\n   10 deny udp any any eq 4791\n", "filter on UDP 4791"),
        ("ip access-list X\n   10 deny tcp any any eq 22\n", ""),
        ("policy-map type pbr X\n   class C\n", "policy map"),
        ("policy-map type copp X\n   class C\n", ""),
        ("interface Ethernet1/1\n   storm-control broadcast level 10\n", "storm control"),
        ("interface Ethernet1/1\n   shape rate 100 gbps\n", "rate limit"),
        ("interface Ethernet1/1\n   qos rewrite 5\n", "QoS"),
        ("banner motd a pause of the queue\n", ""),
        ("ntp server 10.0.0.1\n", ""),
    ],
)
def test_lines_that_are_not_understood_say_how_they_could_act_on_roce(line: str, effect: str) -> None:
    found = parse_device(EOS + line, "leaf1.cfg")
    assert [item.roce for item in found.unread] == [effect]


def test_lines_below_a_line_that_is_not_understood_are_counted_and_compared() -> None:
    found = parse_device(EOS + "ip access-list X\n   10 deny tcp any any eq 22\n", "leaf1.cfg")
    assert [item.what for item in found.unread] == ["'ip access-list X' and 1 line below it"]
    assert found.unread[0].leaves[1][0] == ("ip access-list X", "10 deny tcp any any eq 22")


def _nvue(path: tuple[str, ...], value: str) -> dict[str, Any]:
    tree: Any = value
    for word in reversed(path):
        tree = {word: tree}
    return {"set": tree}


def test_a_leaf_of_nvue_that_nothing_reads_is_listed() -> None:
    rows = {
        "interface": {"swp1": {"qos": {"egress-shaper": {"profile": "slow"}}, "link": {"lanes": "8"}}},
        "system": {"timezone": "Etc/UTC"},
        "qos": {"egress-shaper": {"slow": {"traffic-class": {"3": {"min-rate": 1000}}}}},
    }
    found = parse_device(json.dumps({"set": rows}), "leaf1.json")
    assert {item.what: item.roce for item in found.unjudged} == {
        "interface * link lanes": "",
        "system timezone": "",
        "qos egress-shaper slow traffic-class 3 min-rate": "rate limit",
    }


def _written(folder: Path, tables: dict[str, Any]) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "leaf1.json").write_text(json.dumps(tables, indent=1), encoding="utf-8")
    return folder


def test_a_baseline_compares_what_no_check_uses(tmp_path: Path) -> None:
    old = _written(tmp_path / "old", sonic(SCHEDULER={"data": {"cir": "1"}}, AAA={"x": {"y": "1"}}))
    new = _written(tmp_path / "new", sonic(SCHEDULER={"data": {"cir": "2"}}, AAA={"x": {"y": "2"}}))
    assert changes(load_network([old]), load_network([new])) == (
        "leaf1: SCHEDULER|data|cir: 1 → 2 (not judged)",
        "leaf1: AAA|x|y: 1 → 2 (not judged)",
    )


@pytest.mark.parametrize("style", FORMATS)
def test_every_format_lists_what_was_not_judged(style: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = _written(tmp_path / "new", sonic(SCHEDULER={"data": {"pir": "1000", "cir": "1"}}, AAA={"x": {"y": "1"}}))
    more = ["--all"] if style == "text" else []
    main(["validate", str(folder), "--format", style, *more])
    out = capsys.readouterr().out
    if style == "junit":
        out = "".join(ET.fromstring(out).itertext())  # noqa: S314  our own text
    for words in (("cir", "SCHEDULER"), ("AAA",)):
        assert all(word in out.replace("\\_", "_") for word in words), words


@pytest.mark.parametrize("style", FORMATS)
def test_strict_fails_for_a_part_that_could_act_on_roce(
    style: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = _written(tmp_path / "new", sonic(SCHEDULER={"data": {"pir": "1000", "cir": "1"}}))
    assert main(["validate", str(folder), "--format", style, "--only", "R10"]) == 0
    assert main(["validate", str(folder), "--format", style, "--only", "R10", "--strict"]) == 1
    capsys.readouterr()


def test_strict_and_a_run_that_never_fails_contradict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(tmp_path), "--strict", "--fail-on", "never"]) == 2
    assert "--strict" in capsys.readouterr().err


def test_equal_parts_of_one_file_are_one_row(tmp_path: Path) -> None:
    tables = sonic(PORT={"Ethernet0": {"alias": "a"}, "Ethernet8": {"alias": "b"}}, AAA={"x": {}})
    rows = uncovered(validate(load_network([_written(tmp_path, tables)])))
    assert [(row.kind, row.what, row.count) for row in rows] == [
        (NOT_UNDERSTOOD, "table AAA", 1),
        (NOT_JUDGED, "field 'alias' of PORT", 2),
    ]


def test_what_a_links_file_holds_besides_links_is_listed(tmp_path: Path) -> None:
    folder = _written(tmp_path / "new", sonic())
    links = tmp_path / "lab.yml"
    links.write_text(
        "name: lab\ntopology:\n  nodes: {leaf1: {kind: sonic, image: x}}\n  links:\n"
        "    - {endpoints: ['leaf1:Ethernet0', 'host1:eth0'], mtu: 9000}\n",
        encoding="utf-8",
    )
    rows = uncovered(validate(load_network([folder], links=links)))
    assert [(row.what, row.count, row.place.line) for row in rows] == [
        ("field 'name' of the links file", 1, 1),
        ("field 'nodes' of the links file", 2, 3),
        ("field 'links mtu' of the links file", 1, 5),
    ]
