"""Layers of settings: model defaults, the section, overrides; merged once per distinct combination."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TypeVar

from pydantic import BaseModel

from fabric.errors import Problem
from fabric.ids import NodeId, PortId
from fabric.scenario.compile.scale_up import SCALE_UP_CHIP, classification, room_bytes, scale_up_settings
from fabric.scenario.presets.asics import ASICS, Asic
from fabric.scenario.presets.models import default_tree
from fabric.scenario.schema.endpoints import HostSettings, HostsSpec
from fabric.scenario.schema.switches import SELECTORS, Buffer, EgressLimit, PortSettings, SwitchesSpec, SwitchSettings
from fabric.topology.model import Fabric, Role
from fabric.topology.select import match_hosts, match_nodes, match_ports

M = TypeVar("M", bound=BaseModel)


def merge(base: M, *layers: BaseModel) -> M:
    """`base` with every field that a layer sets; nested models and mappings merge, any other value replaces."""
    for layer in layers:
        update: dict[str, object] = {}
        for field in layer.model_fields_set & set(type(base).model_fields):
            old, new = getattr(base, field), getattr(layer, field)
            if new is None:
                continue
            if isinstance(new, BaseModel) and type(old) is type(new):
                update[field] = merge(old, new)
            elif isinstance(new, Mapping) and isinstance(old, Mapping):
                update[field] = {**old, **{key: _joined(old.get(key), value) for key, value in new.items()}}
            else:
                update[field] = new
        if isinstance(base, Buffer | EgressLimit):  # a limit of one kind replaces a limit of the other
            for mine, other in (("static_th", "dynamic_th"), ("dynamic_th", "static_th")):
                if update.get(mine) is not None:
                    update[other] = None
        base = base.model_copy(update=update)
    return base


def _joined(old: object, new: object) -> object:
    """The value of one key of a mapping: models merge, any other value replaces."""
    return (
        merge(old, new) if isinstance(old, BaseModel) and isinstance(new, BaseModel) and type(old) is type(new) else new
    )


@dataclass(frozen=True)
class Settings:
    """The settings of every device and port; complete: no field is None where the model has a default."""

    switches: Mapping[NodeId, SwitchSettings]
    switch_ports: Mapping[PortId, PortSettings]
    hosts: Mapping[NodeId, HostSettings]
    asics: Mapping[NodeId, Asic]


def settle(
    fabric: Fabric, model: str, switches: SwitchesSpec, hosts: HostsSpec, path: str, problems: list[Problem]
) -> Settings:
    """Apply the layers. Overrides that match nothing are problems."""
    tree = default_tree(model)
    base = SwitchSettings.model_validate(tree["switches"])
    chosen_switches, chosen_ports = _switch_overrides(fabric, switches, path, problems)
    per_switch: dict[NodeId, SwitchSettings] = {}
    asics: dict[NodeId, Asic] = {}
    made: dict[tuple[int, ...], SwitchSettings] = {}
    port_made: dict[tuple[tuple[int, ...], tuple[int, ...]], PortSettings] = {}
    per_port: dict[PortId, PortSettings] = {}
    for node in fabric.switches:
        room = room_bytes(fabric, node) if node.role is Role.SCALE_UP else 0
        key = (room, *chosen_switches.get(node.id, ()))
        if node.role is Role.SCALE_UP and key not in made:
            overrides = (switches.overrides[number] for number in key[1:])
            made[key] = merge(classification(switches), scale_up_settings(room), *overrides)
        if key not in made:
            layers = [switches, *(switches.overrides[number] for number in key[1:])]
            named = merge(base, *layers).asic or ""
            made[key] = merge(base, _of_chip(ASICS[named]), *layers)
        settings = per_switch[node.id] = made[key]
        asics[node.id] = SCALE_UP_CHIP if node.role is Role.SCALE_UP else ASICS[settings.asic or ""]
        for port in node.ports:
            port_key = (key, tuple(chosen_ports.get(port, ())))
            if port_key not in port_made:
                port_made[port_key] = merge(settings, *(switches.overrides[number] for number in port_key[1]))
            per_port[PortId(port)] = port_made[port_key]
    return Settings(per_switch, per_port, _hosts(fabric, tree["hosts"], hosts, path, problems), asics)


def _of_chip(asic: Asic) -> SwitchSettings:
    """The chip's numbers as settings, written as the text that the schema reads."""
    return SwitchSettings.model_validate(
        {
            "memory": f"{asic.buffer_bytes}B",
            "cell": f"{asic.cell_bytes}B",
            "buffer": {
                "dynamic_th": asic.dynamic_th,
                "reserved": f"{asic.reserved_bytes}B",
                "xon": f"{asic.xon_bytes}B",
                "xon_offset": f"{asic.xon_offset_bytes}B",
            },
        }
    )


def _switch_overrides(
    fabric: Fabric, spec: SwitchesSpec, path: str, problems: list[Problem]
) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    by_switch: dict[int, list[int]] = {}
    by_port: dict[int, list[int]] = {}
    for number, override in enumerate(spec.overrides):
        where = f"{path}switches.overrides[{number}]"
        if override.port is not None:
            ports = match_ports(fabric, override.port, f"{where}.port", problems)
            hosts_only = bool(ports) and all(fabric.node_of(port.id).is_host for port in ports)
            if hosts_only:
                problems.append(
                    Problem(f"{where}.port", f"'{override.port}' names ports of hosts", "use hosts.overrides")
                )
            for port in ports:
                by_port.setdefault(port.id, []).append(number)
            continue
        if override.switch is not None:
            nodes = match_nodes(fabric, [override.switch], fabric.switches, f"{where}.switch", "switch", problems)
        else:
            nodes = [node for node in fabric.switches if node.role == override.role]
            if not nodes:
                roles = ", ".join(dict.fromkeys(node.role for node in fabric.switches))
                problems.append(Problem(f"{where}.role", f"this fabric has no {override.role}", f"roles here: {roles}"))
        for node in nodes:
            by_switch.setdefault(node.id, []).append(number)
    return by_switch, by_port


def _hosts(
    fabric: Fabric, defaults: Mapping[str, object], spec: HostsSpec, path: str, problems: list[Problem]
) -> dict[NodeId, HostSettings]:
    base = merge(HostSettings.model_validate(defaults), spec)
    for number, override in enumerate(spec.overrides):
        match_hosts(fabric, [override.host], f"{path}hosts.overrides[{number}].host", problems)
    made: dict[tuple[int, ...], HostSettings] = {(): base}
    found = {}
    for host in fabric.hosts:
        key = tuple(number for number, override in enumerate(spec.overrides) if fnmatchcase(host.name, override.host))
        if key not in made:
            made[key] = merge(base, *(spec.overrides[number] for number in key))
        found[host.id] = made[key]
    return found


def given(spec: BaseModel) -> set[str]:
    """Fields that the user wrote, without selectors and overrides."""
    written = {name for name in spec.model_fields_set if getattr(spec, name) is not None}
    return written - SELECTORS - {"overrides", "host"}


def all_given(section: SwitchesSpec | HostsSpec, path: str) -> Sequence[tuple[str, BaseModel]]:
    """(path, settings) of a section and of each of its overrides."""
    overrides: Sequence[BaseModel] = section.overrides
    return [(path, section), *((f"{path}.overrides[{number}]", item) for number, item in enumerate(overrides))]
