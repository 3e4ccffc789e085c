"""`transport.cubic`: the parameters of CUBIC (RFC 9438), with defaults and sources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pydantic import Field

from fabric.dataplane.state.control_params import CubicParams
from fabric.errors import Problem
from fabric.topology.spec import Strict

WINDOW_BYTES: Final = 4 * 2**20
"""`window: auto`. Source: Linux, Documentation/networking/ip-sysctl.rst: the largest send buffer of tcp_wmem, 4 MB."""


class Cubic(Strict):
    """CUBIC (RFC 9438): a window that losses and marks cut; ordinary TCP traffic."""

    beta: float = Field(0.7, gt=0, lt=1, description="beta: what a cut leaves of the window.")
    scale: float = Field(0.4, gt=0, le=10**12, description="C: packets per cubic second.")
    first_window: int = Field(10, ge=1, le=1000, description="Packets that a new queue pair may send.")
    fast_convergence: bool = Field(True, description="Remember a smaller peak where windows shrink.")


SOURCES: Final = {
    "beta": "RFC 9438 section 4.6: 0.7",
    "scale": "RFC 9438 section 5: 0.4",
    "first_window": "RFC 6928 section 2: 10 segments",
    "fast_convergence": "RFC 9438 section 4.7; Linux tcp_cubic.c: fast_convergence 1",
}
"""By field."""


def cubic_card() -> list[dict[str, Any]]:
    """Every parameter with its default and source."""
    return [
        {"name": name, "value": value, "meaning": Cubic.model_fields[name].description, "source": SOURCES[name]}
        for name, value in Cubic().model_dump(mode="json").items()
    ]


def cubic_params(chosen: Cubic | None) -> CubicParams:
    """The written values."""
    spec = chosen or Cubic()
    return CubicParams(
        beta_ratio=spec.beta,
        scale=spec.scale,
        first_window_pkts=spec.first_window,
        fast_convergence=spec.fast_convergence,
    )


def cubic_problems(path: str, *, no_window: bool) -> Iterator[Problem]:
    """Problems of a window that cannot be CUBIC's."""
    if no_window:
        yield Problem(f"{path}transport.window", "off: CUBIC is a window", "remove it, or give a size")
