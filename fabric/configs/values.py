"""Identifiers in a form that no switch takes, and members of LAGs that are routed themselves.

The readers keep them as text; here is one rule for all languages. Sources: RFC 4271 section 4.2 (a BGP identifier is an
IPv4 address); RFC 4364 section 4.2 and RFC 4360 section 3 (ASN:number, ADDRESS:number); IEEE 802.1AX section 6.1 (above
a LAG there is one MAC client, the aggregator: its members carry no protocol of layer 3).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import IPv4Address, ip_address
from typing import Final

from fabric.configs.model import Defect, Device, Where

_PAIR: Final = re.compile(r"(?:\d{1,10}|\d{1,5}\.\d{1,5}|(?P<address>\d{1,3}(?:\.\d{1,3}){3})):\d{1,10}", re.ASCII)
_ASN: Final = re.compile(r"\d{1,10}|\d{1,5}\.\d{1,5}", re.ASCII)
"""asplain or asdot (RFC 5396)."""
_OTHERS: Final = frozenset(("", "auto"))
_MAX_SHOWN: Final = 40
_NO_ADDRESS: Final = "0.0.0.0"  # noqa: S104  RFC 6286 section 2.1: an identifier is not zero


def check_values(device: Device) -> None:
    """Add a defect (R5) for each identifier that is malformed, and one (R9) for each address at a member of a LAG."""
    for where, what, text in _malformed(device):
        name = "|".join(where[-2:])
        device.defects.append(Defect("R5", where, name, f"'{text[:_MAX_SHOWN]}' is no {what}"))
    for (name, _), where in device.identity.address_where.items():
        port = device.ports.get(name)
        if port is not None and port.lag is not None:
            said = f"{name} has an address and is a member of {port.lag[:_MAX_SHOWN]}, which has to have it"
            device.defects.append(Defect("R9", where, "|".join(where[-2:])[:120], said))


def _malformed(device: Device) -> Iterator[tuple[Where, str, str]]:
    router_id = device.identity.router_id
    if router_id and (not _is_address(router_id.value) or router_id.value == _NO_ADDRESS):
        yield router_id.where, "IPv4 address, which a router ID has to be", router_id.value
    if device.asn and not _ASN.fullmatch(device.asn):
        yield device.identity.asn_where, "AS number", device.asn
    for session in device.sessions:
        if session.address and not _is_any_address(session.address):
            yield session.where, "address of a neighbour", session.address
        elif session.interface[:1].isdigit():
            yield session.where, "address of a neighbour", session.interface
    for vni in (*device.identity.vnis, *device.identity.routed_vnis):
        if not _is_pair(vni.distinguisher):
            what = "route distinguisher (ASN:NUMBER or ADDRESS:NUMBER)"
            yield vni.distinguisher_where or vni.targets_where, what, vni.distinguisher
        for target in sorted(vni.imports | vni.exports):
            if not target.startswith("*:") and not _is_pair(target):
                yield vni.targets_where, "route target (ASN:NUMBER or ADDRESS:NUMBER)", target


def _is_pair(text: str) -> bool:
    match = _PAIR.fullmatch(text)
    if match is None:
        return text in _OTHERS
    return match["address"] is None or _is_address(match["address"])


def _is_any_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _is_address(text: str) -> bool:
    try:
        IPv4Address(text)
    except ValueError:
        return False
    return True
