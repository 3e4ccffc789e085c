"""Which alert explains which: one table for Alertmanager, which mutes what is explained, and for incidents, which joins
it to its cause.

Alertmanager counts a label that both alerts lack as equal, so `fabric` may be missing where there is one fabric only,
and it never lets an alert mute itself: no alert stands on both sides of a row. An alert that is muted is not lost: it
is shown in Alertmanager, and it notifies as soon as what explains it is over. A warning never mutes a critical alert.
What explains an alert is kept firing until that alert has had the time to resolve (telemetry/outlive.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Inhibition:
    """While `source` fires, `targets` with equal labels are explained."""

    source: str
    targets: tuple[str, ...]
    equal: tuple[str, ...]


_HOST: Final = ("FabricSlowReceiver", "FabricBrokenNic")
_PAUSED: Final = ("FabricPfcPauseRatioHigh", "FabricVictimFlows")
_LEAN_ON_PFC: Final = ("FabricEcnNeverMarks", "FabricPfcBeforeEcn", "FabricEcmpImbalance")

INHIBITIONS: Final = (
    Inhibition("FabricPfcStorm", _PAUSED, ("fabric", "priority")),
    Inhibition("FabricPfcStorm", (*_LEAN_ON_PFC, "FabricPfcDeadlock", "FabricRnicOutOfSequence"), ("fabric",)),
    Inhibition("FabricPfcStorm", _HOST, ("fabric", "root_device")),
    Inhibition("FabricPfcDeadlock", (*_PAUSED, *_LEAN_ON_PFC), ("fabric",)),
    Inhibition("FabricPfcwdFlapping", _HOST, ("fabric", "root_device")),
    Inhibition("FabricPfcwdFlapping", ("FabricRnicOutOfSequence",), ("fabric",)),
    Inhibition("FabricSlowReceiver", _PAUSED, ("fabric", "priority")),
    Inhibition("FabricSlowReceiver", _LEAN_ON_PFC, ("fabric",)),
    Inhibition("FabricBrokenNic", _PAUSED, ("fabric", "priority")),
    Inhibition("FabricBrokenNic", _LEAN_ON_PFC, ("fabric",)),
    Inhibition("FabricLosslessDrop", ("FabricHeadroomNearlyFull",), ("fabric", "device", "port", "priority")),
    Inhibition("FabricLosslessDrop", ("FabricRnicOutOfSequence",), ("fabric",)),
    Inhibition("FabricFcsErrors", ("FabricRnicOutOfSequence",), ("fabric",)),
    Inhibition("FabricLinkDown", ("FabricRnicOutOfSequence",), ("fabric",)),
    Inhibition("FabricLinkDown", ("FabricLinkDegraded",), ("fabric", "device", "port")),
    Inhibition("FabricLinkDown", ("FabricEcmpImbalance", "FabricBgpPeerDown"), ("fabric", "device")),
    Inhibition("FabricLinkDegraded", ("FabricEcmpImbalance",), ("fabric", "device")),
    Inhibition("FabricBgpPeerDown", ("FabricEcmpImbalance",), ("fabric", "device")),
    Inhibition("FabricEvpnRouteLoss", ("FabricBgpPeerDown", "FabricArpFloodHigh"), ("fabric",)),
)
