"""A scenario with `model: hpcc-ns3` -> the settings of the public ns-3 RDMA simulator, and its flows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from fabric.dataplane.state.params import EcnParams
from fabric.errors import Problem
from fabric.scenario.compile.curves import curve_of, descending
from fabric.scenario.compile.lower import whole_number
from fabric.scenario.compile.ns3_rdma_checks import has_window
from fabric.scenario.compile.ns3_rdma_controls import chosen_preset, control_problems, is_dcqcn, ns3_model_of
from fabric.scenario.compile.traffic import Traffic
from fabric.scenario.presets.models import ecn_curve
from fabric.scenario.presets.ns3_rdma import (
    DATA_CLASS,
    DATA_DSCP,
    PAYLOAD_BYTES,
    PS_PER_NS,
    RESERVE_BYTES,
    XON_OFFSET_BYTES,
    Distance,
    Flows,
    Ns3RdmaSettings,
    aside_bytes,
    default_buffer_bytes,
    largest_distance,
    nic_rate_bps,
)
from fabric.scenario.schema.scenario import Scenario
from fabric.scenario.schema.switches import Buffer
from fabric.topology.model import Fabric
from fabric.topology.select import such
from fabric.units import format_size_bytes
from fabric.workload.qps import QpRules

PRESET_MARKING: Final[Mapping[str, Mapping[int, EcnParams]]] = {
    "simai": {
        100 * 10**9: EcnParams(400_000, 1_600_000, 0.2),
        200 * 10**9: EcnParams(300_000, 1_200_000, 0.8),
        400 * 10**9: EcnParams(800_000, 3_200_000, 0.2),
    },
    "hawkeye-deadlock": {100 * 10**9: EcnParams(40_000, 160_000, 0.2)},
}
"""KMIN_MAP, KMAX_MAP and PMAX_MAP by port speed where a preset's own configuration file differs from run.py:
aliyun/SimAI SimAI.conf, Hawkeye mix_deadlock/config.txt."""


def ns3_rdma_settings(scenario: Scenario, fabric: Fabric, path: str, problems: list[Problem]) -> Ns3RdmaSettings:
    """The settings; what cannot be built with them goes to `problems`."""
    problems += _fabric_problems(fabric, path)
    problems += _marking_problems(scenario, fabric, path)
    transport, switches = scenario.transport, scenario.switches
    buffer = switches.buffer or Buffer()
    nic_bps = nic_rate_bps(fabric)
    problems += control_problems(scenario, fabric, nic_bps, path)
    model = ns3_model_of(scenario)
    payload = PAYLOAD_BYTES if transport.mtu is None else transport.mtu
    distance = largest_distance(fabric, payload)
    window = _window(scenario, distance)
    headroom = buffer.headroom
    settings = Ns3RdmaSettings(
        buffer_bytes=default_buffer_bytes(nic_bps) if switches.memory is None else switches.memory,
        ecn=lambda rate_bps: _curve(scenario, rate_bps),
        control=model.lower(transport, nic_bps, Distance(distance.rtt_ns, window)),
        acks=transport.acks or ("data-class" if model.has_window(scenario) else "stock"),
        window_bytes=window,
        variable_window=bool(window)
        and (model.has_window(scenario) if transport.variable_window is None else transport.variable_window),
        payload_bytes=payload,
        reserve_bytes=RESERVE_BYTES if buffer.reserved is None else buffer.reserved,
        xon_offset_bytes=XON_OFFSET_BYTES if buffer.xon_offset is None else buffer.xon_offset,
        headroom_bytes=None if headroom in {None, "auto"} else whole_number(headroom),
    )
    for node in fabric.switches:
        aside = aside_bytes(fabric, settings, node)
        if aside >= settings.buffer_bytes:
            problems.append(
                Problem(
                    f"{path}switches.memory",
                    f"{node.name}: headroom and reserve of {node.n_ports} ports take "
                    f"{format_size_bytes(aside)} of {format_size_bytes(settings.buffer_bytes)}",
                    "give more memory, less headroom, or shorter cables",
                )
            )
            break
    return settings


def _window(scenario: Scenario, distance: Distance) -> int:
    given = scenario.transport.window
    if given in {None, "auto"}:
        return distance.window_bytes if has_window(scenario) else 0
    return 0 if given is None or given == "off" else whole_number(given)


def _curve(scenario: Scenario, rate_bps: int) -> EcnParams | None:
    """Marking of a port: none without congestion control, without which the simulator's switches do not mark."""
    ecn = scenario.switches.ecn
    if ecn == "off" or scenario.transport.cc == "none":
        return None
    if ecn is None:
        own = PRESET_MARKING.get(chosen_preset(scenario)) if is_dcqcn(scenario) else None
        return ecn_curve(ns3_model_of(scenario).curve, rate_bps) if own is None else own[rate_bps]
    found = curve_of(ecn, rate_bps)
    return None if found is None else EcnParams(found.kmin_bytes, found.kmax_bytes, found.pmax_ratio)


def _marking_problems(scenario: Scenario, fabric: Fabric, path: str) -> list[Problem]:
    """The simulator stops where a port's speed has no thresholds."""
    rates = sorted({link.rate_bps for link in fabric.links})
    for wrong in filter(None, (descending(scenario.switches.ecn, rate) for rate in rates)):
        return [Problem(f"{path}switches.ecn", *wrong)]
    own = PRESET_MARKING.get(chosen_preset(scenario)) if is_dcqcn(scenario) else None
    if own is None or scenario.switches.ecn is not None or scenario.transport.cc == "none":
        return []
    strange = sorted({link.rate_bps for link in fabric.links} - own.keys())
    if not strange:
        return []
    return [
        Problem(
            f"{path}switches.ecn",
            f"preset '{chosen_preset(scenario)}' has no thresholds for ports of {strange[0] // 10**9}G",
            "give switches.ecn, such as ecn: hpcc",
        )
    ]


def _fabric_problems(fabric: Fabric, path: str) -> list[Problem]:
    found = []
    several = [host.name for host in fabric.hosts if host.n_ports > 1]
    if several:
        found.append(
            Problem(
                f"{path}topology",
                f"{several[0]} has more than one port{such(len(several), 'host')}",
                "one port per host, or model: asic",
            )
        )
    finer = [link for link in fabric.links if link.delay_ps % PS_PER_NS]
    if finer:
        found.append(
            Problem(
                f"{path}topology",
                f"the cable at {fabric.port_name(finer[0].a)} delays by "
                f"{finer[0].delay_ps} ps{such(len(finer), 'cable')}; this model's clock counts "
                "nanoseconds",
                "give delays in whole ns, such as '1us'",
            )
        )
    return found


def ns3_rdma_flows(traffic: Traffic, path: str, seed: int, problems: list[Problem]) -> Flows:
    """The messages as flows; a start between two nanoseconds moves to the earlier one, as in that simulator."""
    strange = sorted(traffic.priorities() - {-1, DATA_CLASS})
    if strange:
        problems.append(
            Problem(
                f"{path}workload",
                f"priority {strange[0]}: every flow of this model has priority {DATA_CLASS}",
                "remove the priorities",
            )
        )
    for where, _, _ in traffic.transfers:
        problems.append(
            Problem(
                f"{where}.kind",
                "its messages share queue pairs; in the simulator of model: hpcc-ns3 every message has its own",
                "use model: asic, or kind: messages",
            )
        )
    messages, _, _ = traffic.join({DATA_CLASS: DATA_DSCP}, DATA_CLASS, QpRules(), seed)
    return Flows(
        src=messages.src,
        dst=messages.dst,
        size_bytes=messages.size_bytes,
        start_ps=messages.start_ps // PS_PER_NS * PS_PER_NS,
        labels=messages.label,
        after=messages.after,
        delay_ps=np.asarray(messages.delay_ps // PS_PER_NS * PS_PER_NS, np.int64),
    )
