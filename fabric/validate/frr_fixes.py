"""Changes of a switch whose BGP or OSPF is in a file of FRR: lines of vtysh, which `write memory` puts into the file.

FRR's lines are those of EOS but for the names of address families, and a VRF that is part of the instance's line.
Source: FRR user guide, "VTY shell", "BGP".
"""

from __future__ import annotations

import re
from typing import Final

from fabric.configs.model import Device, Where
from fabric.validate.commands import quoted
from fabric.validate.edits import BETWEEN_LINES

_FAMILIES: Final = {
    "address-family ipv4": "address-family ipv4 unicast",
    "address-family evpn": "address-family l2vpn evpn",
}
_VRF: Final = re.compile(r"(router bgp \S+); vrf (\S+)(?=;)")


def in_frr(device: Device, where: Where) -> bool:
    """Whether a construct is in a file of FRR."""
    return bool(where) and where[0] in device.beside


def vtysh(lines: str) -> str:
    """'router bgp 65101; neighbor 10.1.0.1 bfd' as one command of the shell; '' stays ''."""
    if not lines:
        return ""
    split = [re.sub(r"\s+", " ", it).strip() for it in _VRF.sub(r"\1 vrf \2", lines).split(BETWEEN_LINES)]
    words = ["configure terminal", *(_FAMILIES.get(it, it) for it in split), "end", "write memory"]
    return " ".join(("vtysh", *(f"-c {quoted(it)}" for it in words)))
