"""Families as text: the Prometheus text format 0.0.4 and OpenMetrics 1.0.

The same bytes as prometheus_client's own writers give, and several times sooner: the labels of a series are written
once and kept from scrape to scrape (a test compares the bytes). Samples here have neither timestamps nor exemplars.
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

from fabric.engine.counters import Snapshot
from telemetry.columns import SnapshotMetrics
from telemetry.derive import RunInfo

OPENMETRICS: Final = "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores"
_GZIP_LEVEL: Final = 1
"""Label text repeats itself: level 9 takes thrice the time of level 1 to save little."""
_TYPES: Final = {"info": "gauge", "gaugehistogram": "histogram", "unknown": "untyped"}
"""OpenMetrics types that the text format calls otherwise."""
_APART: Final = ("_gcount", "_gsum")
"""Parts of a gauge histogram that the text format knows as gauges of their own, after the rest."""

_in_go: Final[Callable[[float], str]] = floatToGoString


def render(snapshot: Snapshot, info: RunInfo, *, openmetrics: bool = False) -> str:
    """Every metric of one Snapshot. The same arguments give the same text: the wall clock has no part in it.

    Parameters
    ----------
    snapshot : Snapshot
    info : RunInfo
    openmetrics : bool     OpenMetrics 1.0 (ends in '# EOF') instead of the Prometheus text format
    """
    return Writer().text(SnapshotMetrics(info).families(snapshot), openmetrics=openmetrics)


class Writer:
    """Writes scrapes, and keeps the text of the labels that it has written. For one thread at a time, by its lock."""

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

    def answer(self, families: Iterable[Metric], accept: str,
               accept_encoding: str) -> tuple[list[tuple[str, str]], bytes]:
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
        about = family.documentation.replace("\\", r"\\").replace("\n", r"\n")
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
        # Labels are told apart by identity, so the mapping is kept as long as its text: an id is never another's.
        known, shown = self._known, Shown()
        for name, labels, value, *_ in samples:
            key = id(labels)
            entry = used.get(key) or known.get(key)
            if entry is None:
                entry = labels, label_text(labels)
            used[key] = entry
            yield f"{name}{entry[1]} {shown[value]}\n"


class Shown(dict[float, str]):
    """Numbers as text; most of them are written many times."""

    def __missing__(self, value: float) -> str:
        text = self[value] = _in_go(value)
        return text


def label_text(labels: Mapping[str, str]) -> str:
    """'{device="leaf1",port="Ethernet0"}', in order of names; '' without labels."""
    pairs = ",".join(f'{name}="{_escaped(value)}"' for name, value in sorted(labels.items()))
    return f"{{{pairs}}}" if labels else ""


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
