"""Text of dated events ('spine1 lost power', 'leaf1--spine2 down'), and the routers that they affect."""

from __future__ import annotations

from functools import singledispatch

from fabric.controlplane.network import events as e
from fabric.controlplane.network.plan import ControlPlan


@singledispatch
def describe(event: e.ControlEvent, plan: ControlPlan) -> str:
    """One event, in the words of an operator."""
    router = getattr(event, "router", None)
    return type(event).__name__ if router is None else f"{plan.routers[router].name}: {type(event).__name__}"


def _cable(plan: ControlPlan, row: int) -> str:
    ends = [plan.interfaces[end] for end in (plan.cables[row].a, plan.cables[row].b)]
    return "--".join(f"{plan.routers[end.router].name}:{end.name}" for end in ends)


@describe.register(e.CableDown)
def _(event: e.CableDown, plan: ControlPlan) -> str:
    return f"{_cable(plan, event.cable)} down"


@describe.register(e.CableUp)
def _(event: e.CableUp, plan: ControlPlan) -> str:
    return f"{_cable(plan, event.cable)} up"


@describe.register(e.CableSilent)
def _(event: e.CableSilent, plan: ControlPlan) -> str:
    return f"{_cable(plan, event.cable)} silent, carrier kept"


@describe.register(e.CableSilenceEnded)
def _(event: e.CableSilenceEnded, plan: ControlPlan) -> str:
    return f"{_cable(plan, event.cable)} carries frames again"


@describe.register(e.RouterCrash)
def _(event: e.RouterCrash, plan: ControlPlan) -> str:
    return f"{plan.routers[event.router].name} {'hung, carrier kept' if event.carrier else 'lost power'}"


@describe.register(e.RouterBoot)
def _(event: e.RouterBoot, plan: ControlPlan) -> str:
    return f"{plan.routers[event.router].name} started"


@describe.register(e.DaemonCrash)
def _(event: e.DaemonCrash, plan: ControlPlan) -> str:
    return f"routing daemon of {plan.routers[event.router].name} died"


@describe.register(e.DaemonStart)
def _(event: e.DaemonStart, plan: ControlPlan) -> str:
    return f"routing daemon of {plan.routers[event.router].name} started"


@describe.register(e.Drain)
def _(event: e.Drain, plan: ControlPlan) -> str:
    return f"{plan.routers[event.router].name} {'drained' if event.on else 'back from draining'}"


@describe.register(e.Shutdown)
def _(event: e.Shutdown, plan: ControlPlan) -> str:
    return f"{plan.routers[event.router].name} closed its sessions"


@describe.register(e.Reconfigure)
def _(event: e.Reconfigure, plan: ControlPlan) -> str:
    router = plan.routers[event.router]
    return f"{router.name} runs as AS {router.asn if event.asn is None else event.asn}"


@describe.register(e.SetPolicy)
def _(event: e.SetPolicy, plan: ControlPlan) -> str:
    towards = "" if event.peer is None else f" towards {plan.routers[event.peer].name}"
    return f"{event.direction} policy of {plan.routers[event.router].name}{towards} changed"


def _endpoint(plan: ControlPlan, mac: str, vni: int) -> str:
    return next((it.name for it in plan.endpoints if (it.mac, it.vni) == (mac, vni)), mac)


@describe.register(e.HostSeen)
def _(event: e.HostSeen, plan: ControlPlan) -> str:
    if event.back:
        return f"{_endpoint(plan, event.mac, event.vni)} back"
    return f"{_endpoint(plan, event.mac, event.vni)} seen at {plan.routers[event.router].name}:{event.port}"


@describe.register(e.HostGone)
def _(event: e.HostGone, plan: ControlPlan) -> str:
    where = "" if event.router is None else f" from {plan.routers[event.router].name}"
    return f"{_endpoint(plan, event.mac, event.vni)} gone{where}"


@describe.register(e.HostPortDown)
def _(event: e.HostPortDown, plan: ControlPlan) -> str:
    return f"host port {_host_port(plan, event.router, event.data_port)} down"


@describe.register(e.HostPortUp)
def _(event: e.HostPortUp, plan: ControlPlan) -> str:
    return f"host port {_host_port(plan, event.router, event.data_port)} up"


def _host_port(plan: ControlPlan, router: int, port: int) -> str:
    named = {(row, data_port): name for it in plan.endpoints for row, name, data_port in it.attachments}
    return f"{plan.routers[router].name}:{named.get((router, port), port)}"


def touched(event: e.ControlEvent, plan: ControlPlan) -> set[int]:
    """Rows of the routers that an event affects: both ends of a cable; a router, and its neighbours if it crashes."""
    cable, router = getattr(event, "cable", None), getattr(event, "router", None)
    found: set[int] = set()
    if cable is not None:
        found |= {plan.interfaces[row].router for row in (plan.cables[cable].a, plan.cables[cable].b)}
    if router is not None:
        found.add(router)
    if isinstance(event, e.RouterCrash | e.RouterBoot | e.Shutdown | e.Drain):
        found |= {plan.peer(row).row for row in plan.routers[event.router].interfaces}
    return found
