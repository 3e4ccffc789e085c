"""Errors of lower layers with the names of Python parameters: `out` instead of the option --out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from fabric.errors import FabricError, InputErrors, Problem

_PARAMETERS: Final[Mapping[str, str]] = {
    "--resume": "resume=True",
    "--force": "force=True",
    "--fib": "fibs",
    "--pg-profile-lookup": "table",
    "--set": "sets",
    "--yes": "yes=True",
    "--all": "run_all",
    "--singles": "singles=True",
}
"""Options whose parameter has another name."""
_OPTION: Final = re.compile(r"--[a-z][a-z-]+")


@contextmanager
def python_words() -> Iterator[None]:
    """Raise every FabricError of the block with Python parameters instead of options."""
    try:
        yield
    except InputErrors as error:
        problems = [Problem(translated(it.path), translated(it.text), translated(it.hint)) for it in error.problems]
        if problems == list(error.problems):
            raise
        raise InputErrors(translated(error.stage), problems) from error
    except FabricError as error:
        text, hint = translated(error.text), translated(error.hint)
        if (text, hint) == (error.text, error.hint):
            raise
        raise type(error)(text, hint) from error


def translated(text: str) -> str:
    """'give another --out' -> 'give another out'."""
    return _OPTION.sub(lambda it: _PARAMETERS.get(it[0], it[0][2:].replace("-", "_")), text)
