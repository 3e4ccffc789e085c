"""Whether an EOS port classifies by the DSCP or by the CoS of a packet."""

from __future__ import annotations

from typing import Final

import pytest

from fabric.configs.load import parse_device

PORT: Final = """qos map dscp 26 to traffic-class 3
{top}interface Ethernet1/1
   speed 100g-4
   {lines}
   priority-flow-control on
   priority-flow-control priority 3 no-drop
"""
MEMBER: Final = "channel-group 10 mode active"


def class_of(lines: str, top: str = "") -> int:
    """The traffic class of DSCP 26."""
    device = parse_device(PORT.format(lines=lines, top=top), "leaf1.cfg")
    assert not device.unread
    assert not device.defects
    found = device.map_of(device.ports["Ethernet1/1"], "dscp_to_tc")
    assert found is not None
    return found.entries[26]


@pytest.mark.parametrize(
    ("lines", "tc"),
    [
        ("mtu 9214", 1),
        ("switchport mode trunk", 1),
        ("no switchport", 3),
        ("qos trust dscp", 3),
        ("no switchport\n   qos trust cos", 1),
        ("no switchport\n   no qos trust", 1),
        ("ip address 10.0.0.0/31", 3),
    ],
)
def test_a_port_is_switched_and_trusts_the_cos_where_no_line_says_more(lines: str, tc: int) -> None:
    assert class_of(lines) == tc


@pytest.mark.parametrize(("lines", "tc"), [("mtu 9214", 3), ("switchport", 1), ("no switchport", 3)])
def test_ports_may_be_routed_by_default(lines: str, tc: int) -> None:
    assert class_of(lines, "switchport default mode routed\n") == tc


@pytest.mark.parametrize(
    ("bundle", "lines", "tc"),
    [
        ("switchport mode trunk", MEMBER, 1),
        ("qos trust dscp", MEMBER, 3),
        ("no switchport", MEMBER, 3),
        ("mtu 9214", f"{MEMBER}\n   qos trust dscp", 1),
        ("no switchport\n   qos trust cos", f"{MEMBER}\n   no switchport", 1),
        ("service-profile R", MEMBER, 3),
        ("service-policy type qos input P", MEMBER, 3),
    ],
)
def test_members_of_a_port_channel_have_its_trust(bundle: str, lines: str, tc: int) -> None:
    profile = "qos profile R\n   qos trust dscp\n" if "service-profile" in bundle else ""
    top = (
        f"{profile}class-map type qos match-any C\n   match dscp 26\n"
        "policy-map type quality-of-service P\n   class C\n      set traffic-class 3\n"
    )
    assert class_of(lines, f"{top}interface Port-Channel10\n   {bundle}\n") == tc


@pytest.mark.parametrize(("dscp", "tc"), [(26, 3), (30, 1)])
def test_packets_of_no_class_of_a_policy_have_the_cos_on_a_switched_port(dscp: int, tc: int) -> None:
    text = (
        "qos map dscp 30 to traffic-class 3\nclass-map type qos match-any C\n   match dscp 26\n"
        "policy-map type quality-of-service P\n   class C\n      set traffic-class 3\n"
        "interface Ethernet1\n   service-policy type qos input P\n"
        "interface Ethernet2\n   no switchport\n   service-policy type qos input P\n"
    )
    device = parse_device(text, "leaf1.cfg")
    switched, routed = (device.map_of(device.ports[name], "dscp_to_tc") for name in ("Ethernet1", "Ethernet2"))
    assert switched is not None
    assert routed is not None
    assert (switched.entries[dscp], routed.entries[dscp]) == (tc, 3)


def test_a_member_of_a_port_channel_that_is_not_in_the_file_is_left_open() -> None:
    assert class_of(MEMBER) == 3


@pytest.mark.parametrize(
    ("lines", "top", "tc"),
    [("qos cos 3", "", 3), ("qos cos 1", "", 0), ("mtu 9214", "qos map cos 0 to traffic-class 3\n", 3)],
)
def test_packets_without_a_tag_have_the_cos_of_their_port(lines: str, top: str, tc: int) -> None:
    assert class_of(lines, top) == tc


def test_the_profile_of_a_port_channel_holds_for_its_members() -> None:
    top = "qos profile R\n   priority-flow-control on\n   priority-flow-control priority 4 no-drop\n"
    text = PORT.format(lines=MEMBER, top=f"{top}interface Port-Channel10\n   service-profile R\n")
    assert parse_device(text, "leaf1.cfg").ports["Ethernet1/1"].lossless == {3, 4}


def test_a_later_block_of_a_port_takes_the_trust_of_a_range_back() -> None:
    text = "qos map dscp 26 to traffic-class 3\ninterface Ethernet1-2\n   switchport\n   qos trust dscp\n"
    device = parse_device(f"{text}interface Ethernet1\n   no qos trust\n", "leaf1.cfg")
    maps = [device.map_of(device.ports[name], "dscp_to_tc") for name in ("Ethernet1", "Ethernet2")]
    assert [it.entries[26] for it in maps if it] == [1, 3]


@pytest.mark.parametrize(("lines", "tc"), [("qos trust dscp\n   qos dscp 26", 3), ("qos dscp 26", 1)])
def test_the_default_dscp_of_a_port_classifies_no_packet_that_has_a_dscp(lines: str, tc: int) -> None:
    assert class_of(lines) == tc


def test_a_default_dscp_in_a_profile_is_read_and_one_beyond_63_is_a_defect() -> None:
    profile = "qos profile R\n   qos trust dscp\n   qos dscp 26\n"
    assert class_of("service-profile R", profile) == 3
    device = parse_device(PORT.format(lines="qos dscp 64", top=""), "leaf1.cfg")
    assert [it.text for it in device.defects] == ["qos dscp 64 is outside 0..63"]
