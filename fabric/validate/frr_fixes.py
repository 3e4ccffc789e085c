"""Changes of a switch whose BGP or OSPF is in a file of FRR: lines of vtysh, which `write memory` puts into the file.

FRR's lines are those of EOS but for the names of address families, and a VRF that is part of the instance's line.
Source: FRR user guide, "VTY shell", "BGP".
"""

from __future__ import annotations

import re
import shlex
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from fabric.configs.model import Device, Meant, Where
from fabric.validate.commands import quoted
from fabric.validate.edits import BETWEEN_COMMANDS, BETWEEN_LINES
from fabric.validate.remedies import Fix, written

if TYPE_CHECKING:
    from collections.abc import Collection

_FAMILIES: Final = {
    "address-family ipv4": "address-family ipv4 unicast",
    "address-family evpn": "address-family l2vpn evpn",
}
_BEGIN: Final = ("configure terminal",)
_END: Final = ("end", "write memory")
_VRF: Final = re.compile(r"(router bgp \S+); vrf (\S+)(?=;)")


def in_frr(device: Device, where: Where) -> bool:
    """Whether a construct is in a file of FRR."""
    return bool(where) and where[0] in device.beside


def fix_in_frr(device: Device, where: Where, field: str, value: str, lines: str) -> Fix:
    """A change of the file of FRR that a construct is in; `lines` as in `vtysh()`."""
    return Fix(device.name, field, value, vtysh(lines), file=device.beside[where[0]][0])


def spelled_in_frr(device: Device, where: Where, meant: Collection[Meant]) -> Fix | None:
    """Mistyped lines of the file that a construct is in, as they were meant; None where that is not known.

    The command states what was meant alone, because FRR refused the mistyped line; in the file that line is replaced.
    """
    its = list(meant)
    if not its:
        return None
    wanted = list(its[0].new)
    for before, it in pairwise(its):
        wanted += it.new[next(n for n in range(len(it.new)) if it.new[: n + 1] != before.new[: n + 1]) :]
    gone = tuple(line for it in its if it.old for line in (*it.old[:-1], f"no {it.old[-1]}"))
    field, command, file = "|".join(its[0].new[-2:]), vtysh(BETWEEN_LINES.join(wanted)), device.beside[where[0]][0]
    in_file = (*gone, *wanted)
    return Fix(device.name, field, its[0].new[-1], command, what=written(its[0]), file=file, in_file=in_file)


def typed(command: str) -> tuple[str, ...]:
    """The lines of configuration mode of a command of `vtysh()`."""
    words = shlex.split(command)
    said = [line for option, line in pairwise(words) if option == "-c"]
    return tuple(said[len(_BEGIN) : -len(_END)])


def renumbered(device: Device, asn: str) -> str:
    """Another AS number in the file: bgpd takes none while it runs with one ("BGP is already running")."""
    daemon = re.split("[.-]", device.identity.asn_where[0].removesuffix(".conf"))[-1]
    if device.identity.routing_mode.value == "split" and daemon == "frr":
        daemon = "bgpd"  # there, each daemon reads a file of its own (docker-fpm-frr/docker_init.sh)
    file = f"/etc/sonic/frr/{daemon}.conf"
    change = f"s/^router bgp {device.asn}\\b/router bgp {asn}/"
    return BETWEEN_COMMANDS.join((f"sed -i {quoted(change)} {file}", "systemctl restart bgp"))


def vtysh(lines: str) -> str:
    """'router bgp 65101; neighbor 10.1.0.1 bfd' as one command of the shell; '' stays ''."""
    if not lines:
        return ""
    split = [re.sub(r"\s+", " ", it).strip() for it in _VRF.sub(r"\1 vrf \2", lines).split(BETWEEN_LINES)]
    words = [*_BEGIN, *(_FAMILIES.get(it, it) for it in split), *_END]
    return " ".join(("vtysh", *(f"-c {quoted(it)}" for it in words)))
