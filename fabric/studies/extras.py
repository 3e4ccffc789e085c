"""Packages that only studies need: loaded where they are used, with an error that names the remedy."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType
from typing import Final

from fabric.errors import FabricError

EXTRA: Final = "fabric-emulator[studies]"


def require(name: str) -> ModuleType:
    """A module of the extra `studies`. Raises: FabricError where it is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != name.partition(".")[0]:
            raise
        raise FabricError(f"{error.name.partition('.')[0]} is not installed", f"pip install '{EXTRA}'") from error


def check_installed(*names: str) -> None:
    """Before anything is simulated: packages that are needed at the end. Raises: FabricError that names all missing."""
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise FabricError(f"{', '.join(missing)} {verb} not installed", f"pip install '{EXTRA}'")
