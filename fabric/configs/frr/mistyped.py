"""Lines that FRR refuses: a word mistyped, a number out of range, a line that ends too early or is of another block.

Each is a defect that names the line that was meant. vtysh refuses such a line and reads on, so that the setting is
missing. Where only one line can be meant, the readers use it, so that its absence causes no further findings. A line
that is near no form is left to the readers, which list it: FRR has more lines than the tables of forms.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from fabric.configs.frr import bgp_lines, other_lines
from fabric.configs.frr.grammar import Slip, forms_of
from fabric.configs.frr.nesting import EXITS
from fabric.configs.model import Meant
from fabric.visible import sentence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabric.configs.frr.merge import FrrReader
    from fabric.configs.model import Where
    from fabric.configs.running_config.reader import Line

_FORMS: Final[dict[str, tuple[str, ...]]] = {
    "": other_lines.TOP,
    "vrf NAME": other_lines.VRF,
    "interface NAME": other_lines.INTERFACE,
    "route-map NAME": other_lines.ROUTE_MAP,
    "router ospf": other_lines.OSPF,
    "bfd": other_lines.BFD,
    "peer ADDRESS": other_lines.BFD_PEER,
    "line vty": other_lines.VTY,
    "router bgp": bgp_lines.INSTANCE,
    "address-family ipv4 unicast": bgp_lines.UNICAST,
    "address-family l2vpn evpn": bgp_lines.EVPN,
    "vni NUMBER": bgp_lines.VNI,
}
"""Block to the forms of its lines."""
_OPENS: Final = (
    ("", re.compile(r"vrf \S+"), "vrf NAME"),
    ("", re.compile(r"interface \S+(?: vrf \S+)?"), "interface NAME"),
    ("", re.compile(r"route-map \S+ (?:permit|deny) \d+"), "route-map NAME"),
    ("", re.compile(r"router ospf(?: .*)?"), "router ospf"),
    ("", re.compile(r"bfd"), "bfd"),
    ("", re.compile(r"line vty"), "line vty"),
    ("", re.compile(r"router bgp(?: .*)?"), "router bgp"),
    ("bfd", re.compile(r"(?:peer|profile) .*"), "peer ADDRESS"),
    (
        "router bgp",
        re.compile(r"address-family ipv[46](?: (?:unicast|multicast|vpn|labeled-unicast))?"),
        "address-family ipv4 unicast",
    ),
    ("router bgp", re.compile(r"address-family l2vpn evpn"), "address-family l2vpn evpn"),
    ("address-family l2vpn evpn", re.compile(r"vni \d+"), "vni NUMBER"),
)
"""A block, the line of it that opens another one, and that one's name. Lines in other blocks are not checked."""
_NO_COMMAND: Final = re.compile(r"(?:Building|Current) configuration.*|quit|end")
"""What vtysh prints around a configuration, and words that leave a block."""
_LOOSE: Final = "interface NAME"
"""The block of which some forms have only the first words of a protocol's lines, so that any line may fit."""
_SURE: Final = 2
"""A slip of a lower cost is taken for what was meant without a look at other blocks."""
_IN_INSTANCE: Final = 2
"""Lines of the path of a line of `router bgp`."""


def opened(block: str, line: str) -> str | None:
    """The block that a line of this block opens, where its lines are known."""
    return next((name for outer, form, name in _OPENS if outer == block and form.fullmatch(line)), None)


def opener(blocks: list[str], row: str) -> str:
    """The line that was meant where it opens a block and is mistyped; the line itself elsewhere."""
    names = [""]
    for it in blocks:
        names.append(opened(names[-1], it) or "")
    known = tuple(dict.fromkeys(names))
    full = in_full(row, known)
    slip = None if full is not None else slip_of(row, known)
    line = full or (slip.meant if slip is not None and not slip.text else "") or row
    return line if any(opened(it, line) for it in known) else row


def mend(reader: FrrReader) -> list[tuple[Line, Where, str]]:
    """Write out abbreviated words and mend mistyped lines of the tree; the lines, their paths, and what is wrong.

    Defects that name the line that was meant are added; the rest is returned for `report`.
    """
    left = []
    for line, path, blocks, block in _judged(reader.root, (), ("",)):
        if in_full(line.text, blocks) is not None:
            continue
        slip = slip_of(line.text, blocks)
        if slip is None:
            left.append((line, path, ""))
            continue
        name = "|".join(path)[:120]
        if slip.block and (its := _blocks(reader.root, (), ("",), slip.block)):
            outer, there = its[0]
            new = (*there, line.text)
            reader.defect(line, name, f"'{sentence(line.text)}'{slip.text}", meant=(Meant(path, new),))
            if len(its) == 1:
                block.children.remove(line)
                outer.children.append(line)
        elif slip.text:
            more = f" (did you mean '{sentence(slip.meant)}'?)" if slip.meant else ""
            left.append((line, path, f"'{sentence(line.text)}'{slip.text}{more}"))
        else:
            text = f"'{sentence(line.text)}' is no line of FRR (did you mean '{sentence(slip.meant)}'?)"
            new = (*path[:-1], slip.meant)
            meant = (Meant(path, new), *(Meant((), (*new, *it)) for it in _below(line)))
            reader.defect(line, name, text, meant=meant)
            line.text = slip.meant
    return left


def _blocks(block: Line, path: Where, blocks: tuple[str, ...], wanted: str) -> list[tuple[Line, Where]]:
    """The blocks of a kind, each with its path."""
    found = []
    for line in block.children:
        inner = opened(blocks[-1], line.text)
        if inner == wanted:
            found.append((line, (*path, line.text)))
        elif inner is not None:
            found += _blocks(line, (*path, line.text), (*blocks, inner), wanted)
    return found


def _below(block: Line) -> Iterator[Where]:
    """The lines of a block, each with the blocks inside it that it is in."""
    for line in block.children:
        if line.text in EXITS:
            continue
        yield (line.text,)
        yield from ((line.text, *it) for it in _below(line))


def report(reader: FrrReader, left: list[tuple[Line, Where, str]]) -> None:
    """A defect for each wrong line in which no reader found one; a line that is near no form is not understood."""
    faulty = {reader.lines.line(it.where) for it in reader.device.defects}
    for line, path, text in left:
        if not text:  # of a newer release, or wrong in more than one way: listed where no reader judges it
            line.used = line.used and line.judged
            continue
        line.used = line.judged = True
        if line.number not in faulty:
            reader.defect(line, "|".join(path)[:120], text, root=_lacking(reader.key, path))


def _lacking(key: str, path: Where) -> Where:
    """The construct that lacks what a line would state."""
    words = path[-1].split()
    if not path[0].startswith("router bgp"):
        return ()
    own = (f"neighbor {words[1]}",) if len(path) == _IN_INSTANCE and words[0] == "neighbor" and words[1:] else ()
    return (key, "router bgp", *own)


def _judged(block: Line, path: Where, blocks: tuple[str, ...]) -> Iterator[tuple[Line, Where, tuple[str, ...], Line]]:
    """Lines of blocks whose lines are known, in full words, with the blocks around them from the outermost on."""
    for line in tuple(block.children):
        if line.text in EXITS or _NO_COMMAND.fullmatch(line.text):
            continue
        line.text = in_full(line.text, blocks) or line.text
        here = (*path, line.text)
        yield line, here, blocks, block
        inner = next(filter(None, (opened(it, line.text) for it in reversed(blocks))), None)
        if inner is not None:
            yield from _judged(line, (*path, line.text), (*blocks, inner))


def in_full(text: str, blocks: tuple[str, ...]) -> str | None:
    """The line with its words in full; None where no block around it has such a line."""
    words = text.split()
    found = (forms_of(_FORMS[it]).full(words) for it in reversed(blocks))
    full = next((it for it in found if it is not None), None)
    return None if full is None else " ".join(full)


def slip_of(text: str, blocks: tuple[str, ...]) -> Slip | None:
    """What is wrong with a line of these blocks; None where nothing is, or where no form is near."""
    if in_full(text, blocks) is not None:
        return None
    words = text.split()
    found = [
        (cost, depth, slip)
        for depth, it in enumerate(reversed(blocks))
        for cost, slip in forms_of(_FORMS[it]).slips(words)
    ]
    if words[0] == "no":  # it may have less than the line that it takes back: only words are compared
        found = [it for it in found if it[0] < _SURE or not it[2].text]
    cost, _, slip = min(found, key=lambda it: it[:2], default=(9, 0, None))
    if cost < _SURE:
        return slip
    elsewhere = next((it for it in _FORMS if it not in blocks and in_full(text, (it,)) == text), None)
    if elsewhere not in {None, _LOOSE} and words[0] != "no":
        here = f"'{blocks[-1]}'" if blocks[-1] else "the outermost level"
        return Slip(f" is no line of {here}, but of '{elsewhere}'", block=elsewhere or "")
    return slip
