"""Static routes of EOS and NX-OS: `ip route PREFIX NEXT-HOP`, in the default VRF.

Sources: EOS user manual, "IPv4 static routes"; Cisco Nexus 9000 Unicast Routing Configuration Guide, "Static Routing".
"""

from __future__ import annotations

import re
from ipaddress import ip_network
from typing import Final

from fabric.configs.identity import Stated
from fabric.configs.model import StaticRoute
from fabric.configs.running_config.reader import IPV4_ADDRESS, TextReader
from fabric.configs.text.spelling import is_address

_MAX_DISTANCE: Final = 255
_WORDS: Final = r"(?:(?:name|tag|track|metric) \S+)"

_MANAGEMENT: Final = r"interface (?:Management\d[\d/]*|mgmt\d+)"
_OF_MANAGEMENT: Final = r"(?!(?:no )?(?:ip (?:ospf|router)|isis|switchport|channel-group)\b).*"
"""Lines of a management port, which carries no packet of a host: all but those that would join it to the fabric."""


def read_static_routes(reader: TextReader) -> None:
    """Add the routes; several lines for one prefix and distance are one route with several next hops."""
    found: dict[tuple[str, int], StaticRoute] = {}
    hop = r"(?:([A-Za-z][\w./-]*) ?)?(\d+\.\d+\.\d+\.\d+)?(?: (\d+))?"
    pattern = rf"ip route ({IPV4_ADDRESS}) {hop}(?P<rest>(?: {_WORDS})+)?"
    for line, match in reader.root.find(pattern):
        try:
            prefix = str(ip_network(match[1].replace(" ", "/"), strict=False))
        except ValueError:
            reader.defect(line, "ip route", f"'{match[1][:60]}' is no prefix")
            continue
        interface, gateway = match[2] or "", match[3] or ""
        distance = min(int((match[4] or "1")[:9]), _MAX_DISTANCE)
        if gateway and not is_address(gateway):
            reader.defect(line, "ip route", f"'{gateway}' is no address")
            continue
        where = reader.note(line, "ip route", prefix)
        drops = interface.lower() in {"null0", "null", "blackhole", "reject"}
        known = found.get((prefix, distance))
        hops = () if drops else ((gateway, interface),)
        found[prefix, distance] = StaticRoute(
            where if known is None else known.where, prefix, hops if known is None else known.hops + hops, distance
        )
    reader.device.routes += found.values()
    _read_management(reader)


def read_source_checks(reader: TextReader) -> None:
    """Interfaces that take a packet only where the route to its source leads back over them (EOS, NX-OS)."""
    for block in reader.root.children:  # no question for all interfaces, which would take a mistyped name for one
        name = block.text.removeprefix("interface ")
        for line, _ in block.find(r"ip verify unicast source reachable-via rx(?: allow-default)?"):
            where = reader.note(line, "interface", name, "ip verify unicast source")
            reader.device.identity.strict_sources[name] = Stated(line.text, where)


def _read_management(reader: TextReader) -> None:
    """Management ports: their addresses; that they, and VRFs of nothing else, are of no effect on the fabric."""
    inside: set[str] = set()
    outside: set[str] = set()
    for block in reader.root.children:
        if not block.text.startswith("interface "):
            continue
        own = re.fullmatch(_MANAGEMENT, block.text) is not None
        for line in block.children:
            member = re.fullmatch(r"vrf (?:member |forwarding )?(\S+)", line.text)
            if member:
                (inside if own else outside).add(member[1])
    for port, _ in reader.root.find(_MANAGEMENT):
        for line, stated in port.find(rf"ip address ({IPV4_ADDRESS})"):
            where = reader.note(line, port.text, "ip address")
            address = stated[1].replace(" ", "/")
            reader.device.identity.management[address] = Stated(address, where)
        port.accept(_OF_MANAGEMENT)
    for vrf in map(re.escape, sorted(inside - outside)):
        reader.root.accept(rf"(?:no )?ip(?:v6)? (?:route|routing|name-server|domain-\S+) vrf {vrf}(?: .*)?")
        reader.root.accept(rf"(?:ntp|logging|radius-server|tacacs-server|snmp-server)\b.* (?:use-)?vrf {vrf}(?: .*)?")
        for context, _ in reader.root.find(rf"vrf (?:context|instance) {vrf}"):
            context.accept(r"(?:ip(?:v6)? (?:route|name-server|domain-\S+) .*|description .*)")
    reader.root.accept(r"management (?:api|ssh|telnet|console|security|cvx|xmpp)\b.*")
