"""Small fabrics around one switch, in which settings are tried: scenario data, and what is read after a run.

A run compiles a scenario and simulates it in this process: some 0.1 s. Sizes in bytes, times in ps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.engine.counters import Snapshot
from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import EventKind, TraceBit
from fabric.errors import InvariantError
from fabric.recommend.classes import PortClass
from fabric.runs.messages import fct_ps
from fabric.scenario.compile.scenario import compile_scenario
from fabric.scenario.load import build_scenario

RDMA_HEADERS_BYTES: Final = 78
"""Around the payload of a one-packet WRITE: Ethernet 14, IPv4 20, UDP 8, BTH 12, RETH 16, ICRC 4, FCS 4."""
WIRE_BYTES: Final = 20
"""Preamble, start delimiter, gap."""
LOSSLESS: Final = 3
MEMORY_BYTES: Final = 2**34
"""More than any chip has: the pool is stated."""
_FILE: Final = Path("recommend.yml")


def rate_bytes(speed_mbps: int, time_ps: int) -> int:
    """Bytes at a rate in a time."""
    return speed_mbps * time_ps // 8_000_000


def time_ps(speed_mbps: int, size_bytes: int) -> int:
    """How long bytes take at a rate."""
    return size_bytes * 8_000_000 // speed_mbps


def star(class_: PortClass, hosts: Iterable[str], far: Sequence[str] = ()) -> dict[str, Any]:
    """One switch with hosts at the class's speed and cable; those in `far` have a cable of 1 m."""
    names = list(hosts)
    return {
        "kind": "custom",
        "nodes": [{"name": "switch", "role": "leaf"}, *({"name": it, "role": "host"} for it in names)],
        "links": [
            {
                "a": it,
                "b": "switch",
                "rate": f"{class_.speed_mbps}M",
                "cable": "1m" if it in far else f"{max(class_.cable_m, 1)}m",
            }
            for it in names
        ],
    }


def switch(class_: PortClass, pool_bytes: int, buffer: Mapping[str, object], **more: object) -> dict[str, Any]:
    """The `switches:` section: the chip's cells, one lossless priority, a pool of the given size."""
    return {
        "asic": class_.chip,
        "mtu": f"{class_.mtu}B",
        "memory": f"{MEMORY_BYTES}B",
        "pool": f"{pool_bytes}B",
        "latency": f"{class_.latency_ps}ps",
        "lossless": [LOSSLESS],
        "response": "worst",
        "watchdog": "off",
        "ecn": "off",
        **more,
        "buffer": dict(buffer),
    }


@dataclass(frozen=True, slots=True)
class BenchRun:
    """A simulated run."""

    end: Snapshot
    warm: Snapshot | None
    """At the end of the warm-up, where there is one."""
    events: Any
    """(n,) rows of the event log."""

    def port(self, host: str) -> int:
        """The switch's port to a host."""
        fabric = self.end.fabric
        return next(int(own.id) for own, other in fabric.neighbours(fabric.by_name["switch"].id) if other.name == host)

    def headroom_peak_bytes(self, host: str) -> int:
        """Most headroom that the group of the port to a host has used."""
        return int(self.end.pgs[self.port(host), LOSSLESS]["headroom_peak_bytes"])

    def xoffs(self, hosts: Iterable[str]) -> int:
        """XOFF frames sent to these hosts."""
        ports = {self.port(it) for it in hosts}
        sent = self.events[self.events["kind"] == int(EventKind.PAUSE_SENT)]
        return int(np.isin(sent["port"], list(ports)).sum())

    def first_ps(self, kind: EventKind) -> int | None:
        """When the first event of a kind happened."""
        rows = self.events[self.events["kind"] == int(kind)]
        return int(rows["time_ps"].min()) if rows.size else None

    @property
    def dropped(self) -> int:
        """Packets lost."""
        return int(self.end.drops["pkts"].sum())

    def completion_ps(self, size_bytes: int, from_ps: int) -> NDArray[np.int64]:
        """(n,) completion times of the messages of one size that were posted from a time on and are done, sorted.

        Raises: InvariantError where there is none.
        """
        rows = self.end.messages
        wanted = (rows["size_bytes"] == size_bytes) & (rows["start_ps"] >= from_ps) & (rows["end_ps"] >= 0)
        if not wanted.any():
            raise InvariantError("no short message of a recommendation's run was done")
        return np.sort(fct_ps(self.end)[wanted])

    def busy_ps(self, host: str) -> int:
        """Time for which the port to a host has been sending since the warm-up."""
        port = self.port(host)
        since = 0 if self.warm is None else int(self.warm.ports[port]["busy_ps"])
        return int(self.end.ports[port]["busy_ps"]) - since


def simulate(data: Mapping[str, Any], until_ps: int, warm_ps: int | None = None) -> BenchRun:
    """Compile and simulate. Raises: InputErrors."""
    case = compile_scenario(build_scenario({"name": "recommend", **data}, _FILE))
    engine = Emulator(case.fabric, case.params, case.edits, record=TraceBit.PAUSE | TraceBit.MARK)
    warm = None
    if warm_ps is not None:
        engine.advance(warm_ps)
        warm = engine.snapshot()
    engine.advance(until_ps)
    return BenchRun(engine.snapshot(), warm, engine.drain_events())
