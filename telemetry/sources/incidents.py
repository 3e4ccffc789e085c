"""Root causes of a finished run with all that an operator asks next: who was hurt, what changed before, what to read.

An incident is a root (telemetry/diagnosis) with its confidence, the messages, hosts and jobs that were hurt while it
lasted, the last change before it where it began, and its runbooks and playbook.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from fabric.controlplane.network.run import ControlRun
from fabric.explain.evidence import Evidence
from fabric.explain.marking import is_late, remedy_of_queue
from fabric.explain.routing_timers import routing_timers, timer_advice
from fabric.ids import PortId
from fabric.runs import files
from fabric.runs.rundir import RunDir
from fabric.topology.peer_rates import slow_cables
from fabric.units import PS_PER_NS, count, format_time_ps, listed
from telemetry.diagnosis.changes import Change, before, is_act
from telemetry.diagnosis.confidence import table as table_of_confidence
from telemetry.diagnosis.queues import FULL
from telemetry.diagnosis.rehearsed import playbook, runbooks_of
from telemetry.diagnosis.root import Kind, Root
from telemetry.diagnosis.seen import IDEAL
from telemetry.sources.change_log import log_of
from telemetry.sources.dependent import LONGER, PEERS, SLOWER, Dependent, dependent_hurt
from telemetry.sources.fair_share import sharing
from telemetry.sources.recorded import control_of
from telemetry.sources.roots import roots_of

SLOW: Final = 3.0
"""A message is hurt where its slowdown, over that of a fair share of its hosts' ports (fair_share.py), is SLOWER
times the median of messages that ended before the root began, or, where none had, of messages of its workload entry
that the root did not reach. Where there are neither: a message that the root reached is hurt from this value on.
"""
_AVOIDED: Final = frozenset(
    {
        Kind.LINK_DOWN,
        Kind.LINK_FLAP,
        Kind.SWITCH_DOWN,
        Kind.SWITCH_HANG,
        Kind.SILENT_LOSS,
        Kind.BLACK_HOLE,
        Kind.BGP_DOWN,
    }
)
"""After these, routes should lead elsewhere."""
_LASTING_NS: Final = 2_000_000
"""Pauses of this length are of senders that go on, and not of the burst with which messages begin (decision 0181)."""
_FEWER: Final = (
    "Marking earlier gives fewer pauses of senders that go on (paused time fell to 30 % or less in simulations); the "
    "queue's peak may stay, because the burst with which messages begin still fills it up to XOFF"
)
_BURST: Final = (
    "Marking earlier changes little here: the pauses lasted {time}, which is the burst with which messages begin, and "
    "senders have no answer to a mark until it is over"
)
_FAIR: Final = "a fair share of their hosts' ports"
_HOSTS: Final = 5
_JOBS: Final = 3


@dataclass(frozen=True, slots=True)
class HurtJob:
    """A job that was slower while the root lasted, or stood still."""

    name: str
    steps: int
    """Steps that ended later than it began, and took LONGER."""
    usual_ns: float | None
    """Median step before; None: no step had ended."""
    longest_ns: float | None
    """Of those steps; None: none."""
    unfinished: bool
    """The run ended in a step that had taken LONGER already."""

    @property
    def words(self) -> str:
        """'train: 20 longer steps, up to 420us instead of 210us'."""
        parts = []
        if self.steps and self.longest_ns is not None and self.usual_ns is not None:
            usual, longest = (format_time_ps(it * PS_PER_NS) for it in (self.usual_ns, self.longest_ns))
            parts.append(f"{count(self.steps, 'longer step')}, up to {longest} instead of {usual}")
        if self.unfinished:
            parts.append("a step was not done when the run ended")
        return f"{self.name}: {', '.join(parts) or 'its ranks wait for the slowest one'}"


@dataclass(frozen=True, slots=True)
class Hurt:
    """Messages and jobs that were under way while the root lasted."""

    messages: int
    failed: int
    unfinished: int
    """Not delivered at the end of the run, although as much time had passed as makes a message slower."""
    slower: int
    usual: float | None
    """Median slowdown before, over that of a fair share of hosts' ports; None: no message had ended, and
    only messages that the root reached count as slower.
    """
    hosts: tuple[tuple[str, int], ...]
    """Senders and receivers of hurt messages, with their number, most first."""
    jobs: tuple[HurtJob, ...] = ()
    by_ideal: int = 0
    """Of `slower`, those for which there was no like message to compare with."""
    dependent: Dependent | None = None
    """Messages of collectives, jobs and traces, which are in no other field."""

    @property
    def total(self) -> int:
        """Messages that were hurt."""
        waiting = 0 if self.dependent is None else self.dependent.failed + self.dependent.slower
        return self.failed + self.unfinished + self.slower + waiting

    @property
    def message_lines(self) -> list[str]:
        """Sentences about messages: those that depend on one another, the others. Empty: none was under way."""
        parts = []
        if self.failed:
            parts.append(f"{self.failed:,} failed")
        if self.unfinished:
            parts.append(f"{self.unfinished:,} late, and not delivered by the end of the run")
        if self.slower and self.usual is not None:
            usual = f"(median before: {self.usual:.2f}x of {_FAIR})"
            parts.append(f"{self.slower:,} took more than {SLOWER:g} times as long as usual {usual}")
        elif self.slower:
            beside = self.slower - self.by_ideal
            if beside:
                parts.append(
                    f"{beside:,} that it reached took more than {SLOWER:g} times as long as similar messages elsewhere"
                    f", against {_FAIR}"
                )
            if self.by_ideal:
                parts.append(f"{self.by_ideal:,} that it reached took more than {SLOW:g} times as long as with {_FAIR}")
        found = [] if self.dependent is None else list(self.dependent.lines)
        if self.messages:
            head = f"of {count(self.messages, 'message')} under way: "
            found.append(head + (", ".join(parts) or "none failed or was late"))
        return found

    @property
    def lines(self) -> list[str]:
        """Sentences: messages, hosts, jobs."""
        found = self.message_lines
        if self.hosts:
            shown = [f"{name} ({number:,})" for name, number in self.hosts]
            found.append(f"{count(len(self.hosts), 'host')}: {listed(shown, _HOSTS)}")
        if self.jobs:
            found.append(f"{count(len(self.jobs), 'job')}: {listed([it.words for it in self.jobs], _JOBS, '; ')}")
        return found or ["no message was under way"]

    def as_json(self) -> dict[str, Any]:
        """For --json."""
        return {
            "messages": self.messages,
            "failed": self.failed,
            "unfinished": self.unfinished,
            "slower": self.slower,
            "hosts": [name for name, _ in self.hosts],
            "dependent": None if self.dependent is None else self.dependent.as_json(),
            "jobs": [
                {"name": it.name, "longer_steps": it.steps, "usual_ns": it.usual_ns, "longest_ns": it.longest_ns,
                 "unfinished": it.unfinished}
                for it in self.jobs
            ],
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Incident:
    """One root cause, complete."""

    root: Root
    sure: float | None
    """Confidence; None where it was not measured."""
    hurt: Hurt
    change: Change | None
    """The last one before it, where it began."""
    act: str = ""
    """The first act, with the values that decide it."""
    routes: str = ""
    """How soon routes avoided it, and by which timers; '' where none had to, or they are given."""

    @property
    def runbooks(self) -> tuple[str, ...]:
        """Names of alerts whose runbooks are about it."""
        return runbooks_of(self.root)

    @property
    def playbook(self) -> str:
        """The playbook that rehearses it."""
        return playbook(self.root.kind)

    @property
    def change_line(self) -> str:
        """'ECN marking off at leaf1:Ethernet0 (configuration by scenario, 2ms, 1ms before)'."""
        it = self.change
        if it is None:
            return "nothing in the change log of this run"
        early_ns = self.root.began_ns - it.time_ns
        return it.told(f", {format_time_ps(early_ns * PS_PER_NS)} before" if early_ns > 0 else "")

    @property
    def reading(self) -> list[str]:
        """Where to read on."""
        books = ", ".join(f"docs/runbooks/{name}.md" for name in self.runbooks)
        step = [] if self.hurt.dependent is None else ["fabric explain step"]
        return [*([books] if books else []), *step, f"fabric playbook show {self.playbook}"]

    def as_json(self) -> dict[str, Any]:
        """What the row of the root does not have."""
        return {
            "hurt": self.hurt.as_json(),
            "act": self.act,
            "routes": self.routes,
            "change_before": None if self.change is None else self.change.as_json(),
            "runbooks": list(self.runbooks),
            "playbook": self.playbook,
        }


def incidents_of(run: RunDir, view: str = IDEAL) -> list[Incident]:
    """Incidents of a run, as roots_of() names and sorts their roots. Raises: RunDirError."""
    control = control_of(run)
    return completed(run, roots_of(run, view, control), view, control)


def completed(
    run: RunDir, roots: list[Root], view: str = IDEAL, control: ControlRun | None = None,
    evidence: Evidence | None = None,
) -> list[Incident]:  # fmt: skip
    """Incidents of roots that are known already. evidence: that of the run, where there is one already."""
    if not roots:
        return []
    log, confidence = log_of(run, control), table_of_confidence()
    evidence = evidence or Evidence(run)  # one for all roots: it reads each table once, and only when needed
    found = [
        Incident(
            it, confidence.probability(it, roots, view), hurt(run, it, evidence),
            before(it, log, run.fabric, run.sampling_ns),
            act_of(evidence, it),
            routing_timers(run, it.devices, it.ended_ns + 1) if it.kind in _AVOIDED else "",
        )
        for it in roots
    ]  # fmt: skip
    # What an operator did is not what is to be done: after all that is, before what is harmless.
    return sorted(found, key=lambda it: (it.root.rank > 1, is_act(it.root, it.change)))


def act_of(evidence: Evidence, root: Root) -> str:
    """What an operator does first, with the values of this run that decide it where they are known."""
    if root.kind in _AVOIDED:
        timers = timer_advice(evidence.run, root.devices, root.ended_ns + 1)
        return f"{root.meaning.act}; {timers}" if timers else root.meaning.act
    if root.special or root.kind not in {Kind.ECN_WRONG, Kind.INCAST} or root.priority is None or not root.port:
        return root.meaning.act
    port = PortId(evidence.port_named(f"{root.device}:{root.port}"))
    if root.kind is Kind.INCAST and not is_late(evidence, port, root.priority):
        return root.meaning.act
    return f"{remedy_of_queue(evidence, port, root.priority)}. {_price(evidence, port, root)}"


def _price(evidence: Evidence, port: PortId, root: Root) -> str:
    """What marking earlier changes, and what it costs. Over a port that was full meanwhile no message can end sooner,
    whatever is marked.
    """
    times, values = evidence.series("busy_ns").get((int(port), -1), (np.zeros(0, np.int64), np.zeros(0)))
    rows = np.searchsorted(times, [root.began_ns, root.ended_ns], side="right") - 1
    before, after = (float(values[row]) if row >= 0 else 0.0 for row in rows.tolist())
    lasted_ns = max(root.ended_ns - root.began_ns, 1)
    used = (after - before) / lasted_ns
    gain = _FEWER if lasted_ns >= _LASTING_NS else _BURST.format(time=format_time_ps(lasted_ns * PS_PER_NS))
    price = "goodput falls where senders slow down too much, by up to half in simulations, and completion times rise"
    full = f" (the port was sending for {min(used, 1.0):.0%} of that time already)" if used > FULL else ""
    return f"{gain}. Its price: {price}{full}; compare with `fabric diff`"


def hurt(run: RunDir, root: Root, evidence: Evidence | None = None) -> Hurt:
    """Who was hurt while a root lasted. evidence: that of the run, where there is one already."""
    table = run.messages(["src", "dst", "start_ns", "end_ns", "ideal_ns", "slowdown", "state"])
    start = pc.fill_null(table["start_ns"], -1).to_numpy()
    end = pc.fill_null(table["end_ns"], -1).to_numpy()
    stop_ns = int(run.summary["stop"]["time_ns"])
    src, dst = (np.array(table[side].to_pylist(), np.str_) for side in ("src", "dst"))
    shared = sharing(src, dst, start, table["ideal_ns"].to_numpy())
    slowdown = pc.fill_null(table["slowdown"], 0.0).to_numpy() / shared
    state = np.array(table["state"].to_pylist(), dtype=object)
    earlier = slowdown[(end >= 0) & (end <= root.began_ns) & (slowdown > 0)]
    usual = float(np.median(earlier)) if earlier.size else None
    under_way = (start >= 0) & (start <= root.ended_ns) & ((end < 0) | (end >= root.began_ns))
    failed = under_way & (state == "failed")
    late = (stop_ns - start) / shared > SLOWER * (usual or 1.0) * table["ideal_ns"].to_numpy()
    unfinished = under_way & (end < 0) & late & ~failed
    by_ideal = np.zeros(len(end), np.bool_)
    if usual is not None:
        slower = under_way & (slowdown > SLOWER * usual) & ~failed
    else:
        beside, by_ideal = (
            it & under_way & ~failed & ~unfinished
            for it in _slower_than_peers(evidence or Evidence(run), root, slowdown)
        )
        slower = beside | by_ideal
    rows = np.flatnonzero(failed | unfinished | slower)
    evidence = evidence or Evidence(run)
    dependent = (
        dependent_hurt(run, evidence, root, cables_of(evidence, root)) if files.TRANSFERS in run.listed else None
    )
    places: Counter[str] = Counter(dict(() if dependent is None else dependent.hosts))
    for side in ("src", "dst"):
        places.update(table[side].take(rows).to_pylist())
    hosts = tuple(sorted(places.items(), key=lambda it: (-it[1], it[0])))
    return Hurt(
        int(under_way.sum()), int(failed.sum()), int(unfinished.sum()), int((slower & ~unfinished).sum()), usual, hosts,
        hurt_jobs(run, root), int(by_ideal.sum()), dependent,
    )  # fmt: skip


def _slower_than_peers(
    evidence: Evidence, root: Root, slowdown: NDArray[np.float64]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """(n_messages,) twice: which messages that the root reached are slow beside messages of their workload entry that
    it did not reach, and which are by SLOW, for lack of these. slowdown: over that of a fair share, 0 where not done.
    """
    beside, by_ideal = np.zeros(len(slowdown), np.bool_), np.zeros(len(slowdown), np.bool_)
    reached = np.zeros(len(slowdown), np.bool_)
    reached[reached_by(evidence, root)] = True
    entries = np.array([it.rpartition("/")[0] for it in evidence.run.messages(["id"])["id"].to_pylist()], np.str_)
    for entry in np.unique(entries[reached]).tolist():
        mine = entries == entry
        peers = slowdown[mine & ~reached & (slowdown > 0)]
        if peers.size >= PEERS:
            beside |= mine & reached & (slowdown > SLOWER * float(np.median(peers)))
        else:
            by_ideal |= mine & reached & (slowdown > SLOW)
    return beside, by_ideal


def reached_by(evidence: Evidence, root: Root) -> NDArray[np.int64]:
    """Rows of messages over a cable of the root, or over a port that it paused."""
    over = [evidence.leave_by[port] for port in sorted(cables_of(evidence, root)) if port in evidence.leave_by]
    return np.unique(np.concatenate(over)) if over else np.empty(0, np.int64)


def cables_of(evidence: Evidence, root: Root) -> set[int]:
    """PortIds of both ends of the cable of the root's port (of a whole device: of all; of a slow link: of all slow
    cables of the device), and of ports that it paused.
    """
    fabric = evidence.fabric
    node = fabric.by_name.get(root.device)
    if node is None:  # the root is a job
        return set()
    own = {int(port) for port in node.ports if root.port in {"", fabric.ports[port].name}}
    if root.kind is Kind.SLOW_LINK:  # of all cables of the device that are slow
        mine = (it for it in slow_cables(fabric) if it.device == root.device)
        own |= {int(fabric.port_called[name]) for it in mine for name in it.ports(fabric)}
    cables = own | {int(fabric.ports[port].peer) for port in own}
    return cables | {int(fabric.ports[it.port].peer) for it in evidence.pauses if int(it.origin.port) in own}


def hurt_jobs(run: RunDir, root: Root) -> tuple[HurtJob, ...]:
    """Jobs with longer steps while a root lasted, those that lost most time first; of a straggler, its own."""
    if files.SUMMARY not in run.listed:
        return ()
    stop_ns = float(run.summary["stop"]["time_ns"])
    found = []
    for job in run.summary.get("jobs", ()):
        if job["begin_ns"] is None or job["kind"] == "inference":
            continue
        took = np.array([step["duration_ns"] for step in job["steps"]], np.float64)
        ends = float(job["begin_ns"]) + np.cumsum(took)
        begins = ends - took
        usual = float(np.median(took[ends <= root.began_ns])) if np.any(ends <= root.began_ns) else None
        under_way = (ends > root.began_ns) & (begins < root.ended_ns)
        open_since = float(ends[-1]) if took.size else float(job["begin_ns"])
        waiting = len(took) < int(job["steps_planned"]) and open_since < root.ended_ns
        longer = under_way & (took > LONGER * usual) if usual is not None else np.zeros(took.size, bool)
        late = waiting and usual is not None and stop_ns - open_since > LONGER * usual
        own = root.kind is Kind.STRAGGLER and job["name"] == root.device
        if longer.any() or late or own:
            worst = float(took[longer].max()) if longer.any() else None
            lost = float((took[longer] - usual).sum()) if longer.any() and usual is not None else 0.0
            found.append((lost, HurtJob(job["name"], int(longer.sum()), usual, worst, bool(late))))
    found.sort(key=lambda it: (-it[0], it[1].name))
    return tuple(job for _, job in found)
