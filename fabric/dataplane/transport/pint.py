"""HPCC-PINT: HPCC's law with one number of 16 bits in each packet (Ben Basat et al., SIGCOMM 2020, section 4.3;
switch-node.cc, pint.cc and rdma-hw.cc of the public ns-3 RDMA simulator, CC_MODE 10, whose rules these are).

On the wire: 2 bytes in every data frame and in its answer. A switch raises the number to its own; it never lowers it.

Rules
1. A port keeps a load u, renewed when a data frame begins to leave. dt: time since the last frame of any kind began to
   leave, at most T. u = queue dt / (B T T) + last frame / (B T) + u (T - dt) / T, B the port's speed, queue the bytes
   waiting in units of 256. Each term is 2 to a sum of logarithms, as a switch without multiplications has it.
2. A logarithm is of a number of at most 16 significant bits: one bit is added to them by chance, in proportion to what
   is cut off. It is a whole number of 1/32768.
3. The code of u is the logarithm of 512 u to the base of the parameters, up or down by chance, so that its power is
   512 u in the mean. The base decides whether codes have one or two bytes.
4. T is the largest base round trip of two hosts.
5. Sender: an answer counts with the probability of the parameters. U = base ** code / 512, c = U / target, then as
   HPCC's rules 4 and 5 (hpcc.py), always with fast reaction. The average is the switch's. The first answer that counts
   only begins the reference window.
6. Random numbers: under model hpcc-ns3 in insertion order the C library's rand(), one generator for all devices, in
   the order of events, as in the simulator; else one stream for each device.

Deviations under model asic: wire overhead (preamble, gap) counts as sent; a rise counts from the next departure.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from fabric.dataplane.state import departures, fill_pint, rng, semantics, telemetry
from fabric.dataplane.state.codes import PacketKind
from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.control_tables import CODES, LOGARITHMS
from fabric.dataplane.state.types import State
from fabric.dataplane.transport import hpcc, pacing

_DATA = int(PacketKind.DATA)
_PS_PER_NS = 1000
_STEPS, _CODE_UNIT, _ONE = fill_pint.STEPS, fill_pint.CODE_UNIT, fill_pint.ONE
_LOG_NS_PER_S, _LOAD_UNIT, _QUEUE_UNIT = fill_pint.LOG_NS_PER_S, fill_pint.LOAD_UNIT, fill_pint.QUEUE_UNIT
_BITS: Final = 16
_NO_LOG: Final = -2147483648
"""Of a number that is not above 0."""
_QUEUE_SHIFT: Final = 8
_UNITS_PER_CODE: Final = _LOAD_UNIT // _CODE_UNIT
_MOST_UNITS: Final = 1 << 20
_NEAR: Final = 2e-5
"""Of a whole or half unit: far above the error of _units() below _MOST_UNITS, and as rare."""
u = np.uint32


@kernel
def _word31(state: State, device: int) -> int:
    """A random number of 31 bits (rule 6)."""
    if semantics.shares_random_numbers(state):
        return rng.shared_word31(state)
    row = state.draws[u(device)]
    count = i64(row["count"])
    row["count"] = count + 1
    return rng.word32(i64(row["key"]), count) >> 1


@hot
def _pass_word(state: State, device: int) -> None:
    """Use up a random number that decides nothing."""
    if semantics.shares_random_numbers(state):
        rng.shared_word31(state)
    else:
        state.draws[u(device)]["count"] += 1


# ===== switch =====


@hot
def _log2(state: State, device: int, number: int) -> int:
    """Logarithm to the base 2 in steps (rule 2)."""
    if 0 < number < LOGARITHMS:
        return i64(state.logs[number])
    return computed_log2(state, device, number)


@kernel
def computed_log2(state: State, device: int, number: int) -> int:
    """As _log2, of any number."""
    if number <= 0:
        return _NO_LOG
    bits = i64(math.log2(float(number))) + 1
    if bits > _BITS:
        unit = 1 << bits - _BITS
        low = number & unit - 1
        number -= low
        if low > _word31(state, device) & unit - 1:
            number += unit
    return i64(math.log2(float(number)) * _STEPS)


@hot
def _power(state: State, logarithm: int) -> float:
    """2 to a number of steps from 0 on, to some 1e-15 of it."""
    fine = float(state.powers[logarithm & 127])
    middle = float(state.powers[128 + (logarithm >> 7 & 255)])
    return fine * middle * float(state.powers[384 + (logarithm >> 15)])


@kernel
def _renew(state: State, port: int, rate_bps: int) -> None:
    """Begin the terms of a port again, because its speed has changed."""
    kept, span_ns = state.load_terms[u(port)], float(state.config[0]["span_ns"])
    kept["rate_bps"], kept["bytes"], kept["other_bytes"] = rate_bps, 0, 0
    kept["queue_unit"] = _QUEUE_UNIT * _LOAD_UNIT * 1e9 / (rate_bps // 8) / span_ns / span_ns


@hot
def _log_rate(rate_bps: int) -> float:
    """Logarithm of a speed in bytes a second."""
    return math.log2(float(rate_bps // 8)) * _STEPS


@hot
def _load_of_frame(state: State, device: int, port: int, size_bytes: int) -> float:
    """The term of a frame, which was the last to leave (rule 1); most have one of two sizes."""
    kept, config = state.load_terms[u(port)], state.config[0]
    if kept["bytes"] == size_bytes:
        return float(kept["load_ratio"])
    if kept["other_bytes"] == size_bytes:
        return float(kept["other_load_ratio"])
    log_bytes = _log2(state, device, size_bytes)
    load = math.pow(
        float(config["radix"]),
        (log_bytes + _LOG_NS_PER_S - _log_rate(i64(kept["rate_bps"])) - float(config["log_span"])) / _STEPS,
    )
    kept["other_bytes"], kept["other_load_ratio"] = kept["bytes"], kept["load_ratio"]
    kept["bytes"], kept["load_ratio"] = size_bytes, load
    return load


@kernel
def computed_load(state: State, port: int) -> float:
    """The load of a port, from its terms, to the last bit (fill_pint.loads)."""
    kept, config = state.load_terms[u(port)], state.config[0]
    radix, log_span = float(config["radix"]), float(config["log_span"])
    queue, old, load = i64(kept["queue_log"]) - 1, i64(kept["old_log"]) - 1, 0.0
    if queue >= 0:
        exponent = (queue + _LOG_NS_PER_S - _log_rate(i64(kept["rate_bps"])) - 2 * log_span) / _STEPS
        load = math.pow(radix, exponent) * _QUEUE_UNIT
    load += float(kept["frame_load_ratio"])
    if old >= 0:
        load += math.pow(radix, (old - log_span) / _STEPS) / _LOAD_UNIT
    return load


@hot
def _units(state: State, device: int, port: int, now_ps: int) -> float:
    """The new load of a port (rule 1), in units of 1/8192, to some 1e-14 of it; keeps its terms."""
    last, config, kept = state.departures[u(port)], state.config[0], state.load_terms[u(port)]
    span, rate_bps = i64(config["span_ns"]), i64(state.ports[u(port)]["rate_bps"])
    dt = min((now_ps - i64(last["start_ps"])) // _PS_PER_NS, span)
    if kept["rate_bps"] != rate_bps:
        _renew(state, port, rate_bps)
    # Above 0, also where it is rounded to 0 units.
    has_load = kept["queue_log"] != 0 or kept["old_log"] != 0 or kept["frame_load_ratio"] > 0
    found, queue, waiting = 0.0, 0, hpcc.waiting_bytes(state, port) >> _QUEUE_SHIFT
    if waiting > 0:
        log_dt = _log2(state, device, dt)
        queue = max(log_dt + _log2(state, device, waiting) + 1, 0)
        if queue > 0:
            found = _power(state, queue - 1) * float(kept["queue_unit"])
    kept["queue_log"] = queue
    frame = 0.0
    if last["bytes"] > 0:
        frame = _load_of_frame(state, device, port, i64(last["bytes"]))
    kept["frame_load_ratio"] = frame
    found += frame * _LOAD_UNIT
    old = 0
    if span > dt and has_load:
        log_left, old = _log2(state, device, span - dt), i64(kept["load_log"])
        if old == 0:
            old = _log2(state, device, i64(state.loads[u(port)])) + 1
        old = max(log_left + old, 0)
        if old > 0:
            found += _power(state, old - 1) / span
    kept["old_log"] = old
    return found


@hot
def _code(state: State, device: int, number: int, least: int) -> int:
    """Code of a load of number / 512 (rule 3); only known to be at most `least` where it is."""
    if number >= CODES:
        return computed_code(state, device, number)
    row = state.pint_codes[number]
    if row["high"] <= least:
        _pass_word(state, device)
        return i64(row["low"])
    # No branch on chance, which no processor predicts.
    low, is_high = i64(row["low"]), i64(_word31(state, device) % _ONE < row["share"])
    return low + is_high * (i64(row["high"]) - low)


@kernel
def computed_code(state: State, device: int, number: int) -> int:
    """As _code, of any load of number / 512."""
    config = state.config[0]
    base = float(config["code_base"])
    exponent = math.log(float(number)) * float(config["code_scale"])
    high, low = math.ceil(exponent), math.floor(exponent)
    upper, lower = math.pow(base, float(high)), math.pow(base, float(low))
    if high == low:
        upper *= base
    return i64(high) if _word31(state, device) % _ONE < (number - lower) / (upper - lower) * _ONE else i64(low)


@kernel
def _write(state: State, device: int, port: int, packet: np.uint32, now_ps: int) -> None:
    units = _units(state, device, port, now_ps)
    if units > _MOST_UNITS or abs(2 * units - math.floor(2 * units + 0.5)) < _NEAR:
        units = computed_load(state, port) * _LOAD_UNIT
    # The rounded numbers are those of the exact sum here, although the last bits of the sum are not.
    rounded = i64(math.floor(units + 0.5))
    state.loads[u(port)] = rounded
    state.load_terms[u(port)]["load_log"] = state.logs[rounded] + 1 if 0 < rounded < LOGARITHMS else 0
    word = telemetry.place(state, packet)
    before = i64(state.telemetry[word])
    code = _code(state, device, max(i64(math.ceil(units / _UNITS_PER_CODE)), 1), before)
    state.telemetry[word] = code & i64(state.config[0]["code_mask"]) if code > before else before


@hot
def forwarded(state: State, device: int, port: int, packet: np.uint32, now_ps: int) -> None:
    """A frame begins to leave a switch, and has been counted."""
    frame = state.packets[packet]
    if i64(frame["kind"]) == _DATA:
        _write(state, device, port, packet, now_ps)
    departures.note(state, port, i64(frame["size"]), now_ps)


# ===== sender =====


@kernel
def start(state: State, qp: int) -> None:
    """A new queue pair sends at line rate."""
    pacing.start(state, qp)
    state.hpcc[u(qp)]["base_bps"] = state.qps[u(qp)]["line_bps"]


@hot
def stamp(state: State, qp: int, packet: np.uint32, now_ps: int) -> None:
    """A data packet departs, without a code."""
    state.telemetry[telemetry.place(state, packet)] = 0


@kernel
def power(state: State, code: int) -> float:
    """What a code stands for, in 512ths of a full link (rule 5)."""
    return math.pow(float(state.config[0]["code_base"]), float(code))


@kernel
def _adjust(state: State, device: int, qp: int, packet: np.uint32, fast: bool, now_ps: int) -> None:
    """A new rate (rule 5)."""
    row, mine, config = state.qps[u(qp)], state.hpcc[u(qp)], state.config[0]
    code, before = i64(state.telemetry[telemetry.place(state, packet)]), i64(row["rate_bps"])
    load = (float(state.pint_codes[code]["power"]) if code < CODES else power(state, code)) / _CODE_UNIT
    c = load / float(config["load_target"])
    stage, rate = i64(mine["stage"]), i64(mine["base_bps"])
    if c >= 1 or stage >= config["increase_stages"]:
        rate, stage = hpcc.divided(state, qp, rate, c) + i64(config["additive_bps"]), 0
    else:
        rate, stage = rate + i64(config["additive_bps"]), stage + 1
    rate = hpcc.clipped(state, qp, rate)
    pacing.move_departure(state, device, qp, i64(mine["frame_bytes"]), now_ps, rate)
    mine["load_ratio"] = load
    if not fast:
        mine["base_bps"], mine["stage"] = rate, stage
        if rate < before:
            pacing.note_cut(state, device, qp, now_ps, before, i64(load * 1e6))


@hot
def acknowledged(state: State, device: int, qp: int, packet: np.uint32, newly_pkts: int, now_ps: int) -> None:
    """An ACK or NAK has been applied."""
    row, mine = state.qps[u(qp)], state.hpcc[u(qp)]
    if state.config[0]["accepted"] >= _ONE:
        _pass_word(state, device)
    elif _word31(state, device) % _ONE >= state.config[0]["accepted"]:
        return
    fast = bool(i64(state.packets[packet]["seq"]) <= mine["mark_psn"])
    if mine["mark_psn"] == 0:
        mine["mark_psn"] = row["next_psn"]
        return
    _adjust(state, device, qp, packet, fast, now_ps)
    if not fast and row["next_psn"] > mine["mark_psn"]:
        mine["mark_psn"] = row["next_psn"]


@kernel
def change_line(state: State, qp: int, now_ps: int, line_bps: int) -> None:
    """The port of a queue pair has another speed: the rate follows it, and the next change starts from there."""
    pacing.change_line(state, qp, now_ps, line_bps)
    state.hpcc[u(qp)]["base_bps"] = state.qps[u(qp)]["rate_bps"]
