"""One run of a study, as a job: a variant of a scenario is compiled, simulated and measured in a worker."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml
from numpy.typing import NDArray

from fabric.dataplane.engine.driver import Emulator
from fabric.errors import InputErrors
from fabric.runs import simulate
from fabric.runs.measured import measure_run
from fabric.runs.measures import Number
from fabric.runs.session import Hooks
from fabric.scenario.estimate.admission import STAGE, Admission
from fabric.scenario.estimate.figures import Estimate
from fabric.scenario.estimate.machine import Machine
from fabric.scenario.load import apply_values, build_scenario
from fabric.studies.jobs import RefusedHereError
from fabric.verify.deadlock import find_cycle

if TYPE_CHECKING:  # annotations only
    from fabric.dataplane.engine.counters import Snapshot


@dataclass(frozen=True)
class Variant:
    """A scenario with some values changed: the argument of a job."""

    data: Mapping[str, Any]
    """The scenario as its file has it."""
    file: Path
    """Names the scenario in messages; files that it names are looked for in its folder."""
    values: Mapping[str, object] = field(default_factory=dict)
    """Path -> value, as `--set` takes them; None removes a field."""
    warm_up_ps: int = 0
    keep: Path | None = None
    """Directory of a recorded run that is kept; absent: only the measures are."""
    confirmed: bool = False
    """Whether the user accepts a run that is likely to be larger than the machine."""


@dataclass(frozen=True)
class Run:
    """What a job returns. All but the last two are the same in every repetition."""

    status: str
    """done, or stopped-no-progress."""
    headline: str
    metrics: Mapping[str, Number]
    """Every metric of expectations, in base units (ps, bytes, bit/s, ratio); None: the run has no such value."""
    expectations_met: bool
    digest: str
    packet_hops: int
    resolved: str
    """The resolved scenario as JSON."""
    fct_ps: NDArray[np.int64]
    """(n,) completion times of the messages done, sorted."""
    compile_s: float
    """Wall time until the engine began."""
    simulate_s: float


def simulate_variant(variant: Variant, on_sample: Callable[[Snapshot], None] | None = None) -> Run:
    """Compile, simulate, measure; `on_sample` gets every sample of the run.

    Raises: InputErrors where the scenario is wrong, or does not fit this machine; InvariantError.
    """
    began = time.perf_counter()
    data = apply_values(variant.data, variant.values)
    scenario = build_scenario(data, variant.file)
    compiled, plan = simulate.prepare(
        scenario,
        sets=[f"{path}={json.dumps(value)}" for path, value in variant.values.items()],
        text="" if variant.keep is None else yaml.safe_dump(dict(variant.data), sort_keys=False, allow_unicode=True),
        admit=lambda figures: _admit(variant, figures),
    )
    compiled_at = time.perf_counter()
    with _directory(variant, needed=plan.control is not None) as out:
        found = measure_run(
            compiled,
            plan,
            Hooks(find_cycle=_cycle, on_sample=on_sample),
            warm_up_ps=variant.warm_up_ps,
            recorded=None if out is None else simulate.Options(out, checkpoint_every_s=0.0),
        )
    return Run(
        found.status,
        found.headline,
        found.metrics,
        found.expectations_met,
        found.digest,
        found.packet_hops,
        json.dumps(plan.about["scenario"]["resolved"], separators=(",", ":")),
        found.fct_ps,
        compile_s=compiled_at - began,
        simulate_s=time.perf_counter() - compiled_at,
    )


def _admit(variant: Variant, figures: Estimate) -> None:
    """Raises: InputErrors for a run that no machine can do, RefusedHereError for one that this machine cannot."""
    anywhere = Admission(variant.file.name, paced=True, machine=lambda: Machine(None, 0))
    if refused := [it.problem for it in anywhere.objections(figures) if it.final]:
        raise InputErrors(STAGE, refused)
    try:
        Admission(variant.file.name, variant.keep, confirm=lambda _: variant.confirmed)(figures)
    except InputErrors as error:
        raise RefusedHereError(error.stage, error.problems) from error


@contextmanager
def _directory(variant: Variant, *, needed: bool) -> Iterator[Path | None]:
    """The run directory to write; None where nothing needs one. What a killed worker left there is removed."""
    if variant.keep is not None:
        shutil.rmtree(variant.keep, ignore_errors=True)
        yield variant.keep
    elif needed:
        with tempfile.TemporaryDirectory(prefix="fabric-study-", ignore_cleanup_errors=True) as work:
            yield Path(work) / "run"
    else:
        yield None


def _cycle(engine: Emulator) -> Sequence[tuple[int, int]]:
    return find_cycle(engine.state, engine.fabric)
