"""The corpus of one-mistake configurations put through `fabric validate --fix`, and what came of each."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fabric.configs.load import load_network
from fabric.configs.network import HOST_SETTINGS, Network
from fabric.errors import InputErrors
from fabric.validate.checks.base import Severity
from fabric.validate.fix.search import Plan, find
from fabric.validate.judge import Request, judge
from tests.mistakes.mistake import Mistake, write
from tests.mistakes.mistake import good as working
from tests.mistakes.score import CASES
from tests.model_values import listed, values_of


@dataclass(frozen=True)
class FixTrial:
    """One mistake, and the plan for it."""

    mistake: Mistake
    outcome: str
    """'clean', 'part' where findings are left, 'none', or 'refused' where the file cannot be read."""
    restored: bool
    """Whether the fixed fabric means the same as the working one."""
    changes: tuple[str, ...]
    """Device and what is changed."""
    reasons: tuple[str, ...]
    """Check and reason of what is left."""
    new: int
    """Warnings and errors that the changes make."""


def plan_of(folder: Path) -> Plan:
    """The plan for the fabric in a folder."""
    request = Request([folder])
    return find(request, judge(request))


def trial(case: Mistake, work: Path) -> FixTrial:
    """One mistake made, and fixed."""
    broken, good = (_emptied(work / name) for name in ("broken", "good"))
    case.write(broken)
    write(case.language, working(case.language, loopbacks=case.loopbacks, interior=case.interior), good)
    try:
        plan = plan_of(broken)
    except InputErrors as error:
        return FixTrial(
            case, "refused", False, (), tuple(it.text.replace(f"{broken}/", "") for it in error.problems[:1]), 0
        )
    left = plan.asked - plan.gone
    outcome = "clean" if not left else "part" if plan.steps else "none"
    restored = _meaning(load_network([good])) == _meaning(plan.end.network)
    told = tuple(f"{it.device}: {it.what}" for it in plan.changes)
    reasons = tuple(dict.fromkeys(f"{it.cause.check.id}: {it.reason}" for it in plan.left))
    return FixTrial(case, outcome, restored, told, reasons, len(plan.new))


def _meaning(network: Network) -> tuple[object, ...]:
    """What the files mean: a default that is written down is no difference."""
    return (
        {name: (dict(values_of(device)), listed(device)) for name, device in network.devices.items()},
        _of_hosts(network),
        {(cable.a, cable.b, cable.length_m) for cable in network.links},
    )


def _of_hosts(network: Network) -> dict[str, list[object]]:
    """The default settings, and those of the hosts that have others."""
    its = {name: [getattr(host, it) for it in sorted(HOST_SETTINGS)] for name, host in network.stated_hosts.items()}
    return {name: values for name, values in its.items() if name == "default" or values != its.get("default")}


def trials(work: Path, cases: Sequence[Mistake] = CASES) -> Iterator[FixTrial]:
    """Every mistake with a warning or an error."""
    for case in cases:
        yield trial(case, work)


def warned(folder: Path) -> set[tuple[str, str, str]]:
    """Warnings and errors of the fabric in a folder."""
    return {it.key for it in judge(Request([folder])).findings if it.severity >= Severity.WARN}


def _emptied(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
