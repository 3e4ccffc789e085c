"""Access lists: how they are read in each language, and what they do with a flow."""

from __future__ import annotations

import json

import pytest

from fabric.configs.filters import TCP, UDP, Flow, network_of
from fabric.configs.load import parse_device
from fabric.configs.model import Device
from tests.mistakes.mistake import LANGUAGES

_VXLAN = Flow(UDP, None, 4789, 26, network_of("10.0.0.2"), network_of("10.0.0.1"))
_ROCE = Flow(UDP, None, 4791, 26)


def _eos(rules: str) -> Device:
    text = LANGUAGES["eos"].good()["leaf1.cfg"]
    port = "   ip address 10.1.0.0/31\n"
    return parse_device(
        text.replace(port, f"{port}   ip access-group F in\n") + f"ip access-list F\n{rules}", "leaf1.cfg"
    )


@pytest.mark.parametrize(
    ("rules", "passes"),
    [
        ("   10 permit udp any any eq vxlan\n", True),
        ("   10 permit udp any any eq 4788\n", False),
        ("   10 permit udp any any range 4788 4789\n", True),
        ("   10 permit udp any any range 4790 4800\n", False),
        ("   10 permit udp any any eq bgp vxlan\n", True),
        ("   10 permit tcp any any\n", False),
        ("   10 permit ip host 10.0.0.2 any\n", True),
        ("   10 permit ip host 10.0.0.3 any\n", False),
        ("   10 permit ip 10.0.0.0/24 10.0.0.0 0.0.0.255\n", True),
        ("   10 permit ip 10.0.0.0 0.0.0.1 any\n", False),
        ("   20 deny ip any any\n   10 permit ip any any\n", True),
        ("   10 permit ip any any dscp af31\n", True),
        ("   10 permit ip any any dscp 48\n", False),
        ("   10 permit udp any any gt 4788 log\n", True),
        ("   10 permit udp any any neq 4789\n", False),
        ("", False),
        ("   10 permit ip any any ttl eq 1\n", None),
        ("   10 deny ip any any ttl eq 1\n   20 permit ip any any\n", None),
        ("   10 permit ip any any ttl eq 1\n   20 permit udp any any\n", True),
    ],
)
def test_the_first_rule_that_matches_decides_and_what_is_not_known_stays_open(rules: str, passes: bool | None) -> None:
    device = _eos(rules)
    assert device.filters["F"].decide(_VXLAN)[0] is passes


def test_a_source_that_the_files_do_not_say_leaves_a_rule_about_it_open() -> None:
    found = _eos("   10 permit udp 192.168.0.0/16 any eq 4791\n").filters["F"]
    assert found.decide(_ROCE)[0] is None


def test_a_list_that_is_read_is_not_listed_and_a_line_that_is_not_read_is() -> None:
    device = _eos("   10 permit udp any any eq 4789\n   20 permit ip any any ttl eq 1\n")
    assert [it.what for it in device.unread] == ["'20 permit ip any any ttl eq 1'"]


def test_a_list_that_no_port_has_is_listed_as_a_whole() -> None:
    text = LANGUAGES["eos"].good()["leaf1.cfg"] + "ip access-list F\n   10 deny udp any any eq 4791\n"
    device = parse_device(text, "leaf1.cfg")
    assert not device.filters
    assert [it.roce for it in device.unread] == ["filter on UDP 4791"]


def test_sonic_asks_the_rule_of_the_highest_priority_first_and_passes_the_rest() -> None:
    tree = LANGUAGES["sonic"].good()["leaf1.json"]
    tree["ACL_TABLE"] = {"F": {"type": "L3", "stage": "ingress", "ports": "Ethernet8,Ethernet16"}}
    tree["ACL_RULE"] = {
        "F|LOW": {"PRIORITY": "1", "IP_PROTOCOL": "17", "PACKET_ACTION": "DROP"},
        "F|HIGH": {"PRIORITY": "9", "L4_DST_PORT_RANGE": "4780-4789", "IP_PROTOCOL": "17", "PACKET_ACTION": "FORWARD"},
    }
    device = parse_device(json.dumps(tree), "leaf1.json")
    found = device.filters["F"]
    assert [found.decide(it)[0] for it in (_VXLAN, _ROCE, Flow(TCP, None, 179))] == [True, False, True]
    assert not [it for it in device.unread if "ACL" in it.what]


def test_a_rule_of_sonic_with_an_unknown_field_leaves_the_tables_listed() -> None:
    tree = LANGUAGES["sonic"].good()["leaf1.json"]
    tree["ACL_TABLE"] = {"F": {"type": "L3", "stage": "ingress", "ports": ["Ethernet8"]}}
    tree["ACL_RULE"] = {"F|R": {"PRIORITY": "1", "IN_PORTS": "Ethernet8", "PACKET_ACTION": "DROP"}}
    device = parse_device(json.dumps(tree), "leaf1.json")
    assert device.filters["F"].decide(_ROCE)[0] is None
    assert {"table ACL_TABLE", "table ACL_RULE"} <= {it.what for it in device.unread}


def test_nvue_passes_what_no_rule_matches_and_orders_rules_by_number() -> None:
    module = LANGUAGES["nvue"]
    tree = module.good()["leaf1.yaml"]
    udp = {"ip": {"protocol": "udp", "udp": {"dest-port": {"4789": {}}}}}
    tree["acl"] = {
        "F": {
            "type": "ipv4",
            "rule": {"100": {"match": udp, "action": {"deny": {}}}, "20": {"match": udp, "action": {"permit": {}}}},
        }
    }
    tree["interface"]["swp3"]["acl"] = {"F": {"inbound": {}}}
    found = parse_device(module.text(tree), "leaf1.yaml").filters["F"]
    assert [found.decide(it)[0] for it in (_VXLAN, _ROCE)] == [True, True]
