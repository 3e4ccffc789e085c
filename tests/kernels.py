"""`python -m tests.kernels`: compile every kernel that Python calls into the disk cache, before the tests.

One process compiles them in less time than each alone would take, because they share their inner kernels.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterator

import fabric.dataplane


def compilations() -> Iterator[tuple[str, Callable[[], object]]]:
    """(name, what compiles it) of every entry of the engine; nothing where Numba is disabled."""
    for module in pkgutil.walk_packages(fabric.dataplane.__path__, "fabric.dataplane."):
        for name, value in vars(importlib.import_module(module.name)).items():
            compile_ahead = getattr(value, "compile_ahead", None)
            if compile_ahead is not None and value.__module__ == module.name:
                yield f"{module.name}.{name}", compile_ahead


if __name__ == "__main__":
    for name, compile_ahead in compilations():
        compile_ahead()
        sys.stdout.write(f"{name}\n")
