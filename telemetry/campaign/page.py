"""The figures of a campaign as text, and docs/detection.md."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

from fabric.visible import command
from telemetry.campaign.calibration import Calibration, calibration
from telemetry.campaign.fabrics import CHIPS, SHAPES
from telemetry.campaign.results import MISSED, NONE, Figures, Miss, Pages, Share, figures, pages, quantile
from telemetry.diagnosis.confidence import UNKNOWN, Table, table
from telemetry.diagnosis.root import Kind

VIEWS: Final = ("ideal", "sonic")
LOOKS: Final = 6
"""Times that figures of test seeds have been looked at, with any rules, the next page included."""
SEEN: Final = 520
"""Test seeds below this had been looked at, and rules were corrected after their misses, before the present figures."""
_MOST: Final = 12
"""Misses listed in the terminal."""


def summary_lines(rows: Sequence[Mapping[str, Any]], view: str, side: str, out: Path) -> list[str]:
    """What the command prints."""
    found, its = figures(rows, view), pages(rows)
    lines = [f"{len(rows)} runs of {side} seeds in {out}, as seen by {view}", ""]
    lines += [f"{name:<28}{text}" for name, text in _lines(found, its)]
    lines += [f"{name:<28}{text}" for name, text in _confidence(calibration(rows, view, table(), UNKNOWN))]
    for title, misses in (("felt faults not rightly named", found.misses), ("roots without a fault", found.false)):
        if misses:
            lines += ["", f"{title}: {len(misses)}"]
            lines += [f"  {it.seed}: {it.text}" for it in misses[:_MOST]]
            lines += [f"  and {len(misses) - _MOST} more: --json has them"] * (len(misses) > _MOST)
            lines += [f"  as a scenario: fabric campaign --write-case {misses[0].seed} DIR"]
    return lines


def _lines(found: Figures, its: Pages) -> list[tuple[str, str]]:
    return [
        ("precision", found.precision.text),
        ("recall", found.recall.text),
        ("root accuracy", found.accuracy.text),
        ("device alone", found.device_accuracy.text),
        ("healthy runs, false root", Share(found.healthy_false, found.healthy).text),
        ("delay of the root", _times(found.delays_ns)),
        ("delay of the first alert", _times(its.delays_ns)),
        ("pages per storm", _storms(its)),
        ("false pages", f"{its.false} in {its.healthy_hours:.1f} nominal hours without a fault{_bound(its)}"),
        ("pages about their fault", its.about.text),
        ("faults not felt", f"{found.unfelt}"),
        ("roots of the load", f"{found.load}, not judged"),
    ]


def _confidence(it: Calibration) -> list[tuple[str, str]]:
    if it.brier is None or it.ece is None:
        return [("confidence", "no root has one")]
    brier, ece = it.brier_interval, it.ece_interval
    return [
        ("Brier score", f"{it.brier:.3f} ({brier[0]:.3f} to {brier[1]:.3f}), {it.roots} roots"),
        ("calibration error (ECE)", f"{it.ece:.3f} ({ece[0]:.3f} to {ece[1]:.3f})"),
        ("unknown", f"{it.unknown} of {it.roots} roots, {it.unknown_right} of them right"),
    ]


def _times(values: Sequence[int]) -> str:
    middle, late = quantile(values, 0.5), quantile(values, 0.95)
    if middle is None or late is None:
        return "no case"
    return f"median {middle / 1e6:.2f} ms, 95 % within {late / 1e6:.2f} ms (1 ms is 15 s of an operator)"


def _storms(its: Pages) -> str:
    if not its.per_storm:
        return "no case"
    return f"median {median(its.per_storm):g}, most {max(its.per_storm)}, of {len(its.per_storm)} storms"


def _bound(its: Pages) -> str:
    """The 95 % bound of a rate that was not seen (rule of three)."""
    return f": below {3 / its.healthy_hours:.2f} an hour" if not its.false and its.healthy_hours else ""


WHY: Final[Mapping[tuple[str, str], str]] = {
    ("sonic", Kind.DSCP_MAP): "packets received by class are not polled at switches, and lossy drops look like load",
    ("sonic", Kind.BLACK_HOLE): "no counter of drops has a reason, and routes are not known",
    ("sonic", Kind.MTU): "no counter of drops has a reason",
    ("sonic", Kind.PFC_MISSING): "for how long a port asked for silence is not known, only that it did",
    ("sonic", Kind.ECN_WRONG): "marks are not counted (WRED counters are off)",
    ("sonic", Kind.BGP_DOWN): "sessions are not known",
    ("sonic", Kind.MAC_MOVE): "moves are not known",
    ("sonic", Kind.EVPN_LOSS): "routes are not known",
    ("sonic", Kind.LANES_LOST): "speeds are known as they are configured, not as they are",
    ("sonic", Kind.SILENT_LOSS): "the ends of a cable are read at different times, so few frames are no evidence",
    ("sonic", Kind.SLOW_RECEIVER): "the receive buffer is not known; the length of pauses stands for it",
    ("sonic", Kind.BROKEN_NIC): "the receive buffer is not known; the length of pauses stands for it",
    (
        "ideal",
        Kind.SILENT_LOSS,
    ): "one or two frames are lost, and as many in flight at every later sample are not improbable enough",
    ("ideal", Kind.ECN_WRONG): "a queue that marks nothing and pauses nobody looks like one below its curve",
}
"""View and fault -> why it is missed, or named as something else, as a rule."""
_IN_FLIGHT: Final = "Frames are in flight there at most samples, as many as were lost."
_TOO_FEW: Final = (
    "Every later sample misses {}; so many in flight at all {} samples that were left is not improbable enough."
)
EXPLAINED: Final[Mapping[str, str]] = {
    "test/573": f"Two frames were lost. {_TOO_FEW.format('one at least', 8)}",
    "test/580": "No queue of leaf2 pauses a port. Its depth would tell: at less, like ports of other switches mark. No "
    "rule compares them.",
    "test/585": f"Two frames were lost. {_IN_FLIGHT}",
    "test/639": f"One frame was lost. {_TOO_FEW.format('it', 9)}",
    "test/673": f"Two frames were lost. {_TOO_FEW.format('one at least', 16)}",
    "test/689": "All sessions of leaf1 are down, which is named. The other leaves lose the routes of its hosts, and "
    "what they discard is taken for a fault of theirs: a root of sessions explains losses at the ends of the session "
    "alone.",
    "test/702": f"Two frames were lost. {_IN_FLIGHT}",
}
"""Seed -> what was found where a miss of the ideal view was looked into."""

_HEAD: Final = """\
# Detection: how well the diagnosis names faults

`fabric campaign` draws fabrics, loads and faults at random, simulates them, lets the diagnosis (docs/diagnosis.md) name
the roots from metrics alone, and scores them against the truth. This page is of test seeds, on which no table was
fitted, with chips and shapes that tune seeds lack. Written by
`{command}`.

## Conditions

- **Seeds.** SHA-256 of `campaign/test/NUMBER`, {numbers}: {runs} runs. Rules {rules}; table of confidence
  {table} of {tune_runs} runs of tune seeds. Figures of test seeds have been looked at {looks}.
{fresh}- **Mix.** {mix}. Chances: healthy 35 %, one fault 40 %, near miss 15 %, two faults 10 %.
- **Fabrics.** Shapes {shapes} (tune: {tune_shapes}); 8 to 48 hosts at 25 to 400G; 1:1 to 4:1; cables of 2 to 300 m;
  chips {chips} (tune: {tune_chips}); dynamic_th -4 to 1; four marking curves or none; watchdog off or with short times;
  1 to 16 queue pairs; one hash seed for all or one each; DCQCN of mlx5, of the paper, or none; go-back-N or selective
  repeat; with and without VXLAN, BGP and BFD.
- **Loads.** Poisson with three size distributions, permutations, incasts, all-to-all, steps of 2 to 10 ms; at most 2 GB
  a run, so fast fabrics are lightly loaded. 24 to 40 ms, samples of 1 ms.
- **Faults.** {faults}. Deadlocks, ARP floods, stragglers and lossy classes are not drawn: the tests of the diagnosis
  have scenarios of them.
- **Felt.** A fault counts in recall where the tail (p99 slowdown), goodput, losses or paused time differ without it by
  more than between three seeds of the twin. Of a fault that is not felt silence is right, and so is its name.
- **Views.** ideal: every metric at every sample. sonic: SONiC's periods in nominal time (ports 1 s, queues and drops of
  priority groups 10 s, watermarks 60 s, hosts 15 s), queue counters of marks (WRED) off, and none of the metrics that
  the profile `sonic` of `fabric export --as-seen-by` lacks: causes of drops, receive buffers of NICs, sessions, routes.
- **Right** is a root whose kind, device, port and class are those of the fault. Roots of the load (oversubscription,
  polarised, elephants, incast, microburst) are counted and not judged: the campaign knows faults, and not which
  queues fill. Settings drawn for the whole fabric (no marking, marking above XOFF, no congestion control) may be named.
- **Precision** is the share of judged roots that were matched with a fault, by device and time: a root at the right
  device counts as matched although its kind is wrong. Root accuracy is the share of felt faults with a right root.
- Intervals are of 95 %: Wilson's for shares, a bootstrap over runs for confidence.
"""


def page(rows: Sequence[Mapping[str, Any]], rules: str, path: Path) -> str:
    """docs/detection.md."""
    numbers = [_number(it) for it in rows]
    seeds = ("--first", min(numbers), "--runs", len(rows)) if max(numbers) - min(numbers) < len(rows) else ()
    words = command("fabric", "campaign", "--test", *seeds, "--page", path)
    fitted = table()
    by_view = [(figures(rows, view), calibration(rows, view, fitted, UNKNOWN)) for view in VIEWS]
    its = pages(rows)
    parts = [_head(rows, rules, words, fitted), _figures(by_view, its), _kinds(by_view)]
    for found, _ in by_view:
        parts += [_confusion(found), _misses(found)]
    return "\n".join(parts)


def _head(rows: Sequence[Mapping[str, Any]], rules: str, words: str, fitted: Table) -> str:
    mix = Counter(it["sort"] for it in rows)
    faults = Counter(name for it in rows for name in it["what"])
    return _HEAD.format(
        command=words,
        numbers=_numbers(rows),
        fresh=_fresh(rows, fitted),
        runs=len(rows),
        rules=f"`{rules}`",
        table=f"`{fitted.digest}`",
        tune_runs=fitted.runs,
        looks=f"{LOOKS} times",
        mix=", ".join(f"{number} {name}" for name, number in sorted(mix.items())),
        shapes=", ".join(sorted(set(SHAPES["test"]))),
        tune_shapes=", ".join(sorted(set(SHAPES["tune"]))),
        chips=", ".join(CHIPS["test"]),
        tune_chips=", ".join(CHIPS["tune"]),
        faults=", ".join(f"{name} {number}" for name, number in sorted(faults.items())),
    )


def _numbers(rows: Sequence[Mapping[str, Any]]) -> str:
    """'0 to 39 and 110 to 150'."""
    spans: list[list[int]] = []
    for number in sorted(_number(it) for it in rows):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return " and ".join(f"{first} to {last}" if last > first else str(first) for first, last in spans)


def _number(row: Mapping[str, Any]) -> int:
    return int(row["seed"].partition("/")[2])


def _fresh(rows: Sequence[Mapping[str, Any]], fitted: Table) -> str:
    """Figures of the seeds that no rule was corrected after; '' without any."""
    fresh = [it for it in rows if _number(it) >= SEEN]
    if not fresh:
        return ""
    if len(fresh) == len(rows):
        return (
            f"- **Fresh seeds.** Seeds below {SEEN} had been looked at with earlier rules, and rules were corrected\n"
            "  after their misses. None of them is on this page: no rule was changed after its figures.\n"
        )
    lines = [
        f"- **Fresh seeds.** Seeds below {SEEN} had been looked at with earlier rules, and rules were corrected after",
        f"  their misses. Of the {len(fresh)} others alone:",
    ]
    for view in VIEWS:
        found, its = figures(fresh, view), calibration(fresh, view, fitted, UNKNOWN)
        told = [*_lines(found, pages(fresh))[:3], *_confidence(its)[:2]]
        lines.append(f"  - {view}: " + "; ".join(f"{name} {text}" for name, text in told) + ".")
    return "\n".join(lines) + "\n"


def _figures(by_view: Sequence[tuple[Figures, Calibration]], its: Pages) -> str:
    lines = ["## Figures", "", "| | " + " | ".join(found.view for found, _ in by_view) + " |", "|---|---|---|"]
    columns = [[*_lines(found, its), *_confidence(fit)] for found, fit in by_view]
    lines += [f"| {row[0][0]} | " + " | ".join(text for _, text in row) + " |" for row in zip(*columns, strict=False)]
    return "\n".join([*lines, "", "Alerts (delay of the first alert, pages) are those of the ideal view.", ""])


def _kinds(by_view: Sequence[tuple[Figures, Calibration]]) -> str:
    lines = ["## By kind of fault", "", "Felt faults, those that a root has, those that are right.", ""]
    lines += ["| fault | felt | " + " | ".join(f"{it.view}: named | right" for it, _ in by_view) + " |"]
    lines += ["|---|---:|---:|---:|---:|---:|"]
    for kind in sorted(by_view[0][0].by_kind):
        cells = [f"{it.by_kind[kind][1]} | {it.by_kind[kind][2]}" for it, _ in by_view]
        lines.append(f"| `{kind}` | {by_view[0][0].by_kind[kind][0]} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""])


def _confusion(found: Figures) -> str:
    faults = sorted({fault for fault, _ in found.confusion} - {NONE})
    rows = [*faults, *([NONE] if any(fault == NONE for fault, _ in found.confusion) else [])]
    lines = [
        f"## Confusion matrix, {found.view}",
        "",
        f"One line a fault, without the cells of 0; `{MISSED}`: no root. `{NONE}`: roots without a fault, of any run.",
        "",
        "| fault | named as |",
        "|---|---|",
    ]
    for fault in rows:
        its = sorted(((n, named) for (of, named), n in found.confusion.items() if of == fault), reverse=True)
        lines.append(f"| {fault} | " + ", ".join(f"{named} {n}" for n, named in its) + " |")
    return "\n".join([*lines, ""])


def _misses(found: Figures) -> str:
    lines = [f"## Misses, {found.view}", ""]
    lines += ["`fabric campaign --write-case SEED DIR` writes the scenario of a line for `fabric run`.", ""]
    missed = Counter(it.kind for it in found.misses)
    known = [kind for kind in sorted(missed) if (found.view, kind) in WHY]
    if known:
        lines += ["| fault | misses | as a rule because |", "|---|---:|---|"]
        lines += [*(f"| `{kind}` | {missed[kind]} | {WHY[found.view, Kind(kind)]} |" for kind in known), ""]
    for title, its in (("Felt faults without a right root", found.misses), ("Roots without a fault", found.false)):
        listed = _listed(its, explained=found.view == "ideal")
        lines += [f"{title}: {len(its)}.", "", *listed, ""] if its else [f"{title}: none.", ""]
    return "\n".join(lines)


def _listed(its: Sequence[Miss], *, explained: bool) -> list[str]:
    lines = []
    for row, it in enumerate(its):
        lines.append(f"- `{it.seed}` {it.text}")
        last = row + 1 == len(its) or its[row + 1].seed != it.seed
        if explained and last and it.seed in EXPLAINED:
            lines += textwrap.wrap(EXPLAINED[it.seed], 118, initial_indent="  ", subsequent_indent="  ")
    return lines
