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
    event = _losing(run, devices, until_ns)
    return "" if event is None else "; ".join(filter(None, (_followed(event), _gave_up(run))))


def timer_advice(run: RunDir, devices: Collection[str], until_ns: int) -> str:
    """'so that no message fails the next time, lower bgp.update_delay (50ms) to less than 9.5ms, or raise ...'.

    '' where no message failed or waited because routes followed late. Parameters are those of routing_timers().
    """
    event, (timeout_ns, retries) = _losing(run, devices, until_ns), _patience(run)
    if event is None or timeout_ns is None or not event.get("timers"):
        return ""
    metrics = run.summary["metrics"]
    if metrics["messages.failed"] and retries == 0:
        return "so that no message fails the next time, raise transport.retries (0): nothing that is lost is sent again"
    limit_ns = (retries or 1) * timeout_ns  # when a message is sent for the last time; it fails one timeout later
    raised = f"transport.retransmit_timeout ({show(timeout_ns, Unit.NS)})"
    if metrics["messages.failed"] and (change := change_of(event["timers"], limit_ns)):
        raised += "" if retries is None else f" or transport.retries ({retries})"
        return f"so that no message fails the next time, {change}, or raise {raised}"
    if metrics["transport.timeouts"] and (change := change_of(event["timers"], timeout_ns)):
        return f"so that messages wait less the next time, {change}: below {raised}"
    return ""


_TIMER = re.compile(r"bgp\.(\w+)(?:, which detects after)? ([\d.]+\w+)")
_LEAST_HOLD_NS = 3_000_000_000
"""RFC 4271, section 4.2: a hold time is 0 or at least three seconds."""
_IN_A_ROW = {"update_delay": 2}
"""How many switches wait for a timer one after another, if not one: that at the cable, and those that it tells."""


def change_of(timers: str, limit_ns: int) -> str:
    """The fewest timers to change so that all together end within a limit, and to what; '' where they do.

    Parameters
    ----------
    timers : in the words of runs/bgp_timers.py
    """
    left = {name: parse_time_ps(value) // PS_PER_NS for name, value in _TIMER.findall(timers)}
    needed = {name: value_ns * _IN_A_ROW.get(name, 1) for name, value_ns in left.items()}
    if sum(needed.values()) <= limit_ns:
        return ""
    longest = sorted(needed, key=lambda name: -needed[name])
    chosen: list[str] = []
    while sum(needed.values()) >= limit_ns:
        chosen.append(longest.pop(0))
        del needed[chosen[-1]]
    room_ns = (limit_ns - sum(needed.values())) // sum(_IN_A_ROW.get(name, 1) for name in chosen)
    words = " and ".join(_changed(name, left[name], room_ns) for name in chosen)
    to = ", each to" if len(chosen) > 1 else " to detect in" if "hold" in chosen else " to"
    return f"{words}{to} less than {show(room_ns, Unit.NS)}"


def _changed(setting: str, value_ns: int, room_ns: int) -> str:
    value = show(value_ns, Unit.NS)
    if setting == "hold":
        lower = f", or lower bgp.hold ({value})" if room_ns > _LEAST_HOLD_NS else f" (bgp.hold is {value})"
        return f"turn on bgp.bfd{lower}"
    return f"shorten the detection by bgp.bfd ({value})" if setting == "bfd" else f"lower bgp.{setting} ({value})"


def _losing(run: RunDir, devices: Collection[str], until_ns: int) -> Mapping[str, Any] | None:
    """The last event before a moment that lost packets, of those that name a device where there is one."""
    section = run.summary["routing"]
    losing = [it for it in section["events"] if it["packets_lost"] and it["time_ns"] < until_ns] if section else []
    named = [it for it in losing if not set(devices).isdisjoint(re.split(r"[^\w.-]|--", it["event"]))]
    return next(reversed(named or losing), None)


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
    timeout_ns, retries = _patience(run)
    if not run.summary["metrics"]["messages.failed"] or timeout_ns is None or retries is None:
        return ""
    return (
        f"messages failed after {show((retries + 1) * timeout_ns, Unit.NS)} without an acknowledgement: "
        f"transport.retransmit_timeout {show(timeout_ns, Unit.NS)}, transport.retries {retries}"
    )


def _patience(run: RunDir) -> tuple[int | None, int | None]:
    """(transport.retransmit_timeout, transport.retries); None: there is none."""
    transport = run.manifest["scenario"]["resolved"]["transport"]
    timeout = transport.get("retransmit_timeout")
    return None if timeout in {None, "off"} else parse_time_ps(timeout) // PS_PER_NS, transport.get("retries")
