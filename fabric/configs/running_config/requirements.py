"""Lines of EOS and NX-OS that the switch refuses, or that do nothing without another one.

Both systems write them alike. A switch's own running-config has none of these; one that people or templates write may.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from fabric.configs.identity import Stated
from fabric.configs.running_config.reader import Line, TextReader
from fabric.configs.text.spelling import meant

_MOST_TAG: Final = 4094
_OWN_VRFS: Final = frozenset(("default", "management"))
"""VRFs that a switch has without a line: NX-OS has both."""


def needs_primary(reader: TextReader, block: Line) -> None:
    """A defect (R9) for a secondary IPv4 address of an interface without a primary one: both systems refuse it."""
    second = [line for line in block.children if re.match(r"ip address \d.* secondary$", line.text)]
    blocks = (it for it in reader.root.children if it.text == block.text) if second else ()
    rows = [line.text for it in blocks for line in it.children if re.match(r"ip address \d", line.text)]
    if second and all(text.endswith(" secondary") for text in rows):
        name = block.text.removeprefix("interface ")
        text = f"{name} has '{second[0].text}' and no primary address, so that it gets no address"
        reader.defect(second[0], f"{name}|ip address", text, "R9")


def check_as(reader: TextReader, line: Line, neighbor: str, asn: str) -> None:
    """A defect (R5) for an AS number of a neighbour that is none (RFC 5396: plain, or two parts with a dot)."""
    if re.fullmatch(r"\d+(?:\.\d+)?|external|internal|route-map", asn, re.ASCII) is None:
        reader.defect(line, f"neighbor {neighbor}|remote-as"[:120], f"'{asn[:40]}' is no AS number")


def needs_hold_time(reader: TextReader, block: Line) -> None:
    """A defect (R9) for timers of BGP with one number: both systems take the keepalive and the hold time together."""
    for line in block.children:
        if re.fullmatch(r"timers bgp \d+", line.text):
            text = f"'{line.text}' has no hold time after its keepalive: the switch refuses the line"
            reader.defect(line, f"{block.text}|{line.text}", text, "R9")


def needs_one_tunnel(reader: TextReader, kind: str) -> None:
    """A defect (R5) for a VXLAN interface of another number than 1, the only one: EOS `Vxlan1`, NX-OS `nve1`.

    Sources: EOS User Manual, "VXLAN": interface vxlan; Nexus 9000 VXLAN Configuration Guide, "Creating and Configuring
    an NVE Interface".
    """
    for line in reader.root.children:
        match = re.fullmatch(rf"interface {kind} ?(\d+)", line.text, re.IGNORECASE)
        if match is not None and match[1] != "1":
            text = f"'{line.text}': the only tunnel interface of the switch is {kind}1"
            reader.defect(line, line.text, text, root=("tunnel",))


def read_tag(reader: TextReader, block: Line, name: str) -> None:
    """The VLAN tag of a sub-interface; a defect (R9) for one with an address and none, or with the tag of another one.

    Sources: EOS User Manual, "Subinterfaces"; Nexus 9000 Interfaces Configuration Guide, "Configuring Subinterfaces".
    """
    if "." not in name:
        return
    found = reader.device.identity.tags_sent
    shut = any(it.text == "shutdown" for it in block.children)
    port = name.partition(".")[0]
    for line, outer, inner in _tags(block):
        numbers = [reader.number(line, it, 1, _MOST_TAG, "dot1q", ("interface", name)) for it in (outer, inner) if it]
        if None in numbers:
            return
        tag = f"{outer} inner {inner}" if inner else outer
        other = name if shut else reader.tagged.setdefault((port, tag), name)
        if other != name:
            text = f"{name} has VLAN tag {tag}, and so has {other}: a port has one sub-interface for each tag"
            reader.defect(line, f"{name}|encapsulation", text, "R9", ("interface", name))
        found[name] = Stated(tag, reader.note(line, "interface", name, "encapsulation"))
    has_one = any(it.text.startswith("encapsulation ") for it in block.children)
    if not (has_one or shut) and any(re.match(r"ip(?:v6)? address ", it.text) for it in block.children):
        text = f"{name} has an address and no 'encapsulation dot1q': it takes no frame"
        reader.defect(block, f"{name}|encapsulation", text, "R9", ("interface", name))


def _tags(block: Line) -> Iterator[tuple[Line, str, str]]:
    """Lines of a sub-interface that state its VLAN tag, and the tag inside that one, '' where there is none."""
    for line, match in block.find(r"encapsulation dot1[qQ] (?:vlan )?(\d+)(?: (?:inner|second-dot1[qQ]) (\d+))?"):
        yield line, match[1], match[2] or ""
    for inside, _ in block.find(r"encapsulation vlan"):
        for line, match in inside.find(r"client dot1q (?:outer )?(\d+)(?: inner (\d+))?(?P<rest> network .*)?"):
            yield line, match[1], match[2] or ""


def needs_vrf_first(reader: TextReader, block: Line, pattern: str) -> None:
    """A defect (R9) for a VRF line (`pattern`) that follows addresses of its interface: both systems delete these then.

    A switch writes the VRF first. Source: Nexus 9000 Unicast Routing Guide, "Assigning an Interface to a VRF"; EOS User
    Manual, "VRF".
    """
    before = [line for line in block.children if re.match(r"ip(?:v6)? (?:virtual-router )?address ", line.text)]
    rows = [line for line in block.children if re.fullmatch(pattern, line.text)]
    lost = [line for line in before if rows and line.number < rows[-1].number]
    if lost:
        name = block.text.removeprefix("interface ")
        text = (
            f"{name} has '{rows[-1].text}' after '{lost[0].text}': the switch deletes the address when it takes the VRF"
        )
        reader.defect(rows[-1], f"{name}|vrf", text, "R9", ("interface", name))


def needs_vrfs(reader: TextReader, member: str, defined: str) -> None:
    """A defect (R1) for the line of an interface (`member`) that names a VRF which no line (`defined`) makes.

    A file without any line of VRFs is a part of a configuration, unless it names its switch.
    """
    known = {match[1] for it in reader.root.children if (match := re.fullmatch(defined, it.text))}
    if not known and not any(it.text.startswith("hostname ") for it in reader.root.children):
        return
    for block in reader.root.children:
        for line in block.children if block.text.startswith("interface ") else ():
            match = re.fullmatch(member, line.text)
            if match and match[1] not in known | _OWN_VRFS:
                name = block.text.removeprefix("interface ")
                text = f"VRF '{match[1][:40]}' is not in the file{meant(match[1], frozenset(known))}"
                reader.defect(line, f"{name}|{line.text}"[:120], text, "R1", ("interface", name))
