"""STEP: one sender into a port that has become slower than it. The queue of RoCE grows, and marks come, or a pause.

The port's cable runs at half its rate from the start, so that one ingress group alone feeds the queue: then the queue
and the group hold the same bytes, and Kmin is compared with T(1) as the rule has it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from fabric.configs.model import Binding, Curve, Wred
from fabric.dataplane.state.codes import EventKind
from fabric.proof.cut import Cut
from fabric.proof.outcome import Outcome
from fabric.proof.recipe import Case, NoProofError, Plan, Recipe, rate_mbps, threshold_bytes, time_us, traffic_class
from fabric.proof.recipes import classes

_SETTLE_US: Final = 100.0
_EARLY: Final = 32
"""A remedy's Kmin is T(1) / this, Kmax T(1) / 8: marks long before the pause."""
_PERCENT: Final = 20


def step(case: Case, *, share: float = 1.5, control: bool = False) -> Plan:
    """STEP into the port of the finding.

    Parameters
    ----------
    share      bytes of the queue at its end, as a multiple of T(1) + xoff of the ingress group
    control    whether the hosts' congestion control acts; else they keep sending at line rate
    """
    line = case.line()
    cut = case.cutter.local(line.device.name, line.port.name)
    return stepped(cut, case.dscp, share, control=control)


def stepped(cut: Cut, dscp: int, share: float, *, control: bool) -> Plan:
    """The traffic of STEP on a cut-out."""
    hop = cut.hops[0]
    device = cut.network.devices[hop.device]
    fast, slow = rate_mbps(device.ports[hop.enters]), rate_mbps(device.ports[hop.leaves])
    slowed = min(fast, slow) // 2
    room = threshold_bytes(device, device.ports[hop.enters], 3)
    size = int(share * room * fast / (fast - slowed)) + 500_000
    workload: list[dict[str, Any]] = [
        {
            "kind": "messages",
            "name": "roce",
            "messages": [{"src": cut.senders[0], "dst": cut.receiver, "size": f"{size}B", "start": "2us"}],
        }
    ]
    faults = [{"kind": "link-rate", "link": f"{hop.device}:{hop.leaves}", "at": "1us", "rate": f"{slowed}M"}]
    duration = 2 + time_us(size, slowed) * 1.5 + _SETTLE_US
    settings = {} if control else {"transport": {"cc": "none"}}
    return Plan(cut, dscp, hop.device, hop.leaves, workload, duration, (), faults, settings)


def plan_order(case: Case) -> Plan:
    """E2, E11: with control, so that marks in time leave no need for a pause."""
    plan = step(case, control=True)
    plan.expectations = ("pfc.pauses == 0",)
    return plan


def plan_marks(case: Case) -> Plan:
    """E3, E4: does the queue mark at all."""
    plan = step(case, share=0.9)
    plan.expectations = ("ecn.marked > 0",)
    return plan


def plan_between(case: Case) -> Plan:
    """E6: a queue that stays between Kmin and Kmax."""
    plan = step(case)
    device = plan.cut.network.devices[plan.device]
    queue = traffic_class(plan, plan.device)[2]
    wred = device.wreds.get((device.ports[plan.port].queues.get(queue) or Binding(())).wred or "")
    if wred is None or wred.curve is None or wred.curve.min_bytes >= wred.curve.max_bytes:
        raise NoProofError("the curve has no part between Kmin and Kmax", "")
    peak = (wred.curve.min_bytes + wred.curve.max_bytes) // 2
    room = threshold_bytes(device, device.ports[plan.cut.hops[0].enters], 3)
    plan = stepped(plan.cut, plan.dscp, max(0.0, (peak - 250_000) / room), control=False)
    plan.expectations = ("ecn.marked > 0",)
    return plan


def _queue(plan: Plan, run: Outcome) -> Any:  # noqa: ANN401  a row of a structured array
    return run.queue(plan.device, plan.port, traffic_class(plan, plan.device)[2])


def pause_first(plan: Plan, run: Outcome, twin: Outcome) -> str | None:
    """XOFF sent although marks of this queue were to prevent it."""
    del twin
    hop = plan.cut.hops[0]
    paused = run.first(EventKind.PAUSE_SENT, hop.device, hop.enters)
    marked = run.first(EventKind.MARK, hop.device, hop.leaves)
    if paused is None:
        return None
    row = _queue(plan, run)
    mark = (
        "no packet was marked before" if marked is None or marked > paused else f"the first mark was at {marked:.2f} us"
    )
    return (
        f"{hop.device} {hop.enters} asked for a pause at {paused:.2f} us, {mark}; the queue of {hop.leaves} held up to "
        f"{int(row['peak_bytes'])} B, Kmin {int(row['kmin_bytes'])} B"
    )


def marked_before(plan: Plan, twin: Outcome) -> str | None:
    """g2: the twin's queue went above its Kmin and marked."""
    row = _queue(plan, twin)
    if not int(row["marked_pkts"]):
        return f"no packet was marked at {plan.device} {plan.port}: the queue held {int(row['peak_bytes'])} B at most"
    return None


def no_mark(plan: Plan, run: Outcome, twin: Outcome) -> str | None:
    """A queue above the twin's Kmin without a mark."""
    row, other = _queue(plan, run), _queue(plan, twin)
    if int(row["marked_pkts"]):
        return None
    return (
        f"{plan.device} {plan.port}: 0 of {int(row['enqueued_pkts'])} frames of RoCE's queue were marked at up to "
        f"{int(row['peak_bytes'])} B; remedied {int(other['marked_pkts'])} are, from {int(other['kmin_bytes'])} B on"
    )


# Remedies -------------------------------------------------------------------------------------------------------------


def early_marks(case: Case, plan: Plan, cut: Cut) -> str:
    """RoCE's queue of the port marks from far below T(1) on."""
    del case
    device = cut.network.devices[plan.device]
    port = device.ports[plan.port]
    level = threshold_bytes(device, device.ports[cut.hops[0].enters], 3)
    queue = traffic_class(plan, plan.device, cut)[2]
    curve = Curve(int(level / _EARLY), int(level / 8), _PERCENT)
    device.wreds["remedied"] = Wred("remedied", port.where, "ecn_all", {"green": curve})
    binding = port.queues.get(queue) or Binding(port.where)
    port.queues[queue] = replace(binding, wred="remedied")
    return (
        f"{plan.device} {plan.port} queue {queue}: marks from {curve.min_bytes} B to {curve.max_bytes} B, {_PERCENT} %"
    )


def some_probability(case: Case, plan: Plan, cut: Cut) -> str:
    """E6: a probability above 0 on the same curve."""
    del case
    device = cut.network.devices[plan.device]
    queue = traffic_class(plan, plan.device, cut)[2]
    wred = device.wreds[device.ports[plan.port].queues[queue].wred or ""]
    wred.curves = {name: replace(it, pmax_percent=_PERCENT) for name, it in wred.curves.items()}
    return f"{wred.name}: probability {_PERCENT} %"


# The tunnel -----------------------------------------------------------------------------------------------------------


def plan_underlay(case: Case) -> Plan:
    """T3: the queue is in the underlay, one hop before the end of the tunnel."""
    plan = classes.plan_tunnel(case)
    hops = plan.cut.hops
    middle = hops[-2] if len(hops) > 2 else hops[0]
    device = plan.cut.network.devices[middle.device]
    rate = rate_mbps(device.ports[middle.leaves])
    room = threshold_bytes(device, device.ports[middle.enters], 3)
    size = int(1.6 * room)
    plan.workload = [
        {
            "kind": "messages",
            "name": "roce",
            "messages": [{"src": plan.cut.senders[0], "dst": plan.cut.receiver, "size": f"{size}B", "start": "2us"}],
        }
    ]
    link = f"{middle.device}:{middle.leaves}"
    plan.faults = [{"kind": "link-rate", "link": link, "at": "1us", "rate": f"{rate // 2}M"}]
    plan.device, plan.port = middle.device, middle.leaves
    plan.duration_us = 2 + 3 * time_us(size, rate) + _SETTLE_US
    plan.settings = {}
    plan.expectations = ("cnp.sent > 0",)
    return plan


def no_notification(plan: Plan, run: Outcome, twin: Outcome) -> str | None:
    """The underlay's queue marked nothing, so no CNP was sent."""
    if run.count("cnp.sent"):
        return None
    row, other = _queue(plan, run), _queue(plan, twin)
    return (
        f"{plan.device} {plan.port} held up to {int(row['peak_bytes'])} B in the tunnel and the receiver sent no CNP; "
        f"remedied it sends {twin.count('cnp.sent')} and the queue holds up to {int(other['peak_bytes'])} B"
    )


def notified(plan: Plan, twin: Outcome) -> str | None:
    """g2: the twin's receiver sent CNPs."""
    del plan
    return None if twin.count("cnp.sent") else "the twin sends no CNP either"


def full_ecn(case: Case, plan: Plan, cut: Cut) -> str:
    """RFC 6040 in both directions."""
    del case, plan
    for device in cut.network.devices.values():
        for tunnel in device.tunnels.values():
            tunnel.ecn_mode = "standard"
    return "tunnels: ecn_mode standard (RFC 6040)"


RECIPES = (
    Recipe("E2 E11", "pause", "STEP", plan_order, early_marks, pause_first, marked_before, "Kmin against T(1)"),
    Recipe("E3 E4", "marks", "STEP", plan_marks, early_marks, no_mark, marked_before, "a curve or none"),
    Recipe("E6", "marks", "STEP", plan_between, some_probability, no_mark, marked_before, "Pmax 0 or above"),
    Recipe("T3", "marks", "STEP", plan_underlay, full_ecn, no_notification, notified, "ECN mode of the tunnel"),
)
