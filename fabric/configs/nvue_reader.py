"""NVUE's tree as it is read: mappings by path, numbers in their range, lists and ranges in keys, leftovers listed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from fabric.configs.jsonfile import JsonText
from fabric.configs.model import Defect, Device, Unread, Where, name_of_file
from fabric.configs.nvue_commands import Commands
from fabric.configs.yamlfile import YamlText

_MAX_LIST: Final = 1024


def is_nvue(value: Any) -> bool:  # noqa: ANN401
    """Whether a value is a list of {header} and {set}, or a mapping with `set`."""
    rows = value if isinstance(value, list) else [value]
    return any(isinstance(row, dict) and isinstance(row.get("set"), dict) for row in rows)


class Reader:
    """One file, and the device it fills."""

    def __init__(self, source: JsonText | YamlText | Commands, file: str) -> None:
        self.source = source
        self.top: dict[str, Any] = {}
        self.base: Where = ()
        rows = source.value if isinstance(source.value, list) else [source.value]
        header: dict[str, Any] = {}
        for number, row in enumerate(rows):
            if isinstance(row, dict) and isinstance(row.get("set"), dict):
                self.top = row["set"]
                self.base = (str(number), "set") if isinstance(source.value, list) else ("set",)
            if isinstance(row, dict) and isinstance(row.get("header"), dict):
                header = row["header"]
        self._keys: dict[str, list[str]] = {}
        self._written: dict[str, Any] = {}
        self.device = Device(name_of_file(file), file, "nvue", source)
        self.device.hwsku = str(header.get("model", ""))

    def at(self, *path: str) -> dict[str, Any]:
        """A mapping of the file; empty where it is absent, a defect where it is something else."""
        here: Any = self.top
        for number, word in enumerate(path):
            here = here.get(word, {})
            if here is None:
                here = {}
            if not isinstance(here, dict):
                self.bad(path[: number + 1], "is not a mapping")
                return {}
        found: dict[str, Any] = here
        return found

    def unfold(self, keys: dict[str, list[str]]) -> None:
        """Give each interface what all keys that mean it say: 'swp1-32' for all and 'swp7' for one, as NVUE folds."""
        self._written = self.at("interface")
        merged = {name: _merge([self.at("interface", key) for key in its]) for name, its in keys.items()}
        self.top = {**self.top, "interface": {**self._written, **merged}}
        self._keys = keys

    def where(self, *path: str) -> Where:
        """Path of a construct in the file: of an unfolded interface, below the key that says most of the path."""
        if len(path) > 1 and path[0] == "interface" and path[1] in self._keys:
            key = max(self._keys[path[1]], key=lambda it: _depth(self._written.get(it), path[2:]))
            path = ("interface", key, *path[2:])
        return (*self.base, *path)

    def bad(self, path: tuple[str, ...], text: str, check: str = "R5") -> None:
        """Remember something wrong."""
        where = self.where(*path)
        found = Defect(check, where, ".".join(where[len(self.base):])[:120], text)
        if found not in self.device.defects[-4:]:          # one key of many interfaces is one defect
            self.device.defects.append(found)

    def only(self, path: tuple[str, ...], known: tuple[str, ...]) -> None:
        """List every key of a mapping that is not known."""
        for word in self.at(*path):
            if word not in known:
                self.unread((*path, word))

    def unread(self, path: tuple[str, ...]) -> None:
        """Remember something not understood."""
        self.device.unread.append(Unread(self.device.place(self.where(*path)), ".".join(path)))

    def number(self, path: tuple[str, ...], value: Any, low: int, high: int) -> int | None:  # noqa: ANN401
        """A number in its range, or None and a defect."""
        text = str(value)
        if isinstance(value, bool) or not (text.isascii() and text.isdigit() and len(text) < 16
                                           and low <= int(text) <= high):
            self.bad(path, f"{text[:40]} is outside {low}..{high}")
            return None
        return int(text)

    def choice(self, path: tuple[str, ...], value: Any, known: tuple[str, ...]) -> str | None:  # noqa: ANN401
        """One of the known words, or None and a defect."""
        text = {True: "on", False: "off"}.get(value, value) if isinstance(value, bool) else value
        if isinstance(text, str) and text.lower() in known:
            return text.lower()
        self.bad(path, f"'{str(value)[:40]}' is none of {', '.join(known)}")
        return None

    def priorities(self, path: tuple[str, ...], value: Any) -> frozenset[int]:  # noqa: ANN401
        """Switch priorities as a mapping of numbers, a list, or text such as '3,5-6'."""
        words = list(value) if isinstance(value, dict | list) else [value]
        found: set[int] = set()
        for part in ",".join(str(word) for word in words[:_MAX_LIST]).split(","):
            first, _, last = part.strip().partition("-")
            if not (first.isdigit() and first.isascii() and (not last or last.isdigit()) and len(first + last) < 7):
                self.bad(path, f"'{part[:40]}' is no switch priority 0..7")
                continue
            if max(int(first), int(last or first)) > 7:
                self.bad(path, f"'{part[:40]}' is outside 0..7")
                continue
            found.update(range(int(first), int(last or first) + 1))
        return frozenset(found)

    def entries(self, *path: str) -> Iterator[tuple[int, dict[str, Any], tuple[str, ...]]]:
        """(number, mapping, path) of rows such as `dscp: {'26': {...}}`; keys may be lists and ranges."""
        for key, value in self.at(*path).items():
            for part in str(key).split(","):
                first, _, last = part.strip().partition("-")
                if not (first.isdigit() and (not last or last.isdigit()) and len(first + last) < 7 and isinstance(
                        value, dict)):
                    self.bad((*path, key), "is not a number with settings")
                    continue
                for number in range(int(first), min(int(last or first), 63) + 1):
                    yield number, value, (*path, key)




def _merge(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Mappings laid over each other; where two say something else, the later one wins."""
    if len(rows) == 1:
        return rows[0]
    found: dict[str, Any] = {}
    for row in rows:
        for key, value in row.items():
            held = found.get(key)
            found[key] = _merge([held, value]) if isinstance(held, dict) and isinstance(value, dict) else value
    return found


def _depth(tree: Any, path: tuple[str, ...]) -> int:  # noqa: ANN401
    """How many words of a path a tree has."""
    for number, word in enumerate(path):
        if not isinstance(tree, dict) or word not in tree:
            return number
        tree = tree[word]
    return len(path)
