"""The cause of what went wrong in a run, in one sentence: the headline of a report.

The verdict of summary.json knows counters alone. Here the event log is at hand, so a storm is told with its origin and
its reach, and messages that were not done for no reason in the counters are accounted for: where the time of the one
that was longest under way went.
"""

from __future__ import annotations

import numpy as np

from fabric.report import pauses
from fabric.report.evidence import Evidence
from fabric.report.explain_message import held_up_by
from fabric.report.pause_tree import Cause


def cause(evidence: Evidence) -> str:
    """The sentence; '' where the verdict's own headline says as much."""
    summary = evidence.run.summary
    if summary["deadlock"] or not any(it["level"] in {"problem", "warning"} for it in summary["verdict"]):
        return ""
    for episode in evidence.episodes[:1]:
        if episode.origin.cause is not Cause.CONGESTION:
            return pauses.sentence(evidence.fabric, episode, evidence.blast(episode))
    undone = next((it["text"] for it in summary["verdict"] if "not done" in it["text"]), "")
    if summary["headline"] == undone and undone:
        return _held_up(evidence, undone)
    return ""


def _held_up(evidence: Evidence, undone: str) -> str:
    """What held up the message that was under way longest; '' where none was ever posted."""
    messages = evidence.messages
    under_way = np.flatnonzero((messages["start_ps"] >= 0) & (messages["end_ps"] < 0))
    if not under_way.size:
        return ""
    first = int(under_way[np.argmin(messages["start_ps"][under_way])])
    name = evidence.run.messages(["id"])["id"][first].as_py()
    why, how = held_up_by(evidence, first)
    if not why:
        stop = evidence.run.summary["stop"]
        short = "run.duration was too short: " if stop["reason"] == "duration" else ""
        return f"{short}{name}, the longest under way, was {how}; {undone}"
    return f"{why} held up {name}, the longest under way ({how}); {undone}"
