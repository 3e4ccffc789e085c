"""The emulator for Python: advance to a time, read counters, inject faults, continue."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType, TracebackType
from typing import Any, Final, Literal, Self

import pyarrow as pa
import pyarrow.compute as pc

from fabric.api.scenarios import Scenario, Source, load
from fabric.api.words import python_words
from fabric.dataplane.engine.counters import Snapshot
from fabric.dataplane.engine.edits import Edit
from fabric.dataplane.engine.holds import in_force
from fabric.dataplane.state.codes import Stop, TraceBit
from fabric.errors import FabricError, InputErrors, Problem, UnitError
from fabric.faults.spec import FaultSpec
from fabric.forwarding.message_ports import message_paths
from fabric.runs import measures, messages, recorder
from fabric.runs.observables import OBSERVABLES
from fabric.scenario.compile.scenario import CompiledScenario, compile_scenario
from fabric.scenario.inject import LiveEmulator, fault_change, rerouted, settings_after
from fabric.scenario.schema.expectations import summary_key, to_summary
from fabric.topology.select import nearest, nearest_node
from fabric.units import PS_PER_NS, parse_time_ps

_SLICE_S: Final = 0.25
"""Wall time between two checks for an interrupt."""


class Emulator:
    """One fabric that is simulated step by step. The packets are those of `fabric.run`, for any steps.

    Parameters
    ----------
    scenario     what fabric.load takes, or what it returned
    threads      threads of the engine; the result is the same for any number
    scheduler    the result is the same for both

    Raises: InputErrors for a scenario that cannot be run.

    Not for concurrent use by two threads. A `with` block, or close(), frees its memory.

    Example
    -------
    >>> with fabric.Emulator('incast') as emulator:
    ...     emulator.advance('100us')
    ...     emulator.inject('link-down', link='leaf2--spine1', until='+200us')['kind']
    True
    'link-down'
    """

    def __init__(
        self, scenario: Scenario | Source, *, threads: int = 1, scheduler: Literal["windows", "sequential"] = "windows"
    ) -> None:
        self.scenario: Scenario = load(scenario)
        with python_words():
            self._compiled: CompiledScenario = replace(compile_scenario(self.scenario.spec), record=TraceBit(0))
            self._engine: LiveEmulator | None = LiveEmulator(self._compiled, threads=threads, scheduler=scheduler)
        self._routed = self._compiled
        self._edits: list[Edit] = list(self._compiled.edits)
        self._injected: list[tuple[FaultSpec, Mapping[str, Any]]] = []

    # ===== time =====

    @property
    def now_ns(self) -> int:
        """Simulated time."""
        return self._running.now_ps // PS_PER_NS

    @property
    def end_ns(self) -> int:
        """The scenario's duration; advance() stops there."""
        return self._compiled.duration_ps // PS_PER_NS

    @property
    def finished(self) -> bool:
        """Whether every message is done or has failed."""
        return self._running.finished

    @property
    def packet_hops(self) -> int:
        """Packets that have crossed a link so far."""
        return self._running.packet_hops

    def advance(self, until: str | int) -> bool:
        """Simulate every event before a time, or before the end of the scenario.

        Parameters
        ----------
        until    nanoseconds of simulated time, or text: '5ms', or '+100us' from now

        Returns: True while there is more to simulate: the scenario's duration is not over, an event is pending, and,
        with `run.stop: done`, some message is neither done nor failed. False ends a loop.
        Raises: InputErrors for a time in the past, InvariantError where an invariant of the model is broken.
        After a KeyboardInterrupt the emulator can continue.
        """
        engine = self._running
        until_ps = min(self._moment(until), self._compiled.duration_ps)
        budget, stop = 8, Stop.BUDGET
        while stop is Stop.BUDGET:
            began = time.monotonic()
            with _interrupts_deferred():
                stop = engine.advance(until_ps, budget=budget)
                engine.drain_events()
            took = time.monotonic() - began
            budget = max(1, min(int(budget * min(_SLICE_S / max(took, 1e-6), 4.0)), 1 << 40))
        if self._compiled.stop_when_done and engine.finished:
            return False
        return stop is not Stop.IDLE and engine.now_ps < self._compiled.duration_ps

    # ===== reads =====

    def counters(self) -> pa.Table:
        """Present value of every observable, without zeros: the columns of 'counters' in docs/results.md."""
        return recorder.counters(self._snapshot())

    def total(
        self, observable: str, *, device: str | None = None, port: str | None = None, class_: int | None = None
    ) -> int | float:
        """Present value of one observable, summed over all or the given devices, ports and classes.

        Raises: InputErrors for an observable, device or port that does not exist.
        """
        self._known(observable, device, port)
        table = self.counters()
        keep = pc.equal(table["observable"].cast(pa.string()), observable)
        for column, wanted in (("device", device), ("port", port), ("class", class_)):
            if wanted is not None:
                values = table[column].cast(pa.int64() if column == "class" else pa.string())
                keep = pc.and_(keep, pc.fill_null(pc.equal(values, wanted), fill_value=False))
        found = table.filter(keep)
        whole, ratio = (pc.sum(found[name]).as_py() or 0 for name in ("value", "value_ratio"))
        return ratio if next(it for it in OBSERVABLES if it.name == observable).is_ratio else whole

    def messages(self) -> pa.Table:
        """State of every message: the columns of 'messages' in docs/results.md."""
        return messages.table(
            self._snapshot(),
            self._compiled.ideal_ps,
            self._compiled.labels,
            message_paths(self._running)[: len(self._compiled.ideal_ps)],
        )

    def metrics(self) -> dict[str, float | int | None]:
        """Present value of every metric, with the names of Result.metrics.

        Those of the control plane are None: they are known once a run has ended.
        """
        found = measures.measure(self._snapshot(), self._compiled.ideal_ps, 0)
        return {summary_key(name): to_summary(name, value) for name, value in found.items()}

    def digest(self) -> str:
        """SHA-256 of the engine's state: equal for two emulators with the same simulation up to the same time."""
        return self._running.digest()

    # ===== changes =====

    def inject(self, kind: str, **fields: object) -> dict[str, Any]:
        """Inject a fault or a change, now or at a later time.

        Parameters
        ----------
        kind      a fault of docs/scenario.md: 'link-down', 'pause-storm', 'slow-receiver', 'bit-errors', ...;
                  'config-drift' changes thresholds, ECN and PFC of ports
        fields    of that fault; `at` may be left out and means now, `at` and `until` may be '+500us' from now

        Returns: the record of the truth: name, kind, objects, start and end.
        Raises: InputErrors with every problem.
        """
        engine = self._running
        now_ps = engine.now_ps
        name = f"injected-{len(self._injected) + 1}"
        compiled = self._compiled
        done = in_force((it for it in self._edits if it.time_ps <= now_ps), compiled.fabric, compiled.params)
        settings = settings_after(compiled.fabric, compiled.params, done)
        with python_words():
            change = fault_change(
                {"kind": kind, **fields}, now_ps, replace(compiled, params=settings, edits=self._edits), name
            )
            if change.spec is None or change.truth is None:
                raise AssertionError("a fault has both")
            if compiled.control is None:
                engine.schedule(change.edits)
                self._edits += change.edits
            else:
                after = rerouted(
                    self.scenario.spec, [*(spec for spec, _ in self._injected), change.spec], self._routed, now_ps
                )
                engine.replan([it for it in after.edits if it.time_ps >= now_ps])
                self._edits, self._routed = list(after.edits), after
        self._injected.append((change.spec, change.truth))
        return dict(change.truth)

    @property
    def truth(self) -> tuple[Mapping[str, Any], ...]:
        """The scenario's faults and the injected ones, with the columns of Result.table('truth')."""
        return (*self._compiled.truth, *(record for _, record in self._injected))

    # ===== the end =====

    def close(self) -> None:
        """Free memory and worker threads. May be called again; all other methods raise FabricError afterwards."""
        self._engine = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        where = "closed" if self._engine is None else f"at {self.now_ns} ns"
        return f"<fabric.Emulator {self.scenario.name!r} {where}>"

    # ===== internal =====

    @property
    def _running(self) -> LiveEmulator:
        if self._engine is None:
            raise FabricError("this emulator is closed", "make another: fabric.Emulator(scenario)")
        return self._engine

    def _snapshot(self) -> Snapshot:
        return self._running.snapshot()

    def _moment(self, until: str | int) -> int:
        """`until` in ps."""
        now_ps = self._running.now_ps
        if isinstance(until, str):
            try:
                found = parse_time_ps(until.removeprefix("+")) + (now_ps if until.startswith("+") else 0)
            except UnitError as error:
                raise InputErrors("parameters", [Problem("until", error.text, error.hint)]) from error
        else:
            found = until * PS_PER_NS
        if found < now_ps:
            raise InputErrors(
                "parameters",
                [
                    Problem(
                        "until",
                        f"{until!r} is in the past; simulated time is {self.now_ns} ns",
                        "give a later time, or '+100us' from now",
                    )
                ],
            )
        return found

    def _known(self, observable: str, device: str | None, port: str | None) -> None:
        problems = []
        names = [it.name for it in OBSERVABLES]
        if observable not in names:
            problems.append(Problem("observable", f"{observable!r} is not an observable", nearest(observable, names)))
        fabric = self._compiled.fabric
        nodes = {node.name: node for node in fabric.nodes}
        if device is not None and device not in nodes:
            hint = nearest_node(device, fabric.nodes, "devices")
            problems.append(Problem("device", f"{device!r} is not in the fabric", hint))
        elif port is not None:
            ports = {
                fabric.port_name(it.id).partition(":")[2]
                for it in fabric.ports
                if device is None or it.node == nodes[device].id
            }
            if port not in ports:
                problems.append(
                    Problem(
                        "port",
                        f"{port!r} is not a port" + (f" of {device}" if device else ""),
                        nearest(port, sorted(ports)),
                    )
                )
        if problems:
            raise InputErrors("parameters", problems)


@contextmanager
def _interrupts_deferred() -> Iterator[None]:
    """Deliver a SIGINT after the block, so that the engine's state stays consistent."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is None:
        yield
        return
    asked: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        asked.append(number)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if asked:
        signal.raise_signal(signal.SIGINT)
