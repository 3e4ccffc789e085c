"""Change the ECN marking curve of ports."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from fabric.dataplane.engine.edits import Edit, QueueEcn
from fabric.dataplane.state.params import EcnParams
from fabric.topology.quantities import SizeBytes
from fabric.topology.select import match_ports
from playbooks.acts.base import PORTS, Act, ActContext
from playbooks.acts.switch_ports import settings_now


class Ecn(Act):
    """Another marking curve."""

    kind: Literal["ecn"]
    ports: str = Field(min_length=1, description=PORTS)
    kmin: SizeBytes = Field(description="Queue at which marking begins.")
    kmax: SizeBytes = Field(description="Queue from which every packet is marked.")
    pmax: float = Field(gt=0, le=1, description="Mark probability just below kmax.")

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        if self.kmin >= self.kmax:
            raise ValueError(f"kmin ({self.kmin} B) is not below kmax ({self.kmax} B)")
        return self

    def edits(self, context: ActContext) -> list[Edit]:
        """One edit for each queue with ECN and another curve; ports without such a queue are a problem."""
        curve = EcnParams(self.kmin, self.kmax, self.pmax)
        ports = match_ports(context.compiled.fabric, self.ports, f"{context.path}.ports", context.problems)
        marking = [
            (port.id, queue)
            for port in ports
            for queue, params in enumerate(context.compiled.params.ports[port.id].queues)
            if params.ecn is not None
        ]
        now = settings_now(context)
        found: list[Edit] = [
            QueueEcn(context.time_ps, port, queue, curve)
            for port, queue in marking
            if now.ports[port].queues[queue].ecn != curve
        ]
        if ports and not marking:
            context.problem(
                "ports",
                f"no queue of '{self.ports}' marks, so a curve has no effect there",
                "name switch ports with ECN",
            )
        elif ports and not found:
            context.problem("kmin", "changes nothing: the queues have this curve already", "give another curve")
        return found
