"""Which recovery a scenario's NICs have: what it says, else what its switches call for.

Packet spraying lets packets of a queue pair overtake each other. go-back-N, go-back-0 and selective repeat take every
packet that was overtaken for a loss, so where nothing is said and a switch sprays, NICs place packets in any order
(docs/decisions/0028). Who writes another recovery beside spraying gets it, and a warning.
"""

from __future__ import annotations

from fabric.scenario.layers import all_given
from fabric.scenario.models import default_tree
from fabric.scenario.schema import Scenario

OUT_OF_ORDER = "out-of-order"


def sprays(scenario: Scenario) -> bool:
    """Whether a switch may send packets of one queue pair over several paths at once."""
    return any(getattr(settings, "load_balancing", None) == "spray"
               for _, settings in all_given(scenario.switches, "switches"))


def recovery_of(scenario: Scenario) -> str:
    """The value of transport.recovery that the scenario runs with (model asic)."""
    if scenario.transport.recovery is not None:
        return scenario.transport.recovery
    default: str = default_tree(scenario.model)["transport"]["recovery"]
    return OUT_OF_ORDER if sprays(scenario) else default


def takes_reordering_for_loss(scenario: Scenario) -> bool:
    """Whether switches spray and NICs accept packets in order only."""
    return sprays(scenario) and recovery_of(scenario) != OUT_OF_ORDER
