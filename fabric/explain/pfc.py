"""`fabric explain pfc`: the origins of pauses, and how near every lossless group was to XOFF.

The estimate "would pause at N senders". A group sends XOFF when its shared use u reaches its limit T. With n senders u
and the pool's use U were seen at the group's fullest moment, and T = alpha * (B - U) for a pool of B bytes, so
U = B - T / alpha. If k times as many senders of the same kind fill every group alike, u and U both grow k-fold and
XOFF comes when k * u = alpha * (B - k * U), that is at

    k = alpha * B / (u + alpha * B - T)      dynamic limit
    k = T / u                                static limit

It is a straight line through one point: congestion control, which slows senders as queues grow, moves it up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, NamedTuple

from fabric.explain import pauses
from fabric.explain.evidence import Evidence, Place, advice
from fabric.ids import PortId
from fabric.render.document import Block, Column, Document, Prose, Section, Status, Table, Unit, show
from fabric.units import count

TOLD_RATIO: Final = 0.01
"""A group below this share of its limit is counted, not listed, unless it sent a pause."""
FAR: Final = 100.0
"""From so many times the senders of the run on, a straight line foretells nothing."""
_LEAST_ROWS: Final = 3
_OBSERVABLES: Final = (
    "pg_peak_bytes",
    "pg_peak_limit_bytes",
    "pg_peak_share_ratio",
    "pg_headroom_peak_bytes",
    "pg_headroom_limit_bytes",
    "pg_xoff_count",
    "pg_admitted_pkts",
    "pg_dynamic_th",
    "pg_static_limit_bytes",
    "pg_pool_bytes",
    "pfc_tx_xoff_pkts",
    "pfc_rx_paused_ns",
)


class Group(NamedTuple):
    """One lossless priority group that carried traffic, at its fullest."""

    port: PortId
    prio: int
    use_bytes: int
    limit_bytes: int
    """The limit when use / limit was highest."""
    share_ratio: float
    headroom_bytes: int
    headroom_limit_bytes: int
    xoffs: int
    senders: int
    """Hosts with at least one message through this port."""
    factor: float
    """Factor by which senders must grow until it pauses; 1 or less if it paused."""


def pausing_factor(use_bytes: float, limit_bytes: float, pool_bytes: float, alpha: float | None) -> float:
    """k of the module docstring: how many times as many senders it takes to send XOFF.

    Parameters
    ----------
    use_bytes, limit_bytes : shared use and limit at the group's fullest moment
    pool_bytes : size of its pool
    alpha : 2**dynamic_th; None for a static limit

    Returns: the factor; infinite where the group was never used.
    """
    if use_bytes <= 0:
        return math.inf
    if alpha is None:
        return limit_bytes / use_bytes
    return alpha * pool_bytes / (use_bytes + max(alpha * pool_bytes - limit_bytes, 0.0))


def groups(evidence: Evidence) -> list[Group]:
    """Every lossless group that admitted a packet, nearest to XOFF first."""
    evidence.load(_OBSERVABLES)
    use, limit, share, headroom, headroom_limit, xoffs, admitted, shifts, static, pools = (
        evidence.counter(name) for name in _OBSERVABLES[:10]
    )
    senders = _senders(evidence)
    found = []
    for place in admitted:
        if not headroom_limit.get(place) and not xoffs.get(place):
            continue
        port, prio = place
        alpha = None if static.get(place, 0.0) >= 0 else 2.0 ** shifts.get(place, 0.0)
        at_peak = share.get(place, 0.0) * limit.get(place, 0.0)
        factor = pausing_factor(at_peak, limit.get(place, 0.0), pools.get(place, 0.0), alpha)
        found.append(
            Group(
                PortId(port),
                prio,
                int(use.get(place, 0)),
                int(limit.get(place, 0)),
                share.get(place, 0.0),
                int(headroom.get(place, 0)),
                int(headroom_limit.get(place, 0)),
                int(xoffs.get(place, 0)),
                senders.get(place, 0),
                factor,
            )
        )
    return sorted(found, key=lambda group: (-group.share_ratio, group.port, group.prio))


def _senders(evidence: Evidence) -> Mapping[Place, int]:
    """Distinct sending hosts by ingress port and class, from the paths of the messages."""
    table = evidence.run.messages(["src", "priority", "path"])
    seen: dict[Place, set[str]] = {}
    known: dict[str, int] = {}
    for src, prio, path in zip(*(table[name].to_pylist() for name in ("src", "priority", "path")), strict=True):
        for egress in path or ():
            if egress not in known:
                known[egress] = evidence.fabric.ports[evidence.port_named(egress)].peer
            seen.setdefault((known[egress], prio), set()).add(src)
    return {place: len(hosts) for place, hosts in seen.items()}


def explain_pfc(evidence: Evidence) -> Document:
    """The whole answer to "where is my PFC?"."""
    found = groups(evidence)
    episodes = evidence.episodes
    status, verdict = _verdict(evidence, found)
    ring = " -> ".join(f"{it['port']} class {it['class']}" for it in evidence.run.summary["deadlock"])
    deadlock = (
        (Prose(f"At the end these queues waited for each other, in a cycle that has no origin: {ring}.", Status.BAD),)
        if ring
        else ()
    )
    reasons = deadlock + tuple(
        Prose(pauses.sentence(evidence.fabric, episode, evidence.blast(episode)), Status.WARNING)
        for episode in episodes[: pauses.MAX_TREES]
    )
    more = len(episodes) - pauses.MAX_TREES
    reasons += (
        (Prose(f"{count(more, 'more pause tree')}, with less paused time: the table below lists all.", Status.NEUTRAL),)
        if more > 0
        else ()
    )
    trees: list[Block] = [
        pauses.episode_tree(evidence, episode, evidence.blast(episode), number)
        for number, episode in enumerate(episodes[: pauses.MAX_TREES], 1)
    ]
    if len(episodes) > 1:
        trees.append(pauses.episode_table(evidence))
    lost = evidence.unrecorded("pause")
    if lost:
        trees.append(
            Prose(f"{lost:,} pause events were beyond the log's cap; trees after it are incomplete.", Status.WARNING)
        )
    sections = (
        Section("pause_trees", "Pause trees", tuple(trees)),
        Section("thresholds", "Ingress use against XOFF", (threshold_table(evidence, found),)),
    )
    return Document(
        "Priority flow control",
        f"run {evidence.run.path.name}",
        Status.BAD if ring else status,
        verdict,
        reasons,
        sections,
    )


def threshold_table(evidence: Evidence, found: list[Group]) -> Table:
    """Peak use against XOFF of every lossless group."""
    columns = (
        Column("port", "Port"),
        Column("peer", "Fed by"),
        Column("class", "Class", Unit.COUNT),
        Column("peak_bytes", "Peak use", Unit.BYTES),
        Column("limit_bytes", "XOFF limit then", Unit.BYTES),
        Column("share_ratio", "Share", Unit.RATIO),
        Column("xoffs", "Pauses sent", Unit.COUNT),
        Column("headroom_bytes", "Headroom used", Unit.BYTES),
        Column("headroom_limit_bytes", "of", Unit.BYTES),
        Column("senders", "Senders", Unit.COUNT),
        Column("would_pause", "Would pause"),
    )
    fabric, n_groups = evidence.fabric, len(found)
    found = [it for row, it in enumerate(found) if row < _LEAST_ROWS or _tells(it)]
    left = n_groups - len(found)
    folded = (
        f"{count(left, 'more group')} held less than {TOLD_RATIO:.0%} of the limit and sent no pause. " if left else ""
    )
    rows = tuple(
        (
            fabric.port_name(group.port),
            fabric.peer_of(group.port).name,
            group.prio,
            group.use_bytes,
            group.limit_bytes,
            group.share_ratio,
            group.xoffs,
            group.headroom_bytes,
            group.headroom_limit_bytes,
            group.senders,
            _would_pause(group),
        )
        for group in found
    )
    statuses = tuple(
        Status.BAD
        if 0 < group.headroom_limit_bytes <= group.headroom_bytes
        else Status.WARNING
        if group.xoffs
        else Status.NEUTRAL
        for group in found
    )
    return Table(
        "groups",
        "",
        columns,
        rows,
        f"{folded}Share: shared use over the limit at the moment when least was missing to XOFF; at 100% XOFF is "
        "sent. Peak use may be of another moment, guarantee and headroom included. The limit of a dynamic "
        "group is 2^dynamic_th times the pool's free bytes, so it shrinks as others fill the pool. "
        "The number of senders is extrapolated in a straight line from this run: k = aB / (u + aB - T), with "
        "a = 2^dynamic_th, B the pool, u the use, T the limit.",
        statuses,
    )


def _tells(group: Group) -> bool:
    """Whether a group's row says something about pauses of this fabric."""
    return bool(group.xoffs or group.headroom_bytes or group.share_ratio >= TOLD_RATIO)


def _would_pause(group: Group) -> str:
    if group.xoffs:
        return "did"
    if not math.isfinite(group.factor) or not group.limit_bytes:
        return "held nothing then"
    missing = show(max(group.limit_bytes - round(group.share_ratio * group.limit_bytes), 0), Unit.BYTES)
    if not group.senders or group.factor > FAR:
        return f"{missing} more"
    return f"at about {math.ceil(group.factor * group.senders):,} senders ({missing} more)"


def _verdict(evidence: Evidence, found: list[Group]) -> tuple[Status, str]:
    fabric, episodes = evidence.fabric, evidence.episodes
    if episodes:
        worst = episodes[0]
        trees = f"{len(episodes):,} pause tree{'s' if len(episodes) != 1 else ''}"
        return Status.WARNING, (
            f"{trees}; the largest began at {pauses.origin_text(fabric, worst.origin)}. "
            f"Remedy: {pauses.remedy(evidence, worst)}."
        )
    frames = sum(evidence.counter("pfc_tx_xoff_pkts").values())
    if frames:
        paused_ns = sum(evidence.counter("pfc_rx_paused_ns").values())
        why = (
            "no recorded pause took effect, so there is no tree"
            if evidence.records("pause")
            else (f"the run recorded no pause events, so no tree can be drawn: {advice('pause')}")
        )
        return Status.WARNING, (
            f"{count(int(frames), 'XOFF frame')}, {show(paused_ns, Unit.NS)} of port time paused, but {why}."
        )
    if not found:
        return Status.NEUTRAL, "PFC could not act: no lossless priority group carried a packet."
    nearest = found[0]
    share = show(nearest.share_ratio, Unit.RATIO)
    known = nearest.factor <= FAR and nearest.limit_bytes and nearest.senders
    more = f"; it would pause {_would_pause(nearest)}" if known else ""
    return Status.GOOD, (
        f"No port paused. Nearest: {fabric.port_name(nearest.port)} class {nearest.prio} with {share} "
        f"of its XOFF limit{more}."
    )
