"""The fabric of the HPCC comparison, whole: every completion time and PAUSE count equal to the restated rules."""

from __future__ import annotations

from random import Random
from types import ModuleType
from typing import Any

import pytest

from fabric.verify.fidelity.case import make_case
from fabric.verify.fidelity.simulating import simulate
from tests.fidelity.cases import PACKET, ask

PODS, RACKS, PER_RACK, ABOVE, CORE = 5, 4, 16, 4, 16
HOSTS = PODS * RACKS * PER_RACK
BURST, BURST_BYTES, MESSAGES = 60, 500_000, 1000


def _fat() -> dict[str, Any]:
    """320 hosts, 56 switches, 480 cables; traffic of both kinds, marking at one step, so that it is deterministic."""
    draw = Random(10)
    rack, above = HOSTS, HOSTS + PODS * RACKS
    core = above + PODS * ABOVE
    links = [(host, rack + host // PER_RACK, 100) for host in range(HOSTS)]
    links += [
        (rack + pod * RACKS + low, above + pod * ABOVE + high, 400)
        for pod in range(PODS)
        for low in range(RACKS)
        for high in range(ABOVE)
    ]
    links += [
        (above + pod * ABOVE + plane, core + plane * (CORE // ABOVE) + place, 400)
        for pod in range(PODS)
        for plane in range(ABOVE)
        for place in range(CORE // ABOVE)
    ]
    flows = [
        (draw.randrange(HOSTS), draw.randrange(HOSTS), draw.choice((300, 1000, 2500, 40_000)), draw.randrange(50_000))
        for _ in range(MESSAGES)
    ]
    flows += [(sender, 0, BURST_BYTES, 10_000) for sender in draw.sample(range(1, HOSTS), BURST)]
    flows = sorted((flow for flow in flows if flow[0] != flow[1]), key=lambda flow: flow[3])
    return {
        "case": "fat",
        "description": "",
        "sim_stop_s": 0.004,
        "packet": PACKET,
        "topology": {
            "hosts": HOSTS,
            "switch_nodes": list(range(HOSTS, core + CORE)),
            "links": [{"a": a, "b": b, "rate_bps": rate * 10**9, "prop_delay_ns": 1000} for a, b, rate in links],
        },
        "switch": {
            "buffer_bytes": 5_500_000,
            "reserve_per_port_bytes": 4096,
            "headroom_per_port_bytes": 150_000,
            "xon_offset_bytes": 3072,
            "ecn": {"enabled": True, "kmin_bytes": 400_000, "kmax_bytes": 400_000, "pmax": 1.0},
        },
        "dcqcn": {
            "ALPHA_RESUME_INTERVAL_us": 1,
            "RATE_DECREASE_INTERVAL_us": 4,
            "CLAMP_TARGET_RATE": 0,
            "RP_TIMER_us": 300,
            "EWMA_GAIN": 1 / 256,
            "FAST_RECOVERY_TIMES": 1,
            "RATE_AI_Mbps": 20,
            "RATE_HAI_Mbps": 200,
            "MIN_RATE_Mbps": 1000,
        },
        "host": {"ack_mode": "q0", "window": "none"},
        "flows": [
            {"id": number, "src": src, "dst": dst, "size_bytes": size, "start_s": start / 1e9}
            for number, (src, dst, size, start) in enumerate(flows)
        ],
    }


@pytest.mark.slow
def test_320_hosts_are_equal_to_the_restated_rules_to_the_nanosecond(wide_oracle: ModuleType) -> None:
    case = _fat()
    assert len(case["topology"]["links"]) == 480
    wide_oracle.WINDOW, wide_oracle.VARIABLE, wide_oracle.NIC = 0, False, 100 * 10**9
    theirs, ours = ask(wide_oracle, case), simulate(make_case(case), "insertion")
    assert dict(ours.fct_ns) == theirs["fct_ns"]
    assert len(ours.fct_ns) == len(case["flows"])
    assert dict(ours.pauses) == theirs["pauses"]
    assert sum(ours.pauses.values()) > 0
    assert ours.drops == theirs["drops"]
