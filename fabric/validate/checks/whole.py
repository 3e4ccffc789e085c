"""R13: a file that is the beginning of a configuration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fabric.configs.model import Device
from fabric.configs.network import Cable
from fabric.units import count
from fabric.validate.checks.base import Check, E, Evidence, Found, check, first, shows, whole_file
from fabric.validate.facts import Facts


@check(
    "R13",
    E,
    "a file is cut",
    condition="a running-config ends with a whole line, and with the `end` that EOS writes; it has the ports that the "
    "links name; it has BGP where all switches at the other ends of its links have it, or all ports that they name",
    consequence="what stood behind the cut was not judged; loaded in place of the whole file, it takes that away: of a "
    "switch's configuration ports, BGP or VXLAN, of a file of FRR routing alone",
    remedy="collect the file again; where the links are wrong, correct them",
    source="EOS User Manual, show running-config; operational practice",
    leads_to="R10 R11 M14 L7",
)
def R13(facts: Facts) -> Iterator[Found]:  # noqa: N802  named as in every report
    """By the text (the readers), else by what the links say that the file has not."""
    for device in facts.devices:
        cut = [item for item in device.defects if item.check == "R13"]
        for item in cut[:1]:
            file = item.where[0] if item.where[0] in device.beside else ""
            yield Found(
                device.name,
                file or item.object,
                f"{file}: {item.text}" if file else item.text,
                (shows(device, item.where, "", "", "last line"),),
                root=(device.name, (file,)) if file else whole_file(device),
            )
        if not cut and _has_every_port(device):
            yield from _by_links(facts, device)


def _has_every_port(device: Device) -> bool:
    """Whether a file that is whole has lines for each port that a link may name.

    NVUE's need not: a neighbour of BGP, or the fabric's defaults, may be all that concerns a port. Its sections are in
    the order of the alphabet, so that a file with BGP (`router`, `vrf`) is not cut before its ports (`interface`).
    """
    system = device.capabilities
    return system.blocks_of_lines or not (system.tables or device.asn or device.sessions)


def _by_links(facts: Facts, device: Device) -> Iterator[Found]:
    """Ports of links that a text has not, while other switches' texts have theirs.

    One absent port may be a mistake of the links. That none is there, or that BGP is absent as well, is none.
    """
    lacking = _lacking(facts).get(device.name, [])
    if not lacking:
        return
    linked = [end for end in facts.peers if end[0] == device.name]
    others = [it for it in facts.devices if it.name != device.name and it.capabilities is device.capabilities]
    agree = any(it.name in facts.linked for it in others) and not any(it.name in _lacking(facts) for it in others)
    if not agree:
        return
    around = {facts.peers[end][0] for end in linked} & facts.network.devices.keys()
    silent = not device.asn and bool(around) and all(facts.network.devices[it].asn for it in around)
    if not (len(lacking) == len(linked) or silent):
        return
    names = first([port for port, _ in lacking])
    text = f"the links name {count(len(linked), 'port')} of the switch, and {names} {_are(lacking)} not in the file"
    cable = lacking[0][1]
    link = Evidence("link", f"{':'.join(cable.a)} - {':'.join(cable.b)}", cable.place)
    yield Found(
        device.name,
        "configuration",
        text + ("; it has no BGP, and the switches at the other ends have" if silent else ""),
        (Evidence("file", "", device.place(())), link),
        root=whole_file(device),
    )


def _are(lacking: list[tuple[str, Cable]]) -> str:
    return "is" if len(lacking) == 1 else "are"


def _lacking(facts: Facts) -> dict[str, list[tuple[str, Cable]]]:
    """Switch to the ports that the links name and that it has not, each with its link."""
    if "R13" not in facts.notes:
        found: dict[str, list[tuple[str, Cable]]] = {}
        for cable in facts.network.links:
            for name, port in (cable.a, cable.b):
                if name in facts.network.devices and facts.line((name, port)) is None:
                    found.setdefault(name, []).append((port, cable))
        facts.notes["R13"] = found
    known: dict[str, list[tuple[str, Cable]]] = facts.notes["R13"]
    return known


CHECKS: Final[tuple[Check, ...]] = (R13,)
