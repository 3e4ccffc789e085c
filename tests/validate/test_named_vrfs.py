"""VRFs by their names: those that interfaces are in, and those that gateways of one VLAN are in on two switches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabric.configs.load import load_network
from fabric.validate.checks.base import Finding, Severity
from fabric.validate.runner import validate

EOS = """hostname leaf1
vrf instance RED
interface Ethernet3/1
   no switchport
   vrf {vrf}
   ip address 10.9.0.0/31
"""
NXOS = """hostname leaf1
feature interface-vlan
vrf context RED
interface Ethernet1/3
  no switchport
  vrf member {vrf}
  ip address 10.9.0.0/31
"""
NVUE = """- set:
    system: {{hostname: leaf1}}
    vrf: {{RED: {{}}}}
    interface:
      swp3:
        type: swp
        ip: {{vrf: {vrf}, address: {{10.9.0.0/31: {{}}}}}}
"""
SONIC = """{{"DEVICE_METADATA": {{"localhost": {{"hostname": "leaf1"}}}}, "VRF": {{"VrfRED": {{}}}},
 "PORT": {{"Ethernet0": {{"speed": "400000", "lanes": "0", "admin_status": "up"}}}},
 "INTERFACE": {{"Ethernet0": {{"vrf_name": "Vrf{vrf}"}}, "Ethernet0|10.9.0.0/31": {{}}}}}}
"""


def _found(folder: Path, name: str, text: str) -> list[Finding]:
    (folder / name).write_text(text, encoding="utf-8")
    return [it for it in validate(load_network([folder])).findings if it.severity >= Severity.WARN]


@pytest.mark.parametrize(
    ("name", "text"),
    [("leaf1.cfg", EOS), ("leaf1.cfg", NXOS), ("leaf1.yaml", NVUE), ("leaf1.json", SONIC)],
    ids=["eos", "nxos", "nvue", "sonic"],
)
def test_an_interface_in_a_vrf_that_no_line_makes_is_named(name: str, text: str, tmp_path: Path) -> None:
    right = [it for it in _found(tmp_path, name, text.format(vrf="RED")) if it.check.id == "R1"]
    assert not right
    wrong = [it for it in _found(tmp_path, name, text.format(vrf="REED")) if it.check.id == "R1"]
    assert ["REED' is not in the file" in it.text for it in wrong] == [True]


def test_a_part_of_a_configuration_need_not_make_its_vrfs(tmp_path: Path) -> None:
    text = (
        EOS.format(vrf="RED")
        .replace("hostname leaf1\n", "! device: leaf1 (EOS-4.32.1F)\n")
        .replace("vrf instance RED\n", "")
    )
    assert not [it for it in _found(tmp_path, "leaf1.cfg", text) if it.check.id == "R1"]


def _tenant(name: str, number: int, vrf: str, vni: str, bound: str) -> dict[str, Any]:
    return {
        "DEVICE_METADATA": {"localhost": {"hostname": name, "bgp_asn": str(65_100 + number)}},
        "VRF": {vrf: {"vni": vni}},
        "LOOPBACK_INTERFACE": {"Loopback0": {}, f"Loopback0|10.0.0.{number}/32": {}},
        "VLAN": {"Vlan10": {"vlanid": "10"}, "Vlan900": {"vlanid": "900"}},
        "VLAN_INTERFACE": {
            "Vlan10": {"vrf_name": vrf, "static_anycast_gateway": "true"},
            "Vlan10|10.10.0.1/24": {},
            "Vlan900": {"vrf_name": bound} if bound else {},
        },
        "SAG": {"GLOBAL": {"gateway_mac": "00:11:22:33:44:55"}},
        "VXLAN_TUNNEL": {"vtep": {"src_ip": f"10.0.0.{number}"}},
        "VXLAN_TUNNEL_MAP": {
            "vtep|map_10_Vlan10": {"vlan": "Vlan10", "vni": "10"},
            f"vtep|map_{vni}_Vlan900": {"vlan": "Vlan900", "vni": vni},
        },
        "VXLAN_EVPN_NVO": {"nvo": {"source_vtep": "vtep"}},
    }


def _tenants(folder: Path, *rows: tuple[str, str, str]) -> list[Finding]:
    for number, (vrf, vni, bound) in enumerate(rows, 1):
        text = json.dumps(_tenant(f"leaf{number}", number, vrf, vni, bound))
        (folder / f"leaf{number}.json").write_text(text, encoding="utf-8")
    return [it for it in validate(load_network([folder])).findings if it.severity >= Severity.WARN]


def test_the_vlan_of_a_vrfs_vni_is_in_that_vrf(tmp_path: Path) -> None:
    right = _tenants(tmp_path, ("VrfA", "900", "VrfA"), ("VrfA", "900", "VrfA"))
    assert not [it for it in right if it.check.id in {"R9", "V6"}]
    wrong = _tenants(tmp_path, ("VrfA", "900", ""), ("VrfA", "900", "VrfA"))
    assert [(it.check.id, it.device) for it in wrong if "routes at Vlan900" in it.text] == [("R9", "leaf1")]


def test_gateways_of_one_vlan_in_vrfs_of_different_vnis_are_named(tmp_path: Path) -> None:
    same = _tenants(tmp_path, ("VrfA", "900", "VrfA"), ("VrfOther", "900", "VrfOther"))
    assert not [it for it in same if it.check.id == "V6"]  # a name has no meaning beyond its switch
    apart = _tenants(tmp_path, *[("VrfA", "900", "VrfA")] * 2, ("VrfB", "901", "VrfB"))
    named = [it for it in apart if it.check.id == "V6"]
    assert [(it.device, "VrfB (VNI 901)" in it.text) for it in named] == [("leaf3", True)]
