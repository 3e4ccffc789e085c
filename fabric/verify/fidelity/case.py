"""Recorded cases of the public HPCC simulator: a JSON file with all parameters and flows -> a run of the engine.

Units are in the field names. Switches and hosts keep the simulator's node numbers for addresses and hash seeds; ids
here are the same where hosts come first, as in all topologies of that simulator.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from fabric.dataplane.state.params import EcnParams, EngineParams
from fabric.errors import FabricError, InputErrors, Problem
from fabric.reading import MIB
from fabric.scenario.presets.ns3_rdma import (
    PS_PER_NS,
    Acks,
    Flows,
    Ns3RdmaSettings,
    aside_bytes,
    distances_to,
    engine_params,
    largest_distance,
)
from fabric.topology.builders.assemble import assemble
from fabric.topology.model import Fabric, LinkSpec, NodeSpec, Role
from fabric.verify.fidelity.case_control import control_problems, draws, frame_bytes, written_control
from fabric.verify.fidelity.case_files import plain_text

_ACKS: Final[dict[str, Acks]] = {"stock": "stock", "q0": "strict", "q3": "data-class"}
MAX_BYTES: Final = 64 * MIB
"""Size limit of a case file; recorded ones have some kilobytes."""


@dataclass(frozen=True)
class Case:
    """One recorded case, ready to run."""

    name: str
    description: str
    fabric: Fabric
    params: EngineParams
    flow_ids: tuple[int, ...]
    """The simulator's id of each message."""
    stop_ps: int
    """The simulator's stop time."""
    deterministic: bool
    """No marking, or deterministic marking: no random number is used."""


def read_case(path: Path) -> Case:
    """The case in a file.

    Raises: InputErrors naming the file and the field, FabricError where the file is no JSON.
    """
    try:
        raw = json.loads(plain_text(path, MAX_BYTES, "give a case file of the reference simulator"))
    except (ValueError, RecursionError) as error:
        raise FabricError(f"{path}: is no JSON: {error}", "give a case file of the reference simulator") from error
    try:
        return make_case(raw)
    except KeyError as error:
        raise InputErrors(
            "reading the case",
            [Problem(f"{path}: {error.args[0]}", "is missing", "see the recorded cases for the form")],
        ) from error
    except InputErrors as error:
        raise InputErrors(
            error.stage, [Problem(f"{path}: {it.path}", it.text, it.hint) for it in error.problems]
        ) from error


def make_case(raw: dict[str, Any], *, seed: int = 1) -> Case:
    """The case from plain data.

    Raises: InputErrors for values that this model does not support, KeyError for a missing field.
    """
    problems = list(_problems(raw))
    if problems:
        raise InputErrors("reading the case", problems)
    fabric, number_of = _fabric(raw)
    settings = _settings(raw, fabric)
    for node in fabric.switches:
        if aside_bytes(fabric, settings, node) >= settings.buffer_bytes:
            raise InputErrors(
                "reading the case",
                [
                    Problem(
                        "switch.buffer_bytes",
                        f"{settings.buffer_bytes} B do not hold headroom and reserve of the "
                        f"{node.n_ports} ports of {node.name}",
                        "give a larger buffer",
                    )
                ],
            )
    id_of = {number: node for node, number in enumerate(number_of)}
    flows = raw["flows"]
    start_ns = _start_ns if "cc" in raw else _rounded_ns
    columns = Flows(
        src=np.array([id_of[flow["src"]] for flow in flows], np.int64),
        dst=np.array([id_of[flow["dst"]] for flow in flows], np.int64),
        size_bytes=np.array([flow["size_bytes"] for flow in flows], np.int64),
        start_ps=np.array([start_ns(flow["start_s"]) * PS_PER_NS for flow in flows], np.int64),
        labels=[str(flow["id"]) for flow in flows],
    )
    if raw.get("cc", {}).get("GLOBAL_T", 1) == 0:
        columns = _with_own_windows(columns, fabric, settings)
    return Case(
        name=raw["case"],
        description=raw.get("description", ""),
        fabric=fabric,
        params=engine_params(fabric, settings, columns, seed, number_of),
        flow_ids=tuple(flow["id"] for flow in flows),
        stop_ps=round(raw["sim_stop_s"] * 1e9) * PS_PER_NS,
        deterministic=not draws(raw),
    )


def _rounded_ns(start_s: float) -> int:
    """Of recordings whose starts are the simulator's own nanoseconds, written as seconds."""
    return round(start_s * 1e9)


def _start_ns(start_s: float) -> int:
    """Of recordings whose starts are those of the flow file: truncated twice, as the simulator does."""
    return (int(start_s * 2.0**64) * 10**9) >> 64


def _with_own_windows(flows: Flows, fabric: Fabric, settings: Ns3RdmaSettings) -> Flows:
    """GLOBAL_T 0: every flow has the window and round trip of its pair of hosts."""
    reached = {dst: distances_to(fabric, fabric.nodes[dst], settings.payload_bytes) for dst in set(flows.dst.tolist())}
    mine = [reached[dst][src] for src, dst in zip(flows.src.tolist(), flows.dst.tolist(), strict=True)]
    return replace(
        flows,
        window_bytes=np.array([it.window_bytes for it in mine], np.int64),
        base_rtt_ns=np.array([it.rtt_ns for it in mine], np.int64),
    )


def _problems(raw: dict[str, Any]) -> list[Problem]:
    found = []
    host, packet = raw["host"], raw["packet"]
    if host["ack_mode"] not in _ACKS:
        found.append(Problem("host.ack_mode", f"'{host['ack_mode']}' is unknown", f"one of {', '.join(_ACKS)}"))
    found += control_problems(raw)
    if "cc" not in raw and not str(host["window"]).startswith("none"):
        found.append(
            Problem(
                "host.window",
                f"'{host['window']}': recorded windows are not read",
                "write a scenario with model: hpcc-ns3 and transport.window",
            )
        )
    data_bytes, ack_bytes = frame_bytes(raw)
    for field, known in (
        ("data_header_bytes", data_bytes),
        ("ack_nack_total_bytes", ack_bytes),
        ("pfc_frame_total_bytes", 43),
    ):
        if packet[field] != known:
            found.append(
                Problem(f"packet.{field}", f"{packet[field]} is not the simulator's {known}", "record it again")
            )
    for field in ("buffer_bytes", "reserve_per_port_bytes", "headroom_per_port_bytes", "xon_offset_bytes"):
        value = raw["switch"][field]
        if not isinstance(value, int) or value < 0:
            found.append(Problem(f"switch.{field}", f"{value!r} is no number of bytes", "one number for all ports"))
    nodes = {*range(raw["topology"]["hosts"] + len(raw["topology"]["switch_nodes"]))}
    hosts = nodes - set(raw["topology"]["switch_nodes"])
    for place, flow in enumerate(raw["flows"]):
        if flow["src"] not in hosts or flow["dst"] not in hosts or flow["src"] == flow["dst"]:
            found.append(
                Problem(
                    f"flows[{place}]",
                    f"from {flow['src']} to {flow['dst']} is no pair of hosts",
                    "name two different hosts",
                )
            )
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
    links = [
        LinkSpec(f"n{link['a']}", f"n{link['b']}", link["rate_bps"], link["prop_delay_ns"] * PS_PER_NS)
        for link in topology["links"]
    ]
    return assemble(raw["case"], nodes, links), hosts + switches


def _settings(raw: dict[str, Any], fabric: Fabric) -> Ns3RdmaSettings:
    switch, ecn = raw["switch"], raw["switch"]["ecn"]
    payload = raw["packet"]["payload_max_bytes"]
    control = written_control(raw, largest_distance(fabric, payload))
    return Ns3RdmaSettings(
        buffer_bytes=switch["buffer_bytes"],
        ecn=(lambda rate_bps: _curve(ecn, rate_bps)) if ecn["enabled"] else lambda _: None,
        acks=_ACKS[raw["host"]["ack_mode"]],
        payload_bytes=payload,
        reserve_bytes=switch["reserve_per_port_bytes"],
        xon_offset_bytes=switch["xon_offset_bytes"],
        # The simulator has a headroom for each speed and delay; older recordings name their only one.
        headroom_bytes=None if "cc" in raw else switch["headroom_per_port_bytes"],
        control=control.law,
        window_bytes=control.window_bytes,
        variable_window=control.variable_window,
    )


def _curve(ecn: dict[str, Any], rate_bps: int) -> EcnParams:
    """Marking of a port: that of its speed, where speeds differ."""
    own = ecn.get("by_rate_bps", {}).get(str(rate_bps), ecn)
    return EcnParams(own["kmin_bytes"], own["kmax_bytes"], own["pmax"])


def with_seed(case: Case, seed: int) -> Case:
    """The same case with other random numbers."""
    return replace(case, params=replace(case.params, seed=seed))
