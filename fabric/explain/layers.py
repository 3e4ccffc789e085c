"""The layers of the fabric map: queues, marks, load, losses, links, pauses at every cable end; phases of jobs at hosts.

Every value comes from timeseries.parquet, those of jobs from transfer_messages.parquet; an end is 2 * LinkId + (0: the
link's port a, 1: its port b). A layer without values says whether nothing happened or nothing was recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.state.codes import DropReason
from fabric.errors import RunDirError
from fabric.explain.balance import members
from fabric.explain.drops import HOLE_REASONS
from fabric.explain.evidence import Evidence, Place
from fabric.render.document import Layer, Unit
from fabric.runs import endstate
from fabric.runs.observables import DROP_HELP
from fabric.topology.model import Fabric
from fabric.units import PS_PER_NS, PS_PER_S

Changes = tuple[tuple[int, float], ...]
Values = NDArray[np.float64]
Series = Mapping[Place, tuple[NDArray[np.int64], NDArray[Any]]]

MAX_INTERVALS: Final = 200
"""Of a map; a run with more samples has several in one interval."""
MAX_CHANGES: Final = 120_000
"""Changes of values on one page, about 1.2 MB; with more the intervals become longer."""
LEAST_LOAD: Final = 0.05
"""Mean load of equal-cost links below which their balance is not shown: one message would decide it."""
_WORDS: Final = {DropReason.INJECTED: "lost silently: no real switch counts them"}
_SHARES: Final = (0.0, 0.01, 0.05, 0.2, 0.5)
_COUNTS: Final = (0.0, 10.0, 100.0, 1_000.0, 10_000.0)
_DEPTHS: Final = (0.0, 10e3, 50e3, 200e3, 1e6)
_LOADS: Final = (0.0, 0.25, 0.5, 0.75, 0.95)
_FACTORS: Final = (1.05, 1.2, 1.5, 2.0, 3.0)
_MISSING: Final = (0.0, 0.05, 0.25, 0.5, 0.99)
_PHASES: Final = (0.0, 0.2, 0.4, 0.6, 0.8)
COMPUTING, COMMUNICATING = "computing", "communicating"
QUEUE, ECN, LOAD, BALANCE = "queue", "ecn", "load", "balance"
LOSS, LINKS, HOLES, PAUSES, JOB = "loss", "links", "holes", "pauses", "job"
KEYS: Final = (PAUSES, QUEUE, ECN, LOAD, BALANCE, LOSS, HOLES, LINKS, JOB)
"""Every layer, in the order of the buttons."""


def edges_of(evidence: Evidence, most: int = MAX_INTERVALS) -> NDArray[np.int64]:
    """Bounds of at most so many equal intervals, each of one or more whole samples; the last may be shorter."""
    return equal_edges(evidence.run.sampling_ns, evidence.end_ns, most)


def equal_edges(sample_ns: int, end_ns: int, most: int = MAX_INTERVALS) -> NDArray[np.int64]:
    """As edges_of, for a given sampling interval and end of a run."""
    sample_ns, end_ns = max(sample_ns, 1), max(end_ns, 1)
    samples = -(-end_ns // sample_ns)
    step = sample_ns * -(-samples // most)
    return np.append(np.arange(0, end_ns, step, dtype=np.int64), end_ns)


def layers_within(evidence: Evidence, edges: NDArray[np.int64]) -> tuple[NDArray[np.int64], tuple[Layer, ...]]:
    """All layers in the bounds given, or in longer intervals where they have more than MAX_CHANGES changes."""
    while True:
        found = Sampled(evidence, edges).layers()
        changes = sum(len(it) for layer in found for it in layer.values.values())
        if changes <= MAX_CHANGES or len(edges) <= 3:
            return edges, found
        edges = np.unique(np.append(edges[::2], edges[-1]))


def with_all(found: tuple[Layer, ...], keys: Collection[str]) -> tuple[Layer, ...]:
    """The layers, and without values that of jobs' phases where it is missing and among `keys`: another run has one."""
    if JOB in keys and JOB not in {layer.key for layer in found}:
        return (*found, _phases({}, "No job ran here."))
    return found


def _phases(values: Mapping[str, Mapping[int, Changes]], empty: str) -> Layer:
    return Layer(
        JOB, "Job phases", "share of the interval that a host of a job computed; the rest it communicated or waited",
        Unit.RATIO, _PHASES, values.get(COMPUTING, {}), values, on_nodes=True, empty=empty,
    )  # fmt: skip


class Sampled:
    """Values of one run in given intervals."""

    def __init__(self, evidence: Evidence, edges: NDArray[np.int64]) -> None:
        self.evidence, self.edges = evidence, edges
        self.length_ns = np.diff(edges)

    @property
    def fabric(self) -> Fabric:
        """The topology of the run."""
        return self.evidence.fabric

    def layers(self) -> tuple[Layer, ...]:
        """Every layer of KEYS; the phases of jobs only where there is a job."""
        making: Mapping[str, Callable[[], Layer | None]] = {
            PAUSES: self._pauses,
            QUEUE: self._queues,
            ECN: self._marks,
            LOAD: self._load,
            BALANCE: self._balance,
            LOSS: self._losses,
            HOLES: self._holes,
            LINKS: self._links,
            JOB: self._job,
        }
        found = (making[key]() for key in KEYS)
        return tuple(layer for layer in found if layer is not None)

    def growth(self, times: NDArray[np.int64], values: NDArray[Any]) -> Values:
        """Growth of a counter in each interval."""
        return np.asarray(np.diff(self.at_edges(times, values)), np.float64)

    def at_edges(self, times: NDArray[np.int64], values: NDArray[Any]) -> Values:
        """The value at every bound; 0 before the first row."""
        rows = np.searchsorted(times, self.edges, side="right") - 1
        return np.where(rows >= 0, np.asarray(values, np.float64)[np.maximum(rows, 0)], 0.0)

    def highest(self, times: NDArray[np.int64], values: NDArray[Any]) -> Values:
        """The highest value of a watermark in each interval; it holds where no row changes it."""
        rows = np.searchsorted(times, self.edges, side="right")
        found = self.at_edges(times, values)[1:]
        for k in np.flatnonzero(np.diff(rows) > 1):
            found[k] = max(found[k], float(values[rows[k] : rows[k + 1]].max()))
        return found

    def by_port(
        self, name: str, convert: Callable[[NDArray[np.int64], NDArray[Any]], Values], *, largest: bool = False
    ) -> dict[int, Values]:
        """PortId -> values of an observable, its classes added up, or with `largest` the largest of them."""
        found: dict[int, Values] = {}
        for (port, _), (times, values) in self.evidence.series(name).items():
            own = convert(times, values)
            if port in found:
                own = np.maximum(found[port], own) if largest else found[port] + own
            found[port] = own
        return found

    def ends(self, by_port: Mapping[int, Values]) -> dict[int, Changes]:
        """Values of ports as changes of ends, those that are 0 throughout left out."""
        found = {}
        for port, values in sorted(by_port.items()):
            changes = changes_of(values)
            if changes:
                link = self.fabric.links[self.fabric.ports[port].link]
                found[2 * int(link.id) + (port == link.b)] = changes
        return found

    def _pauses(self) -> Layer:
        held = self.by_port("pfc_rx_paused_ns", self.growth, largest=True)
        shares = {port: np.minimum(values / self.length_ns, 1.0) for port, values in held.items()}
        return Layer(
            PAUSES, "Pauses", "share of the interval in which the peer forbade the port to send",
            Unit.RATIO, _SHARES, self.ends(shares), empty="No port was paused in this run.",
        )  # fmt: skip

    def _queues(self) -> Layer:
        depth = self.by_port("queue_watermark_bytes", self.highest, largest=True)
        return Layer(
            QUEUE, "Queue depth", "highest depth of a queue of the port in the interval",
            Unit.BYTES, _DEPTHS, self.ends(depth), empty="No packet waited in a queue at any sample.",
        )  # fmt: skip

    def _marks(self) -> Layer:
        marked = self.by_port("ecn_marked_pkts", self.growth)
        capable = self.by_port("ecn_capable_pkts", self.growth)
        shares = {port: values / np.maximum(capable[port], 1) for port, values in marked.items() if port in capable}
        empty = (
            "No packet was marked in this run."
            if any(values.any() for values in capable.values())
            else "No packet of this run could be marked: none was ECN-capable at a queue."
        )
        return Layer(
            ECN, "ECN marks", "share of ECN-capable packets that the port marked",
            Unit.RATIO, _SHARES, self.ends(shares), empty=empty,
        )  # fmt: skip

    def _load(self) -> Layer:
        busy = self.by_port("busy_ns", self.growth)
        shares = {port: np.minimum(values / self.length_ns, 1.0) for port, values in busy.items()}
        return Layer(
            LOAD, "Load", "share of the interval that the port spent sending",
            Unit.RATIO, _LOADS, self.ends(shares), empty="Nothing was sent in this run.",
        )  # fmt: skip

    def _balance(self) -> Layer:
        """A port's bytes over what it would have had if every group it is a member of were even."""
        sent: dict[int, Values] = {}
        fair: dict[int, Values] = {}
        sizes = endstate.read(self.evidence.run).groups["count"]
        for group, counters in members(self.evidence).items():
            own = {port: self.growth(*counter) for port, counter in counters.items()}
            mean = np.sum(list(own.values()), axis=0) / int(sizes[group])
            for port, values_ in own.items():
                sent[port] = sent.get(port, 0.0) + values_
                fair[port] = fair.get(port, 0.0) + mean
        factors = {}
        for port, values_ in sent.items():
            rate_bps = self.fabric.links[self.fabric.ports[port].link].rate_bps
            used = fair[port] * 8 >= LEAST_LOAD * rate_bps * self.length_ns * PS_PER_NS / PS_PER_S
            factors[port] = np.where(used, values_ / np.maximum(fair[port], 1.0), 0.0)
        return Layer(
            BALANCE, "ECMP balance",
            "bytes of an equal-cost link over the mean of its group, where that is at least 5 % of its rate; 1 is even",
            Unit.TIMES, _FACTORS, self.ends(factors), empty="No packet had a choice of equal-cost links in this run.",
        )  # fmt: skip

    def _losses(self) -> Layer:
        parts = {
            _WORDS.get(reason, DROP_HELP[reason]): self.by_port(f"drop_{reason.name.lower()}_pkts", self.growth)
            for reason in DropReason
            if reason in DROP_HELP and reason not in HOLE_REASONS
        }
        parts["in flight when the link went down"] = self.by_port("lost_pkts", self.growth)
        return self._counted(
            LOSS, "Loss", "packets discarded at the port, or lost on their way to it, in the interval",
            parts, "No packet was lost in this run, apart from black holes.",
        )  # fmt: skip

    def _holes(self) -> Layer:
        parts = {
            DROP_HELP[reason]: self.by_port(f"drop_{reason.name.lower()}_pkts", self.growth) for reason in HOLE_REASONS
        }
        return self._counted(
            HOLES, "Black holes", "packets discarded for lack of a route or of time to live in the interval",
            parts, "No packet met a black hole: none lacked a route, and no time to live ran out.",
        )  # fmt: skip

    def _counted(
        self, key: str, title: str, measure: str, parts: Mapping[str, Mapping[int, Values]], empty: str
    ) -> Layer:
        total: dict[int, Values] = {}
        for by_port in parts.values():
            for port, values in by_port.items():
                total[port] = total[port] + values if port in total else values
        shown = {name: self.ends(by_port) for name, by_port in parts.items()}
        by_reason = {name: ends for name, ends in shown.items() if ends}
        return Layer(key, title, measure, Unit.COUNT, _COUNTS, self.ends(total), by_reason, empty=empty)

    def _links(self) -> Layer:
        """Missing speed: the time without carrier, and a rate below the cable's own."""
        down = self.by_port("down_ns", self.growth)
        rates = self.by_port("rate_bps", self.at_edges)
        missing: dict[int, Values] = {}
        for port in self.fabric.ports:
            nominal = self.fabric.links[port.link].rate_bps
            rate = rates.get(int(port.id))
            slower = np.ones(self.length_ns.size) if rate is None else np.minimum(rate[1:] / nominal, 1.0)
            off = down[int(port.id)] / self.length_ns if int(port.id) in down else 0.0
            missing[int(port.id)] = 1.0 - slower * (1.0 - np.minimum(off, 1.0))
        return Layer(
            LINKS, "Dead or slow links", "share of the cable's speed that is missing: no carrier, or fewer lanes",
            Unit.RATIO, _MISSING, self.ends(missing), empty="Every link was up at its full speed throughout.",
        )  # fmt: skip

    def _job(self) -> Layer | None:
        run = self.evidence.run
        schedule = run.transfers(["src", "dst"])
        if not len(schedule):
            return None
        values: dict[str, dict[int, Changes]] = {}
        empty = "No host of a job computed or communicated in this run."
        try:
            table = run.transfer_messages(["transfer", "start_ns", "end_ns"])
        except RunDirError:
            empty = "This run did not record the messages of transfers: set telemetry.transfer_messages: on."
        else:
            values = self._phases_of(schedule, table)
        return _phases(values, empty)

    def _phases_of(self, schedule: Any, table: Any) -> dict[str, dict[int, Changes]]:  # noqa: ANN401  pyarrow tables
        def column(name: str, none: int) -> NDArray[np.int64]:
            return np.asarray(table[name].combine_chunks().fill_null(none)).astype(np.int64)

        names = [self.fabric.by_name[name].id for name in schedule["src"].to_pylist()]
        peers = [self.fabric.by_name[name].id for name in schedule["dst"].to_pylist()]
        rows, start = column("transfer", -1), column("start_ns", -1)
        begun = start >= 0
        src, dst = np.array(names, np.int64)[rows], np.array(peers, np.int64)[rows]
        end = np.where(column("end_ns", -1) < 0, self.evidence.end_ns, column("end_ns", -1))
        found: dict[str, dict[int, Changes]] = {COMPUTING: {}, COMMUNICATING: {}}
        for host in np.unique(np.concatenate([src, dst])).tolist():
            own = begun & (src == host) & (dst == host)
            sent = begun & ((src == host) ^ (dst == host))
            for name, rows in ((COMPUTING, own), (COMMUNICATING, sent)):
                changes = changes_of(self._share_in(start[rows], end[rows]))
                if changes:
                    found[name][host] = changes
        return {name: values for name, values in found.items() if values}

    def _share_in(self, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> Values:
        """Share of each interval in which at least one of these was in progress."""
        order = np.argsort(starts, kind="stable")
        starts, stops = starts[order], np.maximum.accumulate(stops[order])
        first = np.flatnonzero(np.r_[True, starts[1:] > stops[:-1]]) if starts.size else np.empty(0, np.int64)
        last = np.r_[first[1:] - 1, starts.size - 1] if starts.size else first

        def before(moments: NDArray[np.int64]) -> Values:
            place = np.searchsorted(moments, self.edges)
            return np.asarray(place * self.edges - np.r_[0, np.cumsum(moments, dtype=np.float64)][place], np.float64)

        return np.diff(before(starts[first]) - before(stops[last])) / self.length_ns


def changes_of(values: Values) -> Changes:
    """(interval, value) wherever the value to 3 significant digits differs from the one before; 0 before the first."""
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = 10.0 ** (np.floor(np.log10(np.abs(values))) - 2)
        rounded = np.where(np.abs(values) < 1e-6, 0.0, np.round(values / scale) * scale)
    rows = np.flatnonzero(np.diff(rounded, prepend=0.0))
    return tuple((int(row), float(f"{rounded[row]:.3g}")) for row in rows)
