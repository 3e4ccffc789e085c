"""One mistake in one file of a working fabric: how it is made, and the finding that it must cause."""

from __future__ import annotations

import copy
import fnmatch
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from tests.mistakes import eos, frr, nvue, nxos, sonic
from tests.mistakes.interior import with_interior

LANGUAGES: Final[Mapping[str, ModuleType]] = {"sonic": sonic, "eos": eos, "nxos": nxos, "nvue": nvue}
"""Of whole switches."""
CORPUS: Final[Mapping[str, ModuleType]] = {**LANGUAGES, "frr": frr}
"""The same, and FRR's files beside those of SONiC."""
NAMES: Final = {"sonic": "SONiC", "eos": "Arista EOS", "nxos": "Cisco NX-OS", "nvue": "NVIDIA NVUE", "frr": "FRR"}
"""As tables show them."""
REMOVED: Final = object()
Edit = Callable[[Any], Any]
"""From the content of a file to its changed content."""


@dataclass(frozen=True)
class Mistake:
    """A change of one file, and the cause that must come first."""

    language: str
    title: str
    checks: str
    """Identifiers of checks that name the cause rightly, separated by blanks."""
    devices: str
    """Switches that may be named as its place: one, or both ends of a link."""
    where: str
    """What the place or the sentence must contain, such as the port or the field; '' where the switch is enough."""
    file: str
    """Or a pattern, where the same mistake is in several files: 'spine*.cfg'."""
    edit: Edit
    loopbacks: bool = False
    """Of the variant whose EVPN sessions are between loopbacks."""
    interior: str = ""
    """Of the variant of that with 'ospf' or 'isis' below."""

    @property
    def id(self) -> str:
        """For test reports."""
        return f"{self.language}: {self.title}"

    def write(self, folder: Path) -> None:
        """Write the fabric with this mistake."""
        files = good(self.language, loopbacks=self.loopbacks, interior=self.interior)
        names = fnmatch.filter(files, self.file)
        assert names, f"{self.id}: no file is {self.file}"
        for name in names:
            files[name] = self.edit(copy.deepcopy(files[name]))
        write(self.language, files, folder)


def good(language: str, *, loopbacks: bool = False, interior: str = "") -> dict[str, Any]:
    """The working fabric, or a variant of it."""
    files: dict[str, Any] = CORPUS[language].good(loopbacks=loopbacks)
    return with_interior(language, interior, files) if interior else files


def write(language: str, files: Mapping[str, Any], folder: Path) -> None:
    """Write a fabric; trees in the spelling of their language."""
    for name, content in files.items():
        text = content if isinstance(content, str) else CORPUS[language].text(content)
        (folder / name).write_text(text, encoding="utf-8")


def replaced(old: str, new: str, *, after: str = "") -> Edit:
    """The first `old` that follows `after` becomes `new`."""

    def edit(text: str) -> str:
        begin = text.index(after) + len(after)
        at = text.index(old, begin)
        return text[:at] + new + text[at + len(old) :]

    return edit


def everywhere(old: str, new: str) -> Edit:
    """Every `old` becomes `new`."""

    def edit(text: str) -> str:
        assert old in text, old
        return text.replace(old, new)

    return edit


def put(*path: str, value: Any) -> Edit:  # noqa: ANN401  JSON
    """A field gets a value; REMOVED takes it away."""

    def edit(tree: Any) -> Any:  # noqa: ANN401  JSON
        inner = tree
        for step in path[:-1]:
            inner = inner.setdefault(step, {}) if value is not REMOVED else inner[step]
        if value is REMOVED:
            del inner[path[-1]]
        else:
            inner[path[-1]] = value
        return tree

    return edit


def renamed(*path: str, to: str) -> Edit:
    """A key gets another name and keeps its value and its order."""

    def edit(tree: Any) -> Any:  # noqa: ANN401  JSON
        inner = tree
        for step in path[:-1]:
            inner = inner[step]
        items = [(to if key == path[-1] else key, value) for key, value in inner.items()]
        assert path[-1] in inner, path
        inner.clear()
        inner.update(items)
        return tree

    return edit


def host(*, name: str, **fields: object) -> Edit:
    """A row of hosts.json for one host, with some fields that the default has otherwise."""

    def edit(text: str) -> str:
        hosts = json.loads(text)
        hosts[name] = {**hosts["default"], **fields}
        return json.dumps(hosts, indent=1)

    return edit


def every_host(**fields: object) -> Edit:
    """Fields of every host."""

    def edit(text: str) -> str:
        hosts = json.loads(text)
        hosts["default"].update(fields)
        return json.dumps(hosts, indent=1)

    return edit


def both(*edits: Edit) -> Edit:
    """Several edits of one file."""

    def edit(content: Any) -> Any:  # noqa: ANN401  text or JSON
        for one in edits:
            content = one(content)
        return content

    return edit
