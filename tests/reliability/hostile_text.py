"""Names and texts with control effects, through every input and every output, checked by strict.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.reliability.hostile_inputs import arguments, configs, message_lists, paths, playbooks, scenarios, topologies
from tests.reliability.hostile_network import log_lines, peers, servers
from tests.reliability.hostile_runs import run_folders
from tests.reliability.hostile_tries import TEXTS
from tests.reliability.hostile_verbs import verbs
from tests.reliability.report import Row

WAYS: Final = (
    scenarios,
    arguments,
    message_lists,
    topologies,
    run_folders,
    configs,
    verbs,
    playbooks,
    paths,
    servers,
    peers,
    log_lines,
)


def rows(work: Path, texts: Mapping[str, str] = TEXTS, ways: Sequence[str] = ()) -> list[Row]:
    """A row for each way in, or for those that are named."""
    found = []
    for way in WAYS:
        if not ways or way.__name__ in ways:
            home = work / way.__name__
            home.mkdir()
            found.append(way(home, texts))
    return found


def some_rows(work: Path) -> list[Row]:
    """The same rows with every third text, control characters and markup alike."""
    return rows(work, dict(list(TEXTS.items())[::3]))
