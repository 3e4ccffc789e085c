"""Where a verb writes to: one option, spelled -o or --out, with one meaning everywhere.

--output is taken as well, for those who are used to it from other tools; help and completion do not show it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, Final

from fabric.report.files import naming

STDOUT: Final = Path("-")
"""Stands for standard output wherever a single text file is written."""


def add_out(parser: argparse._ActionsContainer, metavar: str, help: str, *names: str, **options: Any) -> None:  # noqa: A002, ANN401  argparse's own names
    """Declare -o/--out. `names` are further spellings; `options` go to argparse: dest, default, required."""
    shown = (("-o", "--out", *names), help)
    hidden = (("--output",), argparse.SUPPRESS)
    for spellings, text in (shown, hidden):
        settings = {"dest": "out", "type": Path, **options}
        if text is argparse.SUPPRESS:   # the default and the demand are those of the option that is shown
            settings = {"dest": settings["dest"], "type": settings["type"], "default": argparse.SUPPRESS}
        parser.add_argument(*spellings, metavar=metavar, help=text, **settings)


def write_out(path: Path | None, text: str) -> bool:
    """Write text to a file, or to standard output where there is none or it is '-'. Returns: whether to a file."""
    if path is None or path == STDOUT:
        sys.stdout.write(text)
        return False
    write_file(path, text)
    return True


def write_file(path: Path, text: str) -> None:
    """Write a text file in UTF-8. Raises: OSError that names it, also where the disk is full."""
    with naming(path):
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
