"""`fabric validate --recommend`: headroom of every class of ports, then alpha and curve of every class of switches.

The order is that in which one value limits the next: headroom of all ports is taken from the memory, alpha shares what
is left, and the curve must mark before the XOFF that alpha sets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from fabric.recommend.alpha import AlphaFound, find_alpha
from fabric.recommend.classes import Classes, PortClass, SwitchClass, classes_of
from fabric.recommend.headroom import HeadroomFound, find_headroom
from fabric.recommend.marking import Curve, MarkingFound, find_marking
from fabric.validate.facts import Facts

_ALIKE: Final = 0.05
"""Difference of power that a choice is not made by."""
Tell = Callable[[int, int, str], None]
"""(steps done, steps, what comes next)."""


@dataclass(frozen=True, slots=True)
class SwitchFound:
    """Alpha and curve of a class of switches."""

    switch: SwitchClass
    port: PortClass
    """The class of ports whose speed was simulated: the fastest."""
    headroom_bytes: int
    """Headroom and guarantees of all lossless groups of a switch."""
    pool_bytes: int
    """What they leave of the memory."""
    alpha: AlphaFound | None
    marking: MarkingFound | None
    problem: str
    """Why a value is missing: the inequality that cannot hold; '' where none is."""


@dataclass(frozen=True, slots=True)
class Recommendation:
    """Everything that was found."""

    classes: Classes
    headroom: dict[PortClass, HeadroomFound]
    switches: tuple[SwitchFound, ...]
    complete: bool
    """False where Ctrl-C ended the search."""

    @property
    def runs(self) -> int:
        """Simulated runs."""
        return sum(it.runs for it in self.headroom.values()) + sum(
            (it.alpha.runs if it.alpha else 0) + (it.marking.runs if it.marking else 0) for it in self.switches
        )


def recommend(facts: Facts, tell: Tell) -> Recommendation:
    """Search for every class. Ctrl-C ends it with what was found."""
    classes = classes_of(facts)
    headroom: dict[PortClass, HeadroomFound] = {}
    switches: list[SwitchFound] = []
    steps = len(classes.ports) + len(classes.switches)
    complete = True
    try:
        for number, class_ in enumerate(classes.ports):
            tell(number, steps, f"headroom of ports {class_.title}")
            headroom[class_] = find_headroom(class_)
        for number, switch in enumerate(classes.switches):
            tell(len(classes.ports) + number, steps, f"alpha and marking of {switch.switches[0]}")
            switches.append(_switch(switch, headroom, classes.control))
        tell(steps, steps, "")
    except KeyboardInterrupt:
        complete = False
    return Recommendation(classes, headroom, tuple(switches), complete)


def _switch(switch: SwitchClass, headroom: dict[PortClass, HeadroomFound], control: str) -> SwitchFound:
    port = max(switch.ports, key=lambda it: (it[0].speed_mbps, it[1]))[0]
    reserved = switch.asic.reserved_bytes
    taken = sum(
        number * switch.priorities * (headroom[class_].xoff_bytes + reserved) for class_, number in switch.ports
    )
    pool = switch.memory_bytes - taken
    if pool <= 0:
        text = (
            f"headroom and guarantees of {switch.port_count * switch.priorities} lossless groups, {taken:,} B, exceed "
            f"the memory, {switch.memory_bytes:,} B: use a shared headroom pool (BUFFER_POOL.xoff)"
        )
        return SwitchFound(switch, port, taken, pool, None, None, text)
    xoff = {class_: found.xoff_bytes for class_, found in headroom.items()}
    alpha = find_alpha(switch, xoff, pool)
    if alpha.exponent is None:
        text = f"with every alpha a burst of 2 x {alpha.burst_bytes:,} B is paused beside {alpha.senders} senders"
        return SwitchFound(switch, port, taken, pool, alpha, None, text)
    present = next((Curve(*it) for it in switch.present.curves), None) if len(switch.present.curves) == 1 else None
    marking = find_marking(port, alpha.senders, alpha.exponent, xoff[port], pool, control=control, present=present)
    problem = ""
    if marking.curve is None:
        problem = (
            f"no Kmin marks before XOFF: it would be above {marking.lowest_kmin_bytes:,} B (rate x round-trip time) "
            f"and below {marking.highest_kmin_bytes:,} B (T(1) less 14 us of traffic)"
        )
    return SwitchFound(switch, port, taken, pool, alpha, marking, problem)


@dataclass(frozen=True, slots=True)
class XoffVerdict:
    """The present headroom of a class of ports, compared with the need."""

    port: PortClass
    found: HeadroomFound
    present_bytes: tuple[int, ...]
    """Every present value; () where none is configured."""
    covered: int | None
    """Corners for which the smallest present value is enough; None without a value."""
    text: str
    """'enough for 3 of 8 corners'."""


def xoff_verdicts(found: Recommendation) -> Iterator[XoffVerdict]:
    """The verdict on each class of ports, in the order in which headroom was found."""
    for class_, it in found.headroom.items():
        sizes = found.classes.present[class_].xoff_bytes
        if not sizes:
            yield XoffVerdict(class_, it, (), None, "none is configured")
            continue
        covered = sum(size + it.jumbo_bytes <= min(sizes) for _, size in it.needs)
        if min(sizes) >= it.xoff_bytes:
            text = "enough"
        elif min(sizes) >= it.need_bytes + it.jumbo_bytes:
            text = "enough, with less margin"
        else:
            text = f"enough for {covered} of {len(it.needs)} corners"
        yield XoffVerdict(class_, it, tuple(sizes), covered, text)


def curve_verdict(found: MarkingFound) -> str:
    """Whether the recommended curve did better than the present one in runs that the search did not see."""
    best, present = found.held_out.get("recommended"), found.held_out.get("present")
    if best is None or present is None:
        return ""
    ratio = best.power / present.power
    if ratio <= 1 + _ALIKE or best.early_xoffs > present.early_xoffs:
        return "in runs that the search did not see, the present curve does as well: keep it"
    return f"in runs that the search did not see, it has {ratio:.1f} times the power of the present curve"
