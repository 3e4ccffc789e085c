"""sonic-mgmt's plans for PFC, ECN and the PFC watchdog, replayed: scenarios whose expectations are their pass criteria.

Each plan has one run, or one on each side of a threshold. Criteria that count over many rounds are a function of the
finished run. Rates are those of the scenarios, not of a test bed. Source: sonic-mgmt, docs/testplan (PFC, PFCWD, ECN).
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from fabric import shipped
from fabric.runs.rundir import RunDir
from fabric.scenario.load import apply_overrides
from fabric.scenario.yaml_input import read_yaml
from fabric.studies.simulation import Variant, simulate_variant
from fabric.units import PS_PER_NS, format_time_ps
from telemetry.sources.recorded import store_of

Measure = Callable[[RunDir], tuple[bool, str]]
"""Whether a run meets a criterion over many rounds, and the figures."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One run."""

    what: str
    scenario: str
    """Of scenarios/testplans, without '.yml'."""
    sets: tuple[str, ...] = ()
    measure: Measure | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """One test of a plan."""

    name: str
    passes: str
    trials: tuple[Trial, ...] = ()
    why_not: str = ""
    """Why it cannot be replayed."""


@dataclass(frozen=True, slots=True)
class Result:
    """One trial with its outcome."""

    plan: str
    trial: Trial
    met: bool
    figures: str


_EXPECT: Final = "expectations=[{}]"
_POLL_NS: Final = 200_000
_DETECTION_NS: Final = 400_000
_SAMPLE_NS: Final = 10_000
"""Of watchdog-timers.yml, as the next three of ecn-accuracy.yml."""
_KMIN, _KMAX, _PMAX = 50_000, 150_000, 0.05
_ROUNDS: Final = 40
_SIZE: Final = 150_000
_MTU: Final = 1024


def _timers(run: RunDir) -> tuple[bool, str]:
    """Detection and restoration each take their time, and at most one poll more."""
    store = store_of(run, ("fabric_pfcwd_storms_detected_total", "fabric_pfcwd_storms_restored_total"))
    truth = sorted(run.truth().to_pylist(), key=lambda it: int(it["start_ns"]))
    told, met = [], True
    for metric, edge, word in (("detected", "start_ns", "detected"), ("restored", "end_ns", "restored")):
        series = (it for _, it in store.iter_series(f"fabric_pfcwd_storms_{metric}_total") if it[1].max() > 0)
        times, values = next(series, (np.empty(0, np.int64), np.empty(0)))
        at = times[np.flatnonzero(np.diff(values, prepend=0.0) > 0)]
        if len(at) == 0 or len(at) > len(truth):
            met = False
            told.append(f"{word} {len(at)} of {len(truth)}")
            continue
        took = at - np.array([int(it[edge]) for it in truth[: len(at)]])
        inside = (took > _DETECTION_NS) & (took <= _DETECTION_NS + _POLL_NS + _SAMPLE_NS)
        met = met and len(at) == len(truth) and bool(inside.all())
        low, high = (format_time_ps(int(it) * PS_PER_NS) for it in (took.min(), took.max()))
        told.append(f"{word} {len(at)} of {len(truth)} after {low} to {high}")
    return met, ", ".join(told)


def _accuracy(run: RunDir) -> tuple[bool, str]:
    """Marks of all rounds lie in the 95 % interval of the sum of their binomials.

    A packet is marked by the bytes that are left behind it: never up to kmin, pmax at kmax, always beyond.
    """
    sent = {it["observable"]: it["value"] for it in run.counters(["sent_pkts", "sent_bytes"]).to_pylist()
            if it["device"] == "leaf" and it["port"] == "Ethernet8" and it["class"] == 3}  # fmt: skip
    packets = -(-_SIZE // _MTU)
    overhead = (sent["sent_bytes"] - _ROUNDS * _SIZE) / (_ROUNDS * packets)
    sizes = np.full(packets, _MTU + overhead)
    sizes[-1] = _SIZE - (packets - 1) * _MTU + overhead
    left = sizes.sum() - np.cumsum(sizes)
    chance = np.where(left <= _KMIN, 0.0, np.where(left > _KMAX, 1.0, _PMAX * (left - _KMIN) / (_KMAX - _KMIN)))
    expected = _ROUNDS * float(chance.sum())
    spread = 1.96 * math.sqrt(_ROUNDS * float((chance * (1 - chance)).sum()))
    marked = int(run.summary["metrics"]["ecn.marked"])
    figures = f"{marked:,} of {_ROUNDS * packets:,} marked; 95%: {expected - spread:.0f} to {expected + spread:.0f}"
    return abs(marked - expected) <= spread, figures


_OVER: Final = ("run.duration=5ms", _EXPECT.format("messages.done == 2, drops.total == 0"))
_FOUR: Final = ("faults[0].priorities=[4]", "workload[0].messages[0].priority=4")
_SHORT: Final = (
    "faults[0].duration=200us",
    _EXPECT.format("watchdog.storms == 0, drops.total == 0, messages.done == 2"),
    "faults[0].quanta=500",
)
_FORWARD: Final = (
    "switches.watchdog.action=forward",
    _EXPECT.format("watchdog.storms == 1, drops.watchdog == 0, drops.total == 0, messages.done == 2"),
)
_LATE: Final = ("hosts.response=10us", _EXPECT.format("drops.headroom > 0"))

PLANS: Final = (
    Plan("PFC: pause one lossless class", "in a storm no test frame and every lossy one; then all, none lost", (
        Trial("class 3, in the storm", "pause-lossless"),
        Trial("class 3, after it", "pause-lossless", _OVER),
        Trial("class 4, in the storm", "pause-lossless", _FOUR),
        Trial("class 4, after it", "pause-lossless", (*_FOUR, *_OVER)))),
    Plan("PFC: lossy classes beside paused ones", "nothing lost while both lossless classes are paused", (
        Trial("classes 0-2, 5-7", "pause-lossy"),)),
    Plan("PFC: response and headroom", "no loss up to a delay of the peer, loss beyond it", (
        Trial("a peer that stops in 500 ns", "headroom-response"),
        Trial("a peer that stops in 10 us", "headroom-response", _LATE))),
    Plan("PFCWD: basic", "a long storm is cut off, later traffic is whole; a short one loses nothing", (
        Trial("storm of 4 ms, detection 400 us", "watchdog-basic"),
        Trial("storm of 200 us", "watchdog-basic", _SHORT))),
    Plan("PFCWD: two senders, two receivers", "only traffic to the host that pauses is lost", (
        Trial("storm to the end", "watchdog-pairs"),)),
    Plan("PFCWD: timer accuracy", "detection and restoration within one poll, 20 rounds", (
        Trial("20 storms", "watchdog-timers", (), _timers),)),
    Plan("PFCWD: forward action", "a storm is found and nothing is dropped", (
        Trial("storm of 4 ms", "watchdog-basic", _FORWARD),)),
    Plan("ECN: accuracy", "the marked share follows Kmin, Kmax and Pmax", (
        Trial("40 rounds, binomial 95 %", "ecn-accuracy", (), _accuracy),)),
    Plan("ECN: marking at egress", "of a drained queue the first packets are marked, the last are not", (
        Trial("200 packets, Kmin at half", "ecn-egress"),)),
    Plan("Oversubscription: lossless", "every lossless message whole and in order, XOFF sent", (
        Trial("two classes, 2 to 1", "oversubscribed-lossless"),)),
    Plan("Oversubscription: lossless beside lossy", "only the lossy class loses", (
        Trial("2 to 1", "oversubscribed-mixed"),)),
    Plan("Oversubscription: a blocked class", "the other class is whole, the blocked one recovers, no storm", (
        Trial("paused for 90 % of the time", "blocked-class"),)),
    Plan("Snappi: speed mismatch", "no lossless loss, CE in congestion", (
        Trial("400G to 100G", "speed-mismatch"),)),
    Plan("RoCEv2: basic", "no loss, NAK, mark, CNP or pause", (Trial("1 to 1", "rocev2-basic"),)),
    Plan("PFC: global pause (802.3x) is ignored", "all at line rate", why_not="hosts send no 802.3x pause frames"),
    Plan("PFC over MACsec or a port channel", "as without", why_not="neither is modelled"),
    Plan("Packet trimming", "headers survive", why_not="switches do not trim packets"),
    Plan("Oversubscription: VOQ credits", "credits hold the ingress", why_not="virtual output queues are not modelled"),
)  # fmt: skip


def replayed(plans: tuple[Plan, ...]) -> Iterator[Result]:
    """Simulate every trial, one after the other."""
    for plan in plans:
        for trial in plan.trials:
            yield _result(plan, trial)


def _result(plan: Plan, trial: Trial) -> Result:
    file = shipped.folder("scenarios") / "testplans" / f"{trial.scenario}.yml"
    with tempfile.TemporaryDirectory(prefix="fabric-plan-") as folder:
        out = Path(folder) / "run"
        simulate_variant(Variant(apply_overrides(read_yaml(file), trial.sets), file, keep=out))
        run = RunDir.open(out)
        expected = run.summary["expectations"]
        met = all(it["met"] for it in expected)
        figures = ", ".join(f"{it['expectation']} ({_number(it['actual'])})" for it in expected)
        if trial.measure is not None:
            also, figures = trial.measure(run)
            met = met and also
    return Result(plan.name, trial, met, figures)


def _number(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def page(plans: tuple[Plan, ...], results: list[Result]) -> str:
    """docs/testplans.md."""
    lines = [
        "# Test plans, replayed",
        "",
        "Generated by `fabric drill plans --write docs/testplans.md`; the source is telemetry/drill/testplans.py and",
        "scenarios/testplans.",
        "",
        "sonic-mgmt has test plans for PFC, ECN and the PFC watchdog of a switch between traffic generators. They are",
        "replayed in the emulator: their pass criteria are expectations of a scenario, which `fabric run` checks.",
        f"{sum(it.met for it in results)} of {len(results)} trials meet their criteria.",
        "",
        "| plan | passes if | trial | scenario | met | figures |",
        "|---|---|---|---|---|---|",
    ]
    by_plan = {plan.name: plan for plan in plans}
    for it in results:
        sets = "".join(f" --set '{word}'" for word in it.trial.sets)
        where = f"`{it.trial.scenario}{sets}`"
        met = "yes" if it.met else "**no**"
        passes = by_plan[it.plan].passes
        lines.append(f"| {it.plan} | {passes} | {it.trial.what} | {where} | {met} | {it.figures} |")
    lines += ["", "## Not replayed", "", "| plan | passes if | why not |", "|---|---|---|"]
    lines += [f"| {plan.name} | {plan.passes} | {plan.why_not} |" for plan in plans if plan.why_not]
    return "\n".join(lines) + "\n"
