"""Statements of configuration mode applied to running-configs: a line takes the place of the one that it replaces."""

from __future__ import annotations

import pytest

from fabric.configs.load import parse_device
from fabric.validate.blocks import blocks_of
from fabric.validate.fix import lines
from fabric.validate.fix.differences import differences
from fabric.validate.fix.peers import change_of

EOS = """\
hostname leaf1
!
qos map dscp 24 25 26 to traffic-class 3
!
interface Ethernet1
   description to spine
   mtu 1500
   no switchport
   shutdown
!
interface Vxlan1
   vxlan vlan 100 vni 10100
!
router bgp 65001
   neighbor 10.0.0.1 remote-as 65000
   address-family ipv4
      network 10.0.0.9/32
!
end
"""
NXOS = """\
interface nve1
  member vni 10100
    mcast-group 239.1.1.1
interface Vlan100
  mtu 9216
"""


EOS_QUEUE = """\
qos profile ROCE
   uc-tx-queue 3
      {}
      bandwidth percent 90
"""


def _line(text: str, statements: tuple[str, ...], *, explicit_up: bool = False) -> tuple[list[str], list[str]]:
    """Lines that go, and lines that come."""
    new = lines.applied(text, statements, explicit_up=explicit_up)
    old_rows, new_rows = text.split("\n"), new.split("\n")
    assert [it for it in new_rows if it in old_rows] == [it for it in old_rows if it in new_rows]
    return [it for it in old_rows if it not in new_rows], [it for it in new_rows if it not in old_rows]


@pytest.mark.parametrize(
    ("statements", "gone", "come"),
    [
        (("interface Ethernet1", "mtu 9214"), ["   mtu 1500"], ["   mtu 9214"]),
        (("interface Ethernet1", "no shutdown"), ["   shutdown"], []),
        (("interface Ethernet1", "switchport"), ["   no switchport"], ["   switchport"]),
        (("interface Vxlan1", "vxlan vlan 100 vni 10200"), ["   vxlan vlan 100 vni 10100"],
         ["   vxlan vlan 100 vni 10200"]),
        (("router bgp 65001", "neighbor 10.0.0.1 remote-as 65010"), ["   neighbor 10.0.0.1 remote-as 65000"],
         ["   neighbor 10.0.0.1 remote-as 65010"]),
        (("router bgp 65001", "address-family evpn", "neighbor 10.0.0.1 activate"), [],
         ["   address-family evpn", "      neighbor 10.0.0.1 activate"]),
        (("router bgp 65001", "address-family ipv4", "network 10.0.0.8/32"), [], ["      network 10.0.0.8/32"]),
        (("qos map dscp 26 to traffic-class 4",), ["qos map dscp 24 25 26 to traffic-class 3"],
         ["qos map dscp 24 25 to traffic-class 3", "qos map dscp 26 to traffic-class 4"]),
        (("interface Ethernet9", "no shutdown"), [], ["interface Ethernet9"]),
    ],
)  # fmt: skip
def test_a_statement_changes_its_own_line_only(statements: tuple[str, ...], gone: list[str], come: list[str]) -> None:
    assert _line(EOS, statements) == (gone, come)


def test_a_new_line_comes_before_the_end_of_the_configuration() -> None:
    assert lines.applied(EOS, ("ip routing",)).split("\n")[-4:] == ["ip routing", "!", "end", ""] or lines.applied(
        EOS, ("ip routing",)
    ).split("\n")[-3:] == ["ip routing", "end", ""]


def test_replication_takes_the_place_of_a_multicast_group() -> None:
    found = _line(NXOS, ("interface nve1", "member vni 10100", "ingress-replication protocol bgp"))
    assert found == (["    mcast-group 239.1.1.1"], ["    ingress-replication protocol bgp"])


def test_an_interface_of_nxos_is_brought_up_by_a_line() -> None:
    assert _line(NXOS, ("interface Vlan100", "no shutdown"), explicit_up=True) == ([], ["  no shutdown"])
    assert _line(NXOS, ("interface Vlan100", "no shutdown")) == ([], [])


def test_the_same_change_twice_is_the_change_once() -> None:
    once = lines.applied(EOS, ("router bgp 65001", "address-family evpn", "neighbor 10.0.0.1 activate"))
    assert lines.applied(once, ("router bgp 65001", "address-family evpn", "neighbor 10.0.0.1 activate")) == once


def test_the_depth_of_a_change_is_the_number_of_blocks_that_are_left() -> None:
    assert lines.depth(("router bgp 65001", "address-family evpn", "neighbor 10.0.0.1 activate")) == 2
    assert lines.depth(("router bgp 1", "neighbor 10.0.0.1", "address-family l2vpn evpn", "send-community both")) == 3
    assert lines.depth(("ip routing",)) == 0


@pytest.mark.parametrize(("old", "new"), [("priority strict", "no priority"), ("no priority", "priority strict")])
def test_a_queue_of_eos_is_strict_or_not_by_one_statement(old: str, new: str) -> None:
    text = EOS_QUEUE.format(old)
    found = _line(text, ("qos profile ROCE", "uc-tx-queue 3", new))
    assert found == ([f"      {old}"], [f"      {new}"])
    device = parse_device(f"hostname leaf1\n{text}", "leaf1.cfg")
    own, before = (blocks_of(device, it) for it in (text, EOS_QUEUE.format(new)))
    [[difference]] = differences(device, own, before, "the baseline has it so")
    assert change_of(device, [difference]).statements == ("qos profile ROCE", "uc-tx-queue 3", new)
