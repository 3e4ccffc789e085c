"""A BGP neighbour that a switch lacks, with the lines that it has for the neighbours beside it.

The other end of the session says the address and the AS number. Families, timers and policies are those of a neighbour
that the switch has already, because switches of one tier are neighbours of one kind.
"""

from __future__ import annotations

import re
from typing import Final

from fabric.configs.model import Device, Session
from fabric.validate.blocks import Blocks, Path
from fabric.validate.fix.differences import differences, with_address
from fabric.validate.fix.peers import Usual
from fabric.validate.remedies import Fix

_ASKED: Final = re.compile(r"neighbor (\S+) added")
_WITH_AS: Final = re.compile(r"(neighbor \S+ remote-as) [\d.]+")
_NUMBER: Final = re.compile(r"[\d.]+")
_OWN: Final = ("description", "password", "local-as", "auth_password", "local_asn")
"""Heads of lines that are of one neighbour alone."""


def added(device: Device, own: Blocks, fix: Fix) -> list[list[Usual]]:
    """The differences that add the neighbour which a remedy asks for; [] where it asks for none, or none is beside it.

    Parameters
    ----------
    own    the blocks of the switch
    """
    asked = _ASKED.fullmatch(fix.field)
    if asked is None or fix.command:
        return []
    asn, near, name = fix.value.split(" ", 2)
    like = _beside(device, asked[1], asn)
    if like is None:
        return []
    renamed = with_address(own, like.neighbor, asked[1])
    new = {_numbered(path, asn): _of(stated, asn, near, name) for path, stated in renamed.items() if path not in own}
    source = f"{name} has it as its neighbour; its lines are those of {like.neighbor}"
    return differences(device, own, {**own, **new}, source)


def _beside(device: Device, address: str, asn: str) -> Session | None:
    """A neighbour of the same kind, internal or external."""
    its = [it for it in device.sessions if it.up and not it.vrf and it.neighbor != address and not it.interface]
    return next((it for it in its if it.asn and (it.asn == device.asn) is (asn == device.asn)), None)


def _numbered(path: Path, asn: str) -> Path:
    return tuple(_WITH_AS.sub(rf"\1 {asn}", word) for word in path)


def _of(stated: dict[str, str], asn: str, near: str, name: str) -> dict[str, str]:
    """Lines of the neighbour beside it, with this one's AS number, name and address."""
    found = {head: value for head, value in stated.items() if not head.startswith(_OWN)}
    for head in ("remote-as", "asn"):
        value = found.get(head, "")
        if _NUMBER.fullmatch(value.removeprefix("remote-as ")):
            found[head] = f"remote-as {asn}" if value.startswith("remote-as ") else asn
    its = {"name": name, "local_addr": near}
    return found | {head: value for head, value in its.items() if head in found}
