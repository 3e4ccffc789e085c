"""Sentences about timers of BGP that decided how long packets were lost, and timers of the transport that ended before.

They are made from the `routing` section of summary.json, whose words about timers are those of runs/bgp_timers.py.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from fabric.render.document import Unit, show
from fabric.runs.rundir import RunDir
from fabric.units import PS_PER_NS, parse_time_ps


def routing_timers(run: RunDir, devices: Collection[str], until_ns: int) -> str:
    """'routes followed leaf1--spine1 down after 122.5ms: bgp.carrier_delay 12ms, ...'; '' without a control plane, or
    where no event lost packets.

    Parameters
    ----------
    devices : those that lose; an event that names one is preferred
    until_ns : the event began earlier
    """
    section = run.summary["routing"]
    losing = [it for it in section["events"] if it["packets_lost"] and it["time_ns"] < until_ns] if section else []
    if not losing:
        return ""
    named = [it for it in losing if not set(devices).isdisjoint(re.split(r"[^\w.-]|--", it["event"]))]
    return "; ".join(filter(None, (_followed((named or losing)[-1]), _gave_up(run))))


def _followed(event: Mapping[str, Any]) -> str:
    """When routes followed an event; '' for churn, and in runs that did not record it."""
    if event.get("pending"):
        return f"routes had not followed {event['event']} when the run ended: {event['pending']}"
    if not event.get("timers"):
        return ""
    if event["convergence_ns"] is None:
        return f"no route followed {event['event']}: {event['timers']}"
    return f"routes followed {event['event']} after {show(event['convergence_ns'], Unit.NS)}: {event['timers']}"


def _gave_up(run: RunDir) -> str:
    """The limit at which messages failed; '' where none did."""
    transport = run.manifest["scenario"]["resolved"]["transport"]
    timeout, retries = transport.get("retransmit_timeout"), transport.get("retries")
    if not run.summary["metrics"]["messages.failed"] or timeout in {None, "off"} or retries is None:
        return ""
    timeout_ns = parse_time_ps(timeout) // PS_PER_NS
    return (
        f"messages failed after {show((retries + 1) * timeout_ns, Unit.NS)} without an acknowledgement: "
        f"transport.retransmit_timeout {show(timeout_ns, Unit.NS)}, transport.retries {retries}"
    )
