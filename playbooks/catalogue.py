"""The playbooks that come with this package. A playbook is named by its slug, or by a folder of the user."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path
from typing import Final

from fabric.errors import InputErrors, Problem
from fabric.reading import MIB, read_text
from fabric.topology.select import nearest
from fabric.units import listed
from playbooks.schema import FILE_NAME
from telemetry.diagnosis.rehearsed import playbook, runbooks
from telemetry.diagnosis.root import Kind

RUNBOOK: Final = "README.md"
MAX_RUNBOOK_BYTES: Final = MIB


def slugs() -> list[str]:
    """Names of the playbooks that come with the package, sorted."""
    return sorted(entry.name for entry in _home().iterdir() if (entry / FILE_NAME).is_file())


def find(name: str) -> Path:
    """Folder of a playbook. Raises: InputErrors with the nearest name."""
    folder = _home() / name if name in slugs() else Path(name)
    if not (folder / FILE_NAME).is_file():
        text = f"the folder has no {FILE_NAME}" if folder.is_dir() else "there is no such playbook"
        hint = _of_alert(name) or nearest(name, slugs(), "playbooks")
        raise InputErrors("finding the playbook", [Problem(name, text, hint)])
    return folder


def _of_alert(name: str) -> str:
    """What to read about the name of an alert; '' of any other name."""
    kinds = [kind for kind in Kind if name in runbooks(kind)]
    if not kinds:
        return ""
    shown = listed([f"`fabric playbook show {it}`" for it in dict.fromkeys(playbook(kind) for kind in kinds)], 3)
    return f"it is an alert: read docs/runbooks/{name}.md; of a run `fabric alerts show DIR`; rehearsed by {shown}"


def runbook(folder: Path) -> str:
    """The runbook of a playbook, Markdown; '' where there is none. Raises: InputErrors where it cannot be read."""
    path = folder / RUNBOOK
    return read_text(path, MAX_RUNBOOK_BYTES, stage="reading the playbook") if os.path.lexists(path) else ""


def _home() -> Path:
    return Path(str(files("playbooks")))
