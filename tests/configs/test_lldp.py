"""LLDP dumps of three systems mean the same links; each link once; what is no dump is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabric.configs.lldp import parse_lldp
from fabric.configs.load import load_network
from fabric.configs.text.jsonfile import FixedLines
from fabric.errors import InputErrors

LLDPCLI = {
    "lldp": {
        "interface": [
            {
                "Ethernet0": {
                    "via": "LLDP",
                    "chassis": {"spine1": {"id": {"type": "mac", "value": "00:11:22:33:44:55"}}},
                    "port": {"id": {"type": "ifname", "value": "Ethernet8"}, "descr": "uplink"},
                }
            },
            {"eth0": {"chassis": {"mgmt-sw": {}}, "port": {"id": {"type": "ifname", "value": "ge-0/0/1"}}}},
        ]
    }
}
SONIC = {
    "LLDP_ENTRY_TABLE:Ethernet0": {
        "type": "hash",
        "value": {"lldp_rem_sys_name": "spine1", "lldp_rem_port_id": "etp2", "lldp_rem_port_desc": "Ethernet8"},
    },
    "LLDP_ENTRY_TABLE:eth0": {"lldp_rem_sys_name": "mgmt-sw", "lldp_rem_port_id": "x"},
}
EOS = {
    "lldpNeighbors": [
        {"port": "Ethernet0", "neighborDevice": "spine1.example.net", "neighborPort": "Ethernet8"},
        {"port": "Management1", "neighborDevice": "mgmt-sw", "neighborPort": "x"},
    ]
}


@pytest.mark.parametrize("dump", [LLDPCLI, SONIC, EOS], ids=["lldpcli", "sonic", "eos"])
def test_dumps_of_three_systems_mean_the_same_link(dump: Any) -> None:  # noqa: ANN401
    (cable,) = parse_lldp(dump, FixedLines(), "leaf1.json", "leaf1")
    assert (cable.a, cable.b) == (("leaf1", "Ethernet0"), ("spine1", "Ethernet8"))


@pytest.mark.parametrize(
    "dump",
    [
        {},
        [],
        {"lldp": []},
        {"lldp": 3},
        {"lldp": {"interface": [{"x": {"port": 3}}]}},
        {"lldpNeighbors": [3]},
        {"LLDP_ENTRY_TABLE:Ethernet0": 3},
    ],
)
def test_what_has_no_neighbour_is_refused_with_the_remedy(dump: Any) -> None:  # noqa: ANN401
    with pytest.raises(InputErrors) as caught:
        parse_lldp(dump, FixedLines(), "leaf1.json", "leaf1")
    assert caught.value.problems[0].hint


def test_a_folder_of_dumps_gives_each_link_once_by_the_names_of_the_configurations(tmp_path: Path) -> None:
    configs, links = tmp_path / "configs", tmp_path / "lldp"
    for folder in (configs, links):
        folder.mkdir()
    for name, port in (("leaf1", "Ethernet0"), ("spine1", "Ethernet8")):
        (configs / f"{name}.json").write_text(
            json.dumps({"DEVICE_METADATA": {"localhost": {"hostname": name}}, "PORT": {port: {"speed": "100000"}}}),
            encoding="utf-8",
        )
    alias = {"LLDP_ENTRY_TABLE:Ethernet0": {"lldp_rem_sys_name": "spine1", "lldp_rem_port_id": "etp2"}}
    (links / "leaf1.json").write_text(json.dumps(alias), encoding="utf-8")
    back = {"LLDP_ENTRY_TABLE:Ethernet8": {"lldp_rem_sys_name": "leaf1", "lldp_rem_port_desc": "Ethernet0"}}
    (links / "spine1.json").write_text(json.dumps(back), encoding="utf-8")
    (cable,) = load_network([configs], links=links).links
    assert {cable.a, cable.b} == {("leaf1", "Ethernet0"), ("spine1", "Ethernet8")}
