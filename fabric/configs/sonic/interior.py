"""CONFIG_DB: OSPFv2 of the default VRF, which frrcfgd writes for ospfd.

Interfaces are rows of OSPFV2_INTERFACE, whose key is name and address ('Ethernet0|0.0.0.0': any address), or are in a
prefix of OSPFV2_ROUTER_AREA_NETWORK.
Source: SONiC HLD "OSPFv2 for SONiC management framework", section 3.2.1; sonic-yang-models sonic-ospfv2.
"""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_network
from typing import Final

from fabric.configs.identity import NOTHING, Stated
from fabric.configs.interior import (
    BROADCAST,
    POINT_TO_POINT,
    Circuit,
    Interior,
    area_name,
    interfaces_inside,
    one_of,
    with_defaults,
)
from fabric.configs.model import Device, Where
from fabric.configs.sonic.rows import Fields, Rows

_VRF: Final = "default"
_NO_AUTHENTICATION: Final = frozenset(("", "NONE"))


def read_interior(rows: Rows, device: Device) -> None:
    """Fill in OSPF, where it has a router in the default VRF."""
    if _VRF not in rows.keys("OSPFV2_ROUTER"):
        return
    found = device.identity
    interior = next(_router(device, where, fields) for key, where, fields in rows.rows("OSPFV2_ROUTER") if key == _VRF)
    for key, where, fields in rows.rows("OSPFV2_ROUTER_AREA"):
        vrf, _, area = key.partition("|")
        kind = _kind(_text(fields, where, "authentication"))
        if vrf == _VRF and kind:
            interior.authenticates[area_name(area)] = kind
        if vrf == _VRF and (_on(fields, "stub") or _on(fields, "stub-no-summary")):
            interior.area_kinds[area_name(area)] = Stated("stub", where)
    for key, where, _ in rows.rows("OSPFV2_ROUTER_DISTRIBUTE_ROUTE"):
        vrf, _, protocol = key.partition("|")
        if vrf == _VRF and protocol.startswith("DIRECTLY_CONNECTED|"):
            interior.redistributes = Stated("connected", where)
    for key, where, fields in rows.rows("OSPFV2_INTERFACE"):
        name = key.partition("|")[0]
        if name not in found.interface_vrfs:
            _circuit(rows, interior, name, where, fields)
    _networks(rows, device, interior)
    _passive(rows, interior)
    with_defaults(interior)
    found.igp = Stated("ospf", interior.where) if interior.up else NOTHING
    found.interior = one_of([interior])


def _router(device: Device, where: Where, fields: Fields) -> Interior:
    interior = Interior("OSPF", "", where, up=str(fields.get("enable", "true")).lower() != "false")
    for name in ("router-id", "router_id"):
        if name in fields:
            interior.router_id = _text(fields, where, name)
    if _on(fields, "max-metric-administrative"):
        device.identity.drained = Stated("max-metric-administrative", (*where, "max-metric-administrative"))
    return interior


def _circuit(rows: Rows, interior: Interior, name: str, where: Where, fields: Fields) -> None:
    """A row of one interface; of several, each for one of its addresses, the first that states a value counts."""
    area = _text(fields, where, "area-id")
    number = Stated(area_name(area.value), area.where) if area else NOTHING
    if area and not number:
        rows.defect("R5", area.where, f"OSPFV2_INTERFACE|{name}|area-id"[:120], f"'{area.value[:40]}' is no area")
    network = _text(fields, where, "network-type")
    kind = POINT_TO_POINT if "point" in network.value.lower() else BROADCAST
    its = Circuit(
        name,
        where,
        area=number,
        network=Stated(kind, network.where) if network else NOTHING,
        hello=_text(fields, where, "hello-interval"),
        dead=_text(fields, where, "dead-interval"),
        authentication=_kind(_text(fields, where, "authentication-type")),
        ignores_mtu=_on(fields, "mtu-ignore"),
        cost=_text(fields, where, "metric"),
    )
    known = interior.circuits.get(name)
    if known is not None:
        stated = {it: getattr(known, it) or getattr(its, it) for it in _STATED}
        its = replace(known, **stated)
    interior.circuits[name] = its


_STATED: Final = ("area", "network", "hello", "dead", "authentication", "ignores_mtu", "cost")


def _networks(rows: Rows, device: Device, interior: Interior) -> None:
    """`network PREFIX area A` takes in every interface of the default VRF whose address is in the prefix."""
    for key, where, _ in rows.rows("OSPFV2_ROUTER_AREA_NETWORK"):
        vrf, _, rest = key.partition("|")
        area, _, prefix = rest.partition("|")
        at = Stated(area_name(area), where)
        try:
            network = ip_network(prefix, strict=False)
        except ValueError:
            text = f"'{prefix[:40]}' is no prefix"
            rows.defect("R5", where, f"OSPFV2_ROUTER_AREA_NETWORK|{key}"[:120], text)
            continue
        for name in interfaces_inside(device, network) if vrf == _VRF else ():
            known = interior.circuits.get(name, Circuit(name, where))
            if not known.area:
                interior.circuits[name] = replace(known, area=at)
    interior.circuits = {name: it for name, it in interior.circuits.items() if it.area}


def _passive(rows: Rows, interior: Interior) -> None:
    """Rows of OSPFV2_ROUTER_PASSIVE_INTERFACE; with `passive-interface-default` these are the exceptions."""
    usual: Stated = NOTHING
    for key, where, fields in rows.rows("OSPFV2_ROUTER"):
        if key == _VRF and _on(fields, "passive-interface-default"):
            usual = Stated("on", (*where, "passive-interface-default"))
    named: dict[str, Where] = {}
    for key, where, _ in rows.rows("OSPFV2_ROUTER_PASSIVE_INTERFACE"):
        vrf, _, rest = key.partition("|")
        if vrf == _VRF:
            named[rest.partition("|")[0]] = where
    for name, circuit in interior.circuits.items():
        if bool(usual) is not (name in named):
            interior.circuits[name] = replace(circuit, passive=usual or Stated("on", named.get(name, circuit.where)))


def _text(fields: Fields, where: Where, name: str) -> Stated:
    return Stated(str(fields.get(name)), (*where, name)) if name in fields else NOTHING


def _kind(stated: Stated) -> Stated:
    """The kind of authentication as other languages name it: 'TEXT', 'MD5HMAC' of sonic-ospf-common."""
    word = stated.value.upper()
    return (
        NOTHING
        if word in _NO_AUTHENTICATION
        else Stated("message-digest" if "MD5" in word else "password", stated.where)
    )


def _on(fields: Fields, name: str) -> bool:
    return str(fields.get(name, "false")).lower() == "true"
