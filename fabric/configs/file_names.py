"""The name of a switch by the file of its configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_GENERIC: Final = frozenset(("config_db", "startup", "startup-config", "running-config"))
"""Names that a switch itself gives its configuration: they say nothing of which switch it is."""


def name_of_file(file: str) -> str:
    """A switch's name where its configuration has none: the file's, or the folder's of 'leaf1/config_db.json'."""
    path = Path(file)
    return path.parent.name if path.stem in _GENERIC and path.parent.name else path.stem
