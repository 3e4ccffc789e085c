"""Recorded cases of the public HPCC simulator: a JSON file with all parameters and flows -> something that plays.

Units are in the field names. Switches and hosts keep the simulator's node numbers for addresses and hash seeds; ids
here are the same where hosts come first, as in all topologies of that simulator.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from fabric.errors import FabricError, InputErrors, Problem
from fabric.reading import MIB, read_text
from fabric.scenario.hpcc import PS_PER_NS, Acks, Flows, HpccSettings, aside_bytes, engine_params
from fabric.state.params import DcqcnParams, EcnParams, EngineParams
from fabric.topology.assemble import assemble
from fabric.topology.model import Fabric, LinkSpec, NodeSpec, Role
from fabric.units import PS_PER_US

_ACKS: Final[dict[str, Acks]] = {"stock": "stock", "q0": "strict", "q3": "data-class"}
MAX_BYTES: Final = 64 * MIB
"""Of a case file; the recorded ones have some kilobytes."""
_M: Final = 10**6


@dataclass(frozen=True)
class Case:
    """One recorded case, ready to play."""

    name: str
    description: str
    fabric: Fabric
    params: EngineParams
    flow_ids: tuple[int, ...]
    """The simulator's id of each message."""
    stop_ps: int
    """The simulator's stop time."""
    deterministic: bool
    """No marking, or marking without chance: no coin decides anything."""


def read_case(path: Path) -> Case:
    """The case in a file.

    Raises: InputErrors naming the file and the field, FabricError where the file is no JSON.
    """
    try:
        raw = json.loads(read_text(path, MAX_BYTES, missing="give a case file of the reference simulator"))
    except (ValueError, RecursionError) as error:
        raise FabricError(f"{path}: is no JSON: {error}", "give a case file of the reference simulator") from error
    try:
        return make_case(raw)
    except KeyError as error:
        raise InputErrors("reading the case", [Problem(f"{path}: {error.args[0]}", "is missing",
                                                       "see the recorded cases for the form")]) from error
    except InputErrors as error:
        raise InputErrors(error.stage, [Problem(f"{path}: {it.path}", it.text, it.hint) for it in error.problems]) \
            from error


def make_case(raw: dict[str, Any], *, seed: int = 1) -> Case:
    """The case of plain data.

    Raises: InputErrors for values this model cannot play, KeyError for a missing field.
    """
    problems = list(_problems(raw))
    if problems:
        raise InputErrors("reading the case", problems)
    fabric, number_of = _fabric(raw)
    settings = _settings(raw)
    for node in fabric.switches:
        if aside_bytes(fabric, settings, node) >= settings.buffer_bytes:
            raise InputErrors("reading the case", [Problem(
                "switch.buffer_bytes", f"{settings.buffer_bytes} B do not hold headroom and reserve of the "
                f"{node.n_ports} ports of {node.name}", "give a larger buffer")])
    id_of = {number: node for node, number in enumerate(number_of)}
    flows = raw["flows"]
    columns = Flows(
        src=np.array([id_of[flow["src"]] for flow in flows], np.int64),
        dst=np.array([id_of[flow["dst"]] for flow in flows], np.int64),
        size_bytes=np.array([flow["size_bytes"] for flow in flows], np.int64),
        # Recorded starts are the simulator's own nanoseconds, written as seconds.
        start_ps=np.array([round(flow["start_s"] * 1e9) * PS_PER_NS for flow in flows], np.int64),
        labels=[str(flow["id"]) for flow in flows])
    ecn = raw["switch"]["ecn"]
    return Case(
        name=raw["case"], description=raw.get("description", ""), fabric=fabric,
        params=engine_params(fabric, settings, columns, seed, number_of), flow_ids=tuple(flow["id"] for flow in flows),
        stop_ps=round(raw["sim_stop_s"] * 1e9) * PS_PER_NS,
        deterministic=not ecn["enabled"] or ecn["kmin_bytes"] == ecn["kmax_bytes"])


def _problems(raw: dict[str, Any]) -> list[Problem]:
    found = []
    host, packet = raw["host"], raw["packet"]
    if host["ack_mode"] not in _ACKS:
        found.append(Problem("host.ack_mode", f"'{host['ack_mode']}' is unknown", f"one of {', '.join(_ACKS)}"))
    if not str(host["window"]).startswith("none"):
        found.append(Problem("host.window", f"'{host['window']}': recorded windows are not read",
                             "write a scenario with model: hpcc-ns3 and transport.window"))
    for field, known in (("data_header_bytes", 48), ("ack_nack_total_bytes", 60), ("pfc_frame_total_bytes", 43)):
        if packet[field] != known:
            found.append(Problem(f"packet.{field}", f"{packet[field]} is not the simulator's {known}", "record anew"))
    for field in ("buffer_bytes", "reserve_per_port_bytes", "headroom_per_port_bytes", "xon_offset_bytes"):
        value = raw["switch"][field]
        if not isinstance(value, int) or value < 0:
            found.append(Problem(f"switch.{field}", f"{value!r} is no number of bytes", "one number for all ports"))
    nodes = {*range(raw["topology"]["hosts"] + len(raw["topology"]["switch_nodes"]))}
    hosts = nodes - set(raw["topology"]["switch_nodes"])
    for place, flow in enumerate(raw["flows"]):
        if flow["src"] not in hosts or flow["dst"] not in hosts or flow["src"] == flow["dst"]:
            found.append(Problem(f"flows[{place}]", f"from {flow['src']} to {flow['dst']} is no pair of hosts",
                                 "name two different hosts"))
        if flow["size_bytes"] < 1:
            found.append(Problem(f"flows[{place}].size_bytes", f"{flow['size_bytes']} bytes", "give at least 1"))
    if not raw["flows"]:
        found.append(Problem("flows", "there is none", "give one"))
    return found


def _fabric(raw: dict[str, Any]) -> tuple[Fabric, list[int]]:
    """The fabric, and the simulator's number of each node."""
    topology = raw["topology"]
    switches = sorted(topology["switch_nodes"])
    hosts = [node for node in range(topology["hosts"] + len(switches)) if node not in set(switches)]
    nodes = [NodeSpec(f"n{node}", Role.HOST, 0) for node in hosts]
    nodes += [NodeSpec(f"n{node}", Role.SWITCH, -1) for node in switches]
    links = [LinkSpec(f"n{link['a']}", f"n{link['b']}", link["rate_bps"], link["prop_delay_ns"] * PS_PER_NS)
             for link in topology["links"]]
    return assemble(raw["case"], nodes, links), hosts + switches


def _settings(raw: dict[str, Any]) -> HpccSettings:
    switch, dcqcn = raw["switch"], raw["dcqcn"]
    ecn = None
    if switch["ecn"]["enabled"]:
        ecn = EcnParams(switch["ecn"]["kmin_bytes"], switch["ecn"]["kmax_bytes"], switch["ecn"]["pmax"])
    return HpccSettings(
        buffer_bytes=switch["buffer_bytes"], ecn=lambda _: ecn, acks=_ACKS[raw["host"]["ack_mode"]],
        payload_bytes=raw["packet"]["payload_max_bytes"], reserve_bytes=switch["reserve_per_port_bytes"],
        xon_offset_bytes=switch["xon_offset_bytes"], headroom_bytes=switch["headroom_per_port_bytes"],
        dcqcn=DcqcnParams(
            gain_ratio=dcqcn["EWMA_GAIN"], alpha_timer_ps=int(dcqcn["ALPHA_RESUME_INTERVAL_us"]) * PS_PER_US,
            decrease_interval_ps=int(dcqcn["RATE_DECREASE_INTERVAL_us"]) * PS_PER_US,
            increase_timer_ps=int(dcqcn["RP_TIMER_us"]) * PS_PER_US, byte_counter_bytes=0,
            fast_recovery_steps=dcqcn["FAST_RECOVERY_TIMES"], additive_bps=int(dcqcn["RATE_AI_Mbps"] * _M),
            hyper_bps=int(dcqcn["RATE_HAI_Mbps"] * _M), min_rate_bps=int(dcqcn["MIN_RATE_Mbps"] * _M),
            clamp_target=bool(dcqcn["CLAMP_TARGET_RATE"]), initial_alpha_ratio=1.0, cnp_interval_ps=0, cnp_delay_ps=0))


def with_seed(case: Case, seed: int) -> Case:
    """The same case with other coins."""
    return replace(case, params=replace(case.params, seed=seed))

