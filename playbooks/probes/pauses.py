"""Probes of pauses: ports of hosts and switches that are paused, and for how long."""

from __future__ import annotations

from typing import Final

from fabric.explain.evidence import Evidence
from playbooks.probes.base import Probe, Window


def _paused_nodes(evidence: Evidence, window: Window, *, hosts: bool) -> int:
    paused = {
        evidence.fabric.peer_of(span.port).id
        for span in evidence.pauses
        if any(start < window.until_ps and stop > window.since_ps for start, stop in span.held)
    }
    return sum(evidence.fabric.nodes[node].is_host == hosts for node in paused)


def _paused_hosts(evidence: Evidence, window: Window) -> int:
    return _paused_nodes(evidence, window, hosts=True)


def _paused_switches(evidence: Evidence, window: Window) -> int:
    return _paused_nodes(evidence, window, hosts=False)


def _paused_time(evidence: Evidence, window: Window) -> int:
    return sum(
        max(min(stop, window.until_ps) - max(start, window.since_ps), 0)
        for span in evidence.pauses
        for start, stop in span.held
    )


HOSTS: Final = Probe("count", "hosts that were paused at some moment", _paused_hosts)
SWITCHES: Final = Probe("count", "switches with a port that was paused at some moment", _paused_switches)
TIME: Final = Probe("time", "sum of the paused time of all ports", _paused_time)
