"""The catalogue: an id for the words of every error, kept over versions in entries.json beside this module.

Rules
1. An id is made of the first words of the message, and of more where two messages begin alike. Two places with the same
   words share an entry: the reader of the message cannot tell them apart.
2. An id that a message has is never given to another one: made() starts from the kept entries.
3. match() finds the entry of a message by its literal words, in order; of several the one with the most letters. The
   message may lack a field's name at the beginning, which is then in its place (scenario/problems.py).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

_FILE: Final = "entries.json"
_PACKAGES: Final = ("fabric", "telemetry", "playbooks")
_FIELD: Final = re.compile(r"<[^<>]*>")
_FIELD_FIRST: Final = re.compile(r"[a-z][\w.\[\]<>]*:? ")
_WORDS: Final = 6
"""Words of an id, unless it takes more to tell it from others."""


LEAST_LETTERS: Final = 5
"""Shorter texts, such as 'is <value>', would fit any message."""


def letters(template: str) -> int:
    """Number of letters of a template outside of its fields."""
    return sum(map(str.isalpha, _FIELD.sub("", template)))


@dataclass(frozen=True, slots=True)
class Entry:
    """One error."""

    id: str
    text: str
    """Template: what depends on the input stands as <name>."""
    remedies: tuple[str, ...]
    modules: tuple[str, ...]
    """Where it is made."""

    @property
    def literals(self) -> list[str]:
        """The parts of the text between its fields, in order."""
        return _FIELD.split(self.text)

    @property
    def after_field(self) -> list[str]:
        """As literals, of the text without the field's name with which it begins; [] where it begins with none."""
        begins = _FIELD_FIRST.match(self.text)
        rest = self.text[begins.end() :] if begins else ""
        return _FIELD.split(rest) if letters(rest) >= LEAST_LETTERS else []


@cache
def entries() -> Mapping[str, Entry]:
    """Id -> entry, as kept in entries.json."""
    kept = json.loads((files("fabric.errorlist") / _FILE).read_text(encoding="utf-8"))
    return {
        it["id"]: Entry(it["id"], it["text"], tuple(it["remedies"]), tuple(it["modules"])) for it in kept["entries"]
    }


def match(message: str) -> Entry | None:
    """The entry of a message that was printed, without its place and hint; None: it is of no entry."""
    found = [it for it in entries().values() if _fits(it, message)]
    return max(found, key=lambda it: sum(map(len, it.literals)), default=None)


def _fits(entry: Entry, message: str) -> bool:
    return any(_holds(parts[0], parts[1:], message) for parts in (entry.literals, entry.after_field) if parts)


def _holds(first: str, between: Sequence[str], message: str) -> bool:
    """Whether a message consists of the literals in order, with anything between them."""
    if not between:
        return message == first
    *between, last = between
    if not message.startswith(first) or not message.endswith(last) or len(first) + len(last) > len(message):
        return False
    at, end = len(first), len(message) - len(last)
    for part in between:
        at = message.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return True


def made() -> str:
    """entries.json as the source says now; ids that are kept stay."""
    from fabric.errorlist.sites import sites  # noqa: PLC0415  only the program that makes the file reads the source

    root = Path(str(files("fabric"))).parent
    found: dict[str, tuple[list[str], list[str]]] = {}
    alike: dict[str, str] = {}
    for site in sites(root / name for name in _PACKAGES):
        text = alike.setdefault(_FIELD.sub("<>", site.text), site.text)  # names of fields do not tell messages apart
        remedies, modules = found.setdefault(text, ([], []))
        remedies += [site.hint] if site.hint and site.hint not in remedies else []
        modules += [] if site.module in modules else [site.module]
    ids = _ids(found)
    listed = [
        asdict(Entry(ids[text], text, tuple(remedies), tuple(modules)))
        for text, (remedies, modules) in sorted(found.items(), key=lambda it: ids[it[0]])
    ]
    return json.dumps({"entries": listed}, indent=1, ensure_ascii=False) + "\n"


def _ids(texts: Iterable[str]) -> dict[str, str]:
    """Text -> id: the kept one, or a new one that no text has or had."""
    kept = {it.text: it.id for it in entries().values()}
    taken = set(kept.values())
    found = {}
    for text in texts:
        if text not in kept:
            words = re.findall(r"[a-z0-9]+", _FIELD.sub(" ", text.lower().replace("'s", "s")))
            names = ["-".join(words[:count]) for count in range(min(_WORDS, len(words)), len(words) + 1)]
            names += [f"{names[-1]}-{number}" for number in range(2, len(taken) + 3)]
            kept[text] = next(name for name in names if name not in taken)
            taken.add(kept[text])
        found[text] = kept[text]
    return found
