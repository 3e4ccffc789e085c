"""States that are equal but for the names of switches: a key that equal states share.

Switches start with a colour from their QoS configuration, their edits and their hosts; links have one from the rows of
their two ports before and after. A few rounds of colour refinement over the links (Weisfeiler and Leman 1968) tell
positions apart. Two states with one key are taken as equal. A switch whose edits concern anything but QoS, and one that
is not SONiC, has a separate colour.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, Final

from fabric.configs.model import Device
from fabric.rollout.edits import PORT_TABLES, Tables
from fabric.rollout.units import Change, State, Unit

_QOS: Final = frozenset(
    (
        "PORT",
        "CABLE_LENGTH",
        "BUFFER_POOL",
        "BUFFER_PROFILE",
        "BUFFER_PG",
        "BUFFER_QUEUE",
        "BUFFER_PORT_INGRESS_PROFILE_LIST",
        "BUFFER_PORT_EGRESS_PROFILE_LIST",
        "DSCP_TO_TC_MAP",
        "DOT1P_TO_TC_MAP",
        "TC_TO_QUEUE_MAP",
        "TC_TO_PRIORITY_GROUP_MAP",
        "MAP_PFC_PRIORITY_TO_QUEUE",
        "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP",
        "TC_TO_DSCP_MAP",
        "SCHEDULER",
        "WRED_PROFILE",
        "QUEUE",
        "PORT_QOS_MAP",
        "PFC_WD",
        "LOSSLESS_TRAFFIC_PATTERN",
        "DEFAULT_LOSSLESS_BUFFER_PARAMETER",
    )
)
_NAMES: Final = frozenset(("description", "alias", "index"))
"""Fields of PORT that name a port."""
_ROUNDS: Final = 4
"""Rounds of refinement: the diameter of a fabric of three tiers."""


class Symmetry:
    """Colours of the switches of a change."""

    def __init__(self, change: Change, raw: Callable[[Device], Tables | None]) -> None:
        self._near: dict[str, Counter[tuple[str, str]]] = {}
        """Switch to (neighbour, colour of the link) to the number of such links."""
        hosts: dict[str, list[str]] = {}
        network = change.old
        ends = _Ends(change, raw)
        for name in {**network.devices, **change.new.devices}:
            self._near[name] = Counter()
        for cable in (*network.links, *change.new.links):
            for (here, port), (there, peer) in ((cable.a, cable.b), (cable.b, cable.a)):
                if here in self._near and there in self._near:
                    self._near[here][there, f"{ends.colour(here, port)} {ends.colour(there, peer)}"] += 1
                elif here in self._near:
                    hosts.setdefault(here, []).append(f"{_host_colour(change, there)} {ends.colour(here, port)}")
        units = {unit.name: unit for unit in change.units}
        colours = {}
        for name in self._near:
            device = network.devices.get(name)
            tables = None if device is None else raw(device)
            own = _colour(name, tables, units.get(name))
            colours[name] = _hash(own, *sorted(hosts.get(name, ())))
        self.colours: Mapping[str, str] = self._refined(colours)

    def key(self, change: Change, state: State) -> str:
        """Equal for states that are taken as equal."""
        levels = {unit.name: level for unit, level in zip(change.units, state, strict=True)}
        marked = {name: _hash(colour, str(levels.get(name, 0))) for name, colour in self.colours.items()}
        others = [f"{name}={level}" for name, level in levels.items() if name not in self.colours]
        lasts = "".join(str(unit.last) for unit in change.units[:1])
        return _hash(lasts, *others, *sorted(self._refined(marked).values()))

    def classes(self, change: Change) -> dict[str, list[Unit]]:
        """Units by colour, in their order."""
        found: dict[str, list[Unit]] = {}
        for unit in change.units:
            found.setdefault(self.colours.get(unit.name, unit.name), []).append(unit)
        return found

    def _refined(self, colours: Mapping[str, str]) -> dict[str, str]:
        found = dict(colours)
        for _ in range(_ROUNDS):
            found = {
                name: _hash(found[name], *sorted(f"{n}*{found[other]} {link}" for (other, link), n in near.items()))
                for name, near in self._near.items()
            }
        return found


class _Ends:
    """Colours of ports: their rows before and after, without names."""

    def __init__(self, change: Change, raw: Callable[[Device], Tables | None]) -> None:
        self._change, self._raw = change, raw
        self._found: dict[str, dict[str, str]] = {}

    def colour(self, name: str, port: str) -> str:
        """Of one port; its name where the switch is not SONiC."""
        if name not in self._found:
            devices = (self._change.old.devices.get(name), self._change.new.devices.get(name))
            sides = [_port_rows(tables) for it in devices if it is not None and (tables := self._raw(it)) is not None]
            ports = {port for side in sides for port in side}
            self._found[name] = {
                it: _hash(*(json.dumps(side.get(it), sort_keys=True) for side in sides)) for it in ports
            }
        return self._found[name].get(port, port)


def _port_rows(tables: Tables) -> dict[str, list[Any]]:
    """Port to its rows of every table, in order."""
    found: dict[str, list[Any]] = {}
    for table in PORT_TABLES:
        for key in sorted(tables.get(table, {})):
            ports, _, rest = key.partition("|")
            row = tables[table][key]
            kept = {field: value for field, value in row.items() if field not in {*_NAMES, "lanes"}}
            lanes = str(row.get("lanes", "")).count(",")
            for port in ports.split(","):
                found.setdefault(port, []).append([table, rest, kept, lanes])
    for rows in tables.get("CABLE_LENGTH", {}).values():
        for port, length in rows.items():
            found.setdefault(port, []).append(["CABLE_LENGTH", str(length)])
    return found


def _colour(name: str, tables: Tables | None, unit: Unit | None) -> str:
    """Of a switch as it is, with what changes on it."""
    if tables is None or (unit is not None and not _only_qos(unit)):
        return _hash("own", name)
    meta = tables.get("DEVICE_METADATA", {}).get("localhost", {})
    kept: dict[str, Any] = {table: rows for table, rows in tables.items() if table in _QOS}
    kept["PORT"] = {
        port: {field: value for field, value in row.items() if field not in _NAMES} if isinstance(row, dict) else row
        for port, row in kept.get("PORT", {}).items()
    }
    kept["meta"] = [str(meta.get(field)) for field in ("type", "hwsku", "platform", "buffer_model")]
    edits = [] if unit is None else [f"{edit.path} {edit.op} {edit.new}" for step in unit.steps for edit in step.edits]
    return _hash(json.dumps(kept, sort_keys=True), *edits)


def _only_qos(unit: Unit) -> bool:
    edits = [edit for step in unit.steps for edit in step.edits]
    return bool(edits) and all(edit.table in _QOS for edit in edits)


def _host_colour(change: Change, name: str) -> str:
    """The settings of a host before and after, without its name; the hosts that move first and last have a mark."""
    shown = [name] if name in {*change.moving[:1], *change.moving[-1:]} else []
    for network in (change.old, change.new):
        host = network.hosts.get(name)
        shown.append("default" if host is None else repr((host.roce_dscp, host.cnp_dscp, host.pfc_enable, host.mtu,
                     host.roce_mtu, host.trust, host.cc, host.ecn_np_prio, host.ecn_rp_prio, host.speed)))  # fmt: skip
    return " ".join(shown)


def _hash(*words: str) -> str:
    return sha256("\n".join(words).encode()).hexdigest()
