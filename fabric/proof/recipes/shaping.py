"""INC at a port with a shaper: senders for whom the port has room, and still its queue grows to a pause."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from fabric.configs.model import Limit
from fabric.dataplane.state.codes import N_CLASSES
from fabric.proof.cut import Cut
from fabric.proof.outcome import Outcome
from fabric.proof.recipe import Case, NoProofError, Plan, Recipe, rate_mbps, threshold_bytes, time_us, traffic_class
from fabric.proof.recipes import scheduling
from fabric.units import count

_MARGIN: Final = 1.5
_SETTLE_US: Final = 300.0
_MOST_BYTES: Final = 600_000_000
"""Of one proof: some 150,000 packets."""


def plan_shaped(case: Case) -> Plan:
    """Senders that fill the port and no more, until what the shaper keeps back exceeds the pause thresholds."""
    line = case.line()
    number = case.finding.object.partition("|")[2]
    limit = line.port.queues[int(number)].limit if number else line.port.limit
    speed = rate_mbps(line.port)
    shaped = None if limit is None or limit.packets else limit.rate_mbps(speed)
    if shaped is None:
        raise NoProofError("the shaper's rate is not known", "")
    cut = case.cutter.local(line.device.name, line.port.name)
    device = cut.network.devices[line.device.name]
    each = rate_mbps(device.ports[cut.hops[0].enters])
    senders = max(1, speed // each)
    if senders > 1:
        senders = min(senders, len(case.cutter.usable(line.device.name)) - 1)
        cut = case.cutter.local(line.device.name, line.port.name, senders=senders)
        device = cut.network.devices[line.device.name]
    load = min(senders * each, speed)
    if load <= shaped:
        raise NoProofError(f"{count(senders, 'other port')} of the switch cannot send faster than the shaper", "")
    room = threshold_bytes(device, device.ports[cut.hops[0].enters], _group(case, cut)) * senders
    whole = int(_MARGIN * room * load / (load - shaped)) + 1_000_000
    if whole > _MOST_BYTES:
        text = f"the shaper is so close to the port's speed that a pause needs {whole / 1e9:.1f} GB at once"
        raise NoProofError(text, "")
    work = [scheduling.messages("roce", cut, cut.senders, whole // senders, 1)]
    duration = _MARGIN * time_us(whole, shaped) + _SETTLE_US
    without = {"transport": {"cc": "none"}}
    expected = ("pfc.pauses == 0", f"messages.done == {senders}")
    return Plan(cut, case.dscp, line.device.name, line.port.name, work, duration, expected, settings=without)


def _group(case: Case, cut: Cut) -> int:
    """RoCE's priority group where the senders' packets come in."""
    hop = cut.hops[0]
    plan = Plan(cut, case.dscp, hop.device, hop.leaves, [], 0.0, ())
    return traffic_class(plan, hop.device)[1]


def no_shaper(case: Case, plan: Plan, cut: Cut) -> str:
    """The finding's shaper is gone."""
    port = cut.network.devices[plan.device].ports[plan.port]
    number = case.finding.object.partition("|")[2]
    if number:
        port.queues[int(number)] = replace(port.queues[int(number)], limit=None)
        return f"{plan.device} {plan.port}: no shaper of queue {number}"
    port.limit = None
    return f"{plan.device} {plan.port}: no shaper of the port"


def pauses_with_room(plan: Plan, run: Outcome, twin: Outcome) -> str | None:
    """The switch asks the senders for pauses, and the twin's does not."""
    here, there = (_pauses(plan, it) for it in (run, twin))
    if not here or there:
        return None
    device = plan.cut.network.devices[plan.device]
    queue = traffic_class(plan, plan.device)[2]
    held = [int(it.queue(plan.device, plan.port, queue)["peak_bytes"]) for it in (run, twin)]
    speed = rate_mbps(device.ports[plan.port]) / 1000
    return (
        f"{plan.device} asked RoCE's senders for {count(here, 'pause')} at a load that {plan.port} has room for "
        f"({speed:g} Gb/s): queue {queue} held {held[0]} B, remedied {held[1]} B and no pause"
    )


def _pauses(plan: Plan, run: Outcome) -> int:
    ends = (plan.cut.hosts[host] for host in plan.cut.senders)
    return sum(run.sent_xoff(*end, c) for end in ends for c in range(N_CLASSES))


def faster_than_the_shaper(plan: Plan, twin: Outcome) -> str | None:
    """g2: in the twin the senders' bytes left faster than the shaper would let them."""
    device = plan.cut.network.devices[plan.device]
    port = device.ports[plan.port]
    limits = [port.limit, *(it.limit for it in port.queues.values())]
    shaped = min(_known(it, rate_mbps(port)) for it in limits if it is not None)
    sizes = sum(int(it["size"].removesuffix("B")) for it in plan.workload[0]["messages"])
    ends = [max(twin.ends_us(host), default=plan.duration_us) for host in plan.cut.senders]
    if max(ends) >= time_us(sizes, shaped):
        return "the senders' bytes left the twin no faster than the shaper lets them"
    return None


def _known(limit: Limit, speed: int) -> float:
    """Its rate; the port's speed where that is not known."""
    return limit.rate_mbps(speed) or speed


RECIPES = (Recipe("M15", "pause", "INC", plan_shaped, no_shaper, pauses_with_room, faster_than_the_shaper, "the rate"),)
