"""The scenario of a live run: its engines, faults and changes of the present pass, and its incidents."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fabric.controlplane.network.run import ControlRun
from fabric.dataplane.engine.edits import Edit
from fabric.dataplane.engine.holds import in_force
from fabric.dataplane.state.codes import N_CLASSES, TraceBit
from fabric.errors import FabricError
from fabric.explain import marking, pause_tree, pauses
from fabric.explain.eventlines import Severity
from fabric.ids import NodeId
from fabric.scenario.compile.scenario import CompiledScenario
from fabric.scenario.inject import Change, fault_change, rerouted, settings_after
from fabric.scenario.schema.scenario import Scenario
from fabric.theory.marking import usual_curve
from fabric.topology.feeds import feeds
from fabric.topology.paths import equal_cost_ports
from fabric.units import PS_PER_S, format_time_ps
from telemetry.live.changes import config_change
from telemetry.live.events import EventSink
from telemetry.live.simulation import Observer
from telemetry.live.tapped import TappedEmulator

log = logging.getLogger(__name__)


REST: Final = 10
"""Building pause trees takes at most this fraction (1/N) of the simulation thread: a pass may have a million pauses."""


class LiveWorld(Observer):
    """The scenario's interface for the API, and an observer of the passes. Belongs to the simulation thread.

    Parameters
    ----------
    scenario : Scenario             as loaded; with BGP, a fault repeats the control-plane simulation
    compiled : CompiledScenario     initial state of every pass
    threads : int                   threads of the engine
    sink : EventSink                log of the operator's actions
    """

    def __init__(self, scenario: Scenario, compiled: CompiledScenario, threads: int, sink: EventSink) -> None:
        self._scenario, self._compiled, self._threads, self._sink = scenario, compiled, threads, sink
        self._routed = compiled
        self.keep_messages = False
        """Engines keep the times of messages of transfers, which somebody then has to drain."""
        self._engine: TappedEmulator | None = None
        self._edits: list[Edit] = []
        self._changes: list[Change] = []
        self._incidents: list[dict[str, Any]] = []
        self._incidents_due_s = 0.0
        destinations = [NodeId(int(node)) for node in np.unique(compiled.params.queue_pairs.dst)]
        self._reach = feeds(compiled.fabric, equal_cost_ports(compiled.fabric), destinations)
        self._tracer: pause_tree.PauseTracer | None = None
        if not compiled.record & TraceBit.PAUSE:
            log.warning(
                "no incidents will be shown: the scenario records no pauses",
                extra={"remedy": "add 'pause' to telemetry.events"},
            )

    def make_engine(self) -> TappedEmulator:
        """The engine of the next pass."""
        self._engine = TappedEmulator(self._compiled, threads=self._threads, keep_messages=self.keep_messages)
        return self._engine

    @property
    def engine(self) -> TappedEmulator:
        """The engine of the present pass."""
        if self._engine is None:
            raise FabricError("the run has not begun yet", "ask again in a moment")
        return self._engine

    @property
    def duration_ps(self) -> int:
        """Of a pass."""
        return self._compiled.duration_ps

    @property
    def control(self) -> ControlRun | None:
        """The control plane of the present pass, with its faults."""
        return self._routed.control

    @property
    def truth(self) -> list[Mapping[str, Any]]:
        """Truth records of the faults that were injected into the present pass."""
        return [change.truth for change in self._changes if change.truth is not None]

    @property
    def changes(self) -> list[Change]:
        """Every change of the present pass, in order."""
        return list(self._changes)

    # ===== World of the API =====

    def inject(self, fault: Mapping[str, Any], now_ps: int) -> dict[str, Any]:
        """Add a fault. Raises: InputErrors."""
        name = f"live-{len(self._changes) + 1}"
        change = fault_change(fault, now_ps, self._now(now_ps), name)
        if self._compiled.control is not None:
            self._reroute(change, now_ps)
        else:
            self.engine.schedule(change.edits)
            self._edits += change.edits
        return self._carried_out(change, "fault injected")

    def configure(self, change: Mapping[str, Any], now_ps: int) -> dict[str, Any]:
        """Change a configuration. Raises: InputErrors."""
        now_ps = max(now_ps, 1)  # at 0 the devices are being built
        made = config_change(change, now_ps, self._now(now_ps), self._compiled)
        self.engine.schedule(made.edits)
        self._edits += made.edits
        return self._carried_out(made, "configuration changed")

    def incidents(self) -> list[dict[str, Any]]:
        """Pause trees of the present pass, most paused time first."""
        if self._tracer is None or self._engine is None:
            return []
        began_s = time.monotonic()
        if began_s >= self._incidents_due_s:
            now_ps = self._engine.now_ps
            self._incidents = [
                self._incident(episode, now_ps) for episode in pause_tree.episodes(self._tracer.spans(now_ps))
            ]
            ended_s = time.monotonic()
            self._incidents_due_s = ended_s + (ended_s - began_s) * REST
        return self._incidents

    def recent_events(self, after: int, count: int) -> list[dict[str, Any]]:
        """The newest event lines."""
        return self._sink.recent(after, count)

    # ===== observer =====

    def begin(self, number: int) -> None:  # noqa: ARG002  every pass begins alike
        """A new pass without changes and events."""
        self._changes, self._edits = [], list(self._compiled.edits)
        self._routed = self._compiled
        self._incidents, self._incidents_due_s = [], 0.0
        self._tracer = pause_tree.PauseTracer(self._compiled.fabric, self._reach, self._depth, _Slow(self))

    def events(self, rows: NDArray[Any], complete_ps: int) -> None:  # noqa: ARG002  rows are in order
        """Follow the pauses."""
        if self._tracer is not None:
            self._tracer.feed({name: rows[name] for name in ("time_ps", "kind", "port", "prio", "a", "b", "c")})

    # ===== internal =====

    def _now(self, now_ps: int) -> CompiledScenario:
        """The scenario with the present settings and every edit so far."""
        compiled = self._compiled
        done = in_force((edit for edit in self._edits if edit.time_ps <= now_ps), compiled.fabric, compiled.params)
        return replace(compiled, params=settings_after(compiled.fabric, compiled.params, done), edits=self._edits)

    def _reroute(self, change: Change, now_ps: int) -> None:
        """Simulate the control plane with the new fault, and take the edits after the present time.

        It is a function of the dated faults (docs/decisions/0009), so it is unchanged before the fault.
        """
        live = [it.spec for it in [*self._changes, change] if it.spec is not None]
        routed = rerouted(self._scenario, live, self._routed, now_ps)
        own = [edit for it in self._changes if it.spec is None for edit in it.edits]
        self.engine.replan([edit for edit in [*routed.edits, *own] if edit.time_ps >= now_ps])
        self._edits, self._routed = [*routed.edits, *own], routed

    def _carried_out(self, change: Change, words: str) -> dict[str, Any]:
        self._changes.append(change)
        facts = {
            "name": change.truth["name"] if change.truth else change.kind,
            "kind": change.kind,
            "at_seconds": change.start_ps / PS_PER_S,
            "edits": len(change.edits),
            "objects": dict(change.objects),
        }
        self._sink.note(Severity.WARNING if change.truth else Severity.INFO, words, change.start_ps, facts)
        log.info(words, extra={"what": facts["name"], "at": format_time_ps(change.start_ps)})
        return facts

    def _depth(self, port: int, prio: int, _time_ps: int) -> int:
        if self._engine is None:
            return 0
        row = self._engine.state.queues[port * 8 + prio]
        return max(int(row["depth_bytes"]), int(row["watermark_bytes"]))

    def held_back(self, host: int) -> bool:
        """Whether bytes ever stayed in the host's receive buffer."""
        return self._engine is not None and int(self._engine.state.hosts[host]["rx_peak_bytes"]) > 0

    def _incident(self, episode: pause_tree.Episode, now_ps: int) -> dict[str, Any]:
        fabric, origin = self._compiled.fabric, episode.origin
        stood = [fabric.peer_of(node.port) for node in episode.nodes if node.held]
        return {
            "origin": fabric.port_name(origin.port),
            "cause": origin.cause.value,
            "text": pauses.origin_text(fabric, origin),
            "priority": origin.prio,
            "since_seconds": episode.first_ps / PS_PER_S,
            "until_seconds": episode.last_ps / PS_PER_S,
            "open": episode.last_ps + pause_tree.QUIET_PS >= now_ps,
            "depth": episode.depth,
            "hosts": sorted({node.name for node in stood if node.is_host}),
            "switches": sorted({node.name for node in stood if not node.is_host}),
            "paused_seconds": episode.paused_ps / PS_PER_S,
            "remedy": self._remedy(origin),
            "tree": [self._node(node, now_ps) for node in _in_tree_order(episode)],
        }

    def _remedy(self, origin: pause_tree.Origin) -> str:
        """The remedy by the marking that the queue has now. XOFF is unknown here: the limits at which priority groups
        paused are recorded only at the end of a run.
        """
        if origin.cause is not pause_tree.Cause.CONGESTION:
            return pauses.REMEDY[origin.cause]
        transport = self._scenario.transport
        control = marking.control_named(transport.cc, overridden=bool(transport.overrides))
        kmin = None
        if self._engine is not None:
            row = self._engine.state.queues[origin.port * N_CLASSES + origin.prio]
            kmin = int(row["kmin_bytes"]) if row["ecn"] else None
        fabric = self._compiled.fabric
        return marking.advice(control, kmin, 0, usual_curve(fabric.links[fabric.ports[origin.port].link].rate_bps))

    def _node(self, node: pause_tree.PauseNode, now_ps: int) -> dict[str, Any]:
        fabric = self._compiled.fabric
        return {
            "port": fabric.port_name(node.port),
            "victim": fabric.port_name(fabric.ports[node.port].peer),
            "depth": node.depth,
            "pauses": node.pauses,
            "paused_seconds": node.paused_ps / PS_PER_S,
            "still": bool(node.held) and node.held[-1][1] >= now_ps,
        }


class _Slow:
    """The set of slow receivers in the engine's present state."""

    def __init__(self, world: LiveWorld) -> None:
        self._world = world

    def __contains__(self, host: object) -> bool:
        return isinstance(host, int) and self._world.held_back(host)


def _in_tree_order(episode: pause_tree.Episode) -> list[pause_tree.PauseNode]:
    """Each node followed by its descendants."""
    found: list[pause_tree.PauseNode] = []
    waiting = list(reversed(episode.children(-1)))
    while waiting:
        row = waiting.pop()
        found.append(episode.nodes[row])
        waiting += reversed(episode.children(row))
    return found
