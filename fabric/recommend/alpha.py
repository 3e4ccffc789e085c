"""The largest alpha with which an incast on one port does not pause the senders of another port.

A large alpha lets few groups take most of the pool: XOFF comes late, and a burst towards another port finds little
free. A small alpha pauses early. With n groups full, B alpha / (1 + n alpha) each, the rest of the pool B is free
(Choudhury and Hahne 1998). All n hosts but three send to one receiver; two send a burst of 14 us to another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from fabric.recommend.bench import BenchRun, rate_bytes, simulate, star, switch, time_ps
from fabric.recommend.classes import PortClass, SwitchClass

LARGEST: Final = 3
"""Exponent beyond which check B3 warns: one group alone may take nine tenths of the pool."""
EXPONENTS: Final = range(LARGEST + 1, -7, -1)
"""Of SAI's dynamic threshold, alpha = 2^n, down to B3's smallest; the first only shows what is beyond the largest."""
BURST_PS: Final = 14_000_000
"""Before a sender's first CNP comes and cuts its rate (SILICON.md has 14 us from mark to cut at most rates)."""
MOST_SENDERS: Final = 64
_VICTIMS: Final = ("victim1", "victim2")
_SETTLE_PS: Final = 10_000_000


@dataclass(frozen=True, slots=True)
class AlphaFound:
    """alpha = 2^exponent of the lossless groups of a switch."""

    exponent: int | None
    """None: with no alpha are the senders of the burst left alone."""
    senders: int
    burst_bytes: int
    """That each of two senders sends to the other port."""
    xoffs_above: int
    """XOFFs that they get with the next larger alpha."""
    pool_bytes: int
    runs: int

    @property
    def limit_bytes(self) -> int:
        """T(1): what one group alone holds when it sends XOFF."""
        alpha = 2.0 ** (0 if self.exponent is None else self.exponent)
        return int(alpha * self.pool_bytes / (1 + alpha))


def find_alpha(class_: SwitchClass, xoff_bytes: dict[PortClass, int], pool_bytes: int) -> AlphaFound:
    """Simulate every alpha from the largest down, until the burst is not paused, beside the incast and alone."""
    port = max(class_.ports, key=lambda it: (it[0].speed_mbps, it[1]))[0]
    senders = max(2, min(class_.port_count - 1 - 1 - len(_VICTIMS), MOST_SENDERS))
    above = 0
    runs = 0
    for exponent in EXPONENTS:
        runs += 1
        paused = _incast(port, senders, exponent, xoff_bytes[port], pool_bytes).xoffs(_VICTIMS)
        if not paused and exponent <= LARGEST:
            runs += 1
            if not _incast(port, 0, exponent, xoff_bytes[port], pool_bytes).xoffs(_VICTIMS):
                return AlphaFound(exponent, senders, _burst(port), above, pool_bytes, runs)
        above = paused
    return AlphaFound(None, senders, _burst(port), above, pool_bytes, runs)


def _burst(port: PortClass) -> int:
    return rate_bytes(port.speed_mbps, BURST_PS)


def _incast(port: PortClass, senders: int, exponent: int, xoff: int, pool: int) -> BenchRun:
    """`senders` hosts to one, without congestion control; when their groups are full, a burst to another port."""
    alpha = 2.0**exponent
    full = int(alpha * pool / (1 + max(senders, 1) * alpha))
    names = [f"sender{number}" for number in range(1, senders + 1)]
    excess = port.speed_mbps * max(senders - 1, 1)
    at_ps = _SETTLE_PS + 3 * time_ps(excess, senders * full) // 2
    end_ps = at_ps + 8 * BURST_PS
    size = 2 * (full + xoff) + rate_bytes(port.speed_mbps, end_ps) // max(senders, 1)
    incast = [{"kind": "incast", "name": "incast", "receiver": "receiver", "senders": names, "size": f"{size}B"}]
    data = {
        "topology": star(port, [*names, "receiver", *_VICTIMS, "other"]),
        "switches": switch(port, pool, {"dynamic_th": exponent, "headroom": f"{xoff}B"}),
        "hosts": {"mtu": f"{port.mtu}B"},
        "transport": {"mtu": f"{port.roce_mtu}B", "cc": "none"},
        "workload": [
            *(incast if senders else []),
            {
                "kind": "incast",
                "name": "burst",
                "receiver": "other",
                "senders": list(_VICTIMS),
                "size": f"{_burst(port)}B",
                "start": f"{at_ps}ps",
            },
        ],
        "run": {"duration": f"{end_ps}ps", "stop": "duration"},
    }
    return simulate(data, end_ps)
