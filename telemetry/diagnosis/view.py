"""Recorded metrics of a run as arrays on one grid of samples, by port and class, by device.

The drop reason `injected`, which no operator can see, is not read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.topology.model import Fabric, Port
from telemetry.record.store import Store

Place = tuple[int, int]
"""(PortId, class); class -1 where a metric is about the whole port."""
Values = NDArray[np.float64]
"""(n,) one value for each sample."""

GAP_BYTES: Final = 20
"""Preamble and gap of a frame."""
_CLASS: Final = ("priority", "queue", "traffic_class")


def grown(values: Values) -> Values:
    """Growth of a counter in each sample interval. The first sample is where the record begins: what a counter has
    there was counted earlier.
    """
    return np.diff(values, prepend=values[:1])


class View:
    """Metrics of one run, ready for questions. Each metric is read on first use.

    Parameters
    ----------
    store, fabric : as diagnose()
    missing : metrics that monitoring does not have: absent, which is not zero
    """

    def __init__(self, store: Store, fabric: Fabric, missing: frozenset[str] = frozenset()) -> None:
        self.store, self.fabric, self.missing = store, fabric, missing
        self.times_ns = store.times_ns
        self._gauges: dict[tuple[str, ...], dict[Place, Values]] = {}
        self._growths: dict[tuple[str, ...], dict[Place, Values]] = {}
        self._of_devices: dict[tuple[str, ...], dict[str, Values]] = {}
        self._ports = {(fabric.node_of(port.id).name, port.name): int(port.id) for port in fabric.ports}

    def has(self, metric: str) -> bool:
        """Whether monitoring has a metric."""
        return metric not in self.missing

    @property
    def polled(self) -> bool:
        """Whether monitoring reads each device at its own times; one that has every metric reads all at once."""
        return bool(self.missing)

    @property
    def size(self) -> int:
        """Number of samples."""
        return len(self.times_ns)

    def span(self, intervals: NDArray[np.bool_]) -> tuple[int, int]:
        """(start of the first, end of the last) of the sample intervals that are True, ns; interval k ends at sample
        k.
        """
        rows = np.flatnonzero(intervals)
        if not rows.size:
            return 0, 0
        return int(self.times_ns[max(int(rows[0]) - 1, 0)]), int(self.times_ns[int(rows[-1])])

    @cached_property
    def interval_s(self) -> Values:
        """Length of each sample interval; the first is 0."""
        return np.diff(self.times_ns, prepend=self.times_ns[:1]) / 1e9

    def series(self, metric: str, **match: str) -> Iterator[tuple[Mapping[str, str], Values]]:
        """(labels, values) of each series on the grid; 0 before the first sample, the last value where it ended. None
        of a metric that is missing.
        """
        if metric in self.missing:
            return
        for labels, (times_ns, values) in self.store.iter_series(metric, **match):
            dense = np.zeros(self.size)
            if times_ns.size:
                rows = np.searchsorted(times_ns, self.times_ns, side="right") - 1
                dense = np.where(rows >= 0, values[np.maximum(rows, 0)], 0.0)
            yield dict(labels), dense

    def gauge(self, metric: str, **match: str) -> Mapping[Place, Values]:
        """Values of a metric of ports by place; series that differ in other labels are added."""
        key = _key(metric, match)
        if key not in self._gauges:
            found: dict[Place, Values] = {}
            for labels, values in self.series(metric, **match):
                class_ = next((int(labels[name]) for name in _CLASS if name in labels), -1)
                place = self._ports[labels["device"], labels["port"]], class_
                found[place] = found[place] + values if place in found else values
            self._gauges[key] = found
        return self._gauges[key]

    def growth(self, metric: str, **match: str) -> Mapping[Place, Values]:
        """Growth of a counter of ports in each interval."""
        key = _key(metric, match)
        if key not in self._growths:
            self._growths[key] = {place: grown(values) for place, values in self.gauge(metric, **match).items()}
        return self._growths[key]

    def of_devices(self, metric: str, **match: str) -> Mapping[str, Values]:
        """Growth of a counter by device, all other labels added."""
        key = _key(metric, match)
        if key not in self._of_devices:
            found: dict[str, Values] = {}
            for labels, values in self.series(metric, **match):
                name = labels["device"]
                found[name] = found.get(name, np.zeros(self.size)) + grown(values)
            self._of_devices[key] = found
        return self._of_devices[key]

    @cached_property
    def sent_again(self) -> float:
        """Packets that hosts sent again, in all."""
        return sum(float(it.sum()) for it in self.of_devices("fabric_rnic_retransmitted_packets_total").values())

    def at(self, values: Mapping[Place, Values], place: Place) -> Values:
        """A place's values; zeros where it has none."""
        return values[place] if place in values else np.zeros(self.size)

    @cached_property
    def sent(self) -> Mapping[int, Values]:
        """Frames that a port sent in each interval."""
        return {port: it for (port, _), it in self.growth("fabric_port_transmit_packets_total").items()}

    @cached_property
    def arrived(self) -> Mapping[int, Values]:
        """Frames that arrived at a port in each interval."""
        return {port: it for (port, _), it in self.growth("fabric_port_receive_packets_total").items()}

    @cached_property
    def sent_bytes(self) -> Mapping[int, Values]:
        """Bytes that a port sent in each interval."""
        return {port: it for (port, _), it in self.growth("fabric_port_transmit_bytes_total").items()}

    @cached_property
    def arrived_bytes(self) -> Mapping[int, Values]:
        """Bytes of `arrived`."""
        return {port: it for (port, _), it in self.growth("fabric_port_receive_bytes_total").items()}

    @cached_property
    def rate_bps(self) -> Mapping[int, Values]:
        """Speed of a port at each sample."""
        return {port: it * 8 for (port, _), it in self.gauge("fabric_port_speed_bytes_per_second").items()}

    @cached_property
    def down_s(self) -> Mapping[int, Values]:
        """Time for which a port's link was down in each interval; without a counter, the intervals that end so."""
        if not self.has("fabric_port_down_seconds_total"):
            return {port: self.interval_s * (it <= 0) for (port, _), it in self.gauge("fabric_port_up").items()}
        return {port: it for (port, _), it in self.growth("fabric_port_down_seconds_total").items()}

    @cached_property
    def busy_s(self) -> Mapping[int, Values]:
        """Time for which a port was sending in each interval; without a counter, that of its bytes at its rate."""
        if self.has("fabric_port_transmit_busy_seconds_total"):
            return {port: it for (port, _), it in self.growth("fabric_port_transmit_busy_seconds_total").items()}
        return {
            port: (it + GAP_BYTES * self.sent[port]) * 8 / np.maximum(self.rate_bps[port], 1.0)
            for port, it in self.sent_bytes.items()
        }

    @cached_property
    def xoffs(self) -> Mapping[Place, Values]:
        """Times that a priority group asked for silence in each interval; without a counter, its PFC frames."""
        if self.has("fabric_pg_xoff_episodes_total"):
            return self.growth("fabric_pg_xoff_episodes_total")
        return self.growth("fabric_pfc_transmit_frames_total")

    def drops(self, reason: str) -> Mapping[Place, Values]:
        """Packets that were discarded for a reason in each interval, by place.

        Without reasons: packets refused at ingress, by a lossless group for want of headroom, by another by its limit.
        """
        if not self.has("fabric_dropped_packets_total"):
            lossless = {place for place, it in self.gauge("fabric_pg_lossless").items() if it.any()}
            return {
                place: it
                for place, it in self.growth("fabric_pg_dropped_packets_total").items()
                if reason == ("headroom" if place in lossless else "ingress_threshold")
            }
        return self.growth("fabric_dropped_packets_total", reason=reason)

    def port(self, port: int) -> Port:
        """A port by its id."""
        return self.fabric.ports[port]

    def device(self, port: int) -> str:
        """Name of the device that has a port."""
        return self.fabric.node_of(port).name

    def peer(self, port: int) -> int:
        """PortId of the other end of the cable."""
        return int(self.fabric.ports[port].peer)

    def name(self, port: int) -> str:
        """'leaf1:Ethernet0'."""
        return self.fabric.port_name(self.fabric.ports[port].id)


def _key(metric: str, match: Mapping[str, str]) -> tuple[str, ...]:
    return metric, *(f"{name}={value}" for name, value in sorted(match.items()))
