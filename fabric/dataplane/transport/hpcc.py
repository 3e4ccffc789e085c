"""HPCC reaction point and its telemetry (Li et al., SIGCOMM 2019; rdma-hw.cc, switch-node.cc and int-header.h of the
public ns-3 RDMA simulator, CC_MODE 3, whose rules these are).

On the wire: 42 bytes in every data frame and in every answer, from the sender on, however many switches there are: a
counter and five records of 64 bits. A switch writes the next record when a data frame begins to leave; an answer
returns the records of its data frame unchanged. Hosts write none.

Rules
1. A record: 24 bits of time in ns; 20 bits of the bytes that the port had begun to send before this frame, in units of
   128 M; 17 bits of the bytes waiting at the port, all classes, without this frame, in units of 80 M; 3 bits of its
   speed. Numbers wrap. Wire overhead (preamble, gap) counts as sent, so 1 is the load of a full link.
2. The load of a hop over the time tau since its last record, in which it sent d bytes: d / tau over its speed, and the
   lesser of both queue lengths over the hop's share of the window: queue x line / speed / window.
3. The load that counts is that of the fullest hop, averaged over a base round trip T:
   U = (U (T - dt) + u dt) / T, where dt is that hop's tau, at most T. It begins with 1.
4. c = U / target. If c >= 1, or after the allowed additive increases in a row: rate = base / c + R_AI. Else rate =
   base + R_AI, one more additive increase. Rates stay within [min, line].
5. Every ACK with records changes the rate so (fast reaction; it may be off). Only the first ACK of a reference window,
   the one beyond the packets sent before the last such ACK, keeps the rate as the next base, and the increases.
6. The first ACK only notes its records. With more than five switches there is never a change.
7. `sample_feedback`: other ACKs than those of rule 5 skip hops without a queue. `multi_rate`: each hop has its own U,
   base rate and increases; the rate is the least of their rates.
8. A new rate moves the departure that is planned already, later or earlier.

Deviations under model asic: a rise counts from the next departure (pacing.move_departure); where the path has changed,
or 2**23 ns have passed since the last records, the records are only noted: the paper's path identifier, and numbers
that may have wrapped; a speed is known in whole Gb/s, up to 4095, where the header has a code for five.
"""

from __future__ import annotations

import numpy as np

from fabric.dataplane.state import semantics, telemetry
from fabric.dataplane.state.codes import PacketKind
from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.compiled.prefetch import prefetch
from fabric.dataplane.state.control_tables import HOPS
from fabric.dataplane.state.types import State
from fabric.dataplane.transport import pacing
from fabric.dataplane.transport.laws import law

_DATA = int(PacketKind.DATA)
_PS_PER_NS = 1000
_TIME_BITS, _BYTES_BITS, _QUEUE_BITS = 24, 20, 17
_TIME, _BYTES, _QUEUE = (1 << _TIME_BITS) - 1, (1 << _BYTES_BITS) - 1, (1 << _QUEUE_BITS) - 1
_BYTES_AT, _QUEUE_AT = _TIME_BITS, _TIME_BITS + _BYTES_BITS
_SPEED_WORD, _SPEED_BITS = 1 + HOPS, 12
_SPEED = (1 << _SPEED_BITS) - 1
_BYTE_UNIT, _QUEUE_UNIT = 128, 80
_STALE_PS = (1 << (_TIME_BITS - 1)) * _PS_PER_NS
_SLOWEST_GBPS, _CODES = 25, 5
"""The simulator's codes of speeds: code c is this times 2**c (int-header.h: lineRateValues)."""
_BPS_PER_GBPS = 10**9
_EMPTY = 1e-9
"""Over this, 100 kb/s would be more than any line rate."""
_COUNT = 0xFF
"""Of word 0 of a frame's telemetry: low bits are the number of switches, the others identify them."""
u = np.uint32


# ===== switch =====


@kernel
def speed_gbps(state: State, rate_bps: int) -> int:
    """A port's speed as senders understand it."""
    gbps = (rate_bps + _BPS_PER_GBPS // 2) // _BPS_PER_GBPS
    if semantics.knows_five_speeds(state):
        for code in range(_CODES):
            if gbps == _SLOWEST_GBPS << code:
                return gbps
        return _SLOWEST_GBPS
    return min(max(gbps, 1), _SPEED)


@hot
def waiting_bytes(state: State, port: int) -> int:
    """Bytes in all queues of a port. Its control queue is empty whenever a data frame leaves."""
    waiting, found = i64(state.ports[u(port)]["nonempty"]), 0
    c = 0
    while waiting >> c != 0:
        if waiting >> c & 1:  # an empty queue's row may be in no cache
            # The hint keeps the compiler from vectorising this loop of one or two turns, which costs more than the rest
            # of a record.
            prefetch(state.queues, u(port * 8 + c))
            found += i64(state.queues[u(port * 8 + c)]["depth_bytes"])
        c += 1
    return found


@hot
def in_units(number_bytes: int, unit_bytes: int, multiple: int, shift: int) -> int:
    """Whole units of unit_bytes * multiple; a multiple that is 2 ** shift needs no division by a variable."""
    units = number_bytes // unit_bytes
    return units >> shift if shift >= 0 else units // multiple


@kernel
def _write(state: State, device: int, port: int, packet: np.uint32, now_ps: int) -> None:
    out, config = state.ports[u(port)], state.config[law(state, i64(state.packets[packet]["qp"]))]
    multiple, shift = i64(config["int_multiple"]), i64(config["int_shift"])
    size_bytes, overhead = i64(state.packets[packet]["size"]), i64(config["min_gap_bytes"])
    sent = i64(out["tx_bytes"]) - size_bytes + (i64(out["tx_pkts"]) - 1) * overhead
    record = now_ps // _PS_PER_NS & _TIME
    record |= (in_units(sent, _BYTE_UNIT, multiple, shift) & _BYTES) << _BYTES_AT
    record |= (in_units(waiting_bytes(state, port), _QUEUE_UNIT, multiple, shift) & _QUEUE) << _QUEUE_AT
    base = telemetry.place(state, packet)
    word = i64(state.telemetry[base])
    slot = (word & _COUNT) % HOPS
    state.telemetry[base + 1 + slot] = record
    speeds = i64(state.telemetry[base + _SPEED_WORD]) & ~(_SPEED << slot * _SPEED_BITS)
    speed = speed_gbps(state, i64(out["rate_bps"]))
    state.telemetry[base + _SPEED_WORD] = speeds | speed << slot * _SPEED_BITS
    path = ((word >> 8) * 31 + port + 1) & 0xFFFFFFFF
    state.telemetry[base] = path << 8 | ((word & _COUNT) + 1 & _COUNT)


@hot
def forwarded(state: State, device: int, port: int, packet: np.uint32, now_ps: int) -> None:
    """A frame begins to leave a switch, and has been counted."""
    if i64(state.packets[packet]["kind"]) == _DATA:
        _write(state, device, port, packet, now_ps)


# ===== sender =====


@kernel
def start(state: State, qp: int) -> None:
    """A new queue pair sends at line rate."""
    pacing.start(state, qp)
    row, mine = state.qps[u(qp)], state.hpcc[u(qp)]
    mine["base_bps"], mine["load_ratio"] = row["line_bps"], 1.0
    for hop in range(HOPS):
        state.hpcc_hops[u(qp * HOPS + hop)]["rate_bps"] = row["line_bps"]
        state.hpcc_hops[u(qp * HOPS + hop)]["load_ratio"] = 1.0


@hot
def stamp(state: State, qp: int, packet: np.uint32, now_ps: int) -> None:
    """A data packet departs, without records."""
    base = telemetry.place(state, packet)
    state.telemetry[base] = state.telemetry[base + _SPEED_WORD] = 0


@hot
def sent(state: State, device: int, qp: int, size_bytes: int, serialisation_ps: int, now_ps: int) -> int:
    """The earliest next departure after one at now_ps."""
    state.hpcc[u(qp)]["frame_bytes"] = size_bytes
    return pacing.sent(state, device, qp, size_bytes, serialisation_ps, now_ps)


@kernel
def _note(state: State, qp: int, base: int, now_ps: int) -> None:
    """Note the records of an answer, its telemetry at `base`, without a change."""
    word = i64(state.telemetry[base])
    for hop in range(min(word & _COUNT, HOPS)):
        state.hpcc_hops[u(qp * HOPS + hop)]["record"] = state.telemetry[base + 1 + hop]
    state.hpcc[u(qp)]["path"] = word
    state.hpcc[u(qp)]["acked_ps"] = now_ps


@hot
def _load(state: State, qp: int, record: int, old: int, gbps: int, multiple: int, tau_ns: int) -> float:
    """Load of a hop of gbps between its last record and this one, tau_ns later (rule 2)."""
    sent_bytes = ((record >> _BYTES_AT) - (old >> _BYTES_AT) & _BYTES) * _BYTE_UNIT * multiple
    speed = gbps * _BPS_PER_GBPS
    queue = min(record >> _QUEUE_AT & _QUEUE, old >> _QUEUE_AT & _QUEUE) * _QUEUE_UNIT * multiple
    load = sent_bytes * 8 / (tau_ns * 1e-9) / speed
    if queue == 0:
        return load  # the term of the queue, two divisions, is 0
    line, window = i64(state.qps[u(qp)]["line_bps"]), i64(state.hpcc[u(qp)]["window_bytes"])
    return load + float(queue) * line / speed / window


@hot
def _is_skipped(sampled: bool, record: int) -> bool:
    """Rule 7: a hop without a queue, where only hops with one are sampled at this ACK."""
    return sampled and record >> _QUEUE_AT & _QUEUE == 0


@hot
def _tau_ns(record: int, old: int) -> int:
    return i64((record & _TIME) - (old & _TIME) & _TIME)


@kernel
def clipped(state: State, qp: int, rate_bps: int) -> int:
    """A rate within [min, line]."""
    return min(max(rate_bps, i64(state.config[law(state, qp)]["min_rate_bps"])), i64(state.qps[u(qp)]["line_bps"]))


@kernel
def divided(state: State, qp: int, rate_bps: int, c: float) -> int:
    """rate / c, truncated; of a link that seems empty, line rate."""
    if c < _EMPTY:
        return i64(state.qps[u(qp)]["line_bps"])
    return i64(rate_bps / c)


@kernel
def _one_rate(state: State, device: int, qp: int, base: int, hops: int, fast: bool, now_ps: int) -> None:
    """Rules 3 to 5 with the fullest hop."""
    mine, config = state.hpcc[u(qp)], state.config[law(state, qp)]
    rtt, fullest, span, seen = i64(mine["rtt_ns"]), 0.0, 0, False
    sampled, multiple = fast and i64(config["sample_feedback"]) != 0, i64(config["int_multiple"])
    speeds = i64(state.telemetry[base + _SPEED_WORD])
    for hop in range(hops):
        record, own = i64(state.telemetry[base + 1 + hop]), state.hpcc_hops[u(qp * HOPS + hop)]
        if not _is_skipped(sampled, record):
            seen = True
            old = i64(own["record"])
            tau = _tau_ns(record, old)
            if tau > 0:
                load = _load(state, qp, record, old, speeds >> hop * _SPEED_BITS & _SPEED, multiple, tau)
                if load > fullest:
                    fullest, span = load, tau
            own["record"] = record
    if not seen:
        return
    span = min(span, rtt)
    mine["load_ratio"] = (float(mine["load_ratio"]) * (rtt - span) + fullest * span) / float(rtt)
    c = float(mine["load_ratio"]) / float(config["load_target"])
    stage, rate = i64(mine["stage"]), i64(mine["base_bps"])
    if c >= 1 or stage >= config["increase_stages"]:
        rate, stage = divided(state, qp, rate, c) + i64(config["additive_bps"]), 0
    else:
        rate, stage = rate + i64(config["additive_bps"]), stage + 1
    rate = clipped(state, qp, rate)
    pacing.move_departure(state, device, qp, i64(mine["frame_bytes"]), now_ps, rate)
    if not fast:
        mine["base_bps"], mine["stage"] = rate, stage


@kernel
def _least_rate(state: State, device: int, qp: int, base: int, hops: int, fast: bool, now_ps: int) -> None:
    """Rule 7: each hop has a separate rate."""
    mine, config = state.hpcc[u(qp)], state.config[law(state, qp)]
    rtt, least, seen = i64(mine["rtt_ns"]), i64(state.qps[u(qp)]["line_bps"]), False
    sampled, multiple = fast and i64(config["sample_feedback"]) != 0, i64(config["int_multiple"])
    speeds = i64(state.telemetry[base + _SPEED_WORD])
    for hop in range(hops):
        record, own = i64(state.telemetry[base + 1 + hop]), state.hpcc_hops[u(qp * HOPS + hop)]
        if _is_skipped(sampled, record):
            least = min(least, i64(own["rate_bps"]))
            continue
        seen = True
        old = i64(own["record"])
        tau = _tau_ns(record, old)
        if tau > 0:
            load = _load(state, qp, record, old, speeds >> hop * _SPEED_BITS & _SPEED, multiple, tau)
            span = min(tau, rtt)
            own["load_ratio"] = (float(own["load_ratio"]) * (rtt - span) + load * span) / float(rtt)
        own["record"] = record
        c = float(own["load_ratio"]) / float(config["load_target"])
        stage, rate = i64(own["stage"]), i64(own["rate_bps"])
        if c >= 1 or stage >= config["increase_stages"]:
            rate, stage = divided(state, qp, rate, c) + i64(config["additive_bps"]), 0
        else:
            rate, stage = rate + i64(config["additive_bps"]), stage + 1
        rate = clipped(state, qp, rate)
        least = min(least, rate)
        if not fast:
            own["rate_bps"], own["stage"] = rate, stage
    if not seen:
        return
    pacing.move_departure(state, device, qp, i64(mine["frame_bytes"]), now_ps, least)
    if not fast:
        mine["base_bps"] = least


@hot
def acknowledged(state: State, device: int, qp: int, packet: np.uint32, newly_pkts: int, now_ps: int) -> None:
    """An ACK or NAK has been applied."""
    row, mine, config = state.qps[u(qp)], state.hpcc[u(qp)], state.config[law(state, qp)]
    fast = bool(i64(state.packets[packet]["seq"]) <= mine["mark_psn"])
    if fast and config["fast_react"] == 0:
        return
    base = telemetry.place(state, packet)
    word, before = i64(state.telemetry[base]), i64(row["rate_bps"])
    if mine["mark_psn"] == 0:
        mine["mark_psn"] = row["next_psn"]
        _note(state, qp, base, now_ps)
        return
    hops = word & _COUNT
    if not semantics.compares_any_records(state) and (word != mine["path"] or now_ps - mine["acked_ps"] > _STALE_PS):
        _note(state, qp, base, now_ps)
    elif hops <= HOPS:
        mine["acked_ps"] = now_ps
        if config["multi_rate"] != 0:
            _least_rate(state, device, qp, base, hops, fast, now_ps)
        else:
            _one_rate(state, device, qp, base, hops, fast, now_ps)
        if not fast and row["rate_bps"] < before:
            pacing.note_cut(state, device, qp, now_ps, before, i64(mine["load_ratio"] * 1e6))
    if not fast and row["next_psn"] > mine["mark_psn"]:
        mine["mark_psn"] = row["next_psn"]


@kernel
def change_line(state: State, qp: int, now_ps: int, line_bps: int) -> None:
    """The port of a queue pair has another speed: the rate follows it, and the next change starts from there."""
    pacing.change_line(state, qp, now_ps, line_bps)
    mine, rate = state.hpcc[u(qp)], i64(state.qps[u(qp)]["rate_bps"])
    mine["base_bps"] = rate
    for hop in range(HOPS):
        state.hpcc_hops[u(qp * HOPS + hop)]["rate_bps"] = rate
