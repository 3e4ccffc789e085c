"""What a links, containerlab or netlab file holds besides the ends and lengths of its links: listed as not judged."""

from __future__ import annotations

from typing import Any, Final

from fabric.configs.model import Leaf, Locator, Place, Unread
from fabric.configs.nvue.reader import leaves_of

_ROW: Final = frozenset(("a", "b", "endpoints", "interfaces", "length_m"))


def unjudged_of_links(value: Any, lines: Locator, file: str) -> tuple[Unread, ...]:  # noqa: ANN401
    """One row for each key beside `links`, and for each key of a link that is neither an end nor a length.

    Of netlab's short form, `{leaf1: {ifname: Ethernet0}, spine1: {}}`, every key is an end.
    """
    top = value if isinstance(value, dict) else {"links": value}
    inner = top["topology"] if isinstance(top.get("topology"), dict) else top
    found: dict[str, tuple[int, list[Leaf]]] = {}
    for name, below, path in [
        *((name, below, (name,)) for name, below in top.items() if name not in {"links", "topology"}),
        *((name, below, ("topology", name)) for name, below in inner.items() if inner is not top and name != "links"),
    ]:
        where = tuple(map(str, path))
        found[str(name)] = lines.line(where), list(leaves_of(below, where))
    prefix = (*(("topology",) if inner is not top else ()), *(("links",) if isinstance(value, dict) else ()))
    rows = inner.get("links")
    for number, row in enumerate(rows if isinstance(rows, list) else []):
        if not isinstance(row, dict) or not _ROW & row.keys():
            continue
        for name in sorted(map(str, row.keys() - _ROW)):
            where = (*prefix, str(number), name)
            _, leaves = found.setdefault(f"links {name}", (lines.line(where[:-1]), []))
            leaves += leaves_of(row[name], where)
    return tuple(
        Unread(Place(file, line), f"field '{name[:60]}' of the links file", tuple(leaves))
        for name, (line, leaves) in found.items()
    )
