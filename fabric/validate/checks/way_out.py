"""P: the default route, announced where no packet can leave the fabric, and links that refuse what comes back."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_interface
from typing import Final

from fabric.configs.identity import Stated
from fabric.configs.model import Device
from fabric.units import listed
from fabric.validate.checks.base import Check, E, Found, W, check, named, shows
from fabric.validate.checks.peers import sessions
from fabric.validate.facts import Facts
from fabric.validate.routing_fixes import loose_sources, no_default

_DEFAULT: Final = "0.0.0.0/0"


def _announced(device: Device) -> list[Stated]:
    """Lines by which a switch announces a default route of its own."""
    its = device.identity
    return [*its.defaults, *(its.defaults_of_routes if any(it.prefix == _DEFAULT for it in device.routes) else ())]


def _way_out(facts: Facts, device: Device) -> bool:
    """Whether a switch passes packets on that no other route covers: to no switch of the files."""
    known = {str(ip_interface(text).ip) for other in facts.devices for its in other.addresses.values() for text in its}
    for route in device.routes:
        if route.prefix == _DEFAULT and any(gateway not in known for gateway, _ in route.hops):
            return True
    inside = {session.where for owner, session, _ in sessions(facts) if owner is device}
    return any(it.up and it.where not in inside for it in device.sessions)


def _serves_hosts(facts: Facts, device: Device) -> bool:
    return any(facts.faces_host(line) for line in facts.used_of(device)) or bool(device.identity.vnis)


@check(
    "P27",
    W,
    "a default route is announced where no way out is",
    condition="a switch that announces the default route has a next hop or a neighbour outside of the files (error "
    "where no switch has one); where a switch without hosts announces it, none with hosts does",
    consequence="packets to all destinations that no other route covers come to this switch, which drops them, or "
    "passes them on over a leaf's uplinks once more",
    remedy="announce the default route at the border only",
    source="RFC 7938 section 5.2.3 (a default route with a link failure inside); RFC 4271 section 9.1.2",
    leads_to="D9 D10",
)
def P27(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """By the lines of the files; a default that a neighbour outside announces is not looked for."""
    its = [(device, rows) for device in facts.devices if (rows := _announced(device))]
    if not its:
        return
    out = [device for device, _ in its if _way_out(facts, device)]
    border = [it for it in out if not _serves_hosts(facts, it)]
    for device, rows in its:
        leaf = device in out and bool(border) and device not in border
        if device in out and not leaf:
            continue
        at = rows[0]
        words = f"{at.value} announces the default route"
        if leaf or out:
            others = listed([it.name for it in border or out], 4)
            text = f"{words}, and so does {others}" + ("" if leaf else ": there is no way out here")
        else:
            text = f"{words}, and no next hop or neighbour of it is outside of the fabric"
        yield Found(
            device.name,
            named(at.where),
            text,
            tuple(shows(device, it.where, "", it.value) for it in rows[:4]),
            W if out else E,
            fix=no_default(device, at),
        )


@check(
    "P28",
    W,
    "packets are dropped whose way back is another one",
    condition="no link between switches takes packets only where the route to their source leads back over it, while "
    "its switch has links to several switches",
    consequence="packets that come over another link than the best route back are lost: after a failure, while a "
    "switch is drained, and where only some of the equal paths are compared",
    remedy="check for any route (reachable-via any) on links of the fabric, and strictly at hosts",
    source="RFC 3704 section 2.2 (strict reverse path forwarding and asymmetric paths) and 2.4 (loose)",
)
def P28(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """At each port that states it; links of a switch with one neighbour have one way back."""
    across: dict[str, dict[str, str]] = {}
    for wire in facts.wires:
        for near, other in ((wire.a, wire.b), (wire.b, wire.a)):
            across.setdefault(near.device.name, {})[near.port.name] = other.device.name
    for device in facts.devices:
        linked = across.get(device.name, {})
        for name, stated in device.identity.strict_sources.items():
            ports = [it.name for it in device.ports.values() if name in {it.name, it.lag}]
            far = next((linked[it] for it in ports if it in linked), "")
            if far and len(set(linked.values())) > 1:
                others = listed(sorted(set(linked.values()) - {far}), 4)
                yield Found(
                    device.name,
                    named(stated.where),
                    f"{name} takes packets from {far} only where the best route back leads there, and not to {others}",
                    (shows(device, stated.where, "", stated.value),),
                    fix=loose_sources(device, name),
                )


CHECKS: Final[tuple[Check, ...]] = (P27, P28)
