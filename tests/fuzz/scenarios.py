"""Whole scenarios: valid ones of every kind, small enough to compile and run in milliseconds.

scenario() makes a case of a stream of choices. What contradicts itself across sections ('has no effect with pfc: off')
is taken away by following the errors' own remedies, which is a test of these, too (repaired()).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import BaseModel

from fabric.errors import InputErrors
from fabric.scenario.compile import ns3_rdma_checks
from fabric.scenario.load import build_scenario
from fabric.scenario.schema.endpoints import HostsSpec, TransportOverride, TransportSpec
from fabric.scenario.schema.expectations import METRICS, OPERATORS
from fabric.scenario.schema.scenario import RunSpec, Scenario, TelemetrySpec
from fabric.scenario.schema.switches import SELECTORS, SwitchesSpec
from fabric.topology.paths import equal_cost_ports
from fabric.workload.registry import MESSAGE_KINDS, TRANSFER_KINDS
from tests.fuzz import fabrics, overlay, traffic, troubles
from tests.fuzz import settings as _settings  # noqa: F401  it declares strategies
from tests.fuzz.choices import Choices
from tests.fuzz.filling import World, fill, moment, of, one_of, time

DURATIONS_PS: Final = (200_000_000, 50_000_000, 20_000_000, 1_000_000_000, 123_456_789)
_ROUNDS: Final = 6
_DUMPER: Final = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_STEP: Final = re.compile(r"([^.\[\]]+)|\[([0-9]+)\]")


@dataclass
class Case:
    """One scenario with the files that it names."""

    raw: dict[str, Any]
    files: dict[str, str] = field(default_factory=dict)
    about: str = ""
    """How it was made."""

    def write(self, folder: Path, name: str = "fuzz.yml") -> Path:
        """Its files, ready for `fabric run`."""
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in self.files.items():
            (folder / file).write_text(text, encoding="utf-8")
        path = folder / name
        path.write_text(self.text(), encoding="utf-8")
        return path

    def text(self) -> str:
        """The scenario as YAML."""
        return yaml.dump(self.raw, Dumper=_DUMPER, sort_keys=False, allow_unicode=True)


def scenario(choose: Choices) -> Case:
    """A scenario that is valid by construction, but for what sections say of each other."""
    world = World(choose, choose.pick(DURATIONS_PS))
    world.ns3_rdma = choose.chance(12)
    world.bgp = not world.ns3_rdma and choose.chance(15)
    world.overlay = not world.ns3_rdma and choose.chance(65 if world.bgp else 25)
    raw: dict[str, Any] = {"name": "fuzz", "topology": fabrics.topology(world)}
    while len(world.hosts) < 2:  # a fabric of one host has no traffic
        raw["topology"] = fabrics.topology(world)
    world.groups = [world.hosts]
    if len(world.fabric.networks) > 1 and choose.chance(97):  # an overlay over several networks is refused
        world.overlay = False
    tunnels = overlay.vxlan(world) if world.overlay else None
    if tunnels is not None and traffic.apart(world) is None:  # the tunnel would have no traffic
        world.overlay, world.groups, tunnels = False, [world.hosts], None
    given = not world.ns3_rdma and not world.bgp and choose.chance(10)
    pfc = world.ns3_rdma or choose.chance(85)
    written = fill(
        world,
        Scenario,
        {
            **raw,
            "model": "hpcc-ns3" if world.ns3_rdma else choose.pick((None, "asic")),
            "routing": "bgp" if world.bgp else "given" if given else choose.pick((None, "shortest-path")),
            "routes": _routes(world) if given else None,
            "bgp": overlay.bgp(world) if world.bgp and choose.chance(70) else None,
            "pfc": choose.pick((None, "on")) if pfc else "off",
            "switches": _section(world, SwitchesSpec, "switches", 60),
            "hosts": _section(world, HostsSpec, "hosts", 40),
            "transport": _section(world, TransportSpec, "transport", 70),
            "vxlan": tunnels,
            "workload": traffic.workload(world),
            "faults": troubles.faults(world, pfc=pfc) if not world.ns3_rdma and choose.chance(60) else None,
            "run": fill(world, RunSpec, {"duration": time(world.duration_ps)}),
        },
    )
    _source_routes(world, written, possible=not (world.ns3_rdma or world.bgp or given or world.overlay))
    if not pfc:
        for part in (written.get("switches", {}), *written.get("switches", {}).get("overrides", ())):
            part.pop("buffer_pg", None)
    if given:
        written["run"].pop("reroute_delay", None)
    if not {"link-down", "link-flap", "switch-crash"} & {it["kind"] for it in written.get("faults", ())}:
        written["run"].pop("reroute_delay", None)
    if all(len(world.fabric.network_ports(host.id)) <= 1 for host in world.fabric.hosts):
        written.get("transport", {}).pop("nic_port", None)
        if choose.chance(97):
            written.get("bgp", {}).pop("bond_delay", None)
    if not world.ns3_rdma and choose.chance(10):
        _several_controls(world, written)
    traffic.admit(written)
    if tunnels is not None:
        traffic.tenants_of_jobs(world, written)
    if not any(load["kind"] in TRANSFER_KINDS for load in written["workload"]):
        written.get("telemetry", {}).pop("transfer_messages", None)
    if world.duration_ps < 100_000_000:
        written.setdefault("telemetry", {}).setdefault("interval", _interval(world))
    return Case(written, world.files)


def _source_routes(world: World, written: dict[str, Any], *, possible: bool) -> None:
    """All switches follow source routes or none does, and only where they can: nearly always."""
    switches = written.get("switches", {})
    if world.choose.chance(3):
        return
    overrides = switches.get("overrides", ())
    if switches.get("load_balancing") == "source-routed" and world.choose.chance(97):
        written.get("transport", {}).pop("nic_port", None)
    refused = not possible or max(world.fabric.scale_up_ports, default=-1) >= 0
    if refused and switches.get("load_balancing") == "source-routed":
        switches["load_balancing"] = "ecmp"
    for part in overrides:
        both = {switches.get("load_balancing"), part.get("load_balancing")}
        if "source-routed" in both and part.pop("load_balancing", None) and not set(part) - SELECTORS:
            part["pause_quanta"] = 1000


def _several_controls(world: World, written: dict[str, Any]) -> None:
    """An override of the congestion control, where some queue pair may have it."""
    transport = written.setdefault("transport", {})
    sends = any(load["kind"] in {*MESSAGE_KINDS, *TRANSFER_KINDS} for load in written["workload"])
    if sends and transport.get("cc") != "hpcc-pint" and transport.get("recovery") != "selective":
        transport["overrides"] = [fill(world, TransportOverride)]


def _routes(world: World) -> dict[str, dict[str, list[str]]]:
    """The shortest paths, written out; now and then a host of a switch is left out, or discarded."""
    fabric, choose = world.fabric, world.choose
    table = equal_cost_ports(fabric)
    found: dict[str, dict[str, list[str]]] = {}
    for switch in fabric.switches:
        rows = found[switch.name] = {}
        for host in fabric.hosts:
            if (switch.id, host.id) in table.delivery or choose.chance(3):
                continue
            ports = table.ports_to(switch.id, host.id)
            hops = dict.fromkeys(fabric.peer_of(port).name for port in ports)
            rows[host.name] = [] if choose.chance(3) else list(hops)
    return found


def _section(world: World, model: type[BaseModel], name: str, percent: int) -> dict[str, Any] | None:
    """Settings; nearly always those alone that the model has."""
    if not world.choose.chance(percent):
        return None
    fixed = {} if world.ns3_rdma else {"acks": None}
    if world.ns3_rdma and world.choose.chance(97):
        fixed = dict.fromkeys(set(model.model_fields) - ns3_rdma_checks._FIELDS[name])
    return fill(world, model, {field: None for field in fixed if field in model.model_fields})


def repaired(case: Case, folder: Path) -> tuple[Case, list[str]]:
    """The case without what its errors say to remove, and the errors that were met on the way.

    Raises: InputErrors where the errors do not say what to remove, or go on when it is gone.
    """
    met: list[str] = []
    for _ in range(_ROUNDS):
        try:
            build_scenario(case.raw, folder / "fuzz.yml")
        except InputErrors as error:
            gone = [remove(case.raw, problem.path.partition(": ")[2]) for problem in error.problems]
            met += [str(problem) for problem in error.problems]
            if not any(gone):
                raise
        else:
            break
    return case, met


def steps_of(path: str) -> list[str | int]:
    """'workload[0].size' -> ['workload', 0, 'size']."""
    return [int(number) if number else word for word, number in _STEP.findall(path)]


def remove(raw: dict[str, Any], path: str) -> bool:
    """Take away what a dotted path names, and lists and mappings that this leaves empty; whether it was there."""
    trail: list[tuple[Any, Any]] = []
    here: Any = raw
    for step in steps_of(path):
        if isinstance(here, dict) and step in here:
            pass
        elif isinstance(here, dict) and isinstance(step, str) and step.isdigit() and int(step) in here:
            step = int(step)  # noqa: PLW2901  keys of mappings are numbers
        elif not (isinstance(here, list) and isinstance(step, int) and step < len(here)):
            return False
        trail.append((here, step))
        here = here[step]
    if not trail:
        return False
    parent, step = trail.pop()
    del parent[step]
    while trail and not parent and len(trail) > 1:
        parent, step = trail.pop()
        del parent[step]
    return True


def _events(world: World) -> list[str]:
    return world.choose.some(("pause", "drop", "mark", "rate", "transport"), 0, 5)


def _expectation(world: World) -> str:
    metric = world.choose.pick(tuple(METRICS))
    values = {
        "time": ("1ms", "0ps", "5s"),
        "size": ("10KB", "0B"),
        "rate": ("1G", "100T"),
        "count": ("0", "3", "1e6"),
        "ratio": ("0.5", "0", "1"),
    }
    return f"{metric} {world.choose.pick(tuple(OPERATORS))} {world.choose.pick(values[METRICS[metric][0]])}"


def _expectations(world: World) -> list[str]:
    return list(dict.fromkeys(_expectation(world) for _ in range(world.choose.integer(1, 4))))


def _interval(world: World) -> str:
    return time(world.duration_ps // world.choose.integer(1, 8))


of(TelemetrySpec, 70, interval=_interval, events=_events)
of(
    RunSpec,
    30,
    duration=one_of("1ms"),
    seed=one_of(1, 0, 7, 2**63 - 1),
    no_progress=lambda world: world.choose.pick(("off", time(max(world.duration_ps // 3, 1)))),
    reroute_delay=lambda world: time(moment(world)),
)


def _risk_groups(world: World) -> dict[str, list[str]]:
    cables = [link for link in world.fabric.links if not world.fabric.is_scale_up(link.a)]
    found = {"duct": [world.fabric.port_name(world.choose.pick(cables).a)]} if cables else {}
    switches = [node.name for node in world.fabric.switches if node.role != "scale-up"]
    return found | ({"power-a": [world.choose.pick(switches)]} if switches else {})


of(
    Scenario,
    40,
    name=one_of("fuzz"),
    description=one_of("A case of the fuzzer.", "ä ☃"),
    expectations=_expectations,
    risk_groups=_risk_groups,
    routes=_routes,
)
