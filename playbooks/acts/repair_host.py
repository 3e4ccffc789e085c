"""Repair a host that consumes more slowly than its link delivers."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fabric.dataplane.engine.edits import Edit, HostDrain
from fabric.topology.select import match_hosts
from playbooks.acts.base import Act, ActContext, Names


class RepairHost(Act):
    """Let a slow receiver consume at line rate."""

    kind: Literal["repair-host"]
    hosts: Names = Field(description="Hosts by name or pattern.")

    def edits(self, context: ActContext) -> list[Edit]:
        """A drain rate of 0, which means line rate."""
        hosts = match_hosts(context.compiled.fabric, self.hosts, f"{context.path}.hosts", context.problems)
        return [HostDrain(context.time_ps, host.id, 0) for host in hosts]
