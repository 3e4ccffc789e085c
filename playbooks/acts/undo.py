"""Undo a fault of the scenario: the change is reverted, the part replaced, the daemon or device restarted."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fabric.dataplane.engine.edits import Edit
from fabric.errors import Problem
from fabric.faults.control_spec import EndpointChurnSpec
from fabric.faults.spec import FaultSpec, LinkFlapSpec, PauseStormSpec
from fabric.faults.spec_base import Lasting
from fabric.name_patterns import fits_pattern
from fabric.scenario.schema.scenario import Scenario
from fabric.topology.select import nearest
from playbooks.acts.base import Act, ActContext


class Undo(Act):
    """Undo faults of the scenario: revert the change, replace the part, restart the daemon or the device.

    What would begin later does not happen.
    """

    before_run = True

    kind: Literal["undo"]
    fault: str = Field(min_length=1, description="`name` of entries of the scenario's `faults`, or a pattern.")

    def foreseen(self, scenario: Scenario, time_ps: int, path: str, problems: list[Problem]) -> Scenario:
        """The faults end at this time; routers and VTEPs notice it as they notice any end of a fault."""
        names = [it.name for it in scenario.faults if it.name is not None]
        if not any(fits_pattern(name, self.fault) for name in names):
            hint = nearest(self.fault, names, "named faults") if names else "give a fault of the scenario a name"
            problems.append(Problem(f"{path}.fault", f"the scenario has no fault '{self.fault}'", hint))
            return scenario
        faults: list[FaultSpec] = []
        changed = False
        for fault in scenario.faults:
            if fault.name is None or not fits_pattern(fault.name, self.fault):
                faults.append(fault)
            elif fault.at >= time_ps:
                changed = True
            else:
                ended = _ended(fault, time_ps)
                changed = changed or ended is not None
                faults.append(ended or fault)
        if not changed:
            text = f"the fault '{self.fault}' does not last at that moment, so there is nothing to undo"
            problems.append(Problem(f"{path}.fault", text, "act while it lasts"))
        return scenario.model_copy(update={"faults": tuple(faults)})

    def edits(self, context: ActContext) -> list[Edit]:
        """None: the fault itself ends."""
        del context
        return []


def _ended(fault: FaultSpec, time_ps: int) -> FaultSpec | None:
    """A fault that has begun, with its end at this time; None where it has ended, or is over in a moment."""
    if isinstance(fault, LinkFlapSpec):  # the present outage ends as well
        last_ps = fault.at + (fault.count - 1) * (fault.down + fault.up) + fault.down
        end_ps = last_ps if fault.until is None else fault.until
        return fault.model_copy(update={"until": time_ps}) if time_ps < end_ps else None
    if isinstance(fault, PauseStormSpec):
        lasts_ps = time_ps - fault.at
        return fault.model_copy(update={"duration": lasts_ps}) if lasts_ps < fault.duration else None
    if isinstance(fault, EndpointChurnSpec):
        return fault.model_copy(update={"until": time_ps}) if time_ps < fault.until else None
    if isinstance(fault, Lasting) and (fault.until is None or time_ps < fault.until):
        return fault.model_copy(update={"until": time_ps})
    return None
