"""Configuration that changed under a running fabric: ECN curve, threshold, headroom, PFC mask of some ports."""

from __future__ import annotations

from dataclasses import replace

from fabric.dataplane.engine.edits import Edit, FlowControlClasses, PgThreshold, QueueEcn
from fabric.dataplane.state.params import EcnParams, PgParams, PortParams
from fabric.errors import Problem
from fabric.faults.base import FaultContext, Injected
from fabric.faults.spec import ConfigDriftSpec
from fabric.topology.model import Port
from fabric.topology.select import match_ports


def config_drift(spec: ConfigDriftSpec, path: str, context: FaultContext) -> Injected:
    """Every change at `at`; every old value at `until`."""
    found = match_ports(context.fabric, spec.ports, f"{path}.ports", context.problems)
    ports = [port for port in found if not context.fabric.node_of(port.id).is_host]
    if found and not ports:
        context.problems.append(
            Problem(f"{path}.ports", f"'{spec.ports}' names no port of a switch", "name switch ports")
        )
    edits: list[Edit] = []
    for port in ports:
        now = context.params.ports[port.id]
        edits += _changed(spec, port, now, path, context)
        if spec.until is not None:
            edits += _restored(spec, port, now)
    if ports and not edits:
        context.problems.append(
            Problem(path, "changes nothing: the ports have these values already", "give other values")
        )
    changes = spec.model_dump(mode="json", exclude_none=True, exclude={"name", "kind", "at", "until", "ports"})
    return Injected(
        edits,
        {"ports": [context.fabric.port_name(port.id) for port in ports], "changes": changes},
        spec.at,
        spec.until,
        ["no event on the wire: only behaviour differs from the other ports", *_seen(spec)],
    )


def _changed(spec: ConfigDriftSpec, port: Port, now: PortParams, path: str, context: FaultContext) -> list[Edit]:
    edits: list[Edit] = []
    curve = None if spec.ecn_curve is None else EcnParams(spec.ecn_curve.kmin, spec.ecn_curve.kmax, spec.ecn_curve.pmax)
    marking = [queue for queue, params in enumerate(now.queues) if params.ecn is not None]
    if (spec.ecn is not None or curve is not None) and not marking:
        context.problems.append(
            Problem(
                path,
                f"{context.fabric.port_name(port.id)} marks in no queue, so ECN cannot drift there",
                "name ports that mark",
            )
        )
    if spec.ecn is not None or curve is not None:
        edits += [QueueEcn(spec.at, port.id, queue, curve) for queue in marking if now.queues[queue].ecn != curve]
    edits += [
        PgThreshold(spec.at, port.id, number, group, _fields(spec))
        for number, group in _groups(spec, now)
        if group != now.pgs[number]
    ]
    if spec.pfc_priorities is not None:
        classes = sum(1 << priority for priority in set(spec.pfc_priorities))
        if classes != now.flow_control.classes:
            edits.append(FlowControlClasses(spec.at, port.id, classes))
    return edits


def _fields(spec: ConfigDriftSpec) -> tuple[str, ...]:
    """Fields of PgParams that the drift sets."""
    given = (("dynamic_th", spec.dynamic_th), ("xoff_bytes", spec.headroom))
    return tuple(name for name, value in given if value is not None)


def _groups(spec: ConfigDriftSpec, now: PortParams) -> list[tuple[int, PgParams]]:
    """Lossless groups with the drifted values."""
    if spec.dynamic_th is None and spec.headroom is None:
        return []
    return [
        (
            number,
            replace(
                group,
                dynamic_th=group.dynamic_th if spec.dynamic_th is None else spec.dynamic_th,
                xoff_bytes=group.xoff_bytes if spec.headroom is None else spec.headroom,
            ),
        )
        for number, group in enumerate(now.pgs)
        if group.lossless
    ]


def _restored(spec: ConfigDriftSpec, port: Port, now: PortParams) -> list[Edit]:
    until = spec.until or 0
    edits: list[Edit] = []
    if spec.ecn is not None or spec.ecn_curve is not None:
        edits += [
            QueueEcn(until, port.id, queue, params.ecn, ends=True)
            for queue, params in enumerate(now.queues)
            if params.ecn is not None
        ]
    edits += [PgThreshold(until, port.id, number, now.pgs[number], ends=True) for number, _ in _groups(spec, now)]
    if spec.pfc_priorities is not None:
        edits.append(FlowControlClasses(until, port.id, now.flow_control.classes, ends=True))
    return edits


def _seen(spec: ConfigDriftSpec) -> list[str]:
    seen = []
    if spec.ecn is not None:
        seen.append("queues of these ports grow without marks; pause takes the place of DCQCN")
    if spec.ecn_curve is not None:
        seen.append("marks per byte differ from the other ports at equal queue")
    if spec.dynamic_th is not None or spec.headroom is not None:
        seen.append("pause is sent at another fill level; too little headroom loses lossless packets")
    if spec.pfc_priorities is not None:
        seen.append("one side of the cable pauses and the other ignores it, or never pauses: lossless drops")
    return seen
