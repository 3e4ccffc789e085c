"""SimAI's topology file: `nodes gpus_per_server nvswitches switches links GPU`, the switches, then the links."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fabric.errors import InputErrors, Problem, UnitError
from fabric.reading import MIB, read_text
from fabric.traces.graph import Collector
from fabric.units import parse_rate_bps, parse_time_ps

STAGE: Final = "SimAI topology"
MAX_TOPOLOGY_BYTES: Final = 64 * MIB
_MOST: Final = 4_000_000
_HEAD: Final = re.compile(r"\s*([0-9]{1,9})\s+([0-9]{1,9})\s+([0-9]{1,9})\s+([0-9]{1,9})\s+([0-9]{1,9})\s+(\S+)\s*")


@dataclass(frozen=True, slots=True)
class Link:
    """One cable."""

    ends: tuple[int, int]
    rate_bps: int
    latency_ps: int
    error_ratio: float


@dataclass(frozen=True)
class SimaiTopology:
    """A topology file. Nodes 0 .. n_gpus-1 are GPUs; NVSwitches stand before the other switches."""

    n_nodes: int
    gpus_per_server: int
    nvswitches: tuple[int, ...]
    switches: tuple[int, ...]
    gpu: str
    links: tuple[Link, ...]

    @property
    def n_gpus(self) -> int:
        """Nodes that are no switches."""
        return self.n_nodes - len(self.nvswitches) - len(self.switches)


def is_topology(first_line: str) -> bool:
    """Whether a text's first line is that of a topology file."""
    return _HEAD.fullmatch(first_line) is not None


def read_topology(path: Path) -> SimaiTopology:
    """A topology file. Raises: InputErrors with all problems, each with its line."""
    lines = [
        (number, line.split())
        for number, line in enumerate(read_text(path, MAX_TOPOLOGY_BYTES, stage=STAGE).splitlines(), 1)
        if line.strip()
    ]
    match = _HEAD.fullmatch(" ".join(lines[0][1])) if lines else None
    if match is None:
        hint = "begin with: nodes gpus_per_server nvswitches switches links GPU"
        raise InputErrors(STAGE, [Problem(f"{path}:1", "its first line is no topology", hint)])
    n_nodes, per_server, n_nvswitches, n_switches, n_links = map(int, match.groups()[:5])
    found = Collector(STAGE, str(path))
    if not (per_server and n_nvswitches + n_switches < n_nodes <= _MOST):
        found.add(f"{path}:{lines[0][0]}", f"{n_nodes:,} nodes, {n_nvswitches + n_switches:,} switches of them, "
                  f"{per_server} GPUs a server", "give more nodes than switches, and a GPU a server")  # fmt: skip
    found.check()
    numbers = lines[1][1] if len(lines) > 1 else []
    switches = [int(word) if re.fullmatch("[0-9]{1,9}", word) else -1 for word in numbers]
    if (
        len(switches) != n_nvswitches + n_switches
        or len(set(switches)) != len(switches)
        or not all(0 <= it < n_nodes for it in switches)
    ):
        found.add(f"{path}:{lines[1][0] if len(lines) > 1 else 1}", f"lists {len(switches):,} switches, the first line "
                  f"says {n_nvswitches} + {n_switches}", "list each switch once, NVSwitches first")  # fmt: skip
    if len(lines) - 2 != n_links:
        found.add(str(path), f"has {max(len(lines) - 2, 0):,} links, the first line says {n_links:,}",
                  "write a line for each link")  # fmt: skip
    links = [link for number, words in lines[2:] if (link := _link(words, n_nodes, found, f"{path}:{number}"))]
    found.check()
    return SimaiTopology(n_nodes, per_server, tuple(switches[:n_nvswitches]), tuple(switches[n_nvswitches:]), match[6],
                         tuple(links))  # fmt: skip


def _link(words: list[str], n_nodes: int, found: Collector, place: str) -> Link | None:
    try:
        source, destination = int(words[0]), int(words[1])
        link = Link((source, destination), parse_rate_bps(words[2]), parse_time_ps(words[3]), float(words[4]))
    except UnitError as error:
        found.add(place, error.text, error.hint)
        return None
    except (ValueError, IndexError):
        found.add(place, f"not a link: {' '.join(words)[:60]!r}", "write: node node 400Gbps 0.0005ms 0")
        return None
    if len(words) != 5 or not (0 <= source < n_nodes and 0 <= destination < n_nodes and source != destination):
        found.add(place, f"not a link between two of {n_nodes:,} nodes: {' '.join(words)[:60]!r}",
                  "write: node node rate latency error")  # fmt: skip
        return None
    if not 0 <= link.error_ratio <= 1:
        found.add(place, f"its error rate is {words[4][:20]!r}", "write a number from 0 to 1")
        return None
    return link
