"""INC, STEP and MIX at one port: queue limits, resume thresholds, weights, and other traffic beside RoCE."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from fabric.configs.model import Binding, BufferProfile, Scheduler
from fabric.dataplane.state.codes import N_CLASSES
from fabric.proof.cut import Cut
from fabric.proof.outcome import Outcome
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
from fabric.proof.recipes import chain, classes, marking
from fabric.units import count
from fabric.validate.held import feeding

_MESSAGE: Final = 5_000_000
_SMALL: Final = 500_000
_BULK_CLASS: Final = 0
_SETTLE_US: Final = 300.0
_MOST_SENDERS: Final = 63
"""Of an incast: a run with more takes long."""
_MUCH: Final = 1.5
"""A measured value beyond this multiple of the twin's is the finding."""
_LARGEST_TH: Final = 7
_WITHOUT_CONTROL: Final = {"transport": {"cc": "none"}}


def messages(
    name: str, plan_cut: Cut, senders: tuple[str, ...], size: int, start_us: float, **more: int
) -> dict[str, Any]:
    """A message of each sender to the receiver, 0.1 us apart."""
    rows = [
        {"src": host, "dst": plan_cut.receiver, "size": f"{size}B", "start": f"{start_us + 0.1 * number:.1f}us"}
        for number, host in enumerate(senders)
    ]
    return {"kind": "messages", "name": name, **more, "messages": rows}


# B7: the egress limit -------------------------------------------------------------------------------------------------


def plan_queue(case: Case) -> Plan:
    """All other ports send into the port; n groups ask for no pause before T(n) each."""
    line = case.line()
    senders = max(2, min(_MOST_SENDERS, len(case.cutter.usable(line.device.name)) - 1))
    cut = case.cutter.local(line.device.name, line.port.name, senders=senders)
    device = cut.network.devices[line.device.name]
    both = feeding(case.facts, line, case.facts.queue_of(line, case.dscp) or 0)
    room = threshold_bytes(device, device.ports[cut.hops[0].enters], 3)
    size = int(_MUCH * max(room, both.most_bytes if both else 0.0) / (senders - 1)) + 1_000_000
    duration = 1.2 * time_us(size * len(cut.senders), slowest_mbps(cut)) + _SETTLE_US
    work = [messages("roce", cut, cut.senders, size, 1)]
    return Plan(cut, case.dscp, line.device.name, line.port.name, work, duration, NO_LOSS, settings=_WITHOUT_CONTROL)


def unlimited_queue(case: Case, plan: Plan, cut: Cut) -> str:
    """RoCE's queue of the port may hold the whole egress pool."""
    del case
    device = cut.network.devices[plan.device]
    port, queue = device.ports[plan.port], traffic_class(plan, plan.device, cut)[2]
    old = device.profile_of(port.queues.get(queue))
    pool = next((name for name in device.pools if "egress" in name and "lossless" in name), None)
    if pool is None and old is None:
        raise NoProofError("the queue has no profile to change", "")
    device.profiles["remedied"] = BufferProfile(
        "remedied", port.where, pool or (old.pool if old else ""), dynamic_th=_LARGEST_TH
    )
    port.queues[queue] = replace(port.queues.get(queue) or Binding(port.where), profile="remedied")
    return f"{plan.device} {plan.port} queue {queue}: dynamic_th {_LARGEST_TH} of {pool}"


# B6: the resume threshold ---------------------------------------------------------------------------------------------


def plan_resume(case: Case) -> Plan:
    """STEP, long enough for several pauses."""
    line = case.line()
    chained = case.cutter.chain(line.device.name, line.port.name)
    hop = next(it for it in chained.hops if it.device == line.device.name)
    cut = case.cutter.local(line.device.name, hop.leaves)
    if cut.hops[0].enters != line.port.name:
        cut = chained
    index = next(number for number, it in enumerate(cut.hops) if it.device == line.device.name)
    plan = marking.stepped(replace(cut, hops=cut.hops[index:]), case.dscp, 2.0, control=False)
    plan.cut = cut
    plan.device, plan.port = line.device.name, line.port.name
    return plan


def pauses_often(plan: Plan, run: Outcome, twin: Outcome) -> str | None:
    """More XOFF frames than with a resume threshold, for the same bytes."""
    here, there = (sum(it.sent_xoff(plan.device, plan.port, c) for c in range(N_CLASSES)) for it in (run, twin))
    if here <= _MUCH * max(1, there):
        return None
    return f"{plan.device} {plan.port} asked for {here} pauses, remedied {there}, for the same bytes"


def fewer_pauses(plan: Plan, twin: Outcome) -> tuple[str, ...]:
    """The twin's frames, with room."""
    del plan
    return (f"pfc.pause_frames <= {int(_MUCH * max(1, twin.count('pfc.pause_frames')))}",)


def hysteresis(case: Case, plan: Plan, cut: Cut) -> str:
    """Resume a quarter of T(1) below the limit."""
    del case
    device = cut.network.devices[plan.device]
    offset = int(threshold_bytes(device, device.ports[plan.port], 3) / 4)
    for profile in device.profiles.values():
        if profile.lossless:
            profile.xon_offset_bytes = offset
    return f"{plan.device}: xon_offset {offset} B"


# B16: a pool far smaller than on the other switches -------------------------------------------------------------------


def plan_small_pool(case: Case) -> Plan:
    """STEP into a port of the switch, with twice the bytes at which its group asks for a pause.

    Raises: NoProofError where no other switch of the HWSKU has the pool.
    """
    _usual_pool(case)
    device = case.facts.network.devices[case.finding.device]
    line = next((it for it in case.facts.used if it.device is device), None)
    if line is None:
        raise NoProofError(f"{device.name} has no port in use", "")
    cut = case.cutter.local(device.name, line.port.name)
    plan = marking.stepped(cut, case.dscp, 2.0, control=False)
    plan.port, plan.expectations = cut.hops[0].enters, ("pfc.pauses == 0",)
    return plan


def _usual_pool(case: Case) -> tuple[str, int]:
    """(pool, its median size on the other switches of the HWSKU)."""
    mine, name = case.facts.network.devices[case.finding.device], case.finding.object.rpartition("|")[2]
    others = [it for it in case.facts.devices if it is not mine and it.hwsku == mine.hwsku and name in it.pools]
    sizes = sorted(it.pools[name].size_bytes or 0 for it in others)
    if not sizes:
        raise NoProofError(f"no other switch of '{mine.hwsku}' has a pool {name}", "")
    return name, sizes[len(sizes) // 2]


def usual_pool(case: Case, plan: Plan, cut: Cut) -> str:
    """The size of the other switches."""
    name, size = _usual_pool(case)
    cut.network.devices[plan.device].pools[name].size_bytes = size
    return f"{plan.device} {name}: {size} B, as on the other switches"


def early_pause(plan: Plan, run: Outcome, twin: Outcome) -> str | None:
    """The port asks for pauses at a level at which the twin's does not."""
    here, there = (sum(it.sent_xoff(plan.device, plan.port, c) for c in range(N_CLASSES)) for it in (run, twin))
    if not here or there >= here:
        return None
    held = [_held(plan, it) for it in (run, twin)]
    return (
        f"{plan.device} {plan.port} asked for {count(here, 'pause')} while its group held {held[0]} B at most; "
        f"remedied it holds {held[1]} B and asks for {count(there, 'pause')}"
    )


def _held(plan: Plan, run: Outcome) -> int:
    return int(run.group(plan.device, plan.port, traffic_class(plan, plan.device)[1])["peak_bytes"])


def more_is_held(plan: Plan, twin: Outcome) -> str | None:
    """g2: the twin's group holds more than the level at which the small pool asks for a pause."""
    device = plan.cut.network.devices[plan.device]
    level = threshold_bytes(device, device.ports[plan.port], traffic_class(plan, plan.device)[1])
    held = _held(plan, twin)
    return (
        None if held > level else f"the twin's group holds {held} B, no more than the {level:.0f} B of the small pool"
    )


# B8: lossy traffic in the lossless pool -------------------------------------------------------------------------------


def plan_pool(case: Case) -> Plan:
    """Two hosts fill the pool with other traffic; then RoCE's burst, which needs no pause alone."""
    line = case.line()
    others = [it for it in case.facts.used if it.device is line.device and it.port is not line.port]
    if not others:
        raise NoProofError(f"{line.device.name} has no second port in use", "")
    out = next((it for it in others if not case.facts.faces_host(it)), others[0])
    cut = case.cutter.local(line.device.name, out.port.name, senders=1, bulk=2)
    device = cut.network.devices[line.device.name]
    room = max(it.size_bytes or 0 for it in device.pools.values() if it.direction != "egress")
    rate = rate_mbps(device.ports[out.port.name])
    bulk = int(room * 1.2) + 1_000_000
    full_us = time_us(room, rate)
    work = [
        messages("bulk", cut, cut.bulk, bulk, 1, priority=_BULK_CLASS),
        messages("roce", cut, cut.senders, _MESSAGE, round(full_us, 1)),
    ]
    duration = 4 * time_us(2 * bulk + _MESSAGE, rate) + _SETTLE_US
    return Plan(
        cut, case.dscp, line.device.name, out.port.name, work, duration, ("pfc.pauses == 0",),
        settings=_WITHOUT_CONTROL,
    )  # fmt: skip


def roce_paused(plan: Plan, run: Outcome, twin: Outcome) -> str | None:
    """RoCE's sender was asked to pause, and not with the smaller alpha."""
    del twin
    end = plan.cut.hosts[plan.cut.senders[0]]
    asked = sum(run.sent_xoff(*end, c) for c in range(N_CLASSES))
    if not asked:
        return None
    peak = max(int(it) for it in run.now.pools["peak_bytes"])
    return (
        f"{end[0]} {end[1]} asked RoCE's sender for {asked} pauses while other traffic held the pool ({peak} B at most)"
    )


def both_sent(plan: Plan, twin: Outcome) -> str | None:
    """g2: the other traffic was there, too."""
    if not all(twin.sent_by(host) for host in (*plan.cut.senders, *plan.cut.bulk)):
        return "not every sender sent in the twin"
    return None


def small_lossy_alpha(case: Case, plan: Plan, cut: Cut) -> str:
    """Lossy groups may take a third of the pool."""
    del case
    device = cut.network.devices[plan.device]
    pool = next((name for name, it in device.pools.items() if it.direction != "egress"), "")
    device.profiles["remedied lossy"] = BufferProfile("remedied lossy", (), pool, dynamic_th=-2)
    for port in device.ports.values():
        port.groups[_BULK_CLASS] = Binding(port.where, "remedied lossy")
    return f"{plan.device}: lossy groups have dynamic_th -2"


# M9, M11: weights ---------------------------------------------------------------------------------------------------


def _mixed(case: Case, roce: int, bulk: int) -> Plan:
    line = case.line()
    cut = case.cutter.local(line.device.name, line.port.name, senders=1, bulk=1)
    rate = slowest_mbps(cut)
    work = [messages("roce", cut, cut.senders, roce, 1), messages("bulk", cut, cut.bulk, bulk, 1, priority=_BULK_CLASS)]
    duration = 4 * time_us(roce + bulk, rate) + _SETTLE_US
    return Plan(cut, case.dscp, line.device.name, line.port.name, work, duration, (), settings=_WITHOUT_CONTROL)


def plan_strict(case: Case) -> Plan:
    """M9: a small message of the other class beside a large one of RoCE."""
    return _mixed(case, _MESSAGE, _SMALL)


def plan_weight(case: Case) -> Plan:
    """M11: a small message of RoCE beside a large one of the other class."""
    return _mixed(case, _SMALL, _MESSAGE)


def bulk_waits(plan: Plan, run: Outcome, twin: Outcome) -> str | None:
    """The other class's message ends much later than in the twin."""
    return _later(plan, run, twin, plan.cut.bulk[0], "other traffic's")


def roce_waits(plan: Plan, run: Outcome, twin: Outcome) -> str | None:
    """RoCE's message ends much later than in the twin."""
    found = _later(plan, run, twin, plan.cut.senders[0], "RoCE's")
    longest = [it.count("pfc.longest_pause") / 1e6 for it in (run, twin)]
    pauses = [it.count("pfc.pauses") for it in (run, twin)]
    return (
        found and f"{found}; {pauses[0]} pauses of up to {longest[0]:.0f} us, remedied {pauses[1]} of {longest[1]:.0f}"
    )


def _later(plan: Plan, run: Outcome, twin: Outcome, host: str, whose: str) -> str | None:
    here, there = (max(it.ends_us(host), default=plan.duration_us) for it in (run, twin))
    if here <= _MUCH * there:
        return None
    return f"{plan.device} {plan.port}: {whose} message ends at {here:.0f} us, remedied at {there:.0f} us"


def alike_slow(plan: Plan, twin: Outcome) -> tuple[str, ...]:
    """The twin's largest slowdown, with room."""
    del plan
    return (f"slowdown.max <= {_MUCH * float(twin.metrics['slowdown.max'] or 1):.2f}",)


def even_weights(case: Case, plan: Plan, cut: Cut) -> str:
    """RoCE's queue and that of the other class weighted alike."""
    del case
    device = cut.network.devices[plan.device]
    port = device.ports[plan.port]
    device.schedulers["remedied"] = Scheduler("remedied", port.where, "DWRR", 50)
    queue = traffic_class(plan, plan.device, cut)[2]
    for number in {queue, _BULK_CLASS}:
        binding = port.queues.get(number) or Binding(port.where)
        port.queues[number] = replace(binding, scheduler="remedied")
    return f"{plan.device} {plan.port}: queues {queue} and {_BULK_CLASS} weighted 50:50"


RECIPES = (
    Recipe(
        "B7",
        "loss",
        "INC",
        plan_queue,
        unlimited_queue,
        chain.lost_there,
        classes.paused_or_queued,
        "limit of the queue",
    ),
    Recipe(
        "B6", "pause", "STEP", plan_resume, hysteresis, pauses_often, chain.used_headroom, "xon_offset", fewer_pauses
    ),
    Recipe("B16", "pause", "STEP", plan_small_pool, usual_pool, early_pause, more_is_held, "size of the pool"),
    Recipe("B8", "pause", "MIX", plan_pool, small_lossy_alpha, roce_paused, both_sent, "alpha of the lossy group"),
    Recipe("M9", "victim", "MIX", plan_strict, even_weights, bulk_waits, both_sent, "strict or weighted", alike_slow),
    Recipe(
        "M11", "victim", "MIX", plan_weight, even_weights, roce_waits, both_sent, "weight of RoCE's queue", alike_slow
    ),
)
