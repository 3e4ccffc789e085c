"""The switch under test with a tester at some of its ports: the configuration lowered, and a case's set-up put on it.

The switch is lowered as `fabric validate --prove` lowers it. The tester replaces the hosts: it obeys PAUSE of every
priority, and its transport is the plan's. What the plan needs and the configuration lacks is a finding.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

from fabric.configs.model import Device, Place
from fabric.configs.network import Host
from fabric.proof.cut import Cut, Cutter, Hop
from fabric.proof.lowering.lower import lower
from fabric.proof.recipe import rate_mbps, tc_of
from fabric.qualify import tester
from fabric.qualify.names import LOSSLESS
from fabric.qualify.schema import CaseSpec, ScenarioSpec, StreamSpec, TrafficSpec
from fabric.units import count, listed
from fabric.validate.facts import Facts

PLAN_MBPS: Final = 400_000
"""Durations of plans are for this rate."""
MOST_MESSAGES: Final = 100_000
_TESTER_MTU: Final = 9_600
_CONTROL_BYTES: Final = 94
"""Of a frame beside its RDMA payload: Ethernet, IPv4, UDP, BTH, RETH, ICRC, FCS; rounded up."""
_SHOWN: Final = 8


@dataclass(frozen=True, slots=True)
class Flow:
    """One queue pair of the tester."""

    src: str
    """Port of the switch that the sender is attached to."""
    dst: str
    kind: str
    priority: int

    def __str__(self) -> str:
        return f"{self.src} to {self.dst} Q{self.priority}"


@dataclass(frozen=True, slots=True)
class Stream:
    """Datagrams of one priority from a port to a port."""

    src: str
    dst: str
    priority: int
    spec: StreamSpec


@dataclass
class Bench:
    """A scenario of a case on a switch."""

    device: Device
    case: CaseSpec
    scenario: ScenarioSpec
    ports: tuple[str, ...]
    cut: Cut
    flows: tuple[Flow, ...]
    streams: tuple[Stream, ...] = ()
    dscps: dict[int, int] = field(default_factory=dict)
    """DSCP of each priority, as the map of the first port has it."""
    findings: list[str] = field(default_factory=list)
    """What the configuration lacks of what the plan needs."""
    assumed: list[str] = field(default_factory=list)
    not_lowered: list[str] = field(default_factory=list)
    sections: dict[str, Any] = field(default_factory=dict)
    untried: tuple[str, ...] = ()
    """Other ports that are up."""

    @property
    def hosts(self) -> dict[str, str]:
        """Host of the scenario to the port that it is attached to."""
        return {host: port for host, (_, port) in self.cut.hosts.items()}

    @property
    def runnable(self) -> bool:
        """Whether anything is sent."""
        return bool(self.flows or self.streams)

    @property
    def receivers(self) -> tuple[str, ...]:
        """Ports that streams are sent to."""
        return tuple(dict.fromkeys(it.dst for it in self.streams))

    @property
    def storm_ports(self) -> tuple[str, ...]:
        """Ports whose tester sends PAUSE."""
        if not self.scenario.storms:
            return ()
        return self.ports if any(it.by == "all" for it in self.scenario.storms) else self.receivers

    @property
    def mbps(self) -> int:
        """Rate of the ports."""
        return rate_mbps(self.device.ports[self.ports[0]])

    def scaled_ps(self, time_ps: int) -> int:
        """A duration of the plan's file at the rate of these ports."""
        if self.case.times.fixed:
            return time_ps
        return time_ps * PLAN_MBPS // self.mbps

    def raw(self, longer: int) -> dict[str, Any]:
        """A scenario file's data; the traffic lasts `longer` times as long as the plan's file says."""
        lasts_ps = self.scaled_ps(self.case.times.simulated) * longer
        raw = {"name": f"{self.case.case}-{self.scenario.name}", "description": "", **copy.deepcopy(self.sections)}
        raw["workload"] = [*self._workload(lasts_ps), *tester.datagrams(self, lasts_ps)]
        faults = tester.faults(self)
        if faults:
            raw["faults"] = faults
        raw["run"] = {"duration": f"{lasts_ps * 4 // 1000}ns", "seed": 1, "stop": "duration"}
        raw["telemetry"] = {"interval": f"{max(10_000, lasts_ps // 100_000)}ns"}
        return raw

    def _workload(self, lasts_ps: int) -> Iterator[dict[str, Any]]:
        at = {port: host for host, port in self.hosts.items()}
        line_bytes = lasts_ps * self.mbps // 8_000_000
        for number, flow in enumerate(self.flows):
            traffic = next(it for it in self.scenario.traffic if flow.priority in it.priorities)
            payload = line_bytes * self.case.mtu // (self.case.mtu + _CONTROL_BYTES)
            if self.case.ends == "drained":  # what the port carries in that time, shared by its senders
                payload //= sum(it.dst == flow.dst for it in self.flows)
            many = max(2, min(MOST_MESSAGES, payload // traffic.message))
            yield {
                "kind": "incast",
                "name": f"flow{number}",
                "receiver": at[flow.dst],
                "senders": [at[flow.src]],
                "size": f"{traffic.message}B",
                "priority": flow.priority,
                "repeat": many,
                "interval": "1ns",
            }


def bench(facts: Facts, device: Device, case: CaseSpec, scenario: ScenarioSpec, asked: int | None) -> Bench:
    """The bench of a scenario of a case. Without flows where the configuration lacks too much; the findings say it."""
    cutter = Cutter(facts)
    ports, findings = _ports(facts, cutter, device, case, asked)
    empty = Cut(facts.network, [], {}, (), (), "")
    made = Bench(device, case, scenario, ports, empty, (), findings=findings)
    if findings:
        return made
    made.untried = tuple(name for name in cutter.usable(device.name) if name not in ports)
    made.cut = _cut(cutter, device, ports, case)
    made.dscps = _dscps(device, ports[0])
    lossless = {p for name in ports for p in device.ports[name].lossless}
    made.flows = tuple(_flows(made, lossless))
    used = {it.priority for it in made.flows}
    needed = {it for traffic in scenario.traffic if traffic.without == "skip" for it in traffic.priorities}
    if scenario.traffic and (needed - used or not any(it.kind == LOSSLESS for it in made.flows)):
        made.flows = ()
        return made
    made.streams = tuple(_streams(made, lossless))
    if made.runnable:
        _lower(made)
    return made


def _ports(
    facts: Facts, cutter: Cutter, device: Device, case: CaseSpec, asked: int | None
) -> tuple[tuple[str, ...], list[str]]:
    """Ports of one speed that are up, those of hosts first."""
    up = cutter.usable(device.name)
    if not up:
        return (), [f"no port of {device.name} is up: admin_status is down, or no cable is known"]
    speeds: dict[int, list[str]] = {}
    for name in up:
        speeds.setdefault(rate_mbps(device.ports[name]), []).append(name)
    mbps = max(speeds, key=lambda it: (len(speeds[it]), it))
    same = sorted(speeds[mbps], key=lambda name: not _faces_host(facts, device, name))
    spec = case.ports
    want = asked if asked is not None else min(len(same), spec.default)
    if spec.most is not None:
        want = min(want, spec.most)
    if asked is None and spec.even:
        want -= want % 2
    have = f"{device.name} has {count(len(same), 'port')} of {mbps // 1000}G that are up"
    if want > len(same):
        return (), [f"{have}, and {want} were asked for"]
    if want < spec.least:
        return (), [f"{have}, and the case needs {spec.least}"] if asked is None else [
            f"{want} ports were asked for, and the case needs {spec.least}"
        ]
    if spec.even and want % 2:
        return (), [f"{want} ports were asked for, and the case needs an even number"]
    return tuple(same[:want]), []


def _faces_host(facts: Facts, device: Device, name: str) -> bool:
    line = facts.line((device.name, name))
    return line is not None and facts.faces_host(line)


def _cut(cutter: Cutter, device: Device, ports: tuple[str, ...], case: CaseSpec) -> Cut:
    """The switch with a tester's port at each of these ports."""
    cut = cutter.star(device.name, ports[-1], ports[:-1])
    place = Place(f"{case.case} of the test plan", 0)
    tester = Host("tester", place, mtu=_TESTER_MTU, roce_mtu=case.mtu, cc="none", cnp_dscp=case.cnp.dscp,
                  pfc_enable=frozenset(range(8)), trust="dscp")  # fmt: skip
    names = tuple(cut.hosts)
    at = {port: host for host, (_, port) in cut.hosts.items()}
    leave = ports if case.pattern != "incast" else (ports[-1], *ports[:-1])  # acknowledgements leave by the others
    hops = tuple(Hop(device.name, enters=next(it for it in ports if it != port), leaves=port) for port in leave)
    devices = dict(cut.network.devices)
    for port in devices[device.name].ports.values():
        port.maps = {kind: name for kind, name in port.maps.items() if kind != "tc_to_dscp"}  # of no effect here
    devices[device.name].global_maps = {kind: name for kind, name in device.global_maps.items() if kind != "tc_to_dscp"}
    network = replace(cut.network, devices=devices, hosts=dict.fromkeys(names, tester), default_host=None)
    senders = tuple(at[port] for port in ports)
    return replace(cut, network=network, hops=hops, senders=senders, assumed=())


def _dscps(device: Device, port: str) -> dict[int, int]:
    """The lowest DSCP of each priority."""
    found: dict[int, int] = {}
    for dscp in range(64):
        found.setdefault(tc_of(device, device.ports[port], dscp), dscp)
    return found


def _flows(made: Bench, lossless: set[int]) -> Iterator[Flow]:
    for traffic in made.scenario.traffic:
        usable = []
        for priority in traffic.priorities:
            lacks = _lacks(made, traffic.kind, priority, lossless)
            if lacks:
                made.findings.append(lacks)
            else:
                usable.append(priority)
        if traffic.each == "in turn" and usable:  # one of them is enough
            made.findings = [it for it in made.findings if not it.startswith(tuple(
                f"priority {p} " for p in traffic.priorities))]  # fmt: skip
        for number, (src, dst) in enumerate(_pairs(made, traffic)):  # two of each pair of ports
            mine = usable if traffic.each == "all" else usable[number // 2 % len(usable) :][:1] if usable else []
            for priority in mine:
                yield Flow(src, dst, traffic.kind, priority)


def _streams(made: Bench, lossless: set[int]) -> Iterator[Stream]:
    """A lossless priority that is lacking is a finding; a lossy one to which no DSCP leads cannot be sent in."""
    for spec in made.scenario.streams:
        for priority in spec.priorities:
            kind = LOSSLESS if priority in made.case.lossless else "lossy"
            lacks = _lacks(made, kind, priority, lossless)
            if lacks and kind == LOSSLESS and lacks not in made.findings:
                made.findings.append(lacks)
            elif lacks and kind != LOSSLESS:
                made.not_lowered.append(f"streams of {lacks}")
            if lacks:
                continue
            for src, dst in _pairs(made, None)[: spec.senders]:
                yield Stream(src, dst, priority, spec)


def _lacks(made: Bench, kind: str, priority: int, lossless: set[int]) -> str:
    """What keeps the configuration from carrying a class as the plan has it; '' where nothing does."""
    name = made.device.name
    if priority not in made.dscps:
        return f"priority {priority} ({kind} in the plan): no DSCP of {made.ports[0]} leads to it"
    if kind == LOSSLESS and priority not in lossless:
        has = listed([str(it) for it in sorted(lossless)], _SHOWN) or "none"
        return f"priority {priority} (lossless in the plan): no test port of {name} has PFC for it; lossless: {has}"
    return ""


def _pairs(made: Bench, traffic: TrafficSpec | None) -> list[tuple[str, str]]:
    """(sender, receiver) of the ports that carry it; of pairs both ways."""
    if made.case.pattern == "incast":
        return [(port, made.ports[-1]) for port in made.ports[:-1]]
    found = []
    for number in range(len(made.ports) // 2):
        a, b = made.ports[2 * number : 2 * number + 2]
        if traffic is None or traffic.pairs == "all" or (traffic.pairs == "odd") == (number % 2 == 0):
            found += [(a, b)] if made.case.pattern == "one way" else [(a, b), (b, a)]
    return found


def _lower(made: Bench) -> None:
    """The switch's settings, the tester's transport, and what the plan changes."""
    case, used = made.case, sorted({*(it.priority for it in made.flows), *(it.priority for it in made.streams)})
    first = next((it for it in used if it in case.lossless), used[0])
    lowering = lower(made.cut, made.dscps[first])
    made.sections = lowering.sections
    made.assumed = [*made.cut.assumed, *lowering.assumed]
    made.not_lowered += lowering.not_lowered
    if made.scenario.watchdog == "off":
        for own in made.sections["switches"]["overrides"]:
            own.pop("watchdog", None)
            own.pop("port_watchdog", None)
    transport = made.sections["transport"]
    transport.update(
        cc="dcqcn" if made.scenario.dcqcn == "on" else "none",
        ack_dscp=case.ack.dscp,
        ack_every=1,
        window="off",
        qp={"per": "pair", "count": 1},
    )
    if made.scenario.dcqcn == "on":
        transport["cnp_dscp"] = case.cnp.dscp
    else:
        del transport["cnp_dscp"]  # no port sends a CNP then
    if made.scenario.marking == "off on the used queues":
        for own in made.sections["switches"]["overrides"]:
            curves = own.get("ecn_by_queue", {})
            for queue in used:
                curves.pop(str(queue), None)
            if "ecn_by_queue" in own and not curves:
                del own["ecn_by_queue"]
