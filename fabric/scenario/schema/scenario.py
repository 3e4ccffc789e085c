"""The scenario file as one strict model: everything a run depends on, nothing that has no effect.

Quantities carry units; unknown fields are refused; what a section leaves out is filled in from the model's defaults
(models.py), each with its source. load.py reads files into this, compile.py turns it into what the engine runs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, PrivateAttr

from fabric.faults.spec import FaultSpec
from fabric.scenario.sampling import default_interval_ps
from fabric.scenario.schema.bgp import BgpSpec
from fabric.scenario.schema.endpoints import HostsSpec, TransportSpec, VxlanSpec
from fabric.scenario.schema.expectations import ExpectationField
from fabric.scenario.schema.switches import SwitchesSpec
from fabric.scenario.schema.values import OffTime
from fabric.topology.quantities import TimePs
from fabric.topology.spec import Name, Strict, TopologySpec
from fabric.workload.spec import WorkloadSpec

HopNames = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(strict=False)]
RiskGroup = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(strict=False, min_length=1)]
EventName = Literal["pause", "drop", "mark", "rate", "transport"]


class TelemetrySpec(Strict):
    """Sampling and recording."""

    interval: TimePs | None = Field(
        None,
        gt=0,
        description="Sampling interval of counters and gauges, simulated time. Where absent 100us, or for a "
        "run.duration above 2s the first multiple of it that gives at most 20,000 samples.",
    )
    events: Annotated[tuple[EventName, ...], Field(strict=False)] = Field(
        ("pause", "drop", "mark", "rate", "transport"), description="Event categories that are recorded; [] for none."
    )
    transfer_messages: Literal["on", "off"] | None = Field(
        None,
        description="Times of every message of transfers in transfer_messages.parquet; on where absent, if there are "
        "at most 2,000,000 of them.",
    )


class RunSpec(Strict):
    """Duration, seed and end of a run."""

    duration: TimePs = Field(gt=0, description="Longest simulated time.")
    seed: int = Field(1, ge=0, lt=2**63, description="Seed of every random stream.")
    stop: Literal["done", "duration"] = Field(
        "done", description="done: once every message is done or failed; duration: never before the duration."
    )
    no_progress: OffTime = Field("off", description="End with a report once no payload byte has arrived for this long.")
    reroute_delay: TimePs | None = Field(
        None, description="From a cable's change of state to new routes at all switches."
    )


class Scenario(Strict):
    """One scenario file."""

    name: Name = Field(description="Name of the scenario, of its run directory and its tables.")
    description: str = Field("", max_length=2000, description="What it shows.")
    topology: TopologySpec = Field(description="The fabric.")
    model: Literal["asic", "hpcc-ns3"] = Field(
        "asic", description="Bundle of semantics and defaults: `fabric model list`."
    )
    routing: Literal["shortest-path", "bgp", "given"] = Field(
        "shortest-path",
        description="shortest-path: ECMP over all shortest paths, repaired after run.reroute_delay; "
        "bgp: every switch speaks BGP, with EVPN where there is an overlay; given: those of routes, which no failure "
        "changes.",
    )
    routes: dict[Name, dict[str, HopNames]] | None = Field(
        None,
        description="With routing: given: next hops by switch and destination. A destination is a host or an IPv4 "
        "prefix, and the longest one that holds a host's address is in use; hosts at a switch's own ports are "
        "connected. A next hop is a neighbour (all cables to it) or a port; [] discards. No entry: no route.",
    )
    bgp: BgpSpec | None = Field(None, description="The control plane of routing: bgp; its defaults where absent.")
    pfc: Literal["on", "off"] = Field(
        "on", description="off: no PAUSE anywhere; lossless priorities become ordinary ones."
    )
    switches: SwitchesSpec = Field(default_factory=SwitchesSpec, description="Switch and port settings.")
    hosts: HostsSpec = Field(default_factory=HostsSpec, description="NIC settings.")
    transport: TransportSpec = Field(default_factory=TransportSpec, description="RDMA transport.")
    vxlan: VxlanSpec | None = Field(None, description="Overlay between leaves; none where absent.")
    workload: Annotated[tuple[WorkloadSpec, ...], Field(strict=False, min_length=1)] = Field(description="Traffic.")
    admission: Literal["fifo", "backfill"] | None = Field(
        None,
        description="Jobs wait for free GPUs. fifo: in the order of arrival; backfill: a later one goes first if by "
        "the time limits that delays no earlier one. Where absent, every job needs free GPUs.",
    )
    faults: Annotated[tuple[FaultSpec, ...], Field(strict=False)] = Field(
        (),
        description="What goes wrong, and when. Faults that overlap on one thing act side by side, each until its "
        "own end.",
    )
    risk_groups: dict[Name, RiskGroup] | None = Field(
        None,
        description="Switches and cables that fail together, by the name of what they share: a power feed, a duct, a "
        "line card. Switches by name or pattern, cables as in faults. A run does not use them; `fabric whatif` does.",
    )
    telemetry: TelemetrySpec = Field(default_factory=TelemetrySpec, description="Sampling and events.")
    run: RunSpec = Field(description="Duration, seed, end.")
    expectations: Annotated[tuple[ExpectationField, ...], Field(strict=False)] = Field(
        (), description="What must hold at the end; a breach makes `fabric run` exit with 1."
    )

    _file: Path = PrivateAttr(default=Path("scenario.yml"))

    @property
    def file(self) -> Path:
        """The file of the scenario; files that it names are relative to its folder."""
        return self._file

    @property
    def sampling_ps(self) -> int:
        """The sampling interval."""
        return self.telemetry.interval or default_interval_ps(self.run.duration)

    def read_from(self, file: Path) -> Scenario:
        """The same scenario with its file."""
        copy = self.model_copy()
        copy._file = file  # noqa: SLF001  its own class
        return copy


def json_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of the file, for editors."""
    schema = Scenario.model_json_schema(mode="validation")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
