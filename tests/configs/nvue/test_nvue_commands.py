"""`nv set` lines mean what the same startup.yaml means."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import pytest
import yaml

from fabric.configs.load import parse_device
from tests.mistakes import nvue

COMMANDS = """nv set system hostname leaf01
nv set qos roce
nv set qos roce mode lossless
nv set qos pfc default-global switch-priority 3
nv set qos pfc default-global cable-length 40
nv set qos mapping default-global trust l3
nv set qos mapping default-global dscp 26 switch-priority 3
nv set qos egress-scheduler heavy traffic-class 3,5 mode dwrr
nv set qos egress-scheduler heavy traffic-class 3,5 bw-percent 40
nv set qos traffic-pool roce-lossless memory-percent 50
nv set interface swp1-2 link mtu 9216
nv set interface swp1-2 link speed 400G
nv set interface swp1 qos pfc-watchdog
nv set interface swp2 qos egress-scheduler profile heavy
nv set interface bond1 bond member swp1-2
"""
YAML = """set:
  system: {hostname: leaf01}
  qos:
    roce: {mode: lossless}
    pfc: {default-global: {switch-priority: {'3': {}}, cable-length: 40}}
    mapping: {default-global: {trust: l3, dscp: {'26': {switch-priority: 3}}}}
    egress-scheduler: {heavy: {traffic-class: {'3,5': {mode: dwrr, bw-percent: 40}}}}
    traffic-pool: {roce-lossless: {memory-percent: 50}}
  interface:
    swp1-2: {link: {mtu: 9216, speed: 400G}}
    swp1: {qos: {pfc-watchdog: {}}}
    swp2: {qos: {egress-scheduler: {profile: heavy}}}
    bond1: {bond: {member: {swp1-2: {}}}}
"""


def meaning(text: str, file: str) -> dict[str, Any]:
    device = parse_device(text, file)
    assert not device.defects
    assert not device.unread
    found = asdict(device)
    for name in ("file", "locator"):
        found.pop(name)
    return found


def test_commands_and_yaml_mean_the_same() -> None:
    commands, startup = meaning(COMMANDS, "leaf01.txt"), meaning(YAML, "leaf01.txt")
    assert commands == startup
    assert commands["ports"]["swp1"]["mtu"] == 9216
    assert commands["ports"]["swp1"]["watchdog"]
    assert commands["ports"]["swp2"]["queues"][3]["scheduler"] == "egress-scheduler heavy 3"
    assert [port["mtu"] for port in commands["ports"].values()] == [9216, 9216]


def test_a_port_has_what_every_key_that_means_it_says_and_the_line_of_the_one_that_does() -> None:
    device = parse_device(YAML, "leaf01.yaml")
    port = device.ports["swp2"]
    assert (port.mtu, port.speed_mbps, port.lag, port.watchdog) == (9216, 400_000, "bond1", None)
    lines = YAML.splitlines()
    assert "swp1-2" in lines[device.place(port.where).line - 1]


def test_a_place_is_the_line_of_the_command() -> None:
    device = parse_device(COMMANDS, "leaf01.txt")
    assert device.place(("set", "interface", "swp2", "qos")).line == 14


@pytest.mark.parametrize("line", ["nv unset", "nv set", "nv set 'x", "ip link set up", "nv set " + "a " * 40])
def test_what_is_no_nv_set_is_listed_with_its_line(line: str) -> None:
    device = parse_device(COMMANDS + line + "\n", "leaf01.txt")
    assert [item.place.line for item in device.unread] == [16]


def lines_of(tree: object, words: tuple[str, ...] = ("nv", "set")) -> Iterator[str]:
    """A tree as `nv config show -o commands` prints it: one line for each leaf."""
    if isinstance(tree, dict) and tree:
        for key, value in tree.items():
            yield from lines_of(value, (*words, str(key)))
    else:
        yield shlex.join(words if isinstance(tree, dict) else (*words, str(tree)))


@pytest.mark.parametrize("name", ["leaf1", "spine1"])
def test_a_whole_switch_as_commands_means_what_its_yaml_means(name: str) -> None:
    tree = nvue.good()[f"{name}.yaml"]
    found = meaning("\n".join(lines_of(tree)) + "\n", f"{name}.txt")
    expected = meaning(yaml.safe_dump({"set": tree}, sort_keys=False), f"{name}.yaml")
    unjudged = [[(it["what"], it["leaves"]) for it in row.pop("unjudged")] for row in (found, expected)]
    assert found == expected
    assert unjudged[0] == unjudged[1]


def test_a_vni_and_a_gateway_without_settings_are_keys() -> None:
    text = "nv set bridge domain br_default vlan 100 vni 10100\nnv set interface vlan100 ip vrr address 10.9.0.1/24\n"
    found = parse_device(text, "leaf1.txt").identity
    assert [(it.vlan, it.number) for it in found.vnis] == [("100", "10100")]
    assert [it.address for it in found.gateways] == ["10.9.0.1/24"]


@pytest.mark.parametrize(
    ("states", "up", "checks"),
    [(["up"], True, []), (["up", "down"], False, ["R8"]), (["down", "up"], True, ["R8"]), (["upp"], True, ["R5"])],
)
def test_of_several_states_of_a_link_the_last_one_holds_and_another_word_is_an_error(
    states: list[str], up: bool, checks: list[str]
) -> None:
    text = "nv set qos roce mode lossless\n" + "".join(f"nv set interface swp1 link state {it}\n" for it in states)
    device = parse_device(text, "leaf1.txt")
    assert device.ports["swp1"].admin_up is up
    assert [it.check for it in device.defects] == checks


TWICE = [
    ("interface swp1-2 link mtu 9216", "interface swp1-2 link mtu 1500"),
    ("interface swp1-2 link speed 400G", "interface swp1-2 link speed 100G"),
    ("qos mapping default-global dscp 26 switch-priority 3", "qos mapping default-global dscp 26 switch-priority 5"),
    (
        "qos egress-scheduler heavy traffic-class 3,5 bw-percent 40",
        "qos egress-scheduler heavy traffic-class 3,5 bw-percent 30",
    ),
    ("qos roce mode lossless", "qos roce mode lossless-single-ipool"),
    ("qos pfc default-global cable-length 40", "qos pfc default-global cable-length 10"),
]


@pytest.mark.parametrize(("first", "second"), TWICE)
def test_of_two_commands_for_one_leaf_the_last_one_holds_with_a_note(first: str, second: str) -> None:
    assert f"nv set {first}\n" in COMMANDS
    device = parse_device(f"{COMMANDS}nv set {second}\n", "leaf01.txt")
    [note] = device.defects
    assert (note.check, note.harmless) == ("R8", True)
    number = COMMANDS.splitlines().index(f"nv set {first}") + 1
    last = len(COMMANDS.splitlines()) + 1
    assert note.text == f"is set on line {number} and again on line {last}, which holds"
    assert device.place(note.where).line == last
    alone = parse_device(COMMANDS.replace(f"nv set {first}\n", f"nv set {second}\n"), "leaf01.txt")
    assert [asdict(it) for it in device.ports.values()] == [asdict(it) for it in alone.ports.values()]
    assert asdict(device)["maps"] == asdict(alone)["maps"]


def test_a_set_of_values_keeps_all_that_its_commands_name() -> None:
    text = f"{COMMANDS}nv set qos pfc default-global switch-priority 5\n"
    device = parse_device(text, "leaf01.txt")
    assert not device.defects
    assert device.ports["swp1"].lossless == {3, 5}


def test_a_leaf_that_is_set_to_the_same_value_again_needs_no_note() -> None:
    assert not parse_device(f"{COMMANDS}nv set interface swp1-2 link mtu 9216\n", "leaf01.txt").defects
