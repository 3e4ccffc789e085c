"""Published DCQCN parameter sets, by name and with their source; a scenario can override each value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from fabric.dataplane.state.params import DcqcnParams
from fabric.errors import Problem
from fabric.scenario.schema.endpoints import Dcqcn, TransportSpec
from fabric.units import PS_PER_US, format_rate_bps

_M: Final = 10**6
_REFERENCE_BPS: Final = 25 * 10**9
"""Rate for which HPCC's increments are written; they grow with the NIC's speed."""


@dataclass(frozen=True, slots=True)
class DcqcnPreset:
    """One named set."""

    name: str
    params: DcqcnParams
    source: str
    scales: bool = False
    """additive_bps and hyper_bps are given for 25G and grow in proportion to the rate of the slowest NIC."""
    variable_window: bool = False
    """The source ran the set with a window of one BDP that scales with the rate (transport.window: auto)."""
    assumed: tuple[str, ...] = ()


def _set(
    cnp_us: int,
    decrease_us: int,
    alpha_us: int,
    increase_us: int,
    byte_counter: int,
    steps: int,
    gain: float,
    additive_bps: int,
    hyper_bps: int,
    *,
    min_rate_bps: int = 100 * _M,
    clamp: bool = False,
    alpha: float = 1.0,
    delay_us: int = 0,
    least_kept: float = 0.0,
) -> DcqcnParams:
    return DcqcnParams(
        gain_ratio=gain,
        alpha_timer_ps=alpha_us * PS_PER_US,
        decrease_interval_ps=decrease_us * PS_PER_US,
        increase_timer_ps=increase_us * PS_PER_US,
        byte_counter_bytes=byte_counter,
        fast_recovery_steps=steps,
        additive_bps=additive_bps,
        hyper_bps=hyper_bps,
        min_rate_bps=min_rate_bps,
        clamp_target=clamp,
        initial_alpha_ratio=alpha,
        cnp_interval_ps=cnp_us * PS_PER_US,
        cnp_delay_ps=delay_us * PS_PER_US,
        least_kept_ratio=least_kept,
    )


_G: Final = 1 / 256

DCQCN_PRESETS: Final[Mapping[str, DcqcnPreset]] = {
    preset.name: preset
    for preset in (
        DcqcnPreset(
            "mlx5",
            _set(4, 4, 1, 300, 32767, 1, 5 / 1024, 5 * _M, 50 * _M, min_rate_bps=_M, alpha=1023 / 1024, least_kept=0.5),
            "NVIDIA DOCA 'DCQCN CC Parameters' (ConnectX-4 and later) and the firmware's defaults as mlxconfig prints "
            "them: rpg_time_reset 300 us, rpg_byte_reset 32767, rpg_threshold 1, rpg_ai_rate 5, rpg_hai_rate 50, "
            "rpg_min_rate 1 Mb/s, rpg_min_dec_fac 50 %, rpg_gd 11 (alpha / 2), rate_reduce_monitor_period 4 us, "
            "min_time_between_cnps 4 us, "
            "dce_tcp_rtt 1 us, initial_alpha_value 1023, rate_to_set_on_first_cnp 0 (off), clamp_tgt_rate off, "
            "clamp_tgt_rate_after_time_inc on; dce_tcp_g 1019 is the share of alpha that is "
            "kept (Mellanox DOC-2790), so g = 5/1024; rpg_max_rate 0 is line rate, which the rate nears without "
            "end, so "
            "no limiter is released (decisions/0026)",
        ),
        DcqcnPreset(
            "paper-2015",
            _set(50, 50, 55, 55, 10**7, 5, _G, 40 * _M, 200 * _M, min_rate_bps=40 * _M),
            "Zhu et al., SIGCOMM 2015, as commonly quoted; timers as in uet-htsim dcqcn.cpp; hyper increase 5 x R_AI",
            assumed=("hyper_bps", "min_rate_bps"),
        ),
        DcqcnPreset(
            "ns3-rdma",
            _set(50, 50, 55, 60, 300_000_000, 5, _G, 40 * _M, 200 * _M, clamp=True),
            "bobzhuyb/ns3-rdma config.txt (the paper's simulator)",
        ),
        DcqcnPreset(
            "hpcc-dcqcn",
            _set(4, 4, 1, 300, 0, 1, _G, 5 * _M, 50 * _M, min_rate_bps=1000 * _M),
            "alibaba-edu/High-Precision-Congestion-Control run.py, mode dcqcn: R_AI 5 and R_HAI 50 Mb/s per 25G of NIC "
            "rate, MIN_RATE 1000 Mb/s",
            scales=True,
        ),
        DcqcnPreset(
            "hpcc-dcqcn-paper",
            _set(50, 50, 50, 55, 0, 1, _G, 5 * _M, 50 * _M, min_rate_bps=1000 * _M),
            "alibaba-edu/High-Precision-Congestion-Control run.py, mode dcqcn_paper",
            scales=True,
        ),
        DcqcnPreset(
            "hpcc-dcqcn-vwin",
            _set(4, 4, 1, 300, 0, 1, _G, 5 * _M, 50 * _M, min_rate_bps=1000 * _M),
            "alibaba-edu/High-Precision-Congestion-Control run.py, mode dcqcn_vwin: as hpcc-dcqcn with a "
            "variable window",
            scales=True,
            variable_window=True,
        ),
        DcqcnPreset(
            "simai",
            _set(4, 4, 1, 900, 0, 1, _G, 50 * _M, 100 * _M),
            "aliyun/SimAI SimAI.conf; there with a variable window",
            variable_window=True,
        ),
        DcqcnPreset(
            "hawkeye-deadlock",
            _set(4, 4, 1, 900, 0, 1, _G, 50 * _M, 100 * _M),
            "Hawkeye mix_deadlock/config.txt; there with a variable window",
            variable_window=True,
        ),
    )
}
"""Name in a scenario -> preset."""

DEFAULT_DCQCN: Final = "mlx5"
"""The default of deployed NICs."""


def scaled(preset: DcqcnPreset, rate_bps: int) -> DcqcnParams:
    """The preset's values for NICs of one rate."""
    params = preset.params
    if not preset.scales:
        return params
    values = {name: getattr(params, name) for name in params.__slots__}
    values["additive_bps"] = params.additive_bps * rate_bps // _REFERENCE_BPS
    values["hyper_bps"] = params.hyper_bps * rate_bps // _REFERENCE_BPS
    return DcqcnParams(**values)


FIELDS: Final = {  # schema field -> engine field
    "gain": "gain_ratio",
    "initial_alpha": "initial_alpha_ratio",
    "alpha_timer": "alpha_timer_ps",
    "decrease_interval": "decrease_interval_ps",
    "increase_timer": "increase_timer_ps",
    "byte_counter": "byte_counter_bytes",
    "fast_recovery_steps": "fast_recovery_steps",
    "additive": "additive_bps",
    "hyper": "hyper_bps",
    "min_rate": "min_rate_bps",
    "clamp_target": "clamp_target",
    "cnp_interval": "cnp_interval_ps",
    "cnp_delay": "cnp_delay_ps",
    "cut_divisor": "cut_divisor",
    "least_kept": "least_kept_ratio",
    "max_rate": "max_rate_bps",
    "first_cnp_rate": "first_rate_bps",
}


def preset_name(spec: TransportSpec) -> str:
    """Name of the preset on which a `transport:` section builds."""
    chosen = spec.dcqcn
    return (chosen.preset if isinstance(chosen, Dcqcn) else chosen) or DEFAULT_DCQCN


def dcqcn_params(spec: TransportSpec, slowest_bps: int, preset: str | None = None) -> DcqcnParams:
    """The preset (None: the one in `spec`), scaled to the slowest NIC, with the user's values on top."""
    chosen = spec.dcqcn if isinstance(spec.dcqcn, Dcqcn) else None
    base = scaled(DCQCN_PRESETS[preset or preset_name(spec)], slowest_bps)
    values: dict[str, Any] = {column: getattr(base, column) for column in base.__slots__}
    for field, column in FIELDS.items():
        value = getattr(chosen, field, None)
        if value is not None:
            values[column] = 0 if value == "off" else value
    return DcqcnParams(**values)


def dcqcn_problems(spec: TransportSpec, slowest_bps: int, path: str) -> Iterator[Problem]:
    """Problems of rates of `transport.dcqcn` that have no effect on the slowest NIC, or contradict each other."""
    chosen = spec.dcqcn
    if not isinstance(chosen, Dcqcn):
        return
    values, nic = dcqcn_params(spec, slowest_bps), format_rate_bps(slowest_bps)
    where, least = f"{path}transport.dcqcn.", format_rate_bps(values.min_rate_bps)
    if chosen.min_rate is not None and values.min_rate_bps >= slowest_bps:
        yield Problem(
            f"{where}min_rate",
            f"{least} is not below the {nic} of the slowest NIC: no CNP would slow it",
            "give a lower rate, or transport.cc: none",
        )
    for field, rate in (("max_rate", values.max_rate_bps), ("first_cnp_rate", values.first_rate_bps)):
        if rate >= slowest_bps:
            yield Problem(
                f"{where}{field}",
                f"{format_rate_bps(rate)} is not below the {nic} of the slowest NIC: it would have no effect there",
                "give a lower rate, or off",
            )
        elif 0 < rate < values.min_rate_bps:
            yield Problem(
                f"{where}{field}", f"{format_rate_bps(rate)} is below min_rate, {least}", "give a higher rate, or off"
            )
