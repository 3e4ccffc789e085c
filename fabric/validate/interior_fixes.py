"""Changes of OSPF and IS-IS, as commands of each switch's own language.

Sources: EOS User Manual, "OSPF" and "IS-IS"; Nexus 9000 Unicast Routing Configuration Guide; NVUE object reference.
"""

from __future__ import annotations

from typing import Final

from fabric.configs.interior import Circuit
from fabric.configs.model import Device, Where
from fabric.validate.adjacencies import Side
from fabric.validate.commands import quoted
from fabric.validate.edits import BETWEEN_COMMANDS, Row
from fabric.validate.frr_fixes import fix_in_frr, in_frr
from fabric.validate.remedies import Fix

_UNSET: Final = "unset "
"""Begins a line of NVUE that takes an attribute away."""
_NVUE: Final = {
    "area": "area {}",
    "network": "network-type {}",
    "passive": "passive {}",
    "hello": "timers hello-interval {}",
    "dead": "timers dead-interval {}",
    "cost": "cost {}",
}


_SONIC: Final = {
    "area": "area-id",
    "network": "network-type",
    "hello": "hello-interval",
    "dead": "dead-interval",
    "cost": "metric",
}
_SONIC_NETWORKS: Final = {"point-to-point": "POINT_TO_POINT_NETWORK", "broadcast": "BROADCAST_NETWORK"}
_PASSIVE: Final = "OSPFV2_ROUTER_PASSIVE_INTERFACE"


def _of_sonic(device: Device, interface: str, fields: dict[str, str]) -> tuple[Row, ...]:
    """Fields of the row of an interface in OSPFV2_INTERFACE, which may be a new one; '' takes a field away."""
    its = device.identity.interior
    known = None if its is None else its.circuits.get(interface)
    where: Where = ("OSPFV2_INTERFACE", f"{interface}|0.0.0.0")
    if known is not None and known.where[:1] == where[:1]:
        where = known.where
    if "passive" in fields and known is not None:
        row = known.passive.where
        if row[:1] == (_PASSIVE,):
            return (Row(row, None),)
        return (Row((_PASSIVE, f"default|{interface}"), ""),)  # an exception from passive-interface-default
    return tuple(
        Row((*where, _SONIC[what]), _SONIC_NETWORKS.get(value, value) or None)
        for what, value in fields.items()
        if what in _SONIC
    )


def _written(row: Row) -> str:
    """A row as a write to CONFIG_DB."""
    key, field = quoted("|".join(row.path[:2])), row.path[2:]
    if not field:
        return (
            f"sonic-db-cli CONFIG_DB DEL {key}" if row.value is None else f"sonic-db-cli CONFIG_DB HSET {key} NULL NULL"
        )
    if row.value is None:
        return f"sonic-db-cli CONFIG_DB HDEL {key} {quoted(field[0])}"
    return f"sonic-db-cli CONFIG_DB HSET {key} {quoted(field[0])} {quoted(row.value)}"


def _fix(device: Device, interface: str, field: str, value: str, lines: dict[str, str], fields: dict[str, str]) -> Fix:
    """`lines` of the languages of lines, `fields` of SONiC's row."""
    its = device.identity.interior
    if its is not None and in_frr(device, its.where):
        line = lines.get("eos", "")
        begin = "" if line.startswith("router ") else f"interface {interface}; "
        return fix_in_frr(device, its.where, f"{interface} {field}", value, f"{begin}{line}" if line else "")
    if device.capabilities.tables:
        rows = _of_sonic(device, interface, fields)
        return Fix(device.name, f"{interface} {field}", value, BETWEEN_COMMANDS.join(map(_written, rows)), rows)
    line = lines.get(device.language, "")
    verb = "unset" if line.startswith(_UNSET) else "set"
    line = line.removeprefix(_UNSET)
    begin = {"nvue": f"nv {verb} interface {quoted(interface)} router ospf "}.get(
        device.language, f"interface {interface}; "
    )
    if line.startswith("router "):  # a line of the process, not of the interface
        begin = ""
    return Fix(device.name, f"{interface} {field}", value, f"{begin}{line}" if line else "")


def join_instance(device: Device, interface: str, other: Circuit | None) -> Fix | None:
    """Put an interface into the instance of the switch, with the area and type of the other end."""
    its = device.identity.interior
    if its is None or other is None:
        return None
    area = other.area.value
    fields = {"area": area} | ({"network": other.network.value} if other.network.value else {})
    if its.protocol == "OSPF":
        lines = {
            "eos": f"ip ospf area {area}",
            "nxos": f"ip router ospf {its.name} area {area}",
            "nvue": f"area {area}",
        }
        kind = other.network.value
        if kind:
            more = {"eos": f"; ip ospf network {kind}", "nxos": f"; ip ospf network {kind}"}
            lines = {language: line + more.get(language, "") for language, line in lines.items()}
    else:
        lines = {"eos": f"isis enable {its.name}", "nxos": f"ip router isis {its.name}"}
    return _fix(device, interface, its.protocol, "on", lines, fields)


def announce(device: Device, interface: str) -> Fix | None:
    """Put a loopback into the area of the uplinks."""
    its = device.identity.interior
    active = [] if its is None else [it for it in its.circuits.values() if not it.passive]
    return join_instance(device, interface, Circuit(interface, (), area=active[0].area)) if active else None


def set_circuit(side: Side, what: str, value: str, other: Side) -> Fix | None:
    """One value of an interface; its command is '' where that takes more than one line."""
    its = side.interior
    if its is None:
        return None
    ospf = its.protocol == "OSPF"
    begin = "ip ospf" if ospf else "isis"
    cost = f"{begin} {'cost' if ospf else 'metric'}"
    line = {
        "area": f"ip ospf area {value}",
        "network": f"{begin} network {value}" if value != "broadcast" else f"no {begin} network",
        "passive": f"no {begin} passive-interface",
        "hello": f"{begin} hello-interval {value}",
        "dead": f"{begin} dead-interval {value}",
        "shut": f"no {begin} shutdown",
        "cost": f"{cost} {value}" if value else f"no {cost}",
        "instance": f"router {'ospf' if ospf else 'isis'} {its.name}; no shutdown" if value == "up" else "",
        "MTU": f"mtu {max(side.line.port.mtu, other.line.port.mtu)}",
    }.get(what, "")
    active = f"router ospf {its.name}; no passive-interface {side.interface}" if ospf else "no isis passive"
    eos = {"passive": active, "shut": "no ip ospf disabled" if ospf else line}.get(what, line)
    nxos = f"ip router ospf {its.name} area {value}" if what == "area" else line
    nvue = _NVUE.get(what, "").format(value) if ospf else ""
    if nvue and not value:  # an attribute that is unset has its default (NVUE CLI guide, `nv unset`)
        nvue = f"{_UNSET}{nvue.strip()}"
    lines = {"eos": eos, "nxos": nxos, "nvue": nvue}
    return _fix(side.device, side.interface, what, value or "the default", lines, {what: value})
