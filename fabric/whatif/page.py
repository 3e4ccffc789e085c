"""The findings of a study as one Document: ranking, map, worst failure, redundancy, maintenance, growth."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from fabric.render.document import (
    Block,
    Column,
    Document,
    Fact,
    Facts,
    Prose,
    Section,
    Status,
    Table,
    Unit,
    Value,
    show,
    worst,
)
from fabric.units import PS_PER_NS, count, format_time_ps, inventory, listed
from fabric.whatif.damage import SLOWER, STATUS, WORDS, Effect
from fabric.whatif.damage_map import damage_map
from fabric.whatif.elements import ElementKind
from fabric.whatif.seeds import CONFIDENCE, is_apart, spread
from fabric.whatif.study import Finding, Study

DAMAGE: Final = (
    "Damage: 1 - delivered / slowdown. delivered: share of the baseline's messages and transfers that were still "
    "delivered; slowdown: the largest of step time, time of the last delivery and p99 completion time over the "
    f"baseline's, p99 over the messages that both delivered. Order: what breaks (hosts cut off, work not delivered), "
    f"what loses lossless packets, what slows (by {SLOWER - 1:.0%} or more), the rest; in each by damage."
)
TIMES: Final = (
    "Control plane: from the failure to the last change of a forwarding table. Losses: to the last sample with packets "
    "lost on a dead or wrong path. Outage: the longest time in which a host received nothing although it was behind "
    "the baseline, of hosts that received something again; Not back: hosts that did not until the end of the run."
)
_RANKING: Final = (
    Column("rank", "", Unit.COUNT),
    Column("name", "Failure"),
    Column("kind", "Kind"),
    Column("equal", "Equal", Unit.COUNT),
    Column("effect", "Effect"),
    Column("damage_ratio", "Damage", Unit.RATIO),
    Column("damage_half_width", "±", Unit.RATIO),
    Column("seeds_alike", "Seeds", Unit.TEXT),
    Column("not_apart_from", "Not apart from", Unit.TEXT),
    Column("hosts_cut", "Cut off", Unit.COUNT),
    Column("undelivered", "Undelivered", Unit.COUNT),
    Column("lossless_pkts", "Lossless", Unit.COUNT),
    Column("fct_p99_ratio", "FCT p99", Unit.TIMES),
    Column("step_ratio", "Step", Unit.TIMES),
    Column("makespan_ratio", "All work", Unit.TIMES),
    Column("control_ns", "Control", Unit.NS),
    Column("loss_ns", "Losses", Unit.NS),
    Column("outage_ns", "Outage", Unit.NS),
    Column("hosts_not_back", "Not back", Unit.COUNT),
)
_OF_SEEDS: Final = ("damage_half_width", "seeds_alike", "not_apart_from")
_STATIC: Final = (
    Column("name", "Failure"),
    Column("kind", "Kind"),
    Column("equal", "Equal", Unit.COUNT),
    Column("hosts_cut", "Cut off", Unit.COUNT),
    Column("pairs_cut", "Pairs without a path", Unit.COUNT),
    Column("pairs_longer", "Pairs on longer paths", Unit.COUNT),
    Column("paths_left_ratio", "Least share of paths left", Unit.RATIO),
)


def compose(study: Study, explained: Sequence[Section] = (), command: str = "") -> Document:
    """The whole report.

    Parameters
    ----------
    study : Study
    explained : sections that explain the worst failure, from its run directory
    command : str    the command line that repeats the study
    """
    scenario, fabric = study.place.scenario, study.place.fabric
    failures = [it for it in study.findings if it.case.kind in {"failure", "double"}]
    statuses = [STATUS[it.damage.effect] for it in failures if it.damage is not None]
    sections = (
        Section("overview", "Overview", tuple(_overview(study))),
        Section("ranking", "Failures by damage", tuple(_ranking(study, failures))),
        Section("map", "Where damage begins", (damage_map(study),) if failures and study.baseline else ()),
        *explained,
        Section("redundancy", "Shared fate", tuple(_redundancy(study))),
        Section("maintenance", "Maintenance", tuple(_maintenance(study))),
        Section("growth", "Growth", tuple(_growth(study))),
        Section("repeat", "How to repeat it", tuple(_repeat(study, command))),
    )
    about = f"{fabric.name}: {inventory(len(fabric.hosts), len(fabric.switches), len(fabric.links))}"
    return Document(
        f"What if: {scenario.name}", about, worst(statuses), _verdict(study, failures), tuple(_reasons(study)), sections
    )


def _verdict(study: Study, failures: Sequence[Finding]) -> str:
    if study.baseline is None:
        cut = sum(len(it.case.members) for it in failures if it.loss is not None and it.loss.hosts_cut)
        return f"{count(cut, 'single failure')} of {sum(len(it.case.members) for it in failures):,} cut hosts off."
    if not failures:
        return "Maintenance and growth, without failures."
    by = dict.fromkeys(Effect, 0)
    for it in failures:
        if it.damage is not None:
            by[it.damage.effect] += max(len(it.case.members), 1)
    told = [f"{number:,} {_VERBS[effect]}" for effect, number in by.items() if number]
    failed = sum(max(len(it.case.members), 1) for it in failures if it.damage is None)
    told += [f"{failed:,} not simulated"] if failed else []
    head = f"{count(sum(max(len(it.case.members), 1) for it in failures), 'failure')}: {', '.join(told)}."
    first = next((it for it in failures if it.damage is not None), None)
    if first is None or first.damage is None or first.damage.effect is Effect.NONE:
        return head
    return f"{head} The worst is {first.case.what} {first.case.name}: {_effect(first)}."


_VERBS: Final = {
    Effect.BREAKS: "breaking",
    Effect.LOSES: "losing lossless packets",
    Effect.SLOWS: "slowing only",
    Effect.NONE: "without effect",
}


def _effect(it: Finding) -> str:
    """What users feel of a failure, in one sentence."""
    found = it.damage
    if found is None:
        return "it was not simulated"
    said = []
    if found.hosts_cut:
        said.append(f"{count(found.hosts_cut, 'host')} cut off")
    if found.undelivered:
        said.append(f"{found.undelivered:,} messages or transfers not delivered ({found.undelivered_ratio:.1%})")
    if found.lossless_pkts:
        said.append(f"{found.lossless_pkts:,} packets of lossless classes lost for lack of buffer")
    if found.slowdown >= SLOWER:
        said.append(f"the slowest measure of the delivered work {show(found.slowdown, Unit.TIMES)} of the baseline's")
    return ", ".join(said) or "no effect"


def _reasons(study: Study) -> Iterable[Prose]:
    if study.baseline is None:
        yield Prose("Static analysis: cables and shortest paths only, no run was made.")
    runs = sum(it.case.kind == "failure" for it in study.findings)
    stands = sum(len(it.case.members) for it in study.findings if it.case.kind == "failure")
    if not study.question.run_all and stands > runs:
        how = (
            "the one that carried the most bytes without a failure was simulated and stands for the others"
            if study.baseline is not None
            else "one stands for the others"
        )
        yield Prose(
            f"{stands:,} failures are {count(runs, 'group')} of elements that are equal by the symmetry of fabric and "
            f"workload; of each group {how}. ECMP may load equal elements differently; --all runs every one."
        )
    failures = [it for it in study.findings if it.case.kind in {"failure", "double"}]
    alike = [str(number) for number, it in enumerate(failures[1:], 2) if _is_alike(it, failures[0])]
    if alike:
        yield Prose(f"With these seeds the worst is not told apart from rank {listed(alike, 5)}; more --seeds may.")
    groups = study.place.scenario.risk_groups
    if study.question.singles and ElementKind.GROUP in study.question.kinds and not groups:
        yield Prose(
            "The scenario declares no risk_groups: parts that share a power feed, a duct or a chassis were not taken "
            "to fail together."
        )
    broken = [it for it in study.findings if it.failure]
    if broken:
        yield Prose(
            f"{count(len(broken), 'run')} failed, such as {broken[0].case.name}: {broken[0].failure}", Status.BAD
        )


def _is_alike(one: Finding, other: Finding) -> bool:
    """Whether two failures with several seeds have one effect, and damages that are not told apart."""
    several = spread(one.runs) is not None and spread(other.runs) is not None
    same = one.damage is not None and other.damage is not None and one.damage.effect is other.damage.effect
    return several and same and not is_apart(one.runs, other.runs)


def _overview(study: Study) -> Iterable[Block]:
    if study.baseline is None or study.at_ps is None:
        return
    base = study.baseline.measured
    told = (
        Fact("runs", "Runs", study.runs, Unit.COUNT),
        Fact("seeds", "Seeds of each case", study.question.seeds if study.question.seeds > 1 else None, Unit.COUNT),
        Fact("at_ns", "Failures begin at", study.at_ps // PS_PER_NS, Unit.NS),
        Fact("delivered", "Delivered without a failure", base.done, Unit.COUNT),
        Fact("baseline_fct_p99_ns", "FCT p99", base.fct_p99_ns, Unit.NS),
        Fact("baseline_step_ns", "Mean step", base.step_ns, Unit.NS),
        Fact("baseline_makespan_ns", "All work done at", base.makespan_ns, Unit.NS),
        Fact("baseline_lossless_pkts", "Lossless packets lost", base.lossless_pkts, Unit.COUNT),
    )
    yield Facts(tuple(it for it in told if it.value is not None))
    if base.done < base.work:
        text = (
            f"Without a failure {base.work - base.done:,} of {base.work:,} messages and transfers were not delivered."
        )
        yield Prose(f"{text} Only those that were count here.", Status.WARNING)


def ranking_rows(findings: Sequence[Finding]) -> list[dict[str, Value]]:
    """One row per failure in order of damage, keyed by column; every number raw."""
    rows = []
    for number, it in enumerate(findings, 1):
        found, compared = it.damage, None if it.outcome is None else it.outcome.compared
        row: dict[str, Value] = {
            "rank": number,
            "name": it.case.name,
            "kind": it.case.what,
            "equal": max(len(it.case.members), 1),
            "effect": "run failed" if found is None else WORDS[found.effect],
        }
        for column in _RANKING[5:]:
            if column.key in _OF_SEEDS:
                continue
            holder = found if column.key in {"damage_ratio", "hosts_cut", "undelivered", "lossless_pkts"} else compared
            row[column.key] = None if holder is None else getattr(holder, column.key)
        rows.append(row | _over_seeds(findings, number - 1))
    return rows


def _over_seeds(findings: Sequence[Finding], place: int) -> dict[str, Value]:
    """Columns of a study with several seeds; with one they have no value, and are not shown."""
    it = findings[place]
    known = spread(it.runs)
    if known is None or it.damage is None:
        return dict.fromkeys(_OF_SEEDS)
    alike = sum(run.damage is not None and run.damage.effect is it.damage.effect for run in it.runs)
    above = next((number for number, other in enumerate(findings[:place], 1) if _is_alike(it, other)), None)
    return {
        "damage_half_width": known.half_width,
        "seeds_alike": f"{alike} of {len(it.runs)}",
        "not_apart_from": None if above is None else str(above),
    }


def _ranking(study: Study, failures: Sequence[Finding]) -> Iterable[Block]:
    if study.baseline is None:
        yield _static_table(failures)
        return
    if not failures:
        return
    rows = ranking_rows(failures)
    columns = tuple(
        it
        for it in _RANKING
        if it.key in {"rank", "name", "damage_ratio"} or any(row[it.key] is not None for row in rows)
    )
    statuses = tuple(Status.BAD if it.damage is None else STATUS[it.damage.effect] for it in failures)
    yield Table(
        "failures",
        "",
        columns,
        tuple(tuple(row[column.key] for column in columns) for row in rows),
        f"Equal: elements that this one stands for. {DAMAGE} {TIMES}{_seeds_note(study)}",
        statuses,
    )


def _seeds_note(study: Study) -> str:
    if study.question.seeds == 1:
        return ""
    return (
        f" Over {study.question.seeds:,} seeds, each against the baseline of its seed: damage and ratios are means, "
        f"± half of the {CONFIDENCE:.0%} interval; effect, counts and times are those of the worst seed; Seeds: how "
        "many had this effect; Not apart from: the first rank of the same effect from which the damage does not "
        "differ, seed by seed, by more than chance explains."
    )


def _static_table(failures: Sequence[Finding]) -> Table:
    rows = [
        (
            it.case.name,
            it.case.what,
            max(len(it.case.members), 1),
            it.loss.hosts_cut,
            it.loss.pairs_cut,
            it.loss.pairs_longer,
            it.loss.paths_left_ratio,
        )
        for it in failures
        if it.loss is not None
    ]
    note = "Pairs: of switches with hosts whose hosts are all still cabled. A degraded optic counts as a cut cable."
    statuses = tuple(Status.BAD if row[3] or row[4] else Status.WARNING if row[5] else Status.NEUTRAL for row in rows)
    return Table("failures", "", _STATIC, tuple(rows), note, statuses)


def _redundancy(study: Study) -> Iterable[Block]:
    rows: list[tuple[Value, ...]] = []
    for it in study.findings:
        if it.loss is None or it.case.kind not in {"failure", "double"}:
            continue
        if it.loss.shared:
            left = "no path" if it.loss.pairs_cut else "longer paths"
            rows.append((it.case.name, it.case.what, _examples(it.loss.shared), len(it.loss.shared), left))
        if it.loss.homes_lost:
            hosts = _examples(it.loss.homes_lost)
            rows.append((it.case.name, it.case.what, f"all switches of {hosts}", len(it.loss.homes_lost), "no path"))
    if not rows:
        if any(it.loss is not None for it in study.findings):
            yield Prose("No pair of switches has redundant paths that one of these failures takes away together.")
        return
    columns = (
        Column("name", "Shared"),
        Column("kind", "Kind"),
        Column("paths", "Redundant paths that all use it"),
        Column("pairs", "Pairs", Unit.COUNT),
        Column("left", "Without it"),
    )
    note = (
        "Several equal-cost paths between two switches with hosts, or several switches of a host, that fail together."
    )
    yield Table("shared", "", columns, tuple(rows), note, tuple(Status.BAD for _ in rows))


def _examples(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3:,} more" if len(names) > 3 else "")


def _maintenance(study: Study) -> Iterable[Block]:
    found = [it for it in study.findings if it.case.kind in {"drain", "off"}]
    if not found:
        return
    columns = (
        Column("name", "What"),
        Column("how", "How"),
        Column("felt", "Users feel"),
        Column("lost_pkts", "Packets lost", Unit.COUNT),
        *(
            it
            for it in _RANKING
            if it.key in {"fct_p99_ratio", "step_ratio", "makespan_ratio", "control_ns", "outage_ns"}
        ),
    )
    rows, statuses = [], []
    for it in found:
        compared = None if it.outcome is None else it.outcome.compared
        lost = None if it.outcome is None else it.outcome.measured.lost_pkts
        rest = (None if compared is None else getattr(compared, column.key) for column in columns[4:])
        rows.append((it.case.name, it.case.what, it.failure or _effect(it), lost, *rest))
        statuses.append(Status.BAD if it.damage is None else STATUS[it.damage.effect])
    note = (
        "drained: the switch asks its neighbours for other paths (GRACEFUL_SHUTDOWN, RFC 8326) and stays on. switched "
        "off: the same without a warning. A switch whose hosts have no second switch cuts them off once it is off."
    )
    yield Table("maintenance", "", columns, tuple(rows), note, tuple(statuses))


def _growth(study: Study) -> Iterable[Block]:
    found = [it for it in study.findings if it.case.kind == "growth"]
    if not found or study.baseline is None:
        return
    columns = (
        Column("name", "Growth"),
        Column("work", "Messages and transfers", Unit.COUNT),
        Column("done", "Delivered", Unit.COUNT),
        Column("goodput_bps", "Goodput", Unit.BPS),
        Column("fct_p99_ns", "FCT p99", Unit.NS),
        Column("fct_p99_ratio", "of now", Unit.TIMES),
        Column("step_ns", "Mean step", Unit.NS),
        Column("step_ratio", "of now", Unit.TIMES),
        Column("makespan_ns", "All work done at", Unit.NS),
        Column("lossless_pkts", "Lossless", Unit.COUNT),
    )
    rows: list[tuple[Value, ...]] = []
    for name, outcome in [("now", study.baseline), *((it.case.name, it.outcome) for it in found)]:
        if outcome is None:
            rows.append((name, *(None for _ in columns[1:])))
            continue
        one, against = outcome.measured, outcome.compared
        rate = None if not one.makespan_ns else one.goodput_bytes * 8 * 10**9 // one.makespan_ns
        ratios = (None, None) if against is None else (against.fct_p99_ratio, against.step_ratio)
        rows.append(
            (
                *(name, one.work, one.done, rate, one.fct_p99_ns, ratios[0]),
                *(one.step_ns, ratios[1], one.makespan_ns, one.lossless_pkts),
            )
        )
    kept = [n for n in range(len(columns)) if n == 0 or any(row[n] is not None for row in rows)]
    note = "The grown scenario without failures; workloads that use all hosts grow with the fabric."
    yield Table("growth", "", tuple(columns[n] for n in kept), tuple(tuple(r[n] for n in kept) for r in rows), note)


def _repeat(study: Study, command: str) -> Iterable[Block]:
    if command:
        yield Prose(f"The study: {command}")
    if study.baseline is None:
        return
    file = study.question.file
    rows = tuple((it.case.name, it.case.what, it.case.command(file)) for it in study.findings)
    if rows:
        columns = (Column("name", "Run"), Column("kind", "Kind"), Column("command", "Command"))
        at = "" if study.at_ps is None else f" Failures begin at {format_time_ps(study.at_ps)}."
        if study.question.seeds > 1:
            last = study.place.scenario.run.seed + study.question.seeds - 1
            at += f" They have the first seed; for another one add --set run.seed=N, N up to {last}."
        yield Table("commands", "", columns, rows, f"Each gives the same packets again, bit for bit.{at}")
