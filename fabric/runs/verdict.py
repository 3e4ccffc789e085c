"""The findings of a run as sentences for an operator: problems first, then warnings, notes, and good results.

Each sentence has a level (problem, warning, note, good), the event, its place and, where there is one, the remedy.
Within a level causes come before effects, and the first cause is the headline: an operator needs the broken NIC before
the number of messages that it delayed. Findings are measured values; `fabric explain` has the chains of pauses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from fabric.dataplane.state.codes import BY_FLOW, BY_SENDER, PER_PACKET, DropReason
from fabric.runs import convergence, injected, messages
from fabric.runs.measures import BUFFER_REASONS, Number, count_by_reason, paused_hosts
from fabric.theory.marking import usual_curve
from fabric.topology.peer_rates import unlike_peers
from fabric.units import PS_PER_NS, format_bit_rate, format_measured_bytes, format_time_ps
from fabric.units import count as _count
from fabric.units import listed as _some

if TYPE_CHECKING:  # annotations only: reading results must not load the compiler
    from fabric.dataplane.engine.counters import Snapshot

Sentence = tuple[str, str]
"""(level, text)."""
Metrics = Mapping[str, Number]


class Finding(NamedTuple):
    """One sentence of a verdict."""

    level: str
    text: str
    is_cause: bool
    """Whether the sentence is a cause of other findings of the same run."""


LEVELS: Final = ("problem", "warning", "note", "good")

_WHY: Final = {
    DropReason.HEADROOM: "the headroom of a lossless group was full; compare its xoff with cable, speed and MTU",
    DropReason.SHARED_HEADROOM_POOL: "the shared headroom pool was exhausted; enlarge it or pause earlier",
    DropReason.NO_HEADROOM: "a lossless priority group has no headroom at all; give it an xoff",
    DropReason.INGRESS_THRESHOLD: "over the ingress limit of their priority group",
    DropReason.EGRESS_THRESHOLD: "over the limit of their egress queue",
    DropReason.EGRESS_POOL: "the egress pool of their queue was full; enlarge it, or bound what one queue may take",
    DropReason.EGRESS_PORT: "over the limit of their port in the egress pool",
    DropReason.WRED: "dropped early by WRED: they were not ECN-capable",
    DropReason.MTU: "larger than the egress port's MTU (encapsulation such as VXLAN adds bytes); raise the MTU",
    DropReason.NO_ROUTE: "a black hole",
    DropReason.LINK_DOWN: "sent to a link that went down, or on it",
    DropReason.FCS: "bit errors on a cable (wrong FCS)",
    DropReason.WATCHDOG: "the PFC watchdog emptied a stormed queue",
    DropReason.TTL: "their time to live ran out: a forwarding loop",
    DropReason.RX_BUFFER: "the receive buffer of a host overflowed",
    DropReason.INJECTED: "a fault of the scenario asked for it",
}
_HUNG: Final = (DropReason.NO_ROUTE, DropReason.INJECTED)
"""Drop reasons of a hanging switch."""
_WITHOUT_PAUSES: Final = frozenset({DropReason.LINK_DOWN, DropReason.NO_ROUTE, DropReason.TTL, DropReason.MTU})
"""Losses that no pausing host can cause; it only slows messages down, so they come before it."""
_EXPECTED: Final = (DropReason.INJECTED,)
LIVELOCK_PKTS: Final = 100
"""Retransmissions above which an unfinished queue pair that sends mostly retransmissions to the end is reported."""


def sentences(
    now: Snapshot, metrics: Metrics, summary: Mapping[str, Any], truth: Sequence[Mapping[str, Any]] = (),
    *, nics_spray: bool = False, reads_marks: bool = True,
) -> list[Finding]:  # fmt: skip
    """The headline, then the worst level first; within a level causes before the rest, each in the order of the rules
    below. truth: records of faults. nics_spray: NICs give each packet of a queue pair another source route.
    reads_marks: some queue pair's congestion control slows down for ECN marks.
    """
    routing = list(convergence.sentences(summary["routing"]))
    causes = [
        *_deadlock(summary),
        *_drops(metrics, summary, truth, _WITHOUT_PAUSES),
        *_pausing_hosts(now),
        *(it for it in routing if it[0] == "warning"),
        *_reordering(now, metrics, nics_spray=nics_spray),
        *_without_cable(truth, summary["stop"]["time_ns"]),
        *_drops(metrics, summary, truth, frozenset(DropReason) - _WITHOUT_PAUSES),
        *_links(now),
        *_unmarked(now, metrics, reads_marks=reads_marks),
        *(_marked_early(now) if reads_marks else ()),
    ]
    others = [
        *_messages(now, metrics, summary),
        *_lossless(metrics, summary),
        *_pfc(now, metrics, summary),
        *_watchdog(metrics),
        *_congestion(metrics),
        *_timeouts(now, metrics),
        *_recovery(now, metrics),
        *_repeats(now, summary),
        *_arp(metrics),
        *_datagrams(metrics),
        *(("note", f"{it}; see `fabric topology check`") for it in unlike_peers(now.fabric)),
        *(it for it in routing if it[0] != "warning"),
        *_never_reached(truth, summary["stop"]["time_ns"]),
        *_events(summary),
    ]
    found = [
        *(Finding(level, text, is_cause=True) for level, text in causes),
        *(Finding(level, text, is_cause=False) for level, text in others),
    ]
    found.sort(key=lambda it: LEVELS.index(it.level))
    first = _headline(found)
    return [first, *(it for it in found if it is not first)]


def _headline(findings: Sequence[Finding]) -> Finding:
    """The first sentence: the first cause where there is a problem, else the outcome of the run."""
    if LEVELS.index(findings[0].level) > LEVELS.index("warning"):
        return next((it for it in findings if it.level == "good"), findings[0])
    return next((it for it in findings if it.is_cause), findings[0])


def _messages(now: Snapshot, metrics: Metrics, summary: Mapping[str, Any]) -> Iterator[Sentence]:
    total, done, failed = (int(metrics[f"messages.{name}"] or 0) for name in ("total", "done", "failed"))
    left = total - done - failed
    stop = summary["stop"]
    if failed:
        yield "problem", f"{_count(failed, 'message')} failed: the queue pair reached its retry limit"
    stalled = stop["stalled_since_ns"] is not None
    if stalled:
        since = format_time_ps(stop["stalled_since_ns"] * PS_PER_NS)
        when = f"after {since}" if stop["stalled_since_ns"] else "at all"
        yield (
            "problem",
            f"nothing was delivered {when} although {_count(left, 'message')} waited{_why_stalled(now, metrics)}",
        )
    if left and not (stalled and stop["reason"] == "no progress"):
        were = "was" if left == 1 else "were"
        yield "warning", f"{left:,} of {_count(total, 'message')} {were} not done {ended(stop)}"
    if total and done == total:
        which = "the only message is" if total == 1 else f"all {total:,} messages"
        # A goodput that waits for timers are part of is no good result; _timeouts has it.
        rate = "" if metrics["transport.timeouts"] else f", goodput {_goodput(metrics)} over the run"
        yield "good", f"{which} done{rate}"
    worst = metrics["slowdown.p99"]
    if worst is not None and worst >= 10:
        slow = f"{worst:,.1f} times"
        few = done < 100  # their 99th percentile is the slowest one
        yield (
            "note",
            (
                f"the slowest message took {slow} its ideal time"
                if few
                else f"the slowest 1 % of messages took {slow} their ideal time or more"
            ),
        )


def _why_stalled(now: Snapshot, metrics: Metrics) -> str:
    """': 5 packets were lost, and no retransmission timer ran out before the end', as far as counters tell; else ''."""
    lost, timeouts = int(metrics["drops.total"] or 0), int(metrics["transport.timeouts"] or 0)
    held = int(np.count_nonzero(now.paused.any(axis=1)))
    reasons = []
    were = "was" if lost == 1 else "were"
    if lost and timeouts:
        reasons.append(
            f"{_count(lost, 'packet')} {were} lost, and {_count(timeouts, 'retransmission timeout')} did not help"
        )
    elif lost:
        reasons.append(
            f"{_count(lost, 'packet')} {were} lost, and no retransmission timer (transport.retransmit_timeout) ran out "
            "before the end"
        )
    if held:
        reasons.append(f"{_count(held, 'port')} stood paused at the end")
    return f": {'; '.join(reasons)}" if reasons else ""


def _goodput(metrics: Metrics) -> str:
    return format_bit_rate(float(metrics["goodput.total"] or 0))


def _timeouts(now: Snapshot, metrics: Metrics) -> Iterator[Sentence]:
    """Retransmission timers that ran out: time in which queue pairs sent nothing, and which goodput includes."""
    timeouts = int(metrics["transport.timeouts"] or 0)
    if not timeouts:
        return
    pairs = int(np.count_nonzero(now.qps["timeouts"]))
    of_pairs = f" of {_count(pairs, 'queue pair')}" if pairs else ""
    text = f"{_count(timeouts, 'retransmission timeout')}{of_pairs}: what was lost waited for a timer"
    if not metrics["drops.total"]:
        text = (
            f"{_count(timeouts, 'retransmission timeout')}{of_pairs} although nothing was dropped: acknowledgements "
            "came later than transport.retransmit_timeout"
        )
    if metrics["messages.done"]:
        text += f"; goodput {_goodput(metrics)} over the run includes the waits"
    yield "warning", text


def _deadlock(summary: Mapping[str, Any]) -> Iterator[Sentence]:
    if summary["deadlock"]:
        ring = " -> ".join(f"{it['port']} class {it['class']}" for it in [*summary["deadlock"], summary["deadlock"][0]])
        yield "problem", f"deadlock: these queues wait for each other: {ring}"


def _drops(
    metrics: Metrics, summary: Mapping[str, Any], truth: Sequence[Mapping[str, Any]] = (),
    reasons: AbstractSet[DropReason] = frozenset(DropReason),
) -> Iterator[Sentence]:  # fmt: skip
    hung = {name for it in truth if it["objects"].get("carrier") == "kept" for name in it["objects"]["switches"]}
    counts = {reason: number for reason, number in count_by_reason(metrics).items() if reason in reasons}
    for reason, count in sorted(counts.items(), key=lambda it: -it[1]):
        classes: dict[str, list[str]] = {}
        for it in summary["drops"]["ports"]:
            if reason.name.lower() in it["reasons"]:
                classes.setdefault(it["port"], []).append(str(it["class"]))
        ports = [
            f"{port} (classes {' and '.join(sorted(own))})" if len(own) > 1 else port for port, own in classes.items()
        ]
        where = f" at {_some(ports, 3)}" if ports else ""
        name = reason_text(reason)
        level = "note" if reason in _EXPECTED else "warning"
        stuck = sorted({port.partition(":")[0] for port in classes} & hung) if reason in _HUNG else []
        there = f"; {', '.join(stuck)} hung" if stuck else ""
        asked = _asked(truth, classes, summary["stop"]["time_ns"]) if reason is DropReason.INJECTED else ""
        yield level, f"{_count(count, 'packet')} dropped{where} ({name}): {_WHY[reason]}{asked}{there}"


def _asked(truth: Sequence[Mapping[str, Any]], ports: Iterable[str], end_ns: int) -> str:
    """': link-silent of ..., from 500us on': the faults that discarded frames at these ports."""
    found = {it["name"]: injected.words(it) for port in ports for it in injected.discarding(truth, port, end_ns)}
    return f": {_some(list(found.values()), 3)}" if found else ""


def reason_text(reason: DropReason) -> str:
    """'no route', 'MTU': a drop reason in words."""
    upper = {DropReason.MTU, DropReason.FCS, DropReason.TTL, DropReason.WRED}
    return reason.name if reason in upper else reason.name.lower().replace("_", " ")


def _lossless(metrics: Metrics, summary: Mapping[str, Any]) -> Iterator[Sentence]:
    """Losses of lossless classes: by congestion, which PFC should prevent, and separately by any other cause."""
    held, lost = int(metrics["drops.lossless"] or 0), int(metrics["drops.lossless_any"] or 0)
    if not summary["drops"]["lossless_classes"]:
        yield "note", "no class is lossless: PFC is off everywhere"
        return
    if held:
        yield "problem", f"{_count(held, 'packet')} of lossless classes dropped for lack of buffer"
    if lost > held:
        listed = [
            f"{it['pkts']:,} {reason_text(DropReason[name.upper()])}"
            for name, it in summary["drops"]["lossless_by_reason"].items()
            if DropReason[name.upper()] not in BUFFER_REASONS
        ]
        first = (
            f"{_count(lost - held, 'packet')} of lossless classes lost for other reasons"
            if held
            else (f"{_count(lost, 'packet')} of lossless classes lost, none of them for lack of buffer")
        )
        yield "warning", f"{first}: {', '.join(listed)}"
    used, lossy = summary["drops"]["message_classes"], summary["drops"]["message_pkts_where_lossy"]
    if lossy:
        of = f"of class {used[0]}" if len(used) == 1 else f"of classes {' and '.join(map(str, used))}"
        yield "warning", f"{_count(lossy, 'packet')} {of}, in which messages are sent, lost where this is not lossless"
    elif not lost:
        bare = [str(it) for it in used if it not in summary["drops"]["lossless_classes"]]
        if bare:
            name = f"class {bare[0]}, which is" if len(bare) == 1 else f"classes {' and '.join(bare)}, which are"
            yield "note", f"no packet of a lossless class was lost, but messages are sent in {name} not lossless"
        else:
            yield "good", "no packet of a lossless class was lost"


def _pausing_hosts(now: Snapshot) -> Iterator[Sentence]:
    """Hosts that sent XOFF: slow receivers where the receive buffer was used, else broken NICs (pause_tree.py)."""
    frames = now.prios["tx_xoff_pkts"].sum(axis=1)
    senders = np.unique(now.ports["node"][np.flatnonzero(frames > 0)]).astype(np.int64)
    hosts = [int(node) for node in senders if node < len(now.hosts)]
    slow = [host for host in hosts if now.hosts["rx_peak_bytes"][host] > 0]
    for group, what in ((slow, "slow receiver"), ([host for host in hosts if host not in slow], "broken NIC")):
        if not group:
            continue
        names = [now.fabric.nodes[host].name for host in group]
        sent = int(frames[np.isin(now.ports["node"], group)].sum())
        use = int(now.hosts["rx_peak_bytes"][group].max())
        whose = "its receive buffer" if len(group) == 1 else "their receive buffers"
        why = (
            f"as {whose} filled up to {format_measured_bytes(use)}"
            if group is slow
            else "without holding anything back"
        )
        many = "s" if len(group) > 1 else ""
        yield "warning", f"{what}{many}: {_some(names, 5)} sent {_count(sent, 'pause frame')} {why}"


def _unmarked(now: Snapshot, metrics: Metrics, *, reads_marks: bool) -> Iterator[Sentence]:
    """PFC without a mark, with the levels of both and, where senders slow down for marks, the curve to give."""
    if not metrics["pfc.pause_frames"] or metrics["ecn.marked"]:
        return
    if metrics["ecn.marked_ratio"] is None:
        yield "warning", "PFC paused and ECN marked nothing: no queue that marks has carried ECN-capable packets"
        return
    paused = (now.pgs["xoff_count"] > 0) & (now.pgs["peak_limit_bytes"] > 0)
    marking = (now.queues["ecn"] != 0) & (now.queues["kmin_bytes"] > 0) & (now.queues["enqueued_pkts"] > 0)
    if not paused.any() or not marking.any():
        yield "warning", "PFC paused and ECN marked nothing: no queue reached its Kmin, or marking is off"
        return
    xoff = int(now.pgs["peak_limit_bytes"][paused].min())
    port, prio = min(np.argwhere(marking).tolist(), key=lambda it: int(now.queues["kmin_bytes"][*it]))
    kmin = int(now.queues["kmin_bytes"][port, prio])
    text = f"no queue reached its Kmin ({format_measured_bytes(kmin)} or more) before a group reached XOFF"
    remedy = ""
    if reads_marks and kmin >= xoff:
        curve = usual_curve(_rate_bps(now, port), xoff)
        low, high = (format_measured_bytes(it) for it in (curve.kmin_bytes, curve.kmax_bytes))
        remedy = f"; give Kmin {low} and Kmax {high} at {format_bit_rate(_rate_bps(now, port))}"
    yield "warning", f"PFC paused and ECN marked nothing: {text} ({format_measured_bytes(xoff)}){remedy}"


def _rate_bps(now: Snapshot, port: int) -> int:
    return now.fabric.links[now.fabric.ports[port].link].rate_bps


def _marked_early(now: Snapshot) -> Iterator[Sentence]:
    """Queues whose Kmin is less than a packet: they mark with no queue to shorten, and senders leave the link idle."""
    queues = now.queues
    mean_bytes = queues["enqueued_bytes"] / np.maximum(queues["enqueued_pkts"], 1)
    early = (queues["ecn"] != 0) & (queues["marked_pkts"] > 0) & (queues["kmin_bytes"] < mean_bytes)
    places = np.argwhere(early)
    if not places.size:
        return
    marked = int(queues["marked_pkts"][early].sum())
    kmin, size = int(queues["kmin_bytes"][early].min()), int(mean_bytes[early].max())
    named = [f"{now.fabric.port_name(port)} (class {prio})" for port, prio in places.tolist()]
    yield (
        "warning",
        (
            f"Kmin {format_measured_bytes(kmin)} is less than one packet ({format_measured_bytes(size)}) at "
            f"{_some(named, 3)}: a packet alone in the queue is marked ({_count(marked, 'packet')} marked in all), so "
            "senders slow down and may leave the link idle; raise Kmin"
        ),
    )


def _pfc(now: Snapshot, metrics: Metrics, summary: Mapping[str, Any]) -> Iterator[Sentence]:
    if not metrics["pfc.pause_frames"]:
        yield "good", "no PFC pause frame was sent"
        return
    fabric = now.fabric
    pausers: Counter[str] = Counter()
    for host in paused_hosts(now).tolist():
        ports = [port for port in fabric.nodes[host].ports if now.prios["pauses"][port].any()]
        pausers.update({fabric.peer_of(port).name for port in ports})
    named = 4 if len(pausers) == 4 else 3  # a line that says "1 more switch" could as well name it
    for switch, count in pausers.most_common(named):
        yield "note", f"{_count(count, 'host')} paused by {switch}"
    if len(pausers) > named:
        rest = sum(pausers.values()) - sum(count for _, count in pausers.most_common(named))
        yield "note", f"{_count(rest, 'host')} paused by {len(pausers) - named:,} more switches"
    if summary["pfc"]["paused_ports"]:
        worst = summary["pfc"]["paused_ports"][0]
        how = f"{format_time_ps(worst['paused_ns'] * 1000)} in {_count(worst['pauses'], 'pause')}"
        share = f"{worst['paused_ratio']:.0%} of the run"
        yield "note", f"{worst['port']} was paused longest: {how}, {share}, by {worst['by']}"
    headroom = metrics["headroom.peak_ratio"] or 0
    if headroom >= 0.8:
        yield "warning", f"headroom was used up to {headroom:.0%}"


def _watchdog(metrics: Metrics) -> Iterator[Sentence]:
    storms, restored = int(metrics["watchdog.storms"] or 0), int(metrics["watchdog.restored"] or 0)
    if storms:
        yield "warning", f"the PFC watchdog detected {_count(storms, 'storm')}, {restored} ended"


def _congestion(metrics: Metrics) -> Iterator[Sentence]:
    marked, sent, cuts = (int(metrics[name] or 0) for name in ("ecn.marked", "cnp.sent", "transport.rate_cuts"))
    if marked:
        reaction = f"{_count(sent, 'CNP')} sent, {_count(cuts, 'rate cut')}"
        yield "note", f"ECN marked {_count(marked, 'packet')} ({metrics['ecn.marked_ratio'] or 0:.2%}); {reaction}"


def _recovery(now: Snapshot, metrics: Metrics) -> Iterator[Sentence]:
    """Retransmissions, and packets placed out of order."""
    again, placed, lost, spurious = (
        int(metrics[name] or 0)
        for name in ("transport.retransmits", "transport.out_of_order", "transport.declared_lost", "transport.spurious")
    )
    if again:
        yield "note", f"{_count(again, 'packet')} sent again"
    if placed:
        most = int(now.hosts["out_of_order_peak_pkts"].max())
        yield (
            "note",
            (
                f"{_count(placed, 'packet')} placed out of order, at most {_count(most, 'packet')} ahead; "
                f"{lost:,} held for lost, {spurious:,} sent again although they arrived"
            ),
        )


def _reordering(now: Snapshot, metrics: Metrics, *, nics_spray: bool) -> Iterator[Sentence]:
    """Reordering that NICs treated as loss. Where each queue pair keeps its source route, there is none."""
    again, dropped = int(metrics["transport.retransmits"] or 0), int(metrics["drops.total"] or 0)
    late = int(now.hosts["out_of_sequence"].sum())
    spread = set(now.switches["load_balance"].tolist()) - BY_FLOW - (frozenset() if nics_spray else BY_SENDER)
    if late and again > dropped and spread:
        sprays = bool(spread & (PER_PACKET | BY_SENDER))
        yield (
            "problem" if sprays else "warning",
            (
                f"{'NICs spray' if spread & BY_SENDER else 'switches spray' if sprays else 'switches move'} "
                f"{'packets' if sprays else 'flowlets'}, and NICs took "
                f"{_count(late, 'packet')} that "
                f"came out of order for losses: {again:,} sent again, {dropped:,} dropped; use transport.recovery: "
                f"out-of-order{'' if sprays else ', or a longer switches.flowlet_gap'}"
            ),
        )


def _repeats(now: Snapshot, summary: Mapping[str, Any]) -> Iterator[Sentence]:
    """Queue pairs that send mostly retransmissions to the end; a livelock only where no more payload is delivered."""
    pairs = now.qps[np.unique(now.messages["qp"][messages.states(now) == messages.OUTSTANDING])]
    sent, repeated = pairs["sent_pkts"], pairs["retransmitted_pkts"]
    sending = pairs["available_ps"] >= 0.9 * now.time_ps  # the others wait for a timer
    stuck = (repeated >= LIVELOCK_PKTS) & (2 * repeated > sent) & sending
    if stuck.any():
        share = f"{int(repeated[stuck].sum()):,} of {_count(int(sent[stuck].sum()), 'packet')}"
        text = f"{_count(int(stuck.sum()), 'queue pair')} not done sent mostly repeats to the end, {share}"
        stalled = summary["stop"]["stalled_since_ns"] is not None
        lost = now.drops["pkts"].sum(axis=(0, 1))
        if not stalled:
            yield "warning", text
        elif 2 * int(lost.sum()) >= int(repeated[stuck].sum()):  # nothing arrives that could be sent in vain
            yield "problem", f"{text}, and they were dropped: {reason_text(DropReason(int(lost.argmax())))}"
        else:
            yield "problem", f"livelock: {text}"


def _arp(metrics: Metrics) -> Iterator[Sentence]:
    requests, suppressed, copies = (int(metrics[f"arp.{name}"] or 0) for name in ("requests", "suppressed", "copies"))
    if requests:
        received = int(metrics["arp.arrived"] or 0)
        if suppressed == requests:
            yield "note", f"leaves answered all of {_count(requests, 'ARP request')} themselves"
            return
        yield (
            "note",
            (
                f"leaves answered {suppressed / requests:.0%} of {_count(requests, 'ARP request')}; the rest became "
                f"{_count(copies, 'VXLAN copy', 'VXLAN copies')}, and hosts received {received:,} requests"
            ),
        )


def _datagrams(metrics: Metrics) -> Iterator[Sentence]:
    sent, received, dropped, refused = (
        int(metrics[f"datagrams.{name}"] or 0) for name in ("sent", "received", "dropped", "refused")
    )
    if sent or refused:
        kept = f"; senders refused {refused:,} more, with full queues" if refused else ""
        yield "note", f"{received:,} of {_count(sent, 'datagram')} arrived, {dropped:,} were discarded{kept}"


def _links(now: Snapshot) -> Iterator[Sentence]:
    fabric = now.fabric
    down = [
        fabric.port_name(port)
        for port in np.flatnonzero(now.ports["up"] == 0).tolist()
        if fabric.ports[port].peer > port
    ]
    if down:
        yield "warning", f"{_count(len(down), 'link')} down at the end: {_some(down, 3)}"


def _without_cable(truth: Sequence[Mapping[str, Any]], end_ns: int) -> Iterator[Sentence]:
    """Hosts that moved to a leaf to which no cable of theirs leads."""
    for it in truth:
        if it["objects"].get("cable") == "none" and it["start_ns"] < end_ns:
            host, leaf = it["objects"]["hosts"][0], it["objects"]["to"]
            at = format_time_ps(it["start_ns"] * PS_PER_NS)
            yield (
                "warning",
                f"{host} was learned at {leaf} at {at} and has no cable to it: frames for it are lost there",
            )


def _never_reached(truth: Sequence[Mapping[str, Any]], end_ns: int) -> Iterator[Sentence]:
    """Faults and repairs of the scenario after the end of the run, which had no effect."""
    begun = [f"{it['kind']} at {format_time_ps(it['start_ns'] * 1000)}" for it in truth if it["start_ns"] >= end_ns]
    repairs = [
        f"{it['kind']} at {format_time_ps(it['end_ns'] * 1000)}"
        for it in truth
        if it["start_ns"] < end_ns <= it["end_ns"] and it["repaired"]
    ]
    parts = [f"{_count(len(begun), 'fault')} never happened ({_some(begun, 3)})"] if begun else []
    parts += [f"{_count(len(repairs), 'repair')} never came ({_some(repairs, 3)})"] if repairs else []
    if parts:
        yield "note", f"the run ended at {format_time_ps(end_ns * 1000)}, so {' and '.join(parts)}"


def _events(summary: Mapping[str, Any]) -> Iterator[Sentence]:
    missing = {name: count for name, count in summary["events"]["unrecorded"].items() if count}
    if missing:
        listed = ", ".join(f"{count} {name}" for name, count in missing.items())
        yield "note", f"events beyond the cap were counted but not recorded: {listed}"


def ended(stop: Mapping[str, Any]) -> str:
    """'when run.duration was over (at 20ms)': the end of a run, for the middle of a sentence."""
    at = format_time_ps(stop["time_ns"] * PS_PER_NS)
    words = {
        "duration": f"when run.duration was over (at {at})",
        "interrupted": f"when the run was interrupted (at {at})",
    }
    return words.get(stop["reason"], f"when the run stopped ({stop['reason']} at {at})")
