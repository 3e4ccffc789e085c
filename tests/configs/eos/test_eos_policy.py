"""EOS class and policy maps decide the traffic class of a port's packets."""

from __future__ import annotations

from typing import Final

from fabric.configs.load import parse_device
from fabric.configs.model import Device

CONFIG: Final = """! device: leaf1 (DCS-7060X6-64PE, EOS-4.32.1F)
hostname leaf1
qos map dscp 48 to traffic-class 6
class-map type qos match-any ROCE
   match dscp 26 28-29
class-map type qos match-any LATER
   match dscp 26 30
policy-map type quality-of-service IN
   class ROCE
      set traffic-class 3
   class LATER
      set traffic-class 5
   class class-default
      set traffic-class 0
interface Ethernet1/1
   no switchport
   service-policy type qos input IN
interface Ethernet2/1
   no switchport
"""


def classes(device: Device, port: str) -> dict[int, int]:
    found = device.map_of(device.ports[port], "dscp_to_tc")
    assert found is not None
    return found.entries


def test_a_config_with_policies_and_the_header_of_eos_is_eos() -> None:
    device = parse_device(CONFIG, "leaf1.cfg")
    assert (device.language, device.defects, device.unread) == ("eos", [], [])


def test_the_first_class_that_matches_decides_and_class_default_takes_the_rest() -> None:
    found = classes(parse_device(CONFIG, "leaf1.cfg"), "Ethernet1/1")
    assert {dscp: found[dscp] for dscp in (26, 28, 29, 30, 48, 63)} == {26: 3, 28: 3, 29: 3, 30: 5, 48: 0, 63: 0}


def test_a_port_without_the_policy_and_packets_of_no_class_have_the_global_map() -> None:
    device = parse_device(CONFIG.replace("   class class-default\n      set traffic-class 0\n", ""), "leaf1.cfg")
    assert classes(device, "Ethernet2/1")[26] == 3
    assert [classes(device, "Ethernet1/1")[dscp] for dscp in (26, 30, 48)] == [3, 5, 6]
    assert classes(device, "Ethernet2/1")[30] == 3


def test_names_that_lead_nowhere_are_defects() -> None:
    for old, new in (("input IN", "input OUT"), ("   class LATER", "   class LATE")):
        device = parse_device(CONFIG.replace(old, new), "leaf1.cfg")
        assert [it.check for it in device.defects] == ["R1"]


def test_a_line_that_is_not_understood_in_a_class_could_act_on_roce() -> None:
    for line, effect in (("police rate 10 gbps burst-size 1 mbytes", "rate limit"), ("set cos 0", "policy map")):
        device = parse_device(CONFIG.replace("      set traffic-class 3\n", f"      {line}\n"), "leaf1.cfg")
        assert [it.roce for it in device.unread] == [effect]
