"""What an operator can do in a playbook: each act becomes dated edits of the running fabric.

- shut: take cables out of service
- reset-nic: a NIC that stormed is reset and behaves again
- repair-host: a slow receiver consumes at line rate again
- watchdog: switch the PFC watchdog on
- ecn: another marking curve on ports
- arp-suppression: leaves answer ARP for hosts they know, or flood it
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, model_validator

from fabric.engine.edits import (
    Edit,
    HostDrain,
    LinkState,
    NicReset,
    PauseStorm,
    QueueEcn,
    SuppressArp,
    WatchdogSet,
)
from fabric.errors import Problem
from fabric.scenario.compile import CompiledScenario
from fabric.state.codes import WatchdogAction, WatchdogRule
from fabric.state.params import EcnParams, WatchdogParams
from fabric.topology.model import Fabric
from fabric.topology.quantities import SizeBytes, TimePs
from fabric.topology.select import match_hosts, match_links, match_nodes, match_ports
from fabric.topology.spec import Strict

Names = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(strict=False, min_length=1)]


class Shut(Strict):
    """Take cables out of service."""

    kind: Literal["shut"]
    link: str = Field(min_length=1, description="Cables: 'leaf1--spine1' or a port such as 'leaf1:Ethernet0'.")


class ResetNic(Strict):
    """End the storm of a broken NIC."""

    kind: Literal["reset-nic"]
    hosts: Names = Field(description="Hosts by name or pattern.")


class RepairHost(Strict):
    """Let a slow receiver consume at line rate."""

    kind: Literal["repair-host"]
    hosts: Names = Field(description="Hosts by name or pattern.")


class SwitchOnWatchdog(Strict):
    """Switch the PFC watchdog on."""

    kind: Literal["watchdog"]
    switches: Names = Field(description="Switches by name or pattern.")
    poll: TimePs = Field(gt=0, description="Poll interval.")
    detection: TimePs = Field(gt=0, description="A storm is declared after this, in whole polls.")
    restoration: TimePs | None = Field(None, description="The queue is restored after this long without pause; never "
                                                         "where absent.")
    action: Literal["drop", "forward", "alert"] = Field("drop", description="What is done to a stormed queue.")

    @model_validator(mode="after")
    def _not_shorter_than_poll(self) -> Self:
        if self.detection < self.poll or (self.restoration is not None and self.restoration < self.poll):
            raise ValueError("detection and restoration must not be shorter than poll (sonic-pfcwd.yang)")
        return self


class NewEcn(Strict):
    """Another marking curve."""

    kind: Literal["ecn"]
    ports: str = Field(min_length=1, description="'switch:port', either part a pattern; a switch means all its ports.")
    kmin: SizeBytes = Field(description="Queue at which marking begins.")
    kmax: SizeBytes = Field(description="Queue from which every packet is marked.")
    pmax: float = Field(gt=0, le=1, description="Mark probability just below kmax.")

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        if self.kmin >= self.kmax:
            raise ValueError(f"kmin ({self.kmin} B) is not below kmax ({self.kmax} B)")
        return self


class ArpSuppression(Strict):
    """Leaves answer ARP from their EVPN routes, or flood it."""

    kind: Literal["arp-suppression"]
    switches: Names = Field(description="Leaves by name or pattern.")
    state: Literal["on", "off"] = Field(description="From now on, in every VNI.")


ActSpec = Annotated[Shut | ResetNic | RepairHost | SwitchOnWatchdog | NewEcn | ArpSuppression,
                    Field(discriminator="kind")]
"""The `do:` of an act."""

Maker = Callable[[Any, int, CompiledScenario, str, list[Problem]], list[Edit]]
"""(act, time_ps, scenario, path, problems) -> edits; problems are appended."""


def _shut(act: Shut, time_ps: int, compiled: CompiledScenario, path: str, problems: list[Problem]) -> list[Edit]:
    links = match_links(compiled.fabric, act.link, f"{path}.link", problems)
    return [LinkState(time_ps, link.id, up=False) for link in links]


def _reset_nic(act: ResetNic, time_ps: int, compiled: CompiledScenario, path: str,
               problems: list[Problem]) -> list[Edit]:
    storms = [edit for edit in compiled.edits if isinstance(edit, PauseStorm)]
    resets = [edit for edit in compiled.edits if isinstance(edit, NicReset)]
    edits: list[Edit] = []
    for host in match_hosts(compiled.fabric, act.hosts, f"{path}.hosts", problems):
        since_ps = max((edit.time_ps for edit in resets if edit.host == host.id and edit.time_ps <= time_ps),
                       default=-1)
        if not any(storm.host == host.id and since_ps <= storm.time_ps < time_ps < storm.time_ps + storm.duration_ps
                   for storm in storms):
            problems.append(Problem(f"{path}.hosts", f"the NIC of '{host.name}' does not storm at that moment",
                                    "name the host of a pause-storm fault, and a time within it"))
        else:
            edits.append(NicReset(time_ps, host.id))
    return edits


def _repair_host(act: RepairHost, time_ps: int, compiled: CompiledScenario, path: str,
                 problems: list[Problem]) -> list[Edit]:
    hosts = match_hosts(compiled.fabric, act.hosts, f"{path}.hosts", problems)
    return [HostDrain(time_ps, host.id, 0) for host in hosts]


def _watchdog(act: SwitchOnWatchdog, time_ps: int, compiled: CompiledScenario, path: str,
              problems: list[Problem]) -> list[Edit]:
    fabric = compiled.fabric
    switches = match_nodes(fabric, act.switches, fabric.switches, f"{path}.switches", "switch", problems)
    return [WatchdogSet(time_ps, node.id, WatchdogParams(
        act.poll, act.detection, act.restoration, WatchdogAction[act.action.upper()], WatchdogRule.BROADCOM,
        _watched(compiled, fabric, node.id))) for node in switches]


def _watched(compiled: CompiledScenario, fabric: Fabric, node: int) -> int:
    """The classes for which any port of the switch honours PAUSE."""
    classes = 0
    for port in fabric.nodes[node].ports:
        classes |= compiled.params.ports[port].pfc_classes
    return classes


def _ecn(act: NewEcn, time_ps: int, compiled: CompiledScenario, path: str, problems: list[Problem]) -> list[Edit]:
    curve = EcnParams(act.kmin, act.kmax, act.pmax)
    ports = match_ports(compiled.fabric, act.ports, f"{path}.ports", problems)
    marking = [(port, queue) for port in ports for queue, now in enumerate(compiled.params.ports[port.id].queues)
               if now.ecn is not None]
    if ports and not marking:
        problems.append(Problem(f"{path}.ports", f"no queue of '{act.ports}' marks, so a curve has no effect there",
                                "name switch ports with ECN"))
    return [QueueEcn(time_ps, port.id, queue, curve) for port, queue in marking]


def _arp_suppression(act: ArpSuppression, time_ps: int, compiled: CompiledScenario, path: str,
                     problems: list[Problem]) -> list[Edit]:
    fabric, overlay = compiled.fabric, compiled.params.vxlan
    switches = match_nodes(fabric, act.switches, fabric.switches, f"{path}.switches", "switch", problems)
    if overlay is None:
        problems.append(Problem(f"{path}.kind", "the scenario has no overlay, so there is nothing to suppress",
                                "add 'vxlan: {}' to it"))
        return []
    return [SuppressArp(time_ps, node.id, segment, act.state == "on")
            for node in switches if any(peer.is_host for _, peer in fabric.neighbours(node.id))
            for segment in range(len(overlay.segments))]


ACTS: Final[Mapping[str, Maker]] = {"shut": _shut, "reset-nic": _reset_nic, "repair-host": _repair_host,
                                    "watchdog": _watchdog, "ecn": _ecn, "arp-suppression": _arp_suppression}


def edits_of(act: ActSpec, time_ps: int, compiled: CompiledScenario, path: str, problems: list[Problem]) -> list[Edit]:
    """The edits of one act; what it names but the scenario has not is a problem."""
    if not 0 < time_ps < compiled.duration_ps:
        problems.append(Problem(f"{path}.at", "is not within the scenario's run.duration", "act while the run lasts"))
        return []
    return ACTS[act.kind](act, time_ps, compiled, f"{path}.do", problems)
