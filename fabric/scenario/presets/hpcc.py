"""`transport.hpcc`: the parameters of HPCC (SIGCOMM 2019), with defaults and sources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pydantic import Field

from fabric.dataplane.state.control_params import HpccParams
from fabric.errors import Problem
from fabric.scenario.schema.values import MIN_RATE_BPS, AutoRate
from fabric.topology.quantities import RateBps, exact_rate
from fabric.topology.spec import Strict
from fabric.units import format_rate_bps

AUTO: Final = "auto"
_BPS_PER_GBPS: Final = 10**9
_MIN_RATE_BPS: Final = 100 * 10**6
_ADDITIVE_GBPS: Final = 25
_ADDITIVE_BPS: Final = 10**7
"""run.py: RATE_AI is 10 Mb/s per 25 Gb/s of the NIC."""


class Hpcc(Strict):
    """HPCC, with a rate and a window in proportion to it."""

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
    fast_react: bool = Field(True, description="Change the rate with every ACK; false: once per window of data.")
    multi_rate: bool = Field(False, description="Every hop has its own load and rate; the least rate counts.")
    sample_feedback: bool = Field(
        False, description="Between two ends of a window of data, only hops with a queue count."
    )


SOURCES: Final = {
    "target": "SIGCOMM 2019, section 5.1: eta 95 %; run.py of the public HPCC simulator: --utgt 95",
    "additive": "run.py: --hpai, 10 Mb/s per 25G of NIC rate",
    "min_rate": "assumed: as DCTCP here; run.py: 1 Gb/s, the default under model hpcc-ns3",
    "increase_stages": "run.py: --mi 0; SIGCOMM 2019, section 5.1: maxStage 5",
    "fast_react": "run.py: FAST_REACT 1; SIGCOMM 2019, section 3.2",
    "multi_rate": "run.py: MULTI_RATE 0; third.cc: 1 where a configuration has no line",
    "sample_feedback": "run.py: SAMPLE_FEEDBACK 0",
}
"""By field."""


def hpcc_card() -> list[dict[str, Any]]:
    """Every parameter with its default and source."""
    return [
        {"name": name, "value": value, "meaning": Hpcc.model_fields[name].description, "source": SOURCES[name]}
        for name, value in Hpcc().model_dump(mode="json").items()
    ]


def increment_bps(slowest_bps: int) -> int:
    """R_AI of `additive: auto`."""
    return max(slowest_bps // _BPS_PER_GBPS * _ADDITIVE_BPS // _ADDITIVE_GBPS, 1)


def hpcc_params(chosen: Hpcc | None, slowest_bps: int, floor_bps: int = _MIN_RATE_BPS) -> HpccParams:
    """The written values; floor_bps: the floor where none is written. Round trip and window are 0 here: they follow
    from the fabric (compile/window.py).
    """
    spec = chosen or Hpcc()
    return HpccParams(
        target_ratio=spec.target,
        additive_bps=spec.additive if isinstance(spec.additive, int) else increment_bps(slowest_bps),
        min_rate_bps=spec.min_rate if "min_rate" in spec.model_fields_set else floor_bps,
        increase_stages=spec.increase_stages,
        fast_react=spec.fast_react,
        multi_rate=spec.multi_rate,
        sample_feedback=spec.sample_feedback,
        multiple=max(slowest_bps // (_ADDITIVE_GBPS * _BPS_PER_GBPS), 1),
        base_rtt_ns=0,
        window_bytes=0,
    )


def hpcc_problems(chosen: Hpcc | None, slowest_bps: int, path: str, *, no_window: bool) -> Iterator[Problem]:
    """Problems of a floor without effect on the slowest NIC, and of a law without the window that it divides by."""
    if chosen is not None and chosen.min_rate >= slowest_bps:
        yield Problem(
            f"{path}transport.hpcc.min_rate",
            f"{format_rate_bps(chosen.min_rate)} is not below the "
            f"{format_rate_bps(slowest_bps)} of the slowest NIC: no load would slow it",
            "give a lower rate, or transport.cc: none",
        )
    if no_window:
        yield Problem(f"{path}transport.window", "off: HPCC weighs queues by the window", "remove it, or give a size")


def hpcc_values(params: HpccParams) -> dict[str, Any]:
    """Parameters as a scenario would write all of them."""
    return {
        "target": params.target_ratio,
        "additive": exact_rate(params.additive_bps),
        "min_rate": exact_rate(params.min_rate_bps),
        "increase_stages": params.increase_stages,
        "fast_react": params.fast_react,
        "multi_rate": params.multi_rate,
        "sample_feedback": params.sample_feedback,
    }
