"""How large a run will be, computed before anything large is made: from the scenario, its fabric and its workloads.

Rules
1. A figure has three values. `least`: what the run takes even if nothing is ever in its way; only this refuses a run
   (admission.py). `likely`: what measured runs took. `most`: what it cannot exceed.
2. Sizes come from the specs (workload/demand.py): no message is made, no table allocated.
3. The time of a run that ends when its messages are done is the time that the busiest port needs for them;
   run.duration is only its upper bound.
4. What cannot be known before (loss, retransmission, pauses, how far congestion control slows senders down) is in
   `likely` as the mean over measured runs.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from fabric.scenario.estimate import parts
from fabric.scenario.estimate.costs import COMPILE, EVENT_CAP, LEAST_DISK_SHARE, LEAST_SHARE, MEMORY
from fabric.scenario.estimate.figures import Estimate, Figure, Share, exact, ordered
from fabric.scenario.estimate.parts import ControlPlane, Parts, control_plane, fabric_compiled, fabric_memory
from fabric.scenario.estimate.shares import of_entries, of_interval, shares
from fabric.scenario.estimate.traffic import Traffic
from fabric.scenario.schema.scenario import Scenario
from fabric.topology.model import Fabric
from fabric.topology.spec import Shape
from fabric.units import inventory

PER_HOP_ROWS: Final = 60.0
"""Values that one packet-hop may change: of its port, queue, priority group, queue pair, host and ECMP member."""
PORT_ROWS: Final = 14.0
"""Values of a port that carries traffic which change from sample to sample."""
FIRST_PAIR_ROWS: Final = 4.0
"""Values of a queue pair that are recorded once: its rate, and what it has sent."""
PAIR_ROWS: Final = 0.5
"""Values of a busy queue pair which change from sample to sample."""
FIRST_ROWS: Final = 22.0
"""Values of a port that are recorded once: rate, state, limits of its groups."""
EVENTS_PER_HOP: Final = 0.026
"""Recorded events of all categories per packet-hop, over all measured runs: half of them had none, congested ones up to
0.4."""


def fabric_estimate(scenario: Scenario, shape: Shape) -> Estimate:
    """The figures of the fabric alone: enough to decide whether it can be built."""
    memory, compiled = fabric_memory(scenario, shape), fabric_compiled(shape)
    figures = [
        _ports(shape),
        ordered("memory to compile", "bytes", compiled * LEAST_SHARE, compiled, compiled, "the fabric alone"),
        ordered("memory", "bytes", memory * LEAST_SHARE, memory, memory, "the fabric alone"),
    ]
    name = f"topology.{shape.field}" if shape.field else "topology"
    return Estimate(
        shape,
        {it.name: it for it in figures},
        {
            "memory": (Share(name, memory - MEMORY.process, shape.value),),
            "memory to compile": (Share(name, compiled - COMPILE.process, shape.value),),
        },
    )


def estimate(scenario: Scenario, fabric: Fabric, until_ps: int | None = None) -> Estimate:
    """Every figure of a run of `scenario` on `fabric`, which is built already.

    Parameters
    ----------
    until_ps : int, optional    end earlier than run.duration

    Raises: nothing; workloads with problems count as far as they can be read (Estimate.problems).
    """
    traffic = Traffic(scenario, fabric, scenario.run.duration if until_ps is None else until_ps)
    figures = {it.name: it for it in (*_sizes(traffic), *_counts(traffic))}
    control = control_plane(traffic)
    memory, disk, time = (
        parts.memory(traffic, figures, control),
        parts.disk(traffic, figures),
        parts.time(traffic, figures, control),
    )
    running = parts.disk_while_running(traffic, figures, disk, sum(part[1] for part in time.values()))
    compiled = parts.compiled(traffic, memory)
    for figure in (
        _sum("disk", "bytes", disk, LEAST_DISK_SHARE, "results"),
        _sum("disk while it runs", "bytes", running, LEAST_DISK_SHARE, "results, parts of them, and a checkpoint"),
        _sum("memory to compile", "bytes", compiled, LEAST_SHARE, "fabric and messages, before the first event"),
        _sum("memory", "bytes", memory, LEAST_SHARE, "process, fabric, messages, rows that are held"),
        _sum("time", "s", time, 1.0, "measured costs of hops, samples, rows and messages on one thread"),
    ):
        figures[figure.name] = figure
    if control.sessions:
        how = f"{control.sessions:,.0f} BGP sessions, every speaker's tables"
        figures["routes held"] = exact("routes held", "routes", control.routes, how)
    if control.events:
        figures |= {it.name: it for it in _control_figures(control)}
    longest_psn, longest_field = _longest(traffic)
    return Estimate(
        traffic.shape,
        figures,
        {
            "disk": shares(traffic, disk),
            "memory": shares(traffic, memory),
            "memory to compile": shares(traffic, compiled),
            "disk while it runs": shares(traffic, running),
            "time": shares(traffic, time),
            "messages": of_entries((it, it.demand.messages) for it in traffic.entries),
            "samples": (of_interval(traffic, figures["samples"].least),),
        },
        longest_psn,
        longest_field,
        traffic.problems,
        {name: likely for name, (_, likely, _) in time.items()},
    )


def _control_figures(control: ControlPlane) -> tuple[Figure, ...]:
    """Events of the control plane, and the routes that they change."""
    in_run, updates = sum(it.in_run for it in control.events), control.updates
    return (
        exact("control events", "events", in_run, "from faults: endpoints, cables and switches, until run.duration"),
        ordered("route changes", "routes", 0, updates, 2 * updates, "of these events, on every session"),
    )


def _ports(shape: Shape) -> Figure:
    how = inventory(shape.hosts, shape.switches, shape.cables)
    return exact("ports", "ports", 2 * shape.cables, how)


def _sum(name: str, unit: str, found: Parts, share: float, how: str) -> Figure:
    """The sum of all parts; the run takes at least `share` of their least."""
    least, likely, most = (sum(part[row] for part in found.values()) for row in range(3))
    return ordered(name, unit, least * share, likely, most, how)


def _sizes(traffic: Traffic) -> tuple[Figure, ...]:
    """Ports, messages, queue pairs, packets, packet-hops."""
    packets, requests = traffic.packets * traffic.simulated, sum(it.requests for it in traffic.requests)
    certainty = "exact" if all(it.demand.exact for it in traffic.entries) else "expected"
    fits = "" if traffic.simulated == 1 else f"; {traffic.simulated:.2g} of them before run.duration"
    mean_links = traffic.hops / max(traffic.packets, 1) / 2
    hops = _hops(traffic)
    others = [
        *([f"{requests:,.0f} ARP requests with their copies"] if requests else []),
        *([f"{traffic.datagrams:,.0f} datagrams"] if traffic.streams else []),
    ]
    return (
        _ports(traffic.shape),
        exact("messages", "messages", traffic.messages, f"{certainty}, from the workloads"),
        exact("queue pairs", "queue pairs", traffic.queue_pairs, "transport.qp"),
        ordered(
            "packets",
            "packets",
            packets,
            packets,
            packets * 2,
            f"messages cut into {traffic.payload_bytes} B, each packet sent once{fits}",
        ),
        ordered(
            "packet-hops",
            "packet-hops",
            hops,
            hops,
            hops * 2,
            f"data, ACKs and {' and '.join(others)}"
            if others
            else f"data and ACKs, {mean_links:.2g} links each on average",
        ),
    )


def _hops(traffic: Traffic) -> float:
    return traffic.hops * traffic.simulated + traffic.request_hops + traffic.datagram_hops


def _counts(traffic: Traffic) -> tuple[Figure, ...]:
    """Simulated time, samples, and rows of the results."""
    recorded, hops = traffic.scenario.telemetry, _hops(traffic)
    samples = tuple(moment / traffic.scenario.sampling_ps + 2 for moment in traffic.end_ps)
    at_once, passed = traffic.in_progress(traffic.end_ps[1] / samples[1])

    def rows(count: float) -> float:
        return (
            FIRST_ROWS * traffic.ports
            + FIRST_PAIR_ROWS * traffic.queue_pairs
            + min(count * (PORT_ROWS * passed + PAIR_ROWS * at_once), PER_HOP_ROWS * hops)
        )

    cap = EVENT_CAP * len(recorded.events)
    return (
        ordered(
            "simulated time",
            "ps",
            *traffic.end_ps,
            "the busiest port's time; likely: with congestion; at most run.duration",
        ),
        ordered("samples", "samples", samples[0], samples[1], samples[2], "simulated time / telemetry.interval"),
        ordered(
            "series rows",
            "rows",
            rows(samples[0]),
            rows(samples[1]),
            rows(samples[2]),
            f"values that change: about {PORT_ROWS:g} of each of {traffic.active_ports:,.0f} ports in use, per sample",
        ),
        ordered(
            "event rows",
            "rows",
            0,
            min(EVENTS_PER_HOP * hops, float(cap)),
            min(hops, cap),
            f"{EVENTS_PER_HOP:g} a packet-hop, at most {EVENT_CAP:,} of a category",
        ),
    )


def _longest(traffic: Traffic) -> tuple[float, str]:
    """(packets of the queue pair with the most packets, the field that decides them)."""
    policy = traffic.scenario.transport.qp
    shared = policy is not None and policy.per == "pair"
    longest, where = 0.0, ""
    for entry in traffic.entries:
        packets = float(np.ceil(entry.demand.largest_bytes() / traffic.payload_bytes))
        if shared:
            packets = max(packets, entry.packets / max(entry.queue_pairs, 1))
        if packets > longest:
            field = entry.demand.count_field if shared and entry.demand.count_field.name else entry.demand.size_field
            longest, where = packets, f"{entry.path}.{field.name}"
    return longest, where
