"""A root cause: its kind, its place, its evidence, and what to do first."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Kind(StrEnum):
    """Kinds of root causes."""

    LINK_DOWN = "link-down"
    LINK_FLAP = "link-flap"
    LANES_LOST = "lanes-lost"
    SLOW_LINK = "slow-link"
    BAD_OPTIC = "bad-optic"
    SILENT_LOSS = "silent-loss"
    SWITCH_DOWN = "switch-down"
    SWITCH_HANG = "switch-hang"
    BGP_DOWN = "bgp-down"
    EVPN_LOSS = "evpn-loss"
    MAC_MOVE = "mac-move"
    ARP_FLOOD = "arp-flood"
    MTU = "mtu"
    BLACK_HOLE = "black-hole"
    DSCP_MAP = "dscp-map"
    PFC_MISSING = "pfc-missing"
    HEADROOM_SHORT = "headroom-short"
    LOSSY_OVERLOAD = "lossy-overload"
    DEADLOCK = "deadlock"
    WATCHDOG_FLAPPING = "watchdog-flapping"
    BROKEN_NIC = "broken-nic"
    SLOW_RECEIVER = "slow-receiver"
    ECN_WRONG = "ecn-wrong"
    CC_OFF = "cc-off"
    OVERSUBSCRIPTION = "oversubscription"
    POLARISED = "polarised"
    ELEPHANTS = "elephants"
    INCAST = "incast"
    MICROBURST = "microburst"
    STRAGGLER = "straggler"


@dataclass(frozen=True, slots=True)
class Meaning:
    """A kind in words."""

    title: str
    act: str
    """The first act of an operator."""


MEANINGS: Final = {
    Kind.LINK_DOWN: Meaning("a link went down", "check the cable and the transceivers, unless it was shut on purpose"),
    Kind.LINK_FLAP: Meaning("a link comes and goes", "shut the port, so that routes stop moving; replace the optics"),
    Kind.LANES_LOST: Meaning(
        "a link became slower", "drain the link, or the host behind it: it still gets a full share"
    ),
    Kind.SLOW_LINK: Meaning(
        "a link is slower than its peers",
        "give its ports, cable and optics the rate of their peers (`fabric topology check` lists such links); until "
        "then keep jobs off it",
    ),
    Kind.BAD_OPTIC: Meaning("frames arrive damaged", "drain the link; clean or replace the optics"),
    Kind.SILENT_LOSS: Meaning("frames are lost without a counter", "drain the link; frames sent do not arrive"),
    Kind.SWITCH_DOWN: Meaning("all links of a switch are down", "check power and management access of the switch"),
    Kind.SWITCH_HANG: Meaning(
        "a switch has carrier and forwards nothing", "shut its links from the neighbours' side, then restart it"
    ),
    Kind.BGP_DOWN: Meaning(
        "a BGP session is down on a live link",
        "read the last NOTIFICATION; undo the last change, unless it was drained on purpose",
    ),
    Kind.EVPN_LOSS: Meaning(
        "EVPN routes are missing", "check the policies of its sessions, import and export, and who announced the routes"
    ),
    Kind.MAC_MOVE: Meaning(
        "MAC addresses move between VTEPs again and again", "find which ones; shut the port of the wrong one"
    ),
    Kind.ARP_FLOOD: Meaning("ARP requests are flooded", "turn ARP suppression on at the leaves of the VNI"),
    Kind.MTU: Meaning("frames are larger than a port's MTU", "raise the MTU there: VXLAN adds 50 bytes"),
    Kind.BLACK_HOLE: Meaning("a switch has no route for some traffic", "compare its routes with its neighbours'"),
    Kind.DSCP_MAP: Meaning("a switch puts RoCE into another class", "compare its DSCP map with its neighbours'"),
    Kind.PFC_MISSING: Meaning("one end of a cable sends or obeys no PFC", "compare PFC at both ends of the cable"),
    Kind.HEADROOM_SHORT: Meaning(
        "headroom is too small for what is in flight", "set xoff to what `fabric headroom` computes for the cable"
    ),
    Kind.LOSSY_OVERLOAD: Meaning(
        "a lossy class is offered more than a port carries", "make the class lossless, or accept the loss"
    ),
    Kind.DEADLOCK: Meaning("paused queues wait for each other in a cycle", "shut one cable of the cycle"),
    Kind.WATCHDOG_FLAPPING: Meaning(
        "a storm comes and goes under the PFC watchdog", "shut the port of the host, or raise the detection time"
    ),
    Kind.BROKEN_NIC: Meaning("a NIC pauses though it holds nothing", "shut the port of the host"),
    Kind.SLOW_RECEIVER: Meaning("a host takes less than arrives", "drain the host; look at PCIe and memory"),
    Kind.ECN_WRONG: Meaning("a queue pauses before it marks", "lower Kmin below XOFF, or turn marking on"),
    Kind.CC_OFF: Meaning("senders do not slow down when notified", "compare the congestion control of their NICs"),
    Kind.OVERSUBSCRIPTION: Meaning("all links of a tier are full", "place jobs closer together, or add capacity"),
    Kind.POLARISED: Meaning("traffic uses a part of equal-cost links", "give each tier another hash seed"),
    Kind.ELEPHANTS: Meaning(
        "large flows share one of several equal-cost links", "use more queue pairs for each message"
    ),
    Kind.INCAST: Meaning(
        "many senders meet at one port", "pace the senders at the receiver, or let fewer send at once"
    ),
    Kind.MICROBURST: Meaning("a queue filled for a moment", "none, unless the tail of completion times matters"),
    Kind.STRAGGLER: Meaning("one rank computes longer than the others", "look at the clocks and the load of its host"),
}

STOPS: Final = frozenset(
    {
        Kind.SWITCH_DOWN,
        Kind.SWITCH_HANG,
        Kind.BLACK_HOLE,
        Kind.DEADLOCK,
        Kind.HEADROOM_SHORT,
        Kind.PFC_MISSING,
        Kind.MTU,
        Kind.SILENT_LOSS,
        Kind.DSCP_MAP,
    }
)
"""Traffic is lost, or blocked, until an operator acts."""
HARMLESS: Final = frozenset({Kind.INCAST, Kind.MICROBURST})
"""What a network is built for."""


@dataclass(frozen=True, slots=True)
class Root:
    """One root cause."""

    kind: Kind
    device: str
    began_ns: int
    """Start of the first sample interval that shows it, simulated time."""
    ended_ns: int
    """End of the last one."""
    evidence: tuple[str, ...]
    """Sentences with the deciding numbers, the strongest first."""
    port: str = ""
    """'' where the whole device is meant."""
    priority: int | None = None
    members: tuple[str, ...] = ()
    """Devices that belong to the root, too: the other end of a cable, the switches of a cycle."""
    margin: float = 1.0
    """How many times the deciding number is the least one of its rule; 1 where the rule has none."""
    special: Meaning | None = None
    """Its own words where those of its kind do not fit."""

    @property
    def meaning(self) -> Meaning:
        """Its own words, else those of its kind."""
        return self.special or MEANINGS[self.kind]

    @property
    def rank(self) -> int:
        """0: traffic is lost or blocked; 1: it is slower; 2: what a network is built for."""
        return 0 if self.kind in STOPS else 2 if self.kind in HARMLESS else 1

    @property
    def place(self) -> str:
        """'leaf1:Ethernet0 (class 3)'."""
        port = f":{self.port}" if self.port else ""
        return f"{self.device}{port}" + (f" (class {self.priority})" if self.priority is not None else "")

    @property
    def devices(self) -> frozenset[str]:
        """Every device of the root."""
        return frozenset({self.device, *self.members})
