"""STORM: the receiver sends XOFF for most of a second. What the watchdog does decides when a message arrives.

The peer of the port is a stand-in where it is a switch, so that no other watchdog acts first.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from fabric.configs.model import Place as FilePlace
from fabric.configs.model import Watchdog
from fabric.configs.network import Host
from fabric.configs.watchdogs import poll_ms
from fabric.proof.cut import Cut
from fabric.proof.outcome import Outcome
from fabric.proof.recipe import Case, NoProofError, Plan, Recipe, rate_mbps, threshold_bytes, time_us
from fabric.proof.recipes import marking
from fabric.units import count

_MS: Final = 1_000.0
_STORM_MS: Final = 900
_SHORT_STORM_MS: Final = 500
_LATE_MS: Final = 1_200
_END_MS: Final = 1_700
_MESSAGE: Final = 4_000_000
_MUCH: Final = 1.5
_RETRIES: Final = 7
_PATIENCE: Final = 6
"""Duration of a proof of patience, in times until the watchdog acts: retransmissions follow the storm."""
_SETTLE_US: Final = 100.0
_SETTINGS: Final = {"transport": {"cc": "none"}}


def _storm(case: Case, storm_ms: int, *, victim: bool) -> Plan:
    """The first message fills the switch, so that the storm reaches its sender; what else it sends must wait."""
    line = case.line()
    cut = case.cutter.local(line.device.name, line.port.name, onward=False, bulk=int(victim))
    device = cut.network.devices[line.device.name]
    enters = device.ports[cut.hops[0].enters]
    fill = int(threshold_bytes(device, enters, 3)) + _MESSAGE
    later_us = time_us(fill, rate_mbps(enters)) + _SETTLE_US if victim else _LATE_MS * _MS
    sender = cut.senders[0]
    work: list[dict[str, Any]] = [
        {
            "kind": "messages",
            "name": "roce",
            "messages": [
                {"src": sender, "dst": cut.receiver, "size": f"{fill}B", "start": "5us"},
                {"src": sender, "dst": cut.bulk[0] if victim else cut.receiver, "size": f"{_MESSAGE}B",
                 "start": f"{round(later_us)}us"},
            ],
        }
    ]  # fmt: skip
    faults = [{"kind": "pause-storm", "hosts": [cut.receiver], "at": "10us", "duration": f"{storm_ms}ms"}]
    notes = ("the message to the receiver in storm fails, as its retries run out",)
    return Plan(cut, case.dscp, line.device.name, line.port.name, work, _END_MS * _MS, (), faults, _SETTINGS, notes)


def plan_storm(case: Case) -> Plan:
    """W1, W2, W7, W10: nothing ends the storm's hold on the sender, whose other message is the victim."""
    return _storm(case, _STORM_MS, victim=True)


def plan_restore(case: Case) -> Plan:
    """W4: a message after the storm, into a queue that is never restored."""
    return _storm(case, _SHORT_STORM_MS, victim=False)


def waits(plan: Plan, run: Outcome, twin: Outcome) -> str | None:
    """A message to another receiver waits for the end of the storm."""
    host = plan.cut.senders[0]
    here, there = (max(it.ends_us(host), default=plan.duration_us) for it in (run, twin))
    if here <= _MUCH * there:
        return None
    ends = f"ends at {here / _MS:.0f} ms" if run.ends_us(host) else f"has not ended at {here / _MS:.0f} ms"
    dogs = run.count("watchdog.storms")
    return (
        f"{plan.device} {plan.port}: a message of the same sender to another host {ends}, with a "
        f"watchdog that acts at {there / _MS:.0f} ms; the storm lasts {_STORM_MS} ms, {dogs} storms were detected"
    )


def as_soon(plan: Plan, twin: Outcome) -> tuple[str, ...]:
    """The twin's completion time, with room."""
    del plan
    return (f"fct.max <= {round(_MUCH * (twin.count('fct.max') / 1e9))}ms",)


def as_many(plan: Plan, twin: Outcome) -> tuple[str, ...]:
    """The twin's completed messages."""
    del plan
    return (f"messages.done >= {max(1, twin.count('messages.done'))}",)


def fails(plan: Plan, run: Outcome, twin: Outcome) -> str | None:
    """The late message fails."""
    if run.count("messages.done") >= twin.count("messages.done"):
        return None
    lost = run.count("drops.watchdog")
    return (
        f"{plan.device} {plan.port}: {run.count('messages.done')} of {run.count('messages.total')} messages were "
        f"completed, {lost} frames dropped by the watchdog, also after the storm of {_SHORT_STORM_MS} ms"
    )


def stormed(plan: Plan, twin: Outcome) -> str | None:
    """g2: the twin's watchdog detected the storm."""
    del plan
    return None if twin.count("watchdog.storms") else "the twin's watchdog detected no storm"


def acting_watchdog(case: Case, plan: Plan, cut: Cut) -> str:
    """Drop, with the times of `pfcwd start_default`, on every lossless priority of the port."""
    del case
    device = cut.network.devices[plan.device]
    port = device.ports[plan.port]
    old = port.watchdog
    detection = (old.detection_ms if old else None) or 200
    port.watchdog = Watchdog(port.where, "drop", detection, (old.restoration_ms if old else None) or 200)
    port.watched = port.lossless
    device.watchdog_poll_ms = poll_ms(device, port.watchdog)
    return f"{plan.device} {plan.port}: watchdog drop, detection {detection} ms, on {sorted(port.lossless)}"


# W6, W8: hosts beside the watchdog ------------------------------------------------------------------------------------


def plan_give_up(case: Case) -> Plan:
    """W6: a storm that lasts until the watchdog acts; the retries of the sender's queue pair end before."""
    line = case.line()
    cut, acts_ms = _watched(case)
    work = [_one_message(cut)]
    faults = [{"kind": "pause-storm", "hosts": [cut.receiver], "at": "10us", "duration": f"{acts_ms}ms"}]
    notes = (f"the watchdog acts within {acts_ms} ms, and the storm ends then",)
    duration = _PATIENCE * acts_ms * _MS
    expect = ("messages.done == 1",)
    return Plan(cut, case.dscp, line.device.name, line.port.name, work, duration, expect, faults, _SETTINGS, notes)


def _watched(case: Case) -> tuple[Cut, int]:
    """Data leaves by the finding's port; and the time until its watchdog acts, ms. Raises: NoProofError."""
    line = case.line()
    dog = line.port.watchdog
    if dog is None or dog.detection_ms is None:
        raise NoProofError(f"{line} has no watchdog", "")
    cut = case.cutter.local(line.device.name, line.port.name, onward=False)
    return cut, dog.detection_ms + 2 * poll_ms(line.device, dog)


def _one_message(cut: Cut) -> dict[str, Any]:
    row = {"src": cut.senders[0], "dst": cut.receiver, "size": f"{_MESSAGE}B", "start": "20us"}
    return {"kind": "messages", "name": "roce", "messages": [row]}


def gives_up(plan: Plan, run: Outcome, twin: Outcome) -> str | None:
    """The queue pair fails, because the storm lasts longer than it tries."""
    if run.count("messages.done") or not run.count("messages.failed"):
        return None
    dogs, end_ms = run.count("watchdog.storms"), max(twin.ends_us(plan.cut.senders[0]), default=0.0) / _MS
    return (
        f"{plan.cut.senders[0]}: 1 of 1 messages through {plan.device} {plan.port} failed, as its retries ran out "
        f"before the storm was over ({count(dogs, 'storm')} detected); with patient hosts it ends at {end_ms:.0f} ms"
    )


def patient_hosts(case: Case, plan: Plan, cut: Cut) -> str:
    """A timeout with which the retries last four times as long as detection and polls."""
    del case
    device = cut.network.devices[plan.device]
    dog = device.ports[plan.port].watchdog
    wanted_ms = 4 * ((dog.detection_ms or 0) if dog else 0) + 4 * poll_ms(device, dog)
    exponent = next(n for n in range(1, 32) if 0.004096 * 2**n * _RETRIES >= wanted_ms)
    for name in cut.hosts:
        host = cut.host(name) or Host(name, FilePlace("", 0))
        cut.network.hosts[name] = replace(host, rdma_timeout=exponent, rdma_retries=_RETRIES)
    return f"hosts: timeout {exponent}, {_RETRIES} retries"


def plan_forward(case: Case) -> Plan:
    """W8: a host consumes next to nothing and keeps pausing; the watchdog then forwards in spite of its pauses."""
    line = case.line()
    cut, acts_ms = _watched(case)
    end_ms = 2 * acts_ms
    faults = [
        {"kind": "slow-receiver", "hosts": [cut.receiver], "at": "10us", "until": f"{end_ms - 1}ms", "drain": "1M"}
    ]
    notes = ("receive buffer of the host: as stated, or 512 KiB (assumed)",)
    work, expect = [_one_message(cut)], ("drops.rx_buffer == 0",)
    return Plan(cut, case.dscp, line.device.name, line.port.name, work, end_ms * _MS, expect, faults, _SETTINGS, notes)


def nic_overflows(plan: Plan, run: Outcome, twin: Outcome) -> str | None:
    """Frames discarded by the NIC that had asked for a pause."""
    del twin
    found = [it for it in run.losses() if it.reason == "rx_buffer" and it.switch == plan.cut.receiver]
    if not found:
        return None
    one = found[0]
    at = "" if one.first_us is None else f", the first at {one.first_us / _MS:.0f} ms"
    return (
        f"{plan.cut.receiver} behind {plan.device} {plan.port} dropped {count(one.packets, 'frame')}{at}: the switch "
        "sends although the NIC has asked for a pause"
    )


def dropping_watchdog(case: Case, plan: Plan, cut: Cut) -> str:
    """Action drop."""
    del case
    device = cut.network.devices[plan.device]
    for port in device.ports.values():
        if port.watchdog is not None:
            port.watchdog.action = "drop"
    return f"{plan.device} {plan.port}: action drop"


# W5 -------------------------------------------------------------------------------------------------------------------


def plan_healthy(case: Case) -> Plan:
    """W5: STEP into the slow port; its long pauses are no storm."""
    line = case.line()
    if line.port.watchdog is None or not line.port.watched:
        raise NoProofError(f"{line} has no watchdog", "")
    plan = marking.step(case, share=1.2)
    device = plan.cut.network.devices[plan.device]
    # The pause that the watchdog sees is that of the peer's port: it is the sender's in this cut-out, a host.
    plan.notes = (f"T(1) + xoff = {threshold_bytes(device, device.ports[plan.cut.hops[0].enters], 3):.0f} B",)
    plan.expectations = ("watchdog.storms == 0",)
    return plan


def false_storm(plan: Plan, run: Outcome, twin: Outcome) -> str | None:
    """A storm detected where no NIC is broken."""
    del twin
    storms = run.count("watchdog.storms")
    longest = run.count("pfc.longest_pause") / 1e6
    return (
        f"{plan.device}: {storms} storms detected without a fault, the longest pause was {longest:.0f} us"
        if storms
        else None
    )


def was_paused(plan: Plan, twin: Outcome) -> str | None:
    """g2: there were pauses."""
    del plan
    return None if twin.count("pfc.pauses") else "no class was paused"


def patient(case: Case, plan: Plan, cut: Cut) -> str:
    """Ten times the detection time."""
    del case
    device = cut.network.devices[plan.device]
    for port in device.ports.values():
        if port.watchdog is not None and port.watchdog.detection_ms:
            port.watchdog.detection_ms *= 10
    return f"{plan.device}: detection times tenfold"


RECIPES = (
    Recipe("W6", "loss", "STORM", plan_give_up, patient_hosts, gives_up, stormed, "hosts' retries against detection"),
    Recipe("W8", "loss", "STORM", plan_forward, dropping_watchdog, nic_overflows, stormed, "forward or drop"),
    Recipe("W1 W2 W7 W10", "victim", "STORM", plan_storm, acting_watchdog, waits, stormed, "covered or not", as_soon),
    Recipe("W4", "loss", "STORM", plan_restore, acting_watchdog, fails, stormed, "restored or never", as_many),
    Recipe("W5", "loss", "STEP", plan_healthy, patient, false_storm, was_paused, "detection against the longest pause"),
)
