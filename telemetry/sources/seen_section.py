"""The report's section about monitoring: true values beside the values of an exporter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from fabric.render.document import Block, Chart, Column, Prose, Section, Series, Table, Unit
from fabric.runs.replay import snapshots
from fabric.runs.rundir import RunDir
from fabric.units import PS_PER_NS, PS_PER_S, format_time_ps
from telemetry.record.polling.compare import Comparison, Place, compare, depth_curves
from telemetry.record.polling.poller import Poller
from telemetry.record.polling.profiles import PROFILES

NS_PER_S: Final = PS_PER_S // PS_PER_NS


def seen_section(run: RunDir, exporter: str, dilation: float) -> Section:
    """The run as polled by `exporter` (a name in PROFILES). Raises: RunDirError, FabricError."""

    def poller() -> Poller:
        return Poller(PROFILES[exporter], run.fabric, dilation, int(run.manifest["seed"]))

    found = compare(snapshots(run), poller())
    blocks: list[Block] = [Prose(_introduction(found))]
    if found.queues:
        blocks.append(_queues(found))
        worst = found.queues[0]
        curves = depth_curves(snapshots(run), poller(), worst)
        blocks.append(
            Chart(
                "as_seen_by_depth",
                f"Queue {worst.queue} of {worst.device}:{worst.port}",
                "time",
                Unit.NS,
                "waiting",
                Unit.BYTES,
                tuple(Series(it.label, tuple(map(float, it.time_ns)), it.value) for it in curves),
            )
        )
    rates = _places(
        found.ports,
        "as_seen_by_rates",
        "Highest share of the line rate sent",
        Unit.RATIO,
        "ratio",
        lambda it: it,
        "Bytes between two readings over the time between them; a "
        "frame counts in full when it begins, so a short interval may show slightly more than 100 %.",
    )
    pauses = _places(
        found.pauses,
        "as_seen_by_pauses",
        "Time paused",
        Unit.NS,
        "paused_ns",
        lambda it: round(it * NS_PER_S),
        "SONiC counts the whole interval between two polls of its watchdog if PFC frames arrived in it.",
    )
    blocks += [rates, pauses, _totals(found)]
    return Section("as_seen_by", f"As seen by {found.profile}", tuple(blocks))


def _introduction(found: Comparison) -> str:
    speed = (
        "at its real periods"
        if found.dilation == 1
        else f"with {found.dilation:g} seconds of its clock for one simulated second"
    )
    return (
        f"{found.profile}: {found.about}; {speed}. The truth is sampled every {_time(found.sample_ns)}. "
        f"The run ends at {_time(found.end_ns)}; monitoring has read everything once more by "
        f"{_time(found.last_ns)}."
    )


def _time(time_ns: int) -> str:
    return format_time_ps(time_ns * PS_PER_NS) if time_ns else "0"


def _queues(found: Comparison) -> Table:
    columns = (
        Column("device", "Device"),
        Column("port", "Port"),
        Column("queue", "Queue"),
        Column("truth_bytes", "Deepest", Unit.BYTES),
        Column("truth_ns", "At", Unit.NS),
        Column("polled_bytes", "Deepest poll", Unit.BYTES),
        Column("watermark_bytes", "Watermark", Unit.BYTES),
        Column("watermark_ns", "Known at", Unit.NS),
    )
    rows = tuple(
        (it.device, it.port, it.queue, int(it.truth), it.truth_ns, int(it.read), int(it.seen), it.seen_ns)
        for it in found.queues
    )
    return Table(
        "as_seen_by_queues",
        "Deepest queues",
        columns,
        rows,
        "A poll of the depth shows one point in time; a watermark has the maximum since it was last read, "
        "and is available after it is read.",
    )


def _places(
    places: tuple[Place, ...],
    key: str,
    title: str,
    unit: Unit,
    quantity: str,
    convert: Callable[[float], float],
    note: str,
) -> Table:
    columns = (
        Column("device", "Device"),
        Column("port", "Port"),
        Column("class", "Class"),
        Column(f"truth_{quantity}", "True", unit),
        Column("truth_ns", "At", Unit.NS),
        Column(f"seen_{quantity}", "Seen", unit),
        Column("seen_ns", "Known at", Unit.NS),
    )
    rows = tuple(
        (it.device, it.port, it.queue, convert(it.truth), it.truth_ns, convert(it.seen), it.seen_ns) for it in places
    )
    return Table(key, title, columns, rows, note)


def _totals(found: Comparison) -> Table:
    columns = (
        Column("what", "Counter, all switches"),
        Column("truth", "True", Unit.COUNT),
        Column("during", "Known when the run ended", Unit.COUNT),
        Column("after", "Known later", Unit.COUNT),
    )
    rows = tuple((it.name, int(it.truth), int(it.during), int(it.after)) for it in found.totals)
    return Table("as_seen_by_totals", "Counters", columns, rows)
