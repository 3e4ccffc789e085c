"""The ECN curve of a port: a named one for its rate, one of its own, or a named one with values of its own."""

from __future__ import annotations

from fabric.dataplane.state.params import EcnParams
from fabric.scenario.presets.models import ecn_curve
from fabric.scenario.schema.switches import EcnCurve, EcnName
from fabric.units import format_rate_bps, format_size_bytes


def curve_of(ecn: EcnCurve | EcnName | None, rate_bps: int) -> EcnParams | None:
    """The curve for one port speed; None: nothing is marked."""
    if not isinstance(ecn, EcnCurve):
        return None if ecn is None or ecn == "off" else ecn_curve(ecn, rate_bps)
    base = EcnParams(0, 0, 0.0) if ecn.preset is None else ecn_curve(ecn.preset, rate_bps)
    return EcnParams(
        base.kmin_bytes if ecn.kmin is None else ecn.kmin,
        base.kmax_bytes if ecn.kmax is None else ecn.kmax,
        base.pmax_ratio if ecn.pmax is None else ecn.pmax,
        ecn.drop_non_ect,
    )


def descending(ecn: EcnCurve | EcnName | None, rate_bps: int) -> tuple[str, str] | None:
    """(text, remedy) where a value does not fit those of the preset at this rate; None: it does."""
    curve = curve_of(ecn, rate_bps)
    if curve is None or not isinstance(ecn, EcnCurve) or curve.kmin_bytes < curve.kmax_bytes:
        return None
    kmin, kmax = format_size_bytes(curve.kmin_bytes), format_size_bytes(curve.kmax_bytes)
    return (
        f"kmin ({kmin}) is not below kmax ({kmax}) with preset {ecn.preset} at {format_rate_bps(rate_bps)}",
        "give kmin and kmax",
    )
