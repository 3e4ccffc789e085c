"""Traffic and faults of a run on a whole fabric, as a scenario's sections.

In turn, a host receives in a slot of its own: for messages the first half of it is offered the receiver's rate, and the
second half is left for what is late.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fabric.dataplane.engine.edits import PauseStorm
from fabric.qualify.whole.schema import LoadSpec, RunSpec
from fabric.qualify.whole.subject import BESIDE_DSCP, Subject
from fabric.topology.model import Fabric, Role
from fabric.units import PS_PER_NS, PS_PER_S

PLAN_BPS: Final = 400 * 10**9
"""Durations of plans are for hosts of this rate."""
MOST_MESSAGES: Final = 100_000
ACTIVE: Final = 0.5
"""Part of a slot in which messages are offered."""
_QUANTA: Final = 65_535


@dataclass(frozen=True, slots=True)
class Slot:
    """A part of the time, in which one host receives."""

    host: str
    begin_ps: int
    end_ps: int


def hosts_of(subject: Subject, run: RunSpec, ranks: int | None = None) -> tuple[str, ...]:
    """Hosts that take part."""
    if ranks is not None:
        return subject.hosts[:ranks]
    most = run.hosts_most
    if most is None or most >= len(subject.hosts):
        return subject.hosts
    turns: dict[str, int] = {}
    keyed = []
    for number, host in enumerate(subject.hosts):
        leaf = subject.leaf_of(host)
        turns[leaf] = turns.get(leaf, -1) + 1
        keyed.append((turns[leaf], number))
    return tuple(subject.hosts[number] for number in sorted(it for _, it in sorted(keyed)[:most]))


def ranks_of(subject: Subject, run: RunSpec, load: LoadSpec, ranks: int | None = None) -> tuple[str, ...]:
    """Of the hosts that take part, those that a load has."""
    hosts = hosts_of(subject, run, ranks)
    half = len(hosts) // 2
    parts = {"odd": hosts[::2], "even": hosts[1::2], "first half": hosts[:half], "second half": hosts[half:]}
    found = hosts if load.part is None else parts[load.part]
    if load.leaves is None:
        return found
    first, last = load.leaves
    leaves = list(dict.fromkeys(map(subject.leaf_of, hosts)))[first - 1 : last]
    return tuple(it for it in found if subject.leaf_of(it) in leaves)


def scaled_ps(subject: Subject, run: RunSpec, time_ps: int) -> int:
    """A duration of the plan's file at the rate of the slowest host."""
    if run.fixed:
        return time_ps
    return time_ps * PLAN_BPS // min(subject.rate_bps(it) for it in subject.hosts)


def slots(subject: Subject, run: RunSpec) -> list[Slot]:
    """One for each host where hosts receive in turn; else one for all, with the name ''."""
    lasts = scaled_ps(subject, run, run.lasts)
    if any(it.pattern == "in turn" for it in run.loads):
        found = hosts_of(subject, run)[: run.loads[0].receivers]
        return [Slot(host, number * lasts, (number + 1) * lasts) for number, host in enumerate(found)]
    return [Slot("", 0, lasts)]


def lasts_ps(subject: Subject, run: RunSpec) -> int:
    """Of all traffic."""
    return slots(subject, run)[-1].end_ps


def sections(subject: Subject, run: RunSpec, ranks: int | None) -> dict[str, Any]:
    """workload, transport, faults and run of a scenario."""
    lasts = lasts_ps(subject, run)
    changes: dict[str, Any] = {
        "workload": [it for number, load in enumerate(run.loads) for it in _load(subject, run, load, number, ranks)],
        "run": {"duration": f"{max(1, 100 * lasts // PS_PER_NS)}ns", "seed": 1, "stop": "duration"},
        "telemetry": {"interval": f"{max(10_000, lasts // 100_000)}ns"},
    }
    messages = any(it.traffic == "roce" and it.message is not None and it.pattern != "collective" for it in run.loads)
    if messages and not subject.pair_per_message:
        own = dict(subject.sections.get("transport") or {})
        changes["transport"] = {**own, "qp": {"per": "pair", "count": run.queue_pairs}}
    if run.cut is not None:
        at = scaled_ps(subject, run, run.cut.at)
        changes["faults"] = [{
            "kind": "link-down", "name": "cut", "link": cut_of(subject.fabric), "at": f"{at // PS_PER_NS}ns",
        }]  # fmt: skip
    if run.watchdog == "off":
        changes["switches"] = _unwatched(subject.sections.get("switches") or {})
    return changes


def messages(subject: Subject, run: RunSpec) -> int:
    """Messages of RoCE that a run without a collective posts."""
    entries = [it for number, load in enumerate(run.loads) for it in _load(subject, run, load, number, None)]
    return sum(it.get("repeat", 1) * len(it["senders"]) for it in entries if it["kind"] == "incast")


def cut_of(fabric: Fabric) -> str:
    """'leaf1:Ethernet16': the first port of the first leaf that leads to another switch."""
    for port in fabric.ports:
        near, far = fabric.node_of(port.id), fabric.peer_of(port.id)
        if not near.is_host and not far.is_host and Role.SCALE_UP not in {near.role, far.role}:
            return fabric.port_name(port.id)
    return ""


def _unwatched(section: dict[str, Any]) -> dict[str, Any]:
    """Without watchdogs, which count in milliseconds."""

    def bare(part: dict[str, Any]) -> dict[str, Any]:
        return {key: it for key, it in part.items() if key not in {"watchdog", "port_watchdog"}}

    kept = [bare(it) for it in section.get("overrides", ())]
    found = bare(section)
    if "overrides" in found:
        found["overrides"] = [it for it in kept if len(it) > 1]  # one that sets nothing else is refused
    return found


def _load(subject: Subject, run: RunSpec, load: LoadSpec, number: int, ranks: int | None) -> Iterator[dict[str, Any]]:
    hosts, name = ranks_of(subject, run, load, ranks), f"load{number}"
    if load.pattern == "collective":
        n = len(hosts)
        yield {
            "kind": "collective", "name": name, "operation": load.operation, "algorithm": load.algorithm,
            "hosts": list(hosts), "size": f"{(load.message or 0) * n}B",
        }  # fmt: skip
        return
    for slot in slots(subject, run):
        receivers = [slot.host] if slot.host else hosts
        for receiver in receivers:
            senders = _senders(subject, hosts, load, receiver)
            if senders:
                yield from _entries(subject, run, load, slot, receiver, senders, name)


def _senders(subject: Subject, hosts: Sequence[str], load: LoadSpec, receiver: str) -> list[str]:
    """Of a receiver, the nearest in the list first."""
    at, n = hosts.index(receiver), len(hosts)
    if load.pattern == "partners":
        sender = hosts[(at - n // 2) % n]
        return [sender] if sender != receiver else []
    after = [hosts[(at + step) % n] for step in range(1, n)]
    others = [it for it in after if subject.leaf_of(it) != subject.leaf_of(receiver)]
    if load.pattern == "across":
        return (others or after)[: load.fan]
    own = [it for it in after if it not in others]
    turn = ([*own, *others] if load.near else [*others, *own])[load.skip :]
    return turn[: load.fan]


def _entries(
    subject: Subject, run: RunSpec, load: LoadSpec, slot: Slot, receiver: str, senders: Sequence[str], name: str
) -> Iterator[dict[str, Any]]:
    span = slot.end_ps - slot.begin_ps
    if slot.host:
        span = round(span * ACTIVE)
    begin = f"{(slot.begin_ps + scaled_ps(subject, run, load.at)) // PS_PER_NS}ns"
    where = f"{name}-{receiver}"
    if load.share is not None:
        dscp = BESIDE_DSCP if load.traffic == "beside" else subject.dscp
        entry = {
            "kind": "datagrams", "name": where, "senders": list(senders), "receivers": [receiver], "load": load.share,
            "frame": f"{load.frame}B", "dscp": dscp, "ect": load.traffic == "roce", "start": begin,
            "stop": f"{(slot.begin_ps + span) // PS_PER_NS}ns",
        }  # fmt: skip
        yield entry if load.each or len(senders) == 1 else {**entry, "load": load.share / len(senders)}
        return
    size = load.message or 0
    entry = {"kind": "incast", "name": where, "receiver": receiver, "senders": list(senders), "size": f"{size}B",
             "start": begin}  # fmt: skip
    many = 1 if load.once else max(1, min(MOST_MESSAGES, offered(subject, receiver, span) // size // len(senders)))
    if run.queue_pairs > 1:
        many = -(-many // run.queue_pairs) * run.queue_pairs  # as many over each
    if many > 1:
        entry |= {"repeat": many, "interval": "1ns"}
    yield entry


def offered(subject: Subject, receiver: str, span_ps: int) -> int:
    """Bytes that a receiver's cable carries in that time."""
    return span_ps * subject.rate_bps(receiver) // (8 * PS_PER_S)


def paused_hosts(subject: Subject, run: RunSpec) -> tuple[str, ...]:
    """Hosts that send PAUSE."""
    if run.paused is None:
        return ()
    found = hosts_of(subject, run)
    return {"all": found, "odd": found[::2], "even": found[1::2]}[run.paused.hosts]


def storms(subject: Subject, fabric: Fabric, run: RunSpec) -> Iterator[PauseStorm]:
    """Their PAUSE frames, as dated edits: a port that is not set to obey them gets them as well."""
    if run.paused is not None:
        at, lasts = (scaled_ps(subject, run, it) for it in (run.paused.at, run.paused.lasts))
        for host in paused_hosts(subject, run):
            yield PauseStorm(at, fabric.by_name[host].id, 1 << subject.roce, lasts, 0, _QUANTA)
