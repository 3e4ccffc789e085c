"""The loss recovery of a scenario's NICs: the written one, else the one that suits its switches.

Packet spraying and adaptive routing let packets of a queue pair overtake each other. go-back-N, go-back-0 and selective
repeat treat every overtaken packet as lost. So the default with both is out-of-order placement (docs/decisions/0028).
Another recovery that is written beside them is used, with a warning.
"""

from __future__ import annotations

from fabric.dataplane.state import codes
from fabric.scenario.compile.layers import all_given
from fabric.scenario.presets.models import default_tree
from fabric.scenario.schema.scenario import Scenario

OUT_OF_ORDER = "out-of-order"
PER_PACKET = frozenset(it.name.lower() for it in codes.PER_PACKET)
"""Values of switches.load_balancing by which packets of one queue pair take several paths at once."""


SOURCE_ROUTED = "source-routed"


def source_routed(scenario: Scenario) -> bool:
    """Whether NICs choose the paths of packets."""
    return any(
        getattr(settings, "load_balancing", None) == SOURCE_ROUTED
        for _, settings in all_given(scenario.switches, "switches")
    )


def sprays(scenario: Scenario) -> bool:
    """Whether packets of one queue pair may take several paths at once."""
    routes = scenario.transport.source_routes
    if source_routed(scenario) and (routes is None or routes.choice != "queue-pair"):
        return True
    return any(
        getattr(settings, "load_balancing", None) in PER_PACKET
        for _, settings in all_given(scenario.switches, "switches")
    )


def recovery_of(scenario: Scenario) -> str:
    """The value of transport.recovery that the scenario runs with (model asic)."""
    if scenario.transport.recovery is not None:
        return scenario.transport.recovery
    default: str = default_tree(scenario.model)["transport"]["recovery"]
    return OUT_OF_ORDER if sprays(scenario) else default


def takes_reordering_for_loss(scenario: Scenario) -> bool:
    """Whether packets are sprayed and NICs accept them in order only."""
    return sprays(scenario) and recovery_of(scenario) != OUT_OF_ORDER
