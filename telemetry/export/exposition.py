"""Families as text: the Prometheus text format 0.0.4 and OpenMetrics 1.0.

The output is identical to that of prometheus_client's writers (a test compares the bytes) and several times faster: the
label text of a series is kept between scrapes. Samples have neither timestamps nor exemplars.
"""

from __future__ import annotations

import gzip
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from prometheus_client.core import Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, choose_encoder, gzip_accepted
from prometheus_client.samples import Sample
from prometheus_client.utils import floatToGoString

from fabric.dataplane.engine.counters import Snapshot
from fabric.visible import visible
from telemetry.catalogue.columns import SnapshotMetrics
from telemetry.catalogue.derive import RunInfo

OPENMETRICS: Final = "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores"
_GZIP_LEVEL: Final = 1
"""Label text is repetitive: level 9 takes three times as long as level 1 and saves little."""
_TYPES: Final = {"info": "gauge", "gaugehistogram": "histogram", "unknown": "untyped"}
"""OpenMetrics types with another name in the text format."""
_APART: Final = ("_gcount", "_gsum")
"""Parts of a gauge histogram that the text format has as separate gauges, after the rest."""

_in_go: Final[Callable[[float], str]] = floatToGoString


def render(snapshot: Snapshot, info: RunInfo, *, openmetrics: bool = False) -> str:
    """Every metric of one Snapshot. Equal arguments give equal text: the wall clock is not used.

    Parameters
    ----------
    snapshot : Snapshot
    info : RunInfo
    openmetrics : bool     OpenMetrics 1.0 (ends in '# EOF') instead of the Prometheus text format
    """
    return Writer().text(SnapshotMetrics(info).families(snapshot), openmetrics=openmetrics)


class Writer:
    """Writes scrapes and keeps the label text. A lock admits one thread at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[int, tuple[Mapping[str, str], str]] = {}

    def text(self, families: Iterable[Metric], *, openmetrics: bool) -> str:
        """All families in one of the two formats."""
        with self._lock:
            used: dict[int, tuple[Mapping[str, str], str]] = {}
            parts: list[str] = []
            for family in families:
                (self._openmetrics if openmetrics else self._plain)(family, used, parts)
            self._known = used
        if openmetrics:
            parts.append("# EOF\n")
        return "".join(parts)

    def answer(
        self, families: Iterable[Metric], accept: str, accept_encoding: str
    ) -> tuple[list[tuple[str, str]], bytes]:
        """Headers and body of a scrape, in the format and encoding that the client asks for."""
        openmetrics = "openmetrics" in choose_encoder(accept)[1]
        body = self.text(families, openmetrics=openmetrics).encode()
        headers = [("Content-Type", OPENMETRICS if openmetrics else CONTENT_TYPE_PLAIN_0_0_4)]
        if gzip_accepted(accept_encoding):
            return [*headers, ("Content-Encoding", "gzip")], gzip.compress(body, _GZIP_LEVEL, mtime=0)
        return headers, body

    def _openmetrics(self, family: Metric, used: dict[int, tuple[Mapping[str, str], str]], parts: list[str]) -> None:
        parts.append(f"# HELP {family.name} {_escaped(family.documentation)}\n# TYPE {family.name} {family.type}\n")
        if family.unit:
            parts.append(f"# UNIT {family.name} {family.unit}\n")
        parts.extend(self._lines(family.samples, used))

    def _plain(self, family: Metric, used: dict[int, tuple[Mapping[str, str], str]], parts: list[str]) -> None:
        name = family.name + {"counter": "_total", "info": "_info"}.get(family.type, "")
        about = visible(family.documentation, lines=True).replace("\\", r"\\").replace("\n", r"\n")
        parts.append(f"# HELP {name} {about}\n# TYPE {name} {_TYPES.get(family.type, family.type)}\n")
        if family.type != "gaugehistogram":
            parts.extend(self._lines(family.samples, used))
            return
        apart = {family.name + suffix: suffix for suffix in _APART}
        parts.extend(self._lines((it for it in family.samples if it.name not in apart), used))
        for name in apart:
            mine = [it for it in family.samples if it.name == name]
            if mine:
                parts.append(f"# HELP {name} {about}\n# TYPE {name} gauge\n")
                parts.extend(self._lines(mine, used))

    def _lines(self, samples: Iterable[Sample], used: dict[int, tuple[Mapping[str, str], str]]) -> Iterator[str]:
        # Labels are identified by id(), so the mapping is kept as long as its text: the id cannot be reused meanwhile.
        known, shown = self._known, Shown()
        for name, labels, value, *_ in samples:
            key = id(labels)
            entry = used.get(key) or known.get(key)
            if entry is None:
                entry = labels, label_text(labels)
            used[key] = entry
            yield f"{name}{entry[1]} {shown[value]}\n"


class Shown(dict[float, str]):
    """Cache of numbers as text."""

    def __missing__(self, value: float) -> str:
        text = self[value] = _in_go(value)
        return text


def label_text(labels: Mapping[str, str]) -> str:
    """'{device="leaf1",port="Ethernet0"}', sorted by name; '' without labels."""
    pairs = ",".join(f'{name}="{_escaped(value)}"' for name, value in sorted(labels.items()))
    return f"{{{pairs}}}" if labels else ""


def _escaped(text: str) -> str:
    text = visible(text, lines=True)
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
