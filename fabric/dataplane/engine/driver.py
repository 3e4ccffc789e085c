"""Emulator: simulates a fabric up to a time, applies dated edits at their times, grows tables, returns counters.

The only Python code that runs kernels of the loop. Budgets, growth, draining, checkpoints and the number of threads do
not change the digest.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.engine import checkpoint, counters, issued
from fabric.dataplane.engine.apply import Rates, apply, log_row
from fabric.dataplane.engine.edits import (
    CarrierNoticed,
    DropEvery,
    Edit,
    FibRoute,
    FloodList,
    LinkState,
    PauseStorm,
    StaticRoute,
    TenantRoutes,
    VtepRoutes,
)
from fabric.dataplane.engine.fib import FibWriter
from fabric.dataplane.engine.holds import Holds
from fabric.dataplane.engine.kernels import catch_up_rates, change_ports, level_packets
from fabric.dataplane.engine.ordering import in_order, joined
from fabric.dataplane.engine.parallel.workers import WorkerPool
from fabric.dataplane.engine.sequential import run_sequential
from fabric.dataplane.host import transfers
from fabric.dataplane.port.flowcontrol import counters as flow
from fabric.dataplane.state.build import build
from fabric.dataplane.state.codes import INFINITY_PS, EventKind, Order, QpState, Stop, TraceBit
from fabric.dataplane.state.digest import digest
from fabric.dataplane.state.fill_faults import begin_storm, lose_every, lose_no_more
from fabric.dataplane.state.fill_overlay import set_flood_list
from fabric.dataplane.state.fill_routes import withdraw
from fabric.dataplane.state.fill_tenants import set_way
from fabric.dataplane.state.params import EngineParams
from fabric.dataplane.state.trace import NO_PORT
from fabric.dataplane.state.types import PACKET, State, rows
from fabric.dataplane.transport.registry import control_of
from fabric.errors import FabricError, InvariantError
from fabric.ids import LinkId
from fabric.topology.model import Fabric
from fabric.topology.paths import equal_cost_ports

log = logging.getLogger(__name__)

ALL_EVENTS = TraceBit.PAUSE | TraceBit.DROP | TraceBit.MARK | TraceBit.RATE | TraceBit.TRANSPORT
_NO_BUDGET = 1 << 62
_PORTION, _PORTION_PER_PORT = 1024, 128
"""Packet rows that a device gets at once when other devices must give them."""


class Emulator:
    """One fabric, one run."""

    def __init__(
        self,
        fabric: Fabric,
        params: EngineParams,
        edits: Sequence[Edit] = (),
        *,
        threads: int = 1,
        scheduler: Literal["windows", "sequential"] = "windows",
        order: Literal["source", "insertion"] = "source",
        record: TraceBit = ALL_EVENTS,
        reroute_delay_ps: int = 0,
        tie_key: int = 0,
        keep_messages: bool = False,
    ) -> None:
        if threads < 1 or (threads > 1 and scheduler == "sequential"):
            raise FabricError(
                f"{threads} threads cannot run the {scheduler} scheduler", "use threads 1, or the windows scheduler"
            )
        if order == "insertion" and scheduler != "sequential":
            raise FabricError("order 'insertion' needs the sequential scheduler", "add scheduler 'sequential'")
        if tie_key and order != "insertion":
            raise FabricError("random ties need the order 'insertion'", "leave tie_key at 0, or add order 'insertion'")
        self.fabric = fabric
        self.params = params
        self.now_ps = 0
        self._threads = min(threads, len(fabric.nodes))
        self._sequential = scheduler == "sequential"
        self._reroute_delay_ps = reroute_delay_ps
        self._edits = sorted(self._with_reactions(edits), key=lambda edit: edit.time_ps)
        self._applied = 0
        self._events: list[NDArray[Any]] = []
        self._issued: list[NDArray[Any]] = []
        self._rates = Rates(fabric, params)
        self._holds = Holds(fabric, params)
        self._fib = FibWriter(fabric, descending=params.ecmp_descending)
        self._noticed_down: set[LinkId] = set()
        """Cables whose loss of carrier NICs with source routes have noticed."""
        self._workers = WorkerPool(self._threads)
        self.state: State = build(
            fabric,
            params,
            threads=self._threads,
            sequential=self._sequential,
            trace_mask=int(record),
            keep_messages=keep_messages and len(params.transfers) > 0,
            order=Order.INSERTION if order == "insertion" else Order.SOURCE,
        )
        self._read: tuple[State | None, State] = None, self.state
        self._kept = counters.Kept()
        """A state, and its copy with a separate table of queue pairs for readers: made once per state."""
        for port, every in params.drop_every.items():
            self.state = lose_every(self.state, port, every, "")
        self._reroute()
        self.state.config[0]["tie_key"] = tie_key
        if len(params.transfers):
            issued.check_schedule(params.transfers)
            transfers.begin(self.state)

    # ===== simulating =====

    def advance(self, until_ps: int, *, budget: int | None = None) -> Stop:
        """Simulate every event before until_ps.

        Parameters
        ----------
        until_ps : int    bound, exclusive
        budget : int    at most about this many windows (events, if sequential); None: no limit

        Returns: BOUND (now_ps is until_ps), IDLE (no event is pending and no edit will come) or BUDGET (call again).
        Raises: InvariantError if an invariant of the model was broken.
        """
        left = _NO_BUDGET if budget is None else budget
        while True:
            bound = min(until_ps, self._next_edit_ps())
            stop = self._simulate(bound, left)
            if stop in (Stop.BOUND, Stop.IDLE):
                if bound < until_ps or self._next_edit_ps() == bound < INFINITY_PS:
                    if bound >= until_ps:
                        self.now_ps = until_ps
                        return Stop.BOUND
                    self.now_ps = bound
                    self._apply_due()
                    continue
                if stop is Stop.IDLE and self._next_edit_ps() >= INFINITY_PS:
                    self.now_ps = max(self.now_ps, min(until_ps, self._last_effect_ps()))
                    return Stop.IDLE
                self.now_ps = until_ps
                return Stop.BOUND
            if stop is Stop.BUDGET:
                self.now_ps = max(self.now_ps, self._simulated_ps())
                return Stop.BUDGET

    def _last_effect_ps(self) -> int:
        """The end of an idle fabric: the last frame's effect, the last pause's end, the last queue pair's failure."""
        ports, qps = self.state.ports, self.state.qps
        frames = np.where(ports["tx_pkts"] > 0, ports["busy_until_ps"] + ports["arrival_delay_ps"], 0)
        failures = qps["available_ps"][qps["state"] == QpState.FAILED]
        return int(max(frames.max(), flow.last_change_ps(self.state.prios), failures.max(initial=0)))

    def _simulated_ps(self) -> int:
        if self.state.config[0]["order"] == Order.INSERTION:
            return int(self.state.global_time[1])
        return int(self.state.next_ps.min())

    def _simulate(self, bound_ps: int, budget: int) -> Stop:
        simulate = run_sequential if self._sequential else self._workers.simulate
        while True:
            stop = Stop(simulate(self.state, bound_ps, budget))
            if stop is Stop.PACKETS:
                self._supply_packets()
            elif stop is Stop.TRACE:
                self._collect_events()
            elif stop is Stop.MESSAGES:
                self._supply_messages()
            elif stop in (Stop.BOUND, Stop.IDLE, Stop.BUDGET):
                return stop
            else:
                raise InvariantError(f"{stop.name} at {self.now_ps} ps", "please report this with the scenario")

    def _supply_packets(self) -> None:
        """Level free packet rows, and grow the table if that does not help; nothing is lost (architecture, D8)."""
        self._collect_events()  # after the stop another thread may continue with the device and write to its own region
        stopped = self.state.threads
        needy = {int(row["stop_device"]) for row in stopped if row["stop"] == Stop.PACKETS or self._sequential}
        for device in sorted(needy):
            row = self.state.devices[device]
            wanted = max(_PORTION, _PORTION_PER_PORT * int(row["n_ports"]))
            if int(level_packets(self.state, device, wanted, _PORTION_PER_PORT)) < int(row["reserve"]):
                self._grow_packets()
                break  # the others take their rows from the new half

    def _grow_packets(self) -> None:
        """Double the table; devices take rows from the new half."""
        old = self.state.packets
        packets = rows(2 * len(old), PACKET)
        packets[: len(old)] = old
        self.state = self.state._replace(packets=packets, telemetry=self._grown_telemetry(len(packets)))
        log.debug("packet table grown", extra={"rows": len(packets)})

    def _grown_telemetry(self, n_packets: int) -> NDArray[np.int64]:
        """Telemetry for this many packets; none where the congestion control has none.

        A restored run has the rows of its packets' numbers, which may be more than the packets that it kept.
        """
        old, wanted = self.state.telemetry, n_packets * int(self.state.config[0]["telemetry_words"])
        if len(old) >= wanted:
            return old
        telemetry = rows(wanted, np.int64)
        telemetry[: len(old)] = old
        return telemetry

    def _supply_messages(self) -> None:
        """Free the rows of finished messages of transfers, and double the tables if a host still has none."""
        self._collect_events()  # as for packets
        self._collect_issued()
        stopped = self.state.threads
        needy = [int(row["stop_device"]) for row in stopped if row["stop"] == Stop.MESSAGES or self._sequential]
        if any(int(self.state.agendas[device]["free"]) == 0 for device in needy):
            self.state = issued.grown(self.state)
            log.debug("message table grown", extra={"rows": len(self.state.messages)})

    # ===== edits =====

    def _next_edit_ps(self) -> int:
        return self._edits[self._applied].time_ps if self._applied < len(self._edits) else INFINITY_PS

    def schedule(self, edits: Sequence[Edit]) -> None:
        """Add dated edits to those to come; called between two advances.

        Raises: FabricError if one lies in the past.
        """
        late = [edit for edit in edits if edit.time_ps < self.now_ps]
        if late:
            raise FabricError(
                f"an edit at {late[0].time_ps} ps is in the past at {self.now_ps} ps", "date it now or later"
            )
        to_come = [*self._edits[self._applied :], *self._with_reactions(edits)]
        self._edits[self._applied :] = sorted(to_come, key=lambda edit: edit.time_ps)

    def _with_reactions(self, edits: Sequence[Edit]) -> list[Edit]:
        """With what follows the changes of cables: new shortest paths, and withdrawals of source routes."""
        changed: dict[int, list[LinkId]] = {}
        for edit in edits:
            if isinstance(edit, LinkState):
                changed.setdefault(edit.time_ps, []).append(edit.link)
        found = [*edits, *(_Reroute(time_ps + self._reroute_delay_ps) for time_ps in sorted(changed))]
        if (routes := self.params.source_routes) is not None:
            found += [_Notice(time_ps + routes.withdrawal_ps, tuple(changed[time_ps])) for time_ps in sorted(changed)]
        return found

    def _apply_due(self) -> None:
        """Apply all edits due now, in order; consecutive routes are written together."""
        self._collect_events()
        most = len(self.state.trace) // self._threads // 2
        while self._next_edit_ps() <= self.now_ps:
            routes: list[tuple[int, int, tuple[int, ...]]] = []
            while self._next_edit_ps() <= self.now_ps and int(self.state.threads["trace_count"].max()) < most:
                edit = self._edits[self._applied]
                if routes and not isinstance(edit, FibRoute):
                    break
                if not isinstance(edit, _Reroute | _Notice):
                    log_row(self.state, edit.time_ps, 0, EventKind.EDIT, NO_PORT, self._applied)
                self._applied += 1
                if isinstance(edit, FibRoute):
                    routes.append((edit.switch, edit.host, edit.ports))
                else:
                    self._apply(edit)
            self.state = self._fib.edit(self.state, routes)
            # Also after the last edit: another thread may continue with the device and write to its own region.
            self._collect_events()

    def _apply(self, edit: Edit) -> None:
        if isinstance(edit, _Reroute):
            self._reroute()
        elif isinstance(edit, _Notice):
            for link in edit.links:
                self._notice(link, up=bool(self.state.ports[self.fabric.links[link].a]["up"]))
            withdraw(self.state, self.fabric, self.params, self._noticed_down)
            if self.state.config[0]["nic_ports"] > 1:
                for host in np.unique(self.params.queue_pairs.src).tolist():
                    change_ports(self.state, host, edit.time_ps)
        elif isinstance(edit, FloodList):
            self.state = set_flood_list(self.state, edit.switch, edit.segment, edit.vteps)
        elif isinstance(edit, VtepRoutes):
            self.state = self._fib.edit_vteps(self.state, edit.routes)
        elif isinstance(edit, TenantRoutes):
            for leaf, host, vteps in edit.routes:
                self.state = set_way(self.state, leaf, host, vteps)
        elif isinstance(edit, StaticRoute):
            self.state = self._fib.static(self.state, edit)
        elif isinstance(edit, CarrierNoticed):
            self.state = self._fib.notice(self.state, edit)
        elif isinstance(edit, DropEvery) and edit.ends:
            lose_no_more(self.state, edit.port, edit.fault)
        elif isinstance(edit, DropEvery):
            self.state = lose_every(self.state, edit.port, edit.every, edit.fault, all_kinds=edit.all_kinds)
        elif isinstance(edit, PauseStorm):
            self._storm(edit)
        else:
            resolved = self._holds.resolve(edit)
            if resolved is not None:
                apply(resolved, self.state, self.fabric, self.params, self._rates)

    def _storm(self, edit: PauseStorm) -> None:
        port = self.fabric.nodes[edit.host].first_port
        gap_ps = edit.gap_ps or max(edit.quanta * int(self.state.ports[port]["quantum_ps"]) // 2, 1)
        self.state = begin_storm(
            self.state,
            edit.host,
            port,
            edit.classes,
            (edit.time_ps, edit.time_ps + edit.duration_ps, gap_ps),
            edit.quanta,
        )

    def _notice(self, link: LinkId, *, up: bool) -> None:
        (self._noticed_down.discard if up else self._noticed_down.add)(link)

    def _reroute(self) -> None:
        """Shortest paths over the links that are up."""
        down = frozenset(int(port) for port in np.flatnonzero(self.state.ports["up"] == 0))
        table = self._fib.table(equal_cost_ports(self.fabric, down))
        self.state = self._fib.write(self.state, table, down)

    # ===== reading =====

    @property
    def finished(self) -> bool:
        """Whether every message is done or has failed."""
        return counters.is_finished(self.state)

    @property
    def outcome(self) -> str:
        """The messages' outcome in words, once all are done or have failed."""
        n_messages = int(self.state.config[0]["n_messages"])
        return counters.outcome(self.state.messages[1 : 1 + n_messages], self.state.transfers)

    @property
    def activity(self) -> tuple[int, int]:
        """(events, edits) so far; while it is the same and unchanged_until_ps() says so, readers see the same."""
        return self.events, self._applied

    def unchanged_until_ps(self) -> int:
        """The time up to which a reader finds the counters of now, but for the time that links are down.

        It is the next event or edit; now_ps while a pause lasts or a rate timer runs, which readers see without an
        event, and where nothing is to come.
        """
        state = self.state
        next_ps = min(self._simulated_ps(), self._next_edit_ps())
        qps = state.qps
        if (
            next_ps >= INFINITY_PS
            or flow.any_lasts(state.ports, state.prios)
            or state.config[0]["running_timers"] != 0
            or (
                any(control_of(cc).look is not None for cc in state.config["cc"].tolist())
                and ((qps["acked_psn"] < qps["posted_psn"]) & (qps["state"] != QpState.FAILED)).any()
            )
        ):
            return self.now_ps
        return max(next_ps, self.now_ps)

    @property
    def packet_hops(self) -> int:
        """Packets that have crossed a link so far."""
        return counters.packet_hops(self.state)

    @property
    def events(self) -> int:
        """Events handled so far."""
        return int(self.state.devices["events"].sum())

    def snapshot(self, *, reset_watermarks: bool = False) -> counters.Snapshot:
        """Counters as they are now; reset_watermarks starts a new sampling interval."""
        taken = counters.snapshot(self._with_rates_now(), self.fabric, self.now_ps, self._kept)
        if reset_watermarks:
            counters.reset_watermarks(self.state)
        return taken

    def _with_rates_now(self) -> State:
        """The state for a reader, with all due rate timers applied; the engine applies them when a queue pair acts.

        Only for congestion controls with the hook `look`, and only for queue pairs with work left: the rates of others
        are those of their last action.
        """
        if all(control_of(cc).look is None for cc in self.state.config["cc"].tolist()):
            return self.state
        if self._read[0] is not self.state:
            self._read = self.state, self.state._replace(qps=rows(len(self.state.qps), self.state.qps.dtype))
        seen = self._read[1]
        seen.qps[:] = self.state.qps
        catch_up_rates(seen, self.now_ps)
        return seen

    def _recorded(self) -> list[slice]:
        """Rows of State.trace that kernels have written since the last collection, by thread."""
        capacity = len(self.state.trace) // self._threads
        counts = self.state.threads["trace_count"].tolist()
        return [slice(thread * capacity, thread * capacity + count) for thread, count in enumerate(counts) if count]

    def _collect_events(self) -> None:
        self._events += [joined([self.state.trace[run]]) for run in self._recorded()]
        self.state.threads["trace_count"] = 0

    def drain_events(self) -> NDArray[Any]:
        """TRACE rows since the last call, ordered by time, then device, then the device's own order."""
        if self._events:
            self._collect_events()
            table = joined(self._events)
            ordered = in_order(table, [slice(0, len(table))])
        else:
            ordered = in_order(self.state.trace, self._recorded())
        self._events = []
        self.state.threads["trace_count"] = 0
        return ordered

    def _collect_issued(self) -> None:
        if self.state.config[0]["keep_messages"]:
            rows = issued.finished(self.state)
            if len(rows):
                self._issued.append(rows)
                transfers.release_done(self.state)

    def drain_messages(self, *, unfinished: bool = False) -> NDArray[Any]:
        """ISSUED_MESSAGE rows of messages of transfers that ended since the last call, with those of computations, in
        order of (end, transfer, index); with `unfinished` also those under way, behind them. Empty unless
        keep_messages.
        """
        self._collect_issued()
        found, self._issued = self._issued, []
        return issued.in_order([*found, issued.under_way(self.state)] if unfinished else found)

    def digest(self) -> str:
        """SHA-256 over the observable tables."""
        return digest(self.state)

    # ===== checkpoints =====

    def save(self, path: Path) -> None:
        """Write a checkpoint, atomically. Drained events belong to the caller; others are kept in the file."""
        self._collect_events()
        self._collect_issued()
        checkpoint.write(
            path,
            self.state,
            {"now_ps": self.now_ps, "applied": self._applied, "threads": self._threads, "sequential": self._sequential},
            joined(self._events),
            issued.in_order(self._issued),
        )

    @classmethod
    def restore(
        cls, fabric: Fabric, params: EngineParams, edits: Sequence[Edit], path: Path, **options: Any
    ) -> Emulator:
        """Resume from a checkpoint of the same fabric, parameters, edits and options.

        Raises: FabricError if the file is damaged or belongs to another run.
        """
        emulator = cls(fabric, params, edits, **options)
        state, facts, events, messages = checkpoint.read(path, emulator.state)
        if facts["threads"] != emulator._threads or facts["sequential"] != emulator._sequential:
            raise FabricError(
                f"{path} was written with {facts['threads']} threads by the "
                f"{'sequential' if facts['sequential'] else 'windows'} scheduler",
                "resume with the same options",
            )
        emulator.state = state
        emulator.now_ps, emulator._applied = int(facts["now_ps"]), int(facts["applied"])
        emulator._revisit(emulator._edits[: emulator._applied])
        emulator._events = [events] if len(events) else []
        emulator._issued = [messages] if len(messages) else []
        return emulator

    def _revisit(self, edits: Sequence[Edit]) -> None:
        """Repeat the effects outside State of the edits before a checkpoint."""
        self._rates, self._holds = Rates(self.fabric, self.params), Holds(self.fabric, self.params)
        self._noticed_down.clear()
        up: dict[int, bool] = {}
        down: frozenset[int] = frozenset()
        routes: list[FibRoute] = []
        for edit in edits:
            resolved = self._holds.resolve(edit)
            if isinstance(edit, _Reroute):
                down = frozenset(
                    int(port)
                    for link, is_up in up.items()
                    if not is_up
                    for port in (self.fabric.links[link].a, self.fabric.links[link].b)
                )
                routes = []
            elif isinstance(edit, _Notice):
                for link in edit.links:
                    self._notice(link, up=up.get(link, True))
            elif isinstance(resolved, FibRoute):
                routes.append(resolved)
            elif isinstance(resolved, LinkState):
                up[resolved.link] = resolved.up
            elif resolved is not None:
                self._rates.revisit(resolved, self.state)
        self._fib.learn(self.state, edits, routes, equal_cost_ports(self.fabric, down), down)


@dataclass(frozen=True, slots=True)
class _Notice(Edit):
    """NICs notice the present carrier of some cables, which changed transport.source_routes.withdrawal ago."""

    links: tuple[LinkId, ...]


class _Reroute(Edit):
    """Recompute shortest paths after link states changed."""
