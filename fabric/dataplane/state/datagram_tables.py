"""The engine's tables of datagram streams (docs/decisions/0072); conventions as in types.py."""

from __future__ import annotations

from fabric.dataplane.state.layout import I8, U1, U2, U4, table

# fmt: off
STREAM = table(  # (n_streams,) or (1,)  sorted by source                                owner: source host
    ("src", U4), ("dst", U4), ("port", U4),
    ("words", U4),               # UDP ports, as in PACKET
    ("size", U2),                # of each frame, FCS included
    ("dscp", U1), ("tc", U1), ("ecn", U1),
    ("interval_ps", I8),         # from one datagram to the next, rounded down
    ("rest", I8), ("rate_bps", I8),              # the part of a ps left out of it is rest / rate_bps
    ("fraction", I8),            # what of these parts has come together, below rate_bps     writer: datagrams
    ("left", I8),                # datagrams still to make                                 writer: datagrams
    ("sent_pkts", I8),           # given to the NIC
    ("refused_pkts", I8),        # not sent: the NIC's queue of the class was full
)

RSTREAM = table(  # (n_streams,) or (1,)                                                owner: destination host
    ("received_pkts", I8),
    ("marked_pkts", I8),         # of these, with CE
    ("first_ps", I8), ("last_ps", I8),           # -1 before
    apart=True)

SOURCE = table(  # (n_hosts,) or (1,)                                                   owner: the host
    ("first", U4),               # region of State.stream_turns, and its rows of State.streams
    ("n_turns", I8),             # streams with datagrams left                             writer: datagrams
)
# fmt: on
