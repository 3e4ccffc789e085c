"""Restore the DSCP map of switches."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fabric.dataplane.engine.edits import DscpMap as DscpMapEdit
from fabric.dataplane.engine.edits import Edit
from fabric.ids import PortId
from fabric.scenario.inject import dscp_map
from fabric.topology.select import match_nodes
from playbooks.acts.base import Act, ActContext, Names
from playbooks.acts.switch_ports import settings_now


class DscpMap(Act):
    """Give switches the map from DSCP to traffic class of another switch."""

    kind: Literal["dscp-map"]
    switches: Names = Field(description="Switches by name or pattern, to which no host is connected.")
    like: str = Field(min_length=1, description="Switch whose first port has the right map.")

    def edits(self, context: ActContext) -> list[Edit]:
        """One edit for each port with another map; a change of no port is a problem.

        Queue pairs keep the class that the map of their leaf gave them, so leaves are refused.
        """
        fabric, path = context.compiled.fabric, context.path
        switches = match_nodes(fabric, self.switches, fabric.switches, f"{path}.switches", "switch", context.problems)
        likes = match_nodes(fabric, (self.like,), fabric.switches, f"{path}.like", "switch", context.problems)
        for node in switches:
            if any(peer.is_host for _, peer in fabric.neighbours(node.id)):
                text = f"hosts at {node.name} chose their class by its map when their queue pairs began"
                context.problem("switches", text, "name switches without hosts")
        if len(likes) > 1:
            context.problem("like", f"'{self.like}' names {len(likes)} switches", "name one")
        if not switches or not likes:
            return []
        now, like = settings_now(context), PortId(likes[0].ports[0])
        found: list[Edit] = [
            DscpMapEdit(context.time_ps, PortId(port), like)
            for node in switches
            for port in node.ports
            if dscp_map(fabric, now, port) != dscp_map(fabric, now, like)
        ]
        if not found:
            context.problem(
                "like", f"changes nothing: the switches have the map of '{self.like}' already", "leave it out"
            )
        return found
