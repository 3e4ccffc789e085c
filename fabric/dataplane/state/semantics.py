"""The rules in which `asic` and the public ns-3 RDMA simulator differ: one function for each rule.

Of the kernels only these depend on Semantics; State.build() sizes tables and state/timing fills them by it. The
simulator's rules are followed to the letter, because each moves completion times. Source:
github.com/alibaba-edu/High-Precision-Congestion-Control, the ns-3 RDMA model of the HPCC paper (SIGCOMM 2019). Each
name below says what that simulator does.

| rule | ns3_rdma | asic | called by |
|---|---|---|---|
| times | truncated to 1 ns, from a 64.64 fixed-point number | picoseconds, rounded up | timing, pacing |
| changed line speed | a planned departure stays | it moves to the new rate | transport/pacing |
| NIC | one list of queue pairs, scanned for every packet | round robin per class, paced by a heap | host |
| scheduler | round robin by packet | deficit round robin by bytes | port/scheduler |
| admission | a packet in parts of shared buffer and headroom is refused | the reserve counts first | switch/buffer |
| XON | an offset below the limit, or empty | also at a level in bytes | switch/buffer |
| marking at Kmax | with Pmax | always | switch/ecn |
| ports of an answer | swapped, so ECMP may choose another path | those of the data packet | host/receiver |
| duplicate | dropped | acknowledged | host/receiver |
| ACK beyond the next packet | that packet is sent all the same | skipped | host/sender |
| NAK below the acknowledged packet | obeyed | ignored | host/sender |
| answer to a finished queue pair | ignored | handled | host/sender |
| window that varies | rate / line rate in whole numbers, one for each queue pair | in floating point | host/sender |
| speeds in HPCC's telemetry | five codes | whole Gb/s | transport/hpcc |
| HPCC-PINT's random numbers, insertion order | one generator | one stream a device | transport/pint |
| HPCC's old records | compared | dropped after a change of path or 8 ms | transport/hpcc |

The rules of its congestion controls are in transport/ns3_dcqcn and ns3_dctcp; TIMELY and HPCC have one text for both
models. Those of its NIC are in host/ns3_nic.
"""

from __future__ import annotations

from fabric.dataplane.state.codes import Order, Semantics
from fabric.dataplane.state.compiled.jit import hot, i64
from fabric.dataplane.state.types import State

_NS3_RDMA = int(Semantics.NS3_RDMA)
_INSERTION = int(Order.INSERTION)


@hot
def _is_ns3_rdma(state: State) -> bool:
    return bool(state.config[0]["semantics"] == _NS3_RDMA)


# ===== times =====


def truncated_serialisation_ns(size_bytes: int, rate_bps: int) -> int:
    """floor(floor((8.0 * b / R) * 2**64) * 10**9 / 2**64): double arithmetic, then a 64.64 fixed-point time
    truncated.
    """
    return (int(8.0 * size_bytes / rate_bps * 2.0**64) * 10**9) >> 64


@hot
def truncated_serialisation_ps(size_bytes: int, rate_bps: int) -> int:
    """As truncated_serialisation_ns, in whole nanoseconds: the product needs 94 bits and is taken in two halves."""
    fixed = i64(8.0 * size_bytes / rate_bps * 18446744073709551616.0)
    high, low = fixed >> 32, fixed & 0xFFFFFFFF
    return 1000 * ((high * 1_000_000_000 + (low * 1_000_000_000 >> 32)) >> 32)


@hot
def truncates_times(state: State) -> bool:
    """The gap after a packet is its truncated serialisation time at the queue pair's rate."""
    return _is_ns3_rdma(state)


@hot
def keeps_planned_departures(state: State) -> bool:
    """A new line speed leaves a planned departure where it is."""
    return _is_ns3_rdma(state)


# ===== NIC and scheduler =====


@hot
def scans_queue_pairs(state: State) -> bool:
    """The NIC scans one list of queue pairs (host/ns3_nic)."""
    return _is_ns3_rdma(state)


@hot
def alternates_by_packet(state: State) -> bool:
    """A scheduler takes the classes in turn, one packet each."""
    return _is_ns3_rdma(state)


# ===== switch =====


@hot
def refuses_split(state: State, group: int, charged: int, limit: int) -> bool:
    """A packet fits neither the limit nor the headroom as a whole; a free part of the reserve does not help."""
    if not _is_ns3_rdma(state):
        return False
    row = state.pgs[group]
    shared = max(i64(row["use_bytes"]) - i64(row["reserved_bytes"]), 0)
    return charged + i64(row["headroom_bytes"]) > i64(row["xoff_bytes"]) and charged + shared > limit


@hot
def may_resume(state: State, shared: int, limit: int, xon: int, xon_offset: int) -> bool:
    """Whether a paused group without bytes in headroom is low enough for XON."""
    if _is_ns3_rdma(state):
        return shared == 0 or shared + xon_offset <= limit
    return shared <= max(xon, limit - xon_offset)


@hot
def draws_at_kmax(state: State) -> bool:
    """A queue of exactly Kmax bytes marks with probability Pmax."""
    return _is_ns3_rdma(state)


# ===== transport =====


@hot
def swaps_ports_of_answers(state: State) -> bool:
    """ACKs and NAKs have source and destination port exchanged."""
    return _is_ns3_rdma(state)


@hot
def drops_duplicates(state: State) -> bool:
    """A receiver drops a packet that it has delivered before and sends no ACK for it."""
    return _is_ns3_rdma(state)


@hot
def compares_any_records(state: State) -> bool:
    """HPCC compares two records of a hop however far they are apart, and does not ask whether the path is the same."""
    return _is_ns3_rdma(state)


@hot
def shares_random_numbers(state: State) -> bool:
    """Switches and hosts draw from one generator, in the order of events: only one order gives the same numbers."""
    return _is_ns3_rdma(state) and bool(state.config[0]["order"] == _INSERTION)


@hot
def knows_five_speeds(state: State) -> bool:
    """HPCC's telemetry has codes for 25, 50, 100, 200 and 400 Gb/s; any other speed counts as 25 Gb/s."""
    return _is_ns3_rdma(state)


@hot
def sends_acknowledged(state: State) -> bool:
    """After an ACK beyond the next packet the sender still goes on from that packet."""
    return _is_ns3_rdma(state)


@hot
def obeys_old_naks(state: State) -> bool:
    """A NAK that names a packet below the acknowledged one makes the sender go back."""
    return _is_ns3_rdma(state)


@hot
def ignores_late_answers(state: State) -> bool:
    """An ACK or NAK has no effect on a queue pair without messages."""
    return _is_ns3_rdma(state)
