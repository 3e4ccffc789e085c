"""Switch ARP suppression on or off (RFC 7432 section 10)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fabric.dataplane.engine.edits import Edit, SuppressArp
from fabric.topology.select import match_nodes
from playbooks.acts.base import Act, ActContext, Names


class ArpSuppression(Act):
    """Leaves answer ARP from their EVPN routes, or flood it."""

    kind: Literal["arp-suppression"]
    switches: Names = Field(description="Leaves by name or pattern.")
    state: Literal["on", "off"] = Field(description="From now on, in every VNI.")

    def edits(self, context: ActContext) -> list[Edit]:
        """One edit per leaf and VNI; a scenario without an overlay is a problem."""
        fabric, overlay = context.compiled.fabric, context.compiled.params.vxlan
        path = f"{context.path}.switches"
        switches = match_nodes(fabric, self.switches, fabric.switches, path, "switch", context.problems)
        if overlay is None:
            context.problem(
                "kind", "the scenario has no overlay, so there is nothing to suppress", "add 'vxlan: {}' to it"
            )
            return []
        return [
            SuppressArp(context.time_ps, node.id, segment, self.state == "on")
            for node in switches
            if any(peer.is_host for _, peer in fabric.neighbours(node.id))
            for segment in range(len(overlay.segments))
        ]
