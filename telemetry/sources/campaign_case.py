"""One case of a campaign as a job: simulate it and its twins, diagnose it, score it. Function and argument can be
pickled, for the executors of fabric/studies.
"""

from __future__ import annotations

import tempfile
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from fabric.dataplane.engine.counters import Snapshot
from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import Stop
from fabric.runs import simulate
from fabric.runs.measures import measure
from fabric.runs.session import Plan
from fabric.scenario.compile.scenario import CompiledScenario
from fabric.scenario.load import build_scenario
from fabric.topology.model import Fabric
from fabric.units import PS_PER_NS
from telemetry.alerting.alert import Severity
from telemetry.alerting.evaluate import evaluate_store
from telemetry.alerting.incidents import incidents
from telemetry.alerting.rules import NOMINAL_DILATION
from telemetry.campaign.faults import LOSSLESS
from telemetry.campaign.generate import NOISE_SEEDS, Case, draw_case
from telemetry.campaign.scoring import is_judged, pairs, root_as_json
from telemetry.campaign.seeds import Seed, parse_seed
from telemetry.campaign.truth import Group
from telemetry.catalogue.observation import observe
from telemetry.diagnosis.confidence import score
from telemetry.diagnosis.diagnose import diagnose
from telemetry.diagnosis.root import Kind, Root
from telemetry.diagnosis.seen import missing_in, read_by
from telemetry.record.polling.poller import Poller
from telemetry.record.polling.profiles import PROFILES
from telemetry.record.sampler import Sampler
from telemetry.record.store import Store
from telemetry.sources.control_history import ControlHistory
from telemetry.sources.run_info import of_plan

VIEWS: Final = ("ideal", "sonic")
_FELT: Final = ("slowdown.p99", "goodput.total", "drops.total", "pfc.paused_time")
"""What a fault is felt by: the tail, goodput, loss, pauses."""
_GROUPS: Final = 4
"""Priority groups of a switch that hold packets at once."""


def campaign_case(text: str) -> dict[str, Any]:
    """The row of a campaign for the seed 'tune/17'. Equal in every repetition but for `wall_s`."""
    began = time.perf_counter()
    case = draw_case(parse_seed(text))
    fabric, stores, last, sample_ns, settings = _recorded(case)
    felt = _felt(case, last) if case.what else []
    groups = (*case.groups, *settings)
    views = {name: _view(groups, diagnosed(stores[name], fabric, name), sample_ns) for name in VIEWS}
    return {
        "seed": text,
        "sort": case.sort,
        "what": list(case.what),
        "duration_ns": int(stores["ideal"].times_ns[-1]),
        "fabric": f"{case.scenario['topology']['kind']}, {len(fabric.hosts)} hosts",
        "chip": case.scenario["switches"]["asic"],
        "groups": [it.as_json() for it in groups],
        "felt": felt,
        "views": views,
        "alerts": _alerts(stores["ideal"]),
        "wall_s": round(time.perf_counter() - began, 2),
    }


def diagnosed(store: Store, fabric: Fabric, view: str) -> list[Root]:
    """Roots as one view shows them."""
    return diagnose(store, fabric, missing_in(view))


def write_case(seed: Seed, folder: Path) -> Path:
    """The scenario file of a case, for `fabric run`; its truth is in the description."""
    case = draw_case(seed)
    truth = "; ".join(
        f"{it.kind.value} at {', '.join(it.devices) or 'every device'}: {it.change}" for it in case.groups
    )
    data = {"name": case.scenario["name"], "description": f"Campaign, {seed.text}, {case.sort}. {truth}"[:2000]}
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{case.scenario['name']}.yml"
    file.write_text(yaml.safe_dump(data | case.scenario, sort_keys=False), encoding="utf-8")
    return file


def _recorded(case: Case) -> tuple[Fabric, dict[str, Store], dict[str, Any], int, list[Group]]:
    """(fabric, a store for each view, measures, sampling interval, settings that a diagnosis may name)."""
    compiled, plan = _prepared(case.scenario)
    info = of_plan(plan)
    ideal = Sampler(info)
    seen = Sampler(info, read_by("sonic"))
    poller = Poller(PROFILES["sonic"], compiled.fabric, NOMINAL_DILATION, int(plan.about["seed"]))
    history = None if compiled.control is None else ControlHistory(compiled.control)
    last: Snapshot | None = None
    for now in _snapshots(compiled, plan):
        last = observe(now, control=None if history is None else history.at(now.time_ps))
        ideal.sample(last)
        seen.sample(poller.take(last))
    assert last is not None  # noqa: S101  every run has a first sample
    for now in poller.after(last):
        seen.sample(now)
    stores = {"ideal": ideal.store, "sonic": seen.store}
    settings = _late_marks(compiled, plan.duration_ps // PS_PER_NS)
    return compiled.fabric, stores, measure(last, plan.ideal_ps, 0), plan.sampling_ps // PS_PER_NS, settings


def _prepared(scenario: Mapping[str, Any]) -> tuple[CompiledScenario, Plan]:
    with tempfile.TemporaryDirectory(prefix="fabric-campaign-") as folder:
        file = Path(folder) / "case.yml"
        loaded = build_scenario(scenario, file)
        return simulate.prepare(loaded, text=yaml.safe_dump(dict(scenario), sort_keys=False))


def _snapshots(compiled: CompiledScenario, plan: Plan, *, every: bool = True) -> Iterator[Snapshot]:
    """Every sample of a run, or the last one alone."""
    engine = Emulator(
        compiled.fabric,
        compiled.params,
        compiled.edits,
        record=compiled.record,
        reroute_delay_ps=compiled.reroute_delay_ps,
    )
    until_ps, sampled_ps = (0 if every else plan.duration_ps), -1
    while True:
        stop = engine.advance(until_ps)
        if engine.now_ps > sampled_ps:
            yield engine.snapshot(reset_watermarks=True)
            sampled_ps = engine.now_ps
        if stop is Stop.IDLE or until_ps >= plan.duration_ps:
            return
        until_ps = min(until_ps + plan.sampling_ps, plan.duration_ps)


def _felt(case: Case, faulty: Mapping[str, Any]) -> list[dict[str, Any]]:
    """For each fault, whether any measure differs without it by more than two other seeds of the twin do."""
    twin = _measured(case.twin)
    noise = [_measured(case.noise(number)) for number in range(NOISE_SEEDS)]
    found: list[dict[str, Any]] = []
    for scenario in case.without:
        without = twin if scenario == case.twin else _measured(scenario)
        its: dict[str, Any] = {"felt": False}
        for name in _FELT:
            here, there = _number(faulty[name]), _number(without[name])
            chance = max(abs(_number(it[name]) - _number(twin[name])) for it in noise)
            its[name] = [here, there, chance]
            its["felt"] |= abs(here - there) > chance
        found.append(its)
    return found


def _late_marks(compiled: CompiledScenario, end_ns: int) -> list[Group]:
    """The thresholds of the whole fabric, where marking begins above XOFF: while _GROUPS priority groups of a switch
    hold packets, each may take 2^a / (1 + _GROUPS 2^a) of the shared pool.
    """
    params, fabric = compiled.params, compiled.fabric
    for switch in fabric.switches:
        for port in switch.ports:
            its = params.ports[port]
            group, ecn = its.pgs[LOSSLESS], its.queues[LOSSLESS].ecn
            if ecn is None or group.dynamic_th is None:
                continue
            share = 2.0**group.dynamic_th
            limit = share / (1 + _GROUPS * share) * params.switches[switch.id].pools[group.pool].size_bytes
            if ecn.kmin_bytes > limit:
                change = f"marking begins at {ecn.kmin_bytes:,} B, XOFF at about {limit:,.0f} B"
                return [Group((Kind.ECN_WRONG,), (), 0, end_ns, (), LOSSLESS, change, "setting")]
    return []


def _measured(scenario: Mapping[str, Any]) -> dict[str, Any]:
    compiled, plan = _prepared(scenario)
    return measure(deque(_snapshots(compiled, plan, every=False), maxlen=1)[0], plan.ideal_ps, 0)


def _number(value: object) -> float:
    """A measure that the run does not have is 0: no message was done."""
    return float(value) if isinstance(value, int | float) else 0.0


def _view(groups: Sequence[Group], roots: Sequence[Root], sample_ns: int) -> dict[str, Any]:
    found = pairs(roots, groups, sample_ns)
    return {
        "roots": [root_as_json(it) | {"judged": is_judged(it, groups), "score": score(it, roots)} for it in roots],
        "pairs": [[it.root, it.group, it.right, it.device] for it in found],
    }


def _alerts(store: Store) -> dict[str, Any]:
    """Incidents by the alerts, each a page where it is critical."""
    evaluation = evaluate_store(store)
    found = incidents(evaluation.firings, store)
    return {
        "pages": sum(it.severity is Severity.CRITICAL for it in found),
        "incidents": [
            {
                "fired_ns": it.fired_ns,
                "severity": it.severity.value,
                "alerts": sorted({f.alert.name for f in it.firings}),
            }
            for it in found
        ],
    }
