"""Tables of HPCC-PINT: logarithms and powers of small numbers (transport/pint, rules 1 to 3 and 5)."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.state import types as t
from fabric.dataplane.state.control_tables import CODES, LOGARITHMS

STEPS: Final = 32768.0
"""Of a logarithm, per doubling."""
CODE_UNIT: Final = 512
"""A code is the logarithm of this many times the load."""
LOAD_UNIT: Final = 8192
"""A port's load is kept in this many to 1."""
QUEUE_UNIT: Final = 256
"""Bytes waiting are counted in this many."""
LOG_NS_PER_S: Final = math.log2(1e9) * STEPS
ONE: Final = 65536
"""Probability 1 of a random number's low bits."""


def fill_pint(state: t.State) -> None:
    """Compute what the tables hold, by the C library's functions, which the kernels call for numbers beyond them."""
    config = state.config[0]
    base, scale = float(config["code_base"]), float(config["code_scale"])
    config["log_span"] = math.log2(float(config["span_ns"])) * STEPS
    fine, middle, whole = np.arange(128) / STEPS, np.arange(256) / 256, np.arange(64)
    state.powers[:] = 2.0 ** np.concatenate([fine, middle, whole])
    state.logs[1:] = [int(math.log2(float(number)) * STEPS) for number in range(1, LOGARITHMS)]
    exponents = np.array([0.0, *(math.log(float(number)) * scale for number in range(1, CODES))])
    codes = state.pint_codes
    codes["low"], codes["high"] = np.floor(exponents), np.ceil(exponents)
    codes["power"] = [_power(base, code) for code in range(CODES)]
    lower = np.array([_power(base, int(code)) for code in codes["low"]])
    upper = np.array([_power(base, int(code)) for code in codes["high"]])
    upper[codes["low"] == codes["high"]] *= base
    codes["share"] = (np.arange(CODES) - lower) / (upper - lower) * ONE


def _power(base: float, code: int) -> float:
    """base ** code; infinite where no code of so large a number is ever drawn."""
    try:
        return math.pow(base, float(code))
    except OverflowError:
        return math.inf


def log_rate(rate_bps: int) -> float:
    """Logarithm of a speed in bytes a second, as State.logs."""
    return math.log2(float(rate_bps // 8)) * STEPS


def loads(state: t.State) -> NDArray[np.float64]:
    """(n_ports,) loads of ports, 1: full, to the last bit of the simulator's sums (transport/pint, rule 1)."""
    log_span = float(state.config[0]["log_span"])
    found = np.zeros(len(state.load_terms))
    for port, kept in enumerate(state.load_terms):
        queue, old = int(kept["queue_log"]) - 1, int(kept["old_log"]) - 1
        if queue >= 0:
            exponent = (queue + LOG_NS_PER_S - log_rate(int(kept["rate_bps"])) - 2 * log_span) / STEPS
            found[port] = math.pow(2.0, exponent) * QUEUE_UNIT
        found[port] += float(kept["frame_load_ratio"])
        if old >= 0:
            found[port] += math.pow(2.0, (old - log_span) / STEPS) / LOAD_UNIT
    return found
