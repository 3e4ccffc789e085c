"""Edits in force: the combined effect of overlapping faults on one thing at a time.

Rules
1. A fault acts from its beginning to its own end; other faults of the same thing do not change that.
2. While several act: a cable is down if any fault has cut it; it runs at the lowest of their rates; bit errors of
   different causes are independent; a host consumes at the lowest rate; of two changes of one setting the
   later one is in force, and after its end the earlier one.
3. When the last one ends, the value is the one without faults.
4. An operator's edit (without a fault) sets the value and ends all faults' changes: the end of a fault does not cut a
   repaired cable again and does not undo a new setting.

Pause storms, counted losses and static routes combine in the engine and need no rule here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import singledispatchmethod
from math import prod
from typing import Any

from fabric.dataplane.engine import edits as e
from fabric.dataplane.state.params import EngineParams
from fabric.topology.model import Fabric


@dataclass
class _Thing:
    """One thing that faults change."""

    base: Any
    """Value without faults."""
    held: dict[str, Any] = field(default_factory=dict)
    """Value by fault, in the order of their beginnings."""


class Holds:
    """Follows the edits in order of time and gives each the value in force."""

    def __init__(self, fabric: Fabric, params: EngineParams) -> None:
        self._fabric, self._params = fabric, params
        self._things: dict[tuple[object, ...], _Thing] = {}

    @singledispatchmethod
    def resolve(self, edit: e.Edit) -> e.Edit | None:
        """The edit with the value in force from now on; None if nothing changes."""
        return edit

    @resolve.register
    def _(self, edit: e.LinkState) -> e.Edit | None:
        thing = self._take((e.LinkState, edit.link), edit, edit.up, base=True)
        if thing is None:
            return None
        return replace(edit, up=bool(thing.base) and all(thing.held.values()))

    @resolve.register
    def _(self, edit: e.LinkRate) -> e.Edit | None:
        thing = self._take((e.LinkRate, edit.link), edit, edit.rate_bps, self._fabric.links[edit.link].rate_bps)
        return None if thing is None else replace(edit, rate_bps=min([thing.base, *thing.held.values()]))

    @resolve.register
    def _(self, edit: e.LinkErrors) -> e.Edit | None:
        built = self._params.ports[self._fabric.links[edit.link].a].bit_error_ratio
        thing = self._take((e.LinkErrors, edit.link), edit, edit.bit_error_ratio, built)
        if thing is None:
            return None
        ratios = [ratio for ratio in [thing.base, *thing.held.values()] if ratio > 0]
        return replace(edit, bit_error_ratio=ratios[0] if len(ratios) == 1 else 1 - prod(1 - it for it in ratios))

    @resolve.register
    def _(self, edit: e.DropEvery) -> e.Edit | None:
        thing = self._take((e.DropEvery, edit.port), edit, edit.every, 0)
        # For readers of the link's state; the engine counts for each fault separately.
        return (
            None
            if thing is None
            else replace(edit, every=min([every for every in [thing.base, *thing.held.values()] if every], default=0))
        )

    @resolve.register
    def _(self, edit: e.HostDrain) -> e.Edit | None:
        thing = self._take((e.HostDrain, edit.host), edit, edit.drain_bps, self._params.hosts[edit.host].drain_bps)
        if thing is None:
            return None
        return replace(edit, drain_bps=min([rate for rate in [thing.base, *thing.held.values()] if rate], default=0))

    @resolve.register
    def _(self, edit: e.QueueEcn) -> e.Edit | None:
        built = self._params.ports[edit.port].queues[edit.queue].ecn
        thing = self._take((e.QueueEcn, edit.port, edit.queue), edit, edit.ecn, built)
        return None if thing is None else replace(edit, ecn=[thing.base, *thing.held.values()][-1])

    @resolve.register
    def _(self, edit: e.PgThreshold) -> e.Edit | None:
        built = self._params.ports[edit.port].pgs[edit.pg]
        value: Any = edit.pg_params
        if edit.fault:
            value = {name: getattr(edit.pg_params, name) for name in edit.changed}
        thing = self._take((e.PgThreshold, edit.port, edit.pg), edit, value, built)
        if thing is None:
            return None
        params = thing.base
        for changes in thing.held.values():
            params = replace(params, **changes)
        return replace(edit, pg_params=params)

    @resolve.register
    def _(self, edit: e.FlowControlClasses) -> e.Edit | None:
        built = self._params.ports[edit.port].flow_control.classes
        thing = self._take((e.FlowControlClasses, edit.port), edit, edit.classes, built)
        return None if thing is None else replace(edit, classes=[thing.base, *thing.held.values()][-1])

    def _take(self, key: tuple[object, ...], edit: e.Edit, value: object, base: object) -> _Thing | None:
        thing = self._things.setdefault(key, _Thing(base))
        if not edit.fault:
            thing.base = value
            thing.held.clear()
        elif not edit.ends:
            thing.held[edit.fault] = value
        elif thing.held.pop(edit.fault, self) is self:
            return None  # an operator has ended it already
        return thing


def in_force(edits: Iterable[e.Edit], fabric: Fabric, params: EngineParams) -> list[e.Edit]:
    """The edits in order of time, each with the value in force from then on, without edits that change nothing.

    The engine does the same edit by edit; this is for readers of a whole list.
    """
    holds = Holds(fabric, params)
    found: Sequence[e.Edit | None] = [holds.resolve(edit) for edit in sorted(edits, key=lambda it: it.time_ps)]
    return [edit for edit in found if edit is not None]
