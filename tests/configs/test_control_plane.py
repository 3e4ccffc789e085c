"""One model of a switch's control plane, whatever language states it."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from fabric.configs.load import parse_device
from fabric.configs.model import Device
from fabric.validate.checks.identity import is_loopback, vtep_address

SONIC: Final[dict[str, Any]] = {
    "DEVICE_METADATA": {
        "localhost": {
            "hostname": "leaf1",
            "bgp_asn": "65101",
            "bgp_router_id": "10.255.0.1",
            "mac": "00:1c:73:00:00:01",
        }
    },
    "PORT": {"Ethernet0": {"speed": "400000", "admin_status": "up"}},
    "INTERFACE": {"Ethernet0": {}, "Ethernet0|10.0.0.1/31": {}},
    "LOOPBACK_INTERFACE": {
        "Loopback0": {},
        "Loopback1": {},
        "Loopback0|10.255.0.1/32": {},
        "Loopback1|10.254.0.1/32": {},
    },
    "VLAN_INTERFACE": {"Vlan10": {"vrf_name": "Vrfred", "static_anycast_gateway": "true"}, "Vlan10|10.10.0.1/24": {}},
    "VLAN": {"Vlan10": {"vlanid": "10"}},
    "VRF": {"Vrfred": {"vni": "5000"}},
    "SAG_GLOBAL": {"IP": {"gateway_mac": "00:1c:73:00:00:99"}},
    "BGP_NEIGHBOR": {"10.0.0.0": {"asn": "65001", "name": "spine1", "local_addr": "10.0.0.1"}},
    "VXLAN_TUNNEL": {"vtep": {"src_ip": "10.254.0.1"}},
    "VXLAN_EVPN_NVO": {"nvo": {"source_vtep": "vtep"}},
    "VXLAN_TUNNEL_MAP": {"vtep|map_10_Vlan10": {"vlan": "Vlan10", "vni": "10010"}},
}
EOS: Final = """! device: leaf1 (DCS-7060X6-64PE, EOS-4.32.1F)
hostname leaf1
vlan 10
   name red
vrf instance red
ip routing vrf red
interface Ethernet1/1
   no switchport
   ip address 10.0.0.1/31
interface Loopback0
   ip address 10.255.0.1/32
interface Loopback1
   ip address 10.254.0.1/32
interface Vlan10
   vrf red
   ip address virtual 10.10.0.1/24
interface Vxlan1
   vxlan source-interface Loopback1
   vxlan udp-port 4789
   vxlan vlan 10 vni 10010
   vxlan vrf red vni 5000
   vxlan virtual-router encapsulation mac-address 00:1c:73:00:00:01
ip virtual-router mac-address 00:1c:73:00:00:99
ip routing
router bgp 65101
   router-id 10.255.0.1
   maximum-paths 4 ecmp 4
   neighbor EVPN peer group
   neighbor EVPN remote-as 65001
   neighbor EVPN update-source Loopback0
   neighbor EVPN send-community extended
   neighbor 10.0.0.0 remote-as 65001
   neighbor 10.255.0.9 peer group EVPN
   vlan 10
      rd 10.255.0.1:10
      route-target both 10:10010
      redistribute learned
   address-family evpn
      neighbor EVPN activate
   vrf red
      rd 10.255.0.1:5000
      route-target import evpn 1:5000
      route-target export evpn 1:5000
      router-id 10.255.0.1
"""
NXOS: Final = """hostname leaf1
feature bgp
feature nv overlay
feature interface-vlan
feature vn-segment-vlan-based
nv overlay evpn
fabric forwarding anycast-gateway-mac 00:1c:73:00:00:99
feature vpc
vpc domain 1
  system-mac 00:1c:73:00:00:01
  peer-keepalive destination 10.1.1.1
vlan 10
  name red
  vn-segment 10010
vlan 50
  vn-segment 5000
vrf context red
  vni 5000
  rd 10.255.0.1:5000
  address-family ipv4 unicast
    route-target import 1:5000 evpn
    route-target export 1:5000 evpn
interface Ethernet1/1
  no switchport
  ip address 10.0.0.1/31
interface loopback0
  ip address 10.255.0.1/32
interface loopback1
  ip address 10.254.0.1 255.255.255.255
interface Vlan10
  vrf member red
  ip address 10.10.0.1/24
  fabric forwarding mode anycast-gateway
interface Vlan50
  vrf member red
  ip forward
interface nve1
  no shutdown
  host-reachability protocol bgp
  source-interface loopback1
  member vni 10010
    suppress-arp
    ingress-replication protocol bgp
  member vni 5000 associate-vrf
router bgp 65101
  router-id 10.255.0.1
  template peer EVPN
    remote-as 65001
    update-source loopback0
    address-family l2vpn evpn
      send-community extended
  neighbor 10.0.0.0
    remote-as 65001
    address-family ipv4 unicast
  neighbor 10.255.0.9
    inherit peer EVPN
evpn
  vni 10010 l2
    rd 10.255.0.1:10
    route-target import 10:10010
    route-target export 10:10010
"""
NVUE: Final = """- set:
    system:
      hostname: leaf1
      global:
        anycast-mac: 00:1c:73:00:00:99
        system-mac: 00:1c:73:00:00:01
    bridge:
      domain:
        br_default:
          vlan:
            '10':
              vni:
                '10010': {}
    evpn:
      enable: on
      vni:
        '10010':
          rd: 10.255.0.1:10
          route-target:
            import: {'10:10010': {}}
            export: {'10:10010': {}}
    nve:
      vxlan:
        source:
          address: 10.254.0.1
    interface:
      lo:
        ip:
          address:
            10.255.0.1/32: {}
            10.254.0.1/32: {}
      swp1:
        ip:
          address:
            10.0.0.1/31: {}
      vlan10:
        type: svi
        vlan: 10
        ip:
          vrf: red
          address:
            10.10.0.2/24: {}
          vrr:
            address:
              10.10.0.1/24: {}
    router:
      bgp:
        autonomous-system: 65101
        router-id: 10.255.0.1
    vrf:
      red:
        evpn:
          vni:
            '5000':
              route-target:
                import: {'1:5000': {}}
                export: {'1:5000': {}}
      default:
        router:
          bgp:
            address-family:
              l2vpn-evpn:
                enable: on
            neighbor:
              10.0.0.0:
                remote-as: 65001
                type: numbered
              10.255.0.9:
                peer-group: EVPN
              swp2:
                remote-as: external
                type: unnumbered
            peer-group:
              EVPN:
                remote-as: 65001
                update-source: lo
                address-family:
                  l2vpn-evpn:
                    enable: on
"""
FILES: Final = {
    "sonic": ("leaf1.json", json.dumps(SONIC)),
    "eos": ("leaf1.cfg", EOS),
    "nxos": ("leaf1.cfg", NXOS),
    "nvue": ("leaf1.yaml", NVUE),
}


def read(language: str) -> Device:
    file, text = FILES[language]
    return parse_device(text, file)


@pytest.mark.parametrize("language", FILES)
def test_one_model_whatever_the_language(language: str) -> None:
    device = read(language)
    found = device.identity
    assert (device.language, device.defects, device.unread) == (language, [], [])
    assert (device.asn, found.router_id.value) == ("65101", "10.255.0.1")
    loopbacks = [text for name, texts in device.addresses.items() if is_loopback(name) for text in texts]
    assert loopbacks == ["10.255.0.1/32", "10.254.0.1/32"]
    assert vtep_address(device) == "10.254.0.1"
    assert [(vni.number, vni.vlan) for vni in found.vnis] == [("10010", "10")]
    assert [(vni.number, vni.vrf.removeprefix("Vrf")) for vni in found.routed_vnis] == [("5000", "red")]
    (gateway,) = found.gateways
    assert (gateway.vlan, gateway.address) == ("10", "10.10.0.1/24")
    assert found.interface_vrfs[f"{'vlan' if language == 'nvue' else 'Vlan'}10"].removeprefix("Vrf") == "red"
    assert (found.gateway_mac.value, found.mac.value) == ("00:1c:73:00:00:99", "00:1c:73:00:00:01")
    session = next(it for it in device.sessions if it.address == "10.0.0.0")
    assert (session.asn, session.up, session.vrf) == ("65001", True, "")


@pytest.mark.parametrize("language", ["eos", "nxos", "nvue"])
def test_route_targets_and_the_overlay_session_are_read(language: str) -> None:
    device = read(language)
    (bridged,), (routed,) = device.identity.vnis, device.identity.routed_vnis
    assert (bridged.distinguisher, bridged.imports, bridged.exports) == ("10.255.0.1:10", {"10:10010"}, {"10:10010"})
    assert (routed.imports, routed.exports) == ({"1:5000"}, {"1:5000"})
    overlay = next(it for it in device.sessions if it.address == "10.255.0.9")
    assert (overlay.asn, overlay.local_address) == ("65001", "10.255.0.1")
    assert overlay.families is not None
    assert "evpn" in overlay.families


@pytest.mark.parametrize("language", FILES)
def test_places_of_what_identity_is_judged_by_are_known(language: str) -> None:
    device = read(language)
    wheres = (device.identity.vnis[0].where, device.sessions[0].where, device.identity.router_id.where)
    lines = FILES[language][1].splitlines()
    if language != "sonic":  # one line in this test
        assert all(
            word in lines[device.place(where).line - 1]
            for where, word in zip(wheres, ("10010", "10.0.0.0", "router-id"), strict=True)
        )
