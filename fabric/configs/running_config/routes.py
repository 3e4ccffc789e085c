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
        drops = interface.lower() in {"null0", "null"}
        known = found.get((prefix, distance))
        hops = () if drops else ((gateway, interface),)
        found[prefix, distance] = StaticRoute(
            where if known is None else known.where, prefix, hops if known is None else known.hops + hops, distance
        )
    reader.device.routes += found.values()
    ports = [it for it in reader.root.children if re.fullmatch(r"interface (?:Management\d[\d/]*|mgmt\d+)", it.text)]
    for port in ports:
        for line in port.children:
            stated = re.fullmatch(rf"ip address ({IPV4_ADDRESS})", line.text)
            if stated is not None:
                where = reader.note(line, port.text, "ip address")
                address = stated[1].replace(" ", "/")
                reader.device.identity.management[address] = Stated(address, where)
