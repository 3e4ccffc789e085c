"""The counts of a configuration (configs/buffers/thresholds.py) once more: packet by packet through the emulator's MMU.

A switch gets the shared cells and the shared headroom pool of one partition of the chip. Its receivers stop it before
the first packet, so nothing leaves; its senders ignore pause and fill it with packets of one cell, one message each.
sonic-mgmt's QoS tests measure switches in this way.

Deviations: a lossy group with a static limit of the whole pool gets alpha = 128, the largest that a scenario has; a
group of a Spectrum port, filled alone, gets the headroom of all lossless groups of the port.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from fabric.configs.buffers.mmu import Headroom
from fabric.configs.buffers.thresholds import GroupCounts, QueueCounts, Thresholds
from fabric.configs.model import BufferProfile, Device
from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import N_CLASSES, EventKind, TraceBit
from fabric.errors import InvariantError
from fabric.scenario.compile.scenario import compile_scenario
from fabric.scenario.load import build_scenario

_LOSSLESS: Final = (3, 4)
_LOSSY: Final = 0
_LARGEST_TH: Final = 7
_MEMORY_BYTES: Final = 2**34
"""More than any chip has: what is set aside is already taken off the shared cells."""
_GAP_PS: Final = 1_000_000
"""Between two messages of a group: more than a packet of one cell lasts at the senders' rate."""
_RATE: Final = "10G"
_START_PS: Final = 100_000_000
"""The receivers' pause frames have come before this."""
_STEP: Final = 256
_MOST_REPEATS: Final = 100_000
"""Of one entry of `workload:`."""


@dataclass(frozen=True, slots=True)
class Alone:
    """What one lossless group did alone, in packets."""

    xoff_packets: int
    ingress_drop_packets: int
    xon_packets: int
    """Use at which it sent XON while it drained."""


@dataclass(frozen=True, slots=True)
class Together:
    """What lossless groups did that filled up together."""

    xoff_packets: tuple[int, ...]
    """Of each group, when it sent XOFF."""
    headroom_packets: int
    """That all of them had taken after XOFF when the first packet was dropped."""


def alone(found: Thresholds, group: GroupCounts, profile: BufferProfile) -> Alone:
    """One group, filled until a packet is dropped; then again up to XOFF, and drained."""
    bench = _Bench(found, group, profile, packets=_more(group.ingress_drop_packets))
    bench.fill()
    xoff = bench.packets_at(EventKind.PAUSE_SENT)[0]
    admitted = int(bench.rows()["admitted_pkts"][0])
    drained = _Bench(found, group, profile, packets=xoff, drain=True)
    drained.run()
    return Alone(xoff, admitted + 1, drained.packets_at(EventKind.RESUME_SENT)[0])


def together(found: Thresholds, group: GroupCounts, profile: BufferProfile) -> Together:
    """As many groups as exhaust the shared headroom pool, two on each port, filled at one pace."""
    pool = group.shared_headroom
    if pool is None:
        raise InvariantError("groups without a shared headroom pool do not meet")
    bench = _Bench(found, group, profile, groups=pool.groups, packets=_more(pool.xoff_packets + pool.full_packets))
    bench.fill()
    return Together(
        tuple(bench.packets_at(EventKind.PAUSE_SENT)), int(bench.rows()["headroom_bytes"].sum()) // bench.cell
    )


def lossy_queue(found: Thresholds, device: Device, queue: QueueCounts) -> int:
    """The first packet that a lossy queue drops alone."""
    group = found.groups[0]
    ingress = device.profile_of(device.ports[queue.port].groups.get(_LOSSY))
    bench = _Bench(
        found,
        group,
        device.profiles[group.profile],
        packets=_more(queue.drop_packets),
        queue=_Lossy(queue, device.profiles[queue.profile], ingress.dynamic_th if ingress else None),
    )
    bench.fill()
    return int(bench.engine.state.queues[bench.receiver * N_CLASSES + _LOSSY]["enqueued_pkts"]) + 1


@dataclass(frozen=True, slots=True)
class _Lossy:
    """The lossy queue of a bench."""

    counts: QueueCounts
    profile: BufferProfile
    ingress_th: int | None
    """dynamic_th of the lossy group."""


def _more(packets: int) -> int:
    """More than the rules expect: a switch that drops later is still measured, and one that never drops is an error."""
    return packets + packets // 4 + _STEP


class _Bench:
    """The switch, its senders and its receiver."""

    def __init__(
        self,
        found: Thresholds,
        group: GroupCounts,
        profile: BufferProfile,
        *,
        packets: int,
        groups: int = 1,
        queue: _Lossy | None = None,
        drain: bool = False,
    ) -> None:
        self.cell = found.mmu.cell_bytes
        self.classes = (_LOSSY,) if queue else _LOSSLESS[:groups]
        senders = [f"sender{number}" for number in range(1, -(-groups // len(self.classes)) + 1)]
        self.pairs = [(sender, class_) for sender in senders for class_ in self.classes][:groups]
        self.end_ps = _START_PS + (packets + _STEP) * _GAP_PS
        raw = {
            "name": "thresholds",
            "topology": _topology(senders),
            "switches": self._switch(found, group, profile, queue),
            "hosts": {"overrides": [{"host": "sender*", "pfc_priorities": []}]},
            "transport": {"mtu": "256B", "cc": "none", "retransmit_timeout": "off"},
            "workload": [entry for pair in self.pairs for entry in _messages(*pair, packets)],
            "faults": [
                {"kind": "pause-storm", "hosts": ["receiver"], "priorities": list(self.classes), "at": "0s",
                 "duration": f"{self.end_ps if drain else 2 * self.end_ps}ps"}
            ],
            "run": {"duration": f"{2 * self.end_ps}ps", "stop": "duration"},
        }  # fmt: skip
        case = compile_scenario(build_scenario(raw, Path("thresholds.yml")))
        self.engine = Emulator(case.fabric, case.params, case.edits, record=TraceBit.PAUSE)
        self.events: list[Any] = []
        ports = {other.name: int(own.id) for own, other in case.fabric.neighbours(case.fabric.by_name["switch"].id)}
        self.receiver = ports["receiver"]
        self.groups = np.array([ports[sender] * N_CLASSES + class_ for sender, class_ in self.pairs])
        self.reserved_cells = 0 if queue else group.minimum_cells

    def _switch(
        self, found: Thresholds, group: GroupCounts, profile: BufferProfile, queue: _Lossy | None
    ) -> dict[str, Any]:
        headroom = group.headroom_cells
        if found.mmu.headroom is Headroom.PORT:
            headroom = sum(it.headroom_cells for it in found.groups if it.port == group.port)
        pool = group.shared_headroom
        switch: dict[str, Any] = {
            "memory": f"{_MEMORY_BYTES}B",
            "cell": f"{self.cell}B",
            "latency": "0ns",
            "pool": self._cells(found.shared_cells),
            "shared_headroom": self._cells(pool.cells) if pool else "off",
            "ecn": "off",
            "watchdog": "off",
            "lossless": list(_LOSSLESS),
            "buffer": {
                **_limit(profile),
                "headroom": self._cells(headroom),
                "reserved": self._cells(group.minimum_cells),
                "xon": "0B",
                "xon_offset": f"{profile.xon_offset_bytes}B",
                "lossy_dynamic_th": _LARGEST_TH if queue is None or queue.ingress_th is None else queue.ingress_th,
            },
            "overrides": [{"port": "switch:*", "pfc_priorities": sorted({*_LOSSLESS, *self.classes})}],
        }
        if queue is not None:
            counts = queue.counts
            switch["egress_pools"] = {"lossy": self._cells(counts.shared_cells)}
            switch["egress"] = {"lossy": {**_limit(queue.profile), "reserved": self._cells(counts.minimum_cells)}}
        return switch

    def _cells(self, count: int) -> str:
        return f"{count * self.cell}B"

    def fill(self) -> None:
        """Until a packet is dropped. Raises: InvariantError where none is."""
        while not self.engine.state.drops["pkts"].sum():
            if self.engine.now_ps >= self.end_ps:
                raise InvariantError("every packet was taken: nothing was measured")
            self.engine.advance(self.engine.now_ps + _STEP * _GAP_PS)
        self.events.append(self.engine.drain_events())

    def run(self) -> None:
        """To the end."""
        self.engine.advance(2 * self.end_ps)
        self.events.append(self.engine.drain_events())

    def rows(self) -> Any:  # noqa: ANN401  a structured array
        """Accounts of the groups."""
        return self.engine.state.pgs[self.groups]

    def packets_at(self, kind: EventKind) -> list[int]:
        """Use of each group when it first sent XOFF or XON, by port and class."""
        first: dict[tuple[int, int], int] = {}
        for event in np.concatenate(self.events):
            if event["kind"] == int(kind):
                first.setdefault((int(event["port"]), int(event["prio"])), int(event["a"]) + int(event["c"]))
        return [self.reserved_cells + use // self.cell for _, use in sorted(first.items())]


def _topology(senders: Sequence[str]) -> dict[str, Any]:
    return {
        "kind": "custom",
        "nodes": [{"name": "switch", "role": "leaf"}, *({"name": it, "role": "host"} for it in (*senders, "receiver"))],
        "links": [{"a": it, "b": "switch", "rate": _RATE, "cable": "1m"} for it in (*senders, "receiver")],
    }


def _messages(sender: str, class_: int, packets: int) -> list[dict[str, Any]]:
    """Entries of `workload:` that send one packet after the other."""
    return [
        {
            "kind": "incast",
            "name": f"{sender}-{class_}-{first}",
            "receiver": "receiver",
            "senders": [sender],
            "size": "1B",
            "priority": class_,
            "start": f"{_START_PS + first * _GAP_PS}ps",
            "repeat": max(min(_MOST_REPEATS, packets - first), 2),
            "interval": f"{_GAP_PS}ps",
        }
        for first in range(0, packets, _MOST_REPEATS)
    ]


def _limit(profile: BufferProfile) -> dict[str, int | str]:
    if profile.dynamic_th is not None:
        return {"dynamic_th": profile.dynamic_th}
    return {"static_th": f"{profile.static_th_bytes or 0}B"}
