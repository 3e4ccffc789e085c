"""One switch with hosts, or stand-ins, at its ports: the scenario of a search, and what moves in it.

Hosts send to each other through the switch as it is configured. What a search moves is applied to the scenario's data:
the cable and the rate of the port that is looked at, frames against the pauses, the hosts' RoCE MTU, the peers'
response. Units: us, bytes, metres, Mb/s.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from fabric.configs.buffers.headroom import quanta_bytes
from fabric.proof.cut import Cut, Cutter
from fabric.proof.lowering.lower import Lowering, lower
from fabric.proof.recipe import rate_mbps, threshold_bytes, time_us
from fabric.proof.search.classes import MOST_SENDERS, Member

L2_BYTES: Final = 18
"""Ethernet header and FCS."""
MOST_MTU: Final = 9_600
EXPECTED: Final = ("drops.lossless == 0", "deadlock.cycles == 0")
"""No packet of a lossless class is discarded for lack of buffer, and none wait for each other in a cycle."""
MOST_PAIRS: Final = 8
"""Of hosts around a link that goes down."""
HALF: Final = 0.5
"""Response of a peer, as lowered: this share of what 802.3 allows."""


@dataclass(frozen=True, slots=True)
class Moved:
    """What differs from the configuration; None: nothing."""

    cable_m: int | None = None
    speed_mbps: int | None = None
    against_bytes: int | None = None
    """MTU of the frames that leave by the port against which a pause is sent."""
    roce_mtu: int | None = None
    response: float | None = None
    """Share of the time of 802.3 31B.3.7."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """Messages between hosts of a bench, and faults."""

    name: str
    """Of its family: incast, step, storm, failover, mutated."""
    messages: tuple[tuple[str, str, int, float], ...]
    """(source, destination, bytes, start in us)."""
    duration_us: float
    faults: tuple[Mapping[str, Any], ...] = ()
    against: bool = False
    """Whether frames of the port's MTU leave by the port that is looked at, in another class."""
    phase_ns: int = 0
    """By which these start later."""
    label: str = ""
    """For a table: 'incast of 7'."""


@dataclass
class Bench:
    """A cut-out around one port, lowered."""

    member: Member
    cut: Cut
    dscp: int
    source: str
    """The host at the port that is looked at."""
    others: tuple[str, ...]
    """Hosts at the other ports by which data enters."""
    lowering: Lowering = field(init=False)

    def __post_init__(self) -> None:
        self.lowering = lower(self.cut, self.dscp)

    @property
    def out(self) -> str:
        """The port by which data leaves."""
        return self.cut.hops[0].leaves

    @cached_property
    def mbps(self) -> int:
        """Rate of the port that is looked at."""
        return rate_mbps(self.cut.network.devices[self.member.device].ports[self.member.port])

    @cached_property
    def out_mbps(self) -> int:
        """Rate of the port by which data leaves."""
        return rate_mbps(self.cut.network.devices[self.member.device].ports[self.out])

    @cached_property
    def fill_bytes(self) -> int:
        """What one group takes before it has lost its first frame."""
        device = self.cut.network.devices[self.member.device]
        return int(max(0.0, threshold_bytes(device, device.ports[self.member.port], 3)))

    @property
    def senders(self) -> tuple[str, ...]:
        """The host that is looked at first."""
        return (self.source, *self.others)

    def scenario(self, traffic: Traffic, name: str, moved: Moved = Moved(), seed: int = 1) -> dict[str, Any]:
        """A scenario file's data."""
        raw: dict[str, Any] = {"name": name, "description": "", **copy.deepcopy(self.lowering.sections)}
        workload: list[dict[str, Any]] = [
            {
                "kind": "messages",
                "name": "roce",
                "messages": [
                    {"src": src, "dst": dst, "size": f"{size}B", "start": f"{round(at * 1000)}ns"}
                    for src, dst, size, at in traffic.messages
                ],
            }
        ]
        if traffic.against and self.others:
            workload.append(self._against(raw, traffic, moved))
        _move(raw, self, moved)
        raw["workload"] = workload
        if traffic.faults:
            raw["faults"] = [dict(it) for it in traffic.faults]
        raw["run"] = {"duration": f"{round(traffic.duration_us * 1000)}ns", "seed": seed, "stop": "duration"}
        raw["telemetry"] = {"interval": f"{max(10_000, round(traffic.duration_us * 10))}ns"}
        raw["expectations"] = list(EXPECTED)
        return raw

    def _against(self, raw: dict[str, Any], traffic: Traffic, moved: Moved) -> dict[str, Any]:
        """Datagrams of another class from another host to the source: the port sends a frame when XOFF is due."""
        sender = self.others[-1]
        mtu = min(MOST_MTU, moved.against_bytes or self._mtu(self.source), self._mtu(sender))
        if moved.against_bytes is not None:
            mtu = min(MOST_MTU, moved.against_bytes)
            for own in raw["switches"]["overrides"]:
                if "port" in own:
                    own["mtu"] = f"{max(mtu, int(own['mtu'][:-1]) if 'mtu' in own else 0)}B"
        for own in raw["hosts"]["overrides"]:
            if own["host"] in {sender, self.source}:
                own["mtu"] = f"{max(mtu, int(own['mtu'][:-1]))}B"
        return {
            "kind": "datagrams",
            "name": "against",
            "senders": [sender],
            "receivers": [self.source],
            "load": 1.0,
            "frame": f"{mtu + L2_BYTES}B",
            "dscp": self._other_dscp(),
            "start": f"{1_000 + traffic.phase_ns}ns",
            "stop": f"{round(traffic.duration_us * 1000)}ns",
        }

    def _mtu(self, host: str) -> int:
        device, port = self.cut.hosts[host]
        return self.cut.network.devices[device].ports[port].mtu

    def _other_dscp(self) -> int:
        """The lowest DSCP in another class than RoCE's."""
        own = next(it for it in self.lowering.sections["switches"]["overrides"] if "switch" in it)
        table = own.get("dscp_to_tc") or {str(n): n // 8 for n in range(64)}
        return next((n for n in range(64) if table[str(n)] != table[str(self.dscp)]), 0)


def bench_at(cutter: Cutter, member: Member, dscp: int, out: str | None = None) -> Bench:
    """The switch of a class with as many senders as it has ports, into its slowest other port, rather to a host."""
    device = cutter.facts.network.devices[member.device]
    others = [port for port in cutter.usable(member.device) if port != member.port]
    if out is None:
        lines = {port: cutter.facts.line((member.device, port)) for port in others}
        others.sort(key=lambda it: (rate_mbps(device.ports[it]), not cutter.facts.faces_host(lines[it])))  # type: ignore[arg-type]
        out = others[0]
    starts = [member.port, *(port for port in others if port != out)][:MOST_SENDERS]
    cut = cutter.star(member.device, out, starts)
    return Bench(member, cut, dscp, cut.senders[0], cut.senders[1:])


def _move(raw: dict[str, Any], bench: Bench, moved: Moved) -> None:
    if moved.cable_m is not None or moved.speed_mbps is not None:
        link = next(it for it in raw["topology"]["links"] if bench.source in {it["a"], it["b"]})
        link["cable"] = link["cable"] if moved.cable_m is None else f"{moved.cable_m}m"
        link["rate"] = link["rate"] if moved.speed_mbps is None else f"{moved.speed_mbps}M"
    if moved.roce_mtu is not None:
        raw["transport"]["mtu"] = f"{moved.roce_mtu}B"
    if moved.response is not None or moved.speed_mbps is not None:
        share = HALF if moved.response is None else moved.response
        for own in raw["hosts"]["overrides"]:
            device, port = bench.cut.hosts[own["host"]]
            mbps = rate_mbps(bench.cut.network.devices[device].ports[port])
            if own["host"] == bench.source:
                mbps = moved.speed_mbps or mbps
            own["response"] = f"{round(share * quanta_bytes(mbps) * 8_000 / mbps)}ns"


def failover_at(cutter: Cutter, member: Member, dscp: int) -> Bench:
    """Two paths from the hosts of the switch of a class, of which one begins at its port. Raises: NoCutError."""
    cut = cutter.diamond(member.device, member.port, MOST_PAIRS)
    return Bench(member, cut, dscp, cut.senders[0], cut.senders[1:])


def drained_us(size_bytes: float, mbps: int) -> float:
    """When bytes have left by a port, and some time after."""
    return time_us(size_bytes, mbps) * 1.2 + 100.0
