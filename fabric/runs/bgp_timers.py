"""Timers of BGP in words: those that decided how long an event took, and those that ran when a run ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabric.controlplane.network.pending import BFD, HOLD, Pending, deciding, value_ns
from fabric.units import PS_PER_NS, format_time_ps, listed

if TYPE_CHECKING:  # annotations only: reading results must not load speakers
    from fabric.controlplane.network.config import ControlConfig
    from fabric.controlplane.network.record import Convergence
    from fabric.controlplane.network.run import ControlRun


def deciding_timers(control: ControlRun, record: Convergence) -> str:
    """'bgp.carrier_delay 12ms, bgp.update_delay 50ms, bgp.fib_delay 10.5ms'."""
    return ", ".join(_named(it, control.config) for it in deciding(record.event, control.config))


def running_timers(control: ControlRun, cause: int, record: Convergence, end_ns: int) -> str:
    """What routes still waited for when a run ended; '' where they had settled, or are those of churn.

    Parameters
    ----------
    cause : number of the event, from 1
    end_ns : of the run, which may be earlier than that of the control plane
    """
    if record.is_churn:
        return ""
    if record.last_fib_ns is not None and record.last_fib_ns > end_ns:
        return f"forwarding changes until {_moment(record.last_fib_ns)} ({deciding_timers(control, record)})"
    by_setting: dict[str, list[Pending]] = {}
    for it in control.pending:
        if it.cause == cause:
            by_setting.setdefault(it.setting, []).append(it)
    parts = []
    for setting, its in by_setting.items():
        where = listed(sorted({control.plan.routers[it.router].name for it in its}), 3)
        due = _moment(max(it.due_ns for it in its))
        parts.append(f"{_named(setting, control.config)} runs until {due} at {where}")
    return "; ".join(parts)


def _named(setting: str, config: ControlConfig) -> str:
    """'bgp.hold 9s with BFD off'."""
    value = format_time_ps(value_ns(setting, config) * PS_PER_NS)
    if setting == BFD:
        return f"bgp.bfd, which detects after {value}"
    return f"bgp.{setting} {value}" + (" with BFD off" if setting == HOLD else "")


def _moment(time_ns: int) -> str:
    return format_time_ps(time_ns * PS_PER_NS)
