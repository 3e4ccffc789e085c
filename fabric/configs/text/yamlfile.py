"""YAML text with the line of every key: YAML 1.2 words (`on` stays text), no duplicate keys lost, no alias bombs."""

from __future__ import annotations

import re
from typing import Any, Final

from fabric.configs.model import Where
from fabric.configs.text.jsonfile import FixedLines, refuse, refuse_surrogates
from fabric.yamltext import YamlError, build

MAX_BYTES: Final = 8 * 2**20
MAX_NODES: Final = 500_000
_INTEGER: Final = re.compile(r"[-+]?[0-9]{1,18}")
_WORDS: Final[dict[str, Any]] = {"true": True, "false": False, "null": None, "~": None, "": None}


class YamlText:
    """One YAML file: its value, and where its keys stand."""

    def __init__(self, text: str, file: str) -> None:
        self._lines = FixedLines()
        self.duplicates: list[tuple[Where, int, int]] = []
        try:
            self.value: Any = build(
                text,
                _scalar,
                max_nodes=MAX_NODES,
                too_many="write the mapping out",
                twice=lambda path, first, line: self.duplicates.append((tuple(map(str, path)), first, line)),
                note=lambda path, line: self._lines.note(tuple(map(str, path)), line),
            )
        except YamlError as error:
            raise refuse(f"{file}:{error.line}" if error.line else file, error.text, error.hint) from error
        refuse_surrogates(self.value, text, file)

    def line(self, where: Where) -> int:
        """The line of a path, or of the longest part of it that is there."""
        return self._lines.line(where)


def _scalar(text: str, plain: bool, line: int) -> Any:  # noqa: ANN401  what YAML holds
    del line
    if not plain:
        return text
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    return int(text) if _INTEGER.fullmatch(text) else text
