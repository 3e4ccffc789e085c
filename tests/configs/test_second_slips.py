"""Two names for one thing, and files in the place of others: a port's alias, a bridge's VLAN, a file of links."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fabric.configs.load import load_network, parse_device
from fabric.errors import InputErrors
from tests.mistakes.mistake import good, write
from tests.mistakes.score import judged

_BRIDGES = """nv set system hostname leaf01
nv set interface swp1 bridge domain {bridge} access 20
nv set bridge domain br_default vlan 20 vni 20
nv set bridge domain br_rail vlan {vlan}
"""


@pytest.mark.parametrize(
    ("bridge", "vlan", "check"), [("br_default", 20, ""), ("br_rail", 20, "R9"), ("br_rail", 30, "R1")]
)
def test_a_vlan_of_another_bridge_is_another_vlan(bridge: str, vlan: int, check: str) -> None:
    device = parse_device(_BRIDGES.format(bridge=bridge, vlan=vlan), "leaf01.txt")
    assert [it.check for it in device.defects] == ([check] if check else [])


def test_two_ports_with_one_alias_are_a_mistake(tmp_path: Path) -> None:
    files = good("sonic")
    name = next(it for it in files if it.startswith("leaf1."))
    for port, alias in zip(list(files[name]["PORT"])[:2], ("etp1", "etp1"), strict=True):
        files[name]["PORT"][port]["alias"] = alias
    write("sonic", files, tmp_path)
    assert [it.check.id for it in judged(tmp_path)] == ["R9"]


_LINKS = [{"a": ["leaf1", "Ethernet0"], "b": ["spine1", "Ethernet0"]}]


@pytest.mark.parametrize("name", ["cabling.json", "cabling.yml"])
@pytest.mark.parametrize(
    ("value", "option"),
    [
        ({"links": _LINKS}, "--links"),
        (_LINKS, "--links"),
        ({"name": "x", "topology": {"nodes": {}, "links": [{"endpoints": ["a:e1", "b:e1"]}]}}, "--links"),
        ({"default": {"roce_dscp": 26}, "host1": {"mtu": 9000}}, "--hosts"),
    ],
)
def test_a_file_of_links_or_hosts_names_its_option(value: object, option: str, name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(json.dumps(value), encoding="utf-8")
    with pytest.raises(InputErrors) as refused:
        load_network([tmp_path / name])
    assert option in str(refused.value.problems[0].hint)


@pytest.mark.parametrize(
    ("name", "kind", "right"),
    [
        ("swp1", "unnumbered", True),
        ("10.0.0.1", "numbered", True),
        ("swp1", "numbered", False),
        ("10.0.0.1", "unnumbered", False),
    ],
)
def test_a_neighbor_is_named_as_its_type_says(name: str, kind: str, right: bool) -> None:
    neighbor = f"nv set vrf default router bgp neighbor {name}"
    lines = f"nv set system hostname leaf01\n{neighbor} type {kind}\n{neighbor} remote-as external\n"
    assert (not parse_device(lines, "leaf01.txt").defects) is right
