"""Cables between the switches of a laboratory: which have carrier and which are silent, and what changes with an event.

Causes that overlap on one cable act side by side, as in the model (controlplane/network/event_handlers.py): a cable has
carrier while nothing has cut it and the ports of both switches have light; it is silent while a fault or a hung switch
at either end keeps it silent. The start of a switch says which of its cables stay without carrier or silent.

Nothing here touches an interface: laboratory.py carries the changes out.
"""

from __future__ import annotations

from dataclasses import dataclass

from fabric.controlplane.network import events as e
from fabric.controlplane.network.plan import ControlPlan


@dataclass(frozen=True, slots=True)
class CableChanges:
    """What one event changes, in the order in which it is carried out."""

    down: tuple[int, ...] = ()
    """Interfaces to shut down."""
    silent: tuple[int, ...] = ()
    """Cables that become silent."""
    silence_ended: tuple[int, ...] = ()
    """Cables that carry frames again."""
    up: tuple[tuple[int, ...], ...] = ()
    """For each cable that gains carrier: its interfaces that were shut down."""


class Cables:
    """State of every cable of a plan; at first all have carrier and carry frames."""

    def __init__(self, plan: ControlPlan) -> None:
        self._plan = plan
        self._cut: set[int] = set()
        """Cables that a fault has cut."""
        self._muted: set[int] = set()
        """Cables that a fault keeps silent."""
        self._crashed: set[int] = set()
        """Crashed routers whose ports have no light."""
        self._hung: set[int] = set()
        """Crashed routers whose ports have light."""
        self._shut: set[int] = set()
        """Interfaces that are shut down."""
        self._silent: set[int] = set()
        """Cables on which frames are dropped."""

    def take(self, event: e.ControlEvent) -> CableChanges:
        """Note an event; returns what it changes."""
        match event:
            case e.CableDown():
                self._cut.add(event.cable)
            case e.CableUp():
                self._cut.discard(event.cable)
            case e.CableSilent():
                self._muted.add(event.cable)
            case e.CableSilenceEnded():
                self._muted.discard(event.cable)
            case e.RouterCrash():
                self._crashed.discard(event.router)
                self._hung.discard(event.router)
                (self._hung if event.carrier else self._crashed).add(event.router)
            case e.RouterBoot():
                self._crashed.discard(event.router)
                self._hung.discard(event.router)
                own = set(self._of_router(event.router))
                self._cut = self._cut - own | (event.down_cables & own)
                self._muted = self._muted - own | (event.silent & own)
            case _:
                return CableChanges()
        if isinstance(event, e.RouterCrash | e.RouterBoot):
            return self._changes(self._of_router(event.router))
        return self._changes([event.cable])

    def is_crashed(self, router: int) -> bool:
        """Whether a router has crashed and not started again."""
        return router in self._crashed or router in self._hung

    def has_carrier(self, cable: int) -> bool:
        """Whether both ends of a cable have carrier."""
        return cable not in self._cut and not self._crashed & set(self._routers(cable))

    def is_silent(self, cable: int) -> bool:
        """Whether a cable loses every frame."""
        return cable in self._muted or bool(self._hung & set(self._routers(cable)))

    def _of_router(self, router: int) -> list[int]:
        return [self._plan.interfaces[row].cable for row in self._plan.routers[router].interfaces]

    def _ends(self, cable: int) -> tuple[int, int]:
        return self._plan.cables[cable].a, self._plan.cables[cable].b

    def _routers(self, cable: int) -> tuple[int, ...]:
        return tuple(self._plan.interfaces[row].router for row in self._ends(cable))

    def _changes(self, cables: list[int]) -> CableChanges:
        down, up = list[int](), list[tuple[int, ...]]()
        for cable in cables:
            ends = self._ends(cable)
            shut = tuple(row for row in ends if row in self._shut)
            if self.has_carrier(cable):
                if shut:
                    up.append(shut)
            elif not shut:
                # A crashed switch's own ports lose carrier; a cut is made at one end, and the other end loses carrier.
                crashed = [row for row in ends if self._plan.interfaces[row].router in self._crashed]
                down += crashed or ends[:1]
        silent = [cable for cable in cables if self.is_silent(cable) and cable not in self._silent]
        silence_ended = [cable for cable in cables if not self.is_silent(cable) and cable in self._silent]
        self._shut = (self._shut | set(down)) - {row for rows in up for row in rows}
        self._silent = (self._silent | set(silent)) - set(silence_ended)
        return CableChanges(tuple(down), tuple(silent), tuple(silence_ended), tuple(up))
