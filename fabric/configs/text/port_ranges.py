"""Names of interfaces as EOS and NX-OS list them: 'Ethernet1/1-4,Ethernet6', 'Ethernet3/1,4/1', 'Ethernet1/1-8/1'."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_MAX_EXPANDED: Final = 4096
_LAST: Final = re.compile(r"(.*?)(\d+)(?:-(\d+))?", re.ASCII)
_SPAN: Final = re.compile(r"([A-Za-z-]*)((?:\d+/)+)(\d+)-(?:[A-Za-z-]*)((?:\d+/)+)(\d+)")
"""'Ethernet1/1-1/8': both ends are written out."""
_KIND: Final = re.compile(r"[A-Za-z-]*")


def interfaces_of(text: str) -> tuple[list[str], list[str]]:
    """'Ethernet1/1-4,Ethernet6' -> the names, and what is wrong with the text.

    A part without the kind of its interface has that of the part before; one without a slot has its slot, too.
    """
    names: list[str] = []
    wrong: list[str] = []
    prefix = ""
    for written in text.replace(" ", "").split(","):
        kind = _kind_of(prefix)
        part = f"{kind}{written}" if "/" in written and written[:1].isdigit() else written
        span = _SPAN.fullmatch(part)
        if span is not None:
            names += _span(span, wrong)
            prefix = f"{span[1]}{span[4]}"
            continue
        match = _LAST.fullmatch(part)
        if match is None:
            wrong.append(f"'{part[:40]}' is no interface")
            continue
        prefix = match[1] or prefix
        first, last = int(match[2][:9]), int((match[3] or match[2])[:9])
        if last < first or last - first > _MAX_EXPANDED:
            wrong.append(f"range {first}-{last} is empty or too long")
            continue
        names += [f"{prefix}{index}" for index in range(first, last + 1)]
    return names, wrong


def _kind_of(prefix: str) -> str:
    """'Ethernet1/' -> 'Ethernet'."""
    match = _KIND.match(prefix)
    return match[0] if match is not None else ""


def _span(span: re.Match[str], wrong: list[str]) -> list[str]:
    """'Ethernet1/1-1/8', and 'Ethernet1/1-8/1': the first lane of each of eight cages."""
    name, head, first, tail, last = span.groups()
    lower, upper = [*head.split("/")[:-1], first], [*tail.split("/")[:-1], last]
    differ = [at for at, pair in enumerate(zip(lower, upper, strict=False)) if pair[0] != pair[1]]
    if len(lower) != len(upper) or len(differ) > 1 or max(map(len, (*lower, *upper))) > 4:
        wrong.append(f"range '{span[0][:40]}' is not one row of ports: write each port out")
        return []
    at = differ[0] if differ else 0
    if int(lower[at]) > int(upper[at]):
        wrong.append(f"range '{span[0][:40]}' is empty")
    return [
        name + "/".join((*lower[:at], str(index), *lower[at + 1 :]))
        for index in range(int(lower[at]), int(upper[at]) + 1)
    ]


def folded_ports(text: str) -> Iterator[str]:
    """'swp1-4,swp9s0-3' -> every port, as `nv config show` folds them."""
    for part in text.split(","):
        stem, dash, last = part.strip().rpartition("-")
        head = stem.rstrip("0123456789")
        first = stem[len(head) :]
        if (
            dash
            and first
            and last.isascii()
            and last.isdigit()
            and len(first) < 5
            and len(last) < 5
            and (int(first) <= int(last))
        ):
            yield from (f"{head}{number}" for number in range(int(first), int(last) + 1))
        else:
            yield part.strip()
