"""ONE message, whole frames: MTUs that are too small, and links that stay down because their ends differ."""

from __future__ import annotations

from typing import Any, Final

from fabric.proof.cut import Cut, Joint, NoCutError
from fabric.proof.lowering.host_rows import DEFAULT_MTU
from fabric.proof.outcome import Outcome
from fabric.proof.recipe import Case, NoProofError, Plan, Recipe, rate_mbps
from fabric.proof.recipes import chain

_SIZE: Final = 100_000
_DURATION_US: Final = 2_000.0
_HEADERS: Final = 60
"""IP, UDP, BTH, RETH and ICRC of a RoCEv2 frame over IPv4, bytes."""
_FRAME: Final = 18
"""Ethernet header and FCS, bytes."""
_DATAGRAMS: Final = 20
_DOWN_US: Final = 1_500.0
_AFTER_ROUTES_US: Final = 1_200
"""A cable's state reaches the routes after run.reroute_delay, 1 ms."""


def _one(plan: Plan, start_us: float = 1) -> Plan:
    plan.workload = [
        {
            "kind": "messages",
            "name": "roce",
            "messages": [
                {"src": plan.cut.senders[0], "dst": plan.cut.receiver, "size": f"{_SIZE}B", "start": f"{start_us}us"}
            ],
        }
    ]
    plan.faults = []
    plan.duration_us = start_us + _DURATION_US
    plan.expectations = ("drops.total == 0", "messages.done == 1")
    return plan


def _roce_packet(case: Case, plan: Plan) -> int:
    host = plan.cut.host(plan.cut.senders[0])
    del case
    return (host.roce_mtu if host and host.roce_mtu else 4096) + _HEADERS


def plan_mtu(case: Case) -> Plan:
    """One message out of the port: RoCE's frames against its MTU."""
    line = case.line()
    peer = case.facts.peers.get(line.end)
    far = None if peer is None else case.facts.line(peer)
    if far is not None and far.port.mtu < line.port.mtu:
        line = far
    plan = _one(chain.plan_at(case, line, enters=False))
    return _filling(plan, _roce_packet(case, plan), line.port.mtu)


def _filling(plan: Plan, roce: int, mtu: int, around: int = 0) -> Plan:
    """Datagrams of the hosts' MTU beside the message where RoCE's packets fit in the MTU.

    Parameters
    ----------
    roce      RoCE's packet with what a tunnel adds, bytes
    mtu       of the link, bytes
    around    what a tunnel adds, bytes

    Raises: NoProofError where these fit, too.
    """
    if roce > mtu:
        return plan
    sender, receiver = (plan.cut.host(it) for it in (plan.cut.senders[0], plan.cut.receiver))
    stated = [it.mtu for it in (sender, receiver) if it is not None and it.mtu]
    packet = min(stated, default=DEFAULT_MTU)
    if packet + around <= mtu:
        raise NoProofError(
            f"packets of the hosts' MTU, {packet} B, and of RoCE, {roce - around} B, fit in {mtu - around} B", ""
        )
    plan.workload.append(
        {
            "kind": "datagrams", "name": "other", "senders": [plan.cut.senders[0]], "receivers": [plan.cut.receiver],
            "rate": "1G", "frame": f"{packet + _FRAME}B", "dscp": 0, "start": "1us", "count": _DATAGRAMS,
        }
    )  # fmt: skip
    plan.expectations = (*plan.expectations, f"datagrams.received == {_DATAGRAMS}")
    plan.notes = (*plan.notes, f"other traffic: datagrams that fill the hosts' MTU, {packet} B; RoCE's packets fit")
    return plan


def plan_tunnel_mtu(case: Case) -> Plan:
    """One message through the tunnel: RoCE's frames with its header against the MTU of the underlay."""
    line = case.line()
    plan = None
    for enters in (False, True):
        try:
            found = chain.plan_at(case, line, enters=enters)
        except NoCutError:
            continue
        if len({switch for switch, _ in found.cut.hosts.values()}) > 1:
            plan = _one(found)
            break
    if plan is None:
        raise NoProofError("no path crosses this link: hosts at two switches are needed", "")
    least = min(
        port.mtu
        for device in plan.cut.network.devices.values()
        for port in device.ports.values()
        if (device.name, port.name) not in plan.cut.hosts.values()
    )
    packet = _roce_packet(case, plan) + case.facts.tunnel_bytes
    return _filling(plan, packet, least, case.facts.tunnel_bytes)


def too_large(plan: Plan, run: Outcome, twin: Outcome) -> str | None:
    """Frames discarded for their size."""
    del twin
    found = [it for it in run.losses() if it.reason == "mtu"]
    if not found:
        return None
    if len(plan.workload) > 1:
        arrived = run.count("datagrams.received")
        return f"{chain.sentence(found[0])}; {arrived} of {_DATAGRAMS} datagrams of the hosts' MTU arrived, RoCE's fit"
    return f"{chain.sentence(found[0])}; {run.count('messages.done')} of 1 messages were completed"


def delivered(plan: Plan, twin: Outcome) -> str | None:
    """g1: the twin's message crossed the port."""
    if len(plan.workload) > 1 and twin.count("datagrams.received") < _DATAGRAMS:
        return "the twin's datagrams did not arrive"
    return None if twin.count("messages.done") else "the twin's message did not arrive"


def large_mtu(case: Case, plan: Plan, cut: Cut) -> str:
    """Every port of the cut-out takes 9216 B."""
    del case
    for device in cut.network.devices.values():
        for port in device.ports.values():
            port.mtu = max(port.mtu, 9216)
    return f"{plan.device} {plan.port} and its path: MTU 9216"


def plan_down(case: Case) -> Plan:
    """L2, L5: a link whose ends differ so stays down; every path over it is gone."""
    line = case.line()
    try:
        cut = case.cutter.chain(line.device.name, line.port.name, enters=False)
    except NoCutError:
        cut = case.cutter.chain(line.device.name, line.port.name)
    plan = _one(Plan(cut, case.dscp, line.device.name, line.port.name, [], 0, ()), _AFTER_ROUTES_US)
    plan.faults = [_down(plan)]
    plan.notes = ("the link stays down: its ends differ", "no other path is in the cut-out")
    return plan


def _down(plan: Plan) -> dict[str, Any]:
    return {"kind": "link-down", "link": f"{plan.device}:{plan.port}", "at": "0us"}


def gone(plan: Plan, run: Outcome, twin: Outcome) -> str | None:
    """Nothing arrived."""
    del twin
    if run.count("messages.done"):
        return None
    found = run.losses()
    what = chain.sentence(found[0]) if found else "nothing was sent"
    return f"{what}; 0 of 1 messages were completed while {plan.device} {plan.port} is down"


def link_up(case: Case, plan: Plan, cut: Cut) -> str:
    """Both ends alike: the link comes up."""
    del case
    joint: Joint = next(it for it in cut.joints if (plan.device, plan.port) in {it.a, it.b})
    ports = [port for end in (joint.a, joint.b) if (port := cut.network.port(end)) is not None]
    rate = max(rate_mbps(port) for port in ports)
    for port in ports:
        port.speed_mbps, port.fec = rate, ports[0].fec
    plan.faults = []
    return f"{joint.a[0]}:{joint.a[1]} and {joint.b[0]}:{joint.b[1]} alike, {rate} Mb/s: the link is up"


# W11: every lossless queue drops --------------------------------------------------------------------------------------


def plan_dropping(case: Case) -> Plan:
    """W11: one message through a switch whose lossless queues drop."""
    line = case.line()
    return _one(chain.plan_at(case, line))


def queue_drops(plan: Plan, run: Outcome, twin: Outcome) -> str | None:
    """RoCE discarded in a queue of the switch, without any load."""
    del twin
    found = [it for it in run.losses() if it.switch == plan.device and it.reason == "egress_threshold"]
    return (
        f"{chain.sentence(found[0])}; {run.count('messages.done')} of 1 messages were completed, and no storm was there"
        if found
        else None
    )


def switch_off(case: Case, plan: Plan, cut: Cut) -> str:
    """BIG_RED_SWITCH off."""
    del case
    cut.network.devices[plan.device].drops_lossless = False
    return f"{plan.device}: BIG_RED_SWITCH off"


RECIPES = (
    Recipe("W11", "loss", "ONE", plan_dropping, switch_off, queue_drops, delivered, "on or off"),
    Recipe("L4 T6", "loss", "ONE", plan_mtu, large_mtu, too_large, delivered, "MTU of the port"),
    Recipe("T1", "loss", "ONE", plan_tunnel_mtu, large_mtu, too_large, delivered, "MTU of the underlay"),
    Recipe("L2 L5", "loss", "ONE", plan_down, link_up, gone, delivered, "speed or FEC of one end"),
)
