"""Tables of HPCC-PINT: logarithms and powers of small numbers (transport/pint, rules 1 to 3 and 5)."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from fabric.dataplane.state import types as t
from fabric.dataplane.state.control_tables import CODES, LOGARITHMS

STEPS: Final = 32768.0
"""Of a logarithm, per doubling."""
CODE_UNIT: Final = 512
"""A code is the logarithm of this many times the load."""
ONE: Final = 65536
"""Probability 1 of a random number's low bits."""


def fill_pint(state: t.State) -> None:
    """Compute what the tables hold, by the C library's functions, which the kernels call for numbers beyond them."""
    config = state.config[0]
    base, scale = float(config["code_base"]), float(config["code_scale"])
    config["log_span"] = math.log2(float(config["span_ns"])) * STEPS
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
