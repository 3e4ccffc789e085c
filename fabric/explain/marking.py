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
        return advice(control, None, 0)
    xoff = _xoff(evidence, port, prio)
    if changes := _drifts(evidence):
        return f"compare ECN Kmin with {_limit(xoff)}: {changes} changed marking during the run; {_OTHERS}"
    try:
        kmin = _kmin(evidence, port, prio)
    except FabricError:
        return (
            f"compare ECN Kmin with {_limit(xoff)} (the scenario of this run cannot be read any more, so Kmin is "
            f"unknown); {_OTHERS}"
        )
    return advice(control, kmin, xoff)


def control_named(cc: str | None, *, overridden: bool) -> str:
    """The control that `advice` takes, of the fields cc and overrides of transport. With overrides senders differ, and
    some of them may read marks.
    """
    return _ANY if overridden else cc or DEFAULT_CONTROL


def advice(control: str, kmin: int | None, xoff: int) -> str:
    """The remedy.

    Parameters
    ----------
    control : of the senders, by `control_named`
    kmin : bytes, of the congested queue; None: it marks nothing
    xoff : bytes, the least limit at which its switch paused; 0: unknown
    """
    if control == "none":
        return f"give the senders a congestion control (transport.cc is none, so marks have no effect); {_OTHERS}"
    if control not in {_ANY, *_READ_MARKS}:
        return f"{_OTHERS} (transport.cc {control} does not read ECN marks)"
    if kmin is None:
        return f"turn ECN on at this queue, with Kmin below {_limit(xoff)}: it marks nothing; {_OTHERS}"
    value = show(kmin, Unit.BYTES)
    if not xoff:
        return f"compare ECN Kmin ({value}) with XOFF, and lower it where it is above; {_OTHERS}"
    if kmin >= xoff:
        return f"mark earlier: Kmin ({value}) is not below {_limit(xoff)}; {_OTHERS}"
    return (
        f"{_OTHERS}. ECN Kmin ({value}) is below {_limit(xoff)} already: a lower Kmin pauses less, and slows every "
        "sender of this queue down earlier, which may cost completion time; measure it with `fabric sweep`"
    )


def _limit(xoff: int) -> str:
    return f"XOFF ({show(xoff, Unit.BYTES)})" if xoff else "XOFF"


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


def _of_marking(changes: Mapping[str, Any]) -> bool:
    return any(changes.get(name) is not None for name in ("ecn", "ecn_curve"))
