"""What the tester does beside queue pairs, as a scenario has it: datagrams, PAUSE frames, a cable that goes down."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from fabric.configs.buffers.headroom import MBPS
from fabric.configs.model import Curve
from fabric.dataplane.engine.edits import PauseStorm
from fabric.proof.recipe import through
from fabric.qualify.schema import StormSpec
from fabric.theory.pause import frames_per_second_to_hold, pause_time_s
from fabric.topology.model import Fabric
from fabric.units import PS_PER_NS, PS_PER_S

if TYPE_CHECKING:
    from fabric.qualify.bench import Bench, Stream

STREAMS_START_PS: Final = 10_000_000
"""The tester's PAUSE frames are there before the datagrams, as the plans have it."""


def datagrams(bench: Bench, lasts_ps: int) -> Iterator[dict[str, Any]]:
    """Entries of a scenario's workload."""
    at = {port: host for host, port in bench.hosts.items()}
    for number, stream in enumerate(bench.streams):
        entry: dict[str, Any] = {
            "kind": "datagrams",
            "name": f"stream{number}",
            "senders": [at[stream.src]],
            "receivers": [at[stream.dst]],
            "load": stream.spec.share,
            "frame": f"{stream.spec.frame}B",
            "dscp": bench.dscps[stream.priority],
            "ect": stream.spec.ect,
            "start": f"{bench.scaled_ps(STREAMS_START_PS) // PS_PER_NS}ns",
        }
        depth = burst_bytes(bench, stream)
        if depth is None:
            ends_ps = lasts_ps if stream.spec.stops is None else bench.scaled_ps(stream.spec.stops)
            entry["stop"] = f"{ends_ps // PS_PER_NS}ns"
        else:
            entry["count"] = max(1, depth // stream.spec.frame)
        yield entry


def curve_of(bench: Bench, port: str, priority: int) -> Curve | None:
    """The marking curve of the queue that a priority leaves a port by."""
    device = bench.device
    queue = through(device, device.ports[port], "tc_to_queue", priority)
    bound = device.ports[port].queues.get(queue)
    wred = device.wreds.get((bound.wred if bound else None) or "")
    return wred.curves.get("green") if wred is not None and wred.marks else None


def burst_bytes(bench: Bench, stream: Stream) -> int | None:
    """Bytes of the burst that fills the queue to a part of its curve; None for a stream."""
    if stream.spec.fill is None:
        return None
    curve = curve_of(bench, stream.dst, stream.priority)
    return 0 if curve is None else round(curve.min_bytes + stream.spec.fill * (curve.max_bytes - curve.min_bytes))


def frames_per_s(bench: Bench, storm: StormSpec) -> float:
    """Of a storm with a rate or a duty; 0 for one without a gap."""
    if storm.rate is not None:
        return storm.rate * frames_per_second_to_hold(bench.mbps * MBPS)
    if storm.duty is not None:
        return storm.duty * frames_per_second_to_hold(bench.mbps * MBPS, storm.quanta)
    return 0.0


def pause_ps(bench: Bench, storm: StormSpec) -> float:
    """Of one frame."""
    return pause_time_s(bench.mbps * MBPS, storm.quanta) * PS_PER_S


def paused_share(bench: Bench, storm: StormSpec) -> float:
    """Of the time, while a storm lasts."""
    per_s = frames_per_s(bench, storm)
    return min(1.0, per_s * pause_ps(bench, storm) / PS_PER_S) if per_s else 1.0


def storms(bench: Bench, fabric: Fabric, longer: int) -> Iterator[PauseStorm]:
    """The PAUSE frames, as dated edits: a port that is not set to obey them gets them as well."""
    at = {port: host for host, port in bench.hosts.items()}
    for storm in bench.scenario.storms:
        classes = sum(1 << priority for priority in set(storm.priorities))
        per_s = frames_per_s(bench, storm)
        stretch = longer if storm.lasts > bench.case.times.warm_up else 1
        lasts_ps = bench.scaled_ps(storm.lasts) * stretch
        for port in bench.ports if storm.by == "all" else bench.receivers:
            host = fabric.by_name[at[port]].id
            gap_ps = round(PS_PER_S / per_s) if per_s else 0
            yield PauseStorm(bench.scaled_ps(storm.at), host, classes, lasts_ps, gap_ps, storm.quanta)


def faults(bench: Bench) -> list[dict[str, Any]]:
    """Entries of a scenario's faults."""
    found: list[dict[str, Any]] = []
    if bench.scenario.flap is not None:
        flap = bench.scenario.flap
        found.append({
            "kind": "link-flap",
            "name": "flap",
            "link": f"{bench.device.name}:{bench.streams[0].dst}",
            "at": f"{bench.scaled_ps(flap.at) // PS_PER_NS}ns",
            "down": f"{bench.scaled_ps(flap.lasts) // PS_PER_NS}ns",
            "up": "1us",
            "count": 1,
        })  # fmt: skip
    return found
