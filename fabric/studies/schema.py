"""The file of a study, STUDY.yml, as one strict model: which runs there are, and what is wanted of them.

`fabric sweep` carries out a design of points, `fabric tune` searches among the same parameters; both read this file.
What needs other files (the scenarios) or several fields at once is checked in plan.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from fabric.errors import UnitError
from fabric.scenario.schema.expectations import METRICS, ExpectationField, metric_called
from fabric.topology.quantities import TimePs
from fabric.topology.select import nearest
from fabric.topology.spec import Name, Strict

MAX_POINTS: Final = 100_000
"""Points of a design; a study of more is a sample (sobol), not a grid."""
MAX_SEEDS: Final = 10_000
Scalar = Annotated[
    Any, WithJsonSchema({"anyOf": [{"type": it} for it in ("string", "number", "boolean", "null", "array")]})
]
"""Any value of a scenario's field, as its file has it."""
ParameterName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,30}$")]


def _share(value: object) -> object:
    """'5%' is 0.05."""
    if isinstance(value, str) and value.endswith("%"):
        try:
            return float(value[:-1]) / 100
        except ValueError:
            pass
    if isinstance(value, str):
        raise UnitError(f"{value!r} is not a share", "write per cent, such as '5%', or a number such as 0.05")
    return value


Share = Annotated[
    float,
    BeforeValidator(_share),
    WithJsonSchema({"anyOf": [{"type": "string", "examples": ["5%"]}, {"type": "number"}], "description": "A share."}),
]


def _metric(value: object) -> object:
    if not isinstance(value, str):
        raise UnitError(f"no metric is called {value!r}", nearest(str(value), list(METRICS), "metrics"))
    return metric_called(value)


Measure = Annotated[
    str,
    BeforeValidator(_metric),
    WithJsonSchema({"type": "string", "enum": list(METRICS), "description": "A metric of expectations."}),
]


class RangeSpec(Strict):
    """From one value to another, both included."""

    start: Scalar = Field(alias="from", description="First value: a number, or a quantity such as '100KB'.")
    to: Scalar = Field(description="Last value, in the same kind of unit.")
    steps: int | None = Field(
        None, ge=2, le=10_000, description="Number of values; absent: any value, for designs that draw and for tuning."
    )


class ParameterSpec(Strict):
    """One thing that differs between points: values, range, log_range or cases."""

    set: Scalar = Field(
        None,
        description="Field of the scenario as `fabric run --set` names it, such as `switches.ecn.kmin`; or a list of "
        "fields that get the same value. Not with cases, which name their fields.",
    )
    values: Annotated[tuple[Scalar, ...], Field(strict=False, min_length=1, max_length=10_000)] | None = Field(
        None, description="These values."
    )
    range: RangeSpec | None = Field(None, description="Values at equal distances.")
    log_range: RangeSpec | None = Field(None, description="Values at equal ratios.")
    cases: Mapping[str, Mapping[str, Scalar]] | None = Field(
        None,
        min_length=1,
        description="Name of a case -> the fields it sets, such as `{dctcp: {transport.cc: dctcp}}`.",
    )
    factor_of: ParameterName | None = Field(
        None,
        description="Name of another parameter: the values are factors of its value, so that Kmax is never below Kmin.",
    )

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        given = [name for name in ("values", "range", "log_range", "cases") if getattr(self, name) is not None]
        if len(given) != 1:
            found = " and ".join(given) if given else "none of values, range, log_range, cases"
            raise ValueError(f"{found} {'are' if given else 'is'} given; give one of them")
        if self.cases is not None and (self.set is not None or self.factor_of is not None):
            raise ValueError("cases name the fields that they set; leave out set and factor_of")
        if self.cases is None and not self.paths:
            raise ValueError("set is missing; name the field of the scenario, such as switches.ecn.kmin")
        if self.cases is None and not all(isinstance(it, str) and it for it in self.paths):
            raise ValueError("set is not the path of a field; write it as --set does, such as switches.ecn.kmin")
        return self

    @property
    def paths(self) -> tuple[str, ...]:
        """The fields of the scenario."""
        return () if self.set is None else (self.set,) if isinstance(self.set, str) else tuple(self.set)


class WorkloadSpec(Strict):
    """One scenario of a study that has several."""

    scenario: str = Field(
        min_length=1, description="Scenario file, relative to this one, or the name of a shipped one."
    )
    set: Mapping[str, Scalar] = Field(default_factory=dict, description="Field -> value, for this workload.")


class DesignSpec(Strict):
    """Points that are drawn."""

    kind: Literal["random", "sobol", "lhs"] = Field(
        description="random: independent; sobol: a scrambled Sobol sequence, which fills the space evenly (a power of "
        "two of points is best); lhs: a Latin hypercube."
    )
    points: int = Field(ge=1, le=MAX_POINTS, description="Number of points.")
    seed: int = Field(1, ge=0, lt=2**31, description="Seed of the drawing.")


class UntilSpec(Strict):
    """When to stop repeating."""

    measure: Measure = Field(description="Its mean must be known well enough.")
    half_width: Share = Field(gt=0, lt=10, description="Half of the confidence interval, as a share of the mean: '5%'.")
    at_most: int = Field(ge=3, le=MAX_SEEDS, description="Repetitions at which to give up.")


class RepetitionsSpec(Strict):
    """Runs of the same point with other seeds."""

    seeds: int = Field(1, ge=1, le=MAX_SEEDS, description="Runs of each point.")
    first_seed: int = Field(1, ge=0, lt=2**31, description="The first seed; the next ones follow it.")
    pairing: Literal["paired", "independent"] = Field(
        "paired",
        description="paired: every point has the same seeds (common random numbers), so differences between points are "
        "known better than the points themselves; independent: no two runs share a seed.",
    )
    confidence: float = Field(0.95, gt=0.5, lt=1, description="Level of every interval.")
    until: UntilSpec | None = Field(None, description="Further repetitions, for each point, until its mean is known.")

    @model_validator(mode="after")
    def _enough(self) -> Self:
        if self.until is not None and self.until.at_most <= self.seeds:
            raise ValueError(
                f"until.at_most: {self.until.at_most} are not more than the {self.seeds} of seeds; raise it"
            )
        if self.until is not None and self.seeds < 3:
            raise ValueError("seeds: an interval to stop at needs at least 3 runs of a point; write 3 or more")
        return self


class TuneSpec(Strict):
    """How `fabric tune` searches."""

    sampler: Literal["tpe", "nsga2", "cmaes", "random"] = Field(
        "tpe",
        description="tpe: tree-structured Parzen estimators, good with few trials; nsga2: a genetic algorithm for "
        "several objectives; cmaes: evolution of one objective over numbers, without constraints; random: learns from "
        "no result, constraints only decide which points count.",
    )
    trials: int = Field(ge=2, le=MAX_POINTS, description="Points that are tried.")
    seed: int = Field(1, ge=0, lt=2**31, description="Seed of the sampler.")
    confirm: int = Field(
        3, ge=0, le=MAX_SEEDS, description="Further seeds for each point of the Pareto front, for its intervals."
    )
    at_once: int = Field(
        4, ge=1, le=1000, description="Trials that are asked for together; the search is the same for any workers."
    )
    elsewhere: Mapping[str, WorkloadSpec] = Field(
        default_factory=dict, description="Name -> scenario: where the chosen point is compared with the baseline, too."
    )


Goal = Literal["min", "max"]


class Study(Strict):
    """One study file."""

    name: Name = Field(description="Name of the study and of its folder.")
    description: str = Field("", max_length=2000, description="What it asks.")
    scenario: str | None = Field(
        None, min_length=1, description="Scenario file, relative to this one, or the name of a shipped one."
    )
    workloads: Mapping[str, WorkloadSpec] | None = Field(
        None, min_length=1, description="Instead of scenario: name -> scenario, for several."
    )
    set: Mapping[str, Scalar] = Field(default_factory=dict, description="Field -> value, for every run.")
    parameters: Mapping[ParameterName, ParameterSpec] = Field(
        default_factory=dict, description="Name -> what differs between points. None: repetitions of one point."
    )
    design: Literal["grid", "zip"] | DesignSpec = Field(
        "grid",
        description="grid: every combination; zip: the first values, the second values, ...; or points that are drawn.",
    )
    repetitions: RepetitionsSpec = Field(default_factory=RepetitionsSpec, description="Seeds of each point.")
    warm_up: TimePs | None = Field(
        None,
        gt=0,
        description="Measures are those of the time after it; absent: of the whole run. `fabric sweep --warm-up` "
        "finds it by a rule (MSER-5).",
    )
    measures: Annotated[tuple[Measure, ...], Field(strict=False, min_length=1)] = Field(
        description="What is shown; every metric is recorded."
    )
    constraints: Annotated[tuple[ExpectationField, ...], Field(strict=False)] = Field(
        (), description="What must hold in every run of a point, such as `drops.lossless == 0`."
    )
    objectives: Mapping[Measure, Goal] = Field(
        default_factory=dict, description="Measure -> min or max. Two or more have a Pareto front; tuning needs them."
    )
    baseline: Mapping[ParameterName, Scalar] = Field(
        default_factory=dict,
        description="Parameter -> its value at the point with which the others are compared; absent: the first point.",
    )
    keep: Literal["nothing", "runs"] = Field(
        "nothing", description="runs: keep the run directory of each run, for `fabric report` and `fabric explain`."
    )
    tune: TuneSpec | None = Field(None, description="The search of `fabric tune`; `fabric sweep` leaves it out.")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        lines = [*self._workload_problems(), *self._parameter_problems()]
        if lines:
            raise ValueError("\n".join(lines))
        return self

    def _workload_problems(self) -> list[str]:
        if (self.scenario is None) == (self.workloads is None):
            return (
                ["scenario and workloads are both given; keep one of them"]
                if self.scenario
                else ["scenario is missing; name one, or several in workloads"]
            )
        return []

    def _parameter_problems(self) -> list[str]:
        found = []
        for name, parameter in self.parameters.items():
            if name in RESERVED:
                found.append(f"parameters.{name}: the table has a column of this name; give the parameter another name")
            other = parameter.factor_of
            if other is not None and (other == name or other not in self.parameters):
                found.append(f"parameters.{name}.factor_of: '{other}' is no other parameter; name one of this file")
            elif other is not None and self.parameters[other].factor_of is not None:
                found.append(f"parameters.{name}.factor_of: '{other}' is a factor itself; name one that is not")
            if "run.seed" in parameter.paths and self.repetitions.seeds > 1:
                found.append(f"parameters.{name}: repetitions set run.seed, too; leave out one of them")
        found += [
            f"baseline.{name}: is no parameter; name one of {', '.join(self.parameters) or 'parameters'}"
            for name in self.baseline
            if name not in self.parameters
        ]
        return found


RESERVED: Final = frozenset(
    {
        "run",
        "point",
        "workload",
        "repetition",
        "seed",
        "status",
        "failure",
        "feasible",
        "headline",
        "digest",
        "packet_hops",
        "scenario",
        "fct_percentiles_ns",
    }
)
"""Columns of a study's table that are no parameters (dataset.py)."""


def json_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of the file, for editors."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **Study.model_json_schema(mode="validation")}
