"""MIX with datagrams: other traffic in RoCE's class or group, and packets that cannot be marked.

Datagrams have no congestion control and no acknowledgement: they stand for what other applications send. Their DSCP is
one that the finding names.
"""

from __future__ import annotations

from typing import Any, Final

from fabric.dataplane.state.codes import N_CLASSES
from fabric.proof.cut import Cut
from fabric.proof.lowering.host_rows import DEFAULT_MTU
from fabric.proof.lowering.switch_rows import map_entries
from fabric.proof.outcome import Outcome
from fabric.proof.recipe import (
    Case,
    NoProofError,
    Plan,
    Recipe,
    rate_mbps,
    tc_of,
    threshold_bytes,
    time_us,
    traffic_class,
)
from fabric.proof.recipes import chain
from fabric.validate.facts import Line

_FRAME: Final = 18
"""Ethernet header and FCS, bytes."""
_PACKET: Final = 1_500
_MESSAGE: Final = 4_000_000
_STORM_US: Final = 10.0
_SETTLE_US: Final = 300.0
_MUCH: Final = 1.5
_NO_CONTROL: Final = {"transport": {"cc": "none"}}


def _datagrams(sender: str, receiver: str, dscp: int, load: float, start_us: float, stop_us: float) -> dict[str, Any]:
    return {
        "kind": "datagrams", "name": "other", "senders": [sender], "receivers": [receiver], "load": load,
        "frame": f"{_PACKET + _FRAME}B", "dscp": dscp, "start": f"{start_us}us", "stop": f"{round(stop_us)}us",
    }  # fmt: skip


def _message(sender: str, receiver: str, size: int, start_us: float) -> dict[str, Any]:
    row = {"src": sender, "dst": receiver, "size": f"{size}B", "start": f"{round(start_us)}us"}
    return {"kind": "messages", "name": "roce", "messages": [row]}


# M8: other traffic in RoCE's class ------------------------------------------------------------------------------------


def plan_other_traffic(case: Case) -> Plan:
    """Datagrams to a host that is paused fill RoCE's group; what their sender sends to another host must wait."""
    line = _with_map(case)
    dscp = _other_dscp(case, line)
    cut = case.cutter.local(line.device.name, line.port.name, onward=False, bulk=1)
    device = cut.network.devices[line.device.name]
    enters = device.ports[cut.hops[0].enters]
    if tc_of(device, enters, dscp) != tc_of(device, enters, case.dscp):
        raise NoProofError(f"DSCP {dscp} is not in RoCE's class at {line.device.name} {enters.name}", "")
    rate = rate_mbps(enters)
    full_us = _STORM_US + time_us(2 * threshold_bytes(device, enters, traffic_of(case, cut)), rate) + _SETTLE_US
    storm_us = 2 * full_us + 4 * time_us(_MESSAGE, rate) + _SETTLE_US
    sender, victim = cut.senders[0], cut.bulk[0]
    work = [
        _datagrams(sender, cut.receiver, dscp, 0.5, 5, full_us + storm_us / 2),
        _message(sender, victim, _MESSAGE, full_us),
    ]
    faults = [
        {"kind": "pause-storm", "hosts": [cut.receiver], "at": f"{_STORM_US}us", "duration": f"{round(storm_us)}us"}
    ]
    notes = (f"a host sends datagrams with DSCP {dscp}", f"{cut.receiver} pauses RoCE's class for {storm_us:.0f} us")
    duration = full_us + 2 * storm_us + _SETTLE_US
    return Plan(cut, case.dscp, line.device.name, line.port.name, work, duration, (), faults, _NO_CONTROL, notes)


def traffic_of(case: Case, cut: Cut) -> int:
    """RoCE's group at the first switch."""
    hop = cut.hops[0]
    device = cut.network.devices[hop.device]
    port = device.ports[hop.enters]
    tc = tc_of(device, port, case.dscp)
    entries = map_entries(device, port, "tc_to_pg")
    return tc if entries is None else entries.get(tc, 0)


def _with_map(case: Case) -> Line:
    """A port to a host, of the finding's switch, that has the finding's map."""
    device = case.facts.network.devices[case.finding.device]
    name = case.finding.object.rpartition("|")[2]
    lines = [it for it in case.facts.lossless_of(device) if it.port.maps.get("dscp_to_tc") == name]
    lines.sort(key=lambda it: not case.facts.faces_host(it))
    return lines[0] if lines else case.line()


def _other_dscp(case: Case, line: Line) -> int:
    """The first DSCP that the finding names, if it is in RoCE's class."""
    entries = map_entries(line.device, line.port, "dscp_to_tc") or {}
    roce = entries.get(case.dscp)
    if "also has" not in case.finding.text:
        raise NoProofError("no RoCE is in that class: its pauses stop none of RoCE's packets", "")
    known = {case.dscp, *case.facts.network.roce_dscps, *case.facts.network.cnp_dscps}
    others = [dscp for dscp, tc in sorted(entries.items()) if tc == roce and dscp not in known]
    if not others:
        raise NoProofError("no other DSCP is in RoCE's class at this port", "")
    return others[0]


def victim_waits(plan: Plan, run: Outcome, twin: Outcome) -> str | None:
    """The sender's message to another host waits for the pause that the datagrams brought about."""
    sender = plan.cut.senders[0]
    end, port = plan.cut.hosts[sender]
    asked = sum(run.sent_xoff(end, port, c) for c in range(N_CLASSES))
    here, there = (max(it.ends_us(sender), default=plan.duration_us) for it in (run, twin))
    if here <= _MUCH * there or not asked:
        return None
    ends = f"ends at {here:.0f} us" if run.ends_us(sender) else f"has not ended at {here:.0f} us"
    return (
        f"{end} {port} asked {sender} for {asked} pauses, and RoCE's message to {plan.cut.bulk[0]} {ends}, remedied at "
        f"{there:.0f} us"
    )


def in_time(plan: Plan, twin: Outcome) -> tuple[str, ...]:
    """The twin's message, with room."""
    del plan
    return (f"fct.max <= {round(_MUCH * twin.count('fct.max') / 1000)}ns", "messages.done == 1")


def both_there(plan: Plan, twin: Outcome) -> str | None:
    """g2: datagrams were sent, the receiver was paused, and RoCE's message arrived."""
    hop = plan.cut.hops[-1]
    if not twin.count("datagrams.sent"):
        return "no datagram was sent"
    if not twin.received_xoff(hop.device, hop.leaves):
        return f"no pause reached {hop.device} {hop.leaves}"
    return None if twin.count("messages.done") else "RoCE's message did not arrive"


def other_class(case: Case, plan: Plan, cut: Cut) -> str:
    """The datagrams' DSCP in class 0."""
    del case
    dscp = next(it["dscp"] for it in plan.workload if it["kind"] == "datagrams")
    device = cut.network.devices[plan.device]
    for port in device.ports.values():
        found = device.map_of(port, "dscp_to_tc")
        if found is not None and dscp in found.entries:
            found.entries[dscp] = 0
    return f"{plan.device}: DSCP {dscp} in class 0"


# M16: a class that RoCE's pause does not stop, in RoCE's group --------------------------------------------------------


def plan_unstopped(case: Case) -> Plan:
    """Datagrams of that class into a slow port, beside RoCE from the same host to another one."""
    line = case.line()
    tc = int(case.finding.text.split()[1])
    entries = map_entries(line.device, line.port, "dscp_to_tc") or {}
    dscp = next((code for code, its in sorted(entries.items()) if its == tc), None)
    if dscp is None:
        raise NoProofError(f"no DSCP of {line} is in class {tc}", "")
    others = [it for it in case.facts.used if it.device is line.device and it.port is not line.port]
    if not others:
        raise NoProofError(f"{line.device.name} has no second port in use", "")
    out = next((it for it in others if not case.facts.faces_host(it)), others[0])
    cut = _from(case, line, out)
    device = cut.network.devices[line.device.name]
    rate = rate_mbps(device.ports[line.port.name])
    slow = max(1, rate // 20)
    room = max(it.size_bytes or 0 for it in device.pools.values() if it.direction != "egress")
    full_us = time_us(room, rate / 2) + _SETTLE_US
    end_us = 2 * full_us + 4 * time_us(_MESSAGE, rate)
    sender = cut.senders[0]
    work = [_datagrams(sender, cut.receiver, dscp, 0.6, 5, end_us), _message(sender, cut.bulk[0], _MESSAGE, full_us)]
    faults = [{"kind": "link-rate", "link": f"{line.device.name}:{out.port.name}", "at": "1us", "rate": f"{slow}M"}]
    notes = (f"the host sends datagrams with DSCP {dscp} into a port that has become slower",)
    duration = end_us + 2 * full_us
    return Plan(cut, case.dscp, line.device.name, line.port.name, work, duration, (), faults, _NO_CONTROL, notes)


def _from(case: Case, line: Line, out: Line) -> Cut:
    """Data enters by one port and leaves by another; a further host receives RoCE's message."""
    return case.cutter.through(line.device.name, line.port.name, out.port.name)


def usual_group(case: Case, plan: Plan, cut: Cut) -> str:
    """The class in group 0."""
    tc = int(case.finding.text.split()[1])
    device = cut.network.devices[plan.device]
    found = device.map_of(device.ports[plan.port], "tc_to_pg")
    if found is None:
        raise NoProofError("the port has no map of classes to groups", "")
    found.entries[tc] = 0
    return f"{plan.device} {plan.port}: class {tc} in group 0"


def unstopped_sent(plan: Plan, twin: Outcome) -> str | None:
    """g2: datagrams were sent and RoCE's message arrived."""
    if not twin.count("datagrams.dropped"):
        return "no datagram found the port full"
    del plan
    return None if twin.count("messages.done") else "RoCE's message did not arrive"


# E10: packets that cannot be marked -----------------------------------------------------------------------------------


def plan_unmarkable(case: Case) -> Plan:
    """Datagrams without ECN in RoCE's class, into a port that has become slower: the queue grows beyond Kmax."""
    line = case.line()
    cut = case.cutter.local(line.device.name, line.port.name)
    cut.not_ect = True
    hop = cut.hops[0]
    device = cut.network.devices[hop.device]
    fast = rate_mbps(device.ports[hop.enters])
    slow = min(fast, rate_mbps(device.ports[hop.leaves])) // 2
    binding = device.ports[hop.leaves].queues.get(_queue_of(case, cut))
    wred = device.wreds.get(binding.wred or "") if binding else None
    if wred is None or wred.curve is None or not wred.marks:
        raise NoProofError("RoCE's queue of the port has no curve that marks", "")
    stop_us = 5 + time_us(2 * max(wred.curve.max_bytes, wred.curve.min_bytes + 1), 0.9 * fast - slow) + 20
    work = [_datagrams(cut.senders[0], cut.receiver, case.dscp, 0.9, 5, stop_us)]
    faults = [{"kind": "link-rate", "link": f"{hop.device}:{hop.leaves}", "at": "1us", "rate": f"{slow}M"}]
    notes = ("packets of a host without ECN: datagrams with RoCE's DSCP that are not ECN-capable",)
    duration = 4 * stop_us + _SETTLE_US
    return Plan(cut, case.dscp, hop.device, hop.leaves, work, duration, ("drops.wred == 0",), faults, notes=notes)


def _queue_of(case: Case, cut: Cut) -> int:
    hop = cut.hops[0]
    return traffic_class(Plan(cut, case.dscp, hop.device, hop.leaves, [], 0, ()), hop.device)[2]


def dropped_on_the_curve(plan: Plan, run: Outcome, twin: Outcome) -> str | None:
    """Packets discarded by WRED at the port."""
    del twin
    end = f"{plan.device}:{plan.port}"
    found = [it for it in run.losses() if it.port == end and it.reason == "wred"]
    if not found:
        return None
    kmin = int(run.queue(plan.device, plan.port, traffic_class(plan, plan.device)[2])["kmin_bytes"])
    return f"{chain.sentence(found[0])}, above Kmin of {kmin} B, although PFC protects the class"


def queue_grew(plan: Plan, twin: Outcome) -> str | None:
    """g2: the twin's queue went above its Kmin."""
    row = twin.queue(plan.device, plan.port, traffic_class(plan, plan.device)[2])
    held, kmin = int(row["peak_bytes"]), int(row["kmin_bytes"])
    return None if held > kmin else f"the queue of {plan.device} {plan.port} held {held} B at most, Kmin is {kmin} B"


def no_wred_drop(case: Case, plan: Plan, cut: Cut) -> str:
    """wred_green_enable off."""
    del case
    device = cut.network.devices[plan.device]
    for wred in device.wreds.values():
        wred.drops = wred.drops - {"green"}
    return f"{plan.device}: WRED profiles do not drop green packets"


# H8: larger frames than the headroom's --------------------------------------------------------------------------------


def plan_large_frames(case: Case) -> Plan:
    """CHAIN; frames of the port's MTU go the other way, so that the pause waits behind one of them."""
    plan = chain.plan(case)
    if "LOSSLESS_TRAFFIC_PATTERN" in case.finding.object:
        return plan
    mtu = plan.cut.network.devices[plan.device].ports[plan.port].mtu
    host = plan.cut.host(plan.cut.receiver)
    largest = (host.mtu if host else None) or DEFAULT_MTU
    raise NoProofError(
        f"the port's MTU is {mtu} B, and the hosts' packets have {largest} B: a larger one waits before the pause only "
        "where routers send it",
        "",
    )


RECIPES = (
    Recipe(
        "M8", "victim", "MIX", plan_other_traffic, other_class, victim_waits, both_there, "one map entry", in_time
    ),
    Recipe(
        "M16", "victim", "MIX", plan_unstopped, usual_group, victim_waits, unstopped_sent, "one map entry", in_time
    ),
    Recipe("E10", "loss", "STEP", plan_unmarkable, no_wred_drop, dropped_on_the_curve, queue_grew, "wred_green_enable"),
    Recipe(
        "H8", "loss", "CHAIN", plan_large_frames, chain.more_headroom, chain.lost_there, chain.used_headroom,
        "MTU of the traffic pattern",
    ),
)  # fmt: skip
