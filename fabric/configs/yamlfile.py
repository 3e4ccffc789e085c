"""YAML text with the line of every key: YAML 1.2 words (`on` stays text), no duplicate keys lost, no alias bombs."""

from __future__ import annotations

import re
from typing import Any, Final

import yaml

from fabric.configs.jsonfile import FixedLines, refuse, refuse_surrogates
from fabric.configs.model import Where

MAX_BYTES: Final = 8 * 2**20
MAX_NODES: Final = 500_000
MAX_DEPTH: Final = 40
_INTEGER: Final = re.compile(r"[-+]?[0-9]{1,18}")
_WORDS: Final[dict[str, Any]] = {"true": True, "false": False, "null": None, "~": None, "": None}


class YamlText:
    """One YAML file: its value, and where its keys stand."""

    def __init__(self, text: str, file: str) -> None:
        self._lines = FixedLines()
        self._left = MAX_NODES
        self._file = file
        self.duplicates: list[tuple[Where, int, int]] = []
        try:
            node = yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark
            raise refuse(f"{file}:{mark.line + 1}" if mark else file, f"not YAML: {error.problem}",
                         "check the indentation and quotes on that line") from error
        except (yaml.YAMLError, RecursionError) as error:
            raise refuse(file, "not YAML: " + str(error).splitlines()[0][:100], "give plain nested mappings") from error
        self.value: Any = None if node is None else self._build(node, (), 0)
        refuse_surrogates(self.value, text, file)

    def line(self, where: Where) -> int:
        """The line of a path, or of the longest part of it that is there."""
        return self._lines.line(where)

    def _build(self, node: yaml.Node, where: Where, depth: int) -> Any:  # noqa: ANN401
        self._left -= 1
        if self._left < 0 or depth > MAX_DEPTH:
            raise refuse(f"{self._file}:{node.start_mark.line + 1}", "nested too deeply, or aliases that multiply",
                         "write the mapping out")
        if isinstance(node, yaml.MappingNode):
            found: dict[str, Any] = {}
            for key, value in node.value:
                name = key.value if isinstance(key, yaml.ScalarNode) else "?"
                path, line = (*where, name), key.start_mark.line + 1
                if name in found:
                    self.duplicates.append((path, self._lines.line(path), line))
                self._lines.lines[path] = line
                found[name] = self._build(value, path, depth + 1)
            return found
        if isinstance(node, yaml.SequenceNode):
            for number, item in enumerate(node.value):
                self._lines.note((*where, str(number)), item.start_mark.line + 1)
            return [self._build(item, (*where, str(number)), depth + 1) for number, item in enumerate(node.value)]
        return _scalar(node)


def _scalar(node: yaml.Node) -> Any:  # noqa: ANN401
    text = str(node.value)
    if not isinstance(node, yaml.ScalarNode) or node.style in {"'", '"'}:
        return text
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    return int(text) if _INTEGER.fullmatch(text) else text
