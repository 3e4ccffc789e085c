"""A slow receiver: what its NIC must hold after it has asked for a pause."""

from __future__ import annotations

from dataclasses import replace

from fabric.configs.buffers.headroom import nic_xoff_bytes
from fabric.proof.cut import Cut
from fabric.proof.outcome import Outcome
from fabric.proof.recipe import NO_LOSS, Case, NoProofError, Plan, Recipe, rate_mbps
from fabric.proof.recipes import chain


def plan_slow(case: Case) -> Plan:
    """N5: data leaves by the port of the finding to a host that consumes slowly."""
    plan = chain.slow(chain.plan_at(case, case.line(), enters=False))
    if plan.cut.hops[-1].device != plan.device:
        raise NoProofError(f"no host is behind {plan.device} {plan.port}", "")
    plan.expectations = NO_LOSS
    return plan


def lost_at_nic(plan: Plan, run: Outcome, twin: Outcome) -> str | None:
    """Frames discarded for lack of receive buffer."""
    del twin
    found = [it for it in run.losses() if it.reason == "rx_buffer"]
    host = plan.cut.host(plan.cut.receiver)
    held = host.rx_buffer_bytes if host else None
    buffer = f"receive buffer {held} B" if held else "receive buffer not stated, 512 KiB assumed"
    return None if not found else f"{chain.sentence(found[0])}; {buffer}"


def nic_paused(plan: Plan, twin: Outcome) -> str | None:
    """g2: the twin's NIC asked for a pause."""
    hop = plan.cut.hops[-1]
    return None if twin.received_xoff(hop.device, hop.leaves) else "the NIC never asked for a pause"


def larger_buffer(case: Case, plan: Plan, cut: Cut) -> str:
    """Three times what mlx5 sets aside for this cable, for one lossless buffer."""
    del case
    name = cut.receiver
    host = cut.host(name)
    if host is None:
        raise NoProofError("the host's settings are not known", "")
    port = cut.network.devices[plan.device].ports[plan.port]
    need = 3 * nic_xoff_bytes(rate_mbps(port), host.cable_m or port.cable_m or 7, host.mtu or 9000)
    cut.network.hosts[name] = replace(host, rx_buffer_bytes=need)
    return f"{name}: receive buffer {need} B"


def plan_pause_of_all(case: Case) -> Plan:
    """L10: a host with link-wide pause, whose PAUSE frames a port with PFC does not obey."""
    line = case.line()
    host = case.facts.host_at(line)
    if host is None or not host.global_pause:
        raise NoProofError(
            "what a switch does with link-wide pause and PFC on one port is not known: it stops the whole link, or "
            "ignores one of them",
            "",
        )
    return plan_slow(case)


def priority_pause(case: Case, plan: Plan, cut: Cut) -> str:
    """The hosts with PFC on RoCE's priority, without link-wide pause."""
    usual = case.facts.usual_class(plan.dscp)
    priority = 3 if usual is None else usual[1]
    changed = [name for name in cut.hosts if (host := cut.host(name)) is not None and host.global_pause]
    for name in changed:
        host = cut.host(name)
        if host is not None:
            cut.network.hosts[name] = replace(host, global_pause=False, pfc_enable=frozenset({priority}))
    return f"{', '.join(changed)}: link-wide pause off, PFC on {priority}"


RECIPES = (
    Recipe("L10", "loss", "CHAIN", plan_pause_of_all, priority_pause, lost_at_nic, nic_paused, "global_pause"),
    Recipe("N5", "loss", "CHAIN", plan_slow, larger_buffer, lost_at_nic, nic_paused, "receive buffer of the NIC"),
)
