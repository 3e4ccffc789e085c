"""The congestion control of a recorded case: its `cc` section, or `dcqcn` where it has none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from fabric.dataplane.state.codes import CongestionControl
from fabric.dataplane.state.control_params import HpccParams, PintParams, TimelyParams
from fabric.dataplane.state.params import DcqcnParams, DctcpParams
from fabric.errors import Problem
from fabric.scenario.presets.ns3_rdma import ACK_BYTES, ACK_HEADER_BYTES, DATA_HEADER_BYTES, Distance, Ns3Control
from fabric.units import PS_PER_US

_M: Final = 10**6
_MODES: Final = {
    3: CongestionControl.HPCC,
    7: CongestionControl.TIMELY,
    8: CongestionControl.NS3_DCTCP,
    10: CongestionControl.PINT,
}
"""CC_MODE of a `cc` section."""
_DCTCP: Final = 8


@dataclass(frozen=True, slots=True)
class WrittenControl:
    """The control of a case, and its windows."""

    law: Ns3Control
    window_bytes: int = 0
    """0: none."""
    variable_window: bool = False


def control_problems(raw: dict[str, Any]) -> list[Problem]:
    """A `cc` section that is not supported."""
    mode = raw["cc"]["cc_mode"] if "cc" in raw else 1
    if mode == 1 or mode in _MODES:
        return []
    return [Problem("cc.cc_mode", f"{mode} is unknown", f"one of {', '.join(map(str, _MODES))}")]


def draws(raw: dict[str, Any]) -> bool:
    """Whether a run uses random numbers: marks below Kmax, where the control reads marks."""
    ecn = raw["switch"]["ecn"]
    reads = "cc" not in raw or raw["cc"]["cc_mode"] == _DCTCP
    return bool(reads and ecn["enabled"] and ecn["kmin_bytes"] != ecn["kmax_bytes"])


def frame_bytes(raw: dict[str, Any]) -> tuple[int, int]:
    """(headers of a data frame, size of an ACK) that a case must have been recorded with."""
    mode = raw["cc"]["cc_mode"] if "cc" in raw else 1
    extra = Ns3Control(_MODES.get(mode, CongestionControl.NS3_DCQCN)).header_bytes
    return DATA_HEADER_BYTES + extra, max(ACK_BYTES, ACK_HEADER_BYTES + extra)


def written_control(raw: dict[str, Any], farthest: Distance) -> WrittenControl:
    """The control of a case. Raises: KeyError for a missing field."""
    if "cc" not in raw:
        return WrittenControl(Ns3Control(dcqcn=_dcqcn(raw["dcqcn"])))
    cc = raw["cc"]
    code = _MODES[cc["cc_mode"]]
    if code is CongestionControl.HPCC:
        law = _hpcc(cc, farthest)
    elif code is CongestionControl.PINT:
        law = _pint(cc, farthest)
    else:
        law = _timely(cc) if code is CongestionControl.TIMELY else _dctcp(cc)
    return WrittenControl(law, farthest.window_bytes if cc["HAS_WIN"] else 0, bool(cc["HAS_WIN"] and cc["VAR_WIN"]))


def _bps(section: dict[str, Any], field: str) -> int:
    return int(section[f"{field}_Mbps"] * _M)


def _dctcp(cc: dict[str, Any]) -> Ns3Control:
    return Ns3Control(
        CongestionControl.NS3_DCTCP,
        dctcp=DctcpParams(cc["EWMA_GAIN"], 1.0, _bps(cc, "DCTCP_RATE_AI"), _bps(cc, "MIN_RATE")),
    )


def _timely(cc: dict[str, Any]) -> Ns3Control:
    own = cc["TIMELY"]
    return Ns3Control(
        CongestionControl.TIMELY,
        timely=TimelyParams(
            gain_ratio=own["alpha"],
            beta_ratio=own["beta"],
            low_rtt_ns=own["t_low_ns"],
            high_rtt_ns=own["t_high_ns"],
            min_rtt_ns=own["min_rtt_ns"],
            additive_bps=_bps(cc, "RATE_AI"),
            hyper_bps=_bps(cc, "RATE_HAI"),
            min_rate_bps=_bps(cc, "MIN_RATE"),
        ),
    )


def _hpcc(cc: dict[str, Any], farthest: Distance) -> Ns3Control:
    return Ns3Control(
        CongestionControl.HPCC,
        hpcc=HpccParams(
            target_ratio=cc["U_TARGET"],
            additive_bps=_bps(cc, "RATE_AI"),
            min_rate_bps=_bps(cc, "MIN_RATE"),
            increase_stages=cc["MI_THRESH"],
            fast_react=bool(cc["FAST_REACT"]),
            multi_rate=bool(cc["MULTI_RATE"]),
            sample_feedback=bool(cc["SAMPLE_FEEDBACK"]),
            multiple=cc["INT_MULTI"],
            base_rtt_ns=farthest.rtt_ns,
            window_bytes=farthest.window_bytes,
        ),
    )


def _pint(cc: dict[str, Any], farthest: Distance) -> Ns3Control:
    return Ns3Control(
        CongestionControl.PINT,
        pint=PintParams(
            target_ratio=cc["U_TARGET"],
            additive_bps=_bps(cc, "RATE_AI"),
            min_rate_bps=_bps(cc, "MIN_RATE"),
            increase_stages=cc["MI_THRESH"],
            log_base_ratio=cc["PINT_LOG_BASE"],
            probability_ratio=cc["PINT_PROB"],
            base_rtt_ns=farthest.rtt_ns,
        ),
    )


def _dcqcn(dcqcn: dict[str, Any]) -> DcqcnParams:
    return DcqcnParams(
        gain_ratio=dcqcn["EWMA_GAIN"],
        alpha_timer_ps=int(dcqcn["ALPHA_RESUME_INTERVAL_us"]) * PS_PER_US,
        decrease_interval_ps=int(dcqcn["RATE_DECREASE_INTERVAL_us"]) * PS_PER_US,
        increase_timer_ps=int(dcqcn["RP_TIMER_us"]) * PS_PER_US,
        byte_counter_bytes=0,
        fast_recovery_steps=dcqcn["FAST_RECOVERY_TIMES"],
        additive_bps=int(dcqcn["RATE_AI_Mbps"] * _M),
        hyper_bps=int(dcqcn["RATE_HAI_Mbps"] * _M),
        min_rate_bps=int(dcqcn["MIN_RATE_Mbps"] * _M),
        clamp_target=bool(dcqcn["CLAMP_TARGET_RATE"]),
        initial_alpha_ratio=1.0,
        cnp_interval_ps=0,
        cnp_delay_ps=0,
    )
