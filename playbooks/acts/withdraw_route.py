"""Withdraw static routes, so that computed routes are in use again."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fabric.dataplane.engine.edits import Edit, StaticRoute
from fabric.topology.select import match_hosts, match_nodes
from playbooks.acts.base import Act, ActContext, Names


class WithdrawRoute(Act):
    """Withdraw every static route of switches to hosts."""

    kind: Literal["withdraw-route"]
    switches: Names = Field(description="Switches by name or pattern.")
    hosts: Names = Field(description="Destinations by name or pattern.")

    def edits(self, context: ActContext) -> list[Edit]:
        """The end of each route that is installed by then; a row without one is left out, and none is a problem."""
        fabric, path = context.compiled.fabric, context.path
        switches = match_nodes(fabric, self.switches, fabric.switches, f"{path}.switches", "switch", context.problems)
        hosts = match_hosts(fabric, self.hosts, f"{path}.hosts", context.problems)
        wanted = {(switch.id, host.id) for switch in switches for host in hosts}
        routes = dict.fromkeys(
            (edit.switch, edit.host, edit.fault)
            for edit in context.compiled.edits
            if isinstance(edit, StaticRoute)
            and not edit.ends
            and edit.time_ps <= context.time_ps
            and (edit.switch, edit.host) in wanted
        )
        if wanted and not routes:
            context.problem("hosts", "these switches have no static route to them by then", "name those of a fault")
        return [
            StaticRoute(context.time_ps, switch, host, (), fault=fault, ends=True) for switch, host, fault in routes
        ]
