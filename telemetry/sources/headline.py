"""The first line of a run's verdict: its first root cause. The verdict in summary.json is made without samples.

The diagnosis reads every sample and may take as long as a small run, so it is made only where a run has something to
explain: a problem or warning, a pause, a fault that had begun, or a device that has less than its peers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fabric.controlplane.network.run import ControlRun
from fabric.explain.evidence import Evidence
from fabric.explain.marking import levels
from fabric.ids import PortId
from fabric.runs.rundir import RunDir
from fabric.topology.peer_rates import unlike_peers
from fabric.visible import command
from telemetry.diagnosis.root import Kind, Root
from telemetry.sources.roots import roots_of
from telemetry.sources.roots_table import and_more

_LEVELS: Final = ("problem", "warning")
"""By Root.rank; further ranks are no headline."""


def is_suspicious(run: RunDir) -> bool:
    """Whether a run shows something that a root cause may explain."""
    summary = run.summary
    if any(it["level"] in _LEVELS for it in summary["verdict"]) or summary["metrics"]["pfc.pause_frames"]:
        return True
    truth = run.truth()
    end_ns = int(summary["stop"]["time_ns"])
    begun = "start_ns" in truth.column_names and any(it < end_ns for it in truth["start_ns"].to_pylist())
    return begun or bool(unlike_peers(run.fabric))


def _levels(run: RunDir, root: Root) -> list[str]:
    """Of a queue that pauses before it marks: both levels, which are in no metric."""
    if root.kind is not Kind.ECN_WRONG or root.special or not root.port or root.priority is None:
        return []
    evidence = Evidence(run)
    text = levels(evidence, PortId(evidence.port_named(f"{root.device}:{root.port}")), root.priority)
    return [text] if text else []


def headline(run: RunDir, control: ControlRun | None = None) -> tuple[str, str] | None:
    """(level, text) of the first root; None where there is none that an operator acts on. Raises: RunDirError.

    control : the run's control plane, where it has been simulated already; None: it is simulated again if needed
    """
    found: Sequence[Root] = roots_of(run, control=control) if is_suspicious(run) else ()
    if not found or found[0].rank >= len(_LEVELS):
        return None
    first = found[0]
    parts = [*first.evidence[:1], *_levels(run, first)]
    why = f" ({'; '.join(parts)})" if parts else ""
    more = command("fabric", "explain", "roots", run.path)
    return _LEVELS[first.rank], f"{first.meaning.title}: {first.place}{why}{and_more(len(found))}; see {more}"
