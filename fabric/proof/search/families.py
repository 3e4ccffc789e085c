"""The worst traffic of each kind for one class of ports: incast, step to a slower port, storms of pauses, failover.

Each family is a list of tries, the mildest first. Bytes are chosen so that every group that can fill does: with n
groups full, they hold n T(n) of the pool (Choudhury and Hahne 1998), which is below the whole pool.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fabric.proof.recipe import slowest_mbps, time_us
from fabric.proof.search.bench import Bench, Traffic, drained_us
from fabric.units import count

FAMILIES: Final = ("incast", "step", "storm", "long storm", "failover")
SPEEDS_MBPS: Final = (10_000, 25_000, 40_000, 50_000, 100_000, 200_000, 400_000, 800_000)
"""Of Ethernet, as far as 802.3 31B.3.7 has a response for them."""
_START_US: Final = 1.0
_STORM_US: Final = 5.0
_LONG_STORM_US: Final = 900_000.0
"""Beyond the usual detection times of watchdogs, 200 and 400 ms."""
_MORE: Final = 1.2
_SETTLE_US: Final = 150.0
_MOST_STEPS: Final = 3
PAIRS: Final = 16
"""Queue pairs of a sender in the hardest incast: each begins at the rate of the NIC."""
_PHASES: Final = 4
FLOWS: Final = 16
"""Queue pairs between two hosts, so that both paths are used."""
_LASTS_US: Final = 400.0
_DOWN_US, _UP_US = 100, 300


def incast(bench: Bench, senders: int, size_bytes: int | None = None, pairs: int = 1) -> Traffic:
    """The first hosts send to one port at once; without a size, as much as the buffer takes, and some more.

    Parameters
    ----------
    pairs    messages of each sender, which share its bytes: each has a queue pair, and begins at the rate of the NIC
    """
    size = (size_bytes or int(_MORE * buffer_bytes(bench, senders) / max(1, senders - 1)) + 100_000) // pairs
    rows = tuple((host, bench.cut.receiver, size, _START_US) for host in bench.senders[:senders] * pairs)
    label = f"incast of {senders}" + (f" x {pairs} QPs" if pairs > 1 else "")
    return Traffic("incast", rows, _START_US + drained_us(size * len(rows), bench.out_mbps), label=label)


def step(bench: Bench, mbps: int) -> Traffic:
    """One sender at the port's rate towards a port of a lower rate."""
    size = int(_MORE * bench.fill_bytes * bench.mbps / max(1, bench.mbps - mbps)) + 100_000
    rows = ((bench.source, bench.cut.receiver, size, _START_US),)
    link = f"{bench.member.device}:{bench.out}"
    faults = ({"kind": "link-rate", "link": link, "at": "0us", "rate": f"{mbps}M"},) if mbps < bench.out_mbps else ()
    return Traffic(
        "step", rows, time_us(size, bench.mbps) * 1.5 + _SETTLE_US, faults, label=f"step to {mbps / 1000:g}G"
    )


def storm(bench: Bench, senders: int, *, against: bool = False, phase_ns: int = 0) -> Traffic:
    """The receiver sends XOFF until every group of the senders is full, then lets go.

    With `against`, other hosts send frames of another class to the first one, so that its XOFF waits for a frame.
    """
    size = (
        int(_MORE * bench.fill_bytes) + 200_000 if senders == 1 else int(_MORE * buffer_bytes(bench, senders) / senders)
    )
    rows = tuple((host, bench.cut.receiver, size, _START_US) for host in bench.senders[:senders])
    filled_us = time_us(size, min(bench.mbps, slowest_mbps(bench.cut))) + _SETTLE_US
    fault = {
        "kind": "pause-storm",
        "hosts": [bench.cut.receiver],
        "at": f"{_STORM_US}us",
        "duration": f"{round(filled_us)}us",
    }
    label = f"storm, {count(senders, 'sender')}"
    return Traffic("storm", rows, _STORM_US + filled_us + _SETTLE_US, (fault,), against, phase_ns, label)


def two_storms(bench: Bench) -> Traffic:
    """All hosts send to two ports that are held paused: what the switch holds then waits in two queues."""
    held = (bench.cut.receiver, bench.senders[-1])
    hosts = (*bench.senders, bench.cut.receiver)
    size = int(_MORE * buffer_bytes(bench, len(hosts)) / len(hosts))
    rows = tuple((src, dst, size, _START_US) for src in hosts for dst in held if src != dst)
    filled_us = time_us(len(held) * size, min(bench.mbps, slowest_mbps(bench.cut))) + _SETTLE_US
    fault = {"kind": "pause-storm", "hosts": list(held), "at": f"{_STORM_US}us", "duration": f"{round(filled_us)}us"}
    label = f"storm of 2 ports, {count(len(hosts), 'sender')}"
    return Traffic("storm", rows, _STORM_US + filled_us + _SETTLE_US, (fault,), label=label)


def long_storm(bench: Bench) -> Traffic:
    """One sender; the receiver sends XOFF for so long that a watchdog should act."""
    short = storm(bench, 1)
    fault = {**short.faults[0], "duration": f"{round(_LONG_STORM_US)}us"}
    label = f"storm of {_LONG_STORM_US / 1000:g} ms"
    return Traffic("long storm", short.messages, _LONG_STORM_US + _SETTLE_US, (fault,), label=label)


def phases(bench: Bench) -> list[int]:
    """Offsets of the frames against the pauses, in ns: parts of one frame's time. One where there are no frames."""
    frame_ns = 8_000 * (bench.member.kind.mtu + 20) // bench.mbps
    return [number * frame_ns // _PHASES for number in range(_PHASES if bench.others else 1)]


def failover(bench: Bench) -> Traffic:
    """Hosts at both ends send over two links, as much as these carry; one goes down, and comes back."""
    receivers = (*bench.cut.bulk, bench.cut.receiver)
    size = int(bench.out_mbps * _LASTS_US / 8)
    pairs = list(zip(bench.senders, receivers, strict=False))
    rows = tuple(
        (src, dst, size * min(2, len(pairs)) // len(pairs) // FLOWS, _START_US)
        for src, dst in pairs
        for _ in range(FLOWS)
    )
    link = f"{bench.member.device}:{bench.out}"
    fault = {"kind": "link-down", "link": link, "at": f"{_DOWN_US}us", "until": f"{_UP_US}us"}
    return Traffic(
        "failover", rows, 2 * _LASTS_US + _SETTLE_US, (fault,), label=f"failover, {count(len(pairs), 'pair')}"
    )


def lower_speeds(bench: Bench) -> list[int]:
    """Standard rates below the port's, the nearest first."""
    return [it for it in reversed(SPEEDS_MBPS) if it < bench.mbps][:_MOST_STEPS]


def fan_ins(bench: Bench) -> Iterator[int]:
    """2, 4, 8, ... and all senders that there are."""
    most, number = len(bench.senders), 2
    while number < most:
        yield number
        number *= 2
    if most > 1:
        yield most


def tries(bench: Bench, family: str) -> Iterator[Traffic]:
    """The traffic of a family, from mild to hard."""
    if family == "incast":
        for number in fan_ins(bench):
            yield incast(bench, number)
        if len(bench.senders) > 1:
            yield incast(bench, len(bench.senders), pairs=PAIRS)
    elif family == "step":
        for mbps in lower_speeds(bench):
            yield step(bench, mbps)
    elif family == "storm":
        for phase_ns in phases(bench):
            yield storm(bench, 1, against=True, phase_ns=phase_ns)
        if len(bench.senders) > 1:
            yield storm(bench, len(bench.senders))
            yield two_storms(bench)
    elif family == "long storm":
        yield long_storm(bench)


def buffer_bytes(bench: Bench, senders: int) -> int:
    """What the groups of n senders take before the first frame is lost: at most the pool and their headroom."""
    pools = [it.size_bytes or 0 for it in bench.cut.network.devices[bench.member.device].pools.values()
             if it.direction != "egress"]  # fmt: skip
    return min(senders * bench.fill_bytes, max(pools, default=0) + senders * bench.member.kind.xoff_bytes) or (
        senders * bench.fill_bytes
    )
