"""Single mistakes in a working fabric that trial rollouts let through: each is an error at the right place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from fabric.configs.load import load_network
from fabric.configs.policy import Clause, Use
from fabric.controlplane.bgp.afi import IPV4_UNICAST
from fabric.controlplane.evpn.evpn_nlri import EVPN
from fabric.validate.checks.base import Finding, Severity
from fabric.validate.facts import Facts
from fabric.validate.policies import policies_of
from fabric.validate.reachability import Reachability
from fabric.validate.runner import validate
from fabric.validate.sessions import End, Peering
from tests.mistakes import eos, nvue, nxos
from tests.mistakes.mistake import LANGUAGES, write


def changed(language: str, folder: Path, edits: Mapping[str, tuple[tuple[str, str], ...]]) -> list[Finding]:
    """Errors of the working fabric with these replacements: file -> (old text, new text)."""
    files = LANGUAGES[language].good()
    for name, pairs in edits.items():
        for old, new in pairs:
            assert old in files[name], old
            files[name] = files[name].replace(old, new, 1)
    write(language, files, folder)
    return [it for it in validate(load_network([folder])).findings if it.severity is Severity.ERROR]


def test_an_eos_vlan_that_only_exports_learns_nothing(tmp_path: Path) -> None:
    target = "route-target both 65000:10100"
    found = changed("eos", tmp_path, {"leaf2.cfg": ((target, "route-target export 65000:10100"),)})
    assert {(it.check.id, it.device) for it in found} >= {("V3", "leaf2")}
    assert "imports nothing" in next(it.text for it in found if it.check.id == "V3")
    reach = Reachability(Facts(load_network([tmp_path])))
    ways = {
        (a.device.name, b.device.name): reach.between(a, b).reaches
        for a in reach.groups
        for b in reach.groups
        if a is not b
    }
    assert ways == {("leaf1", "leaf2"): True, ("leaf2", "leaf1"): False}


def test_an_eos_vlan_that_only_imports_is_not_learned(tmp_path: Path) -> None:
    target = "route-target both 65000:10100"
    changed("eos", tmp_path, {"leaf2.cfg": ((target, "route-target import 65000:10100"),)})
    reach = Reachability(Facts(load_network([tmp_path])))
    one, other = sorted(reach.groups, key=lambda it: it.device.name)
    assert reach.between(one, other).reaches is False
    assert reach.between(other, one).reaches is True


def test_an_nxos_segment_with_targets_of_one_direction_only(tmp_path: Path) -> None:
    found = changed("nxos", tmp_path, {"leaf1.cfg": (("    route-target import 65000:10100\n", ""),)})
    assert {(it.check.id, it.device) for it in found} >= {("V3", "leaf1")}


def test_targets_of_nxos_for_other_families_are_not_those_of_evpn(tmp_path: Path) -> None:
    vrf = (
        "vrf context RED\n  vni 50001\n  rd auto\n  address-family ipv4 unicast\n"
        "    route-target both 65000:50001\n    route-target both 65000:{} evpn\ninterface nve1"
    )
    found = changed(
        "nxos",
        tmp_path,
        {
            "leaf1.cfg": (
                ("interface nve1", vrf.format(50011)),
                ("  member", "  member vni 50001 associate-vrf\n  member"),
            ),
            "leaf2.cfg": (
                ("interface nve1", vrf.format(50001)),
                ("  member", "  member vni 50001 associate-vrf\n  member"),
            ),
        },
    )
    assert ["65000:50011" in str(it.evidence) for it in found if it.check.id == "V3"] == [True]


@pytest.mark.parametrize(
    ("language", "old", "new"),
    [
        ("eos", "neighbor {} send-community", "neighbor {} route-map NONE out\n   neighbor {} send-community"),
        ("eos", "neighbor {} send-community", "neighbor {} prefix-list NONE in\n   neighbor {} send-community"),
        ("nxos", "      send-community extended\n", "      send-community extended\n      route-map NONE in\n"),
    ],
)
def test_a_policy_that_no_line_defines_is_an_error(language: str, old: str, new: str, tmp_path: Path) -> None:
    files = LANGUAGES[language].good()
    peer = next(line.split()[1] for line in files["leaf1.cfg"].splitlines() if line.strip().startswith("neighbor 10"))
    found = changed(language, tmp_path, {"leaf1.cfg": ((old.replace("{}", peer), new.replace("{}", peer)),)})
    assert {(it.check.id, it.device) for it in found} >= {("R1", "leaf1")}
    assert "NONE" in next(it.text for it in found if it.check.id == "R1")


@pytest.mark.parametrize(("language", "text"), [("eos", "   match"), ("nxos", "  match")])
def test_a_prefix_list_that_no_line_defines_is_an_error(language: str, text: str, tmp_path: Path) -> None:
    policy = f"route-map CONNECTED permit 10\n{text} ip address prefix-list LOOPBAKS\n"
    family = {"eos": "   address-family ipv4\n", "nxos": "  address-family ipv4 unicast\n"}[language]
    line = {"eos": "      redistribute connected", "nxos": "    redistribute direct"}[language]
    edits = (("router bgp", policy + "router bgp"), (family, f"{family}{line} route-map CONNECTED\n"))
    found = changed(language, tmp_path, {"leaf1.cfg": edits})
    assert [(it.check.id, it.device) for it in found if "LOOPBAKS" in it.text] == [("R1", "leaf1")]


@pytest.mark.parametrize(
    ("language", "line"),
    [("eos", "ip virtual-router mac-address {}\n!\n"), ("nxos", "fabric forwarding anycast-gateway-mac {}\n")],
)
def test_a_gateway_without_a_mac_address_is_an_error(language: str, line: str, tmp_path: Path) -> None:
    text = LANGUAGES[language].good()["leaf2.cfg"]
    start = line.partition("{")[0]
    mac = text[text.index(start) + len(start) :].split()[0]
    found = changed(language, tmp_path, {"leaf2.cfg": ((line.format(mac), ""),)})
    assert {(it.check.id, it.device) for it in found} == {("V6", "leaf2")}


def test_an_address_of_a_gateway_without_its_mode_is_an_error(tmp_path: Path) -> None:
    found = changed("nxos", tmp_path, {"leaf1.cfg": (("  fabric forwarding mode anycast-gateway\n", ""),)})
    assert {(it.check.id, it.device) for it in found} == {("V6", "leaf1")}


@pytest.mark.parametrize("feature", ["nv overlay", "bgp", "interface-vlan", "vn-segment-vlan-based"])
def test_a_feature_of_nxos_that_is_not_on_is_an_error(feature: str, tmp_path: Path) -> None:
    found = changed("nxos", tmp_path, {"leaf1.cfg": ((f"feature {feature}\n", ""),)})
    assert {(it.check.id, it.device) for it in found} >= {("R9", "leaf1")}


@pytest.mark.parametrize("language", ["eos", "nxos"])
def test_a_port_in_a_vlan_that_does_not_exist_is_an_error(language: str, tmp_path: Path) -> None:
    found = changed(language, tmp_path, {"leaf1.cfg": (("access vlan 100", "access vlan 1000"),)})
    assert [(it.check.id, it.device) for it in found if "VLAN 1000" in it.text] == [("R1", "leaf1")]


def test_a_vlan_of_the_tunnel_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    found = changed("eos", tmp_path, {"leaf1.cfg": (("vlan 100\n!\n", "vlan 200\n!\n"),)})
    assert ("R1", "leaf1") in {(it.check.id, it.device) for it in found}


L3_VNI = (
    ("vlan 100\n", "vlan 3000\n  vn-segment 50001\nvlan 100\n"),
    (
        "interface nve1",
        (
            "vrf context RED\n  vni 50001\n"
            "interface Vlan3000\n  no shutdown\n  vrf member RED\n  ip forward\ninterface nve1"
        ),
    ),
    ("  member", "  member vni 50001 associate-vrf\n  member"),
)


@pytest.mark.parametrize(
    ("line", "new", "check"),
    [
        ("  vn-segment 50001\n", "", "R9"),
        ("  vrf member RED\n", "", "R9"),
        ("  ip forward\n", "", "R9"),
        (" associate-vrf", "", "V2"),
    ],
)
def test_a_part_of_an_l3_vni_of_nxos_is_missing(line: str, new: str, check: str, tmp_path: Path) -> None:
    edits = {"leaf1.cfg": (*L3_VNI, (line, new)), "leaf2.cfg": L3_VNI}
    assert [(it.check.id, it.device) for it in changed("nxos", tmp_path, edits)] == [(check, "leaf1")]


def test_each_session_of_two_switches_has_its_own_policy(tmp_path: Path) -> None:
    """One for IPv4 over the link, one for EVPN between the loopbacks: neither replaces the other."""
    write("eos", eos.good(), tmp_path)
    devices = load_network([tmp_path]).devices
    leaf, spine = devices["leaf1"], devices["spine1"]
    peers = []
    for family, multihop in (("ipv4", False), ("evpn", True)):
        leaf.identity.policies.route_maps[family] = [Clause(10, permit=False, where=())]
        policies = (Use("", inbound=False, name=family, where=()),)
        mine = replace(leaf.sessions[0], families=frozenset((family,)), policies=policies)
        theirs = replace(spine.sessions[0], families=frozenset((family,)))
        peers.append(Peering(End(leaf, mine), End(spine, theirs), multihop, None))
    (policy,), _ = policies_of(peers, [(0x0A000001, 32)])
    assert {(rule.name, rule.match.families) for rule in policy.policy.rules if not rule.name.isdigit()} == {
        ("ipv4", (IPV4_UNICAST.id,)),
        ("evpn", (EVPN.id,)),
    }


def test_a_vrf_of_eos_with_an_l3_vni_that_does_not_route_is_an_error(tmp_path: Path) -> None:
    vrf = ("ip routing\n", "ip routing\n!\nvrf instance RED\n!\n{}interface Vxlan1\n   vxlan vrf RED vni 50001\n!\n")
    bgp = ("   address-family ipv4\n", "   vrf RED\n      route-target both evpn 1:50001\n   address-family ipv4\n")
    edits = {
        "leaf1.cfg": ((vrf[0], vrf[1].format("")), bgp),
        "leaf2.cfg": ((vrf[0], vrf[1].format("ip routing vrf RED\n!\n")), bgp),
    }
    assert [(it.check.id, it.device) for it in changed("eos", tmp_path, edits)] == [("R9", "leaf1")]


def test_lines_of_spanning_tree_are_known(tmp_path: Path) -> None:
    for language, mode in (("eos", "spanning-tree portfast"), ("nxos", "spanning-tree port type edge")):
        folder = tmp_path / language
        folder.mkdir()
        line = "switchport access vlan 100\n"
        changed(
            language,
            folder,
            {"leaf1.cfg": ((line, f"{line}   {mode}\n" if language == "eos" else f"{line}  {mode}\n"),)},
        )
        device = load_network([folder]).devices["leaf1"]
        assert not [it.what for it in device.unread if "spanning-tree" in it.what]


def test_a_session_of_nvue_that_is_internal_to_the_wrong_as_is_an_error(tmp_path: Path) -> None:
    files = nvue.good()
    name = next(it for it in files if it.startswith("leaf1"))
    text = nvue.text(files[name])
    number = next(it.split(":")[1].strip(" '") for it in text.splitlines() if "remote-as" in it)
    files[name] = text.replace(number, "internal")
    write("nvue", files, tmp_path)
    found = validate(load_network([tmp_path])).findings
    assert {it.device for it in found if it.check.id == "P2"} == {"leaf1"}


def test_a_remedy_for_a_curve_is_another_curve(tmp_path: Path) -> None:
    files = eos.good()
    for name in files:
        files[name] = files[name].replace("minimum-threshold 400 kbytes", "minimum-threshold 90 kbytes")
    write("eos", files, tmp_path)
    fixes = [it.fix for it in validate(load_network([tmp_path])).findings if it.check.id == "E5"]
    assert fixes
    assert all(it is not None and "minimum-threshold 90000 " not in it.command for it in fixes)


def test_the_working_fabrics_have_no_error(tmp_path: Path) -> None:
    for module in (eos, nxos):
        folder = tmp_path / module.__name__
        folder.mkdir()
        assert not changed(module.__name__.rpartition(".")[2], folder, {})
