"""Compile inner kernels to intermediate code only; their callers optimise them and generate machine code.

Numba makes a library of every function: it links in all callees, optimises the whole and generates machine code, and
then again for its caller. Of a hundred kernels only the few entries are called from Python, so nine tenths of that
work is wasted. Inside as_part() a library stops after the lowering: its module is linked into the entry's library and
optimised there once, with everything else.

Relies on internals of Numba; tests compare compiled kernels with plain Python.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.registry import cpu_target


class _NoEnvironment:
    """Stand-in for the code generator: it takes the environment of machine code that a part never has."""

    def set_env(self, env_name: str, env: Any) -> None:
        """Parts hold no Python objects."""


class _Part(JITCodeLibrary):  # type: ignore[misc]
    """A library that is only linked into others."""

    @property
    def codegen(self) -> Any:
        return _NoEnvironment() if self._finalized else self._codegen

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0


@contextmanager
def as_part() -> Iterator[None]:
    """Make libraries as parts within the context."""
    codegen = cpu_target.target_context.codegen()
    before = codegen._library_class
    codegen._library_class = _Part
    try:
        yield
    finally:
        codegen._library_class = before
