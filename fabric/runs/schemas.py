"""Columns of every table in a run directory: name, type, unit and meaning. The writers build from these, the data
dictionary prints them; no other description exists.

Times are integer nanoseconds of simulated time, rounded down from the engine's picoseconds; rows keep the engine's
order, which is exact. A null means "does not apply" or "not yet", never zero.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

NAME: Final = pa.dictionary(pa.int32(), pa.string())
"""Names repeat in millions of rows, so each is stored once (dictionary encoding)."""


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
            "end of the run; null where switches spray or move flowlets, NICs choose paths, or a route is missing.",
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

TRANSFERS: Final = pa.schema(
    [
        _column("transfer", pa.int64(), "number", "Row of the schedule, from 0; joins transfer_messages.parquet."),
        _column("operation", NAME, "name", "Entry of the workload and operation, 'NAME/OPERATION'."),
        _column("operation_type", NAME, "name", "all-reduce, send, compute and others; empty: unknown."),
        _column("algorithm", NAME, "name", "Algorithm of the operation; empty: unknown."),
        _column("kind", NAME, "name", "Group of ranks of the operation: tp, pp, dp, ep, cp; empty: one group."),
        _column("step", pa.int64(), "number", "Step of the job that the operation belongs to."),
        _column("operation_bytes", pa.int64(), "bytes", "Size of the operation, as nccl-tests has it; 0: unknown."),
        _column("operation_ranks", pa.int64(), "ranks", "Ranks of the operation; 0: unknown."),
        _column("src", NAME, "name", "Sending host."),
        _column("dst", NAME, "name", "Receiving host; the same host: a computation."),
        _column("qp", pa.int32(), "number", "Queue pair of its messages; null for a computation.", nullable=True),
        _column("priority", pa.int8(), "0..7", "Traffic class at the sender; null for a computation.", nullable=True),
        _column(
            "path",
            pa.list_(pa.string()),
            "names",
            "Ports its packets left by, as in messages.parquet; null for a computation.",
            nullable=True,
        ),
        _column("messages", pa.int64(), "messages", "Messages to send, empty ones left out; parts of a computation."),
        _column("size_bytes", pa.int64(), "bytes", "Payload of all messages."),
        _column("done", pa.int64(), "messages", "Of these, acknowledged, or computed."),
        _column("failed", pa.int64(), "messages", "Of these, failed (retry limit)."),
        _column("start_ns", pa.int64(), "ns", "First posting, or end of the first part; null before.", nullable=True),
        _column("arrived_ns", pa.int64(), "ns", "Last arrival so far; null without one.", nullable=True),
        _column("end_ns", pa.int64(), "ns", "Last acknowledgement, or part computed; null before.", nullable=True),
        _column("waited_ns", pa.int64(), "ns", "Sum of the times from a posting until the next message was ready."),
        _column("retransmits", pa.int64(), "packets", "Packets sent more than once, of acknowledged messages."),
        _column("state", NAME, "name", "done, failed (a message has), outstanding (begun), waiting (not begun)."),
    ]
)

TRANSFER_MESSAGES: Final = pa.schema(
    [
        _column("transfer", pa.int64(), "number", "Row of transfers.parquet."),
        _column("index", pa.int64(), "number", "Number of the message within its transfer, from 0."),
        _column("size_bytes", pa.int64(), "bytes", "Payload; 0: a part of a computation."),
        _column("ready_ns", pa.int64(), "ns", "Its last need was met, and the message before it posted."),
        _column("start_ns", pa.int64(), "ns", "Posted to the queue pair; of a computation: begun."),
        _column("first_ns", pa.int64(), "ns", "First packet at the receiver; null before.", nullable=True),
        _column("arrived_ns", pa.int64(), "ns", "All bytes in order at the receiver; null before.", nullable=True),
        _column("end_ns", pa.int64(), "ns", "Last byte acknowledged, or computed; null before.", nullable=True),
        _column("retransmits", pa.int64(), "packets", "Packets of it that were sent more than once."),
        _column("state", NAME, "name", "done, failed or outstanding; messages that were not posted have no row."),
    ]
)

SCHEDULE: Final = pa.schema(
    [
        _column("transfer", pa.int64(), "number", "Row of transfers.parquet."),
        _column("src_rank", pa.int64(), "number", "Rank that sends or computes, within its entry of the workload."),
        _column("dst_rank", pa.int64(), "number", "Rank that receives."),
        _column("count", pa.int64(), "messages", "Messages, empty ones included."),
        _column("small_bytes", pa.int64(), "bytes", "Size of a shorter message."),
        _column("unit_bytes", pa.int64(), "bytes", "What a longer message has more."),
        _column("n_longer", pa.int64(), "number", "Of `modulus` messages, the longer ones."),
        _column("first", pa.int64(), "number", "Place of message 0 in the order of sizes."),
        _column("stride", pa.int64(), "number", "Places from one message to the next."),
        _column("modulus", pa.int64(), "number", "Places."),
        _column("start_ps", pa.int64(), "ps", "No message is posted before."),
        _column("delay_ps", pa.int64(), "ps", "From the last need to the posting, or the time of a computation."),
        _column("delay_fs_per_byte", pa.int64(), "fs/byte", "In addition, for each byte of the message."),
    ]
)

NEEDS: Final = pa.schema(
    [
        _column("earlier", pa.int64(), "number", "Transfer that is needed."),
        _column("later", pa.int64(), "number", "Transfer that waits."),
        _column("lead", pa.int64(), "messages", "Messages of `earlier` that message 0 of `later` needs."),
        _column("per", pa.int64(), "messages", "How many more each next message needs."),
        _column("event", NAME, "name", "arrived, completed or posted."),
    ]
)

DATAGRAMS: Final = pa.schema(
    [
        _column("entry", NAME, "name", "Entry of the workload."),
        _column("src", NAME, "name", "Sending host."),
        _column("dst", NAME, "name", "Receiving host."),
        _column("frame_bytes", pa.int64(), "bytes", "Each frame, Ethernet header to FCS."),
        _column("rate_bps", pa.int64(), "bit/s", "Rate, preamble and gap included."),
        _column("dscp", pa.int8(), "0..63", "DSCP."),
        _column("priority", pa.int8(), "0..7", "Traffic class at the sender."),
        _column("ecn", NAME, "name", "ect (ECN-capable) or not-ect."),
        _column("sent", pa.int64(), "packets", "Given to the NIC."),
        _column("refused", pa.int64(), "packets", "Not sent, because 1000 frames waited in the NIC's queue."),
        _column("received", pa.int64(), "packets", "Arrived; those sent that did not were discarded or are under way."),
        _column("marked", pa.int64(), "packets", "Of these, with CE."),
        _column("first_ns", pa.int64(), "ns", "First arrival; null without one.", nullable=True),
        _column("last_ns", pa.int64(), "ns", "Last arrival; null without one.", nullable=True),
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
