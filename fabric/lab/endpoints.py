"""Which of a plan's endpoints is meant: by its MAC address in a VNI, or by the end of a cable to it."""

from __future__ import annotations

from fabric.controlplane.network.plan import ControlPlan, Endpoint


def endpoint_of(plan: ControlPlan, mac: str, vni: int) -> Endpoint | None:
    """The plan's host with a MAC in a VNI; None: there is none, so a fault has added it."""
    return next((it for it in plan.endpoints if (it.vni, it.mac) == (vni, mac)), None)


def endpoint_at(plan: ControlPlan, end: str) -> Endpoint | None:
    """The plan's host at the end 'HOST:INTERFACE' of a cable."""
    return next((it for it in plan.endpoints if it.name == end.partition(":")[0]), None)
