"""Running-config text as a tree of lines by indentation, of which every line is either used or reported.

Shared by the readers of Arista EOS and Cisco NX-OS. A reader asks for the lines it knows; what is left at the end
is what was not understood, and is listed with its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from fabric.configs.jsonfile import FixedLines, refuse
from fabric.configs.model import Defect, Device, Place, Port, QosMap, Unread, Vlan, Where

MAX_LINES: Final = 500_000
_MAX_EXPANDED: Final = 4096
_LAST: Final = re.compile(r"(.*?)(\d+)(?:-(\d+))?")


@dataclass(slots=True)
class Line:
    """One line and the block below it."""

    number: int
    text: str
    children: list[Line] = field(default_factory=list)
    used: bool = False

    def find(self, pattern: str) -> Iterator[tuple[Line, re.Match[str]]]:
        """Lines of the block that match as a whole; they count as used."""
        for child in self.children:
            match = re.fullmatch(pattern, child.text)
            if match is not None:
                child.used = True
                yield child, match

    def has(self, pattern: str) -> bool:
        """Whether some line of the block matches."""
        return any(True for _ in list(self.find(pattern)))


def parse_tree(text: str, file: str) -> Line:
    """Lines under lines by indentation; comments and separators are left out."""
    root = Line(0, "")
    stack: list[tuple[int, Line]] = [(-1, root)]
    for number, raw in enumerate(text.splitlines(), 1):
        if number > MAX_LINES:
            raise refuse(file, f"more than {MAX_LINES} lines", "give one running-config per switch")
        stripped = raw.strip()
        if not stripped or stripped[0] in "!#" or stripped == "end":
            continue
        indent = len(raw) - len(raw.lstrip())
        while stack[-1][0] >= indent:
            stack.pop()
        line = Line(number, " ".join(stripped.split()))
        stack[-1][1].children.append(line)
        stack.append((indent, line))
    return root


class TextReader:
    """A device that is being filled from a tree, with lines noted for each construct."""

    def __init__(self, text: str, file: str, name: str, language: str) -> None:
        self.root = parse_tree(text, file)
        self.lines = FixedLines()
        self.device = Device(name, file, language, self.lines)
        for line, match in self.root.find(r"hostname (\S+)"):
            self.lines.note(("hostname",), line.number)
            self.device.name = match[1]

    def note(self, line: Line, *where: str) -> Where:
        """Remember where a construct stands."""
        return self.lines.note(where, line.number)

    def defect(self, line: Line, name: str, text: str, check: str = "R5") -> None:
        """Something wrong with a line."""
        found = Defect(check, self.note(line, "line", str(line.number)), name, text)
        if found not in self.device.defects[-4:]:         # a profile is read once for each port that has it
            self.device.defects.append(found)

    def map_(self, kind: str, name: str, where: Where, entries: dict[int, int],
             stated: frozenset[int] | None = None) -> None:
        """Add a map."""
        self.device.maps.setdefault(kind, {})[name] = QosMap(name, where, entries, stated)

    def number(self, line: Line, text: str, low: int, high: int, what: str) -> int | None:
        """A number in its range, or None and a defect."""
        if text.isascii() and text.isdigit() and len(text) < 19 and low <= int(text) <= high:
            return int(text)
        self.defect(line, what, f"{what} {text[:40]} is outside {low}..{high}")
        return None

    def ports(self, line: Line, text: str) -> list[Port]:
        """'Ethernet1/1-4,Ethernet6' -> ports, made where they are new."""
        found: list[Port] = []
        prefix = ""
        for part in text.replace(" ", "").split(","):
            match = _LAST.fullmatch(part)
            if match is None:
                self.defect(line, "interface", f"'{part[:40]}' is no interface")
                continue
            prefix = match[1] or prefix
            first, last = int(match[2][:9]), int((match[3] or match[2])[:9])
            if last < first or last - first > _MAX_EXPANDED:
                self.defect(line, "interface", f"range {first}-{last} is empty or too long")
                continue
            for index in range(first, last + 1):
                name = f"{prefix}{index}"
                if name not in self.device.ports:
                    where = self.note(line, "interface", name)
                    self.device.ports[name] = Port(name, where, admin_up=True, qos_where=where)
                found.append(self.device.ports[name])
        return found

    def common(self) -> None:
        """What EOS and NX-OS write alike: ageing times, the width of ECMP, and the twin of a pair."""
        self.twin()
        for line, match in self.root.find(r"mac address-table aging-time (\d+)"):
            self.device.mac_age_s = self.number(line, match[1], 0, 10**6, "aging-time")
            self.note(line, "SWITCH", "switch")
        for line, match in self.root.find(r"(?:arp aging timeout default|ip arp timeout) (\d+)"):
            self.device.arp_age_s = self.number(line, match[1], 60, 10**6, "ARP timeout")
        for block, _ in self.root.find(r"router bgp [\d.]+"):
            for line, match in block.find(r"maximum-paths (\d+)(?: ecmp \d+)?"):
                self.device.multipath = self.number(line, match[1], 1, 512, "maximum-paths")
                self.note(line, "maximum-paths")

    def twin(self) -> None:
        """The link to the other switch of a pair: EOS `mlag configuration`, NX-OS `vpc peer-link`."""
        for block, _ in self.root.find(r"mlag configuration"):
            for line, match in block.find(r"peer-link (\S+)"):
                self.device.peer_link, self.device.peer_where = match[1], self.note(line, "mlag", "peer-link")
            list(block.find(r"(?:domain-id|local-interface|peer-address|reload-delay) .*"))
        for block, match in self.root.find(r"interface (port-channel\d+)"):
            for line, _ in block.find(r"vpc peer-link"):
                self.device.peer_link, self.device.peer_where = match[1], self.note(line, "vpc", "peer-link")

    def switched(self, line: Line, ports: list[Port]) -> None:
        """Ports that say they are in a VLAN."""
        if line.has(r"switchport(?: (?:access|mode|trunk) .*)?"):
            vlan = self.device.vlans.setdefault("switched", Vlan("switched", self.note(line, "switchport"), None))
            vlan.members = (*vlan.members, *(port.name for port in ports))

    def finish(self) -> Device:
        """The device, with every line that nothing used."""
        unread: list[Line] = []
        _collect(self.root, unread)
        self.device.unread += [Unread(Place(self.device.file, line.number), f"'{line.text[:80]}'") for line in unread]
        return self.device


def _collect(root: Line, found: list[Line]) -> None:
    queue = list(root.children)
    while queue:
        line = queue.pop(0)
        if line.used:
            queue = [*line.children, *queue]
        else:
            found.append(line)


def numbers(text: str, high: int) -> list[int]:
    """'24-31,48' -> the numbers; nothing above `high`."""
    found: list[int] = []
    for part in text.replace(" ", "").split(","):
        first, _, last = part.partition("-")
        if first.isascii() and first.isdigit() and len(first) < 6 and (not last or (
                last.isascii() and last.isdigit() and len(last) < 6)):
            found += [n for n in range(int(first), int(last or first) + 1) if n <= high]
    return found
