"""Changes of OSPF and IS-IS, as commands of each switch's own language.

Sources: EOS User Manual, "OSPF" and "IS-IS"; Nexus 9000 Unicast Routing Configuration Guide; NVUE object reference.
"""

from __future__ import annotations

from typing import Final

from fabric.configs.interior import Circuit
from fabric.configs.model import Device
from fabric.validate.adjacencies import Side
from fabric.validate.commands import quoted
from fabric.validate.remedies import Fix

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


def _of_sonic(device: Device, interface: str, fields: dict[str, str]) -> str:
    """Fields of the row of an interface in OSPFV2_INTERFACE, which may be a new one; '' deletes a field."""
    its = device.identity.interior
    known = None if its is None else its.circuits.get(interface)
    of_row = known is not None and known.where[:1] == ("OSPFV2_INTERFACE",)
    row = "|".join(known.where) if known is not None and of_row else f"OSPFV2_INTERFACE|{interface}|0.0.0.0"
    return " && ".join(
        f"sonic-db-cli CONFIG_DB {'HSET' if value else 'HDEL'} {quoted(row)} {_SONIC[what]}"
        + (f" {quoted(_SONIC_NETWORKS.get(value, value))}" if value else "")
        for what, value in fields.items()
        if what in _SONIC
    )


def _fix(device: Device, interface: str, field: str, value: str, lines: dict[str, str]) -> Fix:
    line = lines.get(device.language, "")
    if device.language == "sonic":
        return Fix(device.name, f"{interface} {field}", value, line)
    nvue = device.language == "nvue"
    begin = f"nv set interface {quoted(interface)} router ospf " if nvue else f"interface {interface}; "
    return Fix(device.name, f"{interface} {field}", value, f"{begin}{line}" if line else "")


def join_instance(device: Device, interface: str, other: Circuit | None) -> Fix | None:
    """Put an interface into the instance of the switch, with the area and type of the other end."""
    its = device.identity.interior
    if its is None or other is None:
        return None
    area = other.area.value
    if its.protocol == "OSPF":
        fields = {"area": area} | ({"network": other.network.value} if other.network.value else {})
        lines = {
            "sonic": _of_sonic(device, interface, fields),
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
    return _fix(device, interface, its.protocol, "on", lines)


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
        "MTU": f"mtu {max(side.line.port.mtu, other.line.port.mtu)}",
    }.get(what, "")
    if what == "passive" and ospf and side.device.language == "eos":  # has no such line of an interface
        command = f"router ospf {its.name}; no passive-interface {side.interface}"
        return Fix(side.device.name, f"{side.interface} {what}", value, command)
    eos = {"passive": "no isis passive", "shut": "no ip ospf disabled" if ospf else line}.get(what, line)
    nxos = f"ip router ospf {its.name} area {value}" if what == "area" else line
    nvue = _NVUE.get(what, "").format(value) if ospf and value else ""
    sonic = _of_sonic(side.device, side.interface, {what: value}) if side.device.language == "sonic" else ""
    lines = {"eos": eos, "nxos": nxos, "nvue": nvue, "sonic": sonic}
    return _fix(side.device, side.interface, what, value or "the default", lines)
