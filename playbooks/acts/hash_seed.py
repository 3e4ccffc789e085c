"""Change the ECMP hash seed of switches."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fabric.dataplane.engine.edits import Edit
from fabric.dataplane.engine.edits import HashSeed as HashSeedEdit
from fabric.topology.select import match_nodes
from playbooks.acts.base import Act, ActContext, Names
from playbooks.acts.switch_ports import settings_now


class HashSeed(Act):
    """Give each of the switches another ECMP hash seed: the first one `seed`, each further one the next number."""

    kind: Literal["hash-seed"]
    switches: Names = Field(description="Switches by name or pattern.")
    seed: int = Field(ge=0, lt=2**31, description="Seed of the first switch.")

    def edits(self, context: ActContext) -> list[Edit]:
        """One edit for each switch with another seed; a change of no switch is a problem.

        Flows that move to another path may arrive out of order for a moment.
        """
        fabric, path = context.compiled.fabric, f"{context.path}.switches"
        switches = match_nodes(fabric, self.switches, fabric.switches, path, "switch", context.problems)
        now = settings_now(context).switches
        found: list[Edit] = [
            HashSeedEdit(context.time_ps, node.id, self.seed + number)
            for number, node in enumerate(switches)
            if now[node.id].hash_seed != self.seed + number
        ]
        if switches and not found:
            context.problem("seed", "changes nothing: the switches have these seeds already", "give another value")
        return found
