"""`transport.timely`: the parameters of TIMELY (SIGCOMM 2015), with defaults and sources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pydantic import Field

from fabric.dataplane.state.control_params import TimelyParams
from fabric.errors import Problem
from fabric.scenario.schema.values import MIN_RATE_BPS, AutoRate
from fabric.topology.quantities import RateBps, TimePs, exact_rate, exact_time
from fabric.topology.spec import Strict
from fabric.units import format_rate_bps

AUTO: Final = "auto"
_PS_PER_NS: Final = 1000
_BPS_PER_GBPS: Final = 10**9
_US: Final = 10**6
_MIN_RATE_BPS: Final = 100 * 10**6
_ADDITIVE: Final = 10**6
"""run.py: RATE_AI in bit/s for each Gb/s of the NIC."""
_HYPER: Final = 5
"""run.py: RATE_HAI over RATE_AI."""


class Timely(Strict):
    """TIMELY, one sample per window of data."""

    gain: float = Field(0.875, gt=0, le=1, description="alpha: weight of the latest change of the round trip.")
    beta: float = Field(0.8, gt=0, lt=1, description="Share of a decrease.")
    low_rtt: TimePs = Field(50 * _US, ge=_PS_PER_NS, description="T_low: below it the rate rises.")
    high_rtt: TimePs = Field(500 * _US, ge=_PS_PER_NS, description="T_high: above it the rate falls.")
    min_rtt: TimePs = Field(20 * _US, ge=_PS_PER_NS, description="What the gradient is divided by.")
    additive: AutoRate = Field(AUTO, description="R_AI; auto: 1 Mb/s per Gb/s of the slowest NIC.")
    hyper: AutoRate = Field(AUTO, description="R_HAI, from the sixth increase in a row; auto: five times R_AI's auto.")
    min_rate: RateBps = Field(
        _MIN_RATE_BPS, ge=MIN_RATE_BPS, description="Floor of the rate.", examples=[exact_rate(_MIN_RATE_BPS)]
    )


SOURCES: Final = {
    "gain": "rdma-hw.cc of the public HPCC simulator: TimelyAlpha; SIGCOMM 2015, table 1 has no number",
    "beta": "SIGCOMM 2015, section 5: beta 0.8; rdma-hw.cc: TimelyBeta",
    "low_rtt": "SIGCOMM 2015, section 5: T_low 50 us; rdma-hw.cc: TimelyTLow",
    "high_rtt": "SIGCOMM 2015, section 5: T_high 500 us; rdma-hw.cc: TimelyTHigh",
    "min_rtt": "rdma-hw.cc: TimelyMinRtt",
    "additive": "run.py of the public HPCC simulator: 10 Mb/s per 10G; SIGCOMM 2015, section 5: 10 Mb/s at 10G",
    "hyper": "run.py: 50 Mb/s per 10G; SIGCOMM 2015, section 4.3: N = 5",
    "min_rate": "assumed: as DCTCP here; run.py: 1 Gb/s, the default under model hpcc-ns3",
}
"""By field."""


def timely_card() -> list[dict[str, Any]]:
    """Every parameter with its default and source."""
    return [
        {"name": name, "value": value, "meaning": Timely.model_fields[name].description, "source": SOURCES[name]}
        for name, value in Timely().model_dump(mode="json").items()
    ]


def timely_params(chosen: Timely | None, slowest_bps: int, floor_bps: int = _MIN_RATE_BPS) -> TimelyParams:
    """The written values; floor_bps: the floor where none is written."""
    spec = chosen or Timely()
    additive = slowest_bps * _ADDITIVE // _BPS_PER_GBPS
    return TimelyParams(
        gain_ratio=spec.gain,
        beta_ratio=spec.beta,
        low_rtt_ns=spec.low_rtt // _PS_PER_NS,
        high_rtt_ns=spec.high_rtt // _PS_PER_NS,
        min_rtt_ns=spec.min_rtt // _PS_PER_NS,
        additive_bps=spec.additive if isinstance(spec.additive, int) else additive,
        hyper_bps=spec.hyper if isinstance(spec.hyper, int) else _HYPER * additive,
        min_rate_bps=spec.min_rate if "min_rate" in spec.model_fields_set else floor_bps,
    )


def timely_problems(chosen: Timely | None, slowest_bps: int, path: str) -> Iterator[Problem]:
    """Problems of a floor without effect on the slowest NIC, and of round trips that contradict each other."""
    if chosen is None:
        return
    where = f"{path}transport.timely."
    if chosen.min_rate >= slowest_bps:
        yield Problem(
            f"{where}min_rate",
            f"{format_rate_bps(chosen.min_rate)} is not below the "
            f"{format_rate_bps(slowest_bps)} of the slowest NIC: no round trip would slow it",
            "give a lower rate, or transport.cc: none",
        )
    if chosen.low_rtt >= chosen.high_rtt:
        yield Problem(
            f"{where}low_rtt",
            f"{exact_time(chosen.low_rtt)} is not below high_rtt, {exact_time(chosen.high_rtt)}: "
            "no gradient would ever count",
            "give a lower low_rtt, or a higher high_rtt",
        )


def timely_values(params: TimelyParams) -> dict[str, Any]:
    """Parameters as a scenario would write all of them."""
    return {
        "gain": params.gain_ratio,
        "beta": params.beta_ratio,
        "low_rtt": exact_time(params.low_rtt_ns * _PS_PER_NS),
        "high_rtt": exact_time(params.high_rtt_ns * _PS_PER_NS),
        "min_rtt": exact_time(params.min_rtt_ns * _PS_PER_NS),
        "additive": exact_rate(params.additive_bps),
        "hyper": exact_rate(params.hyper_bps),
        "min_rate": exact_rate(params.min_rate_bps),
    }
