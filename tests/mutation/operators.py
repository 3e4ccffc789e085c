"""Mutants of a module: small changes of its text, each at one place.

Operators: a comparison moved by its bound (< to <=) or negated; + and -, * and //, << and >>, & and | exchanged; an
integer one more, one less, and half where it is a mask; a factor halved; and for or, not left out; True for False; min
for max; break for continue; a statement left out that writes to a table or is called for its effect.

The text is changed, not the tree, so that lines keep their numbers. Annotations, docstrings, decorators and imports are
left alone: nothing of them runs.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tests.mutation.packages import WITHOUT_EFFECT

_COMPARISONS: Final = {
    ast.Lt: ("<", ("<=", ">=")), ast.LtE: ("<=", ("<", ">")), ast.Gt: (">", (">=", "<=")), ast.GtE: (">=", (">", "<")),
    ast.Eq: ("==", ("!=",)), ast.NotEq: ("!=", ("==",)), ast.Is: ("is", ("is not",)), ast.IsNot: ("is not", ("is",)),
    ast.In: ("in", ("not in",)), ast.NotIn: ("not in", ("in",))}  # fmt: skip
_ARITHMETIC: Final = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "//"), ast.FloorDiv: ("//", "*"), ast.Div: ("/", "*"),
    ast.Mod: ("%", "//"), ast.LShift: ("<<", ">>"), ast.RShift: (">>", "<<"), ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"), ast.BitXor: ("^", "&")}  # fmt: skip
_SWAPPED: Final = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one module."""

    path: str
    line: int
    operator: str
    start: int
    """First byte that is replaced."""
    end: int
    text: str
    """The replacement; as many lines as before."""
    before: str
    """The line, and the line as it is then, without indentation."""
    after: str
    at_import: bool
    """Outside every function."""

    @property
    def id(self) -> str:
        """Stable as long as the module's text is."""
        return f"{self.path}:{self.line}:{self.start}:{self.operator}:{self.text.strip()}"

    def applied(self, source: bytes) -> bytes:
        """The module's text with the change."""
        return source[: self.start] + self.text.encode() + source[self.end :]

    def is_program(self, source: bytes) -> bool:
        """Whether the module is still Python."""
        try:
            compile(self.applied(source), self.path, "exec")
        except SyntaxError:
            return False
        return True


class _Finder:
    def __init__(self, path: str, source: bytes) -> None:
        self.path, self.source = path, source
        self.offsets = [0]
        for line in source.split(b"\n"):
            self.offsets.append(self.offsets[-1] + len(line) + 1)
        tree = ast.parse(source)
        self.inside = [self.span(it) for it in ast.walk(tree) if isinstance(it, ast.FunctionDef)]
        self.variables = [self.span(it) for it in tree.body if isinstance(it, (ast.Assign, ast.AnnAssign))]

    def at(self, line: int, column: int) -> int:
        return self.offsets[line - 1] + column

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.at(node.lineno, node.col_offset), self.at(node.end_lineno, node.end_col_offset)

    def mutant(self, operator: str, start: int, end: int, text: str) -> Mutant:
        line = self.source.count(b"\n", 0, start) + 1
        text += "\n" * (self.source.count(b"\n", start, end) - text.count("\n"))
        first = self.offsets[line - 1]
        rest = self.source[first : self.offsets[line] - 1]
        tail = self.source[end : max(end, self.offsets[line] - 1)]
        after = self.source[first:start] + text.rstrip("\n").encode() + tail
        return Mutant(
            self.path,
            line,
            operator,
            start,
            end,
            text,
            rest.decode().strip(),
            after.decode().strip(),
            not any(begin <= start < last for begin, last in self.inside),
        )

    def between(self, operator: str, left: ast.expr, right: ast.expr, token: str, text: str) -> Iterator[Mutant]:
        """Replace the operator that stands between two operands, behind closing brackets."""
        start, end = self.span(left)[1], self.span(right)[0]
        word = r"\b" + token.replace(" ", r"\s+") + r"\b" if token[0].isalpha() else re.escape(token)
        found = re.search(word.encode(), self.source[start:end])
        if found:
            yield self.mutant(operator, start + found.start(), start + found.end(), text)

    # ===== one node =====

    def compare(self, node: ast.Compare) -> Iterator[Mutant]:
        for left, op, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
            token, others = _COMPARISONS[type(op)]
            for number, other in enumerate(others):
                kind = "bound" if len(others) > 1 and number == 0 else "negation"
                yield from self.between(kind, left, right, token, other)

    def binary(self, node: ast.BinOp) -> Iterator[Mutant]:
        if type(node.op) in _ARITHMETIC and not any(_is_text(side) for side in (node.left, node.right)):
            token, other = _ARITHMETIC[type(node.op)]
            yield from self.between("arithmetic", node.left, node.right, token, other)

    def augmented(self, node: ast.AugAssign) -> Iterator[Mutant]:
        if type(node.op) in _ARITHMETIC and not _is_text(node.value):
            token, other = _ARITHMETIC[type(node.op)]
            yield from self.between("arithmetic", node.target, node.value, f"{token}=", f"{other}=")

    def constant(self, node: ast.Constant) -> Iterator[Mutant]:
        start, end = self.span(node)
        value = node.value
        if isinstance(value, bool):
            yield self.mutant("constant", start, end, str(not value))
        elif isinstance(value, int):
            yield self.mutant("constant", start, end, str(value + 1))
            yield self.mutant("constant", start, end, str(value - 1) if value else "-1")
            if value > 3 and value & (value + 1) == 0:
                yield self.mutant("mask", start, end, str(value >> 1))
        elif isinstance(value, float):
            yield self.mutant("constant", start, end, repr(value + 1.0))
            yield self.mutant("constant", start, end, repr(value / 2) if value else "-1.0")

    def boolean(self, node: ast.BoolOp) -> Iterator[Mutant]:
        token, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            yield from self.between("boolean", left, right, token, other)

    def call(self, node: ast.Call) -> Iterator[Mutant]:
        if isinstance(node.func, ast.Name) and node.func.id in _SWAPPED:
            yield self.mutant("call", *self.span(node.func), _SWAPPED[node.func.id])

    def statement(self, node: ast.stmt) -> Iterator[Mutant]:
        if isinstance(node, (ast.Break, ast.Continue)):
            yield self.mutant("loop", *self.span(node), "continue" if isinstance(node, ast.Break) else "break")
        effect = (
            isinstance(node, ast.AugAssign)
            or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call))
            or (
                isinstance(node, ast.Assign)
                and any(isinstance(it, (ast.Subscript, ast.Attribute)) for it in node.targets)
            )
        )
        if effect:
            yield self.mutant("left out", *self.span(node), "pass")


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _is_hint(node: ast.AST) -> bool:
    """A statement that cannot change a result."""
    call = node.value if isinstance(node, ast.Expr) else None
    name = call.func if isinstance(call, ast.Call) else None
    return (name.attr if isinstance(name, ast.Attribute) else getattr(name, "id", "")) in WITHOUT_EFFECT


def _is_only_row(node: ast.AST) -> bool:
    """State.config[0]: the table has one row, and [-1] is the same one."""
    return isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "config"


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """What runs of a node: no annotations, decorators or docstrings."""
    skipped: list[ast.AST | None] = []
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        skipped += node.decorator_list
    if isinstance(node, ast.FunctionDef):
        skipped += [node.args, node.returns]
    if isinstance(node, ast.AnnAssign):
        skipped.append(node.annotation)
    if _is_only_row(node):
        skipped.append(node.slice)  # type: ignore[attr-defined]
    for child in ast.iter_child_nodes(node):
        is_docstring = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
        imports = isinstance(child, (ast.Import, ast.ImportFrom, ast.FormattedValue, ast.JoinedStr))
        if not is_docstring and not imports and not any(child is it for it in skipped) and not _is_hint(child):
            yield child


def mutants(path: str, source: bytes) -> list[Mutant]:
    """Every mutant of a module, in the order of the text; some few may be no programs."""
    finder, found, waiting = _Finder(path, source), list[Mutant](), [ast.parse(source)]
    while waiting:
        node = waiting.pop()
        made: Iterator[Mutant] = iter(())
        if isinstance(node, ast.Compare):
            made = finder.compare(node)
        elif isinstance(node, ast.BinOp):
            made = finder.binary(node)
        elif isinstance(node, ast.Constant):
            made = finder.constant(node)
        elif isinstance(node, ast.BoolOp):
            made = finder.boolean(node)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            start, end = finder.span(node)
            made = iter([finder.mutant("negation", start, start + 3, "")] if end > start + 3 else [])
        elif isinstance(node, ast.Call):
            made = finder.call(node)
        elif isinstance(node, ast.stmt):
            made = finder.statement(node)
            if isinstance(node, ast.AugAssign):
                made = iter([*made, *finder.augmented(node)])
        found += made
        waiting += _children(node)
    # What a class body sets is part of objects that exist: nothing in memory could be changed for it.
    found = [it for it in found if not it.at_import or any(a <= it.start < b for a, b in finder.variables)]
    return sorted(found, key=lambda it: (it.start, it.end, it.operator, it.text))
