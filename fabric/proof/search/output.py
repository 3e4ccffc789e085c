"""Ladders, margins and losses of a search as text of 80 columns, JSON data and Markdown, and as data for a verdict."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from fabric.proof.search import families
from fabric.proof.search.cycles import Waits
from fabric.proof.search.margins import REFERENCE_BYTES, Margin
from fabric.proof.search.rungs import RUNGS, Rungs
from fabric.proof.search.runs import Hit
from fabric.proof.search.search import ClassFound, Found, Hunted, Row
from fabric.units import count
from fabric.validate.output.searched import SearchClass, Searched, SearchLoss
from fabric.visible import in_markdown, in_markdown_code, visible

COLUMNS: Final = 80
_INDENT: Final = "  "
_NAMED: Final = 2
"""Ports of a class that are named."""
_COMMAND: Final = "  $ "
"""Before a line that is to be copied, and therefore not broken."""
_TITLES: Final = ("first mark", "first pause", "headroom", "loss")
_GROWN: Final = ("mark", "pause", "headroom", "loss")


# Text -----------------------------------------------------------------------------------------------------------------


def as_text(found: Found) -> str:
    """For a terminal."""
    lines: list[str] = []
    for it in found.classes:
        if not (it.rows or it.margins):
            continue
        lines += _wrapped(_heading(it))
        lines += _table(["traffic", *_TITLES], [[row.label, *_ladder(row.rungs)] for row in it.rows])
        lines += (
            _table(["grows until the first", *_GROWN], [[_name(one), *_firsts(one)] for one in it.margins])
            if it.margins
            else []
        )
        for text in _remarks(it):
            lines += _wrapped(f"- {text}", "  ")
        lines.append("")
    for text in _endings(found):
        lines += [text] if text.startswith(_COMMAND) else _wrapped(text, "  ")
    return "\n".join(map(visible, lines)) + "\n"


def _wrapped(text: str, more: str = "") -> list[str]:
    return textwrap.wrap(text, COLUMNS, subsequent_indent=more, break_on_hyphens=False, break_long_words=False)


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """In COLUMNS: the first column is folded where the others leave it too little."""
    widths = [max(len(row[n]) for row in [titles, *rows]) for n in range(len(titles))]
    left = COLUMNS - len(_INDENT) - sum(widths[1:]) - 2 * len(widths[1:])
    lines = []
    for first, *cells in [titles, *rows]:
        label, *more = textwrap.wrap(first, left, subsequent_indent="  ") or [""]
        row = [label.ljust(min(left, widths[0])), *(c.ljust(w) for c, w in zip(cells, widths[1:], strict=True))]
        lines += [(_INDENT + "  ".join(row)).rstrip(), *(_INDENT + part for part in more)]
    return lines


def _heading(it: ClassFound) -> str:
    named = ", ".join(name.replace(":", " ") for name in it.member.ports[:_NAMED])
    more = f" and {len(it.member.ports) - _NAMED} more" if len(it.member.ports) > _NAMED else ""
    return f"{it.member.kind.title}: {count(len(it.member.ports), 'port')} ({named}{more})"


def _ladder(it: Rungs) -> list[str]:
    """'12 us 528k', '320 us', '25k of 39k', '37 frames'."""
    used = f"{_kilo(it.headroom_bytes)} of {_kilo(it.headroom_of_bytes)}" if it.headroom_bytes else "-"
    return [
        "-" if it.mark_us is None else f"{it.mark_us:.0f} us, {_kilo(it.mark_bytes)}",
        "-" if it.pause_us is None else f"{it.pause_us:.0f} us, {_kilo(it.pause_bytes)}",
        used,
        _end(it),
    ]


def _end(it: Rungs) -> str:
    """'37 at 12 us', 'deadlock', 'watchdog at 399 ms'."""
    if it.deadlock:
        return "deadlock"
    if it.loss is not None:
        return f"{it.lost:,} at {it.loss.first_us:.0f} us"
    return "-" if it.storm_us is None else f"watchdog, {it.storm_us / 1000:.0f} ms"


def _kilo(size_bytes: int) -> str:
    """'528k', '13.2M': bytes."""
    if size_bytes >= 10**6:
        return f"{size_bytes / 10**6:.1f}M"
    return f"{size_bytes / 10**3:.0f}k" if size_bytes >= 10**4 else f"{size_bytes}"


def _name(it: Margin) -> str:
    """'cable (40 m)'."""
    return it.name if it.now is None else f"{it.name} ({_value(it, it.now)})"


def _value(it: Margin, value: int) -> str:
    if it.unit == "Mb/s":
        return f"{value / 1000:g}G"
    if it.unit == "B a sender":
        return _kilo(value)
    if it.unit == "senders":
        return str(value)
    return f"{value} %" if it.unit.startswith("%") else f"{value} {it.unit}"


def _firsts(it: Margin) -> list[str]:
    if it.losing is not None:
        return ["", "", "", ", ".join(map(str, it.losing)) or "none"]
    cells = []
    for rung in RUNGS:
        if rung not in it.first:
            cells.append("")
            continue
        at = it.first[rung]
        cells.append(f"> {_value(it, it.limit)}" if at is None else _value(it, at))
    return cells


def _remarks(it: ClassFound) -> Iterator[str]:
    if any(one.name == "fan-in" for one in it.margins):
        yield (
            f"fan-in: each sends {REFERENCE_BYTES // 2**20} MiB; load: bytes of each of {it.senders}; both with "
            f"{families.PAIRS} queue pairs of a sender"
        )
    for row in it.rows:
        if row.rungs.shared_bytes:
            used, has = _kilo(row.rungs.shared_bytes), _kilo(row.rungs.shared_of_bytes)
            yield f"{row.label}: {used} of {has} of the shared headroom pool"
    for one in it.margins:
        if one.formula is not None:
            allows = "allows none" if one.formula < 0 else f"allows {_value(one, one.formula)}"
            yield f"{one.name}: the closed form, with the worst phase of all terms, {allows}" + (
                f". DISAGREES: {one.note}" if one.note else ""
            )
        elif one.note:
            yield f"{one.name}: {one.note}"
    yield from it.omitted


def _endings(found: Found) -> Iterator[str]:
    """Mutated workloads, losses, what was left out, and the sum."""
    *before, last = _general(found)
    hunted = before[: len(found.hunted)]
    yield from hunted
    for hit in found.hits:
        yield f"{hit.title}: {hit.text}" + (f" ({hit.condition})" if hit.condition else "")
        if hit.file:
            yield f"{_COMMAND}fabric run {hit.file}"
    yield from before[len(hunted) :]
    yield last


def _general(found: Found) -> Iterator[str]:
    """Of the whole search, without its losses; the sum is last."""
    for one in found.hunted:
        used = one.rungs.headroom_bytes / max(1, one.rungs.headroom_of_bytes)
        yield (
            f"mutated workloads at {one.device}: {count(one.runs, 'run')}; the hardest one takes "
            f"{used:.0%} of a group's headroom and {_kilo(one.rungs.depth_bytes)} of a queue, and pauses "
            f"{count(one.rungs.victims, 'host')} that send nothing to the hot port"
        )
    if found.pod is not None:
        it = found.pod.rungs
        runs = count(found.pod.runs, "run")
        yield (
            f"mutated workloads of {found.pod.device}: {runs}; the furthest pause: {count(it.victims, 'host')} without "
            f"data for a port that cannot keep up, and {it.links} directions of links between switches, "
            f"{it.idle_links} of them without such data"
        )
    if found.waits is not None:
        yield found.waits.summary
        for cycle in found.waits.cycles:
            yield f"cycle {cycle.text}: {cycle.outcome or 'not simulated: others were taken'}"
    yield from (f"not searched: {it}" for it in found.omitted)
    if not found.classes:
        yield "search: no port is lossless, so there is nothing to search"
        return
    ended = "" if found.complete else "ended early, "
    losses = f"{count(len(found.losses), 'loss', 'losses')}, {len(found.losses) - len(found.certain)} with a condition"
    yield (
        f"search: {ended}{count(len(found.classes), 'class', 'classes')} of ports, {count(found.runs, 'run')}, "
        f"seed {found.seed}: {losses if found.losses else 'no loss'}"
    )


# SARIF, JUnit and HTML ------------------------------------------------------------------------------------------------


def as_searched(found: Found) -> Searched:
    """For outputs of `fabric.validate`, which cannot know a search."""
    classes = tuple(
        SearchClass(
            _heading(it),
            (
                (("traffic", *_TITLES), [_row(row) for row in it.rows]),
                (("grows until the first", *_GROWN), [[_name(one), *_firsts(one)] for one in it.margins]),
            ),
            tuple(_remarks(it)),
            it.place,
        )
        for it in found.classes
        if it.rows or it.margins
    )
    losses = tuple(
        SearchLoss(
            it.name, it.title, it.device, it.port, it.place, it.text, it.condition, it.scenario, it.file, it.loses
        )
        for it in found.hits
    )
    return Searched(classes, losses, tuple(_general(found)), as_data(found, scenarios=False))


# JSON and Markdown ----------------------------------------------------------------------------------------------------


def as_data(found: Found, *, scenarios: bool = True) -> dict[str, Any]:
    """For JSON. Times us, sizes bytes, rates Mb/s."""
    return {
        "complete": found.complete,
        "seed": found.seed,
        "runs": found.runs,
        "mutated_budget_runs": found.budget,
        "classes": [_class_data(it) for it in found.classes],
        "mutated": [_hunted_data(it) for it in found.hunted],
        "pod": None if found.pod is None else _hunted_data(found.pod),
        "losses": [_hit_data(it, scenarios=scenarios) for it in found.losses],
        "pauses_that_spread": [_hit_data(it, scenarios=scenarios) for it in found.hits if not it.loses],
        "cycles": None if found.waits is None else _cycles_data(found.waits),
        "omitted": list(found.omitted),
        "assumed": list(found.assumed),
    }


def _hunted_data(it: Hunted) -> dict[str, Any]:
    return {"device": it.device, "runs": it.runs, "best": _rungs_data(it.rungs), "score": list(it.score)}


def _hit_data(it: Hit, *, scenarios: bool) -> dict[str, Any]:
    return {
        "family": it.family,
        "device": it.device,
        "port": it.port,
        "reason": it.reason,
        "text": it.text,
        "condition": it.condition or None,
        "file": it.file or None,
        **({"scenario": it.scenario} if scenarios else {}),
    }


def _cycles_data(it: Waits) -> dict[str, Any]:
    return {
        "links_taken_away": it.links,
        "found": [
            {
                "ports": [":".join(end) for end in one.ports],
                "without_link": None if one.failed is None else [":".join(end) for end in one.failed],
                "other_links": one.others,
                "outcome": one.outcome or None,
            }
            for one in it.cycles
        ],
    }


def _class_data(it: ClassFound) -> dict[str, Any]:
    kind = it.member.kind
    return {
        "class": kind.title,
        "chip": kind.chip,
        "speed_mbps": kind.speed_mbps,
        "cable_m": kind.cable_m,
        "mtu_bytes": kind.mtu,
        "peer": kind.peer,
        "xoff_bytes": kind.xoff_bytes,
        "ports": list(it.member.ports),
        "ladders": [
            {"family": row.family, "traffic": row.label, "tried": row.tried, **_rungs_data(row.rungs)}
            for row in it.rows
        ],
        "margins": [
            {
                "quantity": one.name,
                "unit": one.unit,
                "now": one.now,
                "tried_up_to": one.limit,
                "first": dict(one.first),
                "closed_form": one.formula,
                "loses_at": None if one.losing is None else list(one.losing),
                "note": one.note or None,
            }
            for one in it.margins
        ],
        "omitted": list(it.omitted),
    }


def _rungs_data(it: Rungs) -> dict[str, Any]:
    return {
        "mark_us": it.mark_us,
        "mark_bytes": it.mark_bytes,
        "pause_us": it.pause_us,
        "pause_bytes": it.pause_bytes,
        "headroom_bytes": it.headroom_bytes,
        "headroom_of_bytes": it.headroom_of_bytes,
        "shared_headroom_bytes": it.shared_bytes,
        "shared_headroom_of_bytes": it.shared_of_bytes,
        "queue_bytes": it.depth_bytes,
        "lost_pkts": it.lost,
        "loss_us": it.loss.first_us if it.loss else None,
        "victims": it.victims,
        "paused_links": it.links,
        "paused_idle_links": it.idle_links,
        "watchdog_storms": it.storms,
        "watchdog_us": it.storm_us,
        "deadlock": it.deadlock,
    }


def as_markdown(found: Found) -> str:
    """For a pull request."""
    lines = ["", "## Margins", ""]
    for it in found.classes:
        if not (it.rows or it.margins):
            continue
        lines += [f"### {_cell(_heading(it))}", ""]
        lines += _piped(["traffic", *_TITLES], [_row(row) for row in it.rows])
        lines += _piped(["grows until the first", *_GROWN], [[_name(one), *_firsts(one)] for one in it.margins])
        lines += [*(f"- {_cell(text)}" for text in _remarks(it)), ""]
    for text in _endings(found):
        command = text.startswith(_COMMAND)
        lines.append(f"- {in_markdown_code(text.removeprefix(_COMMAND)) if command else _cell(text)}")
    return "\n".join(lines) + "\n"


def _row(row: Row) -> list[str]:
    return [row.label, *_ladder(row.rungs)]


def _piped(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    table = [titles, ["---"] * len(titles), *rows]
    return [*(f"| {' | '.join(map(_cell, row))} |" for row in table), ""]


def _cell(text: str) -> str:
    return in_markdown(text.strip())
