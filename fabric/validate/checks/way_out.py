"""P: default routes that are announced without a way out of the fabric, and strict checks of sources on its links."""

from __future__ import annotations

from collections.abc import Iterator
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
    """Lines by which a switch originates the default route."""
    its = device.identity
    return [*its.defaults, *(its.defaults_of_routes if any(it.prefix == _DEFAULT for it in device.routes) else ())]


def _with_way_out(facts: Facts) -> set[str]:
    """Switches that pass on packets which no other route covers: to a next hop or a neighbour outside of the files."""
    inside = {(device.name, session.where) for device, session, _ in sessions(facts)}
    return {
        device.name
        for device in facts.devices
        if any(it.up and (device.name, it.where) not in inside for it in device.sessions)
        or any(_leads_out(facts, device, *hop) for it in device.routes if it.prefix == _DEFAULT for hop in it.hops)
    }


def _leads_out(facts: Facts, device: Device, gateway: str, interface: str) -> bool:
    """Whether a next hop is no address of a switch and, where it is an interface alone, no link to a switch."""
    return gateway not in facts.owners if gateway else facts.across(device, interface)[0] not in facts.network.devices


def _serves_hosts(facts: Facts, device: Device) -> bool:
    return any(facts.faces_host(line) for line in facts.used_of(device)) or bool(device.identity.vnis)


@check(
    "P27",
    W,
    "a default route is announced without a way out",
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
    with_way_out = _with_way_out(facts)
    out = [device for device, _ in its if device.name in with_way_out]
    border = [device for device in out if not _serves_hosts(facts, device)] or out
    at_border = {device.name for device in border}
    others = listed([device.name for device in border], 4)
    for device, rows in its:
        if device.name in at_border:
            continue
        at = rows[0]
        text = f"{at.value} announces the default route"
        if not out:
            text += ", and no next hop or neighbour of it is outside of the fabric"
        else:
            text += f", and so does {others}" + ("" if device.name in with_way_out else ": there is no way out here")
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
    "packets whose route back uses another link are dropped",
    condition="no link between switches takes packets only where the route to their source leads back over it, while "
    "its switch has links to several switches",
    consequence="packets that come over another link than the best route back are lost: after a failure, while a "
    "switch is drained, and where only some of the equal paths are compared",
    remedy="check for any route (reachable-via any) on links of the fabric, and strictly at hosts",
    source="RFC 3704 section 2.2 (strict reverse path forwarding and asymmetric paths) and 2.4 (loose)",
)
def P28(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """At each port that states it. A switch with one neighbour has only one way back."""
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
