"""`transport.swift`: the parameters of Swift (SIGCOMM 2020), with defaults and sources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pydantic import Field

from fabric.dataplane.state.control_params import SwiftParams
from fabric.errors import Problem
from fabric.topology.quantities import TimePs
from fabric.topology.spec import Strict

_US: Final = 10**6
_PS_PER_NS: Final = 1000


class Swift(Strict):
    """Swift: a delay target with scaling by hops and flows, and a window."""

    base_target: TimePs = Field(25 * _US, ge=_PS_PER_NS, description="Target delay of a path without switches.")
    hop_target: TimePs = Field(_US, description="Added to the target for each switch of the path.")
    flow_range: TimePs = Field(50 * _US, description="Most that flow scaling adds, at flow_min_window.")
    flow_min_window: float = Field(0.1, gt=0, le=1000, description="Packets: window with the whole flow_range.")
    flow_max_window: float = Field(100, gt=0, le=100_000, description="Packets: window without flow scaling.")
    host_target: TimePs = Field(50 * _US, ge=_PS_PER_NS, description="Target of the wait in the receiver's NIC.")
    increment: float = Field(1.0, gt=0, le=100, description="ai: packets added in a round trip.")
    beta: float = Field(0.8, gt=0, le=1, description="Share of the excess delay by which a window is cut.")
    largest_cut: float = Field(0.5, gt=0, lt=1, description="max_mdf: largest share that one cut takes.")
    min_window: float = Field(0.01, ge=0.001, le=1, description="Least window, packets; below 1 departures are paced.")


_PAPER: Final = "Kumar et al., SIGCOMM 2020"
SOURCES: Final = {
    "base_target": f"assumed: three round trips of a pod; {_PAPER}, section 3.5, gives the rule",
    "hop_target": f"assumed: a microsecond a switch; {_PAPER}, section 3.5, gives the rule",
    "flow_range": f"assumed: twice base_target; {_PAPER}, section 3.5, gives the rule",
    "flow_min_window": "assumed: as public simulations of Swift",
    "flow_max_window": "assumed: as public simulations of Swift",
    "host_target": f"assumed: twice base_target; {_PAPER}, section 3.2, gives the rule",
    "increment": "assumed: as public simulations of Swift, and RFC 5681's packet in a round trip",
    "beta": "assumed: as public simulations of Swift, and TIMELY's beta (SIGCOMM 2015)",
    "largest_cut": "assumed: half, as public simulations of Swift and RFC 5681",
    "min_window": "assumed: 100 round trips between two packets",
}
"""By field."""


def swift_card() -> list[dict[str, Any]]:
    """Every parameter with its default and source."""
    return [
        {"name": name, "value": value, "meaning": Swift.model_fields[name].description, "source": SOURCES[name]}
        for name, value in Swift().model_dump(mode="json").items()
    ]


def swift_params(chosen: Swift | None) -> SwiftParams:
    """The written values. The round trip is 0 here: it follows from the fabric (compile/window.py)."""
    spec = chosen or Swift()
    return SwiftParams(
        base_target_ps=spec.base_target,
        hop_target_ps=spec.hop_target,
        flow_range_ps=spec.flow_range,
        flow_min_pkts=spec.flow_min_window,
        flow_max_pkts=spec.flow_max_window,
        host_target_ps=spec.host_target,
        increment_pkts=spec.increment,
        beta_ratio=spec.beta,
        largest_cut_ratio=spec.largest_cut,
        least_window_pkts=spec.min_window,
        base_rtt_ns=0,
    )


def swift_problems(chosen: Swift | None, path: str, *, no_window: bool) -> Iterator[Problem]:
    """Problems of a window that cannot be Swift's, and of a scaling upside down."""
    if no_window:
        yield Problem(f"{path}transport.window", "off: Swift is a window", "remove it, or give a size")
    spec = chosen or Swift()
    if spec.flow_min_window >= spec.flow_max_window:
        yield Problem(
            f"{path}transport.swift.flow_min_window",
            f"{spec.flow_min_window:g} is not below flow_max_window, {spec.flow_max_window:g}",
            "give a smaller flow_min_window, or a larger flow_max_window",
        )
