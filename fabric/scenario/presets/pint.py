"""`transport.pint`: the parameters of HPCC-PINT (SIGCOMM 2020), with defaults and sources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pydantic import Field

from fabric.dataplane.state.control_params import PintParams
from fabric.errors import Problem
from fabric.scenario.presets.hpcc import increment_bps
from fabric.scenario.schema.values import MIN_RATE_BPS, AutoRate
from fabric.topology.quantities import RateBps, exact_rate
from fabric.topology.spec import Strict
from fabric.units import format_rate_bps

AUTO: Final = "auto"
_MIN_RATE_BPS: Final = 100 * 10**6


class Pint(Strict):
    """HPCC-PINT, with a rate and a window in proportion to it."""

    target: float = Field(0.95, gt=0, le=1, description="eta: load that the fullest hop is held at.")
    additive: AutoRate = Field(
        AUTO, description="R_AI, with each change; auto: 10 Mb/s per 25 Gb/s of the slowest NIC."
    )
    min_rate: RateBps = Field(
        _MIN_RATE_BPS, ge=MIN_RATE_BPS, description="Floor of the rate.", examples=[exact_rate(_MIN_RATE_BPS)]
    )
    increase_stages: int = Field(
        0, ge=0, le=1000, description="maxStage: additive increases in a row before the next multiplicative one."
    )
    log_base: float = Field(
        1.01, ge=1.001, le=2, description="Base of the code's logarithm: one step of a code is this factor of load."
    )
    probability: float = Field(
        1.0, ge=2**-16, le=1, description="Share of ACKs that the sender uses, drawn one by one."
    )


SOURCES: Final = {
    "target": "run.py of the public HPCC simulator: --utgt 95; SIGCOMM 2019, section 5.1",
    "additive": "run.py: --hpai, 10 Mb/s per 25G of NIC rate",
    "min_rate": "assumed: as DCTCP here; run.py: 1 Gb/s, the default under model hpcc-ns3",
    "increase_stages": "run.py: --mi 0; SIGCOMM 2019, section 5.1: maxStage 5",
    "log_base": "run.py: --pint_log_base 1.01",
    "probability": "run.py: --pint_prob 1.0",
}
"""By field."""


def pint_card() -> list[dict[str, Any]]:
    """Every parameter with its default and source."""
    return [
        {"name": name, "value": value, "meaning": Pint.model_fields[name].description, "source": SOURCES[name]}
        for name, value in Pint().model_dump(mode="json").items()
    ]


def pint_params(chosen: Pint | None, slowest_bps: int, floor_bps: int = _MIN_RATE_BPS) -> PintParams:
    """The written values; floor_bps: the floor where none is written. The round trip is 0 here: it follows from the
    fabric (compile/window.py).
    """
    spec = chosen or Pint()
    return PintParams(
        target_ratio=spec.target,
        additive_bps=spec.additive if isinstance(spec.additive, int) else increment_bps(slowest_bps),
        min_rate_bps=spec.min_rate if "min_rate" in spec.model_fields_set else floor_bps,
        increase_stages=spec.increase_stages,
        log_base_ratio=spec.log_base,
        probability_ratio=spec.probability,
        base_rtt_ns=0,
    )


def pint_problems(chosen: Pint | None, slowest_bps: int, path: str, *, no_window: bool) -> Iterator[Problem]:
    """Problems of a floor without effect on the slowest NIC, and of a law without the window that goes with it."""
    if chosen is not None and chosen.min_rate >= slowest_bps:
        yield Problem(
            f"{path}transport.pint.min_rate",
            f"{format_rate_bps(chosen.min_rate)} is not below the "
            f"{format_rate_bps(slowest_bps)} of the slowest NIC: no load would slow it",
            "give a lower rate, or transport.cc: none",
        )
    if no_window:
        yield Problem(f"{path}transport.window", "off: HPCC-PINT is a window", "remove it, or give a size")


def pint_values(params: PintParams) -> dict[str, Any]:
    """Parameters as a scenario would write all of them."""
    return {
        "target": params.target_ratio,
        "additive": exact_rate(params.additive_bps),
        "min_rate": exact_rate(params.min_rate_bps),
        "increase_stages": params.increase_stages,
        "log_base": params.log_base_ratio,
        "probability": params.probability_ratio,
    }
