"""Where the endpoints of an overlay are: the leaf and the port of each, and which are away.

An endpoint is where its last frame was learned, or would have been: one that moves to a leaf without power, or comes
back behind a port without carrier, is there, and sends when the leaf or the port starts. A bond sends on ports with
carrier only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from fabric.controlplane.network import events as e
from fabric.controlplane.network.plan import ControlPlan

Key = tuple[int, str]
"""(VNI, MAC) of an endpoint."""


def key_of(event: e.HostSeen | e.HostGone) -> Key:
    """The endpoint of an event."""
    return event.vni, event.mac


class Whereabouts:
    """Of the plan's endpoints and of those that faults add. Silent ones are nowhere until a frame of theirs arrives."""

    def __init__(self, plan: ControlPlan) -> None:
        self._ends: Final = {(it.vni, it.mac): it.attachments for it in plan.endpoints}
        self._silent: Final = {(it.vni, it.mac) for it in plan.endpoints if it.silent}
        self._at: dict[Key, e.HostSeen] = {}
        """A frame of each endpoint at its present place, or where it was before it went away."""
        self._away: set[Key] = set()
        for it in plan.endpoints:
            if not it.silent:
                row, port, data_port = it.attachments[0]
                self._at[it.vni, it.mac] = e.HostSeen(0, it.mac, it.ip, it.vni, row, port, data_port=data_port)

    def is_bond(self, key: Key) -> bool:
        """Whether an endpoint has several cables: it chooses one with carrier."""
        return len(self._ends.get(key, ())) > 1

    def place(self, event: e.HostSeen) -> None:
        """An endpoint is where the event says."""
        self._at[key_of(event)] = replace(event, back=False)
        self._away.discard(key_of(event))

    def leave(self, event: e.HostGone) -> int | None:
        """An endpoint goes away; returns the leaf that loses it, None if it is at none."""
        at = self._at.get(key_of(event))
        row = event.router if event.router is not None else at.router if at is not None else None
        if row is not None and (at is None or at.router == row):
            self._away.add(key_of(event))
        return row

    def ends_of(self, event: e.HostSeen) -> Iterator[e.HostSeen]:
        """The places where an endpoint may come back, the best first: its last one, and the ports of its bond."""
        yield replace(self._at.get(key_of(event), event), time_ns=event.time_ns, arp=event.arp, back=False)
        for row, port, data_port in self._ends.get(key_of(event), ()):
            yield replace(event, router=row, port=port, data_port=data_port, back=False)

    def present(self, router: int, ports: set[int] | None = None) -> list[e.HostSeen]:
        """A gratuitous ARP of each endpoint at these data-plane ports of a switch; None: at all ports. Silent ones that
        have answered before send other frames. Endpoints of the plan come first, in its order.
        """
        keys = [*(key for key in self._ends if key in self._at), *(key for key in self._at if key not in self._ends)]
        return [
            replace(at, time_ns=0, arp=key not in self._silent)
            for key in keys
            if key not in self._away
            and (at := self._at[key]).router == router
            and (ports is None or at.data_port in ports)
        ]

    def other_ends(self, router: int, port: int) -> Iterator[list[e.HostSeen]]:
        """For each endpoint at a data-plane port: its frames at every port of its bond, in order."""
        for at in self.present(router, {port}):
            ends = self._ends.get(key_of(at), ())
            yield [replace(at, router=row, port=name, data_port=other) for row, name, other in ends]
