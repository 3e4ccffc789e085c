"""Random cases in the form of the recorded ones: odd fabrics, mixed speeds, tight buffers, any timers, step marking."""

from __future__ import annotations

import heapq
from operator import itemgetter
from types import ModuleType
from typing import Any, Final

from hypothesis import strategies as st

STOP_S: Final = 0.003
"""Long enough for every flow that can complete, short enough for the oracle."""
PACKET: Final = {
    "payload_max_bytes": 1000,
    "data_header_bytes": 48,
    "ack_nack_total_bytes": 60,
    "pfc_frame_total_bytes": 43,
}
RATES: Final = (100, 50, 40, 25)
EVEN_RATES: Final = (100 * 10**9, 33_500_000_000, 16_750_000_000, 8_380_000_000)
"""In bit/s; at all but the first a full packet takes 250, 500 or 1000 ns."""


@st.composite
def cases(draw: st.DrawFn, *, lossless: bool = False, uplinks: tuple[int, ...] = RATES) -> dict[str, Any]:
    """Any case without random marking; `lossless`: headroom so ample that nothing may be lost in a consistent mode."""
    leaves, per_leaf = draw(st.sampled_from([(1, 2), (1, 3), (1, 6), (2, 1), (2, 3), (3, 2)]))
    spines = draw(st.integers(1, 3)) if leaves > 1 else 0
    n_hosts = leaves * per_leaf
    # The first host is the fastest, as all thresholds of a case are those of ports not faster than the NIC.
    host_rates = [
        RATES[0],
        *(draw(st.sampled_from(RATES)) if draw(st.booleans()) else RATES[0] for _ in range(n_hosts - 1)),
    ]
    delay, up_delay = draw(st.integers(1, 2000)), draw(st.integers(1, 2000))
    links = [
        {"a": host, "b": n_hosts + host // per_leaf, "rate_bps": rate * 10**9, "prop_delay_ns": delay}
        for host, rate in enumerate(host_rates)
    ]
    up_rate = draw(st.sampled_from(uplinks)) * 10**9
    links += [
        {"a": n_hosts + leaf, "b": n_hosts + leaves + spine, "rate_bps": up_rate, "prop_delay_ns": up_delay}
        for leaf in range(leaves)
        for spine in range(spines)
    ]
    headroom = 100_000 if lossless else draw(st.sampled_from([0, 2000, 10_000, 37_500]))
    reserve = draw(st.sampled_from([0, 1500, 4096]))
    degree = max(per_leaf + spines, leaves if spines else 0)
    step = draw(st.sampled_from([None, 0, 3000, 10_000, 40_000]))
    flows = draw(
        st.lists(
            st.tuples(
                st.integers(0, n_hosts - 1),
                st.integers(1, n_hosts - 1),
                st.one_of(st.sampled_from([30_000, 60_000, 120_000]), st.integers(1, 9000)),
                st.sampled_from([0, 0, 0, 1, 83, 500, 2500, 20_000]),
            ),
            min_size=1,
            max_size=10,
        )
    )
    incast = draw(st.booleans())
    return {
        "case": "random",
        "description": "",
        "sim_stop_s": STOP_S,
        "packet": PACKET,
        "topology": {"hosts": n_hosts, "switch_nodes": list(range(n_hosts, n_hosts + leaves + spines)), "links": links},
        "switch": {
            "buffer_bytes": degree * (headroom + reserve) + draw(st.sampled_from([30_000, 100_000, 400_000])),
            "reserve_per_port_bytes": reserve,
            "headroom_per_port_bytes": headroom,
            "xon_offset_bytes": draw(st.sampled_from([0, 1000, 3072])),
            "ecn": {"enabled": step is not None, "kmin_bytes": step or 0, "kmax_bytes": step or 0, "pmax": 1.0},
        },
        "dcqcn": {
            "ALPHA_RESUME_INTERVAL_us": draw(st.integers(1, 8)),
            "RATE_DECREASE_INTERVAL_us": draw(st.integers(1, 12)),
            "CLAMP_TARGET_RATE": draw(st.integers(0, 1)),
            "RP_TIMER_us": draw(st.integers(1, 60)),
            "EWMA_GAIN": draw(st.sampled_from([1 / 256, 1 / 16, 0.5])),
            "FAST_RECOVERY_TIMES": draw(st.integers(1, 5)),
            "RATE_AI_Mbps": draw(st.sampled_from([5, 40, 1000])),
            "RATE_HAI_Mbps": draw(st.sampled_from([50, 200, 5000])),
            "MIN_RATE_Mbps": draw(st.sampled_from([100, 1000, 20_000])),
        },
        "host": {"ack_mode": draw(st.sampled_from(["q0", "q3", "stock"])), "window": "none"},
        "flows": [
            {"id": number, "src": src, "dst": dst, "size_bytes": size, "start_s": start / 1e9}
            for number, (src, dst, size, start) in enumerate(
                sorted((_ends(flow, n_hosts, incast=incast) for flow in flows), key=itemgetter(3))
            )
        ],
    }


@st.composite
def crowded(draw: st.DrawFn) -> dict[str, Any]:
    """As cases(), with many short flows a host, early marks, and speeds and delays such that packets leave and frames
    arrive in multiples of a microsecond, as the periods of rate timers are.
    """
    case: dict[str, Any] = draw(cases())
    topology, switch = case["topology"], case["switch"]
    for tier in (0, 1):
        rate_bps, delay_us = draw(st.sampled_from(EVEN_RATES)), draw(st.integers(1, 3))
        frame_bytes = draw(st.sampled_from([60, 60, 43, 1048]))
        for link in topology["links"]:
            if (link["a"] >= topology["hosts"]) == bool(tier):
                link["rate_bps"] = rate_bps
                link["prop_delay_ns"] = 1000 * delay_us - 8 * 10**9 * frame_bytes // rate_bps % 1000
    step = draw(st.sampled_from([0, 1000, 5000]))
    switch["ecn"] = {"enabled": True, "kmin_bytes": step, "kmax_bytes": step, "pmax": 1.0}
    case["dcqcn"] |= {
        "ALPHA_RESUME_INTERVAL_us": draw(st.integers(1, 3)),
        "RATE_DECREASE_INTERVAL_us": draw(st.integers(1, 4)),
        "RP_TIMER_us": draw(st.integers(1, 8)),
        "MIN_RATE_Mbps": draw(st.sampled_from([1000, 2095, 4190, 8380])),
    }
    longest = draw(st.sampled_from([4000, 16_000]))
    flows = [
        flow | {"size_bytes": min(flow["size_bytes"], longest), "start_s": round(flow["start_s"] * 1e6) / 1e6}
        for flow in case["flows"]
        for _ in range(draw(st.integers(1, 12)))
    ]
    case["flows"] = [flow | {"id": number} for number, flow in enumerate(flows)]
    return case


def _ends(flow: tuple[int, int, int, int], n_hosts: int, *, incast: bool) -> tuple[int, int, int, int]:
    """(source, destination, bytes, start in ns), to be sorted by start."""
    source, distance, size, start = flow
    if incast:
        return source % (n_hosts - 1) + 1, 0, size, start
    return source, (source + distance) % n_hosts, size, start


def ask(oracle: ModuleType, case: dict[str, Any]) -> dict[str, Any]:
    """The oracle's result: fct_ns by flow id, pauses by 'node/interface', drops, and the final (rate, target, alpha) of
    each flow.
    """
    opened: list[Any] = []

    class Noted(oracle.QueuePair):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            opened.append(self)

    plain, oracle.QueuePair = oracle.QueuePair, Noted
    run = oracle.Run(case, "insertion")
    stop_ns = round(case["sim_stop_s"] * 1e9)

    def bounded() -> None:
        clock = run.clock
        while clock.heap and clock.heap[0][0][0] < stop_ns:
            event = heapq.heappop(clock.heap)
            clock.now = event[0][0]
            action, event[2] = event[2], None
            if action:
                action(*event[3])

    run.clock.run = bounded
    result: dict[str, Any] = run.simulate()
    oracle.QueuePair = plain
    result["reaction"] = {pair.id: (pair.rate, pair.target, pair.alpha) for pair in opened}
    return result
