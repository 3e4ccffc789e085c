"""The plan with SONiC's BGP, OSPF and EVPN in files of FRR beside config_db.json (split-unified).

`good` gives CONFIG_DB and frr.conf of each switch; tests/validate/test_frr_files.py lets vtysh read them.
"""

from __future__ import annotations

from typing import Any, Final

from tests.mistakes import sonic
from tests.mistakes.plan import HOLD_S, KEEPALIVE_S, SWITCHES, Switch

_OF_BGP: Final = ("BGP_NEIGHBOR", "BGP_PEER_GROUP", "BGP_GLOBALS", "OSPFV2", "ROUTE_")


def good(*, loopbacks: bool = False) -> dict[str, Any]:
    """Files of the working fabric. With loopbacks, EVPN runs between them, over OSPF."""
    files = sonic.good()
    for switch in SWITCHES:
        tree = files[f"{switch.name}.json"]
        for table in [it for it in tree if it.startswith(_OF_BGP)]:
            del tree[table]
        tree["DEVICE_METADATA"]["localhost"]["docker_routing_config_mode"] = "split-unified"
        files[f"{switch.name}.frr.conf"] = _over_ospf(switch) if loopbacks else _direct(switch)
    return files


text = sonic.text
"""Of CONFIG_DB's tables."""


def _begin(switch: Switch) -> str:
    return (
        f"frr version 8.4.4\nfrr defaults traditional\nhostname {switch.name}\nlog syslog informational\n"
        "service integrated-vtysh-config\n!\n"
    )


def _bgp(switch: Switch) -> str:
    return (
        f"router bgp {switch.asn}\n bgp router-id {switch.loopback}\n no bgp ebgp-requires-policy\n"
        f" no bgp default ipv4-unicast\n bgp bestpath as-path multipath-relax\n timers bgp {KEEPALIVE_S} {HOLD_S}\n"
    )


def _direct(switch: Switch) -> str:
    peers = [port for port in switch.ports if not port.to_host]
    active = "".join(f"  neighbor {it.peer_address} activate\n" for it in peers)
    return (
        _begin(switch)
        + _bgp(switch)
        + "".join(
            f" neighbor {it.peer_address} remote-as {it.peer_asn}\n neighbor {it.peer_address} description {it.peer}\n"
            for it in peers
        )
        + f" !\n address-family ipv4 unicast\n  network {switch.loopback}/32\n{active}  maximum-paths 4\n"
        + " exit-address-family\n"
        + f" !\n address-family l2vpn evpn\n{active}{'  advertise-all-vni' if switch.leaf else ''}\n"
        + " exit-address-family\nexit\n!\nend\n"
    )


def _over_ospf(switch: Switch) -> str:
    peers = [it for it in SWITCHES if it.leaf is not switch.leaf]
    circuits = "".join(
        f"interface {_port(port.number)}\n ip ospf area 0\n ip ospf network point-to-point\nexit\n!\n"
        for port in switch.ports
        if not port.to_host
    )
    return (
        _begin(switch)
        + circuits
        + "interface Loopback0\n ip ospf area 0\n ip ospf passive\nexit\n!\n"
        + _bgp(switch)
        + " neighbor OVERLAY peer-group\n neighbor OVERLAY update-source Loopback0\n neighbor OVERLAY ebgp-multihop 3\n"
        + "".join(
            f" neighbor {it.loopback} remote-as {it.asn}\n neighbor {it.loopback} peer-group OVERLAY\n" for it in peers
        )
        + " !\n address-family l2vpn evpn\n  neighbor OVERLAY activate\n"
        + f"{'  advertise-all-vni' if switch.leaf else ''}\n exit-address-family\nexit\n!\n"
        + f"router ospf\n ospf router-id {switch.loopback}\nexit\n!\nend\n"
    )


def _port(number: int) -> str:
    return f"Ethernet{8 * number}"
