"""Packages that not every installation has: loaded where they are used, with the command that installs them here.

They belong to the extras of pyproject.toml. A verb that needs some calls check_installed() before it reads its input.
The command depends on how this package was installed (PEP 610, direct_url.json, which an index does not write):
1. from a checkout: that folder with the extra, editable as before, so that its compiled code is kept,
2. from an index: the extra of that name,
3. from a wheel, another file or address, which may be gone: the packages of the extra themselves.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Final

from fabric.errors import FabricError

DISTRIBUTION: Final = "fabric-emulator"
EXTRA_OF: Final = {
    "cmaes": "studies",
    "distributed": "studies",
    "grpc": "gnmi",
    "matplotlib": "plot",
    "optuna": "studies",
    "pandas": "pandas",
    "pygnmi": "gnmi",
    "scipy": "studies",
    "sklearn": "studies",
}
"""Module -> the extra that has its package."""
SWEEP: Final = ("scipy", "matplotlib")
"""What every study needs."""
SEARCH: Final = ("optuna", "scipy", "sklearn", "matplotlib")
"""What a search needs."""
_ROOT: Final = Path(__file__).resolve().parent.parent
_EXTRA: Final = re.compile(r"""\bextra *== *['"]([\w.-]+)['"]""")


def lacking(*names: str) -> list[str]:
    """Those of the modules that are not installed."""
    return [name for name in names if find_spec(name) is None]


def require(name: str, instead: str = "") -> ModuleType:
    """An optional module. Raises: FabricError where it is not installed, with what can be done `instead`."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        top = name.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != top:
            raise
        hint = f"run: {install_command(top)}{f'; or {instead}' if instead else ''}"
        raise FabricError(f"{error.name.partition('.')[0]} is not installed", hint) from error


def check_installed(*names: str) -> None:
    """Before anything is read or simulated: optional modules that are needed later. Raises: FabricError with all."""
    missing = lacking(*names)
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise FabricError(f"{', '.join(missing)} {verb} not installed", f"run: {install_command(*missing)}")


def install_command(*names: str) -> str:
    """The command that installs the extras of these modules into this environment, run in the working directory."""
    extras = {EXTRA_OF[name] for name in names}
    if "studies" in extras:
        extras.discard("plot")  # a part of it
    wanted = ",".join(sorted(extras))
    root = _checkout()
    if root is not None:
        folder = "." if root == Path.cwd() else str(root)
        return shlex.join([*_install(), "-e", f"{folder}[{wanted}]"])
    if _is_from_an_index():
        return shlex.join([*_install(), f"{DISTRIBUTION}[{wanted}]"])
    return shlex.join([*_install(), *_packages(extras)])


def _checkout() -> Path | None:
    """The folder of the source tree that this code runs in; None where it is a copy in an environment."""
    return _ROOT if (_ROOT / "pyproject.toml").is_file() else None


def _is_from_an_index() -> bool:
    from importlib import metadata  # noqa: PLC0415  half of the time that this module takes to load

    found = metadata.distribution(DISTRIBUTION).read_text("direct_url.json")
    return not found or "url" not in json.loads(found)


def _packages(extras: Iterable[str]) -> list[str]:
    """The requirements of extras, without those that are extras of this package, whose packages are listed."""
    from importlib import metadata  # noqa: PLC0415  as above

    left, seen, found = sorted(extras), set[str](), set[str]()
    while left:
        extra = left.pop()
        if extra in seen:
            continue
        seen.add(extra)
        for line in metadata.distribution(DISTRIBUTION).requires or ():
            requirement, _, marker = line.partition(";")
            named = _EXTRA.search(marker)
            if named is None or named[1] != extra:
                continue
            if requirement.startswith(f"{DISTRIBUTION}["):
                left += requirement.strip().removeprefix(f"{DISTRIBUTION}[").rstrip("]").split(",")
            else:
                found.add(requirement.strip())
    return sorted(found)


def _install() -> list[str]:
    """What installs into the environment of this process. One without pip was made by uv, which has its own."""
    python = Path(sys.executable)
    if find_spec("pip") is None:
        return ["uv", "pip", "install", "--python", str(python)]
    pip = python.with_name("pip")
    if not pip.is_file():
        return [str(python), "-m", "pip", "install"]
    if shutil.which("pip") == str(pip):
        return ["pip", "install"]
    return [os.path.relpath(pip) if pip.is_relative_to(Path.cwd()) else str(pip), "install"]
