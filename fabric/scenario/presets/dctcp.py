"""`transport.dctcp`: the parameters of DCTCP (RFC 8257), with defaults and sources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pydantic import Field

from fabric.dataplane.state.params import DctcpParams
from fabric.errors import Problem
from fabric.scenario.schema.values import MIN_RATE_BPS, AutoRate
from fabric.topology.quantities import RateBps, exact_rate
from fabric.topology.spec import Strict
from fabric.units import PS_PER_S, format_rate_bps

AUTO: Final = "auto"
_GAIN: Final = 1 / 16
_MIN_RATE_BPS: Final = 100 * 10**6


class Dctcp(Strict):
    """DCTCP (RFC 8257), with a rate and a window in proportion to it."""

    gain: float = Field(_GAIN, gt=0, lt=1, description="g: weight of one round trip's marked share in alpha.")
    initial_alpha: float = Field(1.0, ge=0, le=1, description="alpha before the first round trip.")
    additive: AutoRate = Field(
        AUTO,
        description="Added to the rate once per round trip without a cut; auto: one packet per base round-trip time.",
    )
    min_rate: RateBps = Field(
        _MIN_RATE_BPS, ge=MIN_RATE_BPS, description="Floor of the rate.", examples=[exact_rate(_MIN_RATE_BPS)]
    )
    loss_cut: float = Field(
        0.0, ge=0, lt=1, description="Share of the rate that a lost packet takes, at most once per round trip."
    )


SOURCES: Final = {
    "gain": "RFC 8257 section 4.2: g = 1/16",
    "initial_alpha": "RFC 8257 section 3.3: alpha is initialised to 1",
    "additive": "RFC 5681 section 3.1: one segment per round trip; run.py of the public HPCC simulator: 615 Mb/s",
    "min_rate": "assumed: as the DCQCN sets ns3-rdma and simai; run.py of the public HPCC simulator: 1 Gb/s",
    "loss_cut": "0: NICs leave losses to the recovery; of TCP 0.5, RFC 8257 section 3.5 and RFC 5681 section 3.1",
}
"""By field."""


def dctcp_card() -> list[dict[str, Any]]:
    """Every parameter with its default and source."""
    return [
        {"name": name, "value": value, "meaning": Dctcp.model_fields[name].description, "source": SOURCES[name]}
        for name, value in Dctcp().model_dump(mode="json").items()
    ]


def dctcp_params(chosen: Dctcp | None) -> DctcpParams:
    """`additive: auto` is 0 here: it follows from the fabric (window.py)."""
    spec = chosen or Dctcp()
    return DctcpParams(
        gain_ratio=spec.gain,
        initial_alpha_ratio=spec.initial_alpha,
        additive_bps=spec.additive if isinstance(spec.additive, int) else 0,
        min_rate_bps=spec.min_rate,
        loss_cut_ratio=spec.loss_cut,
    )


def increment_bps(payload_bytes: int, rtt_ps: int) -> int:
    """`additive: auto`: the increment that raises a window of rate x base round-trip time by one packet."""
    return -(-payload_bytes * 8 * PS_PER_S // rtt_ps)


def dctcp_problems(chosen: Dctcp | None, slowest_bps: int, path: str) -> Iterator[Problem]:
    """Problems of a floor that has no effect on the slowest NIC."""
    if chosen is not None and chosen.min_rate >= slowest_bps:
        yield Problem(
            f"{path}transport.dctcp.min_rate",
            f"{format_rate_bps(chosen.min_rate)} is not below the "
            f"{format_rate_bps(slowest_bps)} of the slowest NIC: no mark would slow it",
            "give a lower rate, or transport.cc: none",
        )
