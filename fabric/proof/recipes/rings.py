"""RING: flows two hops along a cycle of switches, whose receivers are paused for a while.

The pause fills every switch of the ring. If the packets that go on around it hold more than the resume threshold when
the receivers come back, no switch can resume: each waits for the next one.
"""

from __future__ import annotations

import re
from typing import Any, Final

from fabric.proof.cut import Cut, Joint
from fabric.proof.outcome import Outcome
from fabric.proof.recipe import Case, NoProofError, Plan, Recipe, slowest_mbps, threshold_bytes, time_us

_LEAST: Final = 5
"""Switches, so that two hops along the ring are the one shortest path."""
_STORM_US: Final = 10.0
_SETTLE_US: Final = 500.0
_EVERY: Final = re.compile(r"\s*→\s*")


def plan_ring(case: Case) -> Plan:
    """D1, where the cycle of dependencies is a ring of cables."""
    text = case.finding.text.removeprefix("cycle ")
    switches = list(dict.fromkeys(end.rpartition(":")[0] for end in _EVERY.split(text)))
    if len(switches) < _LEAST or any(name not in case.facts.network.devices for name in switches):
        raise NoProofError(
            "the flows that follow the cycle are known only of a ring of five switches or more, where each takes the "
            "one shortest path of two hops",
            "",
        )
    cut = case.cutter.ring(switches)
    device = cut.network.devices[cut.hops[0].device]
    room = int(threshold_bytes(device, device.ports[cut.hops[0].enters], 3))
    size = 4 * room
    hosts = [next(name for name, (switch, _) in cut.hosts.items() if switch == hop.device) for hop in cut.hops]
    count = len(hosts)
    work: list[dict[str, Any]] = [
        {
            "kind": "messages",
            "name": "roce",
            "messages": [
                {"src": hosts[n], "dst": hosts[(n + 2) % count], "size": f"{size}B", "start": "1us"}
                for n in range(count)
            ],
        }
    ]
    rate = slowest_mbps(cut)
    storm_us = time_us(4 * room, rate) + _SETTLE_US
    faults = [{"kind": "pause-storm", "hosts": hosts, "at": f"{_STORM_US}us", "duration": f"{round(storm_us)}us"}]
    duration = storm_us + count * 2 * time_us(size, rate) + _SETTLE_US
    expect = ("deadlock.cycles == 0", f"messages.done == {count}")
    hop = cut.hops[0]
    settings = {"transport": {"cc": "none"}}
    return Plan(cut, case.dscp, hop.device, hop.enters, work, duration, expect, faults, settings)


def stuck(plan: Plan, run: Outcome, twin: Outcome) -> str | None:
    """A cyclic wait that stays."""
    del plan, twin
    if not run.cycle:
        return None
    shown = " → ".join(run.fabric.port_name(port) for port, _ in run.cycle)
    return (
        f"deadlock: {shown} wait for each other; {run.count('messages.done')} of {run.count('messages.total')} "
        "messages were completed, and none moves after the pause of the receivers has ended"
    )


def was_paused(plan: Plan, twin: Outcome) -> str | None:
    """g2: the twin's switches paused each other, too."""
    del plan
    return None if twin.count("pfc.pauses") else "no class was paused"


def open_ring(case: Case, plan: Plan, cut: Cut) -> str:
    """One cable less: the same flows over a line, whose dependencies have no cycle."""
    del case
    joint: Joint = cut.joints.pop()
    text = f"without the cable {joint.a[0]}:{joint.a[1]}--{joint.b[0]}:{joint.b[1]}"
    cut.hops = plan.cut.hops
    return f"{text} the paths have no cycle"


RECIPES = (Recipe("D1", "deadlock", "RING", plan_ring, open_ring, stuck, was_paused, "the last cable of the cycle"),)
