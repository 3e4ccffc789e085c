"""Reset a NIC that sends a pause storm."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fabric.dataplane.engine.edits import Edit, NicReset, PauseStorm
from fabric.topology.select import match_hosts
from playbooks.acts.base import Act, ActContext, Names


class ResetNic(Act):
    """End the storm of a broken NIC."""

    kind: Literal["reset-nic"]
    hosts: Names = Field(description="Hosts by name or pattern.")

    def edits(self, context: ActContext) -> list[Edit]:
        """A reset of each host's NIC; a NIC that does not storm at this moment is a problem."""
        found: list[Edit] = []
        for host in match_hosts(context.compiled.fabric, self.hosts, f"{context.path}.hosts", context.problems):
            if _storms(context, host.id):
                found.append(NicReset(context.time_ps, host.id))
            else:
                context.problem(
                    "hosts",
                    f"the NIC of '{host.name}' does not storm at that moment",
                    "name the host of a pause-storm fault, and a time within it",
                )
        return found


def _storms(context: ActContext, host: int) -> bool:
    """Whether a storm of this host has begun since its last reset and has not ended."""
    edits, now_ps = context.compiled.edits, context.time_ps
    reset_ps = max(
        (edit.time_ps for edit in edits if isinstance(edit, NicReset) and edit.host == host and edit.time_ps <= now_ps),
        default=-1,
    )
    return any(
        edit.host == host and reset_ps <= edit.time_ps < now_ps < edit.time_ps + edit.duration_ps
        for edit in edits
        if isinstance(edit, PauseStorm)
    )
