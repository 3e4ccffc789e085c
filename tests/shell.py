"""Commands of pages, run by the shell in a folder of the test, with the programs of this environment first on PATH."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

LONGEST_S: Final = 1200
"""A command that goes on for longer does not end by itself."""


def said(text: str, folder: Path) -> str:
    """What a command prints on both streams. It ends with 0, in each part of a pipe."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-ec", text],
        cwd=folder,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=LONGEST_S,
    )
    assert done.returncode == 0, f"{text}\n{done.stdout}"
    return done.stdout
