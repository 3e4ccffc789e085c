"""The numbers behind the presets that a resolved scenario names, as comments of its YAML.

A preset stays a name in the resolved scenario, because some of its values follow from the rate of each port. The
comments have the values that this fabric gives it, in the notation of a scenario file, so that one of them can be
copied and changed alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from fabric.scenario.presets.dcqcn import FIELDS, dcqcn_params, preset_name
from fabric.scenario.presets.models import ecn_curve
from fabric.scenario.schema.endpoints import Dcqcn
from fabric.scenario.schema.scenario import Scenario
from fabric.scenario.schema.switches import EcnCurve
from fabric.topology.model import Fabric
from fabric.topology.quantities import exact_rate, exact_size, exact_time
from fabric.units import format_rate_bps

_OFF: Final = {"byte_counter", "max_rate", "first_cnp_rate"}
"""Fields whose 0 is written 'off'."""


def preset_comments(scenario: Scenario, fabric: Fabric) -> str:
    """Lines that begin with '#'; '' where no preset is named.

    Parameters
    ----------
    scenario : Scenario     a resolved one: every default is written
    fabric : Fabric         the fabric that it was placed on
    """
    lines = [*_dcqcn(scenario, fabric), *_ecn(scenario, fabric)]
    return "".join(f"# {line}\n" for line in lines)


def _dcqcn(scenario: Scenario, fabric: Fabric) -> Iterator[str]:
    spec = scenario.transport
    if spec.cc != "dcqcn" or spec.dcqcn is None:
        return
    slowest = min(fabric.links[int(fabric.ports[port].link)].rate_bps for host in fabric.hosts for port in host.ports)
    name = preset_name(spec)
    own = spec.dcqcn if isinstance(spec.dcqcn, Dcqcn) else Dcqcn()
    params = dcqcn_params(spec, slowest, name)
    rate = format_rate_bps(slowest)
    yield f"transport.dcqcn starts from the preset {name}; its values for NICs of {rate}. One alone:"
    yield "  --set transport.dcqcn.min_rate=100M"
    for field, column in FIELDS.items():
        written = "  (written)" if getattr(own, field, None) is not None else ""
        yield f"    {field}: {_shown(field, column, getattr(params, column))}{written}"


def _shown(field: str, column: str, value: Any) -> str:  # noqa: ANN401  a number or a flag
    if field in _OFF and not value:
        return "'off'"
    if column.endswith("_ps"):
        return exact_time(value)
    if column.endswith("_bps"):
        return exact_rate(value)
    if column.endswith("_bytes"):
        return exact_size(value)
    return str(value).lower() if isinstance(value, bool) else f"{value:.10g}"


def _ecn(scenario: Scenario, fabric: Fabric) -> Iterator[str]:
    ecn = scenario.switches.ecn
    name = ecn.preset if isinstance(ecn, EcnCurve) else ecn
    if not isinstance(name, str) or name == "off":
        return
    yield f"switches.ecn: {name} is, by the rate of a port. One alone: --set switches.ecn.kmax=2MB"
    for rate in sorted({link.rate_bps for link in fabric.links}):
        curve = ecn_curve(name, rate)
        kmin, kmax = exact_size(curve.kmin_bytes), exact_size(curve.kmax_bytes)
        yield f"    {format_rate_bps(rate)}: {{kmin: {kmin}, kmax: {kmax}, pmax: {curve.pmax_ratio:g}}}"
