"""Measures of test plans by name: unit, what they can be of, and the counter that the plan's suite reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

LOSSLESS, LOSSY, ALL = "lossless", "lossy", "all"
KINDS: Final = (LOSSLESS, LOSSY, ALL)
IN_USE: Final = "lossless in use"
"""Lossless priorities that a scenario sends in; LOSSLESS alone are all those of the plan."""
ACK, CNP, DATA = "ack", "cnp", "data"


@dataclass(frozen=True, slots=True)
class Name:
    """A measure."""

    unit: str
    """'': a count; 'time': ps; 'share': a ratio."""
    of: tuple[str, ...]
    rows: str
    """What each row is of."""
    counter: str
    """Of the tester (IxNetwork's RoCEv2 statistics) or of the switch (SAI, as `show queue|pfc counters` has it)."""
    means: str


# fmt: off
MEASURES: Final[Mapping[str, Name]] = {
    "messages_failed": Name("", KINDS, "flow", "tester: Messages Fail",
                            "messages of queue pairs that gave up after their retries"),
    "frame_delta": Name("", KINDS, "flow", "tester: Frame Delta", "data frames sent and not received"),
    "naks": Name("", KINDS, "flow", "tester: NAK Rx", "NAKs that the sender received"),
    "sequence_errors": Name("", KINDS, "flow", "tester: Frame Sequence Error",
                            "data frames that came out of sequence"),
    "latency": Name("time", KINDS, "kind", "tester: Avg Latency",
                    "mean time of a data frame from port to port, by Little's law from the frames in flight"),
    "acked": Name("", KINDS, "flow", "tester: ACK Rx", "data frames that ACKs which came back have acknowledged"),
    "acks_received": Name("", KINDS, "port", "tester: ACK Rx + NAK Rx",
                          "ACKs and NAKs that the tester's port received"),
    "ecn_ce": Name("", KINDS, "flow", "tester: ECN-CE Rx", "data frames that the switch marked CE"),
    "marked_by_priority": Name("", KINDS, "priority", "switch: SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS",
                               "data frames that the switch marked CE, of all flows of a priority"),
    "cnps": Name("", KINDS, "flow's port", "tester: CNP Tx", "CNPs that the receiving port sent"),
    "cnps_received": Name("", KINDS, "port", "tester: CNP Rx", "CNPs that the sending port received"),
    "pfc_sent": Name("", (LOSSLESS, IN_USE, LOSSY), "priority", "switch: SAI_PORT_STAT_PFC_<n>_TX_PKTS",
                     "PAUSE frames with a time above 0 that the test ports sent"),
    "pause_share": Name("share", (LOSSLESS, IN_USE, LOSSY), "port and priority",
                        "switch: SAI_PORT_STAT_PFC_<n>_TX_PAUSE_DURATION_US", "share of the time in pause"),
    "queue_packets": Name("", (ACK, CNP, DATA), "port and queue", "switch: SAI_QUEUE_STAT_PACKETS",
                          "frames that left by the queue"),
    "frames_received": Name("", KINDS, "port and queue", "tester: Frames Rx", "data frames that the port received"),
    "share_error": Name("share", (DATA,), "queue", "switch: SAI_QUEUE_STAT_BYTES",
                        "distance of the queue's rate from its DWRR share, as a part of that share"),
}
# fmt: on
