"""Enumerations shared by kernels, traces, tables and metrics.

Kernels compare plain integers with these members, so every enum is an IntEnum; a code is never reused.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag
from typing import Final

N_CLASSES: Final = 8
"""Traffic classes, priority groups, queues and PFC priorities per port (IEEE 802.1Q: eight)."""

N_DSCPS: Final = 64
"""Values of the DS field (RFC 2474 section 3)."""

INFINITY_PS: Final = 2**62
"""A time that never comes."""


class Stop(IntEnum):
    """Why a kernel returned; from NEGATIVE on, a broken invariant (exit 3)."""

    NONE = 0
    BOUND = 1
    """Every event before the bound is done."""
    BUDGET = 2
    """The call's share of windows is used up; call again."""
    PACKETS = 3
    """A device has no free packet row; grow the table and call again."""
    TRACE = 4
    """The trace region is full; drain it and call again."""
    IDLE = 5
    """No event is pending anywhere."""
    MESSAGES = 6
    """A host has no free message row; read finished ones or grow the table, and call again."""
    NEGATIVE = 16
    """A queue, group or pool would become negative."""
    UNKNOWN_EVENT = 17
    UNKNOWN_PACKET = 18
    ANCESTRY = 19
    """Insertion order: the parent of an event was needed that State.ancestry no longer has."""


class Shared(IntEnum):
    """Words of State.shared that several threads write, each on separate cache lines."""

    SPARE_PACKET = 0
    """First packet row without an owner."""
    GENERATION = 1
    """Number of the State that workers may simulate; 0: none. The next word: whether simulate() runs now."""
    SPARE_MESSAGE = 2
    """First message row without an owner."""


class Issue(IntEnum):
    """A message row of transfers."""

    FREE = 0
    LIVE = 1
    """Posted, not acknowledged."""
    DONE = 2
    """Acknowledged, computed or failed when posted; the driver has not read it yet."""


class Mail(IntEnum):
    """Places of each thread in State.shared, LINE words each, after those of Shared."""

    ORDER = 0
    """From the coordinator to the worker: the next epoch (a ticket), its windows, and the ticket again once the
    participants are known.
    """
    UNCLAIMED = 1
    """Unclaimed tasks of the thread's own list (window, the next, the end): written by all threads."""
    DONE = 2
    """From the thread to the others: the last window whose list it has finished, and whether it has stopped; then the
    finished ticket and its results.
    """
    PRESENT = 3
    """Whether the worker is inside assist()."""


N_SHARED: Final = 3
N_MAIL: Final = 4
LINE: Final = 16
"""Words of a pair of cache lines: processors fetch both (dataplane/state/types.py)."""


class Order(IntEnum):
    """The order of events at one instant (the tie rule)."""

    SOURCE = 0
    """Device-local: by source; the same for both schedulers."""
    INSERTION = 1
    """Global: in the order in which they were scheduled; sequential scheduler only."""


class Aux(IntEnum):
    """A device's event sources after those of its ports (3 per port: data in, pause in, port free)."""

    PFC = 0
    """Timers of link flow control (PFC: pause expiry and refresh)."""
    WATCHDOG = 1
    """PFC watchdog poll (switches)."""
    WAKE = 2
    """A paced queue pair becomes eligible (hosts)."""
    START = 3
    """A message is posted (hosts)."""
    TRANSFER = 4
    """A message of a transfer is posted, or a computation ends (hosts)."""
    TIMEOUT = 5
    """Retransmission timers are checked (hosts)."""
    DRAIN = 6
    """A slow receiver has consumed a packet (hosts)."""
    NOTIFY = 7
    """A delayed CNP leaves the notification point (hosts)."""
    STORM = 8
    """A broken NIC sends its next pause frame (hosts)."""
    ARP = 9
    """An ARP request is due (hosts)."""
    DATAGRAM = 10
    """A datagram of a stream is due (hosts)."""
    SHAPER = 11
    """A shaper lets a queue or port send again (switches)."""


N_AUX: Final = 12


class Semantics(IntEnum):
    """The rules by which a model treats queues, timers and rounding: state/semantics has the differences."""

    ASIC = 0
    NS3_RDMA = 1
    """As the public ns-3 RDMA simulator (alibaba-edu/High-Precision-Congestion-Control), which runs DCQCN here."""


class SlotSet(IntEnum):
    """Bitmaps of a host's slots (host/ns3_index)."""

    LISTED = 0
    """On the NIC's list."""
    READY = 1
    """Has packets left, its departure has come, and its window was open at the last check."""
    FINISHED = 2
    """Everything is acknowledged; still on the list."""


N_SLOT_SETS: Final = 3


class Departure(IntEnum):
    """State of a queue pair's next departure (host/ns3_index)."""

    NONE = 0
    """No packet is left to send."""
    WAITING = 1
    """In the host's heap until its time comes."""
    PAST = 2
    """Its time has come."""


class PacketKind(IntEnum):
    """Kind of a frame."""

    DATA = 1
    ACK = 2
    NAK = 3
    CNP = 4
    PFC = 5
    ARP_REQUEST = 6
    """Broadcast (BUM): replicated, not routed to its target."""
    ARP_REPLY = 7
    """Unicast, from the target or from a leaf that answers instead."""
    FLOODED = 8
    """Copy of a frame that a leaf has sent to every port of the segment; for another host, so the NIC drops it."""
    DATAGRAM = 9
    """UDP without a transport: a stream of the scenario."""
    NOTICE = 10
    """Between neighbouring switches: how long a port's queues are (switch/notice)."""


FLOW_CONTROL_FRAMES: Final = (PacketKind.PFC,)
"""Frames of link flow control: a port obeys them, nothing forwards them."""
LINK_FRAMES: Final = (*FLOW_CONTROL_FRAMES, PacketKind.NOTICE)
"""Frames that end at the next device and have a separate list on the cable (port/wire)."""


class PacketFlag(IntFlag):
    """Bits of a packet's flags."""

    FIRST = 1
    """First packet of its message: carries a RETH."""
    LAST = 2
    """Last packet of its message."""
    ENCAP = 4
    """Encapsulated: has an outer header, of VXLAN or of a source route."""
    BROADCAST = 8
    """For every station of the layer-2 segment (BUM)."""
    ECHO = 16
    """ACK: its data packet was CE-marked (models whose ACK carries the notification)."""
    ACK_REQUEST = 32
    """Data: acknowledge at once (BTH AckReq)."""
    ROUTED = 64
    """Forwarded by the outer header alone. VXLAN: of an L3 VNI, one VTEP has routed the packet, and a second one will
    (RFC 9135 section 5). With source routes, which exclude VXLAN: it names the route (RFC 8986)."""
    DUPLICATE = 128
    """ACK: its data packet is a duplicate (as DSACK, RFC 2883)."""


class Ecn(IntEnum):
    """RFC 3168 section 5 codepoints."""

    NOT_ECT = 0
    ECT1 = 1
    ECT0 = 2
    CE = 3


class DropReason(IntEnum):
    """Reason for a discarded frame; the label `reason` of tables, events and metrics."""

    HEADROOM = 0
    """Lossless: the priority group's own headroom was full."""
    SHARED_HEADROOM_POOL = 1
    """Lossless: the shared headroom pool was exhausted."""
    NO_HEADROOM = 2
    """Lossless in its profile, but the group has no headroom."""
    INGRESS_THRESHOLD = 3
    """Lossy: the priority group's (dynamic) limit."""
    EGRESS_THRESHOLD = 4
    """The egress queue's (dynamic) limit."""
    WRED = 5
    """Early drop of a packet that is not ECN-capable."""
    MTU = 6
    """Larger than the egress port's MTU, often after VXLAN encapsulation."""
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
    """A fault of the scenario."""
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
    """a = bytes, b, c, d = the numbers of the decision: use, limit, size for buffer reasons; b = packets for
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
    """Retry limit reached: a = unacknowledged packets."""
    NAK_SENT = 15
    """Out of sequence: a = expected PSN, b = PSN received."""
    DEADLOCK = 16
    """Cyclic wait found: a = number of queues in the cycle."""
    EDIT = 17
    """A dated edit of the scenario was applied: a = its number."""
    LOSS_DECLARED = 18
    """The sender declares packets lost: a = first PSN, b = their number, c = reordering window (ps)."""


class TraceBit(IntFlag):
    """Event categories a run records."""

    PAUSE = 1
    DROP = 2
    MARK = 4
    RATE = 8
    TRANSPORT = 16


class Resend(IntEnum):
    """Reason for retransmissions of a queue pair."""

    NAK = 0
    """The receiver reported a gap."""
    TIMEOUT = 1
    """No acknowledgement for retransmit_timeout."""
    PROBE = 2
    """Tail loss probe (RFC 8985 section 7): the last packets may be lost, and no later packet shows it."""


class LoadBalance(IntEnum):
    """Choice of a switch among equal-cost next hops."""

    ECMP = 0
    SPRAY = 1
    """Each packet to the next member in turn."""
    FLOWLET = 2
    """As ECMP, but a flow may move after a gap."""
    ADAPTIVE = 3
    """Each packet to the member whose queues would be empty first."""
    WEIGHTED = 4
    """As ECMP, but a member's share of the hashes is that of its link's rate."""
    SOURCE_ROUTED = 5
    """The sender chooses the path of each packet of RDMA (host/source_route); others are hashed, as ECMP."""


BY_FLOW: Final = frozenset({LoadBalance.ECMP, LoadBalance.WEIGHTED})
"""A flow keeps its member as long as the routes are the same, so that it has one path."""
PER_PACKET: Final = frozenset({LoadBalance.SPRAY, LoadBalance.ADAPTIVE})
"""Packets of one flow take several paths at once."""
BY_SENDER: Final = frozenset({LoadBalance.SOURCE_ROUTED})
"""The sender says whether a flow has one path or several: codes.RouteChoice."""


class RouteChoice(IntEnum):
    """Which of its source routes a NIC gives a packet."""

    NONE = 0
    """There are no source routes."""
    PACKET = 1
    """Each packet of a queue pair the next one."""
    QUEUE_PAIR = 2
    """Each packet of a queue pair the same one, as long as it is not withdrawn."""


class HashAlgorithm(IntEnum):
    """ECMP hash of the 5-tuple, seeded per switch."""

    CRC32 = 0
    XOR = 1
    TOEPLITZ = 2
    MURMUR3 = 3


LINEAR_HASHES: Final = frozenset({HashAlgorithm.CRC32, HashAlgorithm.XOR, HashAlgorithm.TOEPLITZ})
"""Linear over GF(2): another seed changes the same bits of every hash, so that two tiers may choose alike."""


class HashField(IntFlag):
    """Header fields that a switch's ECMP hash covers (SAI saihash.h, SAI_NATIVE_HASH_FIELD_*)."""

    SOURCE_IP = 1
    DESTINATION_IP = 2
    SOURCE_PORT = 4
    DESTINATION_PORT = 8
    DESTINATION_QP = 16
    """Of the InfiniBand base transport header; packets between VTEPs have it behind the outer header, unseen."""


FIVE_TUPLE: Final = HashField.SOURCE_IP | HashField.DESTINATION_IP | HashField.SOURCE_PORT | HashField.DESTINATION_PORT
"""What switches hash by default; the protocol is the same in every packet."""
FIRST_QPN: Final = 2
"""Number of the first queue pair: 0 and 1 are reserved (IB specification vol. 1, section 3.5.10)."""


class WatchdogState(IntEnum):
    """Per queue."""

    OPERATIONAL = 0
    STORMED = 1


class WatchdogAction(IntEnum):
    """Action of the PFC watchdog on a stormed queue."""

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
    HARDWARE = 5
    """A timer of the chip, whatever its family: paused without a gap since its last step."""


class QpState(IntEnum):
    """State of a sending queue pair."""

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
    """Congestion control of a run (reaction point)."""

    NONE = 0
    DCQCN = 1
    NS3_DCQCN = 2
    """DCQCN as the public ns-3 RDMA simulator has it: timers only, notification in the ACK."""
    DCTCP = 3
    """RFC 8257: the share of marked packets, echoed in ACKs, sets the size of a cut."""
    NS3_DCTCP = 4
    """DCTCP as the public ns-3 RDMA simulator has it: marks over the packets in flight and one more."""
    TIMELY = 5
    """Round-trip times, once per window of data."""
    HPCC = 6
    """Telemetry of every hop in each packet (INT), echoed in ACKs."""
    PINT = 7
    """HPCC with the load of the fullest hop alone in each packet, as a code of 16 bits."""
    SWIFT = 8
    """Delay of the fabric and of the receiving host against targets; a window."""
    CUBIC = 9
    """RFC 9438: losses and marks alike; the window law of ordinary TCP traffic."""


TELEMETRY_WORDS: Final = {
    CongestionControl.TIMELY: 1,
    CongestionControl.HPCC: 8,
    CongestionControl.PINT: 1,
    CongestionControl.SWIFT: 2,
}
"""Words that data frames carry for these, beside PACKET (State.telemetry): powers of two, at most a cache line."""
TELEMETRY_OF_SWITCHES: Final = frozenset({CongestionControl.HPCC, CongestionControl.PINT})
"""Of these, those whose words switches read and write."""


class FlowControl(IntEnum):
    """What keeps a port from sending a class (link flow control)."""

    PFC = 0
    """IEEE 802.1Q clause 36."""


class Recovery(IntEnum):
    """Loss recovery of a queue pair. Odd values: only missing packets are sent again."""

    GO_BACK_N = 0
    SELECTIVE = 1
    """IRN: selective repeat within a bounded window."""
    GO_BACK_0 = 2
    """The whole message again: early RoCE NICs."""
    OUT_OF_ORDER = 3
    """Packets are placed in any order; time distinguishes loss from reordering (docs/decisions/0028)."""


class RandomUse(IntEnum):
    """Independent random streams of one device."""

    ECN = 0
    ERRORS = 1
    SPRAY = 2


N_RANDOM_USES: Final = 4
