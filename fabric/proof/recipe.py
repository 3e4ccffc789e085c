"""What a recipe is: the traffic that shows a finding, the remedy of its twin, and how both runs are read.

A recipe gets a Case and makes a Plan. The runner (prove.py) lowers the plan's cut-out twice, as configured and with
the remedy, puts the same traffic on both, and asks the recipe whether the first shows the finding (`shows`) and
whether the twin had the stimulus that the finding needs (`stimulus`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from fabric.configs.model import Device, Port
from fabric.errors import FabricError
from fabric.proof.cut import Cut, Cutter
from fabric.proof.lowering.lower import Lowering, lower
from fabric.proof.lowering.switch_rows import DEFAULT_CHIP, chip, map_entries, on_the_wire
from fabric.proof.outcome import Outcome
from fabric.scenario.presets.asics import ASICS
from fabric.validate.checks.base import Finding
from fabric.validate.chips import mmu_bytes
from fabric.validate.facts import Facts, Line

Claim = Literal["loss", "pause", "marks", "victim", "deadlock", "load"]
DEFAULT_DSCP: Final = 26
NO_LOSS: Final = ("drops.total == 0",)


class NoProofError(FabricError):
    """A finding that cannot be proven, and why."""


@dataclass
class Plan:
    """The traffic of one proof on its cut-out."""

    cut: Cut
    dscp: int
    device: str
    port: str
    """Where the finding is."""
    workload: list[dict[str, Any]]
    duration_us: float
    expectations: tuple[str, ...]
    faults: list[dict[str, Any]] = field(default_factory=list)
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Fields of sections beside those of the lowering, for both runs: {'transport': {'retries': 0}}."""
    notes: tuple[str, ...] = ()
    """What the traffic assumes."""
    twin: Lowering | None = None

    @property
    def bulk(self) -> frozenset[str]:
        """Hosts that send other traffic than RoCE."""
        return frozenset(self.cut.bulk)


@dataclass
class Case:
    """One finding with its network."""

    facts: Facts
    cutter: Cutter
    finding: Finding

    @property
    def dscp(self) -> int:
        """RoCE's DSCP."""
        known = self.facts.roce_dscps or self.facts.network.roce_dscps
        return known[0] if known else DEFAULT_DSCP

    def line(self) -> Line:
        """The port of the finding. Raises: NoProofError."""
        from fabric.proof.locate import locate  # noqa: PLC0415  it needs Case

        return locate(self)


@dataclass(frozen=True, slots=True)
class Recipe:
    """How the findings of some checks are shown."""

    checks: str
    """Identifiers, separated by blanks."""
    claim: Claim
    traffic: str
    """Name of the traffic: CHAIN, INC, STEP, ..."""
    plan: Callable[[Case], Plan]
    remedy: Callable[[Case, Plan, Cut], str]
    """Change a copy of the cut-out so that the finding is gone, and say what was changed."""
    shows: Callable[[Plan, Outcome, Outcome], str | None]
    """(plan, run as configured, twin): the evidence; None where the run does not show the finding."""
    stimulus: Callable[[Plan, Outcome], str | None]
    """What the twin lacks, so that it cannot have shown anything; None where the stimulus was there."""
    bound: str = ""
    """The bound of the rule that a search may move, in words."""
    expects: Callable[[Plan, Outcome], tuple[str, ...]] | None = None
    """Expectations that rest on what the twin measured; None: those of the plan."""


def scenario_of(plan: Plan, lowering: Lowering, name: str, seed: int = 1, description: str = "") -> dict[str, Any]:
    """A scenario file's data."""
    sections = {key: dict(it) if isinstance(it, Mapping) else it for key, it in lowering.sections.items()}
    for section, fields in plan.settings.items():
        sections.setdefault(section, {}).update(fields)
    raw: dict[str, Any] = {"name": name, "description": description, **sections, "workload": plan.workload}
    if plan.faults:
        raw["faults"] = plan.faults
    raw["run"] = {"duration": f"{round(plan.duration_us * 1000)}ns", "seed": seed, "stop": "duration"}
    raw["telemetry"] = {"interval": f"{max(10_000, round(plan.duration_us * 10))}ns"}
    raw["expectations"] = list(plan.expectations)
    return raw


def lowered(plan: Plan, cut: Cut | None = None) -> Lowering:
    """The plan's cut-out, or another one, as a scenario's sections."""
    return lower(cut or plan.cut, plan.dscp)


# Sizes and rates --------------------------------------------------------------------------------------------------


def rate_mbps(port: Port) -> int:
    """Rate of a port; 100G where it is not stated, as in the lowering."""
    return port.speed_mbps or 100_000


def slowest_mbps(cut: Cut) -> int:
    """Rate of the slowest port of a cut-out."""
    return min(rate_mbps(port) for device in cut.network.devices.values() for port in device.ports.values())


def time_us(size_bytes: float, mbps: float) -> float:
    """Time of bytes at a rate."""
    return size_bytes * 8 / mbps


def threshold_bytes(device: Device, port: Port, group: int) -> float:
    """T(1) + xoff of a group; that of the switch's other lossless groups where it has no profile."""
    names = [port.groups.get(group), *(it for other in device.ports.values() for it in other.groups.values())]
    for binding in names:
        profile = device.profile_of(binding)
        pool = device.pools.get(profile.pool) if profile else None
        if profile is None or not profile.lossless:
            continue
        room = (pool.size_bytes or 0) if pool else 0
        if profile.alpha is None:
            return min(profile.static_th_bytes or room, room or 2**40) + profile.xoff_bytes
        return profile.alpha * room / (1 + profile.alpha) + profile.xoff_bytes
    return pool_bytes(device) / 2


def pool_bytes(device: Device) -> int:
    """The largest ingress pool that is stated; else the buffer that the lowering assumes."""
    pools = [pool.size_bytes or 0 for pool in device.pools.values() if pool.direction != "egress"]
    return max(pools, default=0) or mmu_bytes(device) or ASICS[chip(device) or DEFAULT_CHIP].buffer_bytes


def tc_of(device: Device, port: Port, dscp: int) -> int:
    """Traffic class of a DSCP at a port; 0 in a hole, as SONiC has it."""
    entries = map_entries(device, port, "dscp_to_tc")
    return dscp // 8 if entries is None else entries.get(dscp, 0)


def through(device: Device, port: Port, kind: str, tc: int) -> int:
    """A class through a map of a port; the class itself where the language's default is not known."""
    entries = map_entries(device, port, kind)
    return tc if entries is None else entries.get(tc, 0)


def traffic_class(plan: Plan, device: str, cut: Cut | None = None) -> tuple[int, int, int]:
    """(class, group, queue) of RoCE at a switch of the plan's chain."""
    where = cut or plan.cut
    hop = next(it for it in where.hops if it.device == device)
    switch = where.network.devices[device]
    enters, leaves = switch.ports[hop.enters], switch.ports[hop.leaves]
    tc = tc_of(switch, enters, on_the_wire(where).get(device, {}).get(plan.dscp, plan.dscp))
    return tc, through(switch, enters, "tc_to_pg", tc), through(switch, leaves, "tc_to_queue", tc)
