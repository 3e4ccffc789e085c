"""The capacity report as a Document: utilisation, growth, headroom and dates of every link class, with drawings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np

from fabric.extras import require
from fabric.render.document import Block, Column, Document, Picture, Prose, Section, Status, Table, Unit, Value, worst
from fabric.studies.figures import SETTINGS, as_picture, new_axes
from fabric.units import count
from telemetry.capacity.history import DAY_S, History
from telemetry.capacity.trend import (
    CONFIDENCE,
    HORIZON,
    LEAST_POINTS,
    SEASON_WEEKS,
    Crossing,
    Trend,
    is_daily,
    trend,
    weekday_spread,
)

MOST_PICTURES: Final = 12
_SEASON_RATIO: Final = 0.05
"""Weekday pattern, as a share of the line rate, from which it is told."""


@dataclass(frozen=True)
class Found:
    """One link class with its trend."""

    history: History
    trend: Trend | None
    crossings: tuple[Crossing, ...]
    """One per limit; none without a trend."""


def examine(histories: Sequence[History], limits: Sequence[float], *, mean: bool) -> list[Found]:
    """Trends and dates of all classes, the one with the least headroom first."""
    found = []
    for it in histories:
        line = trend(it, mean=mean)
        found.append(Found(it, line, () if line is None else tuple(line.reaches(limit) for limit in limits)))
    return sorted(found, key=lambda it: -_last(it, mean=mean))


def compose(
    source: str, found: Sequence[Found], limits: Sequence[float], lead_s: float, *, mean: bool, pictures: bool
) -> Document:
    """The report.

    Parameters
    ----------
    source : where the history is from
    found : of examine()
    limits : shares of the line rate, ascending
    lead_s : time from an order to the use of what was ordered
    mean : of the mean of a class's ports, instead of its busiest one
    pictures : draw with matplotlib
    """
    rows = [_dates(it, limits[-1], lead_s) for it in found]
    statuses = [status for _, status in rows]
    sections = (
        Section("classes", "Link classes", (_classes(found, limits, mean=mean),)),
        Section("dates", "When limits are reached", tuple(_date_table(found, lead_s))),
        Section("history", "Trust in the history", tuple(_notes(found))),
        Section("drawings", "History and trend", tuple(_pictures(found, limits, mean=mean)) if pictures else ()),
    )
    return Document("Capacity", source, worst(statuses), _verdict(found, rows, limits), (), sections)


def _last(it: Found, *, mean: bool) -> float:
    return float((it.history.mean_ratio if mean else it.history.busiest_ratio)[-1])


def _classes(found: Sequence[Found], limits: Sequence[float], *, mean: bool) -> Table:
    columns = (
        Column("link_class", "Links"),
        Column("ports", "Ports", Unit.COUNT),
        Column("busiest", "Busiest now"),
        Column("last_ratio", "Mean now" if mean else "Now", Unit.RATIO),
        Column("growth_per_month_ratio", "Growth a month", Unit.RATIO),
        Column("growth_low_ratio", "at least", Unit.RATIO),
        Column("growth_high_ratio", "at most", Unit.RATIO),
        *(Column(f"headroom_{limit:.0%}_ratio".replace("%", ""), f"To {limit:.0%}", Unit.RATIO) for limit in limits),
    )
    rows: list[tuple[Value, ...]] = []
    for it in found:
        last, line = _last(it, mean=mean), it.trend
        growth = (None, None, None) if line is None else (line.per_month, line.low_per_month, line.high_per_month)
        headroom = (max(limit - last, 0.0) for limit in limits)
        rows.append((it.history.link_class, it.history.ports, it.history.busiest_port, last, *growth, *headroom))
    what = "the mean of the ports" if mean else "the busiest port"
    note = (
        f"Shares of the line rate, one direction: 95th percentile of a period, of {what}. Growth: points of the line "
        f"rate a month with its {CONFIDENCE:.0%} interval; -: too little history."
    )
    return Table("classes", "", columns, tuple(rows), note)


def _date_table(found: Sequence[Found], lead_s: float) -> Iterable[Block]:
    columns = (
        Column("link_class", "Links"),
        Column("limit_ratio", "Limit", Unit.RATIO),
        Column("date", "Date"),
        Column("earliest", "Earliest"),
        Column("latest", "Latest"),
        Column("order_by", "Order by"),
    )
    rows: list[tuple[Value, ...]] = []
    statuses = []
    for it in found:
        if it.trend is None:
            rows.append((it.history.link_class, None, "too little history", None, None, None))
            statuses.append(Status.WARNING)
        for crossing in it.crossings:
            rows.append((it.history.link_class, crossing.limit_ratio, *_told(it, crossing, lead_s)))
            statuses.append(_status(it, crossing, lead_s))
    note = (
        f"Date: where the line meets the limit; earliest and latest: where its {CONFIDENCE:.0%} band does. A date is "
        f"told within {HORIZON:g} times the length of the history; 'later': beyond it, or never. Order by: the "
        f"earliest date less a lead time of {lead_s / DAY_S:g} days."
    )
    if rows:
        yield Table("dates", "", columns, tuple(rows), note, tuple(statuses))


def _told(it: Found, crossing: Crossing, lead_s: float) -> tuple[str, str, str, str]:
    if crossing.reached:
        return "reached", "-", "-", "now"
    if it.trend is None:
        raise AssertionError("a crossing has a trend")
    due = None if crossing.earliest_s is None else crossing.earliest_s - lead_s
    order = "later" if due is None else "now" if due <= float(it.history.times_s[-1]) else day(due)
    return (_day(crossing.time_s), _day(crossing.earliest_s), _day(crossing.latest_s), order)


def _status(it: Found, crossing: Crossing, lead_s: float) -> Status:
    if crossing.reached:
        return Status.BAD
    if crossing.earliest_s is None:
        return Status.GOOD
    return Status.WARNING if crossing.earliest_s - lead_s <= float(it.history.times_s[-1]) else Status.NEUTRAL


def _dates(it: Found, limit: float, lead_s: float) -> tuple[str, Status]:
    """What the verdict says of a class at the last limit."""
    crossing = next((c for c in it.crossings if c.limit_ratio == limit), None)
    if crossing is None:
        return "too little history", Status.WARNING
    return ("reached" if crossing.reached else _day(crossing.time_s)), _status(it, crossing, lead_s)


def _verdict(found: Sequence[Found], rows: Sequence[tuple[str, Status]], limits: Sequence[float]) -> str:
    limit = f"{limits[-1]:.0%}"
    reached = [it.history.link_class for it, (text, _) in zip(found, rows, strict=True) if text == "reached"]
    if reached:
        return f"{', '.join(reached)}: at {limit} of the line rate already."
    dated = [
        (c.time_s, it) for it in found for c in it.crossings if c.limit_ratio == limits[-1] and c.time_s is not None
    ]
    if dated:
        time, first = min(dated, key=lambda pair: pair[0])
        due = [it for it, (_, status) in zip(found, rows, strict=True) if status is Status.WARNING and it.trend]
        order = f" Order now for {', '.join(it.history.link_class for it in due)}." if due else ""
        return f"{first.history.link_class} reaches {limit} of the line rate first, about {day(time)}.{order}"
    if all(it.trend is None for it in found):
        return f"Too little history for any trend: {LEAST_POINTS} values are needed."
    return f"No link class reaches {limit} within {HORIZON:g} times the length of the history."


def _notes(found: Sequence[Found]) -> Iterable[Block]:
    columns = (
        Column("link_class", "Links"),
        Column("from", "From"),
        Column("to", "To"),
        Column("values", "Values", Unit.COUNT),
        Column("points", "Used", Unit.COUNT),
        Column("effective", "Independent", Unit.COUNT),
        Column("judgement", "Judgement"),
    )
    rows: list[tuple[Value, ...]] = []
    for it in found:
        line, times = it.trend, it.history.times_s
        points = None if line is None else line.points
        effective = None if line is None else round(line.effective_points, 1)
        rows.append(
            (it.history.link_class, day(times[0]), day(times[-1]), len(times), points, effective, _judgement(it))
        )
    yield Table("history", "", columns, tuple(rows))
    yield Prose(
        "A straight line is assumed: a step, such as a new job, is no growth, and no trend foresees one. Training "
        "steps repeat within minutes and are inside a period's percentile; they are no season here."
    )


def _judgement(it: Found) -> str:
    line, spread = it.trend, weekday_spread(it.history)
    if line is None:
        return f"too little history: {count(len(it.history.times_s), 'value')}, and {LEAST_POINTS} are needed"
    said = []
    if line.weekly:
        said.append("whole weeks, so weekdays do not count")
    elif is_daily(it.history.times_s):
        said.append(f"under {SEASON_WEEKS} whole weeks: a weekday pattern cannot be told from growth")
    if spread is not None and spread >= _SEASON_RATIO:
        said.append(f"weekdays differ by {spread:.0%} of the line rate")
    if line.low_per_month <= 0 <= line.high_per_month:
        said.append("growth is not told from none")
    return "; ".join(said) or "a trend"


def _pictures(found: Sequence[Found], limits: Sequence[float], *, mean: bool) -> Iterable[Picture]:
    for number, it in enumerate(found[:MOST_PICTURES]):
        with require("matplotlib").rc_context(SETTINGS):
            yield _drawn(f"capacity-{number}", it, limits, mean=mean)


def _drawn(key: str, it: Found, limits: Sequence[float], *, mean: bool) -> Picture:
    figure, axes = new_axes()
    values = it.history.mean_ratio if mean else it.history.busiest_ratio
    axes.plot(_moments(it.history.times_s), 100 * values, ".", color="#8a93a3", label="values")
    if it.trend is not None:
        line = it.trend
        if line.weekly:
            axes.plot(_moments(line.times_s), 100 * line.values, "o", color="#2a78d6", label="means of weeks")
        ends = [c.time_s for c in it.crossings if c.time_s is not None and c.time_s < line.horizon_s]
        end = max([float(line.times_s[-1]), *ends]) + 0.1 * float(line.times_s[-1] - line.times_s[0])
        grid = np.linspace(float(line.times_s[0]), end, 120)
        at, half = line.line(grid), line.half_width(grid)
        axes.plot(_moments(grid), 100 * at, color="#2a78d6", label="trend")
        axes.fill_between(
            _moments(grid),
            100 * (at - half),
            100 * (at + half),
            color="#2a78d6",
            alpha=0.18,
            label=f"{CONFIDENCE:.0%} band",
        )
    for limit in limits:
        axes.axhline(100 * limit, color="#c23b3b", linestyle="--", linewidth=1)
    axes.set_ylim(0, max(100.0, 105 * float(values.max())))
    axes.set_ylabel("% of the line rate")
    axes.xaxis.set_major_locator(require("matplotlib.dates").AutoDateLocator(maxticks=7))
    axes.legend(loc="upper left", ncols=4, fontsize=8)
    return as_picture(key, it.history.link_class, figure)


def _moments(times_s: Any) -> list[datetime]:  # noqa: ANN401  an array of seconds
    return [datetime.fromtimestamp(float(it), UTC) for it in times_s]


def day(time_s: float) -> str:
    """'2027-03-14', UTC."""
    return datetime.fromtimestamp(time_s, UTC).date().isoformat()


def _day(time_s: float | None) -> str:
    return "later" if time_s is None else day(time_s)
