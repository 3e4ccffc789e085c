"""Rows whose reference is a formula over the simulator's own frame times: single flows and fan-in without control.

tx(b, R) is the simulator's truncated serialisation time; N full packets of 1048 B cross L links and the last ACK of
60 B comes back:

    one flow     FCT = N tx(1048) + (L - 1) tx(1048) + L delay + L (tx(60) + delay)
    n to 1       the last flow ends after n N tx(1048) + tx(1048) + 2 delay + 2 (tx(60) + delay), and no byte is lost
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from fabric.dataplane.state.semantics import truncated_serialisation_ns
from fabric.verify.fidelity.case import make_case
from fabric.verify.fidelity.simulating import simulate
from fabric.verify.fidelity.table import Finding, Row, exactly

_G: Final = 10**9
_DATA, _ACK, _PAYLOAD = 1048, 60, 1000


def rows(_reference: Path | None) -> Sequence[Row]:
    """Every row of this family."""
    found = [
        Row(
            f"closed/line/{links}x{rate // _G}G",
            f"{packets} packets alone over {links} links of {rate // _G}G",
            "hpcc-ns3",
            "C",
            "N tx + (L-1) tx + L d + L (tx_ack + d)",
            partial(_line, links, rate, delay, packets),
        )
        for links, rate, delay, packets in (
            (2, 100 * _G, 1000, 10_000),
            (4, 100 * _G, 1000, 4000),
            (2, 25 * _G, 500, 1000),
            (4, 400 * _G, 3000, 5000),
        )
    ]
    found += [
        Row(
            f"closed/fan-in/{senders}",
            f"{senders} to 1, no congestion control, ACK mode {acks}",
            "hpcc-ns3",
            "C",
            "n N tx + tx + 2 d + 2 (tx_ack + d)",
            partial(_fan_in, senders, packets, acks),
        )
        for senders, packets, acks in ((2, 5000, "q0"), (8, 1000, "q0"), (3, 2000, "stock"))
    ]
    return found


def plain_case(
    name: str,
    switches: int,
    hosts_at: Sequence[int],
    rate_bps: int,
    delay_ns: int,
    flows: Sequence[tuple[int, int, int]],
    acks: str = "q0",
    buffer_bytes: int = 32 << 20,
) -> dict[str, Any]:
    """A case without marking: a chain of switches, `hosts_at[i]` the switch of host i; flows (src, dst, bytes) at 0."""
    n = len(hosts_at)
    cable = {"rate_bps": rate_bps, "prop_delay_ns": delay_ns}
    links = [{"a": host, "b": n + at, **cable} for host, at in enumerate(hosts_at)]
    links += [{"a": n + place, "b": n + place + 1, **cable} for place in range(switches - 1)]
    return {
        "case": name,
        "description": "",
        "sim_stop_s": 1.0,
        "topology": {"hosts": n, "switch_nodes": list(range(n, n + switches)), "links": links},
        "packet": {
            "payload_max_bytes": _PAYLOAD,
            "data_header_bytes": 48,
            "ack_nack_total_bytes": _ACK,
            "pfc_frame_total_bytes": 43,
        },
        "switch": {
            "buffer_bytes": buffer_bytes,
            "reserve_per_port_bytes": 4096,
            "headroom_per_port_bytes": rate_bps * delay_ns // 8 // 10**9 * 3,
            "xon_offset_bytes": 3072,
            "ecn": {"enabled": False, "kmin_bytes": 0, "kmax_bytes": 0, "pmax": 0.0},
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
        "host": {"ack_mode": acks, "window": "none"},
        "flows": [
            {"id": number, "src": src, "dst": dst, "size_bytes": size, "start_s": 0.0}
            for number, (src, dst, size) in enumerate(flows)
        ],
    }


def _line(links: int, rate_bps: int, delay_ns: int, packets: int) -> Sequence[Finding]:
    tx, ack = (truncated_serialisation_ns(size, rate_bps) for size in (_DATA, _ACK))
    expected = tx * (packets + links - 1) + links * (2 * delay_ns + ack)
    case = plain_case("line", links - 1, [0, links - 2], rate_bps, delay_ns, [(0, 1, packets * _PAYLOAD)])
    return [exactly("FCT, ns", expected, simulate(make_case(case)).fct_ns[0])]


def _fan_in(senders: int, packets: int, acks: str) -> Sequence[Finding]:
    rate_bps, delay_ns = 100 * _G, 1000
    tx, ack = (truncated_serialisation_ns(size, rate_bps) for size in (_DATA, _ACK))
    expected = tx * (senders * packets + 1) + 2 * delay_ns + 2 * (ack + delay_ns)
    case = plain_case(
        "fan-in",
        1,
        [0] * (senders + 1),
        rate_bps,
        delay_ns,
        [(sender, 0, packets * _PAYLOAD) for sender in range(1, senders + 1)],
        acks,
    )
    simulated = simulate(make_case(case))
    return [
        exactly("last FCT, ns", expected, max(simulated.fct_ns.values())),
        exactly("packets lost", 0, simulated.drops),
    ]
