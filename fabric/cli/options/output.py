"""The output option of all verbs, -o or --out.

--output is accepted as well, as in other tools; help and completion do not show it.
"""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, Literal

from fabric.cli.terminal import streams
from fabric.errors import Problem
from fabric.render.folding import folded, terminal_width
from fabric.runs.files import naming

STDOUT: Final = Path("-")
"""Stands for standard output wherever a single text file is written."""


def add_out(parser: argparse._ActionsContainer, metavar: str, help: str, *names: str, **options: Any) -> None:  # noqa: A002, ANN401  argparse's own names
    """Declare -o/--out. `names` are further spellings; `options` go to argparse: dest, default, required."""
    shown = (("-o", "--out", *names), help)
    hidden = (("--output",), argparse.SUPPRESS)
    for spellings, text in (shown, hidden):
        settings = {"dest": "out", "type": Path, **options}
        if text is argparse.SUPPRESS:  # default and requirement belong to the shown option
            settings = {"dest": settings["dest"], "type": settings["type"], "default": argparse.SUPPRESS}
        parser.add_argument(*spellings, metavar=metavar, help=text, **settings)


def write_out(path: Path | None, text: str) -> bool:
    """Write text to a file, or to standard output where the path is None or '-'. Returns: whether to a file."""
    if path is None or path == STDOUT:
        sys.stdout.write(text)
        return False
    write_file(path, text)
    return True


def write_styled(path: Path | None, text: str, style: str) -> None:
    """As write_out(); 'text' has the terminal's width, and there its encoding; other formats have UTF-8.

    Prose is folded on a terminal alone: in a pipe or a file a line stays whole, so that it can be searched.
    """
    shown = path is None or path == STDOUT
    if style == "text":
        text = folded(text, terminal_width(), prose=shown and sys.stdout.isatty())
    elif shown:
        streams.write_utf8()
    write_out(path, text)


def write_file(path: Path, text: str) -> None:
    """Write a text file in UTF-8. Raises: OSError that names it, also where the disk is full."""
    with naming(path):
        path.write_text(text, encoding="utf-8", errors="backslashreplace")


def problems_of_out(
    path: Path | None, read: Iterable[Path], suffixes: Iterable[str], option: str = "--out"
) -> list[Problem]:
    """Why a text cannot be written to `path`, found before minutes of work.

    A folder, no folder above it, or an existing file that the command reads: one of `read`, or a file with one of
    `suffixes` in a folder of `read`.
    """
    if path is None or path == STDOUT:
        return []
    if path.is_dir():
        return [Problem(f"{option} {path}", "is a folder", "name a file, such as one in it")]
    if not path.parent.is_dir():
        return [Problem(f"{option} {path}", f"{path.parent} is no folder", "make it first, or name another file")]
    whole = path.resolve()
    taken = {it.resolve() for it in read}
    if path.exists() and (whole in taken or (whole.parent in taken and path.suffix.lower() in set(suffixes))):
        return [Problem(f"{option} {path}", "is a file that this command reads", "name another file")]
    return []


class LineFile(io.TextIOWrapper):
    """A text file of lines, such as a log; each line reaches the file at once.

    Raises: OSError that names the file, wherever it cannot be opened, written or closed.
    """

    def __init__(self, path: Path, mode: Literal["w", "a"]) -> None:
        self._path = path
        with naming(path):
            super().__init__(
                path.open("wb" if mode == "w" else "ab"),
                encoding="utf-8",
                errors="backslashreplace",
                line_buffering=True,
            )

    def write(self, text: str) -> int:
        """Write, and flush at the end of a line."""
        with naming(self._path):
            return super().write(text)

    def flush(self) -> None:
        """Flush the file."""
        with naming(self._path):
            super().flush()

    def close(self) -> None:
        """Close the file."""
        with naming(self._path):
            super().close()
