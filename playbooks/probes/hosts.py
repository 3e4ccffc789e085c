"""Probes of receiving hosts: messages, their slowdown, goodput, and ARP requests."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.explain.evidence import Evidence
from fabric.units import PS_PER_NS, PS_PER_S
from playbooks.probes.base import Probe, Window


def _completed(evidence: Evidence, window: Window) -> NDArray[np.bool_]:
    """(n_messages,) completed within the window, at one of its hosts."""
    messages = evidence.messages
    inside: NDArray[np.bool_] = (messages["end_ps"] >= window.since_ps) & (messages["end_ps"] < window.until_ps)
    if window.hosts is not None:
        inside &= np.isin(messages["dst"], list(window.hosts))
    return inside


def _done(evidence: Evidence, window: Window) -> int:
    return int(np.count_nonzero(_completed(evidence, window)))


def _slowdown(evidence: Evidence, window: Window) -> float | None:
    inside = _completed(evidence, window)
    return float(np.median(evidence.messages["slowdown"][inside])) if inside.any() else None


def _growth(name: str, evidence: Evidence, window: Window) -> int:
    """Growth of a counter within the window, summed over hosts."""
    total = 0
    for host, (times_ns, values) in evidence.device_series(name).items():
        if window.hosts is None or host in window.hosts:
            ends_ns = [window.since_ps // PS_PER_NS, window.until_ps // PS_PER_NS]
            at = np.searchsorted(times_ns, ends_ns, side="right") - 1
            first, last = (int(values[row]) if row >= 0 else 0 for row in at.tolist())
            total += last - first
    return total


def _arp_received(evidence: Evidence, window: Window) -> int:
    return _growth("arp_requests_received", evidence, window)


def _goodput(evidence: Evidence, window: Window) -> float:
    bits = 8 * _growth("goodput_bytes", evidence, window)
    return bits * PS_PER_S / max(window.until_ps - window.since_ps, 1)


DONE: Final = Probe("count", "messages completed, by receiver", _done, by_host=True)
SLOWDOWN: Final = Probe("ratio", "median completion time over the ideal one, by receiver", _slowdown, by_host=True)
GOODPUT: Final = Probe("rate", "payload received in order", _goodput, by_host=True)
ARP_RECEIVED: Final = Probe("count", "ARP requests that hosts received, for any target", _arp_received, by_host=True)
