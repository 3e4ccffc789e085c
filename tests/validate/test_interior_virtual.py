"""Adjacencies over interfaces of VLANs and sub-interfaces, and management ports beside them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from fabric.configs.load import load_network, parse_device
from fabric.validate.adjacencies import interior_of
from fabric.validate.checks.base import Severity
from fabric.validate.facts import Facts
from fabric.validate.runner import validate
from tests.mistakes.mistake import LANGUAGES, good, write

Edit = Callable[[str], str]
PORTS = {"eos": ("Ethernet3/1", "Ethernet1/1"), "nxos": ("Ethernet1/3", "Ethernet1/1")}
LINES = r"( +)ip address (10\.1\.0\.\S+)\n(?: +ip (?:ospf|router).*\n)+"


def _active(text: str, port: str, name: str) -> str:
    """EOS has `passive-interface default`, and names the interfaces that are not."""
    return text.replace(f"no passive-interface {port}\n", f"no passive-interface {name}\n")


def over_vlan(port: str) -> Edit:
    """The address and OSPF of a port moved to the interface of VLAN 3001, of which the port is an access port."""

    def edit(text: str) -> str:
        start = text.index(f"interface {port}\n")
        found = re.compile(LINES).search(text, start)
        assert found is not None
        indent = found[1]
        vlan = f"{indent}switchport mode access\n{indent}switchport access vlan 3001\n"
        body = text[: found.start()] + vlan + text[found.end() :]
        body = body[:start] + body[start:].replace(f"{indent}no switchport\n", f"{indent}switchport\n", 1)
        up = "" if indent == "   " else "  no shutdown\n"
        svi = f"interface Vlan3001\n{indent}mtu 9214\n{up}{found[0]}"
        head = "vlan 3001\n" if indent == "   " else "feature interface-vlan\nvlan 3001\n"
        return _active(body.replace("\nrouter ospf", f"\n{head}{svi}router ospf", 1), port, "Vlan3001")

    return edit


def over_subinterface(port: str) -> Edit:
    """The address and OSPF of a port moved to its sub-interface 10."""

    def edit(text: str) -> str:
        start = text.index(f"interface {port}\n")
        found = re.compile(LINES).search(text, start)
        assert found is not None
        indent = found[1]
        word = "encapsulation dot1q vlan 10" if indent == "   " else "encapsulation dot1q 10"
        sub = f"interface {port}.10\n{indent}{word}\n{found[0]}"
        if indent != "   ":
            sub += "  no shutdown\n"
        rest = text[: found.start()] + text[found.end() :]
        return _active(rest.replace("\nrouter ospf", f"\n{sub}router ospf", 1), port, f"{port}.10")

    return edit


WAYS = {"vlan": (over_vlan, over_vlan), "sub-interface": (over_subinterface, over_subinterface)}


def fabric(language: str, folder: Path, way: str, change: Edit = lambda text: text) -> Path:
    files = good(language, loopbacks=True, interior="ospf")
    for name, port, of in zip(("leaf1", "spine1"), PORTS[language], WAYS[way], strict=True):
        files[f"{name}.cfg"] = of(port)(files[f"{name}.cfg"])
    files["leaf1.cfg"] = change(files["leaf1.cfg"])
    write(language, files, folder)
    return folder


def errors(folder: Path) -> list[str]:
    found = validate(load_network([folder]))
    return [it.check.id for it in found.causes if it.severity is Severity.ERROR]


def _in(name: str, old: str, new: str) -> Edit:
    """A change within one interface."""

    def edit(text: str) -> str:
        start = text.index(f"interface {name}")
        changed = text[:start] + re.sub(old, new, text[start:], count=1)
        assert changed != text
        return changed

    return edit


@pytest.mark.parametrize("language", PORTS)
@pytest.mark.parametrize("way", WAYS)
def test_an_adjacency_over_it_is_no_error_and_leads_on(way: str, language: str, tmp_path: Path) -> None:
    folder = fabric(language, tmp_path, way)
    facts = Facts(load_network([folder]))
    assert errors(folder) == []
    assert interior_of(facts).reaches(facts.network.devices["leaf1"], "10.0.0.11") is True


TAGS = {
    "other": (r"(encapsulation dot1q (?:vlan )?)10\n", r"\g<1>11\n"),
    "none": (r" +encapsulation dot1q (?:vlan )?10\n", ""),
    "out of range": (r"(encapsulation dot1q (?:vlan )?)10\n", r"\g<1>4095\n"),
}


@pytest.mark.parametrize("language", PORTS)
@pytest.mark.parametrize(("tag", "check"), [("other", "P1"), ("none", "R9"), ("out of range", "R5")])
def test_a_sub_interface_has_the_tag_of_the_other_end(tag: str, check: str, language: str, tmp_path: Path) -> None:
    port = f"{PORTS[language][0]}.10"
    folder = fabric(language, tmp_path, "sub-interface", _in(port, *TAGS[tag]))
    causes = [it for it in validate(load_network([folder])).causes if it.severity is Severity.ERROR]
    assert (causes[0].check.id, causes[0].first.device) == (check, "leaf1")
    if tag == "other":
        assert "VLAN tag 11 here, VLAN tag 10 there" in causes[0].first.text
        assert len(causes) == 1


@pytest.mark.parametrize("language", PORTS)
def test_a_sub_interface_does_not_meet_a_port_without_a_tag(language: str, tmp_path: Path) -> None:
    files = good(language, loopbacks=True, interior="ospf")
    files["leaf1.cfg"] = over_subinterface(PORTS[language][0])(files["leaf1.cfg"])
    write(language, files, tmp_path)
    first = validate(load_network([tmp_path])).causes[0]
    assert first.check.id == "P1"
    assert "VLAN tag 10 here, no VLAN tag there" in first.first.text


@pytest.mark.parametrize("language", PORTS)
def test_two_sub_interfaces_of_a_port_have_two_tags(language: str, tmp_path: Path) -> None:
    def twice(text: str) -> str:
        port = PORTS[language][0]
        word = "encapsulation dot1q vlan 10" if language == "eos" else "encapsulation dot1q 10"
        return text.replace(
            "\nrouter ospf", f"\ninterface {port}.20\n  {word}\n  ip address 10.8.0.1/31\nrouter ospf", 1
        )

    found = validate(load_network([fabric(language, tmp_path, "sub-interface", twice)])).causes[0]
    assert (found.check.id, "and so has" in found.first.text) == ("R9", True)


def _tag_defects(language: str, *blocks: str) -> list[str]:
    """What the reader says of sub-interfaces of a port whose lines these are."""
    port = PORTS[language][0]
    text = good(language)["leaf1.cfg"].removesuffix("end\n")
    for number, block in enumerate(blocks):
        rows = "".join(f"  {row}\n" for row in block.split("\n"))
        text += f"interface {port}.{20 + number}\n{rows}  ip address 10.8.{number}.1/31\n"
    return [it.text for it in parse_device(text, "leaf1.cfg").defects if it.check == "R9"]


@pytest.mark.parametrize(
    ("language", "first", "second", "said"),
    [
        ("eos", "encapsulation dot1q vlan 300 inner 30", "encapsulation dot1q vlan 300 inner 31", ""),
        ("eos", "encapsulation dot1q vlan 300 inner 30", "encapsulation dot1q vlan 300", ""),
        ("eos", "encapsulation dot1q vlan 300 inner 30", "encapsulation dot1q vlan 300 inner 30", "so has"),
        ("eos", "encapsulation vlan\n  client dot1q 200", "encapsulation vlan\n  client dot1q 201", ""),
        ("eos", "encapsulation vlan\n  client dot1q 200", "encapsulation dot1q vlan 200", "so has"),
        ("eos", "encapsulation vlan\n  client unmatched", "encapsulation dot1q vlan 200", ""),
        ("eos", "encapsulation dot1q vlan 300", "encapsulation dot1q vlan 300\nshutdown", ""),
        ("eos", "encapsulation dot1q vlan 300", "shutdown", ""),
        ("eos", "encapsulation dot1q vlan 300", "description x", "takes no frame"),
        ("nxos", "encapsulation dot1q 300 second-dot1q 10", "encapsulation dot1q 300 second-dot1q 11", ""),
        ("nxos", "encapsulation dot1q 300 second-dot1q 10", "encapsulation dot1q 300 second-dot1q 10", "so has"),
        ("nxos", "encapsulation dot1q 300", "shutdown", ""),
    ],
)
def test_a_sub_interface_may_have_two_tags(language: str, first: str, second: str, said: str) -> None:
    found = _tag_defects(language, first, second)
    assert len(found) == bool(said)
    assert not said or said in found[0]


@pytest.mark.parametrize("tag", [10, 11, 4095])
def test_a_sub_interface_of_nvue_has_the_tag_of_the_other_end(tag: int, tmp_path: Path) -> None:
    files = good("nvue")
    for name, port, number in (("leaf1", "swp3", tag), ("spine1", "swp1", 10)):
        its = files[f"{name}.yaml"]["interface"]
        row = {"type": "sub", "base-interface": port, "vlan": number, "ip": its[port].pop("ip")}
        its[f"{port}.10"] = row
    write("nvue", files, tmp_path)
    causes = [it for it in validate(load_network([tmp_path])).causes if it.severity is Severity.ERROR]
    assert [it.check.id for it in causes[:1]] == {10: [], 11: ["P1"], 4095: ["R5"]}[tag]


MISTAKES = {
    "area": (r"area 0\.0\.0\.0", "area 0.0.0.9"),
    "network": (r" +ip ospf network point-to-point\n", ""),
    "not in it": (r" +ip (?:ospf area|router ospf).*\n", ""),
}


@pytest.mark.parametrize("language", PORTS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("what", MISTAKES)
def test_ends_that_differ_are_the_cause(what: str, way: str, language: str, tmp_path: Path) -> None:
    port = PORTS[language][0]
    name = "Vlan3001" if way == "vlan" else f"{port}.10"
    folder = fabric(language, tmp_path, way, _in(name, *MISTAKES[what]))
    assert errors(folder)[:1] == ["O1"]


def test_the_remedy_of_an_interface_that_is_disabled_is_spelled_as_its_language_does(tmp_path: Path) -> None:
    for language, word in (("eos", "disabled"), ("nxos", "shutdown")):
        folder = tmp_path / language
        folder.mkdir()
        files = good(language, loopbacks=True, interior="ospf")
        port = PORTS[language][0]
        indent = "   " if language == "eos" else "  "
        change = _in(port, r" +ip address", f"{indent}ip ospf {word}\n{indent}ip address")
        files["leaf1.cfg"] = change(files["leaf1.cfg"])
        write(language, files, folder)
        [cause] = [it for it in validate(load_network([folder])).causes if it.severity is Severity.ERROR]
        assert cause.check.id == "O1"
        assert [it.command for it in cause.fixes] == [f"interface {port}; no ip ospf {word}"]


MANAGEMENT = {
    "eos": "vrf instance MGMT\n!\ninterface Management1\n   description out of band\n   no lldp transmit\n   vrf MGMT\n"
    "   ip address 192.168.0.9/24\n   ipv6 enable\n!\nno ip routing vrf MGMT\n!\n"
    "ip name-server vrf MGMT 192.168.0.2\n!\n"
    "ip route vrf MGMT 0.0.0.0/0 192.168.0.1\n!\nmanagement api http-commands\n   no shutdown\n   vrf MGMT\n"
    "      no shutdown\n!\n",
    "nxos": "vrf context management\n  ip name-server 192.168.0.2\n  ip route 0.0.0.0/0 192.168.0.1\n"
    "interface mgmt0\n  description out of band\n  vrf member management\n  no cdp enable\n"
    "  ip address 192.168.0.9/24\n  ipv6 address fd00::9/64\n  no shutdown\n",
}


@pytest.mark.parametrize("language", MANAGEMENT)
def test_a_management_port_and_its_vrf_are_listed_as_not_judged_only(language: str, tmp_path: Path) -> None:
    files = LANGUAGES[language].good()
    files["leaf1.cfg"] = files["leaf1.cfg"].replace("router bgp", f"{MANAGEMENT[language]}router bgp", 1)
    write(language, files, tmp_path)
    leaf = load_network([tmp_path]).devices["leaf1"]
    assert [it.what for it in leaf.unread] == []
    assert list(leaf.identity.management) == ["192.168.0.9/24"]


def test_a_route_of_a_vrf_with_ports_to_hosts_is_not_one_of_management(tmp_path: Path) -> None:
    files = LANGUAGES["eos"].good()
    both = MANAGEMENT["eos"] + "interface Loopback7\n   vrf MGMT\n   ip address 10.7.0.1/32\n!\n"
    files["leaf1.cfg"] = files["leaf1.cfg"].replace("router bgp", f"{both}router bgp", 1)
    write("eos", files, tmp_path)
    unread = [it.what for it in load_network([tmp_path]).devices["leaf1"].unread]
    assert "'ip route vrf MGMT 0.0.0.0/0 192.168.0.1'" in unread
