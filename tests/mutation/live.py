"""Put a mutant into modules that are already imported, in this process alone; no file is written.

Functions keep their identity and get other code, so that modules that imported one by name run the mutant. A changed
constant is set in its module, and in those that imported it by name.
"""

from __future__ import annotations

import ast
import gc
import sys
from collections.abc import Iterator, Mapping, Sequence
from types import CodeType, FunctionType, ModuleType
from typing import Any

from tests.mutation.operators import Mutant


def module_of(path: str) -> ModuleType:
    """The imported module of a file."""
    return sys.modules[path.removesuffix(".py").replace("/", ".")]


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def _set_everywhere(module: ModuleType, name: str, old: Any, new: Any) -> None:  # noqa: ANN401
    for other in list(sys.modules.values()):
        names = getattr(other, "__dict__", {})
        if other is module or (getattr(other, "__name__", "").startswith("fabric") and names.get(name, ...) is old):
            names[name] = new


def _run_again(module: ModuleType, statement: ast.stmt, path: str) -> None:
    """Assign a module's variables again, here and where they were imported."""
    names = [it.id for it in ast.walk(statement) if isinstance(it, ast.Name) and isinstance(it.ctx, ast.Store)]
    old = {name: module.__dict__.get(name) for name in names}
    exec(compile(ast.Module([statement], []), path, "exec"), module.__dict__)  # noqa: S102 - our own source
    for name in names:
        _set_everywhere(module, name, old[name], module.__dict__[name])


def functions_by_module() -> dict[str, list[FunctionType]]:
    """Every present function of the emulator, also functions without a name."""
    found: dict[str, list[FunctionType]] = {}
    for one in gc.get_objects():
        if isinstance(one, FunctionType) and (one.__module__ or "").startswith("fabric."):
            found.setdefault(one.__module__, []).append(one)
    return found


def apply(mutant: Mutant, source: bytes, functions: Mapping[str, Sequence[FunctionType]]) -> bool:
    """Make this process run the mutant; returns whether it changed any function."""
    module, text = module_of(mutant.path), mutant.applied(source)
    tree = ast.parse(text)
    codes = {(code.co_qualname, code.co_firstlineno): code for code in _codes(compile(text, mutant.path, "exec"))}
    before = {(code.co_qualname, code.co_firstlineno): code for code in _codes(compile(source, mutant.path, "exec"))}
    changed = {key for key, code in codes.items() if code != before.get(key)}
    found = False
    for function in functions.get(module.__name__, ()):
        key = (function.__code__.co_qualname, function.__code__.co_firstlineno)
        if key in changed and codes[key].co_freevars == function.__code__.co_freevars:
            function.__code__ = codes[key]
            found = True
    names = {qualname.partition(".")[0] for qualname, _ in changed}
    for statement in tree.body:
        if isinstance(statement, (ast.Assign, ast.AnnAssign)):
            inside = statement.lineno <= mutant.line <= (statement.end_lineno or 0)
            calls = any(isinstance(it, ast.Name) and it.id in names for it in ast.walk(statement))
            if inside or calls:
                _run_again(module, statement, mutant.path)
                found = True
    return found
