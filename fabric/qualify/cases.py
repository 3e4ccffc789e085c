"""Plans that come with the package: a folder each, a YAML file a case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from fabric import shipped
from fabric.errors import InputErrors, Problem
from fabric.qualify.schema import CaseSpec, LeftOutSpec, ScenarioSpec
from fabric.qualify.whole.schema import FabricCaseSpec, RunSpec
from fabric.scenario.problems import explain
from fabric.scenario.yaml_input import FileKind, read_yaml
from fabric.topology.select import nearest

STAGE: Final = "reading the test plan"
_KIND: Final = FileKind(STAGE, "begin with case: NAME, the name of the file", (), "case", "case")


AnyCase = CaseSpec | FabricCaseSpec


def plans() -> dict[str, list[Path]]:
    """Every plan by name, with the files of its cases."""
    return shipped.test_plans()


def read_case(file: Path) -> AnyCase | LeftOutSpec:
    """A case, or why it is none. Raises: InputErrors."""
    raw: Mapping[str, Any] = read_yaml(file, _KIND)
    model = LeftOutSpec if "left_out" in raw else FabricCaseSpec if "scope" in raw else CaseSpec
    case: AnyCase | LeftOutSpec
    try:
        case = model.model_validate(dict(raw))
    except ValidationError as error:
        raise InputErrors(STAGE, explain(error, raw, file.name, model.model_json_schema())) from error
    if case.case != file.stem:
        text = f"'{case.case}' is not the name of the file"
        raise InputErrors(STAGE, [Problem(f"{file.name}: case", text, f"write case: {file.stem}, or rename the file")])
    return case


def cases_of(plan: str) -> list[AnyCase]:
    """The cases of a plan that can be emulated. Raises: InputErrors."""
    return [it for it in _all(plan) if not isinstance(it, LeftOutSpec)]


def is_of_fabric(plan: str) -> bool:
    """Whether a plan is for a whole fabric, not for one switch. Raises: InputErrors."""
    return any(isinstance(it, FabricCaseSpec) for it in cases_of(plan))


def scenarios_of(case: AnyCase) -> tuple[ScenarioSpec | RunSpec, ...]:
    """Scenarios of a case."""
    return case.runs if isinstance(case, FabricCaseSpec) else case.scenarios


def left_out_of(plan: str, names: Sequence[str] = ()) -> list[LeftOutSpec]:
    """The cases of a plan that cannot be; of those that `names` has, where it has any. Raises: InputErrors."""
    wanted = {name.partition("/")[0].upper() for name in names}
    return [it for it in _all(plan) if isinstance(it, LeftOutSpec) and (not wanted or it.case.upper() in wanted)]


def _all(plan: str) -> list[AnyCase | LeftOutSpec]:
    known = plans()
    if plan not in known:
        raise InputErrors("options", [Problem("PLAN", f"no test plan is called '{plan}'", nearest(plan, list(known)))])
    return [read_case(file) for file in known[plan]]


def chosen(plan: str, names: list[str]) -> list[AnyCase]:
    """The cases that --case names, as TC1 or TC2/q3_single; all where it names none. Raises: InputErrors."""
    cases = {it.case.upper(): it for it in cases_of(plan)}
    if not names:
        return list(cases.values())
    wanted: dict[str, list[str] | None] = {}
    problems = []
    left_out = {it.case.upper() for it in left_out_of(plan)}
    for name in names:
        word, _, scenario = name.partition("/")
        if word.upper() in left_out and not scenario:
            continue
        case = cases.get(word.upper())
        if case is None:
            known = [it.case for it in cases.values()]
            problems.append(Problem("--case", f"'{word}' is no case of {plan}", nearest(word.upper(), known)))
            continue
        have = [it.name for it in scenarios_of(case)]
        if scenario and scenario not in have:
            problems.append(Problem("--case", f"'{scenario}' is no scenario of {case.case}", nearest(scenario, have)))
            continue
        some = wanted.setdefault(case.case, [])
        if not scenario:
            wanted[case.case] = None
        elif some is not None:
            some.append(scenario)
    if problems:
        raise InputErrors("options", problems)
    found: list[AnyCase] = []
    for name, some in wanted.items():
        case = cases[name.upper()]
        kept = tuple(it for it in scenarios_of(case) if some is None or it.name in some)
        if not isinstance(case, FabricCaseSpec):
            found.append(case.model_copy(update={"scenarios": kept}))
            continue
        named = [it.model_copy(update={"long": False}) if some else it for it in case.runs if it in kept]
        found.append(case.model_copy(update={"runs": tuple(named)}))
    return found
