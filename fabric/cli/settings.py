"""The user's configuration file: defaults of options, in TOML.

The file is $FABRIC_CONFIG, or no file where that is empty; else fabric-emulator/config.toml below $XDG_CONFIG_HOME or
~/.config (XDG Base Directory Specification 0.8). An option overrides the file, and so do NO_COLOR (no-color.org) and
FORCE_COLOR. It is read at each command. It never changes a result: what a scenario says is in the scenario.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fabric.errors import InputErrors, Problem

VARIABLE: Final = "FABRIC_CONFIG"
DEFAULT: Final = "default"
COLOURS: Final = ("auto", "always", "never")
EXAMPLE: Final = """\
# Defaults of the command `fabric`; an option of a command overrides them. `fabric config` shows the values in effect.

# Colours: auto (on a terminal), always or never. NO_COLOR and FORCE_COLOR in the environment override this.
colour = "auto"

# Threads of the engine, where a command has --threads. The result is the same for any number.
threads = 1

# Folder that holds the folders of runs whose --out was not given, relative to the current folder. ~ is your home.
out = "runs"
"""
_STAGE: Final = "reading the configuration"
_MAX_BYTES: Final = 2**16
_KEYS: Final = ("colour", "threads", "out")


@dataclass(frozen=True, slots=True)
class Settings:
    """Values in effect."""

    colour: str
    threads: int
    out: Path
    sources: Mapping[str, str]
    """Key -> the file, a variable of the environment, or DEFAULT."""


def config_file() -> Path | None:
    """Where the file is, or would be; None: $FABRIC_CONFIG is empty."""
    named = os.environ.get(VARIABLE)
    if named is not None:
        return Path(os.path.expanduser(named)) if named else None  # noqa: PTH111  that of Path raises for ~nobody
    home = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    return (home if home.is_absolute() else Path.home() / ".config") / "fabric-emulator" / "config.toml"


def settings() -> Settings:
    """The values in effect. Raises: InputErrors with every problem of the file."""
    file = config_file()
    given = {} if file is None else _read(file)
    values: dict[str, Any] = {"colour": "auto", "threads": 1, "out": "runs", **given}
    sources = {key: str(file) if key in given else DEFAULT for key in _KEYS}
    for variable, colour in (("FORCE_COLOR", "always"), ("NO_COLOR", "never")):
        if os.environ.get(variable):
            values["colour"], sources["colour"] = colour, f"{variable} in the environment"
    return Settings(values["colour"], values["threads"], Path(os.path.expanduser(values["out"])), sources)  # noqa: PTH111


def _read(file: Path) -> dict[str, Any]:
    named = VARIABLE in os.environ
    if not named and not os.path.lexists(file):
        return {}
    import tomllib  # noqa: PLC0415  most users have no file

    from fabric.reading import read_text  # noqa: PLC0415

    missing = f"check {VARIABLE} and the permissions; an empty value is no file" if named else "check the permissions"
    try:
        found = tomllib.loads(read_text(file, _MAX_BYTES, stage=_STAGE, missing=missing))
    except (RecursionError, ValueError) as error:  # ValueError: also a number of thousands of digits
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error).split(";")[0]
        hint = "write TOML, such as threads = 2; `fabric config --example` prints a file"
        raise InputErrors(_STAGE, [Problem(str(file), f"is no TOML: {why}", hint)]) from error
    problems = [it for key, value in found.items() if (it := _problem(file, key, value)) is not None]
    if problems:
        raise InputErrors(_STAGE, problems)
    return found


def _problem(file: Path, key: str, value: object) -> Problem | None:
    place = f"{file}: {key}"
    if key not in _KEYS:
        near = difflib.get_close_matches(key, _KEYS, n=1)
        hint = f"did you mean '{near[0]}'?" if near else f"the keys are {', '.join(_KEYS)}"
        return Problem(place, "unknown key", hint)
    if key == "colour" and value not in COLOURS:
        return Problem(place, f"{value!r} is no choice", "give auto, always or never")
    if key == "threads" and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
        return Problem(place, f"{value!r} is no number of threads", "give 1 or more")
    if key == "out" and (not isinstance(value, str) or not value):
        return Problem(place, f"{value!r} is no folder", 'such as out = "runs"')
    return None


@contextmanager
def coloured(colour: str) -> Iterator[None]:
    """Tell rich, which reads the environment, and programs that are started, which colours to use."""
    variable = {"always": "FORCE_COLOR", "never": "NO_COLOR"}.get(colour)
    if variable is None or os.environ.get(variable):
        yield
        return
    before = os.environ.get(variable)
    os.environ[variable] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[variable]
        else:
            os.environ[variable] = before
