"""Switch the PFC watchdog on (SONiC PFC_WD)."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from fabric.dataplane.engine.edits import Edit, WatchdogSet
from fabric.dataplane.state.codes import WatchdogAction, WatchdogRule
from fabric.dataplane.state.params import WatchdogParams
from fabric.scenario.compile.scenario import CompiledScenario
from fabric.topology.quantities import TimePs
from fabric.topology.select import match_nodes
from playbooks.acts.base import Act, ActContext, Names


class Watchdog(Act):
    """Switch the PFC watchdog on."""

    kind: Literal["watchdog"]
    switches: Names = Field(description="Switches by name or pattern.")
    poll: TimePs = Field(gt=0, description="Poll interval.")
    detection: TimePs = Field(gt=0, description="A storm is declared after this, in whole polls.")
    restoration: TimePs | None = Field(
        None, description="The queue is restored after this long without pause; never where absent."
    )
    action: Literal["drop", "forward", "alert"] = Field("drop", description="What is done to a stormed queue.")

    @model_validator(mode="after")
    def _not_shorter_than_poll(self) -> Self:
        if self.detection < self.poll or (self.restoration is not None and self.restoration < self.poll):
            raise ValueError("detection and restoration must not be shorter than poll (sonic-pfcwd.yang)")
        return self

    def edits(self, context: ActContext) -> list[Edit]:
        """The watchdog of each switch, over the classes of its ports that honour PAUSE."""
        compiled = context.compiled
        fabric, path = compiled.fabric, f"{context.path}.switches"
        return [
            WatchdogSet(
                context.time_ps,
                node.id,
                WatchdogParams(
                    self.poll,
                    self.detection,
                    self.restoration,
                    WatchdogAction[self.action.upper()],
                    WatchdogRule.BROADCOM,
                    _pfc_classes(compiled, node.id),
                ),
            )
            for node in match_nodes(fabric, self.switches, fabric.switches, path, "switch", context.problems)
        ]


def _pfc_classes(compiled: CompiledScenario, node: int) -> int:
    """Bitmap of the classes for which any port of the switch honours PAUSE."""
    classes = 0
    for port in compiled.fabric.nodes[node].ports:
        classes |= compiled.params.ports[port].flow_control.classes
    return classes
