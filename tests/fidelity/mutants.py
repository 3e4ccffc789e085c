"""Mutants: for every row of theory a deliberate defect of the engine that must make the row fail.

A mutant changes the engine's parameters or its dated edits after the row has computed its expectation from the
scenario; rows that run no engine get a wrong formula. `part` is enough of a slow row for the mutant to show.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pytest

from fabric.controlplane.evpn import evpn_attributes
from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.engine.edits import PauseStorm
from fabric.dataplane.state.codes import FIVE_TUPLE, CongestionControl, LoadBalance, Recovery, RouteChoice, WatchdogRule
from fabric.dataplane.state.params import EngineParams, SourceRouteParams
from fabric.scenario.presets.dcqcn import DCQCN_PRESETS
from fabric.verify.fidelity import (
    closed_forms,
    experiment,
    v02_headroom,
    v06_fixed_point,
    v07_stability,
    v09_victim,
    v10_hpcc_fabric,
    v12_recovery,
    v13_loop,
    v14_cycle,
    v16_ecmp,
    v17_bmwg,
    v18_control,
    v19_balancing,
)
from fabric.verify.fidelity.table import Finding

Patch = Callable[[pytest.MonkeyPatch], None]
MS: Final = 10**9


@dataclass(frozen=True)
class Mutant:
    """One defect."""

    what: str
    apply: Patch
    part: Callable[[], Sequence[Finding]] | None = None
    """None: the whole row."""


def params(change: Callable[[EngineParams], EngineParams]) -> Patch:
    """The engine runs with changed parameters."""

    def apply(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(
            experiment, "Emulator", lambda fabric, made, edits, **more: Emulator(fabric, change(made), edits, **more)
        )

    return apply


def edits(change: Callable[[Any], Any]) -> Patch:
    """The engine runs with changed edits."""

    def apply(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(
            experiment,
            "Emulator",
            lambda fabric, made, dated, **more: Emulator(fabric, made, [change(edit) for edit in dated], **more),
        )

    return apply


def transport(**changes: Any) -> Patch:  # noqa: ANN401  as TransportParams takes them
    return params(lambda it: replace(it, transport=replace(it.transport, **changes)))


def dcqcn(change: Callable[[Any], dict[str, Any]]) -> Patch:
    """Other DCQCN parameters."""
    return params(
        lambda it: replace(
            it, transport=replace(it.transport, dcqcn=replace(it.transport.dcqcn, **change(it.transport.dcqcn)))
        )
    )


def switches(change: Callable[[Any], dict[str, Any]]) -> Patch:
    return params(
        lambda it: replace(
            it, switches={node: replace(switch, **change(switch)) for node, switch in it.switches.items()}
        )
    )


def ports(change: Callable[[Any], dict[str, Any]]) -> Patch:
    return params(lambda it: replace(it, ports=[replace(port, **change(port)) for port in it.ports]))


def flow_control(change: Callable[[Any], dict[str, Any]]) -> Patch:
    return ports(lambda port: {"flow_control": replace(port.flow_control, **change(port.flow_control))})


def groups(change: Callable[[Any], dict[str, Any]]) -> Patch:
    return ports(lambda port: {"pgs": tuple(replace(pg, **change(pg)) for pg in port.pgs)})


def marking(change: Callable[[Any], dict[str, Any]]) -> Patch:
    return ports(
        lambda port: {
            "queues": tuple(
                replace(queue, ecn=None if queue.ecn is None else replace(queue.ecn, **change(queue.ecn)))
                for queue in port.queues
            )
        }
    )


def watchdog(**changes: Any) -> Patch:  # noqa: ANN401
    return switches(
        lambda it: {
            "watchdog": None
            if it.watchdog is None
            else replace(it.watchdog, **{field: value(it.watchdog) for field, value in changes.items()})
        }
    )


def _longer_cable(patch: pytest.MonkeyPatch) -> None:
    real = closed_forms.make_case

    def wrong(raw: dict[str, Any]) -> Any:  # noqa: ANN401
        links = [{**link, "prop_delay_ns": link["prop_delay_ns"] + 1} for link in raw["topology"]["links"]]
        return real({**raw, "topology": {**raw["topology"], "links": links}})

    patch.setattr(closed_forms, "make_case", wrong)


def _small_packets(patch: pytest.MonkeyPatch) -> None:
    real = v02_headroom.vendor_row
    patch.setattr(v02_headroom, "vendor_row", lambda *args, **more: real(*args, **more, small_percent=50))


def _without_tags(patch: pytest.MonkeyPatch) -> None:
    real = v14_cycle.buffer_dependency_cycles
    patch.setattr(v14_cycle, "buffer_dependency_cycles", lambda paths, _tags=None: real(paths))


def scenario(module: Any, *sets: str) -> Patch:  # noqa: ANN401  a module of rows
    """The whole row sees another scenario: for rows whose expectation does not come from it."""

    def apply(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(module, "compiled", lambda name, *more: experiment.compiled(name, *more, *sets))

    return apply


def _moves_do_not_count(patch: pytest.MonkeyPatch) -> None:
    real = evpn_attributes.mobility
    patch.setattr(evpn_attributes, "mobility", lambda sequence, *, sticky=False: real(min(sequence, 1), sticky=sticky))


NO_PFC: Final = flow_control(lambda _: {"classes": 0})
LESS_INCREASE: Final = dcqcn(lambda it: {"additive_bps": it.additive_bps // 4})
MORE_INCREASE: Final = dcqcn(lambda it: {"additive_bps": it.additive_bps * 4})
NEVER_RAISED: Final = dcqcn(lambda _: {"increase_timer_ps": 10**15, "byte_counter_bytes": 0})
LATE_TIMER: Final = dcqcn(lambda it: {"increase_timer_ps": 10 * it.increase_timer_ps})
NO_ADDITIVE: Final = dcqcn(lambda _: {"additive_bps": 0, "hyper_bps": 0})
NO_CUTS: Final = dcqcn(lambda _: {"least_kept_ratio": 1.0})
OTHER_CLAMP: Final = dcqcn(lambda it: {"clamp_target": not it.clamp_target})
NO_WINDOW: Final = transport(window_bytes=0)
NO_DELAY: Final = dcqcn(lambda _: {"cnp_delay_ps": 0})
SLOW_TIMER: Final = dcqcn(lambda it: {"increase_timer_ps": 2 * it.increase_timer_ps})
ONE_PORT: Final = params(
    lambda it: replace(
        it, queue_pairs=replace(it.queue_pairs, src_udp_port=np.full_like(it.queue_pairs.src_udp_port, 50_000))
    )
)
WIDE_GAPS: Final = params(lambda it: replace(it, frames=replace(it.frames, wire_overhead_bytes=200)))
HALF_TTL: Final = params(lambda it: replace(it, initial_ttl=it.initial_ttl // 2))
_STEEP: Final = "40/200 KB, 10 %"
_PAPER: Final = "5/200 KB, 1 %"

MUTANTS: Final[dict[str, Sequence[Mutant]]] = {
    "closed/*": [Mutant("a nanosecond more of cable", _longer_cable)],
    "V0/default": [
        Mutant("no rate is ever raised", NEVER_RAISED),
        Mutant("alpha is never updated", dcqcn(lambda _: {"gain_ratio": 1e-9})),
    ],
    "V0/floor/*": [
        Mutant("no rate is ever raised", NEVER_RAISED),
        Mutant("cuts are ignored", NO_CUTS),
        Mutant("twice the floor", dcqcn(lambda it: {"min_rate_bps": 2 * it.min_rate_bps})),
    ],
    "V0/incast/*": [Mutant("ten times the increase timer", LATE_TIMER), Mutant("the other clamp", OTHER_CLAMP)],
    **{
        f"V0/incast/{preset}": [
            Mutant("cuts are ignored", NO_CUTS),
            Mutant(
                "half an increase timer more", dcqcn(lambda it: {"increase_timer_ps": it.increase_timer_ps * 3 // 2})
            ),
        ]
        for preset in ("mlx5", "hpcc-dcqcn", "hpcc-dcqcn-vwin", "simai", "hawkeye-deadlock", "ns3-rdma")
    },
    "V0/long/*": [Mutant("no rate is ever raised", NEVER_RAISED)],
    **{
        f"V0/long/{preset}": [Mutant("cuts are ignored", NO_CUTS)]
        for preset, it in DCQCN_PRESETS.items()
        if not it.variable_window
    },
    **{
        f"V0/long/{preset}": [Mutant("no window", NO_WINDOW)]
        for preset, it in DCQCN_PRESETS.items()
        if it.variable_window
    },
    "V1/accuracy": [Mutant("a quarter more marks", marking(lambda it: {"pmax_ratio": it.pmax_ratio * 1.25}))],
    "V1/edge": [Mutant("marks at the other end", switches(lambda it: {"mark_at_dequeue": not it.mark_at_dequeue}))],
    "V2/in-flight": [Mutant("twice the response", flow_control(lambda it: {"response_ps": 2 * it.response_ps}))],
    "V2/background": [Mutant("PAUSE is not honoured", NO_PFC)],
    "V2/formula": [Mutant("half the packets are small", _small_packets)],
    "V3/storm": [Mutant("a poll more", watchdog(detection_ps=lambda it: it.detection_ps + it.poll_ps))],
    "V3/real-time": [Mutant("a poll more", watchdog(restoration_ps=lambda it: it.restoration_ps + it.poll_ps))],
    "V3/blind": [Mutant("a rule that counts what is paused at the poll", watchdog(rule=lambda _: WatchdogRule.CISCO))],
    "V3/no-flap": [Mutant("one priority is not watched", watchdog(priorities=lambda _: 1 << 3))],
    "V4/shares": [
        Mutant(
            "one queue weighs twice",
            ports(
                lambda it: {
                    "queues": tuple(
                        replace(queue, weight=2 if place == 3 else 1) for place, queue in enumerate(it.queues)
                    )
                }
            ),
        ),
        Mutant("no PFC", NO_PFC),
    ],
    "V4/storm": [Mutant("PAUSE is not honoured", NO_PFC)],
    "V4/throttle": [Mutant("a shorter pause time", edits(lambda it: replace(it, quanta=it.quanta * 9 // 10)))],
    "V4/many-to-one": [Mutant("no PFC", NO_PFC)],
    "V5": [Mutant("a kilobyte more", groups(lambda it: {"static_th_bytes": it.static_th_bytes + 1000}))],
    "V6/quick": [
        Mutant("R_AI x 4", MORE_INCREASE),
        Mutant("R_AI / 4", LESS_INCREASE),
        Mutant("twice the increase timer", SLOW_TIMER),
    ],
    "V6/steep": [
        Mutant("R_AI x 4", MORE_INCREASE, lambda: v06_fixed_point.settled([_STEEP], [8])),
        Mutant("R_AI / 4", LESS_INCREASE, lambda: v06_fixed_point.settled([_STEEP], [8])),
    ],
    "V6/paper": [
        Mutant("R_AI x 4", MORE_INCREASE, lambda: v06_fixed_point.settled([_PAPER], [2])),
        Mutant("R_AI / 4", LESS_INCREASE, lambda: v06_fixed_point.settled([_PAPER], [2])),
    ],
    "V6/algorithm": [Mutant("R_AI x 4", MORE_INCREASE), Mutant("R_AI / 4", LESS_INCREASE)],
    "V6/equations": [
        Mutant("R_AI x 4", MORE_INCREASE, lambda: v06_fixed_point.equations([_STEEP], [10])),
        Mutant("R_AI / 4", LESS_INCREASE, lambda: v06_fixed_point.equations([_STEEP], [10])),
        Mutant(
            "marks cut as the equations want",
            dcqcn(lambda it: {"increase_timer_ps": it.increase_timer_ps * 3 // 2}),
            lambda: v06_fixed_point.equations([_STEEP], [10]),
        ),
    ],
    "V7/equations": [Mutant("no feedback delay", NO_DELAY, lambda: v07_stability.equations([10]))],
    "V7/many-flows": [Mutant("no feedback delay", NO_DELAY)],
    "V7/algorithm": [Mutant("no feedback delay", NO_DELAY, lambda: v07_stability.algorithm([10]))],
    "V7/waiting": [Mutant("no feedback delay", NO_DELAY)],
    "V8/pfc": [Mutant("no PFC", NO_PFC)],
    "V8/dcqcn": [Mutant("no congestion control", transport(congestion_control=CongestionControl.NONE))],
    "V9/victim": [Mutant("no PFC", NO_PFC, lambda: v09_victim.without_control(6))],
    "V9/victim-dcqcn": [
        Mutant(
            "no congestion control",
            transport(congestion_control=CongestionControl.NONE),
            lambda: v09_victim.with_control(12),
        )
    ],
    "V9/innocent": [Mutant("no marks", marking(lambda _: {"kmin_bytes": 10**9, "kmax_bytes": 2 * 10**9}))],
    "V10": [Mutant("no window", transport(window_bytes=0), lambda: v10_hpcc_fabric.compare(0.3))],
    "V11": [Mutant("go-back-N without a window", transport(window_bytes=0, recovery=Recovery.GO_BACK_N))],
    "V12/go-back-n": [
        Mutant(
            "half as many losses again",
            edits(lambda it: replace(it, bit_error_ratio=1.5 * it.bit_error_ratio)),
            lambda: [v12_recovery.efficiency(64)],
        )
    ],
    "V12/go-back-0": [Mutant("goes back to the loss", transport(recovery=Recovery.GO_BACK_N))],
    "V13/quick": [Mutant("half the TTL", HALF_TTL)],
    "V13": [Mutant("half the TTL", HALF_TTL, lambda: v13_loop.findings(20))],
    "V14/cycle": [Mutant("hardly any buffer", groups(lambda it: {"static_th_bytes": it.static_th_bytes // 50}))],
    "V14/deadlock": [Mutant("no PFC", NO_PFC)],
    "V14/watchdog": [Mutant("no watchdog", switches(lambda _: {"watchdog": None}))],
    "V14/static": [Mutant("tags do not separate", _without_tags)],
    "V15/hold": [
        Mutant(
            "a shorter pause time", edits(lambda it: replace(it, quanta=60_000) if isinstance(it, PauseStorm) else it)
        )
    ],
    "V15/climb": [
        Mutant(
            "5 % more memory",
            switches(
                lambda it: {"pools": tuple(replace(pool, size_bytes=pool.size_bytes * 21 // 20) for pool in it.pools)}
            ),
        )
    ],
    "V15/blast": [Mutant("no PFC", NO_PFC)],
    "V15/alpha": [
        Mutant("the old alpha in both", groups(lambda it: {"dynamic_th": None if it.dynamic_th is None else -4}))
    ],
    "V16/quick": [Mutant("all queue pairs have one source port", ONE_PORT)],
    "V16/hash": [Mutant("all queue pairs have one source port", ONE_PORT, lambda: v16_ecmp.drawn(8, 16))],
    "V16/simulated": [Mutant("longer gaps on the wire", WIDE_GAPS)],
    "V16/polarisation": [Mutant("one seed everywhere", switches(lambda _: {"hash_seed": 7}))],
    "V17/incast": [
        Mutant("no PFC", NO_PFC),
        Mutant("longer gaps on the wire", WIDE_GAPS, lambda: v17_bmwg.incast([2])),
    ],
    "V17/spread": [Mutant("all queue pairs have one source port", ONE_PORT, lambda: v17_bmwg.spread([8]))],
    "V17/convergence": [Mutant("no additive increase", NO_ADDITIVE, lambda: v17_bmwg.convergence([16]))],
    "V17/job": [Mutant("longer gaps on the wire", WIDE_GAPS)],
    "V17/deadlock": [Mutant("no PFC", NO_PFC, lambda: v17_bmwg.deadlock(1))],
    "V19/fullest": [
        Mutant("switches hash instead of spraying", switches(lambda _: {"load_balance": LoadBalance.ECMP}))
    ],
    "V19/queue-pairs": [
        Mutant(
            "switches do not hash the queue pair",
            switches(lambda _: {"hash_fields": int(FIVE_TUPLE)}),
            lambda: v19_balancing.scaling(range(1, 3)),
        )
    ],
    "V19/throughput": [
        Mutant(
            "switches hash instead of spraying",
            switches(lambda _: {"load_balance": LoadBalance.ECMP}),
            v19_balancing.balanced,
        )
    ],
    "V19/source-routes": [
        Mutant(
            "NICs withdraw routes 5 % later",
            params(lambda it: replace(it, source_routes=SourceRouteParams(RouteChoice.PACKET, 210 * 10**6))),
        ),
        Mutant(
            "packets of a queue pair keep one route",
            params(lambda it: replace(it, source_routes=SourceRouteParams(RouteChoice.QUEUE_PAIR, 200 * 10**6))),
        ),
        Mutant(
            "no outer header",
            params(
                lambda it: replace(it, frames=replace(it.frames, data_header_bytes=it.frames.data_header_bytes - 40))
            ),
        ),
    ],
    "V19/nic-ports": [
        Mutant(
            "NICs withdraw routes 5 % later",
            params(lambda it: replace(it, source_routes=SourceRouteParams(RouteChoice.PACKET, 105 * 10**6))),
        ),
        Mutant(
            "a queue pair keeps one port",
            params(lambda it: replace(it, source_routes=SourceRouteParams(RouteChoice.QUEUE_PAIR, 100 * 10**6))),
        ),
    ],
    "V18/routes": [
        Mutant(
            "a leaf without hosts of the VNI",
            scenario(
                v18_control,
                "vxlan.tenants=[{name: a, vni: 10, hosts: ['host[1-6]']}, {name: b, vni: 20, hosts: ['host[78]']}]",
                "workload[0].targets=[host3]",
            ),
        )
    ],
    "V18/broadcast": [
        Mutant(
            "leaves do not answer",
            params(
                lambda it: replace(
                    it,
                    vxlan=replace(
                        it.vxlan, segments=tuple(replace(segment, suppress_arp=False) for segment in it.vxlan.segments)
                    ),
                )
            ),
        )
    ],
    "V18/moves": [Mutant("only the first move is counted", _moves_do_not_count)],
    "V18/convergence": [Mutant("twice the delay of an update", scenario(v18_control, "bgp.update_delay=100ms"))],
}
"""Row id -> its mutants."""
