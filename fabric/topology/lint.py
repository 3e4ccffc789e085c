"""Weaknesses of a fabric before it is built: findings, each with its place and remedy.

A warning is a weakness of this fabric; a note is inherent to its shape (a leaf-spine always loses a leaf's hosts with
the leaf) and does not count as a finding unless notes are requested.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Literal

from fabric.topology.analysis import Analysis
from fabric.topology.levels import levels
from fabric.topology.model import Fabric, Node
from fabric.topology.peer_rates import slow_cables
from fabric.units import count, format_rate_bps


@dataclass(frozen=True, slots=True)
class Finding:
    """One weakness or note."""

    rule: str
    """'oversubscription', 'failure-point', 'slow-link', 'speed-mismatch', 'uneven-uplinks', 'single-cable',
    'dead-end'.
    """
    severity: Literal["warning", "note"]
    place: str
    text: str
    hint: str


def findings(fabric: Fabric, analysis: Analysis, max_oversubscription: float = 1.0) -> list[Finding]:
    """All findings, warnings first; `max_oversubscription` is the ratio a tier may have without a warning."""
    found = [*_oversubscription(analysis, max_oversubscription), *_failure_points(analysis)]
    found += [
        Finding(
            "slow-link",
            "warning",
            it.device,
            it.words(fabric),
            "give its ports, cables and optics the rate of their peers, or accept it on purpose",
        )
        for it in slow_cables(fabric)
    ]
    level = levels(fabric)
    for switch in fabric.switches:
        found += _uplinks(
            fabric, switch, [node.id for _, node in fabric.neighbours(switch.id) if level[node.id] > level[switch.id]]
        )
        if switch.n_ports == 1:
            peer = fabric.peer_of(switch.first_port)
            found.append(
                Finding(
                    "dead-end",
                    "warning",
                    switch.name,
                    f"only {peer.name} is connected to it",
                    "cable it to another switch or to hosts, or remove it",
                )
            )
    if analysis.single_cable_hosts:
        single = analysis.single_cable_hosts
        found.append(
            Finding(
                "single-cable",
                "note",
                f"{single} of {count(len(fabric.hosts), 'host')}",
                "hangs on one cable" if single == 1 else "hang on one cable each",
                "give hosts two ports (kind: dual-tor) if they must survive it",
            )
        )
    return sorted(found, key=lambda finding: finding.severity != "warning")


def _oversubscription(analysis: Analysis, most: float) -> list[Finding]:
    found = []
    for tier in analysis.tiers:
        sums = f"{format_rate_bps(tier.down_bps)} down, {format_rate_bps(tier.up_bps)} up"
        if tier.ratio > most:
            found.append(
                Finding(
                    "oversubscription",
                    "warning",
                    tier.worst,
                    f"{tier.ratio:.4g}:1 at the {tier.name} tier ({sums})",
                    f"add uplinks or rate for {most:g}:1, or accept it on purpose",
                )
            )
        lost = tier.ratio_switch_lost
        if lost is None or (lost > most >= tier.ratio):
            after = "no path up" if lost is None else f"{lost:.4g}:1"
            found.append(
                Finding(
                    "oversubscription",
                    "warning" if lost is None else "note",
                    f"{tier.name} tier",
                    f"{after} after the loss of one switch above",
                    "add a switch above, if full rate must survive a failure",
                )
            )
    return found


def _failure_points(analysis: Analysis) -> list[Finding]:
    found = [
        Finding(
            "failure-point",
            "warning",
            point.what,
            f"its loss cuts off {count(point.hosts_cut, 'host')}",
            "add a parallel path around it",
        )
        for point in analysis.failure_points
        if not point.own_hosts_only
    ]
    own = [point for point in analysis.failure_points if point.own_hosts_only]
    if own:
        most = max(point.hosts_cut for point in own)
        place = own[0].what if len(own) == 1 else f"{len(own)} switches ({own[0].what} .. {own[-1].what})"
        found.append(
            Finding(
                "failure-point",
                "note",
                place,
                f"the loss of one cuts off its own hosts, up to {most}",
                "give hosts a second switch (kind: dual-tor) if they must survive it",
            )
        )
    return found


def _uplinks(fabric: Fabric, switch: Node, above: list[int]) -> list[Finding]:
    """ECMP spreads flows evenly over cables: their rates should be equal, and no host should be faster than one."""
    found = []
    upper = set(above)
    rates: dict[int, list[int]] = defaultdict(list)
    fastest_host, slowest_up = 0, 0
    for port, peer in fabric.neighbours(switch.id):
        rate = fabric.links[port.link].rate_bps
        if peer.id in upper:
            rates[peer.id].append(rate)
            slowest_up = min(slowest_up or rate, rate)
        elif peer.is_host:
            fastest_host = max(fastest_host, rate)
    different = sorted({rate for cables in rates.values() for rate in cables})
    if len(different) > 1:
        shown = ", ".join(format_rate_bps(rate) for rate in different)
        found.append(
            Finding(
                "speed-mismatch",
                "warning",
                switch.name,
                f"uplinks of {shown} share one ECMP group",
                "make them alike: hashing gives each cable the same number of flows, not of bits",
            )
        )
    counts = {len(cables) for cables in rates.values()}
    if len(counts) > 1:
        found.append(
            Finding(
                "uneven-uplinks",
                "warning",
                switch.name,
                f"between {min(counts)} and {max(counts)} cables to the switches above",
                "give every switch above the same number of cables",
            )
        )
    if slowest_up and fastest_host > slowest_up:
        found.append(
            Finding(
                "speed-mismatch",
                "warning",
                switch.name,
                f"hosts of {format_rate_bps(fastest_host)} over uplinks of {format_rate_bps(slowest_up)}",
                "one flow takes one cable: use uplinks at least as fast as the hosts",
            )
        )
    return found
