"""The plan with OSPF below and internal BGP for EVPN between loopbacks; the spines are route reflectors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tests.mistakes import eos, nvue, nxos, plan, sonic
from tests.mistakes.plan import Switch

ASN = 65_000
Content = Any
"""Text of EOS and NX-OS, a tree of the others."""


def good(language: str, of: Sequence[Switch] = plan.SWITCHES) -> dict[str, Content]:
    """{file name: content} of the working fabric."""
    module = {"eos": eos, "nxos": nxos, "nvue": nvue, "sonic": sonic}[language]
    files: dict[str, Content] = module.good(of)
    for switch in of:
        others = [it for it in of if it.leaf != switch.leaf]
        name = next(it for it in files if it.startswith(f"{switch.name}."))
        files[name] = globals()[f"_{language}"](files[name], switch, others)
    return files


def _eos(text: str, switch: Switch, others: Sequence[Switch]) -> str:
    kept = text[: text.index("router bgp")]
    vlan = re.search(r"   vlan 100\n(?:      .*\n)+", text)
    peers = "".join(
        f"   neighbor {it.loopback} remote-as {ASN}\n   neighbor {it.loopback} update-source Loopback0\n"
        f"   neighbor {it.loopback} send-community extended\n"
        + ("" if switch.leaf else f"   neighbor {it.loopback} route-reflector-client\n")
        for it in others
    )
    active = "".join(f"      neighbor {it.loopback} activate\n" for it in others)
    return (
        f"{kept}router ospf 1\n   router-id {switch.loopback}\n!\nrouter bgp {ASN}\n   router-id {switch.loopback}\n"
        f"   no bgp default ipv4-unicast\n{peers}{vlan[0] if vlan else ''}   address-family evpn\n{active}"
    )


def _nxos(text: str, switch: Switch, others: Sequence[Switch]) -> str:
    kept, evpn = text[: text.index("router bgp")], text.find("\nevpn\n")
    client = "" if switch.leaf else "      route-reflector-client\n"
    peers = "".join(
        f"  neighbor {it.loopback}\n    remote-as {ASN}\n    update-source loopback0\n"
        f"    address-family l2vpn evpn\n      send-community extended\n{client}"
        for it in others
    )
    return (
        f"{kept}feature ospf\nrouter ospf 1\n  router-id {switch.loopback}\nrouter bgp {ASN}\n"
        f"  router-id {switch.loopback}\n  address-family l2vpn evpn\n    maximum-paths ibgp 4\n{peers}"
        + (text[evpn + 1 :] if evpn > 0 else "")
    )


def _nvue(tree: Content, switch: Switch, others: Sequence[Switch]) -> Content:
    tree["router"]["bgp"]["autonomous-system"] = ASN
    bgp = tree["vrf"]["default"]["router"]["bgp"]
    evpn = {"enable": "on"} | ({} if switch.leaf else {"route-reflector-client": "on"})
    bgp["address-family"]["ipv4-unicast"] = {"enable": "off"}
    bgp["neighbor"] = {
        it.loopback: {
            "type": "numbered",
            "remote-as": "internal",
            "update-source": "lo",
            "address-family": {"ipv4-unicast": {"enable": "off"}, "l2vpn-evpn": dict(evpn)},
        }
        for it in others
    }
    return tree


def _sonic(tree: Content, switch: Switch, others: Sequence[Switch]) -> Content:
    tree["DEVICE_METADATA"]["localhost"]["bgp_asn"] = str(ASN)
    tree["BGP_NEIGHBOR"] = {
        it.loopback: {"asn": str(ASN), "name": it.name, "local_addr": switch.loopback, "admin_status": "up"}
        for it in others
    }
    row = {"admin_status": "true"} | ({} if switch.leaf else {"rrclient": "true"})
    tree["BGP_NEIGHBOR_AF"] = {f"default|{it.loopback}|l2vpn_evpn": dict(row) for it in others}
    return tree
