"""NVUE's tree as it is read: mappings by path, numbers in their range, lists and ranges in keys, leftovers listed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from fabric.configs.file_names import name_of_file
from fabric.configs.model import Defect, Device, Leaf, Unread, Where
from fabric.configs.nvue.commands import Commands, keys_of, overlaid
from fabric.configs.text.jsonfile import JsonText
from fabric.configs.text.roce_effect import effect_of
from fabric.configs.text.spelling import is_number, odd_characters
from fabric.configs.text.yamlfile import YamlText
from fabric.errors import InputErrors, Problem, first_few

_SHOWN: Final = 6
"""Leaves of a part that is not understood, by name."""
_MAX_LIST: Final = 1024
_SIZE: Final = re.compile(r"(\d{1,9}(?:\.\d{1,6})?) (B|KB|MB|GB)")
_SCALES: Final = {"B": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30}
"""The guide's table of the RoCE defaults writes 150000 bytes as 146.48 KB."""


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
        value = _named(source.value)
        rows = value if isinstance(value, list) else [value]
        header: dict[str, Any] = {}
        for number, row in enumerate(rows):
            if isinstance(row, dict) and isinstance(row.get("set"), dict):
                self.top = row["set"]
                self.base = (str(number), "set") if isinstance(value, list) else ("set",)
            if isinstance(row, dict) and isinstance(row.get("header"), dict):
                header = row["header"]
        self.written = self.top
        """The tree of the file; `top` is the same with its interfaces unfolded."""
        self.unread_paths: set[tuple[str, ...]] = set()
        self._misfits: dict[tuple[str, ...], Problem] = {}
        self._keys: dict[str, list[str]] = {}
        self._written: dict[str, Any] = {}
        self.device = Device(name_of_file(file), file, "nvue", source)
        self.device.hwsku = str(header.get("model", ""))

    def at(self, *path: str) -> dict[str, Any]:
        """A mapping of the file; empty where it is absent, a problem of the file where it is something else."""
        here: Any = self.top
        for number, word in enumerate(path):
            here = here.get(word, {})
            if here is None:
                here = {}
            if not isinstance(here, dict) and isinstance(self.source, Commands):
                here = keys_of(here)  # the last word of a command is a value or a key, which only the reader knows
            if not isinstance(here, dict):
                self._misfit(path[: number + 1], here)
                return {}
        found: dict[str, Any] = here
        return found

    def _misfit(self, path: tuple[str, ...], value: Any) -> None:  # noqa: ANN401
        place = self.device.place(self.where(*path))
        text = f"{'.'.join(path)} is {str(value)[:40]!r} where a mapping is needed"
        remedy = f"write the settings of {path[-1]} below it, as `nv config show` does, or remove it"
        self._misfits.setdefault(path, Problem(f"{place.file}:{place.line}", text, remedy))

    def check_shape(self) -> None:
        """Raises: InputErrors where something that was asked for is no mapping: no switch has it so."""
        if self._misfits:
            question = "is it the configuration of a switch? give /etc/nvue.d/startup.yaml or `nv config show`"
            raise InputErrors("configuration", first_few(list(self._misfits.values()), self.device.file, question))

    def unfold(self, keys: dict[str, list[str]]) -> None:
        """Give each interface what all keys that mean it say: 'swp1-32' for all and 'swp7' for one, as NVUE folds."""
        self._written = self.at("interface")
        merged = {name: overlaid([self.at("interface", key) for key in its]) for name, its in keys.items()}
        self.top = {**self.top, "interface": {**self._written, **merged}}
        self._keys = keys

    def where(self, *path: str) -> Where:
        """Path of a construct in the file: of an unfolded interface, below the key that says most of the path."""
        if len(path) > 1 and path[0] == "interface" and path[1] in self._keys:
            key = max(self._keys[path[1]], key=lambda it: _depth(self._written.get(it), path[2:]))
            path = ("interface", key, *path[2:])
        return (*self.base, *path)

    def bad(self, path: tuple[str, ...], text: str, check: str = "R5", *, harmless: bool = False) -> None:
        """Remember something wrong, or something worth a note."""
        where = self.where(*path)
        found = Defect(check, where, ".".join(where[len(self.base) :])[:120], text, harmless=harmless)
        if found not in self.device.defects[-4:]:  # one key of many interfaces is one defect
            self.device.defects.append(found)

    def only(self, path: tuple[str, ...], known: tuple[str, ...]) -> None:
        """List every key of a mapping that is not known."""
        for word in self.at(*path):
            if word not in known:
                self.unread((*path, word))

    def unread(self, path: tuple[str, ...]) -> None:
        """Remember something not understood, with everything below it."""
        here: Any = self.top
        for word in path:
            here = here.get(word) if isinstance(here, dict) else None
        what, leaves = ".".join(path), tuple(leaves_of(here, path))
        self.unread_paths.add(path)
        self.unread_paths.add(path)
        effect = effect_of(what, leaves)
        below = [".".join(it[len(path) :]) for it, _ in leaves if effect and len(it) > len(path)]
        more = f" and {len(below) - _SHOWN} more" if len(below) > _SHOWN else ""
        text = what + (f" with {', '.join(below[:_SHOWN])}{more}" if below else "")
        self.device.unread.append(Unread(self.device.place(self.where(*path)), text, leaves, effect))

    def literal(self, tree: Any, path: tuple[str, ...] = ()) -> None:  # noqa: ANN401
        """A defect for every name and value that is not what it looks like; descriptions are words for people."""
        if isinstance(tree, dict):
            for key, value in tree.items():
                if key != "description":
                    self.literal(str(key), path)
                    self.literal(value, (*path, str(key)))
        elif isinstance(tree, str) and (odd := odd_characters(tree)):
            self.bad(path, f"'{tree[:40]}' is a word {odd}")

    def number(self, path: tuple[str, ...], value: Any, low: int, high: int) -> int | None:  # noqa: ANN401
        """A number in its range, or None and a defect."""
        text = str(value)
        if isinstance(value, bool) or not (
            text.isascii() and text.isdigit() and len(text) < 16 and low <= int(text) <= high
        ):
            self.bad(path, f"{text[:40]} is outside {low}..{high}")
            return None
        return int(text)

    def number_or_word(self, path: tuple[str, ...], value: Any, low: int, high: int) -> int | None:  # noqa: ANN401
        """A number in its range; None for a word that leaves it to the switch ('auto'), which is not judged."""
        if not is_word(value):
            return self.number(path, value, low, high)
        place = self.device.place(self.where(*path))
        row = Unread(place, f"{'.'.join(path)} {value}", ((path, str(value)),), "")
        if row not in self.device.unjudged:
            self.device.unjudged.append(row)
        return None

    def size(self, path: tuple[str, ...], value: Any, high: int) -> int | None:  # noqa: ANN401
        """A size in bytes, also as `nv show` writes it ('1.43 MB'), or None and a defect."""
        match = _SIZE.fullmatch(str(value))
        if match is not None:
            value = round(float(match[1]) * _SCALES[match[2]])
        return self.number(path, value, 0, high)

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
        for part in ",".join(str(word) for word in words[:_MAX_LIST]).split(",") if words else ():
            first, _, last = part.strip().partition("-")
            if not (is_number(first) and (not last or is_number(last)) and len(first + last) < 7):
                self.bad(path, f"'{part[:40]}' is no switch priority 0..7")
                continue
            if max(int(first), int(last or first)) > 7:
                self.bad(path, f"'{part[:40]}' is outside 0..7")
                continue
            found.update(range(int(first), int(last or first) + 1))
        return frozenset(found)

    def entries(self, *path: str, high: int = 63) -> Iterator[tuple[int, dict[str, Any], tuple[str, ...]]]:
        """(number, mapping, path) of rows such as `dscp: {'26': {...}}`; keys may be lists and ranges."""
        for key, value in self.at(*path).items():
            for part in str(key).split(","):
                first, _, last = part.strip().partition("-")
                if not (
                    is_number(first)
                    and (not last or is_number(last))
                    and len(first + last) < 7
                    and isinstance(value, dict)
                ):
                    self.bad((*path, key), "is not a number with settings")
                    continue
                for number in range(int(first), min(int(last or first), high) + 1):
                    yield number, value, (*path, key)


def _named(tree: Any) -> Any:  # noqa: ANN401
    """The tree with every key as a word: people write a class as 3, `nv config show` as '3'."""
    if isinstance(tree, dict):
        return {str(key): _named(value) for key, value in tree.items()}
    return [_named(item) for item in tree] if isinstance(tree, list) else tree


def leaves_of(tree: Any, path: tuple[str, ...] = ()) -> Iterator[Leaf]:  # noqa: ANN401
    """Every value below a path; an empty mapping counts as the value ''."""
    if isinstance(tree, dict) and tree:
        for key, value in tree.items():
            yield from leaves_of(value, (*path, str(key)))
    elif path:
        yield path, "" if isinstance(tree, dict) else str(tree)


def is_word(value: Any) -> bool:  # noqa: ANN401
    """Whether a value is a word of letters, and no number that is mistyped."""
    return isinstance(value, str) and value.isascii() and value.isalpha()


def words_of(value: Any) -> list[str]:  # noqa: ANN401
    """Words that NVUE writes as keys of a mapping, a list, or one word."""
    return [str(word) for word in (value if isinstance(value, dict | list) else [] if value is None else [value])]


def _depth(tree: Any, path: tuple[str, ...]) -> int:  # noqa: ANN401
    """How many words of a path a tree has."""
    for number, word in enumerate(path):
        if not isinstance(tree, dict) or word not in tree:
            return number
        tree = tree[word]
    return len(path)
