"""Measured costs of a run as constants: memory, disk space and time of the whole program.

Each constant was fitted to the runs of bench/estimate_cases.py, seed CALIBRATION_SEED, and to the scenarios of bench;
docs/estimate.md has the remaining error over other scenarios. Times are CPU seconds of `fabric run` on one thread of
one machine; another machine differs by its speed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of resident memory, at the moment of the peak."""

    process: float = 285e6
    """Python with all modules, kernels loaded."""
    port: float = 28e3
    """Engine tables, their copies for samples, names and settings."""
    message: float = 1360.0
    """Label, row of the engine, copies for samples, row of the results."""
    queue_pair: float = 1070.0
    dependency: float = 150.0
    transfer: float = 1400.0
    """Rows of the schedule and of the engine, their copies, rows of its messages under way. Transfers and needs were
    fitted to the collectives of bench/estimate_cases.py, transfer_scenarios(calibration=True)."""
    need: float = 160.0
    row: float = 134.0
    """A row of the series that waits to be written; at most HELD_ROWS wait."""
    event: float = 318.0
    """The same for events."""
    route: float = 6.0
    """Entry of the forwarding table, per switch and host."""
    path: float = 12.0
    """Shortest paths and distances, per node and class of destinations."""
    datagram_port: float = 4096.0
    """With datagrams, their drops by class and reason, and the copy of a sample; computed, not fitted."""
    held_route: float = 22.0
    """A route in the table of a BGP speaker."""
    session: float = 100e3
    """A BGP session, both ends."""
    control_event: float = 300.0
    """A dated event of the control plane."""
    update: float = 1500.0
    """A route that such an event changes, on one session: its entries, and its record. Measured as TIME.update."""


@dataclass(frozen=True, slots=True)
class Compile:
    """Bytes of resident memory where a scenario is compiled and nothing is simulated."""

    process: float = 75e6
    port: float = 2.8e3
    message: float = 700.0
    transfer: float = 700.0
    need: float = 160.0


@dataclass(frozen=True, slots=True)
class Disk:
    """Bytes on disk, compressed."""

    run: float = 50e3
    port: float = 230.0
    message: float = 30.0
    transfer: float = 40.0
    queue_pair: float = 22.0
    row: float = 2.8
    event: float = 10.7
    part_row: float = 6.0
    """A row while the run lasts, beside the final file."""
    part_event: float = 20.0
    checkpoint_port: float = 9e3
    checkpoint_pair: float = 700.0


@dataclass(frozen=True, slots=True)
class Time:
    """Seconds of one core."""

    start: float = 1.3
    port: float = 240e-6
    message: float = 7.1e-6
    dependency: float = 1.5e-6
    transfer: float = 10e-6
    need: float = 5e-6
    sample: float = 0.83e-3
    sample_port: float = 4.7e-6
    sample_pair: float = 0.35e-6
    row: float = 0.36e-6
    event: float = 0.57e-6
    held_route: float = 0.37e-6
    session: float = 1.5e-3
    update: float = 100e-6
    """A route that an event of the control plane changes, on one session: from 2,000 endpoints that came and went in
    20 ms on four leaves and two spines."""


MEMORY: Final = Memory()
COMPILE: Final = Compile()
DISK: Final = Disk()
TIME: Final = Time()

HELD_ROWS: Final = 2**20
"""Rows of series, and rows of events, that are in memory at once (runs/parts.py GROUP_ROWS)."""
EVENT_CAP: Final = 1_000_000
"""Events recorded in each category (runs/eventlog.py DEFAULT_CAP)."""


def hop_s(ports: float) -> float:
    """Seconds per packet-hop: the tables of larger fabrics exceed the caches."""
    return (65 + 7.1 * math.log2(max(ports, 16) / 16)) * 1e-9


CHECKPOINT_S: Final = 60.0
"""Duration above which a run writes checkpoints (`fabric run --checkpoint-every`)."""
LEAST_SHARE: Final = 0.75
"""Least memory over likely memory: measured runs took 0.79 to 1.35 of their estimate."""
LEAST_DISK_SHARE: Final = 0.15
"""The same for disk space: the least was 0.16, because the number of values that change at a sample is unknown."""
