"""Columns of every table in a run directory: name, type, unit and meaning. The writers build from these, the data
dictionary prints them; there is no second description.

Times are integer nanoseconds of simulated time, rounded down from the engine's picoseconds; rows keep the engine's
order, which is exact. A null means "does not apply" or "not yet", never zero.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

NAME: Final = pa.dictionary(pa.int32(), pa.string())
"""Names repeat on millions of rows, so they are stored once and referred to."""


def _column(name: str, kind: pa.DataType, unit: str, meaning: str, *, nullable: bool = False) -> pa.Field:
    return pa.field(name, kind, nullable=nullable, metadata={"unit": unit, "meaning": meaning})


_PLACE: Final = (
    _column("device", NAME, "name", "Switch or host, as in the topology."),
    _column(
        "port",
        NAME,
        "name",
        "Port of the device ('Ethernet4', 'eth0'); null where the row is about the device.",
        nullable=True,
    ),
    _column(
        "class",
        pa.int8(),
        "0..7",
        "Queue, priority group or PFC priority; null where the row is about the port or device.",
        nullable=True,
    ),
)

_VALUE: Final = (
    _column(
        "item",
        pa.int32(),
        "number",
        "Queue pair, buffer pool of the switch or ECMP group; null for other observables.",
        nullable=True,
    ),
    _column(
        "value",
        pa.int64(),
        "see observable",
        "The integer value, in the observable's unit; null for ratios.",
        nullable=True,
    ),
    _column(
        "value_ratio",
        pa.float64(),
        "ratio",
        "The value of observables named *_ratio; null for all others.",
        nullable=True,
    ),
)

MESSAGES: Final = pa.schema(
    [
        _column("id", pa.string(), "name", "The workload's own name of the message, else its number."),
        _column("src", NAME, "name", "Sending host."),
        _column("dst", NAME, "name", "Receiving host."),
        _column("size_bytes", pa.int64(), "bytes", "Payload, without any header."),
        _column("priority", pa.int8(), "0..7", "Traffic class at the sender."),
        _column("dscp", pa.int8(), "0..63", "DSCP of its packets."),
        _column("qp", pa.int32(), "number", "Queue pair that carried it."),
        _column("start_ns", pa.int64(), "ns", "Posted to the queue pair; null before.", nullable=True),
        _column("first_ns", pa.int64(), "ns", "First packet at the receiver; null before.", nullable=True),
        _column("arrived_ns", pa.int64(), "ns", "All bytes in order at the receiver; null before.", nullable=True),
        _column("end_ns", pa.int64(), "ns", "Last byte acknowledged at the sender; null before.", nullable=True),
        _column("fct_ns", pa.int64(), "ns", "Flow completion time, end - start; null unless done.", nullable=True),
        _column("ideal_ns", pa.int64(), "ns", "Completion time alone in an idle fabric."),
        _column("slowdown", pa.float64(), "ratio", "fct / ideal; null unless done.", nullable=True),
        _column("retransmits", pa.int64(), "packets", "Packets of it that were sent more than once."),
        _column(
            "hops", pa.int16(), "links", "Switches that its last packet crossed; null before it arrived.", nullable=True
        ),
        _column(
            "path",
            pa.list_(pa.string()),
            "names",
            "Ports its packets left by, 'device:port', sender first, by the routes at the "
            "end of the run; null where switches spray or move flowlets, and where a route is missing.",
            nullable=True,
        ),
        _column(
            "state",
            NAME,
            "name",
            "done, failed (retry limit), outstanding (posted, not done), waiting (not posted yet).",
        ),
    ]
)

TIMESERIES: Final = pa.schema(
    [
        _column("time_ns", pa.int64(), "ns", "Sampling instant. Events before it are counted, those at it are not."),
        _column("observable", NAME, "name", "What was measured; see the list of observables."),
        *_PLACE,
        *_VALUE,
    ]
)

COUNTERS: Final = pa.schema(
    [_column("observable", NAME, "name", "What was measured; see the list of observables."), *_PLACE, *_VALUE]
)

EVENTS: Final = pa.schema(
    [
        _column("time_ns", pa.int64(), "ns", "When it happened. Rows are ordered by (picosecond, device)."),
        _column("kind", NAME, "name", "What happened; see the list of kinds."),
        *_PLACE,
        _column("reason", NAME, "name", "Why a frame was dropped; null for other kinds.", nullable=True),
        _column("qp", pa.int32(), "number", "Queue pair; null where none is concerned.", nullable=True),
        _column("a", pa.int64(), "see kind", "First number of the kind; null where the kind has none.", nullable=True),
        _column("b", pa.int64(), "see kind", "Second number.", nullable=True),
        _column("c", pa.int64(), "see kind", "Third number.", nullable=True),
        _column("d", pa.int64(), "see kind", "Fourth number.", nullable=True),
    ]
)
