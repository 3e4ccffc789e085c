"""Lines with one mistyped word, and numbers that no switch takes: a defect that names the line, in every language."""

from __future__ import annotations

import pytest

from fabric.configs.load import parse_device
from fabric.configs.running_config import mistyped
from fabric.configs.running_config.mistyped import intended
from tests.mistakes import nvue
from tests.mistakes.mistake import good, put

_EOS = "! device: leaf1 (DCS-7060X6-64PE, EOS-4.32.1F)\nhostname leaf1\n"
_NXOS = "hostname leaf1\nnv overlay evpn\n" + "".join(
    f"feature {it}\n" for it in ("bgp", "isis", "nv overlay", "vn-segment-vlan-based", "interface-vlan")
)


def _defects(text: str) -> list[tuple[str, str]]:
    return [(it.check, it.text) for it in parse_device(text, "leaf1.cfg").defects]


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("priority-flow-control priority 3 no-dorp", "priority-flow-control priority 3 no-drop"),  # swapped
        ("priority-flow-contol priority 3 no-drop", "priority-flow-control priority 3 no-drop"),  # left out
        ("priority-flow-control prioritty 3 no-drop", "priority-flow-control priority 3 no-drop"),  # added
        ("priority-flow-control priority 3 no-drip", "priority-flow-control priority 3 no-drop"),  # replaced
        ("priority-flow-control priority 3 no-rdop", "priority-flow-control priority 3 no-drop"),  # of a part
        ("riority-flow-control priority 3 no-drop", ""),  # the first letter is another one
        ("router-idx 10.0.0.1", "router-id 10.0.0.1"),
        ("mtux 9214", "mtu 9214"),
        ("nox shutdown", "no shutdown"),
        ("on shutdown", ""),
        ("priority-flow-control prority 3 no-dorp", ""),  # two slips
    ],
)
def test_one_slip_leads_to_the_line_that_was_meant(given: str, meant: str) -> None:
    known = (r"priority-flow-control priority (\d+) no-drop", r"router-id (\S+)", r"mtu (\d+)", r"no shutdown")
    assert intended(given, known) == meant


def test_letters_that_look_like_digits_are_a_slip() -> None:
    assert intended("vxlan vlan 1OO vni 1010O", [r"vxlan vlan (\d+) vni (\d+)"]) == "vxlan vlan 100 vni 10100"
    assert intended("neighbor 10.1.0.l activate", [r"neighbor ([\d.]+) activate"]) == "neighbor 10.1.0.1 activate"
    assert intended("neighbor lo activate", [r"neighbor ([\d.]+) activate"]) == ""


def test_a_word_with_a_capital_is_one_of_the_words() -> None:
    assert intended("interface etherent1/3", [r"interface (Ethernet[\d/,-]+)"]) == "interface Ethernet1/3"


def test_a_word_that_fits_no_other_line_is_left_alone() -> None:
    assert intended("shape rate 100 gbps", [r"shape rate (\d+)(?: (kbps|mbps|pps|percent))?"]) == ""
    assert intended("mc-tx-queue 3", [r"(?:uc-)?tx-queue (\d)"]) == ""
    assert intended("address-family ipv6", [r"address-family (ipv4|evpn)"]) == ""


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (
            f"{_EOS}qos profile R\n   priority-flow-control on\n   uc-tx-queue 3\n      priorty strict\n",
            "priority strict",
        ),
        (f"{_EOS}interface Ethernet1/1\n   servce-profile R\n", "service-profile R"),
        (f"{_NXOS}interface Ethernet1/1\n  priority-flow-control mdoe on\n", "priority-flow-control mode on"),
        (f"{_NXOS}router bgp 65101\n  neigbor 10.1.0.1\n    remote-as 65000\n", "neighbor 10.1.0.1"),
    ],
)
def test_a_mistyped_line_is_an_error_that_names_the_line_that_was_meant(text: str, meant: str) -> None:
    used = text + "interface Ethernet1/1\n   service-profile R\n" if "qos profile" in text else text
    found = [said for check, said in _defects(used) if check == "R5"]
    assert any(f"did you mean '{meant}'?" in said for said in found), found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{_EOS}qos map dscp 26 to traffic-class 33\n", "traffic-class 33 is outside 0..7"),
        (f"{_EOS}qos map dscp 26 64 to traffic-class 3\n", "dscp 64 is outside 0..63"),
        (f"{_EOS}qos map traffic-class 3 to uc-tx-queue 9\n", "queue 9 is outside 0..7"),
        (
            f"{_EOS}interface Ethernet1/1\n   priority-flow-control on\n   priority-flow-control priority 8 no-drop\n",
            "priority 8 is outside 0..7",
        ),
        (f"{_EOS}router bgp 65101\n   timers bgp 3\n", "'timers bgp 3' has no hold time"),
        (f"{_EOS}interface Vxlan2\n   vxlan source-interface Loopback0\n", "the only tunnel interface of the switch"),
        (f"{_EOS}router isis U\n   net 49.0001.0000.0000.0001.00\n", "has no 'address-family ipv4 unicast'"),
        (
            f"{_EOS}router ospf 1\ninterface Ethernet1/1\n   no switchport\n   ip ospf cost 65536\n",
            "cost 65536 is outside 1..65535",
        ),
        (f"{_NXOS}policy-map type qos P\n  class A\n    set qos-group 8\n", "qos-group 8 is outside 0..7"),
        (
            f"{_NXOS}policy-map type network-qos P\n  class type network-qos c-8q-nq3\n    pause pfc-cos 8\n",
            "pfc-cos 8 is outside 0..7",
        ),
        (f"{_EOS}router bgp 65101\n   neighbor 10.1.0.1 remote-as 6500O\n", "'6500O' is no AS number"),
        (f"{_EOS}router bgp 65101\n   neighbor 10.1.0.l remote-as 65000\n", "'10.1.0.l' is no address"),
        (f"{_NXOS}router bgp 65101\n  neighbor 10.1.0.1\n    remote-as 6500O\n", "'6500O' is no AS number"),
        (f"{_NXOS}router bgp 65101\n  timers bgp 3\n", "'timers bgp 3' has no hold time"),
        (f"{_NXOS}interface nve2\n  source-interface loopback0\n", "the only tunnel interface of the switch is nve1"),
        (f"{_NXOS}vlan 3968\n  vn-segment 10100\n", "VLAN 3968 is one of 3968..4094"),
        (f"{_NXOS}system vlan 400 reserve\nvlan 527\n  vn-segment 10100\n", "VLAN 527 is one of 400..527"),
        (f"{_NXOS}interface Ethernet1/1\n  isis metric 0\n", "cost 0 is outside 1..16777214"),
    ],
)
def test_a_value_that_no_switch_takes_is_a_defect(text: str, said: str) -> None:
    assert any(said in it for _, it in _defects(text)), _defects(text)


@pytest.mark.parametrize(
    "text",
    [
        f"{_EOS}qos map dscp 26 63 to traffic-class 7\n",
        f"{_EOS}router bgp 65101\n   timers bgp 3 9\n",
        f"{_EOS}interface Vxlan1\n   vxlan source-interface Loopback0\n",
        f"{_EOS}router isis U\n   net 49.0001.0000.0000.0001.00\n   address-family ipv4 unicast\n",
        f"{_NXOS}router isis U\n  net 49.0001.0000.0000.0001.00\n",
        f"{_NXOS}vlan 3967\n  vn-segment 10100\n",
        f"{_NXOS}system vlan 400 reserve\nvlan 528,3968\n",
        f"{_NXOS}interface Ethernet1/1\n  isis metric 16777214\n",
    ],
)
def test_the_value_next_to_it_is_none(text: str) -> None:
    assert not _defects(text)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("bridge", "domain", "br_default", "vlan", "1O0"), {}, "'1O0' is no VLAN from 1 to 4094"),
        (("bridge", "domain", "br_default", "vlan", "200-4095"), {}, "'200-4095' is no VLAN"),
        (("vrf", "default", "router", "bgp", "neighbor", "10.1.0.1", "multihop-ttl"), 256, "256 is outside 1..255"),
        (("vrf", "default", "router", "bgp", "neighbor", "10.1.0.1", "timers", "hold"), 70_000, "outside 0..65535"),
        (("interface", "swp3", "router", "ospf"), {"area": 0, "cost": 0}, "0 is outside 1..65535"),
    ],
)
def test_a_value_of_nvue_that_no_switch_takes_is_a_defect(path: tuple[str, ...], value: object, said: str) -> None:

    tree = put(*path, value=value)(good("nvue")["leaf1.yaml"])
    found = parse_device(nvue.text(tree), "leaf1.yaml").defects
    assert any(said in it.text for it in found), found


def test_an_unknown_line_is_compared_with_words_of_its_first_letters_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []

    def is_slip(given: str, word: str) -> bool:
        compared.append(word)
        return False

    monkeypatch.setattr(mistyped, "is_slip", is_slip)
    patterns = [f"{letter}{'x' * length} (\\d+)" for letter in "abcdefgh" for length in range(4, 14)]
    assert mistyped.intended("axxxxxx 5", patterns) == ""
    assert set(compared) == {"axxxxx", "axxxxxx", "axxxxxxx"}
