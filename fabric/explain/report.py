"""The report of a run: verdict, expectations, pauses, curves over time, messages, drops and faults as one Document."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.state.codes import EventKind
from fabric.explain import pauses
from fabric.explain.cause import cause
from fabric.explain.drops import explain_drops
from fabric.explain.evidence import Evidence, advice
from fabric.explain.fabric_map import Focus, fabric_map
from fabric.explain.jobs_report import jobs_section
from fabric.explain.pfc import groups, threshold_table
from fabric.explain.step_report import step_section
from fabric.render.document import (
    Block,
    Chart,
    Column,
    Document,
    Fact,
    Facts,
    Mark,
    Prose,
    Section,
    Series,
    Status,
    Table,
    Unit,
    worst,
)
from fabric.render.run_page import measured
from fabric.runs.convergence import CLOCKS
from fabric.runs.left_out import left_out
from fabric.runs.messages import SIZE_CLASSES
from fabric.units import PS_PER_NS, PS_PER_S, count, format_rate_bps, format_time_ps
from fabric.visible import command

TOP: Final = 6
"""Lines of a chart."""
TOP_GROUPS: Final = 20
TOP_MESSAGES: Final = 15
N_BINS: Final = 400
"""Parts of a run over which the number of paused ports is averaged."""
MAX_MARKS: Final = 8
_LEVELS: Final = {"problem": Status.BAD, "warning": Status.WARNING, "note": Status.NEUTRAL, "good": Status.GOOD}


def compose(
    evidence: Evidence, title: str = "", before: Sequence[Section] = (), focus: Focus | None = None
) -> Document:
    """The whole report.

    Parameters
    ----------
    evidence : Evidence
    title : headline; the scenario's name where empty
    before : sections to put first, such as the steps of a playbook
    focus : the first root cause, which metrics know (telemetry/sources/focus.py); None: it was not looked for
    """
    run = evidence.run
    sentences = tuple(Prose(it["text"], _LEVELS[it["level"]]) for it in run.summary["verdict"])
    found = cause(evidence)
    headline = found or run.summary["headline"]
    if focus is not None and focus.headline:  # as in the first block of the page, which has the root cause from metrics
        headline = focus.headline
        sentences = (*sentences[:1], *((Prose(found, Status.WARNING),) if found else ()), *sentences[1:])
    expectations = run.summary["expectations"]
    failed = [it for it in expectations if not it["met"]]
    judged = [sentence.status for sentence in sentences] + [Status.BAD] * bool(failed)
    status = worst(judged if focus is None or not focus.headline else [focus.answer.status, *judged])
    marks = _marks(evidence)
    sections = (
        *before,
        Section("map", "Map", (fabric_map(evidence, focus),)),
        Section("overview", "Overview", (_facts(evidence),)),
        Section("expectations", "Expectations", _expectations(expectations)),
        *jobs_section(evidence),
        Section("pauses", "Pauses", tuple(_pauses(evidence))),
        Section("curves", "Over time", tuple(_curves(evidence, marks))),
        Section("routing", "Routing", tuple(_routing(evidence))),
        *step_section(evidence),
        Section("messages", "Messages", tuple(_messages(evidence))),
        Section("drops", "Drops", explain_drops(evidence).sections[0].blocks),
        Section("faults", "What was done to the fabric", tuple(_faults(evidence))),
        Section("about", "About this run", (_about(evidence),)),
    )
    name = str(run.manifest.get("name") or run.path.name)
    return Document(
        title or name,
        _subtitle(evidence),
        status,
        _verdict(headline, failed, expectations),
        sentences,
        sections,
        None if focus is None else focus.answer,
    )


def _subtitle(evidence: Evidence) -> str:
    fabric = evidence.fabric
    rates = sorted({link.rate_bps for link in fabric.links})
    speed = " and ".join(format_rate_bps(rate) for rate in rates[:3]) + (
        f" and {len(rates) - 3} more speeds" if len(rates) > 3 else ""
    )
    hosts, switches = len(fabric.hosts), len(fabric.switches)
    return (
        f"{fabric.name}: {hosts:,} host{'' if hosts == 1 else 's'}, "
        f"{switches:,} switch{'' if switches == 1 else 'es'}, links of {speed}"
    )


def _verdict(headline: str, failed: Sequence[Any], expectations: Sequence[Any]) -> str:
    """The headline, and the results of the expectations."""
    first = headline.split(maxsplit=1)[0]
    begun = f"{headline[0].upper()}{headline[1:]}." if first.isalpha() else f"{headline}."  # a name stays as it is
    if not expectations:
        return begun
    number = len(expectations)
    if failed:
        named = ", ".join(it["expectation"] for it in failed[:3])
        more = f" and {len(failed) - 3} more" if len(failed) > 3 else ""
        which = "The expectation was" if number == 1 else f"{len(failed)} of {number} expectations were"
        return f"{begun} {which} not met: {named}{more}."
    return f"{begun} {'The expectation was' if number == 1 else f'All {number} expectations were'} met."


def _facts(evidence: Evidence) -> Facts:
    run = evidence.run
    metrics = run.summary["metrics"]

    def time_ns(name: str) -> int | None:
        value = metrics[f"{name}_ns"]
        return None if value is None else int(value)

    def title(words: str, name: str) -> str:
        left = left_out(name, metrics)
        return f"{words} ({left})" if left else words

    done, total = metrics["messages.done"], metrics["messages.total"]
    starved, lost = metrics["drops.lossless"], metrics["drops.lossless_any"]
    drops = run.summary["drops"]
    safe = not drops.get("message_pkts_where_lossy") and set(drops.get("message_classes", ())) <= set(
        drops["lossless_classes"]
    )
    if not drops["lossless_classes"]:
        starved = lost = None
    return Facts(
        (
            Fact(
                "messages_done",
                f"messages done of {total:,}",
                done,
                Unit.COUNT,
                Status.GOOD if done == total else Status.WARNING,
            ),
            Fact("goodput_bps", title("goodput", "goodput.total"), metrics["goodput.total_bps"], Unit.BPS),
            Fact("fct_p99_ns", title("completion time, p99", "fct.p99"), time_ns("fct.p99"), Unit.NS),
            Fact("slowdown_p99", title("slowdown, p99", "slowdown.p99"), metrics["slowdown.p99"], Unit.TIMES),
            Fact(
                "lossless_lost",
                "lossless-class packets lost",
                lost,
                Unit.COUNT,
                Status.BAD
                if starved
                else Status.WARNING
                if lost
                else Status.GOOD
                if lost == 0 and safe
                else Status.NEUTRAL,
            ),
            Fact(
                "lossless_drops",
                "of them for lack of buffer",
                starved,
                Unit.COUNT,
                Status.BAD if starved else Status.NEUTRAL,
            ),
            Fact("drops", "all drops", metrics["drops.total"], Unit.COUNT),
            Fact("pauses", "pauses", metrics["pfc.pauses"], Unit.COUNT),
            Fact("longest_pause_ns", "longest pause", time_ns("pfc.longest_pause"), Unit.NS),
            Fact("paused_hosts", "hosts paused", metrics["pfc.paused_hosts"], Unit.COUNT),
            Fact("marked_ratio", "packets ECN-marked", metrics["ecn.marked_ratio"], Unit.RATIO),
            Fact("retransmits", "packets sent again", metrics["transport.retransmits"], Unit.COUNT),
            Fact("simulated_ns", "simulated time", time_ns("simulated.time"), Unit.NS),
        )
    )


def _expectations(expectations: Sequence[Any]) -> tuple[Block, ...]:
    if not expectations:
        return ()
    columns = (Column("met", "Met"), Column("expectation", "Expected"), Column("actual", "Actual"))
    rows = tuple(
        (bool(it["met"]), str(it["expectation"]), measured(it["metric"], it["actual"], it.get("left_out", "")))
        for it in expectations
    )
    return (
        Table(
            "expectations",
            "",
            columns,
            rows,
            statuses=tuple(Status.GOOD if it["met"] else Status.BAD for it in expectations),
        ),
    )


def _pauses(evidence: Evidence) -> Iterable[Block]:
    found = groups(evidence)
    if evidence.episodes:
        for episode in evidence.episodes[:1]:
            yield Prose(pauses.sentence(evidence.fabric, episode, evidence.blast(episode)) + ".")
        yield pauses.pause_map(evidence)
        for number, episode in enumerate(evidence.episodes[: pauses.MAX_TREES], 1):
            yield pauses.episode_tree(evidence, episode, evidence.blast(episode), number)
        if len(evidence.episodes) > 1:
            yield pauses.episode_table(evidence)
    elif evidence.records("pause") or not evidence.run.summary["metrics"]["pfc.pauses"]:
        yield Prose("Nothing was paused.")
    else:
        yield Prose(
            f"Ports were paused, but the run recorded no pause events, so no tree can be drawn: {advice('pause')}.",
            Status.WARNING,
        )
    if found:
        table = threshold_table(evidence, found[:TOP_GROUPS])
        left = len(found) - len(table.rows)
        more = (
            f"{count(left, 'more group')}, further from XOFF: "
            f"{command('fabric', 'explain', 'pfc', evidence.run.path)}. "
            if left
            else ""
        )
        yield Table(table.key, "Ingress use against XOFF", table.columns, table.rows, more + table.note, table.statuses)


def _marks(evidence: Evidence) -> tuple[Mark, ...]:
    """Faults and watchdog actions as vertical lines."""
    found = [
        (float(it["start_ns"]), str(it["kind"]).replace("_", " "))
        for it in evidence.run.truth().to_pylist()
        if it.get("start_ns") is not None
    ]
    events = evidence.events(["storm_detected", "storm_restored", "link_down", "link_up"])
    names = {
        EventKind.STORM_DETECTED: "watchdog: storm",
        EventKind.STORM_RESTORED: "watchdog: restored",
        EventKind.LINK_DOWN: "link down",
        EventKind.LINK_UP: "link up",
    }
    seen: set[str] = set()
    for time_ps, kind in zip(events["time_ps"].tolist(), events["kind"].tolist(), strict=True):
        if names[kind] not in seen:
            seen.add(names[kind])
            found.append((time_ps / PS_PER_NS, names[kind]))
    ordered = sorted(found)
    shown = [Mark(at, text) for at, text in ordered[:MAX_MARKS]]
    if len(ordered) > MAX_MARKS:
        at, text = ordered[MAX_MARKS - 1]
        shown[-1] = Mark(at, f"{text}, and {len(ordered) - MAX_MARKS} more later")
    return tuple(shown)


def _curves(evidence: Evidence, marks: tuple[Mark, ...]) -> Iterable[Block]:
    lines, number = _deepest(evidence)
    more = f" The deepest {len(lines)} of {number:,} queues that were used." if number > len(lines) else ""
    yield Chart(
        "queues",
        "Deepest egress queues",
        "simulated time",
        Unit.NS,
        "bytes waiting",
        Unit.BYTES,
        lines,
        marks,
        "Highest depth since the last sample." + more,
    )
    standing = _standing(evidence)
    if standing:
        yield Chart(
            "paused",
            "Paused ports",
            "simulated time",
            Unit.NS,
            "ports",
            Unit.COUNT,
            standing,
            marks,
            f"Mean over each of {N_BINS} parts of the run, from the event log, so it is exact between samples too.",
        )
    yield Chart(
        "goodput",
        "Goodput",
        "simulated time",
        Unit.NS,
        "payload received in order",
        Unit.BPS,
        _goodput(evidence),
        marks,
    )
    rates = _rates(evidence)
    if rates:
        yield Chart(
            "rates",
            "Rates that the reaction points allow",
            "simulated time",
            Unit.NS,
            "bit/s",
            Unit.BPS,
            rates,
            marks,
            "Over all queue pairs that have started.",
        )


def _line(evidence: Evidence, label: str, times: NDArray[Any], values: NDArray[Any]) -> Series:
    """A stepped line that begins with the run and lasts until its end; an observable is 0 before its first row."""
    head = [] if times[0] == 0 else [0]
    return Series(label, (*head, *times.tolist(), evidence.end_ns), (*map(float, [*head, *values, values[-1]]),))


def _deepest(evidence: Evidence) -> tuple[tuple[Series, ...], int]:
    """Lines of the deepest queues, and how many queues there are."""
    found = evidence.series("queue_watermark_bytes")
    ordered = sorted(found, key=lambda place: (-float(found[place][1].max()), place))[:TOP]
    return tuple(
        _line(evidence, f"{evidence.fabric.port_name(place[0])} class {place[1]}", *found[place]) for place in ordered
    ), len(found)


def _goodput(evidence: Evidence) -> tuple[Series, ...]:
    """Goodput of all hosts; where pauses began at a host, also of all others."""
    found = evidence.device_series("goodput_bytes")
    if not found:
        return ()
    times = np.unique(np.concatenate([at for at, _ in found.values()]))

    def rate(hosts: Iterable[int]) -> NDArray[np.float64]:
        total = np.zeros(times.size)
        for host in hosts:
            at, values = found[host]
            place = np.searchsorted(at, times, side="right") - 1
            total += np.where(place >= 0, values[np.maximum(place, 0)], 0)
        return np.diff(total, prepend=0.0) * 8 * PS_PER_S / PS_PER_NS / np.maximum(np.diff(times, prepend=0), 1)

    # A difference belongs to the interval before its sample, so the line steps at the interval's beginning.
    starts = np.r_[0, times[:-1]]
    lines = [_line(evidence, "all hosts", starts, rate(found))]
    if evidence.episodes:
        origin = evidence.fabric.node_of(evidence.episodes[0].origin.port)
        if origin.is_host:
            others = [host for host in found if host != origin.id]
            lines.append(_line(evidence, f"all but {origin.name}", starts, rate(others)))
    return tuple(lines)


def _standing(evidence: Evidence) -> tuple[Series, ...]:
    """Mean number of paused host ports and switch ports over each of N_BINS equal parts of the run."""
    width = max(evidence.end_ps / N_BINS, 1.0)
    edges = np.arange(N_BINS + 1) * width
    found = []
    for label, of_host in (("host ports", True), ("switch ports", False)):
        held = [
            interval
            for span in evidence.pauses
            if evidence.fabric.peer_of(span.port).is_host == of_host
            for interval in span.held
        ]
        if held:
            starts, stops = (np.sort(np.array(column)) for column in zip(*held, strict=True))
            # Time paused before each edge, summed over intervals: all that began, less what lies beyond the edge.
            before = np.subtract(_summed_before(starts, edges), _summed_before(stops, edges))
            found.append(_line(evidence, label, edges[:-1] / PS_PER_NS, np.diff(before) / width))
    return tuple(found)


def _summed_before(moments: NDArray[Any], edges: NDArray[Any]) -> NDArray[Any]:
    """Sum of (edge - moment) over the moments before each edge; both ascend."""
    place = np.searchsorted(moments, edges)
    return np.asarray(place * edges - np.r_[0, np.cumsum(moments, dtype=np.float64)][place])


def _rates(evidence: Evidence) -> tuple[Series, ...]:
    """Smallest, mean and largest allowed rate over the queue pairs, at every moment one of them changed."""
    found = evidence.item_series("qp_rate_bps")
    if not found:
        return ()
    times = np.unique(np.concatenate([at for at, _ in found.values()]))
    table = np.full((len(found), times.size), np.nan)
    for row, (at, values) in enumerate(found.values()):
        place = np.searchsorted(at, times, side="right") - 1
        table[row] = np.where(place >= 0, values[np.maximum(place, 0)], np.nan)
    table[table == 0] = np.nan
    if np.all(np.nanmin(table, initial=np.inf, axis=0) == np.nanmax(table, initial=0, axis=0)):
        return ()  # no queue pair was ever throttled: a flat line has no information
    lines: tuple[tuple[str, NDArray[Any]], ...] = (
        ("largest", np.nanmax(table, axis=0, initial=0)),
        ("mean", np.nanmean(table, axis=0)),
        ("smallest", np.nanmin(table, axis=0, initial=np.inf)),
    )
    return tuple(
        Series(label, (*times.tolist(), evidence.end_ns), (*map(float, values), float(values[-1])))
        for label, values in lines
    )


def _messages(evidence: Evidence) -> Iterable[Block]:
    slowdown, size = evidence.messages["slowdown"], evidence.messages["size_bytes"]
    lines = []
    lower = 0
    for upper, name in SIZE_CLASSES:
        values = np.sort(slowdown[(size > lower) & (size <= upper) & ~np.isnan(slowdown)])
        lower = upper
        if values.size:
            share = np.arange(1, values.size + 1) / values.size
            lines.append(Series(f"{name} ({values.size:,})", tuple(values.tolist()), tuple(share.tolist())))
    if lines:
        yield Chart(
            "slowdown",
            "Slowdown: share of messages done within so many times their ideal",
            "slowdown",
            Unit.TIMES,
            "share of messages",
            Unit.RATIO,
            tuple(lines),
            log_x=True,
        )
    if not len(slowdown):
        yield from _sizes(evidence)
        return
    names = ("id", "src", "dst", "size_bytes", "state", "start_ns", "fct_ns", "ideal_ns", "slowdown", "retransmits")
    table = evidence.run.messages(names)
    rank = np.where(np.isnan(slowdown), np.inf, slowdown)
    slowest = np.argsort(-rank, kind="stable")[:TOP_MESSAGES]
    rows = tuple(tuple(row[name] for name in names) for row in table.take(slowest).to_pylist())
    columns = (
        Column("id", "Message"),
        Column("src", "From"),
        Column("dst", "To"),
        Column("size_bytes", "Size", Unit.BYTES),
        Column("state", "State"),
        Column("start_ns", "Posted", Unit.NS),
        Column("fct_ns", "Completion time", Unit.NS),
        Column("ideal_ns", "Ideal", Unit.NS),
        Column("slowdown", "Slowdown", Unit.TIMES),
        Column("retransmits", "Sent again", Unit.COUNT),
    )
    all_of_them = command("fabric", "show", evidence.run.path, "messages")
    more = f"All of them: {all_of_them}. " if len(slowdown) > len(rows) else ""
    yield Table(
        "slowest",
        f"The {len(rows):,} slowest of {len(slowdown):,} messages",
        columns,
        rows,
        f"{more}Ask about one with: {command('fabric', 'explain', 'message', evidence.run.path)} ID",
        tuple(Status.NEUTRAL if row[4] == "done" else Status.BAD for row in rows),
    )


def _sizes(evidence: Evidence) -> Iterable[Block]:
    """Messages of transfers by size, where the workload has no others."""
    found = evidence.run.summary["messages"]["by_size"]
    columns = (
        Column("size", "Size"),
        Column("done", "Done", Unit.COUNT),
        *(Column(f"fct_{name}_ns", f"Completion time, {name}", Unit.NS) for name in ("p50", "p99", "max")),
        *(Column(f"slowdown_{name}", f"Slowdown, {name}", Unit.TIMES) for name in ("p50", "p99", "max")),
    )
    rows = tuple(
        (it["size"], it["done"], *(it[what][name] for what in ("fct_ns", "slowdown") for name in ("p50", "p99", "max")))
        for it in found
    )
    if rows:
        yield Table("sizes", "Messages of transfers by size", columns, rows)


def _faults(evidence: Evidence) -> Iterable[Block]:
    rows = evidence.run.truth().to_pylist()
    if rows:
        columns = (
            Column("kind", "Fault"),
            Column("objects", "Where"),
            Column("start_ns", "From", Unit.NS),
            Column("end_ns", "To", Unit.NS),
            Column("expect", "What one should see"),
        )
        yield Table(
            "faults",
            "",
            columns,
            tuple(
                (
                    str(row.get("kind")),
                    _words(row.get("objects")),
                    row.get("start_ns"),
                    row.get("end_ns"),
                    _words(row.get("expect")),
                )
                for row in rows
            ),
        )


def _routing(evidence: Evidence) -> Iterable[Block]:
    section = evidence.run.summary.get("routing")
    if section is None:
        return
    yield Prose(
        f"{section['routers']} switches, {section['sessions']} BGP sessions ({section['design']}); converged "
        f"{format_time_ps(section['converged_ns'] * PS_PER_NS)} after the start of all of them, before time 0."
    )
    units = (
        ("event", "Event", Unit.TEXT),
        ("time_ns", "At", Unit.NS),
        ("reaction_ns", "First reaction", Unit.NS),
        ("convergence_ns", "Converged after", Unit.NS),
        ("sessions_lost", "Session ends lost", Unit.COUNT),
        ("updates", "Updates", Unit.COUNT),
        ("fib_changes", "Forwarding changes", Unit.COUNT),
        ("packets_lost", "Packets lost", Unit.COUNT),
        ("packets_lost_converging", "until converged", Unit.COUNT),
        ("messages_under_way", "Messages in progress", Unit.COUNT),
        ("messages_failed", "of them failed", Unit.COUNT),
        ("slowdown_p50", "Median slowdown", Unit.TIMES),
        ("others_slowdown_p50", "that of the others", Unit.TIMES),
    )
    left = section["n_events"] - len(section["events"])
    yield Table(
        "routing",
        "",
        tuple(Column(key, title, unit) for key, title, unit in units),
        tuple(tuple(row[key] for key, _, _ in units) for row in section["events"]),
        CLOCKS + (f" {count(left, 'more event')}, counted in the numbers above." if left else ""),
    )


def _words(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_words(part)}" for key, part in value.items() if part is not None)
    if isinstance(value, list | tuple):
        return "; ".join(str(part) for part in value)
    return "" if value is None else str(value)


def _about(evidence: Evidence) -> Facts:
    manifest = evidence.run.manifest
    keys = (("version", "version"), ("model", "model"), ("seed", "seed"), ("status", "status"), ("digest", "digest"))
    return Facts(tuple(Fact(key, title, str(manifest[key])) for key, title in keys if manifest.get(key) is not None))
