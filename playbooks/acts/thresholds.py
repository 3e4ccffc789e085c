"""Change the buffer thresholds of lossless priority groups."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, Self

from pydantic import Field, model_validator

from fabric.dataplane.engine.edits import Edit, PgThreshold
from fabric.dataplane.state.params import PgParams
from fabric.topology.quantities import SizeBytes
from playbooks.acts.base import PORTS, Act, ActContext
from playbooks.acts.switch_ports import switch_ports


class Thresholds(Act):
    """Other buffer thresholds of the lossless priority groups."""

    kind: Literal["thresholds"]
    ports: str = Field(min_length=1, description=PORTS)
    dynamic_th: int | None = Field(None, ge=-8, le=7, description="Dynamic threshold: alpha is 2 to this power.")
    headroom: SizeBytes | None = Field(None, description="Headroom.")

    @model_validator(mode="after")
    def _has_effect(self) -> Self:
        if self.dynamic_th is None and self.headroom is None:
            raise ValueError("neither dynamic_th nor headroom is given; give one of them")
        return self

    def edits(self, context: ActContext) -> list[Edit]:
        """One edit for each lossless group with other values; a change of no group is a problem."""
        ports, now = switch_ports(self.ports, context)
        found: list[Edit] = [
            PgThreshold(context.time_ps, port.id, number, self._changed(group))
            for port in ports
            for number, group in enumerate(now.ports[port.id].pgs)
            if group.lossless and self._changed(group) != group
        ]
        if ports and not found:
            context.problem("ports", "changes nothing: the ports have these values already", "give other values")
        return found

    def _changed(self, group: PgParams) -> PgParams:
        return replace(
            group,
            dynamic_th=group.dynamic_th if self.dynamic_th is None else self.dynamic_th,
            xoff_bytes=group.xoff_bytes if self.headroom is None else self.headroom,
        )
