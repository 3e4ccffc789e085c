"""Runbooks of alerts and playbooks about each kind of root cause."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from telemetry.diagnosis.root import Kind, Root

_RUNBOOKS: Final[Mapping[str, tuple[str, ...]]] = {
    Kind.LINK_DOWN: ("FabricLinkDown",),
    Kind.LINK_FLAP: ("FabricLinkFlapping", "FabricLinkDown"),
    Kind.LANES_LOST: ("FabricLinkDegraded",),
    Kind.BAD_OPTIC: ("FabricFcsErrors",),
    Kind.SILENT_LOSS: ("FabricSilentLoss", "FabricRnicOutOfSequence"),
    Kind.SWITCH_DOWN: ("FabricSwitchDown", "FabricLinkDown", "FabricBgpPeerDown"),
    Kind.SWITCH_HANG: ("FabricSwitchSilent", "FabricBgpPeerDown"),
    Kind.BGP_DOWN: ("FabricBgpPeerDown",),
    Kind.EVPN_LOSS: ("FabricEvpnRouteLoss",),
    Kind.MAC_MOVE: ("FabricMacMoves",),
    Kind.ARP_FLOOD: ("FabricArpFloodHigh",),
    Kind.MTU: ("FabricMtuDrops",),
    Kind.BLACK_HOLE: ("FabricBlackHole",),
    Kind.DSCP_MAP: ("FabricLosslessDrop",),
    Kind.PFC_MISSING: ("FabricLosslessDrop",),
    Kind.HEADROOM_SHORT: ("FabricHeadroomNearlyFull", "FabricLosslessDrop"),
    Kind.LOSSY_OVERLOAD: ("FabricRnicOutOfSequence",),
    Kind.DEADLOCK: ("FabricPfcDeadlock",),
    Kind.WATCHDOG_FLAPPING: ("FabricPfcwdFlapping",),
    Kind.BROKEN_NIC: ("FabricBrokenNic", "FabricPfcStorm"),
    Kind.SLOW_RECEIVER: ("FabricSlowReceiver",),
    Kind.ECN_WRONG: ("FabricEcnNeverMarks", "FabricPfcBeforeEcn"),
    Kind.CC_OFF: ("FabricCnpIgnored",),
    Kind.POLARISED: ("FabricEcmpImbalance",),
    Kind.ELEPHANTS: ("FabricEcmpImbalance",),
    Kind.STRAGGLER: ("FabricStragglerRank",),
}
_PLAYBOOKS: Final[Mapping[str, str]] = {Kind.BROKEN_NIC: "pfc-storm", Kind.SWITCH_HANG: "spine-hang"}
"""Playbooks whose name is not that of their root."""


def runbooks(kind: str) -> tuple[str, ...]:
    """Runbooks (docs/runbooks) of alerts that are about a root; none for some."""
    return _RUNBOOKS.get(kind, ())


def runbooks_of(root: Root) -> tuple[str, ...]:
    """Those of its kind; none of a root in its own words, which alerts of the kind are not about."""
    return () if root.special is not None else runbooks(root.kind)


def playbook(kind: str) -> str:
    """The playbook of the package that rehearses a root; '' where nothing is broken."""
    return _PLAYBOOKS.get(kind, kind) if kind in set(Kind) else ""
