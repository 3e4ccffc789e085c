"""The run of a drill: simulated in memory, so that no run directory tells what was done to it.

Two records are kept: every counter, on which telemetry/diagnosis decides, and what the trainee's monitoring has read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from fabric.dataplane.engine.counters import Snapshot
from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import Stop
from fabric.runs import simulate
from fabric.scenario.estimate.admission import Admit
from fabric.scenario.load import load_scenario
from fabric.scenario.schema.scenario import Scenario
from fabric.topology.model import Fabric
from telemetry.alerting.evaluate import evaluate_store
from telemetry.alerting.rules import NOMINAL_DILATION
from telemetry.catalogue.metrics import BY_NAME
from telemetry.catalogue.observation import Observation
from telemetry.diagnosis.diagnose import METRICS, diagnose
from telemetry.diagnosis.root import Root
from telemetry.drill.aliases import Aliases, drawn, natural
from telemetry.drill.incidents import Incident
from telemetry.record.polling.poller import Poller
from telemetry.record.polling.profiles import PROFILES
from telemetry.record.sampler import Sampler
from telemetry.record.store import Store
from telemetry.sources.control_history import ControlHistory
from telemetry.sources.engine_facts import observed
from telemetry.sources.run_info import of_plan

FULL: Final = "ideal"
POLLED: Final = "sonic"
"""Profiles of telemetry/record/polling: every counter at every sample, and what SONiC reads at its periods."""
_ON_REQUEST: Final = ("fabric_bgp_", "fabric_evpn_", "fabric_arp_", "fabric_job_", "fabric_host_arp_")
"""No exporter polls these; `show` commands of a switch and the log of a job have them, at any time."""
_SETTINGS: Final = (("ports", "rate_bps"), ("pgs", "xoff_bytes"), ("pgs", "lossless"))
"""Table and field of a Snapshot."""
_HIDDEN: Final = frozenset({"fabric_run_info", "fabric_build_info", "fabric_pfc_pause_cause_info"})
"""They name the scenario and its seed, or the root of a pause."""
_SILENT: Final = "injected"
"""Drop reason of frames that a fault makes vanish: no real port counts them."""


@dataclass(frozen=True, slots=True)
class Simulated:
    """One finished drill run."""

    fabric: Fabric
    """Real names."""
    aliases: Aliases
    roots: list[Root]
    """What telemetry/diagnosis says; real names."""
    seen: Store
    """What the trainee's monitoring has; shown names."""
    alerts: list[dict[str, Any]]
    """Alerts that fired on `seen`: name, severity, text, firing_ns, cleared_ns, labels."""
    duration_ns: int


def simulated(incident: Incident, seed: int, profile: str, admit: Callable[[Scenario], Admit]) -> Simulated:
    """Simulate an incident, under names drawn from the drill's seed. Raises: InputErrors, InvariantError."""
    sets = [f"run.seed={incident.run_seed(seed)}"]
    scenario = load_scenario(incident.file, sets)
    compiled, plan = simulate.prepare(scenario, sets=sets, admit=admit(scenario))
    engine = Emulator(
        compiled.fabric,
        compiled.params,
        compiled.edits,
        record=compiled.record,
        reroute_delay_ps=compiled.reroute_delay_ps,
    )
    history = None if compiled.control is None else ControlHistory(compiled.control)
    info = of_plan(plan)
    truth, seen = Sampler(info, METRICS), Sampler(info, _visible(profile))
    poller = None if profile == FULL else Poller(PROFILES[profile], compiled.fabric, NOMINAL_DILATION, seed)
    now = None
    for now in _observations(engine, history, plan.duration_ps, plan.sampling_ps):
        truth.sample(now)
        seen.sample(now if poller is None else _asked(poller.take(now), now))
    if poller is not None and now is not None:
        for late in poller.after(now):
            seen.sample(late)
    aliases = drawn(compiled.fabric, seed)
    roots = diagnose(truth.store, compiled.fabric)
    _without_silent(seen.store)
    _renamed(seen.store, aliases)
    alerts = _alerts(seen.store)
    return Simulated(compiled.fabric, aliases, roots, seen.store, alerts, int(truth.store.times_ns[-1]))


def _asked(known: Snapshot, now: Snapshot) -> Snapshot:
    """The polled values, with the settings that a switch shows at any time."""
    for table, field in _SETTINGS:
        getattr(known, table)[field][:] = getattr(now, table)[field]
    return known


def _visible(profile: str) -> list[str]:
    """Metrics of a profile that say nothing of the scenario or of causes."""
    names = set(PROFILES[profile].metrics) | {it for it in BY_NAME if it.startswith(_ON_REQUEST)}
    return [name for name in BY_NAME if name in names - _HIDDEN]


def _observations(
    engine: Emulator, history: ControlHistory | None, duration_ps: int, sampling_ps: int
) -> Iterator[Observation]:
    """The counters at every sample, with the facts of the control plane."""
    until_ps, sampled_ps = 0, -1
    while True:
        stop = engine.advance(until_ps)
        if engine.now_ps > sampled_ps:
            yield observed(engine, None if history is None else history.at(engine.now_ps))
            engine.snapshot(reset_watermarks=True)
            sampled_ps = engine.now_ps
        if stop is Stop.IDLE or until_ps >= duration_ps:
            return
        until_ps = min(until_ps + sampling_ps, duration_ps)


def _alerts(store: Store) -> list[dict[str, Any]]:
    return [
        {
            "alert": it.alert.name,
            "severity": it.alert.severity.value,
            "text": it.description,
            "firing_ns": it.firing_ns,
            "cleared_ns": it.cleared_ns,
            "labels": {name: value for name, value in it.all_labels.items() if name not in {"job", "instance"}},
        }
        for it in evaluate_store(store, dilation=NOMINAL_DILATION).firings
    ]


def _without_silent(seen: Store) -> None:
    """Take away the truth about frames that vanish silently: no real port has a counter of them."""
    for metric in ("fabric_dropped_packets_total", "fabric_dropped_bytes_total"):
        if metric in seen.metrics:
            _remove(seen, metric, ("reason", _SILENT))


def _remove(store: Store, metric: str, label: tuple[str, str]) -> None:
    """Take away the series of a metric that have this label."""
    times = store.times_ns
    series = [(labels, found) for labels, found in store.iter_series(metric) if label not in labels]
    track = store.track(metric)
    track.labels = [labels for labels, _ in series]
    track.samples, track.series, track.values = [], [], []
    for row, (_, (at_ns, values)) in enumerate(series):
        for sample, value in zip(np.searchsorted(times, at_ns).tolist(), values.tolist(), strict=True):
            track.append(sample, np.array([row], np.int32), np.array([value]))


def _renamed(store: Store, aliases: Aliases) -> None:
    """Series under the shown names, in their order: that of the scenario would tell which device is its first one."""
    for metric in store.metrics:
        track = store.track(metric)
        shown = [tuple((name, aliases.text(value)) for name, value in labels) for labels in track.labels]
        order = sorted(range(len(shown)), key=lambda row: [natural(value) for _, value in shown[row]])
        track.labels = [shown[row] for row in order]
        place = np.argsort(np.array(order, np.int64)).astype(np.int32)
        changed = [np.argsort(place[its], kind="stable") for its in track.series]
        track.values = [its[rows] for its, rows in zip(track.values, changed, strict=True)]
        track.series = [place[its][rows] for its, rows in zip(track.series, changed, strict=True)]
