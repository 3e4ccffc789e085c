"""The cause of the main fault of a run, in one sentence: the headline of a report.

The verdict of summary.json is made from counters alone. Here the event log is read too, so a storm is named with its
origin and reach. Where counters do not explain messages that were not done, the time of the message in progress longest
is accounted for.
"""

from __future__ import annotations

import numpy as np

from fabric.explain import pauses
from fabric.explain.evidence import Evidence
from fabric.explain.message import held_up_by
from fabric.explain.pause_tree import Cause


def cause(evidence: Evidence) -> str:
    """The sentence; '' where it adds nothing to the headline of the verdict."""
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
    """What delayed the message that was in progress longest; '' where none was posted."""
    messages = evidence.messages
    in_progress = np.flatnonzero((messages["start_ps"] >= 0) & (messages["end_ps"] < 0))
    if not in_progress.size:
        return ""
    first = int(in_progress[np.argmin(messages["start_ps"][in_progress])])
    name = evidence.run.messages(["id"])["id"][first].as_py()
    why, how = held_up_by(evidence, first)
    if not why:
        stop = evidence.run.summary["stop"]
        short = "run.duration was too short: " if stop["reason"] == "duration" else ""
        return f"{short}{name}, the longest in progress, was {how}; {undone}"
    return f"{why} held up {name}, the longest in progress ({how}); {undone}"
