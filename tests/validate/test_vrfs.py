"""Addresses, sessions and VNIs of VRFs: compared within one VRF, never between two."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric.configs.load import load_network
from fabric.validate.runner import validate

EOS = """! device: {name} (DCS-7060X6-64PE, EOS-4.32.1F)
hostname {name}
vrf instance red
interface Ethernet1/1
   no switchport
   vrf red
   ip address {link}/31
interface Loopback0
   ip address {loopback}/32
interface Loopback9
   vrf {vrf}
   ip address {inner}/32
interface Vxlan1
   vxlan source-interface Loopback0
   vxlan vlan 10 vni 10010
   vxlan vrf red vni {l3vni}
router bgp {asn}
   router-id {loopback}
   neighbor 10.9.0.9 remote-as 65009
   vlan 10
      rd {loopback}:10
      route-target both 10:10010
      redistribute learned
   address-family evpn
      neighbor 10.9.0.9 activate
   vrf red
      rd {loopback}:{number}
      route-target import evpn {target}
      route-target export evpn {target}
      neighbor {peer} remote-as {peer_asn}
"""
LEAF1 = {
    "name": "leaf1",
    "link": "10.1.0.0",
    "loopback": "10.0.0.1",
    "vrf": "red",
    "inner": "10.2.0.1",
    "l3vni": "5000",
    "asn": "65101",
    "number": "5000",
    "target": "1:5000",
    "peer": "10.1.0.1",
    "peer_asn": "65102",
}
LEAF2 = {
    **LEAF1,
    "name": "leaf2",
    "link": "10.1.0.1",
    "loopback": "10.0.0.2",
    "inner": "10.2.0.2",
    "asn": "65102",
    "peer": "10.1.0.0",
    "peer_asn": "65101",
}


def checks_found(tmp_path: Path, **changes: str) -> set[str]:
    """Checks of identity, overlay and peers that speak when the second switch has these values."""
    for row in (LEAF1, {**LEAF2, **changes}):
        (tmp_path / f"{row['name']}.cfg").write_text(EOS.format(**row), encoding="utf-8")
    found = validate(load_network([tmp_path])).findings
    return {it.check.id for it in found if it.check.id[0] in "IVP" and it.check.id != "V7"}


@pytest.mark.parametrize(
    ("changes", "checks"),
    [
        ({}, set()),
        ({"inner": "10.2.0.1"}, {"I1"}),
        ({"inner": "10.2.0.1", "vrf": "blue"}, set()),  # another VRF may use the address
        ({"inner": "10.0.0.1"}, set()),  # that of the other switch's loopback, which is in the default VRF
        ({"peer_asn": "65999"}, {"P2"}),
        ({"peer": "10.9.9.9"}, {"P3", "P9"}),
        ({"peer": "10.0.0.1"}, {"P3", "P9"}),  # an address of the default VRF is nobody's in this one
        ({"l3vni": "5001"}, {"V2"}),
        ({"target": "1:5001"}, {"V3"}),
        ({"number": "10"}, {"V10"}),
    ],
)
def test_a_vrf_is_compared_with_itself(changes: dict[str, str], checks: set[str], tmp_path: Path) -> None:
    assert checks_found(tmp_path, **changes) == checks
