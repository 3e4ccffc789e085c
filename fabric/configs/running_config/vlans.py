"""VLANs that a running-config names and does not make. EOS and NX-OS write both alike.

A file without any `vlan` line and without BGP is taken to be a part of one, and says nothing about its VLANs.
Sources: EOS user manual, "VLANs"; Cisco Nexus 9000 Layer 2 Switching Configuration Guide, "Configuring VLANs".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from fabric.configs.identity import Stated
from fabric.configs.running_config.reader import Line, TextReader, numbers
from fabric.configs.text.port_ranges import interfaces_of

_MAX_VLAN: Final = 4094
_DEFAULT: Final = 1
"""VLAN 1 needs no line."""
_SHOWN: Final = 4
_VLANS: Final = r"vlan ([\d,-]+)"


def check_vlans(reader: TextReader) -> None:
    """A defect (R1) for each access port and each VNI whose VLAN does not exist: the port stays down, the VNI empty."""
    made = {it for _, match in _lines(reader.root, _VLANS) for it in numbers(match[1], _MAX_VLAN)}
    if not made and not any(line.text.startswith("router bgp ") for line in reader.root.children):
        return
    for block, name in _lines(reader.root, r"interface (\S+)"):
        for line, match in _lines(block, r"(?:switchport access|vxlan) vlan (?:add )?([\d,-]+)(?: vni [\d,-]+)?"):
            absent = [it for it in numbers(match[1], _MAX_VLAN) if it not in made and it != _DEFAULT]
            if absent:
                what = ", ".join(f"VLAN {it}" for it in absent[:_SHOWN])
                vxlan = line.text.startswith("vxlan ")
                root = ("interface", name[1], f"vxlan vlan {match[1]}") if vxlan else ()
                reader.defect(line, f"{name[1]}|{line.text}", f"{what} is not in the file", "R1", root)


def _lines(block: Line, pattern: str) -> Iterator[tuple[Line, re.Match[str]]]:
    """Lines that match, which their own readers count as used or not."""
    for line in block.children:
        match = re.fullmatch(pattern, line.text)
        if match is not None:
            yield line, match


def note_vlans(reader: TextReader) -> None:
    """Fill in `device.identity.vlan_where`."""
    for line, match in _lines(reader.root, _VLANS):
        for vlan in numbers(match[1], _MAX_VLAN):
            reader.device.identity.vlan_where[str(vlan)] = reader.note(line, "vlan", str(vlan))
            for row in line.children:
                if row.text in {"state suspend", "shutdown"}:
                    row.used, at = True, reader.note(row, "vlan", str(vlan), "state")
                    reader.device.identity.suspended[str(vlan)] = Stated("suspend", at)


def needs_no_switchport(reader: TextReader) -> None:
    """A defect (R9) for a port with an address that is switched, which is the default: the address does nothing.

    Only where another port of the file says `no switchport`, so that routed ports are known to need it.
    """
    ports = [
        line
        for line in reader.root.children
        if re.match(r"interface (?:Ethernet|port-channel|Port-Channel)", line.text)
    ]
    words = [{it.text for it in port.children} for port in ports]
    if not any("no switchport" in its for its in words):
        return
    routed: set[str] = set()  # a port may be in several blocks: its own, and those of ranges
    for port, its in zip(ports, words, strict=True):
        if "no switchport" in its:
            routed.update(interfaces_of(port.text.removeprefix("interface "))[0])
    for port in ports:
        address = next((it for it in port.children if re.match(r"ip address \d", it.text)), None)
        name = port.text.removeprefix("interface ")
        if address is not None and name not in routed and "." not in name:
            text = f"{name} has '{address.text}' and no 'no switchport': a switched port takes no address"
            reader.defect(address, f"{name}|ip address", text, "R9")
