"""Change the MTU of switch ports."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fabric.dataplane.engine.edits import Edit, PortMtu
from fabric.scenario.compile.lower import ETHERNET_HEADER_BYTES
from fabric.topology.quantities import SizeBytes
from playbooks.acts.base import PORTS, Act, ActContext
from playbooks.acts.switch_ports import switch_ports


class Mtu(Act):
    """Change the IP MTU of switch ports."""

    kind: Literal["mtu"]
    ports: str = Field(min_length=1, description=PORTS)
    mtu: SizeBytes = Field(ge=576, le=9_600, description="Largest IP packet that the ports send.")

    def edits(self, context: ActContext) -> list[Edit]:
        """One edit for each port with another MTU; a change of no port is a problem."""
        ports, now = switch_ports(self.ports, context)
        frame = self.mtu + ETHERNET_HEADER_BYTES
        found: list[Edit] = [
            PortMtu(context.time_ps, port.id, frame) for port in ports if now.ports[port.id].mtu_bytes != frame
        ]
        if ports and not found:
            context.problem("mtu", "changes nothing: the ports have it already", "give another value")
        return found
