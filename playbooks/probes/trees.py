"""Probes of pause trees: how many there are, and the origin, cause, depth and victims of the largest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from fabric.explain.evidence import Evidence
from fabric.explain.pause_tree import Episode
from playbooks.probes.base import Probe, Value, Window


def _within(evidence: Evidence, window: Window) -> list[Episode]:
    """Trees of which a part lies in the window, the largest first."""
    return [
        episode
        for episode in evidence.episodes
        if episode.first_ps < window.until_ps and episode.last_ps > window.since_ps
    ]


def _of_largest(read: Callable[[Evidence, Episode], Value]) -> Callable[[Evidence, Window], Value]:
    def probe(evidence: Evidence, window: Window) -> Value:
        found = _within(evidence, window)
        return read(evidence, found[0]) if found else None

    return probe


TREES: Final = Probe("count", "pause trees", lambda evidence, window: len(_within(evidence, window)))
ORIGIN: Final = Probe(
    "text",
    "device at which the largest pause tree began",
    _of_largest(lambda evidence, episode: evidence.fabric.node_of(episode.origin.port).name),
)
CAUSE: Final = Probe(
    "text", "cause of the largest pause tree", _of_largest(lambda _, episode: episode.origin.cause.value)
)
DEPTH: Final = Probe(
    "count",
    "cables from the origin to the most distant pause of the largest tree",
    _of_largest(lambda _, episode: episode.depth),
)
VICTIMS: Final = Probe(
    "count",
    "messages that waited for the largest tree although their path does not contain its origin",
    _of_largest(lambda evidence, episode: evidence.blast(episode).victims),
)
