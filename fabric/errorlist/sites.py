"""The places in the source at which an error is made, with its words: read from the syntax trees.

A site is
- a call of Problem, a `raise` of a class below FabricError or of YamlError, a refusal by a parser of the command line,
- 'text; hint' in a `raise ValueError` or in a list of problems for one, which pydantic makes a problem of a field,
- (text, hint) as scenario/problems.py makes it of an error of pydantic, or as a function of a table's row,
- (path, text, hint) from a generator of scenario/.
Its text is a template: an f-string's fields become <name>. What passes on another error's text has no words of its own
and is no site.

Two texts are not read: those of libraries (pydantic's messages about types), and those of the operating system.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fabric.errorlist.entries import LEAST_LETTERS, letters

_ROOT: Final = "FabricError"
_OF_FIELDS: Final = "_sentence"
"""The function of scenario/problems.py that makes (text, hint) of an error of pydantic."""
_PASSED_ON: Final = {"InputErrors", "InvariantError", "NoProofError", "NoCutError"}
"""They hold the texts of others, say that this program is wrong, or are reasons in a table of results."""
_SCHEMA, _YAML = "ValueError", "YamlError"
COMPUTED: Final = "<the nearest name that there is, or what is allowed here>"
"""A hint that a function makes from the input."""
_MAKES: Final = re.compile(r"raise |Problem\(|\.error\(|_sentence\(")
_YIELDS: Final = "fabric.scenario."
"""Packages whose generators make errors."""
_CLASS: Final = re.compile(r"^class (\w+)\(([^)]*)\):", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Site:
    """One place that makes an error."""

    module: str
    """Dotted."""
    kind: str
    """The class that is made."""
    text: str
    """Template: fields as <name>."""
    hint: str
    """As text; '' where there is none."""


def sites(folders: Iterable[Path]) -> list[Site]:
    """All sites of the modules in the given packages, in the order of their files."""
    sources = {
        ".".join(file.relative_to(folder.parent).with_suffix("").parts): file.read_text(encoding="utf-8")
        for folder in folders
        for file in sorted(folder.rglob("*.py"))
    }
    raised = _below("\n".join(sources.values())) - _PASSED_ON
    return [
        site
        for module, text in sources.items()
        if _MAKES.search(text) or (module.startswith(_YIELDS) and "yield " in text)
        for site in _of_module(module, text, raised)
    ]


def _below(text: str) -> set[str]:
    """Names of the classes that are FabricError or derive from it."""
    bases = {name: set(re.findall(r"\w+", above)) for name, above in _CLASS.findall(text)}
    found = {_ROOT}
    while more := {name for name, above in bases.items() if above & found} - found:
        found |= more
    return found


def _of_module(module: str, text: str, raised: set[str]) -> Iterator[Site]:
    calls = {"Problem": 1} | ({"error": 0, "ArgumentError": 1, "ArgumentTypeError": 0} if ".cli." in module else {})
    for function, own in _functions(ast.parse(text)):
        known = _locals(own)
        for node in own:
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                call, name = node.exc, _called(node.exc)
                if name in raised | {_SCHEMA, _YAML}:
                    yield from _made(module, name, (call.args, call.keywords), 0, known)
            elif isinstance(node, ast.Call) and _called(node) in calls:
                name = _called(node)
                yield from _made(module, name, (node.args, node.keywords), calls[name], known)
            elif isinstance(node, ast.Call) and _called(node) == "append":
                yield from _made(module, _SCHEMA, (node.args, ()), 0, known)
            elif isinstance(node, (ast.ListComp, ast.GeneratorExp)):
                yield from _made(module, _SCHEMA, ((node.elt,), ()), 0, known)
            elif isinstance(node, ast.Return) and function == _OF_FIELDS and isinstance(node.value, ast.Tuple):
                yield from _made(module, "Problem", (node.value.elts, ()), 0, known)
            elif isinstance(node, ast.Lambda) and isinstance(node.body, ast.Tuple) and len(node.body.elts) == 2:
                yield from _made(module, "Problem", (node.body.elts, ()), 0, known)
            elif isinstance(node, ast.Yield) and ".scenario." in module and isinstance(node.value, ast.Tuple):
                yield from _made(module, "Problem", (node.value.elts, ()), 1, known)


def _functions(tree: ast.Module) -> Iterator[tuple[str, list[ast.AST]]]:
    """(name, nodes without those of functions in it) of every function of a module, in the order of the file."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        outer = waiting.pop()
        own: list[ast.AST] = []
        inner: list[ast.AST] = []
        stack = list(ast.iter_child_nodes(outer))[::-1]
        while stack:
            node = stack.pop()
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                inner.append(node)
                continue
            own.append(node)
            stack += list(ast.iter_child_nodes(node))[::-1]
        waiting += inner[::-1]
        if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield outer.name, own


def _called(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


def _made(
    module: str,
    kind: str,
    given: tuple[Sequence[ast.expr], Sequence[ast.keyword]],
    first: int,
    known: Mapping[str, list[ast.expr]],
) -> Iterator[Site]:
    """Sites of one call, whose text is argument `first` and whose hint is the next one."""
    keywords = {word.arg: word.value for word in given[1]}
    arguments: list[ast.expr | None] = [it for it in given[0] if not isinstance(it, ast.Starred)]
    arguments += [None] * 3
    text, hint = arguments[first] or keywords.get("text"), arguments[first + 1] or keywords.get("hint")
    hints = [it for it in _templates(hint, known) if it] if hint is not None else []
    remedy = " / ".join(dict.fromkeys(it if letters(it) else COMPUTED for it in hints))
    for template in _templates(text, known) if text is not None else ():
        # A schema's text is lines of 'text; hint', as scenario/problems.py reads them.
        for line in template.split("\n") if kind == _SCHEMA else [template]:
            words, semicolon, after = line.partition("; ") if kind == _SCHEMA else (line, "; ", "")
            if semicolon and letters(words) >= LEAST_LETTERS:
                yield Site(module, kind, words, remedy or after)


def _locals(own: Iterable[ast.AST]) -> dict[str, list[ast.expr]]:
    """Name -> what a function assigns to it."""
    found: dict[str, list[ast.expr]] = {}
    for node in own:
        pairs: list[tuple[ast.expr, ast.expr]] = []
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs += zip(target.elts, node.value.elts, strict=False)
                else:
                    pairs.append((target, node.value))
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            pairs.append((node.target, node.value))
        for target, value in pairs:
            if isinstance(target, ast.Name):
                found.setdefault(target.id, []).append(value)
    return found


def _templates(node: ast.expr, known: Mapping[str, list[ast.expr]], depth: int = 0) -> list[str]:
    """Every text that an expression can be, as far as its words stand in the function."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else [f"<{node.value!r}>"]
    if isinstance(node, ast.IfExp):
        return _templates(node.body, known, depth) + _templates(node.orelse, known, depth)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _joined([_templates(node.left, known, depth), _templates(node.right, known, depth)])
    if isinstance(node, ast.BoolOp):
        return [text for part in node.values for text in _templates(part, known, depth)]
    if isinstance(node, ast.JoinedStr):
        parts = [
            _templates(part, known, depth) if isinstance(part, ast.Constant) else [f"<{_name(part)}>"]
            for part in node.values
        ]
        return _joined(parts)
    if isinstance(node, ast.Name) and node.id in known and not depth:
        return [text for value in known[node.id] for text in _templates(value, known, 1)]
    return [f"<{_name(node)}>"]


def _joined(parts: list[list[str]]) -> list[str]:
    texts = [""]
    for choices in parts:
        texts = [text + choice for text in texts for choice in choices]
    return texts


def _name(node: ast.AST) -> str:
    """A word for a field: the last name in its expression."""
    if isinstance(node, ast.FormattedValue):
        return _name(node.value)
    if isinstance(node, ast.Name):
        return node.id.strip("_")
    if isinstance(node, ast.Attribute):
        return node.attr.strip("_")
    if isinstance(node, ast.Call):
        inner = [*node.args, *(word.value for word in node.keywords)]
        return _name(inner[0]) if inner else _name(node.func)
    if isinstance(node, ast.Subscript):
        return _name(node.slice) if isinstance(node.slice, ast.Constant) else _name(node.value)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return "..."
