"""Lines of FRR without indentation, indented by the blocks that they are in.

vtysh reads no indentation: a word opens a block, `exit` closes it, and a line that the block has no command for is
tried in the blocks around it (FRR lib/command.c, cmd_execute_command). Programs that strip lines write such files.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from fabric.configs.running_config.banners import BLANKS

if TYPE_CHECKING:
    from collections.abc import Callable

_TOP: Final = re.compile(
    r"(?:router|interface|route-map|vrf|line|key chain|log|hostname|frr|service|debug|password|enable|access-list|"
    r"segment-routing|pbr-map|nexthop-group|zebra|fpm|agentx|ip(?:v6)? (?:prefix-list|access-list|"
    r"community-list|as-path|forwarding)|bgp (?:(?:large-|ext)?community-list|as-path))(?: .*)?|bfd"
)
"""Lines that only the outermost level has; they close every block."""
_OPENS_TOP: Final = re.compile(
    r"(?:router|interface|vrf|key chain|pbr-map|nexthop-group) .*|route-map \S+ (?:permit|deny) .*|line vty|bfd|"
    r"segment-routing"
)
_INSIDE: Final = (
    (re.compile(r"router bgp .*"), re.compile(r"address-family .*")),
    (re.compile(r"router isis .*"), re.compile(r"segment-routing .*")),
    (re.compile(r"address-family l2vpn evpn"), re.compile(r"vni \d+")),
    (re.compile(r"bfd"), re.compile(r"(?:peer|profile) .*")),
)
"""A block, and the lines of it that open a block."""
EXITS: Final = frozenset(("exit", "exit-vrf", "exit-vni", "exit-address-family"))
"""Lines that close a block."""
_OF_VRF: Final = re.compile(r"ip(?:v6)? (?:route|protocol|nht|router-id) .*")
"""Lines of the outermost level and of a VRF."""


def nested(text: str, meant: Callable[[list[str], str], str] = lambda _, row: row) -> str:
    """The text with each line indented by its blocks; unchanged where its blocks are indented already.

    Parameters
    ----------
    meant    blocks and a line in them -> the line that counts as the one that opens a block, where it is mistyped
    """
    rows = text.split("\n")
    if not _is_flat(rows):
        return text
    blocks: list[str] = []
    found = []
    for raw in rows:
        row = raw.strip(BLANKS)
        if not row or row[0] in "!#" or row == "end":
            found.append(raw)
            continue
        counted = meant(blocks, row)
        blocks = around(blocks, counted)
        found.append(" " * len(blocks) + row)
        if row in EXITS:
            blocks = blocks[:-1]
        elif opens(blocks, counted):
            blocks = [*blocks, counted]
    return "\n".join(found)


def _is_flat(rows: list[str]) -> bool:
    """Whether neighbours stand at the first column, or all lines do, though some open blocks."""
    lines = [row for row in rows if row.strip(BLANKS) and row.lstrip(BLANKS)[0] not in "!#"]
    if any(row.startswith("neighbor ") for row in lines):
        return True
    return all(row[0] not in BLANKS for row in lines) and any(_OPENS_TOP.fullmatch(row.strip(BLANKS)) for row in lines)


def around(blocks: list[str], row: str) -> list[str]:
    """The blocks that a line is in, after those before it."""
    if _TOP.fullmatch(row) is not None and not (blocks and opens(blocks, row)):
        return []
    if _OF_VRF.fullmatch(row) is not None:
        return [it for it in blocks[:1] if it.startswith("vrf ")]
    for depth in range(len(blocks), 0, -1):
        if opens(blocks[:depth], row):
            return blocks[:depth]
    return blocks


def opens(blocks: list[str], row: str) -> bool:
    """Whether a line opens a block where these blocks are around it."""
    if not blocks:
        return _OPENS_TOP.fullmatch(row) is not None
    return any(outer.fullmatch(blocks[-1]) and inner.fullmatch(row) for outer, inner in _INSIDE)
