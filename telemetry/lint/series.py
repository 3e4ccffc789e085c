"""Series to judge, and what a metric's name says about its values.

The names of the catalogue and of the layers of telemetry/export/compat are known. Of other names the words are read:
octets or bytes, packets or frames, received or sent.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.errors import FabricError
from telemetry.catalogue.metrics import BY_NAME
from telemetry.catalogue.spec import Kind, Rows
from telemetry.export.compat.registry import LAYERS

SPEED: Final = "fabric_port_speed_bytes_per_second"
_PORT_ROWS: Final = {Rows.PORT, Rows.CLASS, Rows.QUEUE, Rows.SWITCH_QUEUE, Rows.PFC}
_CARRIED: Final = re.compile(
    r"receive|transmit|xmit|rcv|(^|_)(rx|tx|in|out|if|hcin|hcout)(_|$)|inoctets|outoctets", re.IGNORECASE
)
_NOT_CARRIED: Final = re.compile(
    r"discard|drop|lost|err|enqueued|flushed|watermark|retrans|goodput|requests|sequence|refused|arp|bum|naks|cnp|"
    r"peak|occupancy",
    re.IGNORECASE,
)
_BYTES: Final = re.compile(r"bytes|octets", re.IGNORECASE)
_PACKETS: Final = re.compile(r"packets|pkts|frames", re.IGNORECASE)
_COUNTS: Final = re.compile(r"_total$|octets|_pkts|SAI_.*_STAT_", re.IGNORECASE)
_NO_COUNTER: Final = re.compile(r"watermark|peak|occupancy|curr_|_ratio|_limit|_size", re.IGNORECASE)


@dataclass(slots=True)
class Series:
    """One series, in the order of its source."""

    name: str
    labels: dict[str, str]
    kind: str
    """'counter', 'gauge', or 'unknown' where the source does not say."""
    times_ns: NDArray[np.int64]
    """(n,)"""
    values: NDArray[np.float64]
    """(n,)"""

    def __str__(self) -> str:
        inside = ",".join(f"{key}={value}" for key, value in sorted(self.labels.items()) if key != "job")
        return f"{self.name}{{{inside}}}" if inside else self.name


class DeltaError(FabricError):
    """A counter that is sent as differences; the rules need its cumulative value."""


@dataclass(frozen=True, slots=True)
class Break:
    """A gap in a stream of numbered messages, or a part of it that cannot be read."""

    stream: str
    time_ns: int | None
    """Time of the first record after it; None where no record with a time follows."""
    text: str


@dataclass(slots=True)
class Batch:
    """What one file, run or address gave."""

    source: str
    series: list[Series]
    resolution_ns: int = 1
    """Smallest step of its clock."""
    has_times: bool = True
    unix: bool = True
    """Whether its clock is Unix time; that of a run is simulated."""
    dilation: float = 1.0
    """Seconds of its clock for a second of the counters' clock."""
    breaks: list[Break] = field(default_factory=list)
    """Gaps of sources that number their messages."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a name says."""

    counter: bool
    quantity: str
    """'bytes', 'packets', 'seconds', or '' where no bound is known."""
    unit: float = 1.0
    """Of the quantity: 4 for words of four bytes, 1e-6 for microseconds."""
    pair: str = ""
    """Name of packets of the same frames, for bytes."""


@cache
def meaning(name: str, kind: str) -> Meaning:
    """What the name and the declared kind of a metric say."""
    native, unit = _native(name)
    if native is not None:
        spec = BY_NAME[native]
        if spec.kind is not Kind.COUNTER:
            return Meaning(False, "")
        carried = spec.rows in _PORT_ROWS and not _NOT_CARRIED.search(native) and bool(_CARRIED.search(native))
        if spec.unit == "seconds":
            return Meaning(True, "seconds" if spec.rows in _PORT_ROWS else "", unit)
        if not carried or spec.unit not in {"bytes", "packets", "frames"}:
            return Meaning(True, "")
        if native == name and spec.unit == "bytes":
            return Meaning(True, "bytes", unit, native.replace("_bytes_", "_packets_"))
        return Meaning(True, "bytes" if spec.unit == "bytes" else "packets", unit)
    counter = not _NO_COUNTER.search(name) and (kind == "counter" or (kind == "unknown" and bool(_COUNTS.search(name))))
    if not counter or _NOT_CARRIED.search(name) or not _CARRIED.search(name):
        return Meaning(counter, "")
    if _BYTES.search(name):
        return Meaning(True, "bytes")
    return Meaning(True, "packets" if _PACKETS.search(name) else "")


@cache
def speeds() -> frozenset[str]:
    """Names whose values are a port's line rate in bytes per second."""
    aliases = {it.name for layer in LAYERS.values() for it in layer.aliases if it.source == SPEED}
    return frozenset({SPEED, *aliases})


@cache
def _aliases() -> dict[str, tuple[str, float]]:
    found: dict[str, tuple[str, float]] = {}
    for layer in LAYERS.values():
        for alias in layer.aliases:
            for name in alias.names():
                if alias.constant is None and alias.when is None:
                    found[name] = alias.source, 1 / alias.factor
    return found


def _native(name: str) -> tuple[str | None, float]:
    """(name in the catalogue, unit of the values in its unit) of a name of the catalogue or of a layer."""
    if name in BY_NAME:
        return name, 1.0
    return _aliases().get(name, (None, 1.0))
