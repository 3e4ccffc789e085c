"""Acts by kind. An entry here is all that the schema, the reference, the runner and `fabric serve` need."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field

from fabric.dataplane.engine.edits import Edit
from fabric.errors import Problem
from fabric.scenario.compile.scenario import CompiledScenario
from playbooks.acts.arp_suppression import ArpSuppression
from playbooks.acts.base import Act, ActContext
from playbooks.acts.dscp_map import DscpMap
from playbooks.acts.ecn import Ecn
from playbooks.acts.hash_seed import HashSeed
from playbooks.acts.mtu import Mtu
from playbooks.acts.pfc import Pfc
from playbooks.acts.repair_host import RepairHost
from playbooks.acts.replace_optics import ReplaceOptics
from playbooks.acts.reset_nic import ResetNic
from playbooks.acts.shut import Shut
from playbooks.acts.thresholds import Thresholds
from playbooks.acts.undo import Undo
from playbooks.acts.watchdog import Watchdog
from playbooks.acts.withdraw_route import WithdrawRoute

ACTS: Final[Mapping[str, type[Act]]] = {
    "shut": Shut,
    "reset-nic": ResetNic,
    "repair-host": RepairHost,
    "watchdog": Watchdog,
    "ecn": Ecn,
    "arp-suppression": ArpSuppression,
    "pfc": Pfc,
    "thresholds": Thresholds,
    "replace-optics": ReplaceOptics,
    "dscp-map": DscpMap,
    "mtu": Mtu,
    "hash-seed": HashSeed,
    "withdraw-route": WithdrawRoute,
    "undo": Undo,
}

if TYPE_CHECKING:  # a type checker cannot evaluate the union over a mapping
    AnyAct = Act
else:
    AnyAct = Annotated[reduce(or_, ACTS.values()), Field(discriminator="kind")]
    """The `do:` of an act: the union of all registered models."""


def edits_of(act: Act, time_ps: int, compiled: CompiledScenario, path: str, problems: list[Problem]) -> list[Edit]:
    """The edits of one act; a time outside the run is a problem.

    Parameters
    ----------
    path : of the step, which has the fields `at` and `do`
    problems : problems of the act are appended
    """
    if not 0 < time_ps < compiled.duration_ps:
        problems.append(Problem(f"{path}.at", "is not within the scenario's run.duration", "act while the run lasts"))
        return []
    return act.edits(ActContext(time_ps, compiled, f"{path}.do", problems))
