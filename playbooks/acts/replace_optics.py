"""Replace the optics of cables: full speed, and no bit errors."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fabric.dataplane.engine.edits import DropEvery, Edit, LinkErrors, LinkRate
from fabric.dataplane.engine.holds import in_force
from fabric.topology.model import Link
from fabric.topology.select import match_links
from playbooks.acts.base import CABLES, Act, ActContext


class ReplaceOptics(Act):
    """Replace the optics of cables: they run at full speed again, and lose no frames for bit errors or bad optics.

    What a switch that hangs, a cut or a silent cable loses goes on.
    """

    kind: Literal["replace-optics"]
    link: str = Field(min_length=1, description=CABLES)

    def edits(self, context: ActContext) -> list[Edit]:
        """The values of the topology where they differ; cables on which all is as new are a problem."""
        links = match_links(context.compiled.fabric, self.link, f"{context.path}.link", context.problems)
        found = [edit for link in links for edit in _as_new(link, context)]
        if links and not found:
            context.problem(
                "link",
                "changes nothing: no rate, bit errors or drop-every fault lasts there",
                "name the cable of such a fault; do {kind: undo} ends every other one",
            )
        return found


def _as_new(link: Link, context: ActContext) -> list[Edit]:
    """Full speed, no bit errors, and the end of every fault that discards some data frames at either end."""
    compiled, time_ps = context.compiled, context.time_ps
    before = [edit for edit in compiled.edits if edit.time_ps <= time_ps]
    errors, rate_bps = compiled.params.ports[link.a].bit_error_ratio, link.rate_bps
    losing: dict[tuple[int, str], Edit] = {}
    for edit in in_force(
        [it for it in before if isinstance(it, LinkErrors | LinkRate)], compiled.fabric, compiled.params
    ):
        if isinstance(edit, LinkErrors) and edit.link == link.id:
            errors = edit.bit_error_ratio
        elif isinstance(edit, LinkRate) and edit.link == link.id:
            rate_bps = edit.rate_bps
    for edit in before:
        if isinstance(edit, DropEvery) and edit.port in {link.a, link.b} and not edit.all_kinds:
            if edit.ends:
                losing.pop((edit.port, edit.fault), None)
            else:
                losing[edit.port, edit.fault] = DropEvery(time_ps, edit.port, 0, fault=edit.fault, ends=True)
    found: list[Edit] = [] if errors == 0 else [LinkErrors(time_ps, link.id, 0.0)]
    found += [] if rate_bps == link.rate_bps else [LinkRate(time_ps, link.id, link.rate_bps)]
    return [*found, *losing.values()]
