"""Layers of settings: model defaults, the section, overrides; merged once per distinct combination."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel

from fabric.errors import Problem
from fabric.ids import NodeId, PortId
from fabric.name_patterns import fits_pattern
from fabric.scenario.compile.scale_up import SCALE_UP_CHIP, classification, room_bytes, scale_up_settings
from fabric.scenario.presets.asics import ASICS, Asic
from fabric.scenario.presets.models import default_tree
from fabric.scenario.schema.endpoints import HostSettings, HostsSpec
from fabric.scenario.schema.switches import (
    SELECTORS,
    Buffer,
    EcnCurve,
    EgressLimit,
    PortSettings,
    SwitchesSpec,
    SwitchSettings,
)
from fabric.topology.model import Fabric, Node, Role
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
            if isinstance(old, BaseModel) and isinstance(new, BaseModel) and _merges(old, new):
                update[field] = merge(old, new)
            elif isinstance(new, Mapping) and isinstance(old, Mapping):
                update[field] = {**old, **{key: _joined(old.get(key), value) for key, value in new.items()}}
            else:
                update[field] = new
        if isinstance(base, Buffer | EgressLimit):  # a limit of one kind replaces a limit of the other
            for mine, other in (("static_th", "dynamic_th"), ("dynamic_th", "static_th")):
                if update.get(mine) is not None:
                    update[other] = None
        if isinstance(base, EcnCurve):  # the layer has a curve of its own: a preset below it has no value left
            update["preset"] = None
        base = base.model_copy(update=update)
    return base


def _merges(old: object, new: object) -> bool:
    """Whether a layer's model changes fields of the one below; a curve that starts from a preset replaces it."""
    if isinstance(new, EcnCurve) and new.preset is not None:
        return False
    return isinstance(new, BaseModel) and type(old) is type(new)


def _joined(old: object, new: object) -> object:
    """The value of one key of a mapping: models merge, any other value replaces."""
    if isinstance(old, BaseModel) and isinstance(new, BaseModel) and _merges(old, new):
        return merge(old, new)
    return new


@dataclass(frozen=True)
class Origin:
    """Where the settings of one device or port are written, so that a problem names what its author can change."""

    section: str
    """Place of the section: 'fabric.yml: switches'."""
    layers: tuple[tuple[str, BaseModel], ...]
    """(place, settings) of every layer of the file; the last one that gives a field decides."""

    def gives(self, *field: str | int) -> bool:
        """Whether the file gives a field, or a part of one: 'shaper', 5, 'rate'."""
        return any(_gives(layer, field) for _, layer in self.layers)

    def place(self, *field: str | int) -> str:
        """'fabric.yml: switches.overrides[1].shaper.5.rate'; in the section where the default holds."""
        here = next((place for place, layer in reversed(self.layers) if _gives(layer, field)), self.section)
        return ".".join([here, *map(str, field)])


def _gives(layer: BaseModel, field: Sequence[str | int]) -> bool:
    """As merge() reads it: None is not given."""
    value: object = layer
    for step in field:
        if isinstance(value, BaseModel):
            value = getattr(value, str(step)) if step in value.model_fields_set else None
        else:
            value = value.get(step) if isinstance(value, Mapping) else None  # a word, such as 'off', has no parts
    return value is not None


@dataclass(frozen=True)
class Settings:
    """The settings of every device and port; complete: no field is None where the model has a default."""

    switches: Mapping[NodeId, SwitchSettings]
    switch_ports: Mapping[PortId, PortSettings]
    hosts: Mapping[NodeId, HostSettings]
    asics: Mapping[NodeId, Asic]
    switch_origins: Mapping[NodeId, Origin]
    port_origins: Mapping[PortId, Origin]
    host_origins: Mapping[NodeId, Origin]


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
    switch_origins: dict[NodeId, Origin] = {}
    port_origins: dict[PortId, Origin] = {}
    origins: dict[tuple[bool, tuple[int, ...]], Origin] = {}

    def origin(node: Node, numbers: tuple[int, ...]) -> Origin:
        """Of scale-up switches the section gives the classes of packets alone, which nothing here is about."""
        scale_up = node.role is Role.SCALE_UP
        if (scale_up, numbers) not in origins:
            origins[scale_up, numbers] = _origin(f"{path}switches", switches, numbers, overrides_alone=scale_up)
        return origins[scale_up, numbers]

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
        switch_origins[node.id] = origin(node, key[1:])
        for port in node.ports:
            port_key = (key, tuple(chosen_ports.get(port, ())))
            if port_key not in port_made:
                port_made[port_key] = merge(settings, *(switches.overrides[number] for number in port_key[1]))
            per_port[PortId(port)] = port_made[port_key]
            port_origins[PortId(port)] = origin(node, (*key[1:], *port_key[1]))
    per_host, host_origins = _hosts(fabric, tree["hosts"], hosts, path, problems)
    return Settings(per_switch, per_port, per_host, asics, switch_origins, port_origins, host_origins)


def _origin(
    place: str, section: SwitchesSpec | HostsSpec, numbers: Sequence[int], *, overrides_alone: bool = False
) -> Origin:
    """Of what a section and its overrides of these numbers say, in this order."""
    every = all_given(section, place)
    return Origin(place, tuple(every[it] for it in ([] if overrides_alone else [0]) + [1 + it for it in numbers]))


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
) -> tuple[dict[NodeId, HostSettings], dict[NodeId, Origin]]:
    base = merge(HostSettings.model_validate(defaults), spec)
    for number, override in enumerate(spec.overrides):
        match_hosts(fabric, [override.host], f"{path}hosts.overrides[{number}].host", problems)
    made: dict[tuple[int, ...], HostSettings] = {(): base}
    origins: dict[tuple[int, ...], Origin] = {}
    found, places = {}, {}
    for host in fabric.hosts:
        key = tuple(number for number, override in enumerate(spec.overrides) if fits_pattern(host.name, override.host))
        if key not in made:
            made[key] = merge(base, *(spec.overrides[number] for number in key))
        if key not in origins:
            origins[key] = _origin(f"{path}hosts", spec, key)
        found[host.id], places[host.id] = made[key], origins[key]
    return found, places


def given(spec: BaseModel) -> set[str]:
    """Fields that the user wrote, without selectors and overrides."""
    written = {name for name in spec.model_fields_set if getattr(spec, name) is not None}
    return written - SELECTORS - {"overrides", "host"}


def all_given(section: SwitchesSpec | HostsSpec, path: str) -> Sequence[tuple[str, BaseModel]]:
    """(path, settings) of a section and of each of its overrides."""
    overrides: Sequence[BaseModel] = section.overrides
    return [(path, section), *((f"{path}.overrides[{number}]", item) for number, item in enumerate(overrides))]
