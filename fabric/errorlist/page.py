"""docs/errors.md: every error with its id, cause and remedy, in the order of the parts of the program that make it."""

from __future__ import annotations

import importlib
from collections import defaultdict
from typing import Final

from fabric.errorlist.causes import area, own_cause, remedies, written
from fabric.errorlist.entries import Entry, entries
from fabric.visible import in_markdown

_HEAD: Final = """# Errors

Every message that refuses an input, with its id. Bad input is reported on standard error with the file, the field and a
remedy; all problems of a stage together; the exit code is 2. `fabric errors MESSAGE` finds the entry of a message,
`fabric errors ID` prints it, and with `--json` a command's errors carry the id. What depends on the input stands as
&lt;name&gt;. An id stays with its message in later versions, and is the anchor of its row: `errors.md#has-no-unit`. An
error without a cause of its own has that of its section.

A message that begins with `defect:` and exits with 3 is not here: it says that this program is wrong. Report it with
the command and the input.
"""
_SHARED: Final = "several parts of the program"


def page() -> str:
    """The page in Markdown."""
    areas: defaultdict[str, list[Entry]] = defaultdict(list)
    for entry in entries().values():
        areas[area(entry)].append(entry)
    sections = [_section(name, areas[name]) for name in sorted(areas)]
    return "\n".join([_HEAD, *sections])


def _section(name: str, listed: list[Entry]) -> str:
    title = f"`{name}`" if name else f"From {_SHARED}"
    about = f"{first_line(name)}\n\n" if name else ""
    rows = "\n".join(map(_row, listed))
    why = written()["areas"][name]
    return f"## {title}\n\n{about}{why}\n\n| id | message | cause | remedy |\n|---|---|---|---|\n{rows}\n"


def _row(entry: Entry) -> str:
    cells = (in_markdown(entry.text), in_markdown(own_cause(entry)), _remedy(entry))
    return f'| <a id="{entry.id}"></a>`{entry.id}` | {" | ".join(cells)} |'


def _remedy(entry: Entry) -> str:
    return "; or: ".join(map(in_markdown, remedies(entry)))


def first_line(name: str) -> str:
    """What a package is for: the first sentence of its docstring."""
    text = (importlib.import_module(name).__doc__ or "").strip().split("\n\n")[0]
    return in_markdown(" ".join(text.split()))
