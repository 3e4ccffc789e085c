"""`nv set` and `nv unset` applied to a configuration of Cumulus Linux: startup.yaml, its JSON, or a list of commands.

A YAML file is changed as a tree of its nodes, so that every word keeps its quotes; comments are not kept. The last
word of `nv set` is a value, or a key where the tree has keys there. Source: NVUE CLI guide.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from typing import Any, Final

import yaml

_KEYED: Final = frozenset(("address", "network", "domain", "interface", "vlan", "vni", "switch-priority", "member"))
"""Words with keys below them, also where the file has none yet."""
_ONE_KEY: Final = frozenset(("state",))
"""Words with one key below them: a new one replaces it."""
_NUMBERS: Final = frozenset(("mtu", "cable-length", "min-threshold", "max-threshold", "probability", "bw-percent",
                             "traffic-class", "robustness", "remote-as", "autonomous-system", "access", "port",
                             "multihop-ttl", "ebgp", "hold", "keepalive"))  # fmt: skip
"""Words whose value is a number in the file."""


def applied(text: str, commands: Sequence[str]) -> str:
    """The text after `nv set` and `nv unset` commands."""
    words = [shlex.split(command)[1:] for command in commands]
    if text.lstrip()[:1] in {"{", "["}:
        value = json.loads(text)
        for verb, *path in words:
            _on_values(_set_of(value), verb, path)
        return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    if "nv set " in text and not text.lstrip().startswith(("-", "set:", "header:")):
        rows = text.splitlines()
        for verb, *path in words:
            rows = _on_commands(rows, verb, path)
        return "\n".join(rows) + "\n"
    node = yaml.compose(text, Loader=yaml.BaseLoader)
    top = _set_node(node)
    for verb, *path in words:
        _on_nodes(top, verb, path)
    return str(yaml.serialize(node, Dumper=_Plain, width=1000))


class _Plain(yaml.BaseDumper):
    """Writes lists of mappings as NVUE does, and every word as the node says."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Lists are not indented below their key."""
        super().increase_indent(flow, indentless)


def _set_of(value: Any) -> dict[str, Any]:  # noqa: ANN401  JSON
    rows = value if isinstance(value, list) else [value]
    found: dict[str, Any] = next(row["set"] for row in rows if isinstance(row.get("set"), dict))
    return found


def _set_node(node: yaml.Node | None) -> yaml.MappingNode:
    rows = node.value if isinstance(node, yaml.SequenceNode) else [node]
    for row in rows:
        held = _child(row, "set") if isinstance(row, yaml.MappingNode) else None
        if isinstance(held, yaml.MappingNode):
            return held
    message = "no mapping `set`"
    raise ValueError(message)


def _child(node: yaml.MappingNode, word: str) -> yaml.Node | None:
    return next((value for key, value in node.value if key.value == word), None)


def _word(text: str, *, number: bool = False) -> yaml.ScalarNode:
    quoted = not number and (text.isdigit() or text.lower() in {"on", "off", "yes", "no", "true", "false", "null"})
    return yaml.ScalarNode("tag:yaml.org,2002:str", text, style="'" if quoted else None)


def _mapping(flow: bool = True) -> yaml.MappingNode:
    return yaml.MappingNode("tag:yaml.org,2002:map", [], flow_style=flow)


def _put(node: yaml.MappingNode, word: str, value: yaml.Node) -> None:
    node.flow_style = False
    for number, (key, _) in enumerate(node.value):
        if key.value == word:
            node.value[number] = (key, value)
            return
    node.value.append((_word(word), value))


def _keyed(above: Sequence[str]) -> bool:
    """Whether the word at the end of a path has keys below it."""
    return bool(above) and above[-1] in _KEYED and above[-2:-1] != ["source"]


def _on_nodes(top: yaml.MappingNode, verb: str, path: Sequence[str]) -> None:
    *above, last = path
    if verb == "unset":
        here: yaml.Node | None = top
        for word in above:
            here = _child(here, word) if isinstance(here, yaml.MappingNode) else None
        if isinstance(here, yaml.MappingNode):
            here.value = [pair for pair in here.value if pair[0].value != last]
            here.flow_style = not here.value
        return
    node = top
    for word in above[:-1]:
        inner = _child(node, word)
        if not isinstance(inner, yaml.MappingNode):
            inner = _mapping(flow=False)
            _put(node, word, inner)
        node = inner
    word = above[-1] if above else last
    held = _child(node, word)
    if isinstance(held, yaml.MappingNode) and word in _ONE_KEY:
        held.value = []
    if _keyed(above) and not isinstance(held, yaml.ScalarNode | yaml.MappingNode):
        held = _mapping(flow=False)
        _put(node, word, held)
    if isinstance(held, yaml.MappingNode):
        if _child(held, last) is None:
            _put(held, last, _mapping())
    else:
        _put(node, word, _word(last, number=word in _NUMBERS and last.isdigit()))


def _on_values(top: dict[str, Any], verb: str, path: Sequence[str]) -> None:
    *above, last = path
    here: Any = top
    if verb == "unset":
        for word in above:
            here = here.get(word) if isinstance(here, dict) else None
        if isinstance(here, dict):
            here.pop(last, None)
        return
    for word in above[:-1]:
        if not isinstance(here.get(word), dict):
            here[word] = {}
        here = here[word]
    word = above[-1]
    if isinstance(here.get(word), dict) and word in _ONE_KEY:
        here[word] = {}
    if isinstance(here.get(word), dict) or (_keyed(above) and word not in here):
        here.setdefault(word, {}).setdefault(last, {})
    else:
        here[word] = int(last) if word in _NUMBERS and last.isdigit() else last


def _on_commands(rows: list[str], verb: str, path: Sequence[str]) -> list[str]:
    """A list of commands: the line of the same path is replaced; what is unset goes with all below it."""

    def words(raw: str) -> list[str]:
        begin = raw.find("nv set ")
        return shlex.split(raw[begin:])[2:] if begin >= 0 else []

    if verb == "unset":
        return [raw for raw in rows if words(raw)[: len(path)] != list(path)]
    line = "nv set " + " ".join(map(shlex.quote, path))
    if any(words(raw) == list(path) for raw in rows):
        return rows
    for number, raw in enumerate(rows):
        held = words(raw)
        if not _keyed(path[:-1]) and held[:-1] == list(path[:-1]) and len(held) == len(path):
            return [*rows[:number], line, *rows[number + 1 :]]
    return [*rows, line]
