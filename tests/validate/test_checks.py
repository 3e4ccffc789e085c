"""Each family on a small clean fabric with one thing changed: the right check speaks, about the right object."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fabrics import HOSTS, Judge, Tables, small_fabric, switch

from fabric.configs.load import load_network
from fabric.validate.checks.base import Severity
from fabric.validate.checks.registry import CHECKS, FAMILIES
from fabric.validate.runner import validate

Change = Callable[[dict[str, Tables]], Any]
E, W, I = Severity.ERROR, Severity.WARN, Severity.INFO  # noqa: E741  as in every table of checks


def test_the_small_fabric_is_clean(judge: Judge) -> None:
    assert [(it.check.id, it.text) for it in judge(small_fabric()) if it.severity > I] == []


def put(device: str, table: str, key: str, **values: str | None) -> Change:
    def change(fabric: dict[str, Tables]) -> None:
        row = fabric[device].setdefault(table, {}).setdefault(key, {})
        for name, value in values.items():
            if value is None:
                row.pop(name.lstrip("_"), None)
            else:
                row[name.lstrip("_")] = value
    return change


def hashing(leaf: str, spine: str) -> Change:
    """Algorithms of leaf1 and spine1, which both have a choice towards leaf2."""
    changes = [put("leaf1", "SWITCH_HASH", "GLOBAL", ecmp_hash_algorithm=leaf),
               put("spine1", "SWITCH_HASH", "GLOBAL", ecmp_hash_algorithm=spine)]
    for number in (1, 2):
        port = f"Ethernet{40 + number}"
        changes += [put(f"leaf{number}", "DEVICE_NEIGHBOR", "Ethernet8", name="spine1", port=port),
                    put("spine1", "PORT", port, speed="400000", admin_status="up")]

    def change(fabric: dict[str, Tables]) -> None:
        for one in changes:
            one(fabric)
    return change


def drop(device: str, table: str, key: str) -> Change:
    return lambda fabric: fabric[device][table].pop(key)


LOSSLESS = "pg_lossless_400000_40m_profile"
CASES: list[tuple[str, Severity, str, str, Change]] = [
    ("R1", E, "leaf1", "QUEUE|Ethernet0|3", put("leaf1", "QUEUE", "Ethernet0|3", wred_profile="V")),
    ("R2", I, "leaf1", "SCHEDULER|spare", put("leaf1", "SCHEDULER", "spare", type="STRICT")),
    ("R3", W, "leaf1", "BUFFER_PG", put("leaf1", "BUFFER_PG", "Ethernet16|3", profile=f"[BUFFER_PROFILE|{LOSSLESS}]")),
    ("R4", E, "leaf1", "BUFFER_PG|Ethernet16|3-4", put("leaf1", "BUFFER_PG", "Ethernet16|3-4",
                                                       profile="pg_lossless_400000_5m_profile")),
    ("R5", E, "leaf1", f"BUFFER_PROFILE|{LOSSLESS}", put("leaf1", "BUFFER_PROFILE", LOSSLESS, dynamic_th="8")),
    ("R6", E, "leaf1", f"BUFFER_PROFILE|{LOSSLESS}", put("leaf1", "BUFFER_PROFILE", LOSSLESS, static_th="9")),
    ("R7", E, "leaf1", "Ethernet0", put("leaf1", "PORT", "Ethernet0", speed=None)),
    ("R9", E, "leaf1", "PFC_WD|Ethernet0", put("leaf1", "PFC_WD", "Ethernet0", detection_time=None)),
    ("B1", E, "leaf1", "BUFFER_POOL", put("leaf1", "BUFFER_POOL", "ingress_lossless_pool", size="60800000")),
    ("B2", W, "leaf1", "BUFFER_POOL|ingress_lossless_pool", put("leaf1", "BUFFER_POOL", "ingress_lossless_pool",
                                                                xoff="20000")),
    ("B3", W, "leaf1", f"BUFFER_PROFILE|{LOSSLESS}", put("leaf1", "BUFFER_PROFILE", LOSSLESS, dynamic_th="5")),
    ("B4", E, "leaf1", f"BUFFER_PROFILE|{LOSSLESS}", put("leaf1", "BUFFER_PROFILE", LOSSLESS, size="90000")),
    ("B5", E, "leaf1", f"BUFFER_PROFILE|{LOSSLESS}", put("leaf1", "BUFFER_PROFILE", LOSSLESS, size="1248")),
    ("B6", W, "leaf1", f"BUFFER_PROFILE|{LOSSLESS}", put("leaf1", "BUFFER_PROFILE", LOSSLESS, xon="0")),
    ("B7", E, "leaf1", "Ethernet0|3", put("leaf1", "BUFFER_PROFILE", "egress_lossless_profile", static_th="1000000",
                                          dynamic_th=None)),
    ("B9", W, "leaf1", "Ethernet0", put("leaf1", "PORT_QOS_MAP", "Ethernet0", pfc_enable="2,3,4")),
    ("B7", E, "leaf1", "Ethernet0|3", lambda f: (
        put("leaf1", "BUFFER_PROFILE", "egress_lossy_profile", pool="egress_lossless_pool", size="0",
            dynamic_th="3")(f),
        put("leaf1", "BUFFER_QUEUE", "Ethernet0|3", profile="egress_lossy_profile")(f))),
    ("B8", W, "leaf1", "BUFFER_PROFILE|lossy", lambda f: (
        put("leaf1", "BUFFER_PROFILE", "lossy", pool="ingress_lossless_pool", size="0", dynamic_th="3")(f),
        put("leaf1", "BUFFER_PG", "Ethernet0|0", profile="lossy")(f))),
    ("B9", W, "leaf1", "BUFFER_POOL", put("leaf1", "BUFFER_PROFILE", LOSSLESS, xoff="20000000", size="20037888")),
    ("B10", E, "leaf1", "Ethernet0|3", lambda f: (
        put("leaf1", "BUFFER_PROFILE", "zero_profile", pool="ingress_lossless_pool", size="0", dynamic_th="-8")(f),
        put("leaf1", "BUFFER_PG", "Ethernet0|3", profile="zero_profile")(f))),
    ("B11", W, "leaf1", "Ethernet0", put("leaf1", "DEFAULT_LOSSLESS_BUFFER_PARAMETER", "AZURE",
                                         default_dynamic_th="0", max_headroom_size="100000")),
    ("H5", E, "leaf1", "Ethernet16", lambda f: (
        put("leaf1", "CABLE_LENGTH", "AZURE", Ethernet16="5m")(f),
        put("leaf1", "BUFFER_PG", "Ethernet16|3", profile="pg_lossless_400000_5m_profile")(f))),
    ("H9", I, "leaf1", f"Ethernet16|{LOSSLESS}", put("leaf1", "BUFFER_PROFILE", LOSSLESS, xoff="97280")),
    ("E2b", I, "leaf1", "WRED_PROFILE|W", put("leaf1", "WRED_PROFILE", "W", green_min_threshold="5000000",
                                              green_max_threshold="6000000")),
    ("E2", W, "leaf1", "Ethernet0|3", put("leaf1", "WRED_PROFILE", "W", green_max_threshold="14000000")),
    ("E7", W, "leaf1", "ToRRouter at 400G", put("leaf1", "WRED_PROFILE", "W", green_min_threshold="500000")),
    ("E11", W, "leaf1", "Ethernet0|3", put("leaf1", "WRED_PROFILE", "W", green_min_threshold="13000000",
                                           green_max_threshold="13100000")),
    ("T4", W, "leaf1", "TC_TO_PRIORITY_GROUP_MAP|D", lambda f: (
        put("leaf1", "TC_TO_PRIORITY_GROUP_MAP", "D", _3="2")(f),
        put("leaf1", "PORT_QOS_MAP", "Ethernet0", decap_tc_to_pg_map="D")(f))),
    ("D8", I, "leaf1", "BUFFER_PROFILE|pg_lossless_400000_5m_profile",
     put("leaf1", "BUFFER_POOL", "ingress_lossless_pool",
                                                         size="400000")),
    ("H1", E, "leaf1", f"Ethernet16|{LOSSLESS}", put("leaf1", "BUFFER_PROFILE", LOSSLESS, xoff="20000")),
    ("H2", E, "leaf1", "Ethernet16", lambda f: (put("leaf1", "CABLE_LENGTH", "AZURE", Ethernet16="60m")(f),
                                                drop("leaf1", "BUFFER_PG", "Ethernet16|3")(f))),
    ("H3", E, "leaf1", "Ethernet16|3", put("leaf1", "CABLE_LENGTH", "AZURE", Ethernet16="300m")),
    ("H4", W, "leaf1", f"BUFFER_PROFILE|{LOSSLESS}", put("leaf1", "BUFFER_PROFILE", LOSSLESS, xon="18432")),
    ("H6", W, "leaf1", "Ethernet16", put("leaf1", "CABLE_LENGTH", "AZURE", Ethernet16="5m")),
    ("H7", E, "leaf1", "Ethernet16", put("leaf1", "CABLE_LENGTH", "AZURE", Ethernet16="0m")),
    ("M1", E, "leaf1", "Ethernet0", put("leaf1", "DSCP_TO_TC_MAP", "M", _26="0")),
    ("M2", E, "leaf1", "DSCP 48", put("leaf1", "DSCP_TO_TC_MAP", "M", _48="0")),
    ("M3", E, "leaf1", "DSCP_TO_TC_MAP|M", put("leaf1", "DSCP_TO_TC_MAP", "M", _13=None)),
    ("M4", E, "leaf1", "Ethernet0|3", put("leaf1", "TC_TO_PRIORITY_GROUP_MAP", "M", _3="0")),
    ("M5", E, "leaf1", "Ethernet0|3", lambda f: (
        put("leaf1", "MAP_PFC_PRIORITY_TO_QUEUE", "P", _3="6")(f),
        put("leaf1", "PORT_QOS_MAP", "Ethernet0", pfc_to_queue_map="P")(f))),
    ("M6", E, "leaf1", "Ethernet0", put("leaf1", "DSCP_TO_TC_MAP", "M", _48="3")),
    ("M7", W, "leaf1", "Ethernet0|3", put("leaf1", "PORT_QOS_MAP", "Ethernet0", pfc_enable="4")),
    ("M8", W, "leaf1", "DSCP_TO_TC_MAP|M", put("leaf1", "DSCP_TO_TC_MAP", "M", _24="3", _25="3", _27="3", _28="3")),
    ("M9", E, "leaf1", "Ethernet0|3", put("leaf1", "QUEUE", "Ethernet0|3", scheduler="cnp")),
    ("M10", W, "leaf1", "Ethernet0", put("leaf1", "QUEUE", "Ethernet0|6", scheduler="data")),
    ("M11", W, "leaf1", "Ethernet0|3", lambda f: (put("leaf1", "SCHEDULER", "low", type="DWRR", weight="1")(f),
                                                  put("leaf1", "QUEUE", "Ethernet0|3", scheduler="low")(f))),
    ("M12", E, "leaf1", "Ethernet0", lambda f: (put("leaf1", "TC_TO_DSCP_MAP", "R", _3="0")(f),
                                                put("leaf1", "PORT_QOS_MAP", "Ethernet0", tc_to_dscp_map="R")(f))),
    ("M13", W, "leaf1", "Ethernet0", lambda f: (put("leaf1", "DSCP_TO_TC_MAP", "G", _26="1")(f),
                                                put("leaf1", "PORT_QOS_MAP", "global", dscp_to_tc_map="G")(f))),
    ("E1", E, "leaf1", "WRED_PROFILE|W", put("leaf1", "WRED_PROFILE", "W", green_min_threshold="1700000")),
    ("E2", E, "leaf1", "Ethernet0|3", put("leaf1", "WRED_PROFILE", "W", green_min_threshold="14000000",
                                          green_max_threshold="20000000")),
    ("E3", E, "leaf1", "Ethernet0|3", put("leaf1", "WRED_PROFILE", "W", ecn="ecn_none")),
    ("E4", E, "leaf1", "Ethernet0|3", put("leaf1", "QUEUE", "Ethernet0|3", wred_profile=None)),
    ("E5", W, "leaf1", "Ethernet0|3", put("leaf1", "WRED_PROFILE", "W", green_min_threshold="20000")),
    ("E6", E, "leaf1", "WRED_PROFILE|W", put("leaf1", "WRED_PROFILE", "W", green_drop_probability="0")),
    ("E8", W, "leaf1", "Ethernet0|3", put("leaf1", "WRED_PROFILE", "W", green_max_threshold="61000000")),
    ("E9", W, "leaf1", "WRED_PROFILE|W", put("leaf1", "WRED_PROFILE", "W", green_min_threshold="4095")),
    ("E12", I, "leaf1", "WRED_PROFILE|W", put("leaf1", "WRED_PROFILE", "W", green_drop_probability=None)),
    ("L1", E, "leaf1", "leaf1:Ethernet16↔spine1:Ethernet8", put("spine1", "PORT_QOS_MAP", "Ethernet8", pfc_enable="")),
    ("L2", E, "leaf1", "leaf1:Ethernet16↔spine1:Ethernet8", put("spine1", "PORT", "Ethernet8", speed="200000")),
    ("L3", W, "leaf1", "leaf1:Ethernet16↔spine1:Ethernet8", put("spine1", "CABLE_LENGTH", "AZURE", Ethernet8="300m")),
    ("L4", W, "leaf1", "leaf1:Ethernet16↔spine1:Ethernet8", put("spine1", "PORT", "Ethernet8", mtu="9100")),
    ("L4", E, "leaf1", "Ethernet0", put("leaf1", "PORT", "Ethernet0", mtu="1500")),
    ("L5", E, "leaf1", "leaf1:Ethernet16↔spine1:Ethernet8", put("spine1", "PORT", "Ethernet8", fec="none")),
    ("L6", E, "leaf1", "leaf1:Ethernet16↔spine1:Ethernet8", put("spine1", "PORT", "Ethernet8", pfc_asym="on")),
    ("L7", W, "spine1", "Ethernet8", put("spine1", "DEVICE_NEIGHBOR", "Ethernet8", port="Ethernet24")),
    ("L8", W, "leaf1", "Ethernet24", lambda f: (f["leaf1"].update(PORTCHANNEL_MEMBER={
        "PortChannel1|Ethernet16": {}, "PortChannel1|Ethernet24": {}}),
        put("leaf1", "PORT_QOS_MAP", "Ethernet24", pfc_enable="")(f))),
    ("L9", E, "leaf1", "leaf1→leaf2", put("spine1", "PORT_QOS_MAP", "Ethernet16", pfc_enable="4")),
    ("W1", E, "leaf1", "Ethernet0", put("leaf1", "PORT_QOS_MAP", "Ethernet0", pfcwd_sw_enable="")),
    ("W2", E, "leaf1", "Ethernet0", drop("leaf1", "PFC_WD", "Ethernet0")),
    ("W2", W, "leaf1", "Ethernet16", drop("leaf1", "PFC_WD", "Ethernet16")),
    ("W3", E, "leaf1", "Ethernet0", put("leaf1", "PFC_WD", "GLOBAL", POLL_INTERVAL="1000")),
    ("W4", W, "leaf1", "Ethernet0", put("leaf1", "PFC_WD", "Ethernet0", restoration_time=None)),
    ("W5", W, "leaf1", "Ethernet0", put("leaf1", "PORT", "Ethernet0", speed="1000")),
    ("W7", W, "leaf1", "Ethernet0", put("leaf1", "PFC_WD", "Ethernet0", action="alert")),
    ("W10", W, "leaf1", "Ethernet0", put("leaf1", "PFC_WD", "Ethernet0", action="alert")),
    ("W6", W, "leaf1", "Ethernet0", put("leaf1", "PFC_WD", "Ethernet0", detection_time="5000")),
    ("W8", W, "leaf1", "Ethernet0", put("leaf1", "PFC_WD", "Ethernet0", action="forward")),
    ("T1", E, "spine1", "Ethernet8", lambda f: (put("leaf1", "VXLAN_TUNNEL", "v", src_ip="10.0.0.1")(f),
                                                put("spine1", "PORT", "Ethernet8", mtu="9000")(f))),
    ("T2", E, "leaf1", "VXLAN_TUNNEL|v", put("leaf1", "VXLAN_TUNNEL", "v", src_ip="10.0.0.1", dscp_mode="pipe")),
    ("T3", E, "leaf1", "VXLAN_TUNNEL|v", put("leaf1", "VXLAN_TUNNEL", "v", ecn_mode="copy_from_outer")),
    ("T6", W, "leaf1", "Vlan100", lambda f: (put("leaf1", "VLAN", "Vlan100", vlanid="100", mtu="1500")(f),
                                             put("leaf1", "VLAN_INTERFACE", "Vlan100")(f),
                                             put("leaf1", "VLAN_MEMBER", "Vlan100|Ethernet0",
                                                 tagging_mode="untagged")(f))),
    ("D2", W, "leaf1", "BGP_NEIGHBOR", lambda f: (put("leaf1", "BGP_NEIGHBOR", "10.0.0.1", name="spine1", asn="1")(f),
                                                  put("leaf1", "BGP_NEIGHBOR", "10.0.0.3", name="spine2", asn="2")(f))),
    ("D4", W, "leaf1", "uplinks", put("leaf1", "PORT", "Ethernet24", admin_status="down")),
    ("D5", I, "leaf1", "leaf1↔spine1", put("spine1", "DEVICE_METADATA", "localhost", type="ToRRouter")),
    ("D5", W, "leaf1", "leaf1↔spine1", lambda f: (
        put("spine1", "DEVICE_METADATA", "localhost", type="ToRRouter")(f), *(
            change(f) for leaf, port in (("leaf1", "Ethernet8"), ("leaf2", "Ethernet8")) for change in (
                put(leaf, "DEVICE_NEIGHBOR", port, name="spine1", port=f"Ethernet{40 + int(leaf[-1])}"),
                put("spine1", "PORT", f"Ethernet{40 + int(leaf[-1])}", speed="400000", admin_status="up"))))),
    *(("D5", severity, "leaf1", "leaf1↔spine1", hashing(algorithm, algorithm))
      for algorithm, severity in (("XOR", W), ("CRC", I), ("CRC_CCITT", I))),
    ("D3", W, "leaf1", "SWITCH|switch", lambda f: (put("leaf1", "VLAN", "Vlan100", vlanid="100")(f),
                                                   put("leaf1", "VLAN_MEMBER", "Vlan100|Ethernet0",
                                                       tagging_mode="untagged")(f),
                                                   put("leaf1", "SWITCH", "switch", fdb_aging_time="600")(f))),
    ("D6", W, "leaf1", "SWITCH_HASH|GLOBAL", put("leaf1", "SWITCH_HASH", "GLOBAL", ecmp_hash="SRC_IP,DST_IP")),
    ("D7", W, "leaf1", "uplinks", put("leaf1", "PORT", "Ethernet24", speed="200000")),
    ("P1", E, "leaf1", "leaf1:Ethernet16↔spine1:Ethernet8", lambda f: (
        put("leaf1", "INTERFACE", "Ethernet16|10.1.0.0/31")(f),
        put("spine1", "INTERFACE", "Ethernet8|10.1.0.3/31")(f))),
    ("P1", E, "leaf1", "leaf1:Ethernet16↔spine1:Ethernet8", lambda f: (
        put("leaf1", "INTERFACE", "Ethernet16|10.1.0.0/31")(f),
        put("spine1", "INTERFACE", "Ethernet8|10.1.0.0/31")(f))),
    ("P2", E, "leaf1", "BGP_NEIGHBOR|10.0.0.1", put("leaf1", "BGP_NEIGHBOR", "10.0.0.1", name="spine1", asn="65009")),
    ("P1", W, "spine1", "leaf1:Ethernet16↔spine1:Ethernet8", lambda f: (
        put("leaf1", "INTERFACE", "Ethernet16|10.1.0.0/31")(f),
        put("spine1", "LOOPBACK_INTERFACE", "Loopback0|10.0.0.9/32")(f))),
    ("P3", W, "leaf1", "BGP_NEIGHBOR|10.0.0.1", put("leaf1", "BGP_NEIGHBOR", "10.0.0.1", name="spine1", asn="65000")),
    ("B7", W, "leaf1", "Ethernet0|3", lambda f: (drop("leaf1", "BUFFER_QUEUE", "Ethernet0|3")(f),
                                                 put("leaf1", "BUFFER_QUEUE", "Ethernet0|0",
                                                     profile="egress_lossless_profile")(f))),
    ("H7", I, "leaf1", "Ethernet16", put("leaf1", "CABLE_LENGTH", "AZURE", Ethernet16=None)),
    ("L7", I, "leaf1", "Ethernet0", put("leaf1", "PORT", "Ethernet0", admin_status="down")),
    ("P3", E, "leaf1", "BGP_NEIGHBOR|10.0.0.1", lambda f: (
        put("leaf1", "BGP_NEIGHBOR", "10.0.0.1", name="spine1", asn="65000")(f),
        put("spine1", "BGP_NEIGHBOR", "10.0.0.9", name="leaf2", asn="65102")(f))),
    ("P4", W, "leaf1", "Ethernet24", lambda f: (
        put("leaf1", "MCLAG_DOMAIN", "1", peer_link="PortChannel9", source_ip="10.0.0.1", peer_ip="10.0.0.2")(f),
        put("leaf1", "PORTCHANNEL_MEMBER", "PortChannel9|Ethernet24")(f),
        put("leaf1", "PORT_QOS_MAP", "Ethernet24", pfc_enable="")(f))),
    ("P5", W, "leaf1", "MUX_CABLE", put("leaf1", "MUX_CABLE", "Ethernet0", server_ipv4="10.0.0.2/32", state="auto")),
    ("P5", E, "leaf1", "MUX_CABLE", lambda f: (
        put("leaf1", "MUX_CABLE", "Ethernet0", server_ipv4="10.0.0.2/32", state="auto")(f),
        put("leaf1", "SYSTEM_DEFAULTS", "tunnel_qos_remap", status="disabled")(f))),
    ("D11", W, "leaf2", "leaf3", lambda f: f.update(_third_leaf())),
]


def _third_leaf() -> dict[str, Tables]:
    """leaf1 has lost spine2, leaf3 has lost spine1: the shortest way between them is over leaf2."""
    base = small_fabric()
    text = json.dumps(base["leaf2"]).replace("leaf2", "leaf3").replace("host3", "host5").replace("host4", "host6")
    leaf3: Tables = json.loads(text)
    leaf3["DEVICE_NEIGHBOR"]["Ethernet24"]["port"] = "Ethernet32"
    leaf3["DEVICE_NEIGHBOR"]["Ethernet16"]["port"] = "Ethernet32"
    for spine in ("spine1", "spine2"):
        for table in ("PORT", "PORT_QOS_MAP", "PFC_WD"):
            base[spine][table]["Ethernet32"] = dict(base[spine][table]["Ethernet16"])
        base[spine]["DEVICE_NEIGHBOR"]["Ethernet32"] = {"name": "leaf3", "port": f"Ethernet{8 + 8 * int(spine[-1])}"}
    base["leaf1"]["PORT"]["Ethernet24"]["admin_status"] = "down"
    leaf3["PORT"]["Ethernet16"]["admin_status"] = "down"
    return {**base, "leaf3": leaf3}


@pytest.mark.parametrize(("id_", "severity", "device", "obj", "change"), CASES,
                         ids=[f"{case[0]}-{number}" for number, case in enumerate(CASES)])
def test_one_change_is_found_by_its_check(id_: str, severity: Severity, device: str, obj: str, change: Change,
                                          judge: Judge) -> None:
    fabric = small_fabric()
    change(fabric)
    found = [it for it in judge(fabric) if (it.check.id, it.device, it.object) == (id_, device, obj)]
    assert [it.severity for it in found] == [severity]
    assert found[0].text
    assert found[0].place is not None                 # a code host shows nothing that has no line


HOST_CASES = [("N1", {"trust": "pcp"}), ("N1", {"pfc_enable": ""}), ("L1", {"pfc_enable": "3,5"}),
              ("N2", {"ecn_rp_prio": 2}),
              ("N3", {"cnp_dscp": 0}), ("N5", {"rx_buffer_bytes": 100_000}), ("T5", {"roce_mtu": 4096, "mtu": 4100}),
              ("L10", {"global_pause": True}), ("W6", {"rdma_timeout": 8, "rdma_retries": 1}), ("E10", {"cc": "none"}),
              ("L2", {"speed": 200_000})]


@pytest.mark.parametrize(("id_", "settings"), HOST_CASES)
def test_a_host_setting_is_judged_against_its_port(id_: str, settings: dict[str, Any], judge: Judge) -> None:
    assert id_ not in {it.check.id for it in judge(small_fabric()) if it.severity > I}
    assert id_ in {it.check.id for it in judge(small_fabric(), {"default": {**HOSTS["default"], **settings}})
                   if it.severity > I}


def test_hosts_of_different_congestion_control_share_no_class_unnoticed(judge: Judge) -> None:
    hosts = {**copy.deepcopy(HOSTS), "host1": {"cc": "timely"}}
    assert [it.object for it in judge(small_fabric(), hosts, only={"N6"})] == ["DSCP 26"]


def test_a_ring_of_switches_with_hosts_may_deadlock(judge: Judge) -> None:
    ring = {f"s{n}": switch(f"s{n}", str(65001 + n), "ToRRouter", {
        "Ethernet0": (f"host{n}", "eth0"), "Ethernet8": (f"s{(n + 1) % 5}", "Ethernet16"),
        "Ethernet16": (f"s{(n - 1) % 5}", "Ethernet8")}) for n in range(5)}
    found = judge(ring, only={"D1"})
    assert len(found) == 2                        # one circle each way round
    assert all(it.text.count("→") == 4 for it in found)


@pytest.mark.parametrize(("leaf", "spine"), [("RANDOM", "RANDOM"), ("CRC", "CRC_CCITT"), ("CRC_32LO", "XOR")])
def test_a_hash_that_is_not_linear_or_another_one_per_tier_is_no_finding(leaf: str, spine: str, judge: Judge) -> None:
    fabric = small_fabric()
    hashing(leaf, spine)(fabric)
    assert not judge(fabric, only={"D5"})


def test_a_links_file_can_contradict_the_neighbour_tables(judge: Judge) -> None:
    links = {"links": [{"a": ["leaf1", "Ethernet16"], "b": ["spine2", "Ethernet8"], "length_m": 100},
                       {"a": ["leaf1", "Ethernet99"], "b": ["spine1", "Ethernet8"]}]}
    found = judge(small_fabric(), links=links)
    assert {(it.device, it.object) for it in found if it.check.id == "L7"} >= {
        ("leaf1", "Ethernet16"), ("leaf1", "Ethernet99")}
    assert any("100 m in the links file" in it.text for it in found if it.check.id == "H5")


def test_every_check_says_all_its_words_and_has_an_id_of_its_family() -> None:
    assert len(CHECKS) >= 92
    assert sum(len(checks) for _, _, checks in FAMILIES) == len(CHECKS)
    for letter, _, checks in FAMILIES:
        for check in checks:
            assert check.id.startswith(letter)
            assert all((check.title, check.condition, check.consequence, check.remedy, check.source))


def test_an_uplink_to_a_switch_that_was_not_given_is_no_port_to_a_host(judge: Judge) -> None:
    leaf = switch("leaf1", "65101", "ToRRouter", {"Ethernet0": ("node1", "mlx5_0"), "Ethernet8": ("core1", "Ethernet4"),
                                                  "Ethernet16": ("agg1", "x1")})
    leaf["DEVICE_NEIGHBOR_METADATA"] = {"agg1": {"type": "LeafRouter"}}
    for port in ("Ethernet0", "Ethernet8", "Ethernet16"):
        leaf["PFC_WD"].pop(port)
    found = {it.object: it.severity for it in judge({"leaf1": leaf}, only={"W2"})}
    assert found == {"Ethernet0": E, "Ethernet8": W, "Ethernet16": W}


def test_every_check_of_switches_is_shown_to_speak_by_some_case() -> None:
    elsewhere = {"R8", "D1", "L10", "L11", "H8", "W6", "W9", "E10", "T5", "N1", "N2", "N3", "N4", "N5", "N6",
                 "D9", "D10", "H10", "M14"}
    assert {case[0] for case in CASES} | elsewhere == set(CHECKS)


def shut(fabric: dict[str, Tables]) -> None:
    for row in fabric["leaf1"]["PORT"].values():
        del row["admin_status"]


def test_a_switch_whose_ports_are_all_down_is_not_taken_for_a_good_one(judge: Judge) -> None:
    fabric = small_fabric()
    for tables in fabric.values():
        shut({"leaf1": tables})
    found = judge(fabric)
    assert {it.device for it in found if it.check.id == "M14" and it.severity is E} == set(fabric)
    assert "none of 4 ports is up" in next(it.text for it in found if it.device == "leaf1")


def test_a_switch_without_pfc_is_not_taken_for_a_good_one(judge: Judge) -> None:
    leaf = switch("leaf1", "65101", "ToRRouter", {"Ethernet0": ("host1", "eth0")})
    leaf["PORT_QOS_MAP"]["Ethernet0"]["pfc_enable"] = ""
    assert [(it.text, it.severity) for it in judge({"leaf1": leaf}, only={"M14"})] == [("no port in use has PFC", W)]


def two_priorities(th_of_4: str) -> dict[str, Tables]:
    """Priorities 3 and 4 with queues, groups and profiles of their own on leaf1's Ethernet16."""
    fabric = small_fabric()
    low = {**fabric["leaf1"]["BUFFER_PROFILE"][LOSSLESS], "dynamic_th": th_of_4}
    fabric["leaf1"]["BUFFER_PROFILE"]["low"] = low
    for table, key, row in (("BUFFER_PG", "Ethernet16|4", {"profile": "low"}), ("QUEUE", "Ethernet16|4", {
            "scheduler": "data", "wred_profile": "W"}), ("PORT_QOS_MAP", "Ethernet16", {"pfc_enable": "3,4"})):
        fabric["leaf1"][table].setdefault(key, {}).update(row)
    return fabric


def test_ecn_is_judged_against_the_groups_of_its_own_priority(judge: Judge) -> None:
    found = judge(two_priorities("-6"), only={"E2", "E11"})
    assert {it.object for it in found if it.device == "leaf1"} == {"Ethernet16|4"}


def test_a_static_threshold_of_0_is_no_limit(judge: Judge) -> None:
    fabric = small_fabric()
    for profile in fabric["leaf1"]["BUFFER_PROFILE"].values():
        if "xoff" in profile:
            del profile["dynamic_th"]
            profile["static_th"] = "0"
    assert judge(fabric, only={"E2", "E11", "B7"}) == []


def test_a_static_threshold_above_the_pool_ends_at_the_pool(judge: Judge) -> None:
    fabric = small_fabric()
    for profile in fabric["leaf1"]["BUFFER_PROFILE"].values():
        if "xoff" in profile:
            del profile["dynamic_th"]
            profile["static_th"] = "60000000"
    put("leaf1", "WRED_PROFILE", "W", green_min_threshold="30000000", green_max_threshold="40000000")(fabric)
    assert "T(1) = 26451968 B" in judge(fabric, only={"E2"})[0].text


def test_a_profile_that_lacks_a_threshold_never_marks(judge: Judge) -> None:
    fabric = small_fabric()
    put("leaf1", "WRED_PROFILE", "W", green_max_threshold=None, green_max_treshold="1600000")(fabric)
    found = judge(fabric, only={"E4"})
    assert {(it.object, it.severity) for it in found} == {(f"Ethernet{n}|3", E) for n in (0, 8, 16, 24)}
    assert "lacks a threshold" in found[0].text


def test_a_lossy_path_shows_the_entry_that_makes_it_so(judge: Judge) -> None:
    fabric = small_fabric()
    put("leaf1", "DSCP_TO_TC_MAP", "M", _26="0")(fabric)
    evidence = next(it for it in judge(fabric, only={"L9"}) if it.device == "leaf1").evidence
    assert next((it.label, it.value) for it in evidence) == ("DSCP_TO_TC_MAP|M|26", "0")
    assert {it.place.file.rpartition("/")[2] for it in evidence if it.place} == {"leaf1.json"}


def test_a_switch_whose_table_is_not_known_says_that_no_row_was_compared(judge: Judge) -> None:
    fabric = small_fabric()
    put("leaf1", "DEVICE_METADATA", "localhost", hwsku="Nobody-9000")(fabric)
    found = judge(fabric, only={"H2"})
    assert [(it.device, it.severity) for it in found] == [("leaf1", I)]
    assert "not against a vendor's row" in found[0].text


def test_pfc_that_is_negotiated_and_link_wide_pause_are_named(tmp_path: Path) -> None:
    (tmp_path / "n1.cfg").write_text(
        "system qos\n  service-policy type network-qos N\npolicy-map type network-qos N\n  class type network-qos c\n"
        "    pause pfc-cos 3\ninterface Ethernet1/1\n  flowcontrol receive on\n", encoding="utf-8")
    found = {it.check.id: it.object for it in validate(load_network([tmp_path]), only={"L10", "L11"}).findings}
    assert found == {"L10": "Ethernet1/1", "L11": "Ethernet1/1"}


def test_a_traffic_pattern_smaller_than_roce_packets_is_named(judge: Judge) -> None:
    fabric = small_fabric()
    put("leaf1", "DEVICE_METADATA", "localhost", buffer_model="dynamic")(fabric)
    put("leaf1", "LOSSLESS_TRAFFIC_PATTERN", "AZURE", mtu="1024", small_packet_percentage="50")(fabric)
    assert [it.device for it in judge(fabric, only={"H8"})] == ["leaf1"]


def test_many_ports_with_the_times_of_few_are_noted(judge: Judge) -> None:
    fabric = small_fabric()
    for number in range(100, 200):
        put("leaf1", "PORT", f"Ethernet{number}", speed="400000", admin_status="down")(fabric)
    assert [(it.device, it.severity) for it in judge(fabric, only={"W9"})] == [("leaf1", I)]


def test_kmin_below_a_round_trip_is_named_where_hosts_use_dcqcn(judge: Judge) -> None:
    fabric = small_fabric()
    put("leaf1", "WRED_PROFILE", "W", green_min_threshold="210000")(fabric)
    assert {it.object for it in judge(fabric, only={"N4"})} == {"Ethernet0|3", "Ethernet8|3"}
