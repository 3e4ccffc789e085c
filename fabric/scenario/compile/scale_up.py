"""Scale-up domains in a scenario: settings of their switches, frames on their links, and what cannot be combined.

A scale-up switch marks nothing. A lossless class of each of its ports has room for the bytes of one round trip and then
stops the GPU, as credits do; other classes have ample room, so nothing is lost. Frames on its links cost their payload
only, because the links' rates are usable rates. Of the `switches:` section only the classification of packets applies
to it, and overrides that select it. Reasons and measurements: decision 0058.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Final

import numpy as np

from fabric.dataplane.state.codes import WatchdogRule
from fabric.dataplane.state.params import FrameParams, PortParams, QueuePairs
from fabric.errors import Problem
from fabric.scenario.presets.asics import Asic
from fabric.scenario.presets.models import default_tree
from fabric.scenario.schema.scenario import Scenario
from fabric.scenario.schema.switches import SwitchesSpec, SwitchSettings
from fabric.topology.model import Fabric, Node, Role
from fabric.topology.scale_up import DEFAULT_UNIT_BYTES, MOST_UNIT_BYTES
from fabric.topology.spec import LeafSpineSpec, RailSpec, ServerSpec
from fabric.units import PS_PER_S

CLASSIFYING: Final = ("lossless", "dscp_to_tc", "tc_to_pg", "tc_to_queue")
"""Fields of `switches:` that scale-up switches share with all others: the class of a packet is one in a whole run."""
_MEMORY_BYTES: Final = 2**45
_CELL_BYTES: Final = 256

SCALE_UP_CHIP: Final = Asic(
    "scale-up",
    "NVSwitch",
    _CELL_BYTES,
    _MEMORY_BYTES,
    0,
    7,
    0,
    0,
    WatchdogRule.BROADCOM,
    "a port's credits: rate x round trip; NVLink loses nothing (Foley and Danskin, IEEE Micro 2017; decision 0058)",
    ("cell_bytes", "buffer_bytes", "reserved_bytes", "dynamic_th", "xon_bytes", "xon_offset_bytes"),
)


def has_scale_up(fabric: Fabric) -> bool:
    """Whether any host is in a scale-up domain."""
    return any(node.role is Role.SCALE_UP for node in fabric.switches)


def room_bytes(fabric: Fabric, switch: Node) -> int:
    """What a port of a scale-up switch holds before it stops the GPU: rate x round trip of its link, and two packets.

    With less, a port that was stopped would run empty before the next bytes come.
    """
    link = fabric.links[fabric.ports[switch.first_port].link]
    return -(-link.rate_bps * 2 * link.delay_ps // (8 * PS_PER_S)) + 2 * MOST_UNIT_BYTES


@cache
def scale_up_settings(room: int) -> SwitchSettings:
    """Settings of scale-up switches before any override; room: bytes of a port before it stops the GPU."""
    return SwitchSettings.model_validate(
        {
            "latency": "0s",
            "memory": f"{_MEMORY_BYTES}B",
            "cell": f"{_CELL_BYTES}B",
            "ecn": "off",
            "watchdog": "off",
            "load_balancing": "ecmp",
            "buffer": {"headroom": "auto", "reserved": "0B", "xon": "0B", "xon_offset": "0B", "static_th": f"{room}B",
                       "lossy_dynamic_th": 7},
        }
    )  # fmt: skip


def classification(section: SwitchesSpec) -> SwitchSettings:
    """What of the `switches:` section applies to scale-up switches."""
    given = {name: getattr(section, name) for name in CLASSIFYING if getattr(section, name) is not None}
    return SwitchSettings.model_validate(default_tree("asic")["switches"]).model_copy(update=given)


def unit_bytes(scenario: Scenario) -> int:
    """Payload of a packet on scale-up links."""
    spec = scenario.topology
    if isinstance(spec, LeafSpineSpec | RailSpec | ServerSpec) and spec.scale_up is not None:
        return spec.scale_up.unit_bytes
    return DEFAULT_UNIT_BYTES


def scale_up_ports(fabric: Fabric, ports: Sequence[PortParams], frame: FrameParams, unit: int) -> Sequence[PortParams]:
    """`ports` with those of scale-up links: frames cost their payload, and devices add no latency to the links'."""
    largest = frame.data_header_bytes + frame.reth_bytes + unit
    return [
        replace(
            mine,
            overhead_bytes=-frame.data_header_bytes,
            latency_ps=0,
            flow_control=replace(mine.flow_control, response_ps=0),
            mtu_bytes=max(mine.mtu_bytes, largest),
        )
        if fabric.is_scale_up(port)
        else mine
        for port, mine in enumerate(ports)
    ]


def with_units(fabric: Fabric, pairs: QueuePairs, frame: FrameParams, unit: int) -> QueuePairs:
    """`pairs` with the payload of a packet: `unit` inside servers."""
    inside = np.array([fabric.is_scale_up(port.id) for port in fabric.ports], np.bool_)[pairs.port]
    return replace(pairs, payload_bytes=np.where(inside, unit, frame.payload_bytes).astype(np.int64))


def scale_up_problems(scenario: Scenario, path: str) -> list[Problem]:
    """Sections that scale-up domains cannot be combined with."""
    found: list[tuple[str, str, str]] = []
    if scenario.routing == "bgp":
        found.append(("routing", "bgp is not modelled beside scale-up links", "use routing: shortest-path"))
    if scenario.vxlan is not None:
        found.append(("vxlan", "an overlay is not modelled beside scale-up links", "remove vxlan, or scale_up"))
    if scenario.model == "hpcc-ns3":
        found.append(("model", "hpcc-ns3 has no scale-up links", "use model: asic, or remove scale_up"))
    return [Problem(f"{path}{where}", text, hint) for where, text, hint in found]
