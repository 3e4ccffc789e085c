"""Changes of a run's scenario that take away one kind of cause of a slow step, for counterfactual.py.

Each is a change of what the engine is given, so it works for any file of the scenario; only spraying and the rates of
cables are settings, on which buffers and marking depend.

stragglers    the computations of ranks that are named as stragglers take the median of their peers
rate-cuts     congestion control never cuts a rate
pauses        no port sends or obeys PFC, and the buffers of switches and hosts are too large to fill
collisions    switches spray packets over equal-cost paths, and receivers take them in any order
slow-links    cables keep their speed, and those that are slower than their peers have the rate of these
losses        cables have no bit errors, and no port discards frames that a fault names
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from fabric.dataplane.engine.edits import DropEvery, Edit, LinkErrors, LinkRate, PauseStorm
from fabric.dataplane.state.codes import CongestionControl
from fabric.dataplane.state.params import PortParams, SwitchParams
from fabric.explain.step import MIN_PEERS, Straggler
from fabric.scenario.compile.scenario import CompiledScenario
from fabric.topology.model import Fabric, Role
from fabric.topology.peer_rates import peer_rates, slow_cables
from fabric.topology.quantities import exact_length, exact_rate, exact_time
from fabric.topology.spec import PS_PER_MM
from fabric.units import listed

UNLIMITED_BYTES: Final = 1 << 44
"""Of a buffer that never fills."""


@dataclass(frozen=True)
class Variation:
    """One kind of cause, and the run without it."""

    word: str
    """As --without takes it."""
    text: str
    """What is changed."""
    setting: Callable[[dict[str, Any]], None] | None = None
    """Changes the resolved scenario."""
    change: Callable[[CompiledScenario], CompiledScenario] | None = None
    """Changes what the engine is given."""


def variations(stragglers: Sequence[Straggler], fabric: Fabric | None = None) -> Mapping[str, Variation]:
    """All of them by their words; `stragglers` of the explained part; `fabric` of the run, None: its rates stay."""
    names = ", ".join(f"rank {it.rank} ({it.host})" for it in stragglers[:3])
    more = f" and {len(stragglers) - 3} more" if len(stragglers) > 3 else ""
    slower = slow_cables(fabric) if fabric is not None else []
    than_peers = f", or than their peers ({listed([it.device for it in slower], 3)})" if slower else ""
    found = (
        Variation("stragglers", f"{names}{more} computing as their peers", change=lambda it: _even(it, stragglers)),
        Variation("rate-cuts", "rate cuts of congestion control", change=_without_rate_cuts),
        Variation("pauses", "PFC pauses, with buffers that never fill", change=_without_pauses),
        Variation("collisions", "ECMP collisions: packets sprayed, any order accepted", setting=_sprayed),
        Variation(
            "slow-links",
            f"cables slower than their speed{than_peers}",
            setting=_faster(fabric) if fabric is not None and slower else None,
            change=_edited(LinkRate),
        ),
        Variation("losses", "bit errors and discarded frames", change=_lossless),
    )
    return {it.word: it for it in found}


def suggested(causes: Sequence[tuple[str, int]], stragglers: Sequence[Straggler], most: int) -> list[str]:
    """Words for the first causes of a critical path, as by_cause() orders them, each once."""
    hosts = tuple(f"({it.host})" for it in stragglers)
    beginnings = (
        ("slow link", "slow-links"),
        ("pause that began", "pauses"),
        ("packets lost", "losses"),
        ("rate cut", "rate-cuts"),
        ("ECMP collision", "collisions"),
        ("queueing", "collisions"),
        ("waiting in the queue pair", "collisions"),
    )
    found: dict[str, None] = {}
    for cause, _ in causes:
        if cause.startswith("computation on") and hosts and cause.endswith(hosts):
            found["stragglers"] = None
        for beginning, word in beginnings:
            if cause.startswith(beginning):
                found[word] = None
    return list(found)[:most]


def _even(given: CompiledScenario, stragglers: Sequence[Straggler]) -> CompiledScenario:
    """Computations of stragglers take the median of their peers in the operation, or less by their factor."""
    transfers = given.params.transfers
    rows = transfers.rows
    slow = {int(given.fabric.by_name[it.host].id): it for it in stragglers}
    local = np.flatnonzero((rows.src == rows.dst) & (rows.delay_ps > 0))
    delay = rows.delay_ps.copy()
    order = local[np.argsort(rows.operation[local], kind="stable")]
    for mine in np.split(order, np.flatnonzero(np.diff(rows.operation[order])) + 1) if len(order) else []:
        peers = [row for row in mine.tolist() if int(rows.src[row]) not in slow]
        for row in mine.tolist():
            it = slow.get(int(rows.src[row]))
            if it is None:
                continue
            if len(peers) + 1 >= MIN_PEERS:
                delay[row] = min(int(np.median(rows.delay_ps[peers])), int(delay[row]))
            elif it.took_ns:
                delay[row] = int(delay[row]) * it.peers_ns // it.took_ns
    changed = replace(transfers, rows=replace(rows, delay_ps=delay))
    return replace(given, params=replace(given.params, transfers=changed))


def _without_rate_cuts(given: CompiledScenario) -> CompiledScenario:
    transport = replace(given.params.transport, congestion_control=CongestionControl.NONE)
    laws = tuple(
        replace(it, transport=replace(it.transport, congestion_control=CongestionControl.NONE))
        for it in given.params.laws
    )
    return replace(given, params=replace(given.params, transport=transport, laws=laws))


def _without_pauses(given: CompiledScenario) -> CompiledScenario:
    params, fabric = given.params, given.fabric
    links = {port.id for port in fabric.ports if not _scale_up(given, port.id)}
    params = replace(
        params,
        ports=[_without_pfc(port) if number in links else port for number, port in enumerate(params.ports)],
        switches={
            node: switch if fabric.nodes[node].role is Role.SCALE_UP else _unlimited(switch)
            for node, switch in params.switches.items()
        },
        hosts={node: replace(host, rx_buffer_bytes=UNLIMITED_BYTES) if host.rx_buffer_bytes else host
               for node, host in params.hosts.items()},
        egress_detail=False,
    )  # fmt: skip
    return replace(given, params=params, edits=_left(given.edits, PauseStorm))


def _scale_up(given: CompiledScenario, port: int) -> bool:
    """Whether a cable belongs to a scale-up network, whose pauses are its credits."""
    fabric = given.fabric
    return Role.SCALE_UP in {fabric.node_of(port).role, fabric.peer_of(port).role}


def _without_pfc(port: PortParams) -> PortParams:
    groups = tuple(replace(it, static_th_bytes=UNLIMITED_BYTES, dynamic_th=None) for it in port.pgs)
    queues = tuple(replace(it, static_th_bytes=UNLIMITED_BYTES, dynamic_th=None) for it in port.queues)
    return replace(port, flow_control=replace(port.flow_control, classes=0), pgs=groups, queues=queues)


def _unlimited(switch: SwitchParams) -> SwitchParams:
    return replace(switch, pools=tuple(replace(it, size_bytes=UNLIMITED_BYTES) for it in switch.pools))


def _sprayed(raw: dict[str, Any]) -> None:
    raw["transport"]["recovery"] = "out-of-order"
    raw["transport"].pop("source_routes", None)
    for place in (raw["switches"], *raw["switches"].get("overrides", ())):
        place.pop("flowlet_gap", None)
        place.pop("load_balancing", None)
    raw["switches"]["load_balancing"] = "spray"


def _faster(fabric: Fabric) -> Callable[[dict[str, Any]], None]:
    """Give cables that are slower than their peers the rate of these."""

    def change(raw: dict[str, Any]) -> None:
        rates = peer_rates(fabric)
        if raw["topology"]["kind"] == "custom":
            name = {"name": raw["topology"]["name"]} if "name" in raw["topology"] else {}
            raw["topology"] = {"kind": "custom", **name, **_written_out(fabric, rates)}
            return
        ends = {
            (fabric.node_of(fabric.links[link].a).name, fabric.node_of(fabric.links[link].b).name): rate
            for link, rate in rates.items()
        }
        # The shapes make equal cables between two devices, and an override is of all of them.
        own = [{"a": a, "b": b, "rate": exact_rate(rate)} for (a, b), rate in ends.items()]
        raw["topology"]["link_overrides"] = [*raw["topology"].get("link_overrides", ()), *own]

    return change


def _written_out(fabric: Fabric, rates: Mapping[int, int]) -> dict[str, Any]:
    """Every node and cable of a custom topology, some at another rate; `rates`: LinkId -> bit/s."""
    nodes = [{"name": it.name, "role": it.role.value, "group": it.group, "network": it.network} for it in fabric.nodes]
    links = []
    for link in fabric.links:
        a, b = fabric.ports[link.a], fabric.ports[link.b]
        length = (
            {"cable": exact_length(link.length_mm)}
            if link.length_mm * PS_PER_MM == link.delay_ps
            else {"delay": exact_time(link.delay_ps)}
        )
        ends = {"a": fabric.nodes[a.node].name, "b": fabric.nodes[b.node].name, "a_port": a.name, "b_port": b.name}
        links.append({**ends, "rate": exact_rate(rates.get(link.id, link.rate_bps)), **length})
    return {"nodes": nodes, "links": links}


def _edited(*kinds: type[Edit]) -> Callable[[CompiledScenario], CompiledScenario]:
    return lambda given: replace(given, edits=_left(given.edits, *kinds))


def _left(edits: Sequence[Edit], *kinds: type[Edit]) -> list[Edit]:
    return [it for it in edits if not isinstance(it, kinds)]


def _lossless(given: CompiledScenario) -> CompiledScenario:
    ports = [replace(port, bit_error_ratio=0.0) for port in given.params.ports]
    params = replace(given.params, ports=ports, drop_every={})
    return replace(given, params=params, edits=_left(given.edits, LinkErrors, DropEvery))
