"""CHAIN: one flow over the port of the finding, to a receiver that is paused. Pauses climb from hop to hop.

The receiver sends XOFF from `_STORM_US` on. Each switch on the way fills up to its threshold, pauses the one before,
and then needs the headroom of the port that the data comes in by. Bytes: more than all of these together.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Final

from fabric.configs.buffers.headroom import ROCE_MTU_BYTES, Assumptions, hop_of
from fabric.configs.model import Binding, BufferProfile, Device, Port
from fabric.dataplane.state.codes import N_CLASSES
from fabric.proof.cut import HOST_CABLE_M, SWITCH_CABLE_M, Cut, lengths
from fabric.proof.lowering.switch_rows import DEFAULT_CHIP, chip
from fabric.proof.outcome import Loss, Outcome
from fabric.proof.recipe import (
    NO_LOSS,
    Case,
    NoProofError,
    Plan,
    Recipe,
    rate_mbps,
    slowest_mbps,
    threshold_bytes,
    time_us,
    traffic_class,
)
from fabric.scenario.presets.asics import ASICS
from fabric.theory.headroom import need_bytes
from fabric.units import count
from fabric.validate.facts import Line

_STORM_US: Final = 10.0
_MARGIN_BYTES: Final = 2_000_000
_SETTLE_US: Final = 300.0
_SLOWER: Final = 20
"""A slow receiver's share of the rate."""
_MADE: Final = re.compile(r"pg_lossless_\d+_\d+m.*_profile")
"""Name of a profile that the switch itself makes from its table (sonic-swss buffermgr.cpp)."""
_BUFFER: Final = {"headroom", "no_headroom", "shared_headroom_pool", "ingress_threshold", "egress_threshold"}


def plan_at(case: Case, line: Line, *, enters: bool = True) -> Plan:
    """CHAIN over a port that data enters, or leaves, by."""
    cut = case.cutter.chain(line.device.name, line.port.name, enters=enters)
    plan = chain(cut, case.dscp, line.device.name, line.port.name)
    usual = case.facts.usual_class(case.dscp)
    last = cut.network.devices[cut.hops[-1].device].ports[cut.hops[-1].leaves]
    deaf = usual is not None and usual[1] not in last.lossless
    return slow(plan) if deaf else plan  # a storm of pauses that the last port ignores is no storm


def chain(cut: Cut, dscp: int, device: str, port: str) -> Plan:
    """The traffic of CHAIN on a cut-out."""
    room = _MARGIN_BYTES
    for hop in cut.hops:
        switch = cut.network.devices[hop.device]
        room += int(max(_limit_bytes(switch, switch.ports[hop.enters]), 0) * 1.05)
    rate = slowest_mbps(cut)
    storm_us = time_us(room, rate) + _SETTLE_US
    workload: list[dict[str, Any]] = [
        {
            "kind": "messages",
            "name": "roce",
            "messages": [{"src": cut.senders[0], "dst": cut.receiver, "size": f"{room}B", "start": "1us"}],
        }
    ]
    faults = [
        {"kind": "pause-storm", "hosts": [cut.receiver], "at": f"{_STORM_US}us", "duration": f"{round(storm_us)}us"}
    ]
    duration = _STORM_US + storm_us + 2 * time_us(room, rate) + _SETTLE_US
    expect = ("drops.total == 0", "messages.done == 1")
    return Plan(cut, dscp, device, port, workload, duration, expect, faults)


def _limit_bytes(device: Device, port: Port) -> float:
    """What a port may hold: T(1) + xoff, or nearly the whole pool where RoCE comes in without a lossless group."""
    groups = [device.profile_of(it) for it in port.groups.values()]
    if device.pools and not any(it is not None and it.lossless for it in groups):
        return max([it.size_bytes or 0 for it in device.pools.values() if it.direction != "egress"], default=0)
    return threshold_bytes(device, port, 3)


def slow(found: Plan) -> Plan:
    """The same with a receiver that consumes too slowly and asks for pauses itself, instead of a storm."""
    rate = slowest_mbps(found.cut)
    end = 2 * found.duration_us / 3
    found.faults = [
        {
            "kind": "slow-receiver", "hosts": [found.cut.receiver], "at": f"{_STORM_US}us", "until": f"{round(end)}us",
            "drain": f"{max(1, rate // _SLOWER)}M",
        }
    ]  # fmt: skip
    found.expectations = NO_LOSS
    host = found.cut.host(found.cut.receiver)
    if host is None or not host.rx_buffer_bytes:
        found.notes = (*found.notes, "receive buffer of the host: assumed, 512 KiB")
    return found


def plan(case: Case) -> Plan:
    """Data enters by the port of the finding: its group needs its headroom."""
    return plan_at(case, case.line())


def plan_leaving(case: Case) -> Plan:
    """Data leaves by the port of the finding: its queue is paused."""
    return plan_at(case, case.line(), enters=False)


# What is seen ---------------------------------------------------------------------------------------------------------


def lost_there(plan: Plan, run: Outcome, twin: Outcome) -> str | None:
    """RoCE lost at the port of the finding."""
    end = f"{plan.device}:{plan.port}"
    here = [it for it in run.losses(plan.bulk) if it.port == end]
    if not here:
        return None
    one = here[0]
    return f"{sentence(one)}{_headroom(plan, run, one)}{_against(plan, run, twin)}"


def lost_anywhere(plan: Plan, run: Outcome, twin: Outcome) -> str | None:
    """RoCE lost at some switch of the chain, or at the receiver: often one hop beside the mistake."""
    found = run.losses(plan.bulk)
    if not found:
        return None
    beside = "" if found[0].switch == plan.device else f", on a path over {plan.device} {plan.port}"
    return f"{sentence(found[0])}{beside}{_against(plan, run, twin)}"


def sentence(loss: Loss) -> str:
    """'leaf1 Ethernet8 class 3 dropped 37 frames at 12.3 us (headroom)'."""
    switch, _, port = loss.port.partition(":")
    at = "" if loss.first_us is None else f", the first at {loss.first_us:.1f} us"
    return f"{switch} {port} dropped {count(loss.packets, 'frame')} of class {loss.tc}{at} (reason: {loss.reason})"


def _headroom(plan: Plan, run: Outcome, loss: Loss) -> str:
    if loss.reason not in {"headroom", "no_headroom"}:
        return ""
    _, group, _ = traffic_class(plan, plan.device)
    has = int(run.group(plan.device, plan.port, group)["xoff_bytes"])
    return f": headroom {has} B"


def _against(plan: Plan, run: Outcome, twin: Outcome) -> str:
    here = twin.now.pgs.reshape(-1, N_CLASSES)[twin.port(plan.device, plan.port)]
    used = int(here["headroom_peak_bytes"].max())
    needs = f", {used} B needed" if used and run.count("drops.headroom") + run.count("drops.no_headroom") else ""
    return f"{needs}; {run.count('messages.done')} of {run.count('messages.total')} messages were completed in time"


def used_headroom(plan: Plan, twin: Outcome) -> str | None:
    """g2: the twin took headroom at the port, because it had asked for a pause."""
    _, group, _ = traffic_class(plan, plan.device)
    crossed = int(twin.group(plan.device, plan.port, group)["rx_pkts"]) or twin.sent_by(plan.cut.senders[0])
    if not crossed:
        return "no RoCE crossed the port"
    if not sum(twin.sent_xoff(plan.device, plan.port, c) for c in range(N_CLASSES)):
        return f"{plan.device} {plan.port} never asked for a pause"
    row = twin.now.pgs.reshape(-1, N_CLASSES)[twin.port(plan.device, plan.port)]
    if not int(row["headroom_peak_bytes"].max()) and not int(row["peak_bytes"].max()):
        return f"no headroom of {plan.device} {plan.port} was used"
    return None


def paused_everywhere(plan: Plan, twin: Outcome) -> str | None:
    """g2: a pause reached every switch of the chain, and the sender."""
    for hop in plan.cut.hops:
        if not twin.received_xoff(hop.device, hop.leaves):
            return f"no pause reached {hop.device} {hop.leaves}"
    return None


# Remedies -------------------------------------------------------------------------------------------------------------


def needed_bytes(cut: Cut, device: str, port: str) -> int:
    """Least headroom of the cable as it is laid, in the run with the slowest peer that 802.3 allows.

    The assumptions are those of the lowering: reception takes no time, RoCE's frames are of one size.
    """
    switch = cut.network.devices[device]
    here = switch.ports[port]
    joint = next(it for it in cut.joints if (device, port) in {it.a, it.b})
    length = max(lengths(joint, cut.network), default=HOST_CABLE_M if joint.a[0] in cut.hosts else SWITCH_CABLE_M)
    sender = cut.host(cut.senders[0])
    hop = hop_of(
        rate_mbps(here),
        length,
        here.mtu,
        Assumptions(response="worst", latency_ps=0),
        cell_bytes=ASICS[chip(switch) or DEFAULT_CHIP].cell_bytes,
        roce_mtu=(sender.roce_mtu if sender else None) or ROCE_MTU_BYTES,
        other_classes=max(0, len(here.lossless) - 1),
    )
    return need_bytes(hop)


def more_headroom(case: Case, plan: Plan, cut: Cut) -> str:
    """The group of RoCE at the port gets what its cable needs, in a separate profile."""
    device = cut.network.devices[plan.device]
    port = device.ports[plan.port]
    group = lossless_group(case, plan, cut)
    old = device.profile_of(port.groups.get(group)) or _any_profile(case, plan, cut)
    xoff = max(needed_bytes(cut, plan.device, plan.port), old.xoff_bytes)
    new = _grown(old, xoff)
    device.profiles[new.name] = new
    port.groups[group] = Binding(port.where, new.name, port.where)
    return f"{plan.device} {plan.port} PG{group}: xoff {xoff} B instead of {old.xoff_bytes} B"


def lossless_group(case: Case, plan: Plan, cut: Cut) -> int:
    """The priority group that RoCE has on most ports of the fabric; here where it is lossless nowhere."""
    _, group, _ = traffic_class(plan, plan.device, cut)
    usual = case.facts.usual_class(plan.dscp)
    return group if usual is None else usual[1]


def _grown(old: BufferProfile, xoff: int) -> BufferProfile:
    dynamic = 0 if old.dynamic_th is None and old.static_th_bytes is None else old.dynamic_th
    xon = old.xon_bytes or 18_432
    return replace(
        old, name="remedied", xoff_bytes=xoff, xon_bytes=xon, size_bytes=xoff + xon, dynamic_th=dynamic, derived=""
    )


def _any_profile(case: Case, plan: Plan, cut: Cut) -> BufferProfile:
    """A lossless profile of the switch, of another one, or an ordinary one in the switch's pool."""
    device = cut.network.devices[plan.device]
    whole = case.facts.network.devices[plan.device]
    others = [it for other in case.facts.devices for it in other.profiles.values() if it.lossless]
    for found in (*(it for it in whole.profiles.values() if it.lossless), *others):
        if found.pool in device.pools:
            return found
    pool = next((name for name, it in device.pools.items() if it.direction == "ingress"), None)
    if pool is None:
        raise NoProofError("the switch states no ingress pool to take headroom from", "")
    return BufferProfile("none", device.pools[pool].where, pool, dynamic_th=0)


def usual_profile(case: Case, plan: Plan, cut: Cut) -> str:
    """Make the lossless group that is missing, with PFC on its priority."""
    group = lossless_group(case, plan, cut)
    port = cut.network.devices[plan.device].ports[plan.port]
    port.lossless |= {group}
    text = more_headroom(case, plan, cut)
    port.headroom_unknown = False
    return f"a lossless group made: {text}"


def larger_pool(case: Case, plan: Plan, cut: Cut) -> str:
    """The shared headroom pool holds the headroom of every group of the cut-out."""
    del case
    device = cut.network.devices[plan.device]
    need = sum(
        profile.xoff_bytes
        for port in device.ports.values()
        for it in port.groups.values()
        if (profile := device.profile_of(it)) is not None and profile.lossless
    )
    for pool in device.pools.values():
        if pool.shared_headroom_bytes:
            pool.shared_headroom_bytes = max(pool.shared_headroom_bytes, need)
            return f"{plan.device} {pool.name}: shared headroom {need} B"
    raise NoProofError(f"{plan.device} has no shared headroom pool", "")


def plan_short(case: Case) -> Plan:
    """H4: a headroom that is not below the vendor's row claims no loss."""
    words = case.finding.text.partition(", row ")[0]
    if "xoff" not in words:
        raise NoProofError("xoff equals the vendor's row: the finding claims no loss", "")
    return plan(case)


def plan_known_length(case: Case) -> Plan:
    """H6: the template's length at both ends does not say how long the cable is."""
    found = plan(case)
    joint = next(it for it in found.cut.joints if (found.device, found.port) in {it.a, it.b})
    stated = set(lengths(joint, found.cut.network))
    if len(stated) == 1 and not (joint.cable and joint.cable.length_m):
        raise NoProofError("the real length of the cable is not known", "give it in the links file: length_m")
    return found


def plan_unmade(case: Case) -> Plan:
    """H2: the table has no row for the group, so that a saved one is what the switch made for another cable."""
    found = plan(case)
    port = found.cut.network.devices[found.device].ports[found.port]
    saved = [group for group, it in port.groups.items() if _MADE.fullmatch(it.profile or "")]
    if not saved:
        return found
    for group in saved:
        del port.groups[group]
    found = chain(found.cut, found.dscp, found.device, found.port)
    groups = ", ".join(map(str, sorted(saved)))
    why = "the switch cannot make it again, as after `config qos reload`"
    found.notes = (f"the saved row of group {groups} of {found.port} is left out: {why}",)
    return found


def plan_refused(case: Case) -> Plan:
    """B11: the switch refuses the group, although a row binds it."""
    found = plan(case)
    port = found.cut.network.devices[found.device].ports[found.port]
    for group in sorted(port.lossless):
        port.groups.pop(group, None)
    found = chain(found.cut, found.dscp, found.device, found.port)
    found.notes = (f"the switch refuses the lossless groups of {found.port}: {case.finding.text}",)
    return found


HEADROOM = Recipe(
    "H1 H3 H5 H10 B4 B5", "loss", "CHAIN", plan, more_headroom, lost_there, used_headroom,
    "xoff of the group, one frame below what the run needs",
)  # fmt: skip
RECIPES = (
    HEADROOM,
    replace(HEADROOM, checks="H4", plan=plan_short),
    replace(HEADROOM, checks="H6", plan=plan_known_length),
    Recipe("H7 B10", "loss", "CHAIN", plan, usual_profile, lost_there, used_headroom, "the group exists or not"),
    Recipe("H2", "loss", "CHAIN", plan_unmade, usual_profile, lost_there, used_headroom, "the group exists or not"),
    Recipe("B11", "loss", "CHAIN", plan_refused, usual_profile, lost_there, used_headroom, "the largest headroom"),
    Recipe("B2", "loss", "CHAIN", plan, larger_pool, lost_there, used_headroom, "shared headroom of one group"),
)
