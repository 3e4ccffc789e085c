"""Take cables out of service, without a fault in the ground truth."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fabric.dataplane.engine.edits import Edit, LinkState
from fabric.dataplane.engine.holds import in_force
from fabric.topology.select import match_links
from playbooks.acts.base import CABLES, Act, ActContext


class Shut(Act):
    """Take cables out of service."""

    kind: Literal["shut"]
    link: str = Field(min_length=1, description=CABLES)

    def edits(self, context: ActContext) -> list[Edit]:
        """Both directions of each cable go down; cables that stay down to the end without it are a problem."""
        links = match_links(context.compiled.fabric, self.link, f"{context.path}.link", context.problems)
        found: list[Edit] = [
            LinkState(context.time_ps, link.id, up=False) for link in links if _carries(context, link.id)
        ]
        if links and not found:
            context.problem("link", "changes nothing: it is down already, and stays so", "name a cable that is up")
        return found


def _carries(context: ActContext, link: int) -> bool:
    """Whether a cable is up at the act, or comes up later: faults that end bring it back."""
    compiled = context.compiled
    own = [it for it in compiled.edits if isinstance(it, LinkState) and it.link == link]
    up = True
    for edit in in_force(own, compiled.fabric, compiled.params):  # in order of time
        if edit.time_ps > context.time_ps and up:
            return True
        up = isinstance(edit, LinkState) and edit.up
    return up
