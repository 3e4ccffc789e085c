"""`transport.cc` with `model: hpcc-ns3`: CC_MODE, what run.py sets with it, and the settings that it leaves open."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from pydantic import BaseModel

from fabric.dataplane.state.codes import CongestionControl
from fabric.dataplane.state.params import DctcpParams
from fabric.errors import Problem
from fabric.scenario.compile.controls import CONTROLS, control_of
from fabric.scenario.compile.lower import needed
from fabric.scenario.presets.dcqcn import DCQCN_PRESETS, dcqcn_params
from fabric.scenario.presets.dctcp import Dctcp
from fabric.scenario.presets.hpcc import hpcc_params, hpcc_values
from fabric.scenario.presets.ns3_rdma import Distance, Ns3Control
from fabric.scenario.presets.pint import pint_params, pint_values
from fabric.scenario.presets.timely import timely_params, timely_values
from fabric.scenario.schema.endpoints import Dcqcn, TransportSpec
from fabric.scenario.schema.scenario import Scenario
from fabric.topology.model import Fabric
from fabric.topology.quantities import exact_rate
from fabric.topology.select import such

DEFAULT_PRESET: Final = "hpcc-dcqcn"
_MIN_RATE_BPS: Final = 10**9
"""run.py: MIN_RATE."""
_DCTCP_ADDITIVE_BPS: Final = 615 * 10**6
"""run.py: DCTCP_RATE_AI of mode dctcp."""
NS3_INITIAL_ALPHA: Final = 1.0
"""rdma-hw.cc: DCTCP's alpha of a new queue pair."""
_SPEEDS_BPS: Final = frozenset(speed * 10**9 for speed in (25, 50, 100, 200, 400))
"""int-header.h: lineRateValues."""


@dataclass(frozen=True, slots=True)
class Ns3ControlModel:
    """A value of `transport.cc` under this model."""

    lower: Callable[[TransportSpec, int, Distance], Ns3Control]
    """(section, NIC rate, distance and window) -> CC_MODE and its parameters."""
    has_window: Callable[[Scenario], bool] = lambda _: False
    """run.py: HAS_WIN and VAR_WIN; with them ACK_HIGH_PRIO 0, else 1."""
    curve: str = "hpcc"
    """Marking where a scenario names none."""
    needs_marks: bool = False


def chosen_preset(scenario: Scenario) -> str:
    """Name of the DCQCN set; a mapping without `preset` starts from this model's default."""
    dcqcn = scenario.transport.dcqcn
    if isinstance(dcqcn, Dcqcn):
        return dcqcn.preset or DEFAULT_PRESET
    return dcqcn or DEFAULT_PRESET


def _dcqcn(spec: TransportSpec, nic_bps: int, _: Distance) -> Ns3Control:
    preset = spec.dcqcn.preset if isinstance(spec.dcqcn, Dcqcn) else spec.dcqcn
    return Ns3Control(dcqcn=dcqcn_params(spec, nic_bps, preset or DEFAULT_PRESET))


def _dctcp(spec: TransportSpec, _: int, __: Distance) -> Ns3Control:
    chosen = spec.dctcp or Dctcp()
    params = DctcpParams(
        gain_ratio=chosen.gain,
        initial_alpha_ratio=NS3_INITIAL_ALPHA,
        additive_bps=chosen.additive if isinstance(chosen.additive, int) else _DCTCP_ADDITIVE_BPS,
        min_rate_bps=chosen.min_rate if "min_rate" in chosen.model_fields_set else _MIN_RATE_BPS,
    )
    return Ns3Control(CongestionControl.NS3_DCTCP, dctcp=params)


def _timely(spec: TransportSpec, nic_bps: int, _: Distance) -> Ns3Control:
    return Ns3Control(CongestionControl.TIMELY, timely=timely_params(spec.timely, nic_bps, _MIN_RATE_BPS))


def _hpcc(spec: TransportSpec, nic_bps: int, distance: Distance) -> Ns3Control:
    law = replace(
        hpcc_params(spec.hpcc, nic_bps, _MIN_RATE_BPS), base_rtt_ns=distance.rtt_ns, window_bytes=distance.window_bytes
    )
    return Ns3Control(CongestionControl.HPCC, hpcc=law)


def _pint(spec: TransportSpec, nic_bps: int, distance: Distance) -> Ns3Control:
    law = replace(pint_params(spec.pint, nic_bps, _MIN_RATE_BPS), base_rtt_ns=distance.rtt_ns)
    return Ns3Control(CongestionControl.PINT, pint=law)


NS3_CONTROLS: Final[Mapping[str, Ns3ControlModel]] = {
    "none": Ns3ControlModel(  # the simulator runs DCQCN, and no switch marks
        _dcqcn
    ),
    "dcqcn": Ns3ControlModel(
        _dcqcn, has_window=lambda scenario: DCQCN_PRESETS[chosen_preset(scenario)].variable_window, needs_marks=True
    ),
    "dctcp": Ns3ControlModel(_dctcp, has_window=lambda _: True, curve="dctcp", needs_marks=True),
    "timely": Ns3ControlModel(_timely),
    "hpcc": Ns3ControlModel(_hpcc, has_window=lambda _: True),
    "hpcc-pint": Ns3ControlModel(_pint, has_window=lambda _: True),
}
"""Value of transport.cc -> what run.py sets."""


def ns3_model_of(scenario: Scenario) -> Ns3ControlModel:
    """The control of a scenario with this model."""
    return NS3_CONTROLS[control_of(scenario.transport).name]


def is_dcqcn(scenario: Scenario) -> bool:
    """Whether the sets of DCQCN parameters count, with what their configurations set beside them."""
    return control_of(scenario.transport).section in {"", "dcqcn"}


def section_of(scenario: Scenario) -> BaseModel | None:
    """The written parameters of the chosen control, DCQCN's aside."""
    model = control_of(scenario.transport)
    found = getattr(scenario.transport, model.section) if model.section else None
    return found if isinstance(found, BaseModel) and not isinstance(found, Dcqcn) else None


def other_sections(scenario: Scenario) -> Iterable[str]:
    """Parameters of controls that are not chosen, DCQCN's aside: fields of `transport:`."""
    chosen = control_of(scenario.transport).section
    for model in CONTROLS.values():
        if model.section not in {"", "dcqcn", chosen} and getattr(scenario.transport, model.section) is not None:
            yield model.section


def control_problems(scenario: Scenario, fabric: Fabric, nic_bps: int, path: str) -> list[Problem]:
    """Problems of the chosen control on this fabric."""
    model = control_of(scenario.transport)
    found = (
        []
        if model.section == "dcqcn" or model.problems is None
        else list(model.problems(scenario.transport, nic_bps, path))
    )
    if model.code is CongestionControl.HPCC:
        strange = [link for link in fabric.links if link.rate_bps not in _SPEEDS_BPS]
        if strange:
            found.append(
                Problem(
                    f"{path}topology",
                    f"the cable at {fabric.port_name(strange[0].a)} has {strange[0].rate_bps / 10**9:g}G"
                    f"{such(len(strange), 'cable')}; HPCC's telemetry has codes for 25, 50, 100, 200 and 400G",
                    "use these speeds, or model: asic",
                )
            )
    return found


def ns3_values(control: Ns3Control) -> dict[str, Any]:
    """The parameters of a control other than DCQCN as a scenario would write all of them."""
    if control.dctcp is not None:
        law = control.dctcp
        return {
            "gain": law.gain_ratio,
            "additive": exact_rate(law.additive_bps),
            "min_rate": exact_rate(law.min_rate_bps),
        }
    if control.timely is not None:
        return timely_values(control.timely)
    if control.pint is not None:
        return pint_values(control.pint)
    return hpcc_values(needed(control.hpcc))
