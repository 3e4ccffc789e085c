"""The remedy where many senders meet at one port and are paused: of the queue's marking or of the senders' control.

Advice to mark earlier helps only where the queue does not mark before XOFF, and where senders react to marks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fabric.errors import FabricError
from fabric.explain.evidence import Evidence
from fabric.explain.pause_tree import Episode
from fabric.ids import PortId
from fabric.render.document import Unit, show
from fabric.scenario.compile.controls import CONTROLS, DEFAULT_CONTROL
from fabric.show.subject import load_subject
from fabric.theory.marking import Curve, usual_curve
from fabric.units import parse_size_bytes

_READ_MARKS: Final = frozenset(name for name, it in CONTROLS.items() if it.reads_marks)
"""Values of transport.cc whose senders slow down for marks."""
_ANY: Final = "any"
"""Stands for the controls of senders that differ."""
_OTHERS: Final = "spread the senders in time, let fewer send at once, or give the port more speed"


def remedy_of_congestion(evidence: Evidence, episode: Episode) -> str:
    """The remedy with the values that decide it: Kmin of the congested queue, the XOFF limit, transport.cc."""
    return remedy_of_queue(evidence, episode.origin.port, episode.origin.prio)


def remedy_of_queue(evidence: Evidence, port: PortId, prio: int) -> str:
    """As remedy_of_congestion, of an egress queue."""
    transport = evidence.run.manifest["scenario"]["resolved"]["transport"]
    control = control_named(transport.get("cc"), overridden=bool(transport.get("overrides")))
    if control not in {_ANY, *_READ_MARKS}:
        return advice(control, None, 0, target(evidence, port, 0))
    xoff = _xoff(evidence, port, prio)
    wanted = target(evidence, port, xoff)
    if changes := _drifts(evidence):
        return (
            f"compare ECN Kmin with {_limit(xoff)}: {changes} changed marking during the run, and this queue needs "
            f"{curve_text(wanted)}; {_OTHERS}"
        )
    try:
        kmin = _kmin(evidence, port, prio)
    except FabricError:
        return (
            f"compare ECN Kmin with {_limit(xoff)} (the scenario of this run cannot be read any more, so Kmin is "
            f"unknown); {_OTHERS}"
        )
    return advice(control, kmin, xoff, wanted)


def target(evidence: Evidence, port: PortId, xoff: int) -> Curve:
    """The curve that an egress queue needs below an XOFF limit in bytes; 0: unknown."""
    fabric = evidence.fabric
    return usual_curve(fabric.links[fabric.ports[port].link].rate_bps, xoff)


def curve_text(curve: Curve) -> str:
    """'Kmin 400KB, Kmax 1.6MB and Pmax 20%'."""
    kmin, kmax = (show(it, Unit.BYTES) for it in (curve.kmin_bytes, curve.kmax_bytes))
    return f"Kmin {kmin}, Kmax {kmax} and Pmax {curve.pmax_ratio:.0%}"


def is_late(evidence: Evidence, port: PortId, prio: int) -> bool:
    """Whether senders slow down for marks, and an egress queue marks no earlier than its switch pauses."""
    transport = evidence.run.manifest["scenario"]["resolved"]["transport"]
    control = control_named(transport.get("cc"), overridden=bool(transport.get("overrides")))
    xoff = _xoff(evidence, port, prio)
    if not xoff or control not in _READ_MARKS or _drifts(evidence):
        return False
    try:
        kmin = _kmin(evidence, port, prio)
    except FabricError:
        return False
    return kmin is None or kmin >= xoff


def levels(evidence: Evidence, port: PortId, prio: int) -> str:
    """'Kmin 3MB against XOFF 600KB' of an egress queue that pauses before it marks; '' where one of them is unknown."""
    xoff = _xoff(evidence, port, prio)
    if not xoff:
        return ""
    drifted = _drifted_to(evidence, port)
    try:
        kmin = _kmin(evidence, port, prio) if drifted is None else drifted
    except FabricError:
        return ""
    marks = "no marking" if not kmin else f"Kmin {show(kmin, Unit.BYTES)}"
    return f"{marks} against {_limit(xoff, bare=True)}"


def control_named(cc: str | None, *, overridden: bool) -> str:
    """The control that `advice` takes, of the fields cc and overrides of transport. With overrides senders differ, and
    some of them may read marks.
    """
    return _ANY if overridden else cc or DEFAULT_CONTROL


def advice(control: str, kmin: int | None, xoff: int, wanted: Curve) -> str:
    """The remedy.

    Parameters
    ----------
    control : of the senders, by `control_named`
    kmin : bytes, of the congested queue; None: it marks nothing
    xoff : bytes, the least limit at which its switch paused; 0: unknown
    wanted : the curve that it needs
    """
    if control == "none":
        return f"give the senders a congestion control (transport.cc is none, so marks have no effect); {_OTHERS}"
    if control not in {_ANY, *_READ_MARKS}:
        return f"{_OTHERS} (transport.cc {control} does not read ECN marks)"
    if kmin is None:
        return f"turn ECN on here, with {curve_text(wanted)}, both below {_limit(xoff)}: it marks nothing; {_OTHERS}"
    value = show(kmin, Unit.BYTES)
    if not xoff:
        return f"compare ECN Kmin ({value}) with XOFF, and where it is above give {curve_text(wanted)}; {_OTHERS}"
    if kmin >= xoff:
        return f"mark earlier: Kmin ({value}) is not below {_limit(xoff)}; give {curve_text(wanted)}; {_OTHERS}"
    return (
        f"{_OTHERS}. ECN Kmin ({value}) is below {_limit(xoff)} already: a lower Kmin pauses less, and slows every "
        "sender of this queue down earlier, which may cost completion time; measure it with `fabric sweep`"
    )


def _limit(xoff: int, *, bare: bool = False) -> str:
    size = show(xoff, Unit.BYTES)
    return "XOFF" if not xoff else f"XOFF {size}" if bare else f"XOFF ({size})"


def _xoff(evidence: Evidence, port: PortId, prio: int) -> int:
    """The least limit at which a group of the congested switch paused; 0 where no counter has it."""
    switch = evidence.fabric.node_of(port)
    paused, limits = evidence.counter("pg_xoff_count"), evidence.counter("pg_peak_limit_bytes")
    found = [limits.get((int(ingress), prio), 0) for ingress in switch.ports if paused.get((int(ingress), prio))]
    return int(min((it for it in found if it), default=0))


def _kmin(evidence: Evidence, port: PortId, prio: int) -> int | None:
    """Kmin of the congested queue, compiled from the run's scenario; None: it marks nothing. Raises: FabricError."""
    params = load_subject(evidence.run.path).placed.params
    curve = params.ports[port].queues[prio].ecn
    return None if curve is None else curve.kmin_bytes


def _drifts(evidence: Evidence) -> str:
    """Names of the faults that changed a curve."""
    names = [
        str(it["name"])
        for it in evidence.run.truth().to_pylist()
        if it["kind"] == "config-drift" and _of_marking(it["objects"].get("changes") or {})
    ]
    return " and ".join(names)


def _drifted_to(evidence: Evidence, port: PortId) -> int | None:
    """Kmin in bytes that the last fault which changed a curve gave a port, 0: it turned marking off; None: no fault."""
    name, found = evidence.fabric.port_name(port), None
    for it in sorted(evidence.run.truth().to_pylist(), key=lambda it: int(it["start_ns"])):
        changes = it["objects"].get("changes") or {}
        if it["kind"] == "config-drift" and name in it["objects"]["ports"] and _of_marking(changes):
            curve = changes.get("ecn_curve")
            found = 0 if curve is None else parse_size_bytes(curve["kmin"])
    return found


def _of_marking(changes: Mapping[str, Any]) -> bool:
    return any(changes.get(name) is not None for name in ("ecn", "ecn_curve"))
