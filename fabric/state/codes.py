"""Numbers with names, shared by kernels, traces, tables and metrics.

Kernels compare plain integers with these members, so every enum is an IntEnum; a code is never reused.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag
from typing import Final

N_CLASSES: Final = 8
"""Traffic classes, priority groups, queues and PFC priorities per port (IEEE 802.1Q: eight)."""

INFINITY_PS: Final = 2**62
"""A moment that never comes."""


class Stop(IntEnum):
    """Why a kernel returned; everything from NEGATIVE on is a broken invariant (exit 3)."""

    NONE = 0
    BOUND = 1
    """Everything before the bound has been played."""
    BUDGET = 2
    """The call's share of windows is used up; call again."""
    PACKETS = 3
    """A device has no free packet row; grow the table and call again."""
    TRACE = 4
    """The trace region is full; drain it and call again."""
    IDLE = 5
    """No event is pending anywhere."""
    NEGATIVE = 16
    """A queue, group or pool would become negative."""
    UNKNOWN_EVENT = 17
    UNKNOWN_PACKET = 18
    ANCESTRY = 19
    """Insertion order: which event scheduled which was asked for longer ago than State.ancestry keeps."""


class Shared(IntEnum):
    """Words of State.shared that several threads write, each on cache lines of its own."""

    SPARE_PACKET = 0
    """Packet rows from here on are nobody's yet."""
    GENERATION = 1
    """Number of the State that helpers may play; 0: none. Behind it whether somebody plays it now."""


class Mail(IntEnum):
    """Places in State.shared, LINE words each, that a thread has of its own, after those of Shared."""

    ORDER = 0
    """The stretch of windows that is to be played (a ticket), which windows these are, and the ticket again when it is
    known who takes part: from the coordinator to the helper.
    """
    UNCLAIMED = 1
    """Which tasks of the thread's own list nobody has claimed yet (window, the next, the end): written by all."""
    DONE = 2
    """The last window whose list the thread has played, and whether it has stopped; then the ticket that has been
    played, and what came of it: from the thread to the others.
    """
    PRESENT = 3
    """Whether the helper is inside assist()."""


N_SHARED: Final = 2
N_MAIL: Final = 4
LINE: Final = 16
"""Words of a pair of cache lines: processors fetch both (state/types.py)."""


class Order(IntEnum):
    """Which of several events at one instant goes first (the tie rule)."""

    SOURCE = 0
    """Device-local: by source; the same for both schedulers."""
    INSERTION = 1
    """Global: in the order in which they were scheduled; sequential scheduler only."""


class Aux(IntEnum):
    """A device's event sources after those of its ports (3 per port: data in, pause in, port free)."""

    PFC = 0
    """Pause expiry and refresh."""
    WATCHDOG = 1
    """PFC watchdog poll (switches)."""
    WAKE = 2
    """A paced queue pair becomes eligible (hosts)."""
    START = 3
    """A message is posted (hosts)."""
    TIMEOUT = 4
    """Retransmission timers are looked at (hosts)."""
    DRAIN = 5
    """A slow receiver has consumed a packet (hosts)."""
    NOTIFY = 6
    """A delayed CNP leaves the notification point (hosts)."""
    STORM = 7
    """A broken NIC sends its next pause frame (hosts)."""
    ARP = 8
    """An ARP request is due (hosts)."""


N_AUX: Final = 9


class Law(IntEnum):
    """Which of two laws stands behind one station; chosen by the model when State is built."""

    ASIC = 0
    HPCC = 1


class SlotSet(IntEnum):
    """Bitmaps of a host's slots (HPCC law)."""

    LISTED = 0
    """On the NIC's list."""
    READY = 1
    """Has packets left, its departure has come, and its window was open when last looked at."""
    FINISHED = 2
    """Everything is acknowledged; still on the list."""


N_SLOT_SETS: Final = 3


class Departure(IntEnum):
    """Where the next departure of a queue pair stands (HPCC law)."""

    NONE = 0
    """No packet is left to send."""
    WAITING = 1
    """In the host's heap until its time comes."""
    PAST = 2
    """Its time has come."""


class PacketKind(IntEnum):
    """What a frame is."""

    DATA = 1
    ACK = 2
    NAK = 3
    CNP = 4
    PFC = 5
    ARP_REQUEST = 6
    """Broadcast (BUM): replicated, not routed to its target."""
    ARP_REPLY = 7
    """Unicast, from the target or from a leaf that answers for it."""
    FLOODED = 8
    """Copy of a frame that a leaf has sent to every port of the segment; for another host, so the NIC drops it."""


class PacketFlag(IntFlag):
    """Bits of a packet's flags."""

    FIRST = 1
    """First packet of its message: carries a RETH."""
    LAST = 2
    """Last packet of its message."""
    ENCAP = 4
    """Wears an outer VXLAN header."""
    BROADCAST = 8
    """To every station of the layer-2 segment (BUM)."""
    ECHO = 16
    """ACK: its data packet was CE-marked (models whose ACK carries the notification)."""
    ACK_REQUEST = 32
    """Data: acknowledge at once (BTH AckReq)."""
    ROUTED = 64
    """The outer header is of an L3 VNI: a VTEP has routed the packet, and another one will (RFC 9135 section 5)."""
    DUPLICATE = 128
    """ACK: the data packet that it answers had arrived before (as DSACK, RFC 2883)."""


class Ecn(IntEnum):
    """RFC 3168 section 5 codepoints."""

    NOT_ECT = 0
    ECT1 = 1
    ECT0 = 2
    CE = 3


class DropReason(IntEnum):
    """Why a frame was discarded; the label `reason` of tables, events and metrics."""

    HEADROOM = 0
    """Lossless: the priority group's own headroom was full."""
    SHARED_HEADROOM_POOL = 1
    """Lossless: the shared headroom pool was exhausted."""
    NO_HEADROOM = 2
    """Lossless by name, but the group has no headroom at all."""
    INGRESS_THRESHOLD = 3
    """Lossy: the priority group's (dynamic) limit."""
    EGRESS_THRESHOLD = 4
    """The egress queue's (dynamic) limit."""
    WRED = 5
    """Early drop of a packet that is not ECN-capable."""
    MTU = 6
    """Larger than the egress port's MTU: how people meet VXLAN."""
    NO_ROUTE = 7
    """No next hop: a black hole."""
    LINK_DOWN = 8
    """Sent into, or in flight on, a link that is down."""
    FCS = 9
    """Bit errors on the cable."""
    WATCHDOG = 10
    """The PFC watchdog empties this queue."""
    TTL = 11
    """Time to live ran out: a forwarding loop."""
    RX_BUFFER = 12
    """The host's receive buffer overflowed."""
    INJECTED = 13
    """A fault of the scenario asked for it."""
    EGRESS_POOL = 14
    """The egress pool of the queue has no room left."""
    EGRESS_PORT = 15
    """The port's limit in the egress pool of the queue."""


N_DROP_REASONS: Final = 16


class EventKind(IntEnum):
    """Rows of the event log. `a`, `b`, `c`, `d` are explained in report/dictionary."""

    PAUSE_SENT = 1
    """XOFF sent: a = shared use, b = limit, c = headroom use, d = pool free (bytes)."""
    RESUME_SENT = 2
    """XON sent: same numbers as PAUSE_SENT."""
    PAUSED = 3
    """The port's class stopped sending: a = quanta, b = bytes waiting."""
    RESUMED = 4
    """The port's class may send again: a = paused time in ps, b = bytes waiting, c = 1 if the timer ran out."""
    DROP = 5
    """a = bytes, b, c, d = the numbers that decided it: use, limit, size for buffer reasons; b = packets for
    flushes (LINK_DOWN, WATCHDOG); b = MTU for MTU."""
    MARK = 6
    """ECN mark: a = queue bytes, b = kmin, c = kmax."""
    RATE_CUT = 7
    """DCQCN decrease: a = rate before, b = rate after (bit/s), c = alpha in millionths."""
    LINK_DOWN = 8
    LINK_UP = 9
    RATE_CHANGED = 10
    """a = rate before, b = rate after (bit/s)."""
    STORM_DETECTED = 11
    """PFC watchdog: a = bytes waiting, b = action."""
    STORM_RESTORED = 12
    """PFC watchdog: a = time in storm (ps)."""
    TIMEOUT = 13
    """Retransmission timer: a = first unacknowledged PSN, b = retries."""
    QP_FAILED = 14
    """Retry limit reached: a = packets never acknowledged."""
    NAK_SENT = 15
    """Out of sequence: a = expected PSN, b = PSN received."""
    DEADLOCK = 16
    """Cyclic wait found: a = number of queues in the cycle."""
    EDIT = 17
    """A dated edit of the scenario was applied: a = its number."""
    LOSS_DECLARED = 18
    """The sender holds packets for lost: a = first PSN, b = how many, c = reordering window (ps)."""


class TraceBit(IntFlag):
    """Event categories a run records."""

    PAUSE = 1
    DROP = 2
    MARK = 4
    RATE = 8
    TRANSPORT = 16


class Resend(IntEnum):
    """Why a queue pair sends packets again."""

    NAK = 0
    """The receiver reported a gap."""
    TIMEOUT = 1
    """Nothing was acknowledged for retransmit_timeout."""
    PROBE = 2
    """Tail loss probe (RFC 8985 section 7): the last packets may be lost, and nothing later tells."""


class LoadBalance(IntEnum):
    """How a switch chooses among equal-cost next hops."""

    ECMP = 0
    SPRAY = 1
    """Each packet to the next member in turn."""
    FLOWLET = 2
    """As ECMP, but a flow may move after a gap."""


class HashAlgorithm(IntEnum):
    """ECMP hash of the 5-tuple, seeded per switch."""

    CRC32 = 0
    XOR = 1
    TOEPLITZ = 2
    MURMUR3 = 3


class WatchdogState(IntEnum):
    """Per queue."""

    OPERATIONAL = 0
    STORMED = 1


class WatchdogAction(IntEnum):
    """What the PFC watchdog does to a stormed queue."""

    DROP = 0
    FORWARD = 1
    ALERT = 2


class WatchdogRule(IntEnum):
    """Detection condition per platform family."""

    BROADCOM = 0
    MELLANOX = 1
    CISCO = 2
    OCCUPANCY = 3
    """Barefoot, Nephos, Marvell Prestera, Clounix."""
    TERALYNX = 4


class QpState(IntEnum):
    """Where a sending queue pair stands."""

    IDLE = 0
    """Nothing to send."""
    READY = 1
    """In its port's round robin."""
    WAITING = 2
    """Paced: in the host's heap until its next departure."""
    BLOCKED = 3
    """The window is full."""
    FAILED = 4
    """Retry limit reached."""


class CongestionControl(IntEnum):
    """Reaction point."""

    NONE = 0
    DCQCN = 1
    HPCC_DCQCN = 2
    """DCQCN as the public HPCC simulator has it: timers only, notification in the ACK."""


class Recovery(IntEnum):
    """What a loss does to a queue pair. Odd: only what is missing is sent again."""

    GO_BACK_N = 0
    SELECTIVE = 1
    """IRN: selective repeat within a bounded window."""
    GO_BACK_0 = 2
    """The whole message again: early RoCE NICs."""
    OUT_OF_ORDER = 3
    """Packets are placed in any order; a loss is told from reordering by time (docs/decisions/0028)."""


class RandomUse(IntEnum):
    """Independent random streams of one device."""

    ECN = 0
    ERRORS = 1
    SPRAY = 2


N_RANDOM_USES: Final = 4
