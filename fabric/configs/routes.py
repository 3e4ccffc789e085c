"""Routes as a switch has them: from its own configuration (static), or from its table (`--fib`).

A FIB file is what one switch prints: `ip -j route` (and `ip -6 -j route`), FRR's `show ip route json`, or EOS's
`show ip route | json`; or one mapping of switch names to these. Only routes that forward are kept: of FRR those that
are selected and installed, with the next hops that are in the FIB. Sources: iproute2 ip-route(8); FRR zebra
documentation; EOS eAPI `show ip route`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any, Final

from fabric.configs.model import Place
from fabric.configs.text.jsonfile import refuse
from fabric.errors import InputErrors, Problem

Network = IPv4Network | IPv6Network
_MAX_ROUTES: Final = 200_000
_MAX_PROBLEMS: Final = 20
_DROPS: Final = frozenset(("blackhole", "unreachable", "prohibit", "throw"))
_NOT_FORWARDING: Final = frozenset(("local", "broadcast", "multicast", "anycast"))


@dataclass(frozen=True, slots=True)
class NextHop:
    """Where a route sends a packet; '' where the route does not say."""

    gateway: str
    """As it is printed: there are many, and few are ever looked up."""
    interface: str

    def __str__(self) -> str:
        return " ".join(filter(None, (f"via {self.gateway}" if self.gateway else "", self.interface)))


@dataclass(frozen=True, slots=True)
class Route:
    """One route. Without next hops it drops."""

    prefix: Network
    hops: tuple[NextHop, ...]
    place: Place

    @property
    def connected(self) -> bool:
        """Whether the destination is on the link itself."""
        return any(not hop.gateway and hop.interface for hop in self.hops)


def parse_fib(value: Any, file: str) -> tuple[Route, ...]:  # noqa: ANN401
    """One switch's table. Raises InputErrors with what is no route; a table without routes is an error, too."""
    place = Place(file, 1)
    problems: list[Problem] = []
    if isinstance(value, list):
        rows = _iproute(value, place, problems)
    elif isinstance(value, dict) and isinstance(value.get("vrfs"), dict):
        rows = _eos(value["vrfs"], place, problems)
    elif isinstance(value, dict) and value and all(isinstance(it, list) for it in value.values()):
        rows = _frr(value, place, problems)
    else:
        raise refuse(
            file,
            "no table of routes in it",
            "give `ip -j route`, FRR's `show ip route json` or EOS's "
            "`show ip route | json` of one switch, or a mapping of switch names to these",
            "FIB",
        )
    found = {route.prefix: route for route in rows}
    if problems:
        raise InputErrors("FIB", problems[:_MAX_PROBLEMS])
    if not found:
        raise refuse(file, "no route that forwards is in it", "export the table of the default VRF again", "FIB")
    return tuple(found.values())


def is_fib_map(value: Any) -> bool:  # noqa: ANN401
    """Whether this maps switch names to tables, rather than being a table."""
    return (
        isinstance(value, dict)
        and bool(value)
        and "vrfs" not in value
        and not any(_prefix(str(name)) for name in value)
    )


def _prefix(text: str) -> Network | None:
    try:
        return ip_network(text, strict=False)
    except ValueError:
        return None


def _text(value: Any) -> str:  # noqa: ANN401
    return value if isinstance(value, str) else ""


def _bad(problems: list[Problem], place: Place, what: object) -> None:
    problems.append(Problem(place.file, f"{str(what)[:80]!r} is no route", "export the table again, as JSON"))


def _hops(value: Any) -> list[dict[str, Any]] | None:  # noqa: ANN401
    """A list of next hops; None where it is something else."""
    return value if isinstance(value, list) and all(isinstance(hop, dict) for hop in value) else None


def _words(value: Any) -> list[Any]:  # noqa: ANN401
    return value if isinstance(value, list) else []


def _iproute(rows: list[Any], place: Place, problems: list[Problem]) -> Iterator[Route]:
    if len(rows) > _MAX_ROUTES:
        raise refuse(place.file, f"{len(rows)} routes are more than {_MAX_ROUTES}", "leave out external routes", "FIB")
    best: dict[Network, int] = {}
    for row in rows:
        text = str(row.get("dst", "")) if isinstance(row, dict) else ""
        six = isinstance(row, dict) and ":" in str(row.get("gateway", row.get("via", "")))
        prefix = _prefix({"default": "::/0" if six else "0.0.0.0/0"}.get(text, text))
        hops = _hops(row.get("nexthops", [row])) if isinstance(row, dict) else None
        if prefix is None or hops is None:
            _bad(problems, place, row)
            continue
        metric = row.get("metric", 0) if isinstance(row.get("metric", 0), int) else 0
        kind = _text(row.get("type"))
        if kind in _NOT_FORWARDING or "linkdown" in _words(row.get("flags")) or best.get(prefix, metric) < metric:
            continue
        best[prefix] = metric
        yield Route(
            prefix,
            ()
            if kind in _DROPS
            else tuple(
                NextHop(_gateway(hop), _text(hop.get("dev")))
                for hop in hops
                if "linkdown" not in _words(hop.get("flags"))
            ),
            place,
        )


def _gateway(hop: dict[str, Any]) -> str:
    """RFC 8950: an IPv4 route may go via an IPv6 neighbour, which iproute2 prints as {family, host}."""
    via = hop.get("via")
    return _text(hop.get("gateway")) or (_text(via.get("host")) if isinstance(via, dict) else "")


def _frr(table: dict[str, Any], place: Place, problems: list[Problem]) -> Iterator[Route]:
    for text, rows in table.items():
        prefix = _prefix(text)
        chosen = next((row for row in rows if isinstance(row, dict) and row.get("selected")), None)
        hops = [] if chosen is None else _hops(chosen.get("nexthops", []))
        if prefix is None or hops is None or not all(isinstance(row, dict) for row in rows):
            _bad(problems, place, text)
        elif chosen is not None:
            yield Route(
                prefix,
                tuple(
                    NextHop(_text(hop.get("ip")), _text(hop.get("interfaceName")))
                    for hop in hops
                    if hop.get("fib") and not hop.get("blackhole") and hop.get("interfaceName")
                ),
                place,
            )


def _eos(vrfs: dict[str, Any], place: Place, problems: list[Problem]) -> Iterator[Route]:
    vrf = vrfs.get("default")
    routes = vrf.get("routes") if isinstance(vrf, dict) else None
    for text, row in routes.items() if isinstance(routes, dict) else ():
        prefix = _prefix(text)
        vias = _hops(row.get("vias", [])) if isinstance(row, dict) else None
        if prefix is None or vias is None:
            _bad(problems, place, text)
            continue
        yield Route(
            prefix,
            ()
            if row.get("routeAction") == "drop"
            else tuple(NextHop(_text(via.get("nexthopAddr")), _text(via.get("interface"))) for via in vias),
            place,
        )
