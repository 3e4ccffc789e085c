"""Change the priorities with PFC."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from fabric.dataplane.engine.edits import Edit, FlowControlClasses
from playbooks.acts.base import PORTS, Act, ActContext
from playbooks.acts.switch_ports import switch_ports


class Pfc(Act):
    """Change the priorities with PFC."""

    kind: Literal["pfc"]
    ports: str = Field(min_length=1, description=PORTS)
    priorities: Annotated[tuple[Annotated[int, Field(ge=0, le=7)], ...], Field(strict=False)] = Field(
        description="Priorities with PFC; [] for none."
    )

    def edits(self, context: ActContext) -> list[Edit]:
        """One edit for each port with other priorities; a change of no port is a problem."""
        classes = sum(1 << priority for priority in set(self.priorities))
        ports, now = switch_ports(self.ports, context)
        found: list[Edit] = [
            FlowControlClasses(context.time_ps, port.id, classes)
            for port in ports
            if now.ports[port.id].flow_control.classes != classes
        ]
        if ports and not found:
            context.problem("priorities", "changes nothing: the ports have these already", "give other values")
        return found
