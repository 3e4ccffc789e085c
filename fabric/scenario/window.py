"""The window of a set of DCQCN parameters that is meant to run with one (model asic; hpcc_lower.py has its own law).

Such sets (`hpcc-dcqcn-vwin`, `simai`, `hawkeye-deadlock`) bound the bytes in flight of a queue pair by one
bandwidth-delay product, scaled with the rate. Without the window they are not what their sources ran.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fabric.scenario.dcqcn import DCQCN_PRESETS, DEFAULT_DCQCN
from fabric.scenario.endpoints import Dcqcn
from fabric.scenario.models import default_tree
from fabric.scenario.schema import Scenario
from fabric.state.params import EngineParams
from fabric.topology.model import Fabric
from fabric.topology.paths import EcmpTable
from fabric.units import PS_PER_S
from fabric.workload.ideal import base_rtt_ps


def preset_has_window(scenario: Scenario) -> bool:
    """Whether the chosen set of DCQCN parameters brings a window, and the scenario does not say otherwise."""
    transport = scenario.transport
    control = transport.cc or default_tree(scenario.model)["transport"]["cc"]
    chosen = transport.dcqcn
    name = (chosen.preset if isinstance(chosen, Dcqcn) else chosen) or DEFAULT_DCQCN
    return control == "dcqcn" and transport.window in {None, "auto"} and DCQCN_PRESETS[name].variable_window


def with_window(scenario: Scenario, fabric: Fabric, params: EngineParams, routes: EcmpTable) -> EngineParams:
    """`params` with the window that the preset brings: the largest product of NIC rate and base round-trip time.

    Of the queue pairs that there are: one full packet there and its ACK back on an idle fabric, at the rate of the
    sender's port. Source: HPCC run.py (HAS_WIN, VAR_WIN, GLOBAL_T 1), whose round trips have no latencies of devices.
    """
    if not preset_has_window(scenario) or not len(params.queue_pairs.src):
        return params
    rates = np.array([fabric.links[fabric.ports[port].link].rate_bps for port in params.queue_pairs.port], np.int64)
    products = rates / PS_PER_S * base_rtt_ps(fabric, params, routes) / 8
    variable = scenario.transport.variable_window is not False
    return replace(params, transport=replace(params.transport, window_bytes=int(np.ceil(products.max())),
                                             variable_window=variable))
