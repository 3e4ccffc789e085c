"""The fabric under test: all switches of a folder lowered as for proofs, or the fabric of a scenario.

A plan brings the traffic, so a scenario's own workload, faults and expectations are left out. RoCE's class is the one
that the hosts' DSCP leads to; beside it a plan sends with DSCP 0.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np

from fabric import shipped
from fabric.configs.model import Device
from fabric.configs.network import End
from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import TraceBit
from fabric.errors import InputErrors, Problem
from fabric.proof.cut import Cutter, NoCutError
from fabric.proof.lowering.lower import lower
from fabric.scenario.compile.scenario import CompiledScenario, compile_scenario
from fabric.scenario.load import build_scenario
from fabric.scenario.schema.scenario import Scenario
from fabric.scenario.yaml_input import read_yaml
from fabric.topology.model import Fabric
from fabric.validate.facts import Facts

BESIDE_DSCP: Final = 0
_LEFT_OUT: Final = ("workload", "faults", "expectations", "run", "telemetry", "admission", "risk_groups", "description")
"""Sections of a scenario that a plan has of its own, or that concern no run."""
STAGE: Final = "making the fabric of the test plan"


@dataclass
class Subject:
    """A fabric under test."""

    name: str
    sections: dict[str, Any]
    """Of a scenario file: topology, switches, hosts, transport, and what else it has but the traffic."""
    devices: Mapping[str, Device] = field(default_factory=dict)
    """By name; {}: the fabric is a scenario's."""
    down: tuple[str, ...] = ()
    """Cables between switches of which an end is not up: 'leaf1:Ethernet16 to spine1:Ethernet8'."""
    assumed: list[str] = field(default_factory=list)
    not_lowered: list[str] = field(default_factory=list)
    fabric: Fabric = field(init=False)
    roce: int = field(init=False)
    """Traffic class of RoCE, which is its PFC priority and its queue."""
    dscp: int = field(init=False)
    """Of RoCE's packets."""
    model: str = field(init=False)
    """Rules of the emulation, as the scenario has them."""

    def __post_init__(self) -> None:
        bare = {key: it for key, it in self.sections.items() if key not in _LEFT_OUT}
        self.sections = bare
        probe = {"kind": "all-to-all", "size": "1KB"}
        scenario, first = _compiled({**bare, "workload": [probe]}, self.name)
        self.fabric, self.model = first.fabric, scenario.model
        now = Emulator(first.fabric, first.params, first.edits, record=TraceBit(0)).snapshot()
        self.roce = int(np.bincount(now.qps["tc"]).argmax())
        self.dscp = int(now.qps["dscp"][0])

    @property
    def pair_per_message(self) -> bool:
        """Whether the model has a queue pair for each message, whatever a run says, as the HPCC simulator has."""
        return self.model == "hpcc-ns3"

    @cached_property
    def beside(self) -> int:
        """Class of DSCP 0 where it enters by the port of the first host. Raises: InputErrors where the model has no
        datagrams.
        """
        load = {"kind": "datagrams", "senders": [self.hosts[0]], "receivers": [self.hosts[-1]], "load": 0.1,
                "frame": "64B", "dscp": BESIDE_DSCP, "count": 1}  # fmt: skip
        _, found = _compiled({**self.sections, "workload": [load]}, self.name)
        streams = Emulator(found.fabric, found.params, found.edits, record=TraceBit(0)).snapshot().streams
        return int(streams["tc"][0])

    @property
    def hosts(self) -> tuple[str, ...]:
        """Names of the hosts, in the fabric's order."""
        return tuple(it.name for it in self.fabric.hosts)

    def leaf_of(self, host: str) -> str:
        """The switch of a host's first port."""
        return self.fabric.peer_of(self.fabric.by_name[host].first_port).name

    def port_of(self, host: str) -> int:
        """The switch's port of a host's first cable."""
        return int(self.fabric.ports[self.fabric.by_name[host].first_port].peer)

    def rate_bps(self, host: str) -> int:
        """Of the host's first cable."""
        return self.fabric.links[self.fabric.ports[self.port_of(host)].link].rate_bps

    def compiled(self, changes: Mapping[str, Any], without: Collection[str] = ()) -> tuple[Scenario, CompiledScenario]:
        """With the sections of a run. Raises: InputErrors where the fabric cannot carry the traffic."""
        own = {key: it for key, it in self.sections.items() if key not in without}
        return _compiled({**copy.deepcopy(own), **changes}, self.name)


def _compiled(raw: Mapping[str, Any], name: str) -> tuple[Scenario, CompiledScenario]:
    run = {"run": {"duration": "1ms", "seed": 1, "stop": "duration"}}
    scenario = build_scenario({**run, **raw, "name": "qualify"}, Path(f"{name}.yml"))
    return scenario, compile_scenario(scenario)


def of_scenario(file: Path) -> Subject:
    """The fabric of a scenario. Raises: InputErrors."""
    found = shipped.scenario(file)
    raw = dict(read_yaml(found))
    build_scenario(raw, found)  # its own mistakes first, at their places
    return Subject(str(raw.get("name", found.stem)), raw)


def of_configurations(facts: Facts, name: str, most: int | None) -> Subject:
    """All switches of a network, and their hosts, at most so many, of each leaf in turn. Raises: InputErrors."""
    cutter, devices = Cutter(facts), facts.network.devices
    ends = _host_ends(facts, cutter)
    if most is not None and most > len(ends):
        text = f"{most} were asked for, and {len(ends)} ports of switches lead to hosts"
        raise InputErrors("options", [Problem("--ports", text, f"give 2 to {len(ends)}, or leave it out")])
    try:
        cut = cutter.whole(_some(ends, most))
    except NoCutError as error:
        hint = "name the hosts in hosts.json, or in DEVICE_NEIGHBOR or the descriptions of the ports, or give --links"
        raise InputErrors(STAGE, [Problem(name, str(error), hint)]) from error
    notes = []
    for device in cut.network.devices.values():
        if any("tc_to_dscp" in port.maps for port in device.ports.values()) or "tc_to_dscp" in device.global_maps:
            notes.append(f"{device.name}: tc_to_dscp: packets keep their DSCP here")
        device.global_maps = {kind: it for kind, it in device.global_maps.items() if kind != "tc_to_dscp"}
        for port in device.ports.values():
            port.maps = {kind: it for kind, it in port.maps.items() if kind != "tc_to_dscp"}
    lowering = lower(cut, next(iter(facts.network.roce_dscps)))
    lowering.sections["transport"]["qp"] = {"per": "pair", "count": 1}
    down = tuple(
        f"{':'.join(cable.a)} to {':'.join(cable.b)}"
        for cable in facts.network.links
        if all(it[0] in devices and it[1] in devices[it[0]].ports for it in (cable.a, cable.b))
        and not all(devices[it[0]].ports[it[1]].admin_up for it in (cable.a, cable.b))
    )
    notes.append("routing tables and sessions: next hops are all those of shortest paths")
    return Subject(
        name, lowering.sections, cut.network.devices, down, lowering.assumed, [*lowering.not_lowered, *notes]
    )


def _host_ends(facts: Facts, cutter: Cutter) -> list[End]:
    """Ports that are up and lead to a host."""
    found = []
    for name in facts.network.devices:
        for port in cutter.usable(name):
            line = facts.line((name, port))
            if line is not None and facts.faces_host(line):
                found.append((name, port))
    return found


def _some(ends: Sequence[End], most: int | None) -> list[End]:
    """The first port of each switch, then the second of each, up to so many; in their order."""
    turns: dict[str, int] = {}
    keyed = []
    for number, (name, _) in enumerate(ends):
        turns[name] = turns.get(name, -1) + 1
        keyed.append((turns[name], number))
    return [ends[number] for number in sorted(it for _, it in sorted(keyed)[:most])]
