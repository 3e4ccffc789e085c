"""Why errors happen, and what to do about those that have no hint: causes.yml beside this module, by id.

The texts stand beside entries.json, which is made from the source, because a cause is known to people alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

import yaml

from fabric.errorlist.entries import Entry

_FILE: Final = "causes.yml"


@cache
def written() -> Mapping[str, Mapping[str, str]]:
    """The sections causes, remedies (both by id) and areas (by package)."""
    text = (files("fabric.errorlist") / _FILE).read_text(encoding="utf-8")
    found: Mapping[str, Mapping[str, str]] = yaml.safe_load(text)
    return found


def area(entry: Entry) -> str:
    """The package that makes an error, such as 'fabric.scenario'; '' where several do."""
    found = {_package(module) for module in entry.modules}
    return found.pop() if len(found) == 1 else ""


def own_cause(entry: Entry) -> str:
    """What is written about this error; '' where only its area has a cause."""
    return written()["causes"].get(entry.id, "")


def cause(entry: Entry) -> str:
    """Why the error happens, as exactly as it is known."""
    return own_cause(entry) or written()["areas"][area(entry)]


def remedies(entry: Entry) -> tuple[str, ...]:
    """Hints of the places that make the error, or what is written here."""
    return entry.remedies or tuple(filter(None, [written()["remedies"].get(entry.id)]))


def _package(module: str) -> str:
    first, _, rest = module.partition(".")
    return f"{first}.{rest.partition('.')[0]}" if first != "playbooks" else first
