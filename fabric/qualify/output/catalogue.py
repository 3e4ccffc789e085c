"""The plans themselves: cases, checks, and what is not emulated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from fabric.qualify.cases import AnyCase, scenarios_of
from fabric.qualify.schema import CaseSpec, LeftOutSpec
from fabric.units import format_time_ps


def as_text(plans: Mapping[str, Sequence[AnyCase]], left_out: Mapping[str, Sequence[LeftOutSpec]]) -> str:
    """Every case with its scenarios and checks."""
    return "\n".join(_lines(plans, left_out)) + "\n"


def _lines(plans: Mapping[str, Sequence[AnyCase]], left_out: Mapping[str, Sequence[LeftOutSpec]]) -> Iterator[str]:
    for name, cases in plans.items():
        yield name
        for case in cases:
            lasts = ""
            if isinstance(case, CaseSpec):
                lasts = f" ({format_time_ps(case.times.plan)}; here {format_time_ps(case.times.simulated)})"
            yield f"  {case.case}  {case.title}{lasts}"
            yield from (f"    scenario {it.name}: {it.title}" for it in scenarios_of(case))
            for check in case.checks:
                demands = "; ".join((*check.holds, *(f"shown: {it}" for it in check.reports)))
                yield f"    check {check.id:>2}  {check.title}: {demands}"
            yield from (f"    not emulated: {it}" for it in case.not_emulated)
        yield from (f"  {it.case}  {it.title}: not emulated: {it.left_out}" for it in left_out.get(name, ()))
