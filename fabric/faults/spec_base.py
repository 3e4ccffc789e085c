"""Fields of every entry of `faults:`."""

from __future__ import annotations

from typing import Final, Self

from pydantic import Field, model_validator

from fabric.topology.quantities import TimePs
from fabric.topology.spec import Name, Strict

CABLE: Final = "Cables: 'leaf1--spine1' (all parallel ones), 'leaf1--spine1#0', or a port such as 'leaf1:Ethernet0'."


class FaultBase(Strict):
    """Fields of every fault."""

    name: Name | None = Field(None, description="Name in the truth records; kind and number where absent.")
    at: TimePs = Field(description="When it begins.")


class Lasting(FaultBase):
    """Fields of faults that may end."""

    until: TimePs | None = Field(None, description="When it is repaired; never where absent.")

    @model_validator(mode="after")
    def _ends_later(self) -> Self:
        if self.until is not None and self.until <= self.at:
            raise ValueError("until is not after at; move one of them")
        return self
