"""The fabric of the corpus with OSPF or IS-IS below: EVPN between loopbacks, and no BGP session over a link."""

from __future__ import annotations

import re
from typing import Any

_AREA = "0.0.0.0"  # noqa: S104  OSPF's backbone


def with_interior(language: str, protocol: str, files: dict[str, Any]) -> dict[str, Any]:
    """The files of the variant with loopbacks, changed in place."""
    change = {"eos": _eos, "nxos": _nxos, "nvue": _nvue}[language]
    for number, name in enumerate(it for it in files if it.startswith(("leaf", "spine"))):
        files[name] = change(files[name], protocol, number + 1)
    return files


def net(number: int) -> str:
    """The NET of a switch."""
    return f"49.0001.0000.0000.{number:04d}.00"


def _eos(text: str, protocol: str, number: int) -> str:
    text = re.sub(r"   neighbor 10\.1\..*\n", "", text)
    text = re.sub(r"   address-family ipv4\n(?:      .*\n)+", "", text)
    own = re.search(r"router-id (\S+)", text)
    assert own is not None
    if protocol == "ospf":
        link = f"   ip ospf network point-to-point\n   ip ospf area {_AREA}\n"
        loopback = f"   ip ospf area {_AREA}\n"
        ports = re.findall(r"interface (Ethernet\S+)\n(?:   .*\n)*?   ip address", text)
        active = "".join(f"   no passive-interface {it}\n" for it in ports)
        block = f"router ospf 1\n   router-id {own[1]}\n   passive-interface default\n{active}   max-lsa 12000\n!\n"
    else:
        link = "   isis enable U\n   isis circuit-type level-2\n   isis metric 50\n   isis network point-to-point\n"
        loopback = "   isis enable U\n   isis passive\n"
        block = f"router isis U\n   net {net(number)}\n   is-type level-2\n   address-family ipv4 unicast\n!\n"
    text = re.sub(r"(   ip address 10\.1\..*\n)", rf"\1{link}", text)
    text = re.sub(r"(   ip address 10\.0\..*\n)", rf"\1{loopback}", text)
    return text.replace("router bgp", f"{block}router bgp", 1)


def _nxos(text: str, protocol: str, number: int) -> str:
    text = re.sub(r"  neighbor 10\.1\..*\n    remote-as .*\n    address-family ipv4 unicast\n", "", text)
    text = re.sub(r"  address-family ipv4 unicast\n(?:    .*\n)+", "", text, count=1)
    own = re.search(r"router-id (\S+)", text)
    assert own is not None
    if protocol == "ospf":
        loopback = f"  ip router ospf U area {_AREA}\n"
        link = f"  ip ospf network point-to-point\n{loopback}"
        block = f"router ospf U\n  router-id {own[1]}\n"
    else:
        loopback = "  ip router isis U\n"
        link = f"  isis network point-to-point\n  isis circuit-type level-2\n{loopback}"
        block = f"router isis U\n  net {net(number)}\n  is-type level-2\n  address-family ipv4 unicast\n"
    text = re.sub(r"(  ip address 10\.1\..*\n)", rf"\1{link}", text)
    text = re.sub(r"(  ip address 10\.0\..*\n)", rf"\1{loopback}", text)
    return text.replace("feature bgp\n", f"feature bgp\nfeature {protocol}\n").replace(
        "router bgp", f"{block}router bgp", 1
    )


def _nvue(tree: Any, _protocol: str, _number: int) -> Any:  # noqa: ANN401  YAML
    router = tree["vrf"]["default"]["router"]
    bgp = router["bgp"]
    bgp["neighbor"] = {name: row for name, row in bgp["neighbor"].items() if name.startswith("10.0.")}
    bgp["address-family"].pop("ipv4-unicast")
    router["ospf"] = {"enable": "on", "router-id": tree["router"]["bgp"]["router-id"]}
    tree["router"]["ospf"] = {"enable": "on"}
    for name, row in tree["interface"].items():
        addresses = row.get("ip", {}).get("address", {})
        if any(it.startswith("10.1.") for it in addresses):
            row["router"] = {"ospf": {"enable": "on", "area": 0, "network-type": "point-to-point"}}
        elif name == "lo":
            row["router"] = {"ospf": {"enable": "on", "area": 0, "passive": "on"}}
    return tree
