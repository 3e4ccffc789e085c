"""Three hosts at one switch; a test sets their tables by hand, so that a kernel runs exactly at its threshold.

Values are chosen in the test, not taken from the code under test. Nothing runs but the kernel that the test calls.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.port import wire
from fabric.dataplane.state import pool
from fabric.dataplane.state.codes import N_DROP_REASONS, DropReason, Ecn, EventKind, PacketKind
from fabric.dataplane.state.types import State
from tests.dataplane import worlds

Row = Any
"""A row of one of the engine's tables: a structured scalar that writes through."""

US: Final = worlds.US
CLASS: Final = worlds.LOSSLESS
AT: Final = 1_000_000_000
"""A moment well after the start: subtracting a threshold from it gives no negative time."""


@dataclass
class Bench:
    """The tables, and short ways to rows that tests set."""

    world: worlds.World = field(default_factory=lambda: worlds.World(leaves=1, hosts=3))
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        fabric = worlds.topology(self.world)
        self.emulator = Emulator(fabric, worlds.parameters(self.world, fabric), **self.options)
        self.fabric = fabric
        self.switch = fabric.switches[0].id
        self.host = fabric.hosts[0].id
        self.host_port = fabric.hosts[0].first_port
        self.port, self.out = (int(fabric.ports[host.first_port].peer) for host in fabric.hosts[:2])
        for device in range(len(fabric.nodes)):
            pool.refill(self.state, device)
        wire.join(self.state, 0, 1)
        for device in range(len(fabric.nodes)):
            wire.enter(self.state, device)

    @property
    def state(self) -> State:
        """The tables."""
        return self.emulator.state

    @property
    def config(self) -> Row:
        """The one row of CONFIG."""
        return self.state.config[0]

    def queue(self, port: int | None = None, c: int = CLASS) -> Row:
        """A row of QUEUE; of the switch's first port unless another is named."""
        return self.state.queues[(self.port if port is None else port) * 8 + c]

    def group(self, c: int = CLASS) -> Row:
        """A row of PG at the switch's first port."""
        return self.state.pgs[self.port * 8 + c]

    def prio(self, port: int | None = None, c: int = CLASS) -> Row:
        """A row of PRIO."""
        return self.state.prios[(self.port if port is None else port) * 8 + c]

    def ingress_pool(self) -> Row:
        """The pool of the group above."""
        return self.state.pools[self.group()["pool"]]

    def packet(self, device: int | None = None, **fields: int) -> np.uint32:
        """A data frame from host 0 to host 1 that `device` (the switch) holds."""
        packet = pool.take(self.state, self.switch if device is None else device)
        row = self.state.packets[packet]
        row["kind"], row["size"], row["tc"], row["ecn"], row["ttl"] = PacketKind.DATA, 1000, CLASS, Ecn.ECT0, 64
        row["src"], row["dst"], row["in_port"], row["qp"] = self.host, self.fabric.hosts[1].id, self.port, 0
        row["dscp"] = worlds.DSCP[CLASS]
        for name, value in fields.items():
            row[name] = value
        return packet

    def drops(self) -> dict[str, int]:
        """Discarded frames of the whole fabric by reason."""
        pkts = self.state.drops["pkts"].reshape(-1, N_DROP_REASONS).sum(axis=0)
        return {reason.name: int(pkts[reason]) for reason in DropReason if pkts[reason]}

    def logged(self, kind: EventKind) -> int:
        """Events of a kind since the last call."""
        return int((self.emulator.drain_events()["kind"] == kind).sum())
