"""Ports of packet captures by name, and the frames of a scenario's packets: `fabric capture`, `fabric serve`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fabric.errors import Problem

if TYPE_CHECKING:
    from fabric.capture.packets import Packets
    from fabric.dataplane.engine.driver import Emulator
    from fabric.scenario.compile.scenario import CompiledScenario
    from fabric.scenario.schema.scenario import Scenario
    from fabric.topology.model import Fabric


def ports_called(fabric: Fabric, name: str, option: str, problems: list[Problem]) -> list[int]:
    """Rows of the port DEVICE:PORT, or of all ports of DEVICE."""
    from fabric.topology.select import nearest, nearest_node  # noqa: PLC0415  --help must not load an engine

    device, _, port = name.partition(":")
    node = fabric.by_name.get(device)
    if node is None:
        problems.append(
            Problem(option, f"no device is called '{device}'", nearest_node(device, fabric.nodes, "devices"))
        )
        return []
    names = {fabric.port_name(it).partition(":")[2]: int(it) for it in node.ports}
    if not port:
        return list(names.values())
    if port not in names:
        problems.append(Problem(option, f"{device} has no port '{port}'", nearest(port, list(names), "ports")))
        return []
    return [names[port]]


def problems_of_model(scenario: Scenario) -> list[Problem]:
    """Why the packets of a scenario have no headers that a capture could show."""
    if scenario.model != "hpcc-ns3":
        return []
    return [Problem("model", "hpcc-ns3 has headers of its simulator, which are not those of RoCEv2", "use model: asic")]


def frame_maker(scenario: Scenario, compiled: CompiledScenario) -> Callable[[Emulator], Packets]:
    """What makes frames of an emulator's packets."""
    from fabric.capture.packets import Layers, Packets  # noqa: PLC0415  as above

    transport = scenario.transport
    layers = Layers(transport.ip or 4, bool(transport.vlan_tag))
    control = compiled.control
    macs = {} if control is None else {it.node: it.mac for it in control.plan.endpoints if it.node >= 0}
    return lambda engine: Packets(engine, layers, macs)
