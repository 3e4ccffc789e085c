"""Move RoCE to another class: a new code point beside the old one, then the hosts move, then the old one goes.

While a DSCP is in one class on some switches and in another on others, a pause of one class does not stop the other's
queue, so every order of switches loses packets. With another DSCP for the new class every switch carries both classes,
and hosts move one by one.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from fabric.configs.model import Device
from fabric.configs.network import Host, Network
from fabric.rollout.check import Checker, Known
from fabric.rollout.edits import Tables, edits_between
from fabric.rollout.order import Progress
from fabric.rollout.solve import Solution, solve
from fabric.rollout.symmetry import Symmetry
from fabric.rollout.units import change_between, device_of
from fabric.validate.checks.base import Severity
from fabric.validate.facts import Facts

_MAP: Final = "DSCP_TO_TC_MAP"
_CODE_POINTS: Final = 64
_BESIDE: Final = 4
"""Code points to the one that is tried first: the next precedence of the same drop class (RFC 2597)."""
Raw = Callable[[Device], Tables | None]


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of the split."""

    title: str
    what: str
    solution: Solution


@dataclass(frozen=True, slots=True)
class Split:
    """Three stages from OLD to NEW with another code point."""

    dscp: int
    beside: int
    stages: tuple[Stage, ...]

    @property
    def safe(self) -> bool:
        """Whether each stage has an order without a hazard."""
        return all(stage.solution.safe or not stage.solution.change.units for stage in self.stages)


def moved_code_point(old: Network, new: Network) -> int | None:
    """A DSCP of RoCE that is lossless in both networks, in different queues; None where there is none."""
    before, after = Facts(old), Facts(new)
    for dscp in old.roce_dscps:
        if dscp not in new.roce_dscps:
            continue
        queues = []
        for facts in (before, after):
            lines = [line for line in facts.lossless if facts.lossless_class(line, dscp)[1] is not None]
            queues.append({facts.queue_of(line, dscp) for line in lines})
        if queues[0] and queues[1] and not queues[0] & queues[1]:
            return dscp
    return None


def free_code_points(old: Network, new: Network, dscp: int) -> list[int]:
    """Code points that no RoCE and no CNP has and that are lossless on no port of OLD; the nearest candidate first."""
    facts = Facts(old)
    used = {*old.roce_dscps, *new.roce_dscps, *old.cnp_dscps, *new.cnp_dscps}
    order = [(dscp + _BESIDE + number) % _CODE_POINTS for number in range(_CODE_POINTS)]
    return [
        it
        for it in order
        if it not in used and all(facts.lossless_class(line, it)[1] is None for line in facts.lossless)
    ]


def split_of(
    old: Network,
    new: Network,
    *,
    release: str,
    raw: Raw,
    known: Known,
    least: Severity,
    most: int,
    every: bool,
    say: Progress | None = None,
) -> Split | None:
    """The split for a RoCE class that moves, with each stage searched; None where it does not apply.

    It applies where every switch that changes the class of the DSCP is SONiC, by an entry of a DSCP_TO_TC_MAP.
    """
    dscp = moved_code_point(old, new)
    free = [] if dscp is None else free_code_points(old, new, dscp)
    if dscp is None or not free:
        return None
    beside = free[0]
    both, after = dict(new.devices), dict(new.devices)
    made: dict[int, Tables] = {}

    def tables_of_any(device: Device) -> Tables | None:
        return made.get(id(device)) or raw(device)

    for name, device in new.devices.items():
        before = old.devices.get(name)
        pair = None if before is None else (raw(before), raw(device))
        if pair is None or pair[0] is None or pair[1] is None:
            return None
        tables = _with_both(pair[0], pair[1], dscp, beside)
        if tables is None:
            return None
        both[name] = device_of(tables[0], device.file, new)
        after[name] = device_of(tables[1], device.file, new)
        made[id(both[name])], made[id(after[name])] = tables
    hosts = {name: _remark(host, dscp, beside) for name, host in new.hosts.items()}
    default = None if new.default_host is None else _remark(new.default_host, dscp, beside)
    first = replace(new, devices=both, hosts=old.hosts, default_host=old.default_host, roce_dscps=old.roce_dscps)
    codes = tuple(sorted({beside if it == dscp else it for it in new.roce_dscps}))
    second = replace(first, hosts=hosts, default_host=default, roce_dscps=codes)
    third = replace(second, devices=after)
    stages = []
    for title, what, one, other in (
        ("new code point on all switches", f"DSCP {beside} is mapped to the new class beside DSCP {dscp}", old, first),
        ("hosts move", f"hosts mark RoCE with DSCP {beside}, with their other new settings", first, second),
        ("old code point goes", f"DSCP {dscp} is mapped as DSCP {beside} was", second, third),
    ):
        change = change_between(one, other, release, tables_of_any)
        symmetry = None if every else Symmetry(change, tables_of_any)
        checker = Checker(change, known, least=least, symmetry=symmetry)
        tell = None if say is None else partial(_tell, say, title, checker)
        stages.append(Stage(title, what, solve(checker, most=most, say=tell)))
        if not stages[-1].solution.safe and change.units:
            break
    return Split(dscp, beside, tuple(stages)) if len(stages) == 3 else None


def _tell(say: Progress, title: str, checker: Checker, what: str) -> None:
    say(f"split, {title}: {len(checker.checked)} states, {what}")


def _remark(host: Host, dscp: int, beside: int) -> Host:
    return replace(host, roce_dscp=beside) if host.roce_dscp == dscp else host


def _with_both(old: Tables, new: Tables, dscp: int, beside: int) -> tuple[Tables, Tables] | None:
    """NEW with the DSCP as in OLD and its new class at the other one; the same with the DSCP out of RoCE's class."""
    first, second = copy.deepcopy(new), copy.deepcopy(new)
    found = False
    for edit in edits_between(old, new):
        if edit.table != _MAP or edit.field != str(dscp) or edit.op != "replace":
            continue
        found = True
        rest = old[_MAP][edit.key].get(str(beside))
        first[_MAP][edit.key].update({str(dscp): edit.old, str(beside): edit.new})
        second[_MAP][edit.key][str(beside)] = edit.new
        if rest is None:
            second[_MAP][edit.key].pop(str(dscp))
        else:
            second[_MAP][edit.key][str(dscp)] = rest
    return (first, second) if found else None
