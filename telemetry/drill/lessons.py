"""What to read after a drill: what tells a root from those it is taken for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from telemetry.diagnosis.root import Kind
from telemetry.drill.incidents import NONE

APART: Final[Mapping[str, str]] = {
    Kind.LINK_DOWN: "carrier goes once and stays away; a switch that is down loses all its carriers",
    Kind.LINK_FLAP: "the port's time down grows again and again, while each sample may show it up",
    Kind.LANES_LOST: "the speed is below its earlier value at both ends; frames arrive whole",
    Kind.SLOW_LINK: "the speed has been the same from the start, below that of the same links of its peers",
    Kind.BAD_OPTIC: "damaged frames are counted at one end of one cable, and before packets out of sequence",
    Kind.SILENT_LOSS: "frames sent exceed frames received on one cable, and no counter of errors moves",
    Kind.SWITCH_DOWN: "all carriers of one switch are gone at once",
    Kind.SWITCH_HANG: "neighbours send to a switch and get nothing from it, on all its cables",
    Kind.BGP_DOWN: "the session left Established and the port stayed up",
    Kind.EVPN_LOSS: "routes of the overlay are fewer and all sessions are up",
    Kind.MAC_MOVE: "a MAC address moves many times; a host that migrates moves once",
    Kind.ARP_FLOOD: "most ARP requests are flooded at every leaf, and no route was lost before",
    Kind.MTU: "only large packets are lost, for their size, and none of the small ones",
    Kind.BLACK_HOLE: "one switch discards packets for want of a route; its links and neighbours are fine",
    Kind.DSCP_MAP: "one class leaves a switch and another arrives at its neighbour",
    Kind.PFC_MISSING: "a port loses lossless packets though it asked for silence, and its peer was never paused",
    Kind.HEADROOM_SHORT: "the peer was paused in time, the headroom watermark is at its limit, and packets are lost",
    Kind.LOSSY_OVERLOAD: "a full queue drops and no port sends XOFF in that class",
    Kind.DEADLOCK: "paused switches wait for each other, nothing moves, and no host is at the end of the chain",
    Kind.WATCHDOG_FLAPPING: "the watchdog found and restored storms many times at one port; one storm is found once",
    Kind.BROKEN_NIC: "the host pauses its port, sends no XON, and its receive buffer is empty",
    Kind.SLOW_RECEIVER: "the host sends XOFF and XON in turn, and its receive buffer holds bytes",
    Kind.ECN_WRONG: "a queue causes XOFF and marks nothing, or less than one packet for each XOFF",
    Kind.CC_OFF: "queues mark, receivers send CNPs, and senders ignore them",
    Kind.OVERSUBSCRIPTION: "all links of a tier are full alike",
    Kind.POLARISED: "the same links of a group of equal ones stay idle whatever the flows are",
    Kind.ELEPHANTS: "few queue pairs carry most of one link while its equals have room",
    Kind.INCAST: "the deepest queue leads to a host, is not paused itself, and has many senders",
    Kind.MICROBURST: "a watermark is high in one sample and the mean load is low",
    Kind.STRAGGLER: "one rank computes longer, and the network is idle meanwhile",
    NONE: "counters of errors do not rise; pauses and marks that ECN and PFC absorb are no fault",
}
"""Of each root, what tells it from others (docs/diagnosis.md)."""
