"""Compile inner kernels to intermediate code only; what they become is decided where they are used.

Numba makes a library of every function: it links in all that the function calls, optimises the whole and generates
machine code, and then again for its caller. Of a hundred kernels that call each other only the few entries are ever
called from Python, so nine tenths of that work is thrown away. Inside as_part() a library stops after the lowering: its
module waits to be linked, and is optimised once, with everything else, in the entry's library.

Relies on inner parts of Numba; whether compiled kernels do what their text says is tested against plain Python.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.registry import cpu_target


class _NoEnvironment:
    """The code generator, as far as a part needs it: to publish the environment of machine code that it never gets."""

    def set_env(self, env_name: str, env: Any) -> None:
        """Parts hold no Python objects."""


class _Part(JITCodeLibrary):  # type: ignore[misc]
    """A library that is only ever linked into others."""

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
    """Libraries made within are parts."""
    codegen = cpu_target.target_context.codegen()
    before = codegen._library_class
    codegen._library_class = _Part
    try:
        yield
    finally:
        codegen._library_class = before
