"""Location of endpoints in a switch without a VTEP: behind the next hop of the best Type-2 route for the MAC.

A spine of an eBGP overlay, or a route reflector, carries every EVPN route; several VTEPs may announce one MAC while it
moves. The best of them is chosen by the rules of a VTEP (RFC 7432 sections 15 and 15.2).
"""

from __future__ import annotations

from collections.abc import Iterator

from fabric.controlplane.bgp.actions import Change
from fabric.controlplane.evpn.evpn_attributes import mobility_rank
from fabric.controlplane.evpn.evpn_nlri import Payload, RouteType, key_of
from fabric.controlplane.network.plan import ControlPlan

_Rank = tuple[tuple[int, ...], bytes]
Place = tuple[int, str]
"""(VNI, MAC)."""


class TransitView:
    """(VNI, MAC) -> router of the VTEP."""

    def __init__(self, plan: ControlPlan) -> None:
        self._vtep_of = {
            router.loopback.to_bytes(4, "big"): router.row for router in plan.routers if router.vnis or router.vrfs
        }
        self._place_of: dict[bytes, Place] = {}
        self._claims: dict[Place, dict[bytes, _Rank]] = {}
        self.now: dict[Place, int] = {}

    def apply(self, change: Change) -> Iterator[tuple[Place, int | None]]:
        """Apply selected and lost routes; yields the changed locations."""
        for raw in change.keys:
            if raw[0] != RouteType.MAC_IP:
                continue
            if change.new is None:
                place = self._place_of.pop(raw, None)
                if place is not None:
                    self._claims[place].pop(raw, None)
            else:
                best = change.new.best
                labels = best.payload.labels if isinstance(best.payload, Payload) else ()
                place = (labels[0] if labels else 0, key_of(raw).mac)
                self._place_of[raw] = place
                self._claims.setdefault(place, {})[raw] = (mobility_rank(best.attributes), best.next_hop)
            if place is not None:
                yield from self._decide(place)

    def _decide(self, place: Place) -> Iterator[tuple[Place, int | None]]:
        claims = self._claims[place]
        vtep = self._vtep_of.get(min(claims.values())[1]) if claims else None
        if vtep == self.now.get(place):
            return
        if vtep is None:
            del self.now[place]
        else:
            self.now[place] = vtep
        yield place, vtep

    def clear(self) -> list[Place]:
        """Remove all locations; returns their places, in order."""
        places = sorted(self.now)
        self._place_of, self._claims, self.now = {}, {}, {}
        return places
