"""Which code gives the results of a study's runs, so that results of other code are never mixed with them; and whether
it has been compiled.

The version of the package is not enough: a source tree has the same one for months.
"""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path
from typing import Final

from fabric.dataplane.state.compiled.jit import cache_folder, is_compiled, source_digest

_PACKAGE: Final = Path(__file__).resolve().parents[1]
WITHOUT_RESULTS: Final = frozenset({"api", "cli", "errorlist", "lab", "proof", "render", "rollout", "show", "validate"})
"""Folders of the package that decide no result: they ask for runs, or show them."""


def is_first_use() -> bool:
    """Whether this version of the engine has never been compiled here."""
    return is_compiled() and not any(cache_folder().rglob("*.nbi"))


@functools.cache
def code_digest() -> str:
    """SHA-256, first 16 hex digits: of the engine's source with the versions of Python and Numba, as checkpoints have
    it, and of every other source that may decide a result.
    """
    return hashlib.sha256(f"{source_digest()} {sources_digest(_PACKAGE)}".encode()).hexdigest()[:16]


def sources_digest(package: Path) -> str:
    """SHA-256 of the sources of a package, WITHOUT_RESULTS left out."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        place = path.relative_to(package)
        if place.parts[0] not in WITHOUT_RESULTS:
            digest.update(f"{place.as_posix()} {path.stat().st_size} ".encode() + path.read_bytes())
    return digest.hexdigest()
