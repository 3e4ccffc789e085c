"""The congestion controls that a scenario may name, each with the model of its parameters.

The engine's side of each is in fabric/dataplane/transport/registry.py. docs/congestion-control.md has the steps to add
one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from fabric.dataplane.state.codes import CongestionControl
from fabric.dataplane.transport import registry
from fabric.errors import Problem
from fabric.scenario.presets.cubic import Cubic, cubic_params, cubic_problems
from fabric.scenario.presets.dcqcn import DCQCN_PRESETS, DEFAULT_DCQCN, dcqcn_params, dcqcn_problems, preset_name
from fabric.scenario.presets.dctcp import Dctcp, dctcp_params, dctcp_problems
from fabric.scenario.presets.hpcc import Hpcc, hpcc_params, hpcc_problems
from fabric.scenario.presets.pint import Pint, pint_params, pint_problems
from fabric.scenario.presets.swift import Swift, swift_params, swift_problems
from fabric.scenario.presets.timely import Timely, timely_params, timely_problems
from fabric.scenario.schema.endpoints import TransportSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlModel:
    """A value of `transport.cc` under model asic."""

    name: str
    code: CongestionControl
    section: str = ""
    """Field of `transport:` with its parameters, and of TransportParams; '': it has no parameters."""
    default: object = None
    """The default of the section."""
    lower: Callable[[TransportSpec, int], Any] | None = None
    """(the section's TransportSpec, rate of the slowest NIC) -> parameters of the engine."""
    problems: Callable[[TransportSpec, int, str], Iterable[Problem]] | None = None
    """Problems of values that have no effect on the slowest NIC, or contradict each other."""
    has_window: Callable[[TransportSpec], bool] = lambda _: False
    """Whether `window: auto` means one bandwidth-delay product."""
    varies_window: bool = False
    """Whether a window varies with the rate where `variable_window` is absent."""

    is_window: bool = False
    """The law is a window that varies: another one is an error."""

    @property
    def cnps(self) -> bool:
        """Whether receivers send CNPs."""
        return registry.control_of(self.code).cnps

    @property
    def reads_marks(self) -> bool:
        """Whether its senders slow down for ECN marks."""
        return registry.control_of(self.code).reads_marks

    @property
    def title(self) -> str:
        """Name in messages."""
        return registry.control_of(self.code).title

    @property
    def telemetry_bytes(self) -> int:
        """What every data frame and its answer carry more."""
        return registry.control_of(self.code).telemetry_bytes

    def params(self, spec: TransportSpec, slowest_bps: int) -> dict[str, Any]:
        """The section of TransportParams."""
        return {"dcqcn": None} | ({} if self.lower is None else {self.section: self.lower(spec, slowest_bps)})


CONTROLS: Final[Mapping[str, ControlModel]] = {
    model.name: model
    for model in (
        ControlModel(name="none", code=CongestionControl.NONE),
        ControlModel(
            name="dcqcn",
            code=CongestionControl.DCQCN,
            section="dcqcn",
            default=DEFAULT_DCQCN,
            lower=dcqcn_params,
            problems=dcqcn_problems,
            has_window=lambda spec: DCQCN_PRESETS[preset_name(spec)].variable_window,
        ),
        ControlModel(
            name="dctcp",
            code=CongestionControl.DCTCP,
            section="dctcp",
            default=Dctcp(),
            lower=lambda spec, _: dctcp_params(spec.dctcp),
            problems=lambda spec, slowest_bps, path: dctcp_problems(spec.dctcp, slowest_bps, path),
            has_window=lambda _: True,
            varies_window=True,
        ),
        ControlModel(
            name="timely",
            code=CongestionControl.TIMELY,
            section="timely",
            default=Timely(),
            lower=lambda spec, slowest_bps: timely_params(spec.timely, slowest_bps),
            problems=lambda spec, slowest_bps, path: timely_problems(spec.timely, slowest_bps, path),
        ),
        ControlModel(
            name="hpcc",
            code=CongestionControl.HPCC,
            section="hpcc",
            default=Hpcc(),
            lower=lambda spec, slowest_bps: hpcc_params(spec.hpcc, slowest_bps),
            problems=lambda spec, slowest_bps, path: hpcc_problems(
                spec.hpcc, slowest_bps, path, no_window=spec.window == "off"
            ),
            has_window=lambda _: True,
            varies_window=True,
        ),
        ControlModel(
            name="hpcc-pint",
            code=CongestionControl.PINT,
            section="pint",
            default=Pint(),
            lower=lambda spec, slowest_bps: pint_params(spec.pint, slowest_bps),
            problems=lambda spec, slowest_bps, path: pint_problems(
                spec.pint, slowest_bps, path, no_window=spec.window == "off"
            ),
            has_window=lambda _: True,
            varies_window=True,
        ),
        ControlModel(
            name="swift",
            code=CongestionControl.SWIFT,
            section="swift",
            default=Swift(),
            lower=lambda spec, _: swift_params(spec.swift),
            problems=lambda spec, _, path: swift_problems(spec.swift, path, no_window=spec.window == "off"),
            has_window=lambda _: True,
            varies_window=True,
            is_window=True,
        ),
        ControlModel(
            name="cubic",
            code=CongestionControl.CUBIC,
            section="cubic",
            default=Cubic(),
            lower=lambda spec, _: cubic_params(spec.cubic),
            problems=lambda spec, _, path: cubic_problems(path, no_window=spec.window == "off"),
            has_window=lambda _: True,
            varies_window=True,
            is_window=True,
        ),
    )
}
"""Value of transport.cc -> control."""

DEFAULT_CONTROL: Final = "dcqcn"
"""The default of RoCEv2 NICs."""


def control_of(spec: TransportSpec) -> ControlModel:
    """The congestion control of a `transport:` section, complete or as written."""
    return CONTROLS[spec.cc or DEFAULT_CONTROL]


def rate_problems(spec: TransportSpec, slowest_bps: int, path: str) -> Iterable[Problem]:
    """Problems of parameters of the chosen control that have no effect on the slowest NIC."""
    check = control_of(spec).problems
    return () if check is None else check(spec, slowest_bps, path)
