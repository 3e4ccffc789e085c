"""The gallery of `fabric demo`: each demo is a few commands of this program, the page that they leave, and what to ask.

`{}` in a word is the demo's folder. tests/cli/test_demo.py checks every row; `python -m tools.gallery` runs all of
them and writes docs/gallery.md with their pictures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

RUN_PAGE: Final = "{}/report.html"
PLAYBOOK_PAGE: Final = "{}/playbook.html"


@dataclass(frozen=True, slots=True)
class Step:
    """One command."""

    words: tuple[str, ...]
    """As they follow `fabric`."""
    exit_code: int = 0
    """1: it is to end with a finding."""


@dataclass(frozen=True, slots=True)
class Demo:
    """One row of the gallery."""

    name: str
    question: str
    """What it answers, as a reader would ask it."""
    shows: str
    """What happens in it."""
    seconds: int
    """Processor time on one core of 3 GHz, measured by tools.gallery, after the engine is compiled."""
    steps: tuple[Step, ...]
    page: str
    ask: tuple[tuple[str, ...], ...]
    """Three commands to continue with, as they follow `fabric`."""


def _playbook(name: str) -> tuple[Step, ...]:
    return (Step(("playbook", "run", name, "--out", "{}", "--quiet")),)


def _run(name: str) -> tuple[Step, ...]:
    return (Step(("run", name, "--out", "{}", "--quiet")), Step(("report", "{}")))


# fmt: off
DEMOS: Final = (
    Demo("pfc-storm", "Why does one broken NIC stop fifteen hosts?",
         "A NIC sends pause frames without end. The pauses spread from its leaf to the spines and to other racks; the "
         "PFC watchdog contains them, and an operator resets the NIC.", 8,
         _playbook("pfc-storm"), PLAYBOOK_PAGE,
         (("explain", "pfc", "{}"), ("alerts", "show", "{}"), ("explain", "roots", "{}", "--card", "markdown"))),
    Demo("incast", "Fifteen hosts write to one: what holds their messages up?",
         "ECN marks, DCQCN slows the senders, and PFC holds the bytes for which ECN is too late. Every part of a "
         "message's time has its cause.", 4,
         _run("incast"), RUN_PAGE,
         (("explain", "message", "{}"), ("show", "{}", "queues"),
          ("capture", "{}", "--port", "leaf1:Ethernet0", "--to", "200us", "-o", "incast.pcapng"))),
    Demo("deadlock", "Can paused queues wait for each other for ever?",
         "Routes with a valley make a cycle of buffers. Every queue in it waits for the next one until the watchdog "
         "breaks the cycle.", 6,
         _playbook("deadlock"), PLAYBOOK_PAGE,
         (("explain", "pfc", "{}"), ("explain", "drops", "{}"), ("playbook", "show", "deadlock"))),
    Demo("ecn-wrong", "What does a fabric look like where a switch marks nothing?",
         "One leaf's ECN thresholds are wrong. PFC does the work of congestion control there, and alerts name the "
         "switch.", 5,
         _playbook("ecn-wrong"), PLAYBOOK_PAGE,
         (("show", "{}", "ecn"), ("explain", "roots", "{}"), ("alerts", "show", "{}"))),
    Demo("headroom-short", "How are packets of a lossless class lost?",
         "A cable is longer than the headroom of its port allows for. What is in flight after XOFF does not fit, and "
         "is dropped.", 5,
         _playbook("headroom-short"), PLAYBOOK_PAGE,
         (("explain", "drops", "{}"), ("headroom", "--speed", "100G", "--cable", "300m", "--explain"),
          ("explain", "roots", "{}"))),
    Demo("polarised", "Why are three of four uplinks idle?",
         "Two tiers of switches hash alike, so the spines cannot divide what a leaf has sorted already. New hash seeds "
         "divide it.", 6,
         _playbook("polarised"), PLAYBOOK_PAGE,
         (("path", "host1", "host17", "polarised"), ("show", "{}", "ports"), ("explain", "roots", "{}"))),
    Demo("silent-loss", "Frames are lost and no counter says so: where?",
         "A switch loses a share of the frames without counting them. The loss is found by comparing what its "
         "neighbours count.", 6,
         _playbook("silent-loss"), PLAYBOOK_PAGE,
         (("explain", "roots", "{}"), ("show", "{}", "drops"), ("playbook", "show", "silent-loss"))),
    Demo("spine-failure", "A spine hangs with its links up: how long do packets die?",
         "BFD finds out, BGP withdraws the spine, and what was sent into it meanwhile is lost and sent again.", 5,
         _run("bgp-spine-failure"), RUN_PAGE,
         (("bgp", "summary", "{}", "--at", "3ms"), ("explain", "drops", "{}"), ("show", "{}", "messages"))),
    Demo("mac-move", "What does a host that flaps between two leaves cost?",
         "A MAC address moves again and again. EVPN counts its moves, and frames are lost until the leaves have "
         "learned each.", 6,
         _playbook("mac-move"), PLAYBOOK_PAGE,
         (("evpn", "mac", "{}", "--at", "3ms"), ("explain", "roots", "{}"), ("explain", "drops", "{}"))),
    Demo("slow-nic", "64 ranks wait for one: which, and why?",
         "A ring all-reduce waits for a host whose cable lost lanes. The critical path of the step names it.", 6,
         (*_run("slow-nic-ring"), Step(("explain", "step", "{}"))), RUN_PAGE,
         (("explain", "step", "{}", "--without", "faults"), ("explain", "roots", "{}"), ("show", "{}", "messages"))),
    Demo("placement", "Does the placement of two training jobs matter?",
         "Two jobs of 16 GPUs, packed and spread over two pods of rails, and each job alone: step times, slowdowns, "
         "pauses.", 9,
         (Step(("job", "compare", "placements", "--placements", "packed,spread", "--out", "{}", "--html",
                "{}/jobs.html", "--quiet")),), "{}/jobs.html",
         (("job", "compare", "placements", "--placements", "rail-aligned,random"), ("topology", "show", "placements"),
          ("init", "placements"))),
    Demo("validate", "Is this change of switch configurations safe?",
         "SONiC configurations of a small fabric after a change, without a simulation: problems of PFC, ECN and "
         "buffers with file, line and remedy.", 1,
         (Step(("init", "validate-example", "--out", "{}")),
          Step(("validate", "{}/after", "--format", "html", "--out", "{}/verdict.html"), exit_code=1)),
         "{}/verdict.html",
         (("validate", "{}/after", "--baseline", "{}/before"), ("validate", "{}/after", "--fix", "{}/patches"),
          ("validate", "{}/after", "--prove"))),
    Demo("rollout", "In which order may switches be changed?",
         "The mixed states of a rollout are validated; the safe order is printed, or the hazard on the way.", 2,
         (Step(("init", "rollout-example", "--out", "{}")),
          Step(("rollout", "{}/old", "{}/new", "--format", "html", "--out", "{}/rollout.html", "--quiet"))),
         "{}/rollout.html",
         (("rollout", "{}/old", "{}/new"), ("rollout", "{}/old", "{}/new", "--format", "markdown"),
          ("validate", "{}/new"))),
)
# fmt: on
