"""`transport.overrides`: other congestion controls for the queue pairs of some hosts or entries of workload.

Every override becomes a scenario of its own whose `transport:` has that control, so that checks, defaults, windows and
frame sizes are those that it would have alone. What is not about the control stays that of `transport:`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.state.params import EngineParams, LawParams
from fabric.errors import Problem
from fabric.name_patterns import fits_pattern
from fabric.scenario.compile.controls import CONTROLS, rate_problems
from fabric.scenario.compile.layers import merge
from fabric.scenario.compile.transport import frames, transport
from fabric.scenario.compile.window import with_window
from fabric.scenario.presets.models import default_tree
from fabric.scenario.schema.endpoints import TransportSpec
from fabric.scenario.schema.scenario import Scenario
from fabric.topology.model import Fabric
from fabric.topology.paths import EcmpTable
from fabric.topology.select import nearest

Ints = NDArray[np.int64]
OF_A_LAW: Final = ("cc", *(model.section for model in CONTROLS.values() if model.section), "window", "variable_window")
"""Fields of `transport:` that an override replaces as a whole: what it leaves out is the default."""


def alone(scenario: Scenario) -> list[Scenario]:
    """For each override the scenario in which all queue pairs have its control."""
    found = []
    for override in scenario.transport.overrides:
        own = {name: getattr(override, name) for name in OF_A_LAW}
        written = scenario.transport.model_copy(update={**own, "overrides": ()})
        written.model_fields_set.difference_update({name for name, value in own.items() if value is None})
        written.model_fields_set.update({name for name, value in own.items() if value is not None})
        found.append(scenario.model_copy(update={"transport": written}))
    return found


def completed(scenario: Scenario, rdma: TransportSpec) -> list[TransportSpec]:
    """The complete `transport:` section of each override; rdma: that of the scenario."""
    defaults = TransportSpec.model_validate(default_tree(scenario.model)["transport"])
    base = rdma.model_copy(update={name: getattr(defaults, name) for name in OF_A_LAW} | {"overrides": ()})
    return [merge(base, override) for override in scenario.transport.overrides]


def at_override(path: str, number: int) -> str:
    """'transport.dctcp.gain' -> 'transport.overrides[0].dctcp.gain'."""
    file, _, field = path.rpartition("transport.")  # the file's name may have the word as well
    return f"{file}transport.overrides[{number}].{field}"


def law_problems(rdma: TransportSpec, specs: Sequence[TransportSpec], slowest_bps: int, path: str) -> Iterator[Problem]:
    """Problems of parameters that have no effect on the slowest NIC, and of those that receivers have once."""
    delays: set[int] = set()
    for number, spec in enumerate((rdma, *specs)):
        law = transport(spec, slowest_bps).dcqcn if spec.cc == "dcqcn" else None
        if law is not None and delays and law.cnp_delay_ps not in delays:
            text = "differs from another one: a receiver sends its CNPs in the order of the packets that caused them"
            yield Problem(f"{path}transport.overrides[{number - 1}].dcqcn.cnp_delay", text, "give all the same value")
        if law is not None:
            delays.add(law.cnp_delay_ps)
    for number, spec in enumerate(specs):
        for problem in rate_problems(spec, slowest_bps, path):
            yield Problem(at_override(problem.path, number), problem.text, problem.hint)


def chooser(scenario: Scenario, fabric: Fabric, path: str, problems: list[Problem]) -> Callable[[Ints, str], Ints]:
    """(sending hosts, name of their entry of workload) -> number of the law of each; overrides that name nothing are
    problems.
    """
    names = [node.name for node in fabric.hosts]
    loads = [spec.name or spec.kind for spec in scenario.workload]
    rows = []
    for number, override in enumerate(scenario.transport.overrides):
        here = f"{path}transport.overrides[{number}]"
        hosts = np.array([override.host is None or fits_pattern(name, override.host) for name in names], np.bool_)
        for field, pattern, known, any_ in (
            ("host", override.host, names, hosts.any()),
            ("workload", override.workload, loads, any(fits(name, override.workload) for name in loads)),
        ):
            if not any_:
                what = "hosts" if field == "host" else "entries of workload"
                text = f"'{pattern}' matches no {'host' if field == 'host' else 'entry of workload'}"
                problems.append(Problem(f"{here}.{field}", text, nearest(str(pattern), known, what)))
        rows.append((hosts, override.workload))

    def laws(src: Ints, load: str) -> Ints:
        found = np.zeros(len(src), np.int64)
        for number, (hosts, pattern) in enumerate(rows, 1):
            if fits(load, pattern):
                found[hosts[src]] = number
        return found

    return laws


def fits(name: str, pattern: str | None) -> bool:
    """Whether a field host or workload of an override is about a name; absent it is about all."""
    return pattern is None or fits_pattern(name, pattern)


def with_laws(
    scenario: Scenario, specs: Sequence[TransportSpec], slowest_bps: int, fabric: Fabric, params: EngineParams,
    routes: EcmpTable,
) -> EngineParams:  # fmt: skip
    """`params` with the law of each override. specs: as completed() makes them."""
    laws = []
    for own, spec in zip(alone(scenario), specs, strict=True):
        sizes = frames(spec)
        given = replace(params, transport=transport(spec, slowest_bps), frames=sizes, laws=())
        laws.append(LawParams(with_window(own, fabric, given, routes).transport, sizes))
    return replace(params, laws=tuple(laws))


def unused(scenario: Scenario, law: Ints | None, path: str) -> Iterator[Problem]:
    """Overrides that no queue pair has, because of later ones or because nothing is sent."""
    used = set() if law is None else set(np.unique(law).tolist())
    for number in range(1, len(scenario.transport.overrides) + 1):
        if number not in used:
            text = "has no effect: no queue pair has it, because these hosts send nothing here, or later ones match too"
            yield Problem(f"{path}transport.overrides[{number - 1}]", text, "remove it, or name other hosts")


def of_each(params: EngineParams, at: Ints, make: Callable[[EngineParams], Ints]) -> Ints:
    """`make` with the law of each row. at: queue pair of each row of what `make` returns, -1 where there is none."""
    found, law = make(params), params.queue_pairs.law
    for number, other in enumerate(params.laws if law is not None else (), 1):
        mine = (at >= 0) & (np.asarray(law)[at] == number)
        if mine.any():
            found[mine] = make(replace(params, transport=other.transport, frames=other.frames))[mine]
    return found
