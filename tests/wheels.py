"""Wheels without a network: built by the hatchling that is installed, and packages of this environment in another."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path

from packaging.markers import default_environment

from tools.requirements import entries, lock_path


def build_wheel(source: Path, folder: Path) -> None:
    """The wheel of a checkout or of a source distribution."""
    alone = ("--no-deps", "--no-index", "--no-build-isolation")
    command = [sys.executable, "-m", "pip", "wheel", "-q", *alone, "-w", str(folder), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def link_locked(site_packages: Path) -> None:
    """What lock/runtime.txt names, in the locked versions, as links to the files that are installed here."""
    environment = {key: str(value) for key, value in default_environment().items()}
    for locked in entries(lock_path("runtime").read_text(encoding="utf-8")):
        if not locked.applies(environment):
            continue
        package = importlib.metadata.distribution(locked.name)
        assert package.version == locked.version, f"{locked.name}: `make .venv/.ready` installs what is locked"
        for file in package.files or ():
            if ".." not in file.parts:  # a program of it
                link = site_packages / file
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(Path(str(package.locate_file(file))).resolve())
