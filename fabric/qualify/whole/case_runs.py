"""A case judged on a whole fabric."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from fabric.qualify.expression import Measured
from fabric.qualify.report import Report, Result, judged
from fabric.qualify.schema import CheckSpec
from fabric.qualify.whole import kpis, measures, traffic
from fabric.qualify.whole.causes import cause_of
from fabric.qualify.whole.design import design_of
from fabric.qualify.whole.measures import untried
from fabric.qualify.whole.schema import FabricCaseSpec, RunSpec
from fabric.qualify.whole.subject import Subject
from fabric.qualify.whole.trial import FabricTrial, carry_out
from fabric.units import PS_PER_NS, count, format_time_ps

_MOST_PAIRS: Final = 50_000
"""Queue pairs of a run whose model has one for each message; memory and time grow with them."""
READERS: Final[Mapping[str, Callable[[FabricTrial, str], dict[str, float]]]] = {**measures.READERS, **kpis.READERS}


@dataclass(kw_only=True)
class FabricCaseRun(Report):
    """A run of a case on a whole fabric, carried out or not."""

    case: FabricCaseSpec
    scenario: RunSpec
    subject: Subject
    trial: FabricTrial | None
    run: str = ""
    """Of the file: the name without the number of ranks."""
    lacking: str = ""
    """Why nothing was run."""
    what = "fabric"

    @property
    def findings(self) -> list[str]:
        """As Report has it."""
        found = [self.lacking] if self.lacking else []
        if self.trial is not None and self.scenario.ends == "drained" and not self.trial.end.finished:
            found.append("not everything has arrived at the end of the run")
        return found

    @property
    def not_lowered(self) -> list[str]:
        """As Report has it; and the cables and queues that were not put to the test."""
        if self.trial is None:
            return self.subject.not_lowered
        mine = [it for it in self.case.checks if it.is_of(self.run)]
        names = {demand.left.name for it in mine for demand in it.demands}
        notes = untried(self.trial, names)
        if self.subject.pair_per_message:
            notes.append(f"every message has a separate queue pair in model {self.subject.model}")
        return [*self.subject.not_lowered, *(f"{self.case.case}: {it}" for it in notes)]

    @property
    def assumed(self) -> list[str]:
        """As Report has it."""
        return self.subject.assumed

    @property
    def setup(self) -> str:
        """As Report has it."""
        if self.trial is None:
            return "not run"
        hosts = self.trial.hosts
        leaves = {self.subject.leaf_of(it) for it in hosts}
        parts = [
            f"{count(len(hosts), 'host')} at {count(len(leaves), 'leaf', 'leaves')}, RoCE in class {self.subject.roce}",
            f"{format_time_ps(self.trial.end.time_ps)} simulated",
        ]
        if self.scenario.watchdog == "off" and self.scenario.paused is not None:
            parts.append("watchdogs off: they count in milliseconds")
        return "; ".join(parts)

    @property
    def data(self) -> dict[str, Any] | None:
        """As Report has it."""
        trial = self.trial
        if trial is None:
            return None
        return {
            "hosts": list(trial.hosts),
            "roce_class": self.subject.roce,
            "simulated_ns": trial.end.time_ps // PS_PER_NS,
            "traffic_ns": trial.lasts_ps // PS_PER_NS,
            "finished": trial.end.finished,
            "design": design_of(trial),
        }


def runs_of(subject: Subject, case: FabricCaseSpec) -> Iterator[FabricCaseRun]:
    """The runs of a case, one after the other. Raises: InputErrors where the fabric cannot carry the traffic."""
    lacks = _lacks(subject, case)
    for run in case.runs:
        if run.long and not lacks:
            subject.not_lowered.append(f"{case.case} {run.name}: takes long; --case {case.case}/{run.name} runs it")
            continue
        if len(subject.hosts) < run.hosts and not lacks:
            subject.not_lowered.append(f"{case.case} {run.name}: needs {run.hosts} hosts, and there are "
                                       f"{len(subject.hosts)}")  # fmt: skip
            continue
        leaves = len({subject.leaf_of(it) for it in subject.hosts})
        if leaves < run.leaves and not lacks:
            subject.not_lowered.append(f"{case.case} {run.name}: needs {run.leaves} leaves, and there are {leaves}")
            continue
        lacking = lacks or _model_lacks(subject, run)
        for ranks in [None] if lacking else _scales(subject, run):
            name = run.name if ranks is None else f"{run.name}-{ranks}"
            one = run.model_copy(update={"name": name})
            trial = None if lacking else carry_out(subject, one, ranks)
            report = FabricCaseRun(case=case, scenario=one, subject=subject, trial=trial, run=run.name,
                                   lacking=lacking)  # fmt: skip
            for check in case.checks:
                if check.is_of(run.name):
                    found = _judged(check, trial, lacking)
                    if not (found.colour == "not run" and check.if_any):
                        report.results.append(found)
            yield report


def _judged(check: CheckSpec, trial: FabricTrial | None, lacking: str) -> Result:
    if trial is None:
        return Result(check, "not run", text=lacking)
    return judged(check, lambda it, _: READERS[it.name](trial, it.of), lambda it: cause_of(it, trial), _nothing)


def _scales(subject: Subject, run: RunSpec) -> list[int | None]:
    """2, 4, 8 ... ranks, and all of them."""
    if run.ranks == "all":
        return [None]
    most = min(len(subject.hosts), run.hosts_most or len(subject.hosts))
    powers = [1 << it for it in range(1, most.bit_length()) if 1 << it <= most]
    return [*powers, *([most] if most not in powers else [])]


def _lacks(subject: Subject, case: FabricCaseSpec) -> str:
    leaves = {subject.leaf_of(it) for it in subject.hosts}
    if len(subject.hosts) < case.hosts:
        return f"{subject.name} has {count(len(subject.hosts), 'host')}, and the case needs {case.hosts}"
    if len(leaves) < case.leaves:
        have = count(len(leaves), "leaf", "leaves")
        return f"the hosts of {subject.name} are at {have}, and the case needs {case.leaves}"
    return ""


def _model_lacks(subject: Subject, run: RunSpec) -> str:
    """What a run needs and the rules of the scenario's model do not have; '' where it can be carried out."""
    if subject.model != "hpcc-ns3":
        return ""
    if any(it.share is not None for it in run.loads):
        lacking = "no datagrams, in which this traffic is sent"
    elif any(it.pattern == "collective" for it in run.loads):
        lacking = "a queue pair for each message, and the steps of a collective share queue pairs"
    elif run.cut is not None:
        lacking = "no faults, and this run takes a cable down"
    elif (messages := traffic.messages(subject, run)) > _MOST_PAIRS:
        lacking = f"a queue pair for each message; this run has {messages} messages, at most {_MOST_PAIRS} are emulated"
    else:
        return ""
    return f"model {subject.model} of scenario {subject.name} has {lacking}"


def _nothing(measure: Measured) -> str:
    if measure.of == "uplinks":
        return "no switch has two ports towards switches further from the hosts"
    if measure.name == "hop_paused":
        return "no frame waits for any cable"
    if measure.of == "cables":
        return "no queue between switches was filled"
    return f"there is no {measure.of} traffic"
