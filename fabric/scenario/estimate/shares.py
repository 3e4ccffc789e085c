"""Each part of a figure with the field of the scenario that it grows with: the field to change to make it smaller."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from fabric.scenario.estimate.figures import Share
from fabric.scenario.estimate.parts import Parts, control_plane
from fabric.scenario.estimate.traffic import Entry, Traffic
from fabric.topology.spec import Shape
from fabric.workload.arp import RequestDemand
from fabric.workload.datagrams import StreamDemand
from fabric.workload.spec import ArpSpec, DatagramsSpec

LARGE_HOPS: Final = 100
"""Packet-hops per message above which smaller messages help more than fewer messages."""


def shares(traffic: Traffic, parts: Parts) -> tuple[Share, ...]:
    """The likely amount of each part, by the field that it grows with; the largest first."""
    found: list[Share] = []
    for name, values in parts.items():
        amount = values[1]
        if name == "topology":
            found.append(of_shape(traffic.shape, amount))
        elif name == "control":
            found.append(of_shape(traffic.shape, amount, growth=2.0))
        elif name == "control events" and amount:
            events = control_plane(traffic).events
            all_updates = sum(it.updates for it in events) or 1.0
            found += (it.share(amount * it.updates / all_updates) for it in events)
        elif name == "messages":
            rows = [it.demand.message_rows + it.demand.transfers for it in traffic.entries]
            all_rows = max(sum(rows), 1)
            found += of_entries((it, amount * n / all_rows) for it, n in zip(traffic.entries, rows, strict=True))
        elif name == "hops":
            found += _of_hops(traffic, amount)
        elif name in {"samples", "rows"}:
            found.append(of_interval(traffic, amount))
        elif name == "events":
            found.append(Share("telemetry.events", amount, kind=""))
    return tuple(sorted(found, key=lambda it: -it.amount))


def of_shape(shape: Shape, amount: float, growth: float = 1.0) -> Share:
    """An amount that grows with the size of the fabric."""
    name = f"topology.{shape.field}" if shape.field else "topology"
    return Share(name, amount, shape.value, growth, "count" if shape.field else "")


def of_interval(traffic: Traffic, amount: float) -> Share:
    """An amount that grows with the number of samples."""
    return Share("telemetry.interval", amount, traffic.scenario.sampling_ps, -1.0, "time")


def of_entries(amounts: Iterable[tuple[Entry, float]]) -> tuple[Share, ...]:
    """Amounts of entries of `workload:`, each by the field that decides the entry's number of messages."""
    return tuple(_of_entry(entry, amount) for entry, amount in amounts)


def _of_entry(entry: Entry, amount: float) -> Share:
    field = entry.demand.count_field
    return Share(f"{entry.path}.{field.name}" if field.name else entry.path, amount, field.value, kind=field.kind)


def _of_hops(traffic: Traffic, amount: float) -> list[Share]:
    """`amount` of all packet-hops by the fields that decide their number."""
    each = amount / max(traffic.hops * traffic.simulated + traffic.request_hops + traffic.datagram_hops, 1)
    found = [_of_datagrams(traffic, *it, each) for it in traffic.datagram_entries]
    if traffic.simulated < 1:
        found.append(Share("run.duration", each * traffic.hops * traffic.simulated, traffic.duration_ps, 1.0, "time"))
    else:
        for entry in traffic.entries:
            part, size = each * entry.hops, entry.demand.size_field
            large = entry.demand.messages and entry.hops / entry.demand.messages > LARGE_HOPS
            if size.value and large:
                found.append(Share(f"{entry.path}.{size.name}", part, size.value, 1.0, size.kind))
            else:
                found.append(_of_entry(entry, part))
    return [it for it in found if it.amount]


def _of_datagrams(
    traffic: Traffic, path: str, spec: ArpSpec | DatagramsSpec, demand: RequestDemand | StreamDemand, each: float
) -> Share:
    """The hops of an entry of ARP requests or datagrams, by what decides their number."""
    amount = each * traffic.hops_of(demand)
    if isinstance(spec, ArpSpec):
        return Share(f"{path}.interval", amount, spec.interval, -1.0, "time")
    if spec.count is not None:
        return Share(f"{path}.count", amount, spec.count)
    if spec.stop is not None and spec.stop <= traffic.duration_ps:
        return Share(f"{path}.stop", amount, spec.stop - (spec.start or 0), 1.0, "time")
    return Share("run.duration", amount, traffic.duration_ps, 1.0, "time")
