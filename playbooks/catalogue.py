"""The playbooks that come with this package, and how one is named: by its slug, or by a folder of the user's own."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Final

from fabric.errors import InputErrors, Problem
from fabric.topology.select import nearest
from playbooks.schema import FILE_NAME

RUNBOOK: Final = "README.md"


def slugs() -> list[str]:
    """Names of the playbooks that come with the package, sorted."""
    return sorted(entry.name for entry in _home().iterdir() if (entry / FILE_NAME).is_file())


def find(name: str) -> Path:
    """Folder of a playbook. Raises: InputErrors with the nearest name."""
    folder = _home() / name if name in slugs() else Path(name)
    if not (folder / FILE_NAME).is_file():
        text = f"the folder has no {FILE_NAME}" if folder.is_dir() else "there is no such playbook"
        raise InputErrors("finding the playbook", [Problem(name, text, nearest(name, slugs(), "playbooks"))])
    return folder


def _home() -> Path:
    return Path(str(files("playbooks")))
