"""Static routes: the choice between several routes of a switch to a host.

Rules
1. A static route has a better administrative distance than any computed route, of shortest paths or of BGP (Cisco IOS
   and FRR: static 1, eBGP 20, OSPF 110). Computed routes change beneath it and are in use again when it ends.
2. A next hop whose port has no carrier is not used. With all next hops gone the static route is withdrawn, and the
   computed route is in use until a port has carrier again (FRR: a static route with an inactive next hop is not
   selected). A discard route has no next hop and is never withdrawn.
3. Of several static routes to one host the latest that rule 2 permits is in use.

A port's carrier counts from the moment at which routing notices it: `run.reroute_delay` after the cable with shortest
paths, `bgp.prune_delay` with BGP.
"""

from __future__ import annotations

from collections.abc import Iterable

Row = tuple[int, int]
"""(NodeId of a switch, NodeId of a host)."""
Ports = tuple[int, ...]


class StaticRoutes:
    """The static routes of all switches at one moment."""

    def __init__(self) -> None:
        self._routes: dict[Row, dict[str, Ports]] = {}
        self._down: frozenset[int] = frozenset()

    def begin(self, row: Row, fault: str, ports: Iterable[int]) -> None:
        """A fault installs a route."""
        self._routes.setdefault(row, {})[fault] = tuple(ports)

    def end(self, row: Row, fault: str) -> None:
        """A fault removes its route."""
        routes = self._routes.get(row, {})
        routes.pop(fault, None)
        if not routes:
            self._routes.pop(row, None)

    def notice(self, down: Iterable[int]) -> None:
        """Routing notices that exactly these ports have no carrier."""
        self._down = frozenset(down)

    def notice_port(self, port: int, *, up: bool) -> None:
        """Routing notices one port."""
        self._down = self._down - {port} if up else self._down | {port}

    @property
    def rows(self) -> tuple[Row, ...]:
        """Rows with a static route, in use or withdrawn, in the order of their first one."""
        return tuple(self._routes)

    def chosen(self, row: Row) -> Ports | None:
        """Ports of the static route in use; () discards; None: the computed route is in use."""
        for ports in reversed(self._routes.get(row, {}).values()):
            usable = tuple(port for port in ports if port not in self._down)
            if usable or not ports:
                return usable
        return None
