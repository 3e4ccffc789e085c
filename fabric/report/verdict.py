"""What an operator should know of a run, as sentences: problems first, then what deserves a look, then what is well.

Each sentence has a level (problem, warning, note, good) and says what happened, where, and, where one thing helps, the
remedy. It judges what was measured; who caused a pause is for `fabric explain`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fabric.report import convergence
from fabric.report.measures import Number, count_by_reason, paused_hosts
from fabric.state.codes import DropReason
from fabric.units import format_rate_bps, format_time_ps

if TYPE_CHECKING:  # annotations only: reading results must not load the compiler
    from fabric.engine.counters import Snapshot

Sentence = tuple[str, str]
"""(level, text)."""
Metrics = Mapping[str, Number]

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
    DropReason.NO_ROUTE: "there was no route: a black hole",
    DropReason.LINK_DOWN: "they met a link that was down",
    DropReason.FCS: "bit errors on a cable (wrong FCS)",
    DropReason.WATCHDOG: "the PFC watchdog emptied a stormed queue",
    DropReason.TTL: "their time to live ran out: a forwarding loop",
    DropReason.RX_BUFFER: "the receive buffer of a host overflowed",
    DropReason.INJECTED: "a fault of the scenario asked for it",
}
_HUNG: Final = {
    DropReason.NO_ROUTE: "acknowledgements and congestion notifications (data frames there are 'injected')",
    DropReason.INJECTED: "data frames (acknowledgements and congestion notifications there are 'no route')",
}
"""What a switch that hangs loses for which reason: every data frame on arrival, the rest for want of routes."""
_EXPECTED: Final = (DropReason.INJECTED,)


def sentences(now: Snapshot, metrics: Metrics, summary: Mapping[str, Any],
              truth: Sequence[Mapping[str, Any]] = ()) -> list[dict[str, str]]:
    """[{level, text}], worst level first; within a level in the order of the rules below. truth: records of faults."""
    found = [
        *_messages(metrics, summary),
        *_deadlock(summary),
        *_drops(metrics, summary, truth),
        *_pfc(now, metrics, summary),
        *_watchdog(metrics),
        *_congestion(metrics),
        *_recovery(metrics),
        *_arp(metrics),
        *convergence.sentences(summary["routing"]),
        *_links(now),
        *_never_reached(truth, summary["stop"]["time_ns"]),
        *_events(summary),
    ]
    return [{"level": level, "text": text} for level, text in sorted(found, key=lambda it: LEVELS.index(it[0]))]


def _messages(metrics: Metrics, summary: Mapping[str, Any]) -> Iterator[Sentence]:
    total, done, failed = (int(metrics[f"messages.{name}"] or 0) for name in ("total", "done", "failed"))
    left = total - done - failed
    stop = summary["stop"]
    if failed:
        yield "problem", f"{_count(failed, 'message')} failed: the queue pair reached its retry limit"
    if stop["reason"] == "no progress":
        since = format_time_ps(stop["stalled_since_ns"] * 1000)
        yield "problem", f"nothing was delivered after {since} although {_count(left, 'message')} waited"
    elif left:
        yield "warning", f"{left:,} of {_count(total, 'message')} were not done when the run stopped ({stop['reason']})"
    if done == total:
        rate = format_rate_bps(float(metrics["goodput.total"] or 0))
        yield "good", f"all {_count(total, 'message')} done, goodput {rate}bit/s over the run"
    worst = metrics["slowdown.p99"]
    if worst is not None and worst >= 10:
        yield "note", f"the slowest 1 % of messages took {worst:.1f} times their ideal time or more"


def _deadlock(summary: Mapping[str, Any]) -> Iterator[Sentence]:
    if summary["deadlock"]:
        ring = " -> ".join(f"{it['port']} class {it['class']}" for it in [*summary["deadlock"], summary["deadlock"][0]])
        yield "problem", f"deadlock: these queues wait for each other: {ring}"


def _drops(metrics: Metrics, summary: Mapping[str, Any],
           truth: Sequence[Mapping[str, Any]] = ()) -> Iterator[Sentence]:
    hung = {name for it in truth if it["objects"].get("carrier") == "kept" for name in it["objects"]["switches"]}
    lossless = int(metrics["drops.lossless"] or 0)
    if lossless:
        yield "problem", f"{_count(lossless, 'packet')} of lossless classes lost for want of buffer"
    else:
        yield "good", "no lossless drop"
    for reason, count in count_by_reason(metrics).items():
        classes: dict[str, list[str]] = {}
        for it in summary["drops"]["ports"]:
            if reason.name.lower() in it["reasons"]:
                classes.setdefault(it["port"], []).append(str(it["class"]))
        ports = [f"{port} (classes {' and '.join(sorted(own))})" if len(own) > 1 else port
                 for port, own in classes.items()]
        where = f" at {_some(ports, 3)}" if ports else ""
        name = "MTU" if reason is DropReason.MTU else reason.name.lower().replace("_", " ")
        level = "note" if reason in _EXPECTED else "warning"
        stuck = sorted({port.partition(":")[0] for port in classes} & hung) if reason in _HUNG else []
        there = f"; at {', '.join(stuck)}, which hung, {_HUNG[reason]}" if stuck else ""
        yield level, f"{_count(count, 'packet')} dropped{where} ({name}): {_WHY[reason]}{there}"


def _pfc(now: Snapshot, metrics: Metrics, summary: Mapping[str, Any]) -> Iterator[Sentence]:
    if not metrics["pfc.pause_frames"]:
        yield "good", "no PFC pause frame was sent"
        return
    fabric = now.fabric
    pausers: Counter[str] = Counter()
    for host in paused_hosts(now).tolist():
        ports = [port for port in fabric.nodes[host].ports if now.prios["pauses"][port].any()]
        pausers.update({fabric.peer_of(port).name for port in ports})
    for switch, count in pausers.most_common(3):
        yield "note", f"{_count(count, 'host')} paused by {switch}"
    senders = np.unique(now.ports["node"][np.flatnonzero(now.prios["tx_xoff_pkts"].sum(axis=1) > 0)])
    hosts = [fabric.nodes[int(node)].name for node in senders if node < len(now.hosts)]
    if hosts:
        yield "warning", f"{_some(hosts, 5)} sent pause frames into the fabric: a slow receiver or a broken NIC"
    if summary["pfc"]["paused_ports"]:
        worst = summary["pfc"]["paused_ports"][0]
        how = f"{format_time_ps(worst['paused_ns'] * 1000)} in {_count(worst['pauses'], 'pause')}"
        share = f"{worst['paused_ratio']:.0%} of the run"
        yield "note", f"{worst['port']} was paused longest: {how}, {share}, by {worst['by']}"
    if not metrics["ecn.marked"]:
        yield "warning", "PFC paused before ECN marked anything: Kmin is above the level of XOFF, or marking is off"
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


def _recovery(metrics: Metrics) -> Iterator[Sentence]:
    again, timeouts = int(metrics["transport.retransmits"] or 0), int(metrics["transport.timeouts"] or 0)
    if again:
        yield "note", f"{_count(again, 'packet')} sent again, {_count(timeouts, 'retransmission timeout')}"


def _arp(metrics: Metrics) -> Iterator[Sentence]:
    asked, suppressed, copies = (int(metrics[f"arp.{name}"] or 0) for name in ("requests", "suppressed", "copies"))
    if asked:
        heard = int(metrics["arp.heard"] or 0)
        if suppressed == asked:
            yield "note", f"leaves answered all of {_count(asked, 'ARP request')} themselves"
            return
        yield "note", (f"leaves answered {suppressed / asked:.0%} of {_count(asked, 'ARP request')}; the rest became "
                       f"{_count(copies, 'VXLAN copy', 'VXLAN copies')} and was heard {heard:,} times by hosts")


def _links(now: Snapshot) -> Iterator[Sentence]:
    fabric = now.fabric
    down = [fabric.port_name(port) for port in np.flatnonzero(now.ports["up"] == 0).tolist()
            if fabric.ports[port].peer > port]
    if down:
        yield "warning", f"{_count(len(down), 'link')} down at the end: {_some(down, 3)}"


def _never_reached(truth: Sequence[Mapping[str, Any]], end_ns: int) -> Iterator[Sentence]:
    """Faults and repairs that the scenario has after the end: whoever looks for their effect finds none."""
    begun = [f"{it['kind']} at {format_time_ps(it['start_ns'] * 1000)}" for it in truth if it["start_ns"] >= end_ns]
    mended = [f"{it['kind']} at {format_time_ps(it['end_ns'] * 1000)}" for it in truth
              if it["start_ns"] < end_ns <= it["end_ns"] and it["repaired"]]
    parts = [f"{_count(len(begun), 'fault')} never happened ({_some(begun, 3)})"] if begun else []
    parts += [f"{_count(len(mended), 'repair')} never came ({_some(mended, 3)})"] if mended else []
    if parts:
        yield "note", f"the run ended at {format_time_ps(end_ns * 1000)}, so {' and '.join(parts)}"


def _events(summary: Mapping[str, Any]) -> Iterator[Sentence]:
    missing = {name: count for name, count in summary["events"]["unrecorded"].items() if count}
    if missing:
        listed = ", ".join(f"{count} {name}" for name, count in missing.items())
        yield "note", f"events beyond the cap were counted but not recorded: {listed}"


def _some(names: Sequence[str], most: int) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _count(number: int, noun: str, plural: str = "") -> str:
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
