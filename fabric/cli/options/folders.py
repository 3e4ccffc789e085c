"""Folders of results that a command chooses by itself: below runs/ or the configured folder, numbered if need be."""

from __future__ import annotations

from itertools import count
from pathlib import Path

from fabric.cli.settings import settings


def runs_folder() -> Path:
    """Holds the folders of runs, studies and drills whose place was not given."""
    return settings().out


def free_folder(name: str) -> Path:
    """runs/NAME, or runs/NAME-2, -3, ...: the first that does not exist. It is not made."""
    folders = (runs_folder() / (name if number == 1 else f"{name}-{number}") for number in count(1))
    return next(folder for folder in folders if not folder.exists())


def reserved_folder(name: str) -> Path:
    """As free_folder(); it is made, so that no other command takes it meanwhile."""
    while True:
        folder = free_folder(name)
        folder.parent.mkdir(parents=True, exist_ok=True)
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        return folder
