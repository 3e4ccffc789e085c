"""What a valid scenario asks for and does not get on its fabric: slow cables, and marking that PFC precedes.

As remarks.py, of a compiled scenario: these need the fabric and the buffers of its switches.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from fabric.dataplane.state.params import EngineParams, PgParams
from fabric.ids import PortId
from fabric.scenario.compile.controls import CONTROLS, control_of
from fabric.scenario.compile.layers import Origin, settle
from fabric.scenario.compile.scenario import CompiledScenario
from fabric.scenario.schema.scenario import Scenario
from fabric.theory.marking import Curve, least_curve, usual_curve
from fabric.topology.model import Fabric, Role
from fabric.topology.peer_rates import unlike_peers
from fabric.topology.select import such
from fabric.units import format_measured_bytes
from fabric.visible import command

_N_CLASSES: Final = 8


@dataclass(frozen=True, slots=True)
class _Queue:
    """A lossless queue that marks."""

    port: PortId
    kmin_bytes: int
    xoff_bytes: int
    """The least limit at which a group of its class and switch pauses while no other one holds anything."""
    field: str


def placed_remarks(scenario: Scenario, compiled: CompiledScenario) -> list[str]:
    """One sentence each."""
    fabric = compiled.fabric
    check = command("fabric", "topology", "check", scenario.file)
    found = [f"topology: {it} (all weaknesses of the fabric: {check})" for it in unlike_peers(fabric)]
    if scenario.model == "hpcc-ns3" or not _reads_marks(scenario):
        return found
    frame = compiled.params.frames
    frame_bytes = frame.payload_bytes + frame.data_header_bytes + frame.reth_bytes
    late: dict[tuple[str, int], list[_Queue]] = defaultdict(list)
    early: dict[tuple[str, int], list[_Queue]] = defaultdict(list)
    for queue in _queues(scenario, fabric, compiled.params):
        if queue.kmin_bytes >= queue.xoff_bytes:
            late[queue.field, queue.kmin_bytes].append(queue)
        elif queue.kmin_bytes < frame_bytes:
            early[queue.field, queue.kmin_bytes].append(queue)
    found += [_late(fabric, field, its) for (field, _), its in late.items()]
    return found + [_early(fabric, field, its, frame_bytes) for (field, _), its in early.items()]


def _reads_marks(scenario: Scenario) -> bool:
    """Whether some queue pair slows down for marks."""
    controls = [control_of(scenario.transport), *(CONTROLS[it.cc] for it in scenario.transport.overrides)]
    return any(it.reads_marks for it in controls)


def _late(fabric: Fabric, field: str, its: list[_Queue]) -> str:
    """A curve that PFC precedes."""
    least = min(its, key=lambda it: it.xoff_bytes)
    target = _target(usual_curve(_rate_bps(fabric, least), least.xoff_bytes))
    return (
        f"{field}: Kmin {_size(least.kmin_bytes)} is not below XOFF ({_size(least.xoff_bytes)}) at "
        f"{fabric.port_name(least.port)}{such(len(its), 'queue')}: PFC pauses a sender there before ECN marks; {target}"
    )


def _early(fabric: Fabric, field: str, its: list[_Queue], frame_bytes: int) -> str:
    """A curve that begins within one packet."""
    first = max(its, key=lambda it: _rate_bps(fabric, it))
    return (
        f"{field}: Kmin {_size(first.kmin_bytes)} is less than one packet ({_size(frame_bytes)}: transport.mtu and "
        f"headers) at {fabric.port_name(first.port)}{such(len(its), 'queue')}: packets are marked with no queue before "
        f"them, and senders leave the link idle; {_target(least_curve(_rate_bps(fabric, first), frame_bytes))}"
    )


def _rate_bps(fabric: Fabric, queue: _Queue) -> int:
    return fabric.links[fabric.ports[queue.port].link].rate_bps


def _target(curve: Curve) -> str:
    return f"give kmin {_size(curve.kmin_bytes)} and kmax {_size(curve.kmax_bytes)}, or leave both to a preset"


def _queues(scenario: Scenario, fabric: Fabric, params: EngineParams) -> Iterator[_Queue]:
    """Every lossless queue with a curve, of switches that are not within servers."""
    origins = settle(fabric, scenario.model, scenario.switches, scenario.hosts, "", []).port_origins
    for switch in fabric.switches:
        if switch.role is Role.SCALE_UP:
            continue
        own = params.switches[switch.id]
        for tc in range(_N_CLASSES):
            limits = [
                limit
                for port in switch.ports
                if (limit := _limit(params, int(switch.id), params.ports[port].pgs[own.tc_to_pg[tc]])) is not None
            ]
            if not limits:
                continue
            number = own.tc_to_queue[tc]
            for port in switch.ports:
                curve = params.ports[port].queues[number].ecn
                if curve is not None:
                    field = _field(origins[PortId(port)], number)
                    yield _Queue(PortId(port), curve.kmin_bytes, min(limits), field)


def _limit(params: EngineParams, switch: int, group: PgParams) -> int | None:
    """Bytes at which a group pauses while the rest of its pool is empty: T(1) = alpha B / (1 + alpha), Zhu et al.,
    SIGCOMM 2015, section 4, above what it has for itself; None: it is lossy.
    """
    if not group.lossless:
        return None
    if group.dynamic_th is None:
        return group.reserved_bytes + group.static_th_bytes
    alpha: float = 2.0**group.dynamic_th
    size_bytes = params.switches[switch].pools[group.pool].size_bytes
    return group.reserved_bytes + int(alpha * size_bytes / (1 + alpha))


def _field(origin: Origin, queue: int) -> str:
    """'switches.overrides[0].ecn.kmin'; without the last word where the curve is a named one."""
    for own in (("ecn_by_queue", queue), ("ecn",)):
        if origin.gives(*own):
            return origin.place(*own, "kmin") if origin.gives(*own, "kmin") else origin.place(*own)
    return origin.place("ecn")


def _size(value_bytes: int) -> str:
    return format_measured_bytes(value_bytes)
