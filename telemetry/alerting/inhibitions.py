"""Which alert explains which other alert: one table for Alertmanager, which mutes explained alerts, and for incidents,
which group them with their cause.

Alertmanager treats a label that both alerts lack as equal, so `fabric` may be missing where there is only one fabric.
No alert is on both sides of a row, because an alert never mutes itself. A muted alert is shown in Alertmanager, and it
notifies as soon as the explaining alert resolves. A warning never mutes a critical alert. The explaining alert keeps
firing until the explained alert has had time to resolve (telemetry/alerting/outlive.py).
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


_OF_A_SWITCH: Final = ("FabricEvpnRouteLoss", "FabricBgpPeerDown", "FabricSilentLoss")
_HOST: Final = ("FabricSlowReceiver", "FabricBrokenNic")
_PAUSED: Final = ("FabricPfcPauseRatioHigh", "FabricVictimFlows")
_LEAN_ON_PFC: Final = ("FabricEcnNeverMarks", "FabricPfcBeforeEcn", "FabricEcmpImbalance")

INHIBITIONS: Final = (
    Inhibition("FabricPfcwdDrop", ("FabricPfcStorm", "FabricPfcwdStorm", *_HOST), ("fabric", "root_device")),
    Inhibition("FabricPfcwdDrop", _PAUSED, ("fabric", "priority")),
    Inhibition("FabricPfcwdDrop", (*_LEAN_ON_PFC, "FabricRnicOutOfSequence"), ("fabric",)),
    Inhibition("FabricPfcStorm", _PAUSED, ("fabric", "priority")),
    Inhibition("FabricPfcStorm", (*_LEAN_ON_PFC, "FabricPfcDeadlock", "FabricRnicOutOfSequence"), ("fabric",)),
    Inhibition("FabricPfcStorm", (*_HOST, "FabricPfcwdStorm"), ("fabric", "root_device")),
    Inhibition("FabricPfcDeadlock", (*_PAUSED, *_LEAN_ON_PFC), ("fabric",)),
    Inhibition("FabricPfcwdFlapping", (*_HOST, "FabricPfcwdStorm"), ("fabric", "root_device")),
    Inhibition("FabricPfcwdFlapping", ("FabricRnicOutOfSequence",), ("fabric",)),
    Inhibition("FabricSlowReceiver", _PAUSED, ("fabric", "priority")),
    Inhibition("FabricSlowReceiver", _LEAN_ON_PFC, ("fabric",)),
    Inhibition("FabricBrokenNic", _PAUSED, ("fabric", "priority")),
    Inhibition("FabricBrokenNic", _LEAN_ON_PFC, ("fabric",)),
    Inhibition("FabricLosslessDrop", ("FabricHeadroomNearlyFull",), ("fabric", "device", "port", "priority")),
    Inhibition("FabricLosslessDrop", ("FabricRnicOutOfSequence",), ("fabric",)),
    Inhibition("FabricSwitchDown", ("FabricLinkDown", "FabricBgpPeerDown"), ("fabric", "device")),
    Inhibition("FabricSwitchDown", ("FabricLinkDown",), ("fabric", "peer_device")),
    Inhibition("FabricSwitchDown", _OF_A_SWITCH, ("fabric", "root_device")),
    Inhibition("FabricSwitchDown", ("FabricEcmpImbalance", "FabricRnicOutOfSequence"), ("fabric",)),
    Inhibition("FabricSwitchSilent", _OF_A_SWITCH, ("fabric", "root_device")),
    Inhibition("FabricSwitchSilent", ("FabricBgpPeerDown",), ("fabric", "device")),
    Inhibition("FabricSwitchSilent", ("FabricRnicOutOfSequence",), ("fabric",)),
    Inhibition("FabricMacMoves", ("FabricBlackHole",), ("fabric", "device")),
    Inhibition("FabricMacMoves", ("FabricRnicOutOfSequence",), ("fabric",)),
    Inhibition("FabricBlackHole", ("FabricRnicOutOfSequence",), ("fabric",)),
    Inhibition("FabricMtuDrops", ("FabricRnicOutOfSequence",), ("fabric",)),
    Inhibition("FabricFcsErrors", ("FabricRnicOutOfSequence",), ("fabric",)),
    Inhibition("FabricSilentLoss", ("FabricRnicOutOfSequence",), ("fabric",)),
    Inhibition("FabricLinkFlapping", ("FabricLinkDown",), ("fabric", "device", "port")),
    Inhibition("FabricLinkFlapping", ("FabricRnicOutOfSequence",), ("fabric",)),
    Inhibition("FabricLinkFlapping", ("FabricEcmpImbalance", "FabricBgpPeerDown"), ("fabric", "device")),
    Inhibition("FabricLinkDown", ("FabricRnicOutOfSequence",), ("fabric",)),
    Inhibition("FabricLinkDown", ("FabricLinkDegraded",), ("fabric", "device", "port")),
    Inhibition("FabricLinkDown", ("FabricEcmpImbalance", "FabricBgpPeerDown"), ("fabric", "device")),
    Inhibition("FabricLinkDegraded", ("FabricEcmpImbalance",), ("fabric", "device")),
    Inhibition("FabricBgpPeerDown", ("FabricEcmpImbalance",), ("fabric", "device")),
    Inhibition("FabricBgpPeerDown", ("FabricSilentLoss",), ("fabric", "root_device")),
    Inhibition("FabricEvpnRouteLoss", ("FabricBlackHole", "FabricBgpPeerDown", "FabricArpFloodHigh"), ("fabric",)),
)
