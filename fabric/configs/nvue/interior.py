"""NVUE: OSPFv2 of the default VRF, by interfaces and by the networks of areas.

Source: NVIDIA Cumulus Linux 5.x user guide, "Open Shortest Path First v2 - OSPFv2"; the `nv set` command reference.
"""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_network
from typing import Any, Final

from fabric.configs.identity import NOTHING, Stated
from fabric.configs.interior import Circuit, Interior, area_name, interfaces_inside, one_of
from fabric.configs.nvue.reader import Reader
from fabric.configs.nvue.words import is_on

_MOST_COST: Final = 65_535
"""RFC 2328 section A.4.2: a metric has 16 bits."""
_OSPF: Final = ("vrf", "default", "router", "ospf")


def read_interior(reader: Reader) -> None:
    """Fill in OSPF, where it is enabled in the default VRF."""
    found = reader.device.identity
    row = reader.at(*_OSPF)
    ports = [str(it) for it in reader.at("interface") if reader.at("interface", str(it), "router", "ospf")]
    if not row and not ports:
        return
    on = bool(row) and all(is_on(it.get("enable")) for it in (row, reader.at("router", "ospf")))
    path = _OSPF if "router-id" in row else ("router", "ospf")
    interior = Interior("OSPF", "", reader.where(*(_OSPF if row else path)), up=on)
    interior.router_id = Stated(str(reader.at(*path).get("router-id", "")), reader.where(*path, "router-id"))
    connected = reader.at(*_OSPF, "redistribute", "connected")
    if "redistribute" in row and is_on(connected.get("enable"), default=bool(connected)):
        interior.redistributes = Stated("connected", reader.where(*_OSPF, "redistribute", "connected"))
    metric = reader.at(*_OSPF, "max-metric")
    if is_on(metric.get("administrative"), default=False):
        found.drained = Stated("max-metric administrative", reader.where(*_OSPF, "max-metric", "administrative"))
    for name in ports:
        if name not in found.interface_vrfs:
            _circuit(reader, interior, name)
    _networks(reader, interior)
    found.igp = Stated("ospf", interior.where)
    found.interior = one_of([interior])


def _circuit(reader: Reader, interior: Interior, name: str) -> None:
    path = ("interface", name, "router", "ospf")
    row = reader.at(*path)

    def stated(word: str, its: dict[str, Any] = row, *more: str) -> Stated:
        return Stated(str(its[word]), reader.where(*path, *more, word)) if word in its else NOTHING

    if not is_on(row.get("enable"), default=True):
        return
    area = stated("area")
    number = Stated(area_name(area.value), area.where) if area else NOTHING
    if area and not number:
        reader.bad((*path, "area"), f"'{area.value[:40]}' is no area")
    passive, timers = stated("passive"), reader.at(*path, "timers")
    kind = reader.at(*path, "authentication")
    digest = Stated("message-digest", reader.where(*path, "authentication")) if is_on(kind.get("enable")) else NOTHING
    dead = timers.get("dead-interval")
    cost = stated("cost")
    if cost and reader.number_or_word((*path, "cost"), cost.value, 1, _MOST_COST) is None:
        cost = NOTHING
    circuit = Circuit(
        name,
        area.where or reader.where(*path),
        area=number,
        network=stated("network-type"),
        passive=passive if is_on(passive.value) else NOTHING,
        hello=stated("hello-interval", timers, "timers"),
        dead=stated("dead-interval", timers, "timers") if not isinstance(dead, dict) else NOTHING,
        authentication=digest if kind else NOTHING,
        ignores_mtu=is_on(row.get("mtu-ignore"), default=False),
        cost=cost,
    )
    interior.circuits[name] = circuit


def _networks(reader: Reader, interior: Interior) -> None:
    """`area A network PREFIX` takes in every interface of the default VRF whose address is in the prefix."""
    for area in reader.at(*_OSPF, "area"):
        number = area_name(str(area))
        for prefix in reader.at(*_OSPF, "area", str(area), "network"):
            at = Stated(number, reader.where(*_OSPF, "area", str(area), "network", str(prefix)))
            try:
                network = ip_network(str(prefix), strict=False)
            except ValueError:
                reader.bad((*_OSPF, "area", str(area), "network"), f"'{str(prefix)[:40]}' is no prefix")
                continue
            for name in interfaces_inside(reader.device, network):
                known = interior.circuits.get(name, Circuit(name, at.where))
                if not known.area:
                    interior.circuits[name] = replace(known, area=at)
    interior.circuits = {name: it for name, it in interior.circuits.items() if it.area}
