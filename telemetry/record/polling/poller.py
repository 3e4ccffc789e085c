"""Polling: converts the Snapshot of every sample into the Snapshot that an exporter has.

Every device polls every group with its own clock, whose phase is drawn from the seed: switches of a fabric are not
synchronised. A poll reads the first sample at or after its time, so the sampling interval bounds its error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from hashlib import sha256
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.engine.counters import Snapshot
from fabric.dataplane.state.codes import N_CLASSES, DropReason
from fabric.errors import FabricError
from fabric.topology.model import Fabric
from fabric.units import PS_PER_S
from telemetry.record.polling.estimator import counted_ps
from telemetry.record.polling.profiles import Group, Profile

Mask = NDArray[np.bool_]
_TABLES: Final = ("ports", "queues", "pgs", "prios", "pools", "hosts", "drops")
_RECEIVED: Final = "ports.rx_pkts"
"""With it the frames that were lost silently are read: a port has not received them."""
_SILENT: Final = int(DropReason.INJECTED)


class Poller:
    """The poller of one run.

    Parameters
    ----------
    profile : Profile
    fabric : Fabric
    dilation : float     seconds of the exporter's clock per simulated second; 1: real periods
    seed : int           seed of the phases

    Raises: FabricError where the dilation is not above 0.
    """

    def __init__(self, profile: Profile, fabric: Fabric, dilation: float = 1.0, seed: int = 0) -> None:
        if not 0 < dilation < float("inf"):
            raise FabricError(
                f"a dilation of {dilation:g} is not the speed of a clock",
                "give the seconds that pass for the exporter in one simulated second: 1 or more",
            )
        self.profile = profile
        self.dilation = dilation
        # By group: (n_nodes,) nominal time of each device's last poll; at 0 all counters are 0.
        self._polled_ps = {group.name: np.zeros(len(fabric.nodes), np.int64) for group in profile.groups}
        # The same, but the time of the sample that the poll read.
        self._taken_ps = {group.name: np.zeros(len(fabric.nodes), np.int64) for group in profile.groups}
        self._period_ps = {it.name: max(round(it.period_s * PS_PER_S / dilation), 1) for it in profile.groups}
        self._next_ps = {it.name: self._phases(it, fabric, seed) for it in profile.groups}
        self._tables: dict[str, Any] = {}
        self._highest: dict[str, NDArray[Any]] = {}
        self._is_host = np.array([node.is_host for node in fabric.nodes])
        self._frames = np.zeros(0, np.int64)

    def take(self, now: Snapshot) -> Snapshot:
        """Poll the groups that are due at this sample.

        Returns: the exporter's values, in arrays that later calls change. Every sample must be given, for watermarks. A
        field that is not polled keeps its first value.
        """
        if not self.profile.groups:
            return now
        if not self._tables:
            self._tables = {name: getattr(now, name).copy() for name in _TABLES}
            self._frames = now.flow_frames_received
        for group in self.profile.groups:
            self._remember_highest(group, now)
            due = (self._next_ps[group.name] <= now.time_ps) & (self._is_host == group.on_hosts)
            if due.any():
                self._poll(group, due, now)
        return replace(now, **self._tables)

    def after(self, last: Snapshot) -> Iterator[Snapshot]:
        """The exporter's values after a run, until every group was read once more, on a fabric without events."""
        ends_ps = {
            int(self._next_ps[it.name][self._is_host == it.on_hosts].max(initial=0)) for it in self.profile.groups
        }
        for time_ps in sorted(ends_ps):
            if time_ps > last.time_ps:
                yield self.take(_resting(last, time_ps))

    def over(self, snapshots: Iterable[Snapshot]) -> Iterator[Snapshot]:
        """The exporter's values at every sample of a run, and after it."""
        last: Snapshot | None = None
        for last in snapshots:
            yield self.take(last)
        if last is not None:
            yield from self.after(last)

    def read_ps(self, now: Snapshot) -> NDArray[np.int64]:
        """(n_ports,) time of the sample from which the exporter's byte counts of each port come."""
        if not self.profile.groups:
            return np.full(len(now.ports), now.time_ps)
        found = np.zeros(len(self._is_host), np.int64)
        for group in self.profile.groups:
            if "ports.tx_bytes" in group.fields:
                found = np.where(self._is_host == group.on_hosts, self._taken_ps[group.name], found)
        return np.asarray(found[now.ports["node"]], np.int64)

    def _phases(self, group: Group, fabric: Fabric, seed: int) -> NDArray[np.int64]:
        period_ps = self._period_ps[group.name]
        words = (sha256(f"{seed}/seen-by/{group.name}/{node.name}".encode()).digest()[:8] for node in fabric.nodes)
        return np.array([int.from_bytes(word, "little") % period_ps for word in words], np.int64)

    def _remember_highest(self, group: Group, now: Snapshot) -> None:
        if group.cleared:
            for source in group.fields:
                table, field = source.split(".")
                values = getattr(now, table)[field]
                before = self._highest.get(source)
                self._highest[source] = values.copy() if before is None else np.maximum(before, values)

    def _poll(self, group: Group, due: Mask, now: Snapshot) -> None:
        name, period_ps = group.name, self._period_ps[group.name]
        missed = (now.time_ps - self._next_ps[name]) // period_ps
        polled_ps = self._next_ps[name] + missed * period_ps
        if group.estimates_pauses:
            self._estimate(due, polled_ps - self._polled_ps[name], now)
        for source in group.fields:
            table, field = source.split(".")
            rows = self._rows(table, due, now)
            if group.cleared:
                highest = self._highest[source]
                self._tables[table][field][rows] = highest[rows]
                highest[rows] = 0
            elif not (group.estimates_pauses and source == "prios.rx_paused_ps"):
                self._tables[table][field][rows] = getattr(now, table)[field][rows]
        if _RECEIVED in group.fields:
            ports = self._rows("drops", due, now)
            self._tables["drops"][ports, :, _SILENT] = now.drops[ports, :, _SILENT]
        self._polled_ps[name] = np.where(due, polled_ps, self._polled_ps[name])
        self._taken_ps[name] = np.where(due, now.time_ps, self._taken_ps[name])
        self._next_ps[name] = np.where(due, polled_ps + period_ps, self._next_ps[name])

    def _estimate(self, due: Mask, elapsed_ps: NDArray[np.int64], now: Snapshot) -> None:
        """Estimate the paused time of the ports of these devices, before their pause status is overwritten."""
        rows = self._rows("prios", due, now)
        frames = now.flow_frames_received
        added = counted_ps(
            replace(now, ports=self._tables["ports"]).paused[rows],
            (frames > self._frames)[rows],
            now.paused[rows],
            np.repeat(elapsed_ps[now.ports["node"][rows]][:, np.newaxis], N_CLASSES, axis=1),
        )
        self._tables["prios"]["rx_paused_ps"][rows] += added
        self._frames[rows] = frames[rows]

    def _rows(self, table: str, due: Mask, now: Snapshot) -> Mask:
        """Rows of a table whose device is polled."""
        if table == "hosts":
            return due[: len(now.hosts)]
        owner = now.pools["switch"] if table == "pools" else now.ports["node"]
        return np.asarray(due[owner], np.bool_)


def _resting(last: Snapshot, time_ps: int) -> Snapshot:
    """The same counters later, without events since then: a watermark equals the present use."""
    queues, pgs, pools = last.queues.copy(), last.pgs.copy(), last.pools.copy()
    queues["watermark_bytes"] = queues["depth_bytes"]
    pgs["watermark_bytes"], pgs["headroom_watermark_bytes"] = pgs["use_bytes"], pgs["headroom_bytes"]
    pools["watermark_bytes"], pools["headroom_watermark_bytes"] = pools["used_bytes"], pools["headroom_used_bytes"]
    return replace(last, time_ps=time_ps, queues=queues, pgs=pgs, pools=pools)
