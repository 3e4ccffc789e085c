"""First acts of an operator, and whether one helps, does nothing, or does harm: by the root and by where it is done.

An act that takes a part out of service harms where the part is healthy; an act on the part that is broken helps where
docs/diagnosis.md, the runbooks or the playbooks name it for that root. All other acts have no effect on the root.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from telemetry.diagnosis.root import Kind
from telemetry.drill.incidents import NONE


class Verdict(StrEnum):
    """What a first act does."""

    SAFE = "safe"
    IDLE = "no effect"
    HARMFUL = "harmful"


ACTS: Final[Mapping[str, str]] = {
    "shut": "shut the named port, or all ports of the named device",
    "drain": "move traffic and work off the named link, switch or host",
    "reset": "restart the named host, NIC or switch",
    "restore-config": "put back what was meant: PFC, ECN, maps, headroom, MTU, routes, suppression",
    "replace": "clean or replace the cable and its transceivers",
    "watchdog": "switch the PFC watchdog on at the switches",
    "pace": "let senders send less at once: pacing, more queue pairs, other placement",
    "pfc-off": "switch PFC off in the class",
    "wait": "touch nothing, go on watching",
}
"""Words of --act."""
_TAKES_OUT: Final = frozenset({"shut", "drain", "reset"})
_HELPS: Final[Mapping[str, tuple[str, ...]]] = {
    Kind.LINK_DOWN: ("replace", "wait"),
    Kind.LINK_FLAP: ("shut", "drain", "replace"),
    Kind.LANES_LOST: ("drain", "shut", "replace"),
    Kind.SLOW_LINK: ("restore-config", "replace", "drain"),
    Kind.BAD_OPTIC: ("drain", "shut", "replace"),
    Kind.SILENT_LOSS: ("drain", "shut", "replace"),
    Kind.SWITCH_DOWN: ("reset",),
    Kind.SWITCH_HANG: ("shut", "reset"),
    Kind.BGP_DOWN: ("restore-config", "wait"),
    Kind.EVPN_LOSS: ("restore-config",),
    Kind.MAC_MOVE: ("shut",),
    Kind.ARP_FLOOD: ("restore-config",),
    Kind.MTU: ("restore-config",),
    Kind.BLACK_HOLE: ("restore-config", "drain"),
    Kind.DSCP_MAP: ("restore-config", "drain"),
    Kind.PFC_MISSING: ("restore-config", "drain"),
    Kind.HEADROOM_SHORT: ("restore-config",),
    Kind.LOSSY_OVERLOAD: ("restore-config", "pace"),
    Kind.DEADLOCK: ("shut",),
    Kind.WATCHDOG_FLAPPING: ("shut", "reset"),
    Kind.BROKEN_NIC: ("shut", "reset", "watchdog"),
    Kind.SLOW_RECEIVER: ("drain", "shut"),
    Kind.ECN_WRONG: ("restore-config",),
    Kind.CC_OFF: ("restore-config",),
    Kind.OVERSUBSCRIPTION: ("pace",),
    Kind.POLARISED: ("restore-config", "pace"),
    Kind.ELEPHANTS: ("pace",),
    Kind.INCAST: ("pace", "wait"),
    Kind.MICROBURST: ("wait", "pace"),
    Kind.STRAGGLER: ("drain", "reset"),
    NONE: ("wait",),
}


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdict on one act."""

    verdict: Verdict
    why: str


def judged(act: str, kind: str, *, right_device: bool, whole_device: bool, root_has_port: bool) -> Judged:
    """Judge a first act.

    Parameters
    ----------
    act : one of ACTS
    kind : of the root
    right_device : whether it is done at a device of the root
    whole_device : whether it takes a whole switch out: no port was named, or it restarts the switch
    root_has_port : whether the root is one port or cable
    """
    if act == "pfc-off":
        return Judged(Verdict.HARMFUL, "without PFC every full queue of the class loses packets")
    if act in _TAKES_OUT and kind == NONE:
        return Judged(Verdict.HARMFUL, "nothing was broken, and a healthy part went out of service")
    if act in _TAKES_OUT and not right_device:
        return Judged(Verdict.HARMFUL, "it takes a healthy part out of service, and the root stays")
    if act in _TAKES_OUT and whole_device and root_has_port:
        return Judged(Verdict.HARMFUL, "one port is the root, and the whole switch went out of service")
    if act in _HELPS[kind]:
        if right_device or act in {"watchdog", "wait", "pace"}:
            return Judged(Verdict.SAFE, "it is a first act for this root")
        return Judged(Verdict.IDLE, "it is a first act for this root, at another device")
    if act in _TAKES_OUT:
        return Judged(Verdict.IDLE, f"it does not end {kind}")
    return Judged(Verdict.IDLE, "the trouble goes on")


def helping(kind: str) -> tuple[str, ...]:
    """First acts that are safe for a root."""
    return _HELPS[kind]
