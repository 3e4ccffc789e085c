"""V12: go-back-N resends the packets in flight, so its goodput has a closed form; go-back-0 never ends a long message.

Losses are independent (bit errors), as the formula assumes. A loss that comes every 256th arrival to the packet
would hit the resent packets in step. The cable's length sets how many packets are in flight.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from fabric.scenario.compile.scenario import CompiledScenario
from fabric.theory import recovery
from fabric.verify.fidelity.experiment import PS_PER_S, compiled, frame_bytes, simulate, wire_bytes
from fabric.verify.fidelity.table import Finding, Row, between, exactly

WINDOWS: Final = (16, 32, 64, 128, 256)
_RATIO: Final = 0.05
_SIGMAS: Final = 3


def _fixed_ps(case: CompiledScenario) -> tuple[int, int]:
    """(time of one data frame on the wire, round trip without cables: last bit sent to NAK handled)."""
    rate = case.fabric.links[0].rate_bps
    frames, params = case.params.frames, case.params
    data = wire_bytes(case) * 8 * PS_PER_S // rate
    ack = (frames.ack_bytes + frames.wire_overhead_bytes) * 8 * PS_PER_S // rate
    latency = 2 * params.switches[case.fabric.by_name["switch"].id].latency_ps + sum(
        params.hosts[host.id].latency_ps for host in case.fabric.hosts
    )
    return data, data + 2 * ack + latency


def _case(window: int) -> tuple[CompiledScenario, int]:
    """The scenario with cables so long that W packets are resent per loss, and W as the finished cables have it."""
    data, fixed = _fixed_ps(compiled("v12-recovery"))
    cable_ns = ((2 * window - 5) * data // 2 - fixed) // 4000
    # A NAK is repeated once the whole of the resent window has passed without filling the gap.
    repeat_ns = (2 * window - 1) * data // 2000
    case = compiled(
        "v12-recovery",
        *(f"topology.links[{link}].delay={cable_ns}ns" for link in (0, 1)),
        f"transport.nak_interval={repeat_ns}ns",
    )
    round_trip = fixed + 4 * case.fabric.links[0].delay_ps
    return case, recovery.resent_per_loss_pkts(round_trip, data)


def efficiency(window: int) -> Finding:
    """New packets per packet sent, against the closed form."""
    case, resent = _case(window)
    engine = simulate(case)
    qp, message = engine.state.qps[0], engine.state.messages[1]
    loss = recovery.packet_loss_ratio(case.edits[0].bit_error_ratio, frame_bytes(case))  # type: ignore[attr-defined]
    expected = recovery.go_back_n_efficiency(loss, resent)
    losses = float(message["n_pkts"]) * loss
    chance = _SIGMAS * (1 - expected) / math.sqrt(losses)
    slack = max(_RATIO, chance)
    return between(
        f"go-back-N, W = {resent}: new packets per packet sent",
        expected,
        float(message["n_pkts"] / qp["sent_pkts"]),
        expected * (1 - slack),
        expected * (1 + slack),
        f"{slack:.3f} relative: 5 % or {_SIGMAS} sd of the number of losses",
    )


def _go_back_n() -> Sequence[Finding]:
    return [efficiency(window) for window in WINDOWS]


def _livelock() -> Sequence[Finding]:
    stuck, going = (
        simulate(compiled("v12-livelock")),
        simulate(compiled("v12-livelock", "transport.recovery=go-back-n")),
    )
    case = compiled("v12-livelock")
    packets = int(stuck.state.messages[1]["n_pkts"])
    tries = float(stuck.state.qps[0]["sent_pkts"]) / packets
    chance = recovery.go_back_0_success(1 / 256, packets)
    sent = case.duration_ps * case.fabric.links[0].rate_bps / (8 * wire_bytes(case) * PS_PER_S)
    return (
        between(
            "go-back-0: messages done",
            tries * chance,
            int(stuck.state.hosts["messages_done"].sum()),
            0,
            0,
            "none; the reference is the number expected under independent losses in as many tries",
        ),
        between(
            "go-back-0: packets sent meanwhile",
            sent,
            float(stuck.state.qps[0]["sent_pkts"]),
            0.95 * sent,
            sent,
            "the link is full of packets that never count",
        ),
        exactly("go-back-N under the same losses: messages done", 1, int(going.state.hosts["messages_done"].sum())),
    )


ROWS: Final = (
    Row(
        "V12/go-back-n",
        "Go-back-N goodput under independent losses of 1 in 256",
        "asic",
        "C",
        "closed form (1-p)/(1-p+pW)",
        _go_back_n,
    ),
    Row(
        "V12/go-back-0",
        "Go-back-0 livelock: 4096 packets, every 256th lost",
        "asic",
        "C",
        "closed form (1-p)^n; phenomenon: Guo et al., SIGCOMM 2016, section 4.1",
        _livelock,
    ),
)
