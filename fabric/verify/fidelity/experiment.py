"""Run a scenario of scenarios/fidelity and read the results: shared by all emulated rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import EventKind, Stop, TraceBit
from fabric.errors import FabricError
from fabric.scenario.compile.scenario import CompiledScenario, compile_scenario
from fabric.scenario.load import load_scenario
from fabric.topology.model import Fabric

SCENARIOS: Final = Path(__file__).resolve().parents[3] / "scenarios" / "fidelity"
"""Beside the packages in the repository; a wheel has none."""
PS_PER_S: Final = 10**12
_LOOKS: Final = 100
"""Interval at which a run is checked for completion."""


def compiled(name: str, *sets: str) -> CompiledScenario:
    """A scenario by name, with `--set` overrides.

    Raises: FabricError where the scenarios are not available; InputErrors for a bad override.
    """
    file = SCENARIOS / f"{name}.yml"
    if not file.is_file():
        raise FabricError(f"{file} is not there", "run from a checkout of the repository, which has the scenarios")
    return compile_scenario(load_scenario(file, sets))


def emulator(case: CompiledScenario, *, record: TraceBit | None = None, **changes: Any) -> Emulator:  # noqa: ANN401
    """The compiled scenario on an engine; `changes` replace fields of its EngineParams."""
    return Emulator(
        case.fabric,
        replace(case.params, **changes),
        case.edits,
        record=case.record if record is None else record,
        reroute_delay_ps=case.reroute_delay_ps,
    )


def simulate(
    case: CompiledScenario,
    until_ps: int | None = None,
    *,
    record: TraceBit | None = None,
    **changes: Any,  # noqa: ANN401  as EngineParams takes them
) -> Emulator:
    """Run to the end of the scenario or until_ps; a scenario that stops when done ends earlier."""
    engine = emulator(case, record=record, **changes)
    end_ps = case.duration_ps if until_ps is None else until_ps
    if not case.stop_when_done:
        engine.advance(end_ps)
        return engine
    for look in range(1, _LOOKS + 1):
        if engine.advance(end_ps * look // _LOOKS) is Stop.IDLE or engine.finished:
            break
    return engine


def until(engine: Emulator, end_ps: int, step_ps: int, found: Callable[[Emulator], bool]) -> bool:
    """Advance in steps until `found`; whether it was, before end_ps."""
    while engine.now_ps < end_ps:
        engine.advance(min(engine.now_ps + step_ps, end_ps))
        if found(engine):
            return True
    return False


def of_kind(events: NDArray[Any], kind: EventKind) -> NDArray[Any]:
    """Trace rows of one kind."""
    rows: NDArray[Any] = events[events["kind"] == int(kind)]
    return rows


def port(fabric: Fabric, node: str, peer: str) -> int:
    """The port of `node` towards `peer` (the first, if several)."""
    for own, other in fabric.neighbours(fabric.by_name[node].id):
        if other.name == peer:
            return int(own.id)
    raise FabricError(f"{node} has no cable to {peer}", "name two neighbours")


def frame_bytes(case: CompiledScenario) -> int:
    """A full data frame that is not a message's first."""
    frames = case.params.frames
    return frames.payload_bytes + frames.data_header_bytes


def wire_bytes(case: CompiledScenario) -> int:
    """The same with the overhead of the wire."""
    return frame_bytes(case) + case.params.frames.wire_overhead_bytes


def charge_bytes(case: CompiledScenario, switch: str) -> int:
    """Bytes that the switch accounts such a frame with: whole cells."""
    cell = case.params.switches[case.fabric.by_name[switch].id].cell_bytes
    return -(-frame_bytes(case) // cell) * cell


def jain(values: NDArray[np.float64]) -> float:
    """Jain's fairness index."""
    return float(values.sum() ** 2 / (len(values) * (values**2).sum()))
