"""Subject of `fabric path`, `route`, `bgp` and `evpn`: a scenario file or a run directory, at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from fabric.controlplane.network.config import Design
from fabric.controlplane.network.network import Network
from fabric.controlplane.network.speakers import link_local
from fabric.dataplane.engine.edits import Edit, LinkState
from fabric.dataplane.engine.holds import in_force
from fabric.errors import FabricError, InputErrors, Problem, RunDirError, UnitError
from fabric.forwarding.flowpath import LinkRates
from fabric.forwarding.tables import Cause, Change, Forwarding, changes, forwarding_at
from fabric.runs import files
from fabric.runs.rundir import RunDir
from fabric.scenario.compile.scenario import CompiledScenario, PlacedScenario, complete, place
from fabric.scenario.load import apply_overrides, build_scenario, load_scenario
from fabric.scenario.schema.scenario import Scenario
from fabric.scenario.yaml_input import parse_yaml
from fabric.show.route_table import NONE, Underlay
from fabric.show.tenant_routes import elsewhere, vrf_of
from fabric.topology.model import Fabric, Node
from fabric.topology.select import nearest_node, plural
from fabric.units import PS_PER_NS, format_time_ps, parse_time_ps


@dataclass(frozen=True)
class Subject:
    """A scenario and everything that changes its routes."""

    placed: PlacedScenario
    extra: tuple[Edit, ...] = ()
    """Changes of cables in a run's event log beyond the scenario's faults: acts of a playbook."""
    ended_ps: int | None = None
    """End of the run; None for a scenario, or for a run without results."""

    @property
    def scenario(self) -> Scenario:
        """The scenario as written."""
        return self.placed.scenario

    @property
    def fabric(self) -> Fabric:
        """The topology."""
        return self.placed.fabric

    @cached_property
    def compiled(self) -> CompiledScenario:
        """With its control plane simulated to the end: half a minute for 160 switches, so only on demand."""
        return complete(self.placed)

    @cached_property
    def edits(self) -> tuple[Edit, ...]:
        """All dated edits."""
        return (*self.compiled.edits, *self.extra)

    @cached_property
    def timeline(self) -> list[Change]:
        """All changes of routes, in order."""
        delay_ps = self.compiled.reroute_delay_ps if self.compiled.control is None else None
        return changes(self.edits, self.fabric, self.compiled.params, delay_ps)

    def at(self, time_ps: int) -> Forwarding:
        """All forwarding tables just after that time."""
        start = Cause.SHORTEST_PATH if self.compiled.control is None else Cause.CONTROL_PLANE
        return forwarding_at(self.fabric, self.compiled.params, self.timeline, time_ps, start)

    def routes_withdrawn(self, time_ps: int) -> frozenset[int]:
        """Ports over which NICs have withdrawn their source routes at a time; none where switches choose paths."""
        routes = self.compiled.params.source_routes
        if routes is None:
            return frozenset()
        history: dict[int, list[tuple[int, bool]]] = {}
        for change in self.timeline:
            for link, up in change.cables:
                history.setdefault(link, []).append((change.time_ps, up))
        found: set[int] = set()
        for link, its in history.items():
            # As the engine's notices: each has the carrier of its cable at that moment.
            noticed = [moment + routes.withdrawal_ps for moment, _ in its if moment + routes.withdrawal_ps <= time_ps]
            if noticed and not [up for moment, up in its if moment <= noticed[-1]][-1]:
                found |= {int(self.fabric.links[link].a), int(self.fabric.links[link].b)}
        return frozenset(found)

    def rates(self, at: Forwarding) -> LinkRates:
        """Rates of cables at the same time."""
        return LinkRates(at, self.edits)

    def next_change(self, time_ps: int) -> Change | None:
        """The first change of a route or cable after a time."""
        return next((change for change in self.timeline if change.time_ps > time_ps), None)

    def network(self, time_ps: int) -> Network:
        """The control plane at a time: speakers, RIBs, VTEPs. Raises: FabricError if there is none."""
        if self.placed.control is None:
            raise FabricError(
                f"{self.scenario.name} has no control plane: its routing is shortest-path",
                "`routing: bgp` in the scenario, or --set routing=bgp, gives it one; `fabric route` and "
                "`fabric path` show its routes as they are",
            )
        return self.placed.control.at(time_ps // PS_PER_NS)

    @cached_property
    def tenants(self) -> Mapping[int, str]:
        """NodeId of a host -> its tenant, 'blue (VNI 10100)'; empty without an overlay with a control plane."""
        if self.placed.control is None:
            return {}
        plan = self.placed.control.plan
        names = {it.vni: it.tenant for router in plan.routers for it in router.vnis}
        l3_vni = {vrf.name: vrf.l3_vni for router in plan.routers for vrf in router.vrfs}
        return {it.node: f"{names[it.vni]} (VNI {it.vni})" for it in plan.endpoints if it.node >= 0} | {
            it.node: f"{it.tenant} (L3 VNI {l3_vni[it.tenant]}, {it.interface})" for it in plan.routed
        }

    def may_send(self, source: int, target: int) -> bool:
        """Whether one host may send to another: both in one tenant, or no tenants at all."""
        return not self.tenants or self.tenants.get(source) == self.tenants.get(target) is not None

    def matched_prefix(self, leaf: int, host: int, time_ps: int) -> str:
        """The route by which a leaf routes a tenant's packets for a host at a time; '': none."""
        network = self.network(time_ps)
        switch = next(it for it in network.switches if it.router.node == leaf)
        if switch.vtep is None:
            return ""
        for tenant, addresses in network.plan.tenant_addresses.items():
            for address, node in addresses.items():
                if node == host and tenant in switch.vtep.vrfs:
                    return switch.vtep.lookup(tenant, address).prefix
        return ""

    def underlay(self, switch: Node, time_ps: int) -> Underlay:
        """BGP routes of a switch other than routes to hosts, at a time; empty without a control plane."""
        run = self.compiled.control
        if run is None:
            return NONE
        router = next(router for router in run.plan.routers if router.node == switch.id)
        found = {key: (ports, 0) for key, ports in run.routes_at_start[router.row].items()}
        for change in run.routes:
            if change.router == router.row and change.time_ns * PS_PER_NS <= time_ps:
                found[change.key] = (change.ports, change.time_ns * PS_PER_NS)
        ends = [run.plan.interfaces[row] for row in router.interfaces] if run.config.unnumbered else []
        return Underlay(
            {key: known for key, known in found.items() if known[0]},
            {end.port: link_local(run.plan.interfaces[end.peer]) for end in ends},
            internal=run.config.design is Design.IBGP_RR,
            overlay=run.plan.overlay,
            host_prefix=run.plan.host_prefix,
            vrf_of=vrf_of(run.plan),
            elsewhere=elsewhere(run.plan, router),
        )

    def beyond(self, time_ps: int) -> str:
        """A note for a time after the end of the run; '' for earlier times."""
        end_ps = self.scenario.run.duration if self.ended_ps is None else self.ended_ps
        if time_ps <= end_ps:
            return ""
        what = "run.duration of this scenario" if self.ended_ps is None else "the end of this run"
        return (
            f"{format_time_ps(time_ps)} is after {what}, {format_time_ps(end_ps)}: no packet is simulated then; "
            "shown is the fabric as the scenario's faults and its routing would have left it"
        )

    def moments(self) -> list[int]:
        """Times at which routes or cables change, in ps."""
        params = self.compiled.params
        if (routes := params.source_routes) is None:
            return sorted({change.time_ps for change in self.timeline})
        cables = {change.time_ps for change in self.timeline if change.cables}
        noticed = {moment + routes.withdrawal_ps for moment in cables}
        # Switches route datagrams alone.
        routed = {change.time_ps for change in self.timeline if params.streams is not None or not change.computed}
        return sorted(cables | noticed | routed)


def load_subject(source: Path, sets: Sequence[str] = ()) -> Subject:
    """Read and check; a control plane is simulated on demand.

    Parameters
    ----------
    source : Path               scenario file, or directory that `fabric run` wrote
    sets : sequence of str      overrides, for scenario files only

    Raises: InputErrors, RunDirError.
    """
    if not source.is_dir():
        return Subject(place(load_scenario(source, sets)))
    if sets:
        raise InputErrors(
            "options",
            [Problem("--set", f"{source} is a run, and a run cannot be changed", "name the scenario file instead")],
        )
    run = RunDir.open(source)
    about = run.manifest["scenario"]
    file = Path(about["file"])
    scenario = build_scenario(apply_overrides(parse_yaml(about["text"], file), about["set"]), file)
    placed = place(scenario)
    if placed.fabric != run.fabric:
        raise RunDirError(
            f"{source}: its scenario no longer gives the fabric that the run was made on",
            "a file that the scenario names has changed, or this is another version: run it again",
        )
    ended_ps = run.summary["stop"]["time_ns"] * PS_PER_NS if files.SUMMARY in run.listed else None
    return Subject(placed, _unplanned(run, placed), ended_ps)


def _unplanned(run: RunDir, placed: PlacedScenario) -> tuple[Edit, ...]:
    planned = {
        (edit.time_ps // PS_PER_NS, int(edit.link), edit.up)
        for edit in in_force(placed.faults.edits, placed.fabric, placed.params)
        if isinstance(edit, LinkState)
    }
    port_of = {placed.fabric.port_name(port.id): port for port in placed.fabric.ports}
    seen = {}
    for row in run.events(kinds=["link_down", "link_up"]).to_pylist():
        port = port_of[f"{row['device']}:{row['port']}"]
        seen[row["time_ns"], int(port.link), row["kind"] == "link_up"] = port.link
    return tuple(
        LinkState(time_ns * PS_PER_NS, link, up)
        for (time_ns, _, up), link in sorted(seen.items())
        if (time_ns, int(link), up) not in planned
    )


def moment(text: str | None) -> int:
    """--at in ps; 0 if absent. Raises: InputErrors."""
    if text is None or text.strip() == "0":
        return 0
    try:
        return parse_time_ps(text)
    except UnitError as error:
        raise InputErrors("options", [Problem("--at", error.text, error.hint)]) from error


def moment_text(time_ps: int) -> str:
    """'at 200us', 'at the start'."""
    return f"at {format_time_ps(time_ps)}" if time_ps else "at the start"


def node_called(fabric: Fabric, name: str, what: str, problems: list[Problem], place: str) -> Node | None:
    """The host or switch of that name; a problem if there is none. what: 'host', 'switch' or 'node'."""
    allowed = {"host": fabric.hosts, "switch": fabric.switches, "node": fabric.nodes}[what]
    found = fabric.by_name.get(name)
    if found is not None and found in allowed:
        return found
    text = f"'{name}' is a {found.role}, not a {what}" if found is not None else f"no {what} is called '{name}'"
    problems.append(Problem(place, text, nearest_node(name, allowed, plural(what))))
    return None
