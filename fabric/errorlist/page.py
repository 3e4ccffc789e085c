"""docs/errors.md: every error with its id and remedy, in the order of the parts of the program that make it."""

from __future__ import annotations

import importlib
from collections import defaultdict
from typing import Final

from fabric.errorlist.entries import Entry, entries
from fabric.visible import in_markdown

_HEAD: Final = """# Errors

Every message that refuses an input, with its id. Bad input is reported on standard error with the file, the field and a
remedy; all problems of a stage together; the exit code is 2. `fabric errors MESSAGE` finds the entry of a message,
`fabric errors ID` prints it, and with `--json` a command's errors carry the id. What depends on the input stands as
&lt;name&gt;. An id stays with its message in later versions.

A message that begins with `defect:` and exits with 3 is not here: it says that this program is wrong. Report it with
the command and the input.
"""
_SHARED: Final = "several parts of the program"


def area(entry: Entry) -> str:
    """The package that makes an error, such as 'fabric.scenario'; '' where several do."""
    found = {_package(module) for module in entry.modules}
    return found.pop() if len(found) == 1 else ""


def _package(module: str) -> str:
    first, _, rest = module.partition(".")
    return f"{first}.{rest.partition('.')[0]}" if first != "playbooks" else first


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
    rows = "\n".join(f"| `{it.id}` | {in_markdown(it.text)} | {_remedy(it)} |" for it in listed)
    return f"## {title}\n\n{about}| id | message | remedy |\n|---|---|---|\n{rows}\n"


def _remedy(entry: Entry) -> str:
    return "; or: ".join(map(in_markdown, entry.remedies)) or "in the message"


def first_line(name: str) -> str:
    """What a package is for: the first sentence of its docstring."""
    text = (importlib.import_module(name).__doc__ or "").strip().split("\n\n")[0]
    return in_markdown(" ".join(text.split()))
