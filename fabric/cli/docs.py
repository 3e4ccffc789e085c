"""``fabric docs``: the pages of the documentation, in a checkout and installed: list, read, search."""

from __future__ import annotations

import argparse
import io
import json
import pydoc
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from fabric import shipped
from fabric.errors import InputErrors, Problem
from fabric.render.folding import terminal_width
from fabric.visible import command

_GROUPS: Final = {
    "": "Pages",
    "tutorials": "Tutorials",
    "howto": "How to",
    "runbooks": "Runbooks of alerts",
    "decisions": "Decisions",
}
"""Heading by the first part of a page's name, in the order of the list."""
_MOST_NAMED: Final = 8
_MOST_WIDE: Final = 120
_HEADING: Final = re.compile(r"^(#+) +(.*)$")
_EXAMPLES: Final = """examples:
  fabric docs
  fabric docs howto/live
  fabric docs docs/results.md            as messages name it
  fabric docs metrics#alerts             from one heading on
  fabric docs --search 'pause storm'
  less "$(fabric docs --path scenario)"
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "page",
        metavar="PAGE",
        nargs="*",
        help="name of a page, with or without docs/ and .md; #HEADING begins there; without it, the list",
    )
    parser.add_argument("--search", metavar="TEXT", help="print the lines of all pages that hold this text")
    parser.add_argument("--path", action="store_true", help="print the file of PAGE, or the folder of all")
    parser.add_argument("--json", action="store_true", help="print the list, the page or the lines found as JSON")
    parser.epilog = _EXAMPLES


def run(args: argparse.Namespace) -> int:
    """Print; 1 where a search finds nothing."""
    pages = shipped.pages()
    args.page = _named(args.page)
    _check(args)
    if args.search is not None:
        return _search(pages, args.search, as_json=args.json)
    if args.page is None:
        if args.path:
            print(shipped.folder("docs"))
        elif args.json:
            print(json.dumps([_entry(name, file) for name, file in pages.items()], indent=2))
        else:
            print("\n".join(_list(pages)))
        return 0
    name, _, heading = args.page.partition("#")
    file = pages[_known(pages, name)]
    if args.path:
        print(file)
        return 0
    text = _from(file.read_text(encoding="utf-8"), heading, args.page) if heading else file.read_text(encoding="utf-8")
    if args.json:
        print(json.dumps({**_entry(shipped.page_name(name), file), "text": text}, indent=2))
    elif sys.stdout.isatty():
        pydoc.pager(_rendered(text))
    else:
        print(text.rstrip("\n"))
    return 0


def _named(words: Sequence[str]) -> str | None:
    """The page that was named; None where none was. Raises: InputErrors for several words, which are to be found."""
    if len(words) > 1 or any(" " in it for it in words):
        text = " ".join(words)
        hint = f"`{command('fabric', 'docs', '--search', text)}` finds the lines that hold it"
        raise InputErrors(
            "options", [Problem("PAGE", f"'{text}' is several words, and the name of a page is one", hint)]
        )
    return words[0] if words else None


def _check(args: argparse.Namespace) -> None:
    if args.search is not None and (args.page is not None or args.path):
        raise InputErrors("options", [Problem("--search", "searches all pages", "leave out PAGE and --path")])
    if args.search is not None and not args.search.strip():
        raise InputErrors("options", [Problem("--search", "is empty", "give a word")])


def _entry(name: str, file: Path) -> dict[str, Any]:
    return {"name": name, "title": _title(file), "path": str(file)}


def _title(file: Path) -> str:
    """The first heading."""
    with file.open(encoding="utf-8") as lines:
        return next((found[2].strip() for line in lines if (found := _HEADING.match(line))), file.stem)


def _list(pages: Mapping[str, Path]) -> Iterator[str]:
    for group, heading in _GROUPS.items():
        mine = {name: file for name, file in pages.items() if (name.split("/")[0] if "/" in name else "") == group}
        if group == "decisions":
            yield f"\n{heading}: {len(mine)} pages; `fabric docs decisions/README` lists them."
            continue
        if mine:
            width = max(map(len, mine))
            yield f"{heading}" if not group else f"\n{heading}"
            yield from (f"  {name:{width}}  {_title(file)}" for name, file in mine.items())
    yield "\n`fabric docs PAGE` prints one, `fabric docs --search TEXT` finds lines."


def _known(pages: Mapping[str, Path], given: str) -> str:
    """The name of a page. Raises: InputErrors with the nearest names, or the pages that hold the word."""
    name = shipped.page_name(given)
    if name in pages:
        return name
    same = [page for page in pages if page.rsplit("/", 1)[-1].lower() == name.rsplit("/", 1)[-1].lower()]
    if len(same) == 1:
        return same[0]
    near = same or get_close_matches(name, pages, n=3)
    if near:
        hint = f"did you mean {' or '.join(repr(page) for page in near[:_MOST_NAMED])}?"
    else:
        holding = list(dict.fromkeys(page for page, _, _ in _lines_with(pages, name)))
        hint = (
            f"pages that hold this word: {', '.join(holding[:_MOST_NAMED])}"
            if holding and name
            else f"`fabric docs` lists the pages, `{command('fabric', 'docs', '--search', given)}` finds lines"
        )
    raise InputErrors("options", [Problem("PAGE", f"there is no page '{given}'", hint)])


def _anchor(heading: str) -> str:
    """The id of a heading, as GitHub and the site make it."""
    kept = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return kept.replace(" ", "-")


def _from(text: str, anchor: str, given: str) -> str:
    """The section of a heading, up to the next one of its level. Raises: InputErrors naming the headings."""
    lines, start, level, fenced = text.splitlines(), None, 0, False
    headings: list[str] = []
    for number, line in enumerate(lines):
        fenced ^= line.startswith("```")
        found = None if fenced else _HEADING.match(line)
        if found is None:
            continue
        headings.append(_anchor(found[2]))
        if start is None and headings[-1] == _anchor(anchor):
            start, level = number, len(found[1])
        elif start is not None and len(found[1]) <= level:
            return "\n".join(lines[start:number])
    if start is None:
        near = get_close_matches(_anchor(anchor), headings, n=3) or headings[:_MOST_NAMED]
        raise InputErrors(
            "options", [Problem("PAGE", f"'{given}': no such heading", f"such as: {', '.join(near) or 'none'}")]
        )
    return "\n".join(lines[start:])


def _lines_with(pages: Mapping[str, Path], text: str) -> Iterator[tuple[str, int, str]]:
    """(page, line number, line) of every line that holds the text, whatever its case; decisions last."""
    wanted = text.lower()
    for name in sorted(pages, key=lambda it: (it.startswith("decisions/"), it)):
        for number, line in enumerate(pages[name].read_text(encoding="utf-8").splitlines(), 1):
            if wanted in line.lower():
                yield name, number, line.strip()


def _search(pages: Mapping[str, Path], text: str, *, as_json: bool) -> int:
    found = list(_lines_with(pages, text.strip()))
    if as_json:
        print(json.dumps([{"page": name, "line": number, "text": line} for name, number, line in found], indent=2))
    for name, number, line in found if not as_json else ():
        print(f"{name}:{number}: {line}")
    if not found:
        print("no page holds this text", file=sys.stderr)
    return int(not found)


def _rendered(text: str) -> str:
    """As a terminal shows it, without escape sequences, which not every pager passes on."""
    from rich.markdown import Markdown  # noqa: PLC0415  only for people

    from fabric.render.console import PlainConsole  # noqa: PLC0415  rich, as above

    stream = io.StringIO()
    PlainConsole(stream, width=min(terminal_width(), _MOST_WIDE)).print(Markdown(text, hyperlinks=False))
    return stream.getvalue()
