"""A case judged on one switch: each check green or red with its rows, or not run where something is lacking."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from fabric.configs.model import Device
from fabric.qualify.bench import Bench, bench
from fabric.qualify.cause import cause_of
from fabric.qualify.expression import Measured
from fabric.qualify.measures import measured
from fabric.qualify.report import Colour, Report, Result, Row, judged
from fabric.qualify.schema import CaseSpec, CheckSpec
from fabric.qualify.trial import Trial, run
from fabric.units import PS_PER_NS, count, format_time_ps, listed
from fabric.validate.facts import Facts

__all__ = ["CaseRun", "Colour", "Result", "Row", "runs_of"]
_SHOWN_PORTS: Final = 8


@dataclass(kw_only=True)
class CaseRun(Report):
    """A scenario of a case on one switch, carried out or not."""

    case: CaseSpec
    bench: Bench
    trial: Trial | None
    what = "switch"

    @property
    def findings(self) -> list[str]:
        """As Report has it."""
        more = []
        if self.trial is not None and not self.trial.steady:
            more.append(
                f"no steady state: the halves of the window differ by {self.trial.disagreement:.1%} of the port's rate"
            )
        return [*self.bench.findings, *more]

    @property
    def not_lowered(self) -> list[str]:
        """As Report has it."""
        return self.bench.not_lowered

    @property
    def assumed(self) -> list[str]:
        """As Report has it."""
        return self.bench.assumed

    @property
    def setup(self) -> str:
        """Ports, durations, and whether the halves of the window agree."""
        if self.trial is None:
            return "not run"
        bench, trial, times = self.bench, self.trial, self.case.times
        test_ports = listed(list(bench.ports), _SHOWN_PORTS)
        ports = f"{count(len(bench.ports), 'port')} of {bench.mbps / 1000:g}G ({test_ports})"
        if bench.untried:
            verb = "is" if len(bench.untried) == 1 else "are"
            ports += f", without {count(len(bench.untried), 'other port')} that {verb} up"
        window = f"{format_time_ps(trial.start.time_ps)} to {format_time_ps(trial.stop.time_ps)}"
        agree = f"its halves agree within {trial.disagreement:.2%} of the port's rate"
        if not trial.steady:
            agree = f"its halves differ by {trial.disagreement:.1%} of the port's rate: no steady state"
        end = (
            "" if self.case.ends == "stopped" else "; counters of the whole run are read after all frames have arrived"
        )
        if self.case.ends == "drained" and not trial.drained:
            end = "; not everything has arrived at the end of the run"
        return (
            f"{ports}; {format_time_ps(trial.end.time_ps)} simulated of the plan's {format_time_ps(times.plan)}; "
            f"window {window}, {agree}{end}"
        )

    @property
    def data(self) -> dict[str, Any] | None:
        """As Report has it."""
        trial = self.trial
        if trial is None:
            return None
        return {
            "ports": list(self.bench.ports),
            "ports_not_tried": list(self.bench.untried),
            "port_mbps": self.bench.mbps,
            "plan_ns": self.case.times.plan // PS_PER_NS,
            "simulated_ns": trial.end.time_ps // PS_PER_NS,
            "window_ns": [trial.start.time_ps // PS_PER_NS, trial.stop.time_ps // PS_PER_NS],
            "halves_differ_ratio": round(trial.disagreement, 6),
            "steady": trial.steady,
            "drained": trial.drained,
        }


def runs_of(facts: Facts, device: Device, case: CaseSpec, asked: int | None) -> Iterator[CaseRun]:
    """The scenarios of a case, one after the other. Raises: InputErrors where no scenario can be made of the switch."""
    for scenario in case.scenarios:
        made = bench(facts, device, case, scenario, asked)
        trial = run(made) if made.runnable else None
        report = CaseRun(case=case, scenario=scenario, bench=made, trial=trial)
        for check in case.checks:
            if check.is_of(scenario.name):
                report.results.append(_judged(check, trial))
        yield report


def _judged(check: CheckSpec, trial: Trial | None) -> Result:
    if trial is None:
        return Result(check, "not run", text="the configuration lacks what its traffic needs")
    return judged(
        check,
        lambda it, in_window: measured(trial, it.name, it.of, in_window=in_window),
        lambda it: cause_of(it, trial),
        _nothing,
    )


def _nothing(measure: Measured) -> str:
    if measure.name == "share_error":
        return "fewer than two of the queues have a DWRR scheduler, so no share is configured"
    return f"there is no {measure.of} traffic"
