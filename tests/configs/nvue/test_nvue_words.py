"""Words that leave a number to the switch are documented values of NVUE, and no defect."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fabric.configs.load import parse_device
from fabric.configs.model import Device
from tests.mistakes.mistake import good


def _leaf(edit: tuple[str, ...], value: Any, *, ospf: bool = False) -> Device:  # noqa: ANN401  what YAML may hold
    """leaf1 with a value at a path below its first neighbour, or of OSPF of a port."""
    tree = good("nvue", loopbacks=ospf, interior="ospf" if ospf else "")["leaf1.yaml"]
    here = (
        tree["interface"]["swp3"] if ospf else next(iter(tree["vrf"]["default"]["router"]["bgp"]["neighbor"].values()))
    )
    for word in edit[:-1]:
        here = here.setdefault(word, {})
    here[edit[-1]] = value
    return parse_device(json.dumps([{"set": tree}]), "leaf1.json")


_FIELDS = (
    ("multihop-ttl",),
    ("timers", "keepalive"),
    ("timers", "hold"),
    ("address-family", "ipv4-unicast", "prefix-limits", "inbound", "maximum"),
)


@pytest.mark.parametrize("word", ["auto", "none"])
@pytest.mark.parametrize("field", _FIELDS)
def test_a_word_is_not_judged(field: tuple[str, ...], word: str) -> None:
    device = _leaf(field, word)
    assert not device.defects
    assert [it.what for it in device.unjudged if it.what.endswith(f"{field[-1]} {word}")]


@pytest.mark.parametrize("value", [5_000_000_000, "1O", "12s", True])
@pytest.mark.parametrize("field", _FIELDS)
def test_a_number_is_in_its_range(field: tuple[str, ...], value: Any) -> None:  # noqa: ANN401
    assert [it.check for it in _leaf(field, value).defects] == ["R5"]


@pytest.mark.parametrize(("cost", "defects"), [("auto", 0), (10, 0), (70_000, 1)])
def test_the_cost_of_ospf_may_be_left_to_the_speed(cost: Any, defects: int) -> None:  # noqa: ANN401
    assert len(_leaf(("router", "ospf", "cost"), cost, ospf=True).defects) == defects


def test_a_sub_interface_states_its_port_and_its_tag() -> None:
    tree = good("nvue")["leaf1.yaml"]
    tree["interface"]["swp1.100"] = {"type": "sub", "base-interface": "swp1", "vlan": 100}
    device = parse_device(json.dumps([{"set": tree}]), "leaf1.json")
    assert not device.unread
    assert device.identity.tags_sent["swp1.100"].value == "100"
    tree["interface"]["swp1"]["vlan"] = 100
    device = parse_device(json.dumps([{"set": tree}]), "leaf1.json")
    assert [it.what for it in device.unread] == ["interface.swp1.vlan"]
