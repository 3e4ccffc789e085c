"""The root cause of the diagnosis that explains an alert. The alert itself names the place where something was noticed.

A packet of a lossless priority is lost at the switch behind the one with the wrong DSCP map, or behind the one that
obeys no PFC. The diagnosis reads both ends of every cable and finds that switch; an expression of Prometheus cannot.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from telemetry.alerting.evaluate import Firing
from telemetry.diagnosis.rehearsed import runbooks
from telemetry.diagnosis.root import Root


def cause_of(
    firing: Firing, roots: Sequence[Root], neighbours: Mapping[str, Iterable[str]], window_ns: int = 0
) -> Root | None:
    """The root that an alert is about; None where the diagnosis has none.

    Only roots whose kind has the alert's runbook count, and that overlap with the alert in time. A root at the device
    that the alert names comes before one at its neighbours; roots further away count for an alert that names none.

    Parameters
    ----------
    roots : of diagnose(), what to do first at the top
    neighbours : device to the devices at the other ends of its cables
    window_ns : how far back an expression looks, in simulated ns: a root may be over when its alert becomes pending
    """
    ended_ns = firing.cleared_ns
    about = [
        it
        for it in roots
        if firing.alert.name in runbooks(it.kind)
        and (ended_ns is None or it.began_ns <= ended_ns)
        and it.ended_ns + window_ns >= firing.pending_ns
    ]
    named = firing.root_device
    if not named:
        return about[0] if about else None
    nearby = {named, *neighbours.get(named, ())}
    own = (it for it in about if named in it.devices)
    return next(own, None) or next((it for it in about if it.devices & nearby), None)
