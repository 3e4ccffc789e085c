"""Checks L, T and P: one change of a small clean fabric at a time; its check reports it, about its object."""

from __future__ import annotations

from pathlib import Path

from fabrics import Judge, small_fabric, switch
from finding_cases import Case, Change, E, I, W, assert_found, one_case, put

from fabric.configs.load import load_network
from fabric.validate.checks.base import Severity
from fabric.validate.runner import validate

CASES: list[Case] = [
    (
        "T4",
        W,
        "leaf1",
        "TC_TO_PRIORITY_GROUP_MAP|D",
        lambda f: (
            put("leaf1", "TC_TO_PRIORITY_GROUP_MAP", "D", _3="2")(f),
            put("leaf1", "PORT_QOS_MAP", "Ethernet0", decap_tc_to_pg_map="D")(f),
        ),
    ),
    ("L1", E, "spine1", "leaf1:Ethernet16↔spine1:Ethernet8", put("spine1", "PORT_QOS_MAP", "Ethernet8", pfc_enable="")),
    ("L2", E, "spine1", "leaf1:Ethernet16↔spine1:Ethernet8", put("spine1", "PORT", "Ethernet8", speed="200000")),
    ("L3", W, "leaf1", "leaf1:Ethernet16↔spine1:Ethernet8", put("spine1", "CABLE_LENGTH", "AZURE", Ethernet8="300m")),
    ("L4", W, "spine1", "leaf1:Ethernet16↔spine1:Ethernet8", put("spine1", "PORT", "Ethernet8", mtu="9100")),
    ("L4", E, "leaf1", "Ethernet0", put("leaf1", "PORT", "Ethernet0", mtu="1500")),
    ("L5", E, "leaf1", "leaf1:Ethernet16↔spine1:Ethernet8", put("spine1", "PORT", "Ethernet8", fec="none")),
    ("L6", W, "leaf1", "leaf1:Ethernet16↔spine1:Ethernet8", put("spine1", "PORT", "Ethernet8", pfc_asym="on")),
    ("L7", W, "spine1", "Ethernet8", put("spine1", "DEVICE_NEIGHBOR", "Ethernet8", port="Ethernet24")),
    (
        "L8",
        W,
        "leaf1",
        "Ethernet24",
        lambda f: (
            f["leaf1"].update(PORTCHANNEL_MEMBER={"PortChannel1|Ethernet16": {}, "PortChannel1|Ethernet24": {}}),
            f["spine1"].update(PORTCHANNEL_MEMBER={"PortChannel1|Ethernet8": {}}),
            f["spine2"].update(PORTCHANNEL_MEMBER={"PortChannel1|Ethernet8": {}}),
            put("leaf1", "CABLE_LENGTH", "AZURE", Ethernet24="300m")(f),
        ),
    ),
    ("L8", E, "leaf1", "Ethernet16", lambda f: f["leaf1"].update(PORTCHANNEL_MEMBER={"PortChannel1|Ethernet16": {}})),
    ("L9", E, "leaf1", "leaf1→leaf2", put("spine1", "PORT_QOS_MAP", "Ethernet16", pfc_enable="4")),
    (
        "T1",
        E,
        "spine1",
        "Ethernet8",
        lambda f: (
            put("leaf1", "VXLAN_TUNNEL", "v", src_ip="10.0.0.1")(f),
            put("spine1", "PORT", "Ethernet8", mtu="9000")(f),
        ),
    ),
    ("T2", E, "leaf1", "VXLAN_TUNNEL|v", put("leaf1", "VXLAN_TUNNEL", "v", src_ip="10.0.0.1", dscp_mode="pipe")),
    ("T3", E, "leaf1", "VXLAN_TUNNEL|v", put("leaf1", "VXLAN_TUNNEL", "v", ecn_mode="copy_from_outer")),
    (
        "T6",
        W,
        "leaf1",
        "Vlan100",
        lambda f: (
            put("leaf1", "VLAN", "Vlan100", vlanid="100", mtu="1500")(f),
            put("leaf1", "VLAN_INTERFACE", "Vlan100")(f),
            put("leaf1", "VLAN_MEMBER", "Vlan100|Ethernet0", tagging_mode="untagged")(f),
        ),
    ),
    (
        "P1",
        E,
        "leaf1",
        "leaf1:Ethernet16↔spine1:Ethernet8",
        lambda f: (
            put("leaf1", "INTERFACE", "Ethernet16|10.1.0.0/31")(f),
            put("spine1", "INTERFACE", "Ethernet8|10.1.0.3/31")(f),
        ),
    ),
    (
        "P1",
        E,
        "leaf1",
        "leaf1:Ethernet16↔spine1:Ethernet8",
        lambda f: (
            put("leaf1", "INTERFACE", "Ethernet16|10.1.0.0/31")(f),
            put("spine1", "INTERFACE", "Ethernet8|10.1.0.0/31")(f),
        ),
    ),
    ("P2", E, "leaf1", "BGP_NEIGHBOR|10.0.0.1", put("leaf1", "BGP_NEIGHBOR", "10.0.0.1", name="spine1", asn="65009")),
    (
        "P1",
        W,
        "spine1",
        "leaf1:Ethernet16↔spine1:Ethernet8",
        lambda f: (
            put("leaf1", "INTERFACE", "Ethernet16|10.1.0.0/31")(f),
            put("spine1", "LOOPBACK_INTERFACE", "Loopback0|10.0.0.9/32")(f),
        ),
    ),
    ("P3", W, "leaf1", "BGP_NEIGHBOR|10.0.0.1", put("leaf1", "BGP_NEIGHBOR", "10.0.0.1", name="spine1", asn="65000")),
    ("L12", E, "leaf1", "Ethernet0", put("leaf1", "PORT", "Ethernet0", admin_status="down")),
    (
        "L7",
        I,
        "leaf1",
        "Ethernet0",
        lambda f: [put("leaf1", "PORT", f"Ethernet{it}", admin_status="down")(f) for it in (0, 8)],
    ),
    (
        "P3",
        E,
        "leaf1",
        "BGP_NEIGHBOR|10.0.0.1",
        lambda f: (
            put("leaf1", "BGP_NEIGHBOR", "10.0.0.1", name="spine1", asn="65000")(f),
            put("spine1", "BGP_NEIGHBOR", "10.0.0.9", name="leaf2", asn="65102")(f),
        ),
    ),
    (
        "P4",
        W,
        "leaf1",
        "Ethernet24",
        lambda f: (
            put("leaf1", "MCLAG_DOMAIN", "1", peer_link="PortChannel9", source_ip="10.0.0.1", peer_ip="10.0.0.2")(f),
            put("leaf1", "PORTCHANNEL_MEMBER", "PortChannel9|Ethernet24")(f),
            put("leaf1", "PORT_QOS_MAP", "Ethernet24", pfc_enable="")(f),
        ),
    ),
    ("P5", W, "leaf1", "MUX_CABLE", put("leaf1", "MUX_CABLE", "Ethernet0", server_ipv4="10.0.0.2/32", state="auto")),
    (
        "P5",
        E,
        "leaf1",
        "MUX_CABLE",
        lambda f: (
            put("leaf1", "MUX_CABLE", "Ethernet0", server_ipv4="10.0.0.2/32", state="auto")(f),
            put("leaf1", "SYSTEM_DEFAULTS", "tunnel_qos_remap", status="disabled")(f),
        ),
    ),
    ("L12", E, "spine1", "Ethernet8", put("spine1", "PORT", "Ethernet8", admin_status="down")),
    (
        "L4",
        E,
        "spine1",
        "leaf1:Ethernet16↔spine1:Ethernet8",
        lambda f: (
            put("leaf1", "VXLAN_TUNNEL", "v", src_ip="10.0.0.1")(f),
            put("spine1", "PORT", "Ethernet8", mtu="9040")(f),
        ),
    ),
]


@one_case(CASES)
def test_one_change_is_found_by_its_check(
    id_: str, severity: Severity, device: str, obj: str, change: Change, judge: Judge
) -> None:
    assert_found(judge, id_, severity, device, obj, change)


def test_a_links_file_can_contradict_the_neighbour_tables(judge: Judge) -> None:
    links = {
        "links": [
            {"a": ["leaf1", "Ethernet16"], "b": ["spine2", "Ethernet8"], "length_m": 100},
            {"a": ["leaf1", "Ethernet99"], "b": ["spine1", "Ethernet8"]},
        ]
    }
    found = judge(small_fabric(), links=links)
    assert {(it.device, it.object) for it in found if it.check.id == "L7"} >= {
        ("leaf1", "Ethernet16"),
        ("leaf1", "Ethernet99"),
    }
    assert any("100 m in the links file" in it.text for it in found if it.check.id == "H5")


def test_an_uplink_to_a_switch_that_was_not_given_is_no_port_to_a_host(judge: Judge) -> None:
    leaf = switch(
        "leaf1",
        "65101",
        "ToRRouter",
        {
            "Ethernet0": ("node1", "mlx5_0"),
            "Ethernet8": ("core1", "Ethernet4"),
            "Ethernet16": ("agg1", "x1"),
            "Ethernet24": ("node2", "mlx5_0"),
        },
    )
    leaf["DEVICE_NEIGHBOR_METADATA"] = {"agg1": {"type": "LeafRouter"}}
    for port in ("Ethernet0", "Ethernet8", "Ethernet16"):
        leaf["PFC_WD"].pop(port)
    found = {it.object: it.severity for it in judge({"leaf1": leaf}, only={"W2"})}
    assert found == {"Ethernet0": E, "Ethernet8": W, "Ethernet16": W}
    leaf["PFC_WD"].pop("Ethernet24")
    assert {it.severity for it in judge({"leaf1": leaf}, only={"W2"})} == {E}  # the whole switch is one mistake


def test_a_lossy_path_shows_the_entry_that_makes_it_so(judge: Judge) -> None:
    fabric = small_fabric()
    put("leaf1", "DSCP_TO_TC_MAP", "M", _26="0")(fabric)
    evidence = next(it for it in judge(fabric, only={"L9"}) if it.device == "leaf1").evidence
    assert next((it.label, it.value) for it in evidence) == ("DSCP_TO_TC_MAP|M|26", "0")
    assert {it.place.file.rpartition("/")[2] for it in evidence if it.place} == {"leaf1.json"}


def test_pfc_that_is_negotiated_and_link_wide_pause_are_named(tmp_path: Path) -> None:
    (tmp_path / "n1.cfg").write_text(
        "system qos\n  service-policy type network-qos N\npolicy-map type network-qos N\n"
        "  class type network-qos c-8q-nq3\n"
        "    pause pfc-cos 3\ninterface Ethernet1/1\n  flowcontrol receive on\n",
        encoding="utf-8",
    )
    found = {it.check.id: it.object for it in validate(load_network([tmp_path]), only={"L10", "L11"}).findings}
    assert found == {"L10": "Ethernet1/1", "L11": "Ethernet1/1"}
