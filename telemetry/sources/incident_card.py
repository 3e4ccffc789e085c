"""The first root cause of a run as a ticket: what, where, who was hurt, when, why one may say so, what to do first."""

from __future__ import annotations

import textwrap
from collections import Counter
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow.compute as pc

from fabric.runs.rundir import RunDir
from fabric.units import PS_PER_NS, count, format_time_ps
from fabric.visible import command, in_markdown, visible
from telemetry.diagnosis.root import MEANINGS, Root
from telemetry.diagnosis.seen import IDEAL
from telemetry.sources.roots_page import roots_of

WIDTH: Final = 80
SLOWER: Final = 2.0
"""A message is hurt where its slowdown is so many times the median of messages that ended before the root began."""
_HOSTS: Final = 5
_AGAIN: Final = "See it again"
_SEVERITY: Final = ("traffic is lost or blocked", "traffic is slower", "what a network is built for")
"""By Root.rank."""


@dataclass(frozen=True, slots=True)
class Hurt:
    """Messages that were under way while the root lasted."""

    messages: int
    failed: int
    unfinished: int
    slower: int
    usual: float | None
    """Median slowdown before; None: no message had ended, and none counts as slower."""
    hosts: tuple[tuple[str, int], ...]
    """Senders and receivers of hurt messages, with their number, most first."""


def card(run: RunDir, form: str, view: str = IDEAL) -> str:
    """The ticket, ready to print; one sentence where no metric of the view shows a fault. Raises: RunDirError."""
    roots = roots_of(run, view)
    if not roots:
        return "No root cause: no metric shows a fault.\n"
    first = roots[0]
    fields = _fields(run, first, roots[1:])
    return _markdown(first, fields) if form == "markdown" else _text(first, fields)


def hurt(run: RunDir, root: Root) -> Hurt:
    """Who was hurt while a root lasted."""
    table = run.messages(["src", "dst", "start_ns", "end_ns", "slowdown", "state"])
    start = table["start_ns"].to_numpy()
    end = pc.fill_null(table["end_ns"], -1).to_numpy()
    slowdown = pc.fill_null(table["slowdown"], 0.0).to_numpy()
    state = np.array(table["state"].to_pylist(), dtype=object)
    before = slowdown[(end >= 0) & (end <= root.began_ns) & (slowdown > 0)]
    usual = float(np.median(before)) if before.size else None
    under_way = (start >= 0) & (start <= root.ended_ns) & ((end < 0) | (end >= root.began_ns))
    failed = under_way & (state == "failed")
    unfinished = under_way & (end < 0) & ~failed
    slower = under_way & (slowdown > SLOWER * usual) & ~failed if usual is not None else np.zeros(len(end), bool)
    rows = np.flatnonzero(failed | unfinished | slower)
    places: Counter[str] = Counter()
    for side in ("src", "dst"):
        places.update(table[side].take(rows).to_pylist())
    hosts = tuple(sorted(places.items(), key=lambda it: (-it[1], it[0])))
    return Hurt(
        int(under_way.sum()), int(failed.sum()), int(unfinished.sum()), int((slower & ~unfinished).sum()), usual, hosts
    )


def _fields(run: RunDir, root: Root, others: list[Root]) -> dict[str, list[str]]:
    """Title of each field to its lines."""
    meaning = MEANINGS[root.kind]
    manifest = run.manifest
    words: list[object] = ["fabric", "run", manifest["scenario"]["file"]]
    for it in manifest["scenario"]["set"]:
        words += ["--set", it]
    found: dict[str, list[str]] = {
        "Root": [f"{root.kind.value}: {meaning.title}"],
        "Place": [root.place + (f", with {', '.join(root.members)}" if root.members else "")],
        "Severity": [_SEVERITY[root.rank]],
        "First seen": [_time(root.began_ns)],
        "Last seen": [_time(root.ended_ns)],
        "Hurt": _hurt_lines(hurt(run, root)),
        "Lost": [_lost_line(run)],
        "Evidence": list(root.evidence),
        "First act": [meaning.act],
        _AGAIN: [command(*words, "--out", "again"), command("fabric", "explain", "roots", "again")],
    }
    if others:
        found["Also"] = [f"{it.kind.value} at {it.place}" for it in others]
    found["Run"] = [f"{run.path.name}, digest {str(manifest['digest'])[:16]}"]
    return found


def _hurt_lines(it: Hurt) -> list[str]:
    parts = []
    if it.failed:
        parts.append(f"{it.failed:,} failed")
    if it.unfinished:
        parts.append(f"{it.unfinished:,} not delivered by the end of the run")
    if it.slower and it.usual is not None:
        parts.append(f"{it.slower:,} took more than {SLOWER:g} times as long as usual (median before: {it.usual:.2f}x)")
    head = f"of {count(it.messages, 'message')} under way: "
    lines = [head + (", ".join(parts) or "none failed or was late")]
    if it.hosts:
        shown = ", ".join(f"{name} ({number:,})" for name, number in it.hosts[:_HOSTS])
        more = len(it.hosts) - _HOSTS
        lines.append(f"{count(len(it.hosts), 'host')}: {shown}" + (f" and {more} more" if more > 0 else ""))
    return lines


def _lost_line(run: RunDir) -> str:
    """Packets lost in the whole run, by reason, most first."""
    reasons = {name: int(it["pkts"]) for name, it in run.summary["drops"]["by_reason"].items()}
    if not reasons:
        return "no packet in the whole run"
    told = (f"{number:,} {name.replace('_', ' ')}" for name, number in sorted(reasons.items(), key=lambda it: -it[1]))
    return f"{count(sum(reasons.values()), 'packet')} in the whole run: {', '.join(told)}"


def _time(time_ns: int) -> str:
    return format_time_ps(time_ns * PS_PER_NS) if time_ns else "the start of the run"


def _text(root: Root, fields: dict[str, list[str]]) -> str:
    lines = [visible(f"INCIDENT {root.kind.value} at {root.place}"), "=" * WIDTH]
    width = max(map(len, fields)) + 2
    for title, values in fields.items():
        shown = [line for value in values for line in _folded(visible(value), WIDTH - width, title)]
        for number, line in enumerate(shown):
            lines.append(f"{'' if number else title:<{width}}{line}")
    return "\n".join(lines) + "\n"


def _folded(text: str, width: int, title: str) -> list[str]:
    """Lines of a value; a command is copied whole, so it is not folded."""
    return [text] if title == _AGAIN else textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def _markdown(root: Root, fields: dict[str, list[str]]) -> str:
    lines = [f"## Incident: {in_markdown(root.kind.value)} at {in_markdown(root.place)}", ""]
    for title, values in fields.items():
        if title == _AGAIN:
            lines += [f"**{title}**", "", "```", *(visible(it) for it in values), "```", ""]
        elif len(values) == 1:
            lines += [f"**{title}:** {in_markdown(values[0])}", ""]
        else:
            lines += [f"**{title}**", "", *(f"- {in_markdown(it)}" for it in values), ""]
    return "\n".join(lines[:-1]) + "\n"
