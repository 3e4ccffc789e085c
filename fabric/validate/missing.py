"""R11 of a comparison: switches that only the baseline has, and whole parts that a switch had in it and has no more.

Single values are the changes of the comparison, and the checks judge them. Of a part that is gone no check speaks: a
switch without BGP has no session that could be wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fabric.configs.model import Device, Where
from fabric.configs.network import Network
from fabric.units import count
from fabric.validate.checks.base import Evidence, Finding, first, whole_file
from fabric.validate.checks.registry import CHECKS

PFC: Final = "PFC"
"""The part that M14 names as well, where the switch has ports in use."""


def missing(old: Network, new: Network) -> list[Finding]:
    """Every switch that the baseline has and that is not given now, and every part that a switch has lost."""
    found = []
    for name, device in sorted(old.devices.items()):
        if name not in new.devices:
            found.append(_finding(device, device, "configuration", (), "the baseline has it, and it was not given"))
            continue
        for what, where, text in _gone(old, new, name):
            found.append(_finding(device, new.devices[name], what, where, f"{text}; the baseline has it"))
    return found


def _finding(was: Device, now: Device, what: str, where: Where, text: str) -> Finding:
    check = CHECKS["R11"]
    evidence = Evidence(" ".join(("baseline", *where[-2:])), "", was.place(where))
    root = (was.name, () if now is was else (what,))
    return Finding(check, check.severity, was.name, what, text, (evidence,), root, (whole_file(now),))


def _gone(old: Network, new: Network, name: str) -> Iterator[tuple[str, Where, str]]:
    """(part, its place in the baseline, what is said of it)."""
    was, now = old.devices[name], new.devices[name]
    far = {near: end for cable in old.links for near, end in ((cable.a, cable.b), (cable.b, cable.a))}
    ports = [it for it in was.ports if it not in now.ports and (name, it) in far and _stays(old, new, far[name, it])]
    if ports:
        yield "ports", was.ports[ports[0]].where, f"{first(ports)}: no such port, and its cable leads to one"
    if was.sessions and not now.sessions:
        yield "BGP", was.sessions[0].where, f"no BGP session is left of {len(was.sessions)}"
    if was.identity.vnis and not now.identity.vnis:
        vnis = was.identity.vnis
        yield (
            "VXLAN",
            vnis[0].where,
            f"no VNI is left of {count(len(vnis), 'VNI')} ({first([it.number for it in vnis])})",
        )
    lossless = next((it for it in was.ports.values() if it.lossless), None)
    if lossless is not None and now.ports and not any(it.lossless for it in now.ports.values()):
        where = lossless.pfc_where or lossless.qos_where or lossless.where
        yield PFC, where, f"no port is lossless any more, {lossless.name} was for {first(sorted(lossless.lossless))}"


def _stays(old: Network, new: Network, end: tuple[str, str]) -> bool:
    """Whether what a cable leads to is there still: a host, or a port of a switch. Else the link was removed."""
    return end[0] not in old.devices or new.port(end) is not None
