"""What a congestion control takes from the fabric: its window, DCTCP's increment, the base round trip of both HPCCs.

This is for model asic; ns3_rdma_lower.py has the rules of hpcc-ns3.

DCTCP, both HPCCs and some sets of DCQCN parameters (`hpcc-dcqcn-vwin`, `simai`, `hawkeye-deadlock`) bound the bytes in
flight of a queue pair by one bandwidth-delay product, scaled with the rate. Their sources ran them with this window.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from fabric.dataplane.state.params import EngineParams
from fabric.scenario.compile.controls import control_of
from fabric.scenario.presets.cubic import WINDOW_BYTES
from fabric.scenario.presets.dctcp import increment_bps
from fabric.scenario.schema.scenario import Scenario
from fabric.topology.model import Fabric
from fabric.topology.paths import EcmpTable
from fabric.units import PS_PER_S
from fabric.workload.ideal import base_rtt_ps, nic_share

_PS_PER_NS: Final = 1000


def brings_window(scenario: Scenario) -> bool:
    """Whether the congestion control has a window by default, and the scenario does not set another."""
    transport = scenario.transport
    return transport.window in {None, "auto"} and control_of(transport).has_window(transport)


def varies_window(scenario: Scenario) -> bool:
    """The value of transport.variable_window that the scenario runs with (model asic)."""
    transport = scenario.transport
    if transport.variable_window is not None:
        return transport.variable_window
    return brings_window(scenario) or (control_of(transport).varies_window and transport.window != "off")


def with_window(scenario: Scenario, fabric: Fabric, params: EngineParams, routes: EcmpTable) -> EngineParams:
    """`params` with the default window of the control, the largest product of NIC rate and base round-trip time, with
    DCTCP's `additive: auto`, one packet in the largest base round-trip time, and with that time for HPCC, HPCC-PINT
    and Swift. Swift's window is NIC rate times its largest target, CUBIC's a constant.

    All are maxima over the queue pairs: one full packet to the receiver and its ACK back on an idle fabric, at the
    rate of the sender's port, or of all its ports where a queue pair uses them in turn. Source: HPCC run.py (HAS_WIN,
    VAR_WIN, GLOBAL_T 1), whose round trips do not include the latency of devices.
    """
    transport = replace(params.transport, variable_window=varies_window(scenario))
    if transport.cubic is not None:
        return replace(
            params, transport=replace(transport, window_bytes=WINDOW_BYTES) if brings_window(scenario) else transport
        )
    dctcp = transport.dctcp
    grows = dctcp is not None and not dctcp.additive_bps
    hpcc, pint, swift = transport.hpcc, transport.pint, transport.swift
    measures = hpcc is not None or pint is not None or swift is not None
    if len(params.queue_pairs.src) and (brings_window(scenario) or grows or measures):
        rtt_ps = base_rtt_ps(fabric, params, routes)
        if brings_window(scenario):
            rates = nic_share(fabric, params, routes).line_bps
            times_ps = rtt_ps if swift is None else swift.largest_target_ps(_most_switches(params, routes))
            transport = replace(transport, window_bytes=int(np.ceil((rates / PS_PER_S * times_ps / 8).max())))
        if dctcp is not None and grows:
            increment = increment_bps(params.frames.payload_bytes, int(rtt_ps.max()))
            transport = replace(transport, dctcp=replace(dctcp, additive_bps=increment))
        if hpcc is not None:
            base_rtt_ns = int(rtt_ps.max()) // _PS_PER_NS
            law = replace(hpcc, base_rtt_ns=base_rtt_ns, window_bytes=transport.window_bytes)
            transport = replace(transport, hpcc=law)
        if pint is not None:
            transport = replace(transport, pint=replace(pint, base_rtt_ns=int(rtt_ps.max()) // _PS_PER_NS))
        if swift is not None:
            transport = replace(transport, swift=replace(swift, base_rtt_ns=int(rtt_ps.max()) // _PS_PER_NS))
    return replace(params, transport=transport)


def _most_switches(params: EngineParams, routes: EcmpTable) -> int:
    """Switches of the longest path of a queue pair."""
    pairs = params.queue_pairs
    return int(routes.distance[pairs.src, np.asarray(routes.class_of_host)[pairs.dst]].max()) + 1
