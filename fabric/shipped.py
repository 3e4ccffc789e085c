"""Files of the package: scenarios, studies, pages of the documentation, and examples.

In a checkout they are in their source folders. The wheel carries copies below fabric/shipped_files (pyproject.toml).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

_PACKAGE: Final = Path(__file__).resolve().parent
_INSTALLED: Final = _PACKAGE / "shipped_files"
_IN_CHECKOUT: Final = {"scenarios": "scenarios", "docs": "docs", "examples": "docs/howto"}
_STUDIES: Final = _PACKAGE / "studies" / "shipped"
_TEST_PLANS: Final = _PACKAGE / "qualify" / "shipped"
"""Parts of the package, so the same folders in a checkout and installed."""


def folder(kind: str) -> Path:
    """The folder of `scenarios`, `docs` or `examples`; in a checkout, its own folder."""
    installed = _INSTALLED / kind
    return installed if installed.is_dir() else _PACKAGE.parent / _IN_CHECKOUT[kind]


def scenarios() -> list[Path]:
    """Every scenario that comes with the package, sorted; without those of alerts and of fidelity rows."""
    return sorted(folder("scenarios").glob("*.yml"))


def scenario(path: Path) -> Path:
    """The file that a user means by `path`: an existing one, else a scenario that comes with the package.

    'incast', 'incast.yml' and 'scenarios/incast.yml' name the same one, so that the commands of the documentation work
    in any folder. Where there is neither, `path` itself, so that reading it says what is wrong.
    """
    if path.exists() or path.is_absolute():
        return path
    inside = Path(*path.parts[1:]) if path.parts[:1] == ("scenarios",) else path
    if ".." in inside.parts:
        return path
    found = folder("scenarios") / inside
    named = found if found.suffix in {".yml", ".yaml"} else found.with_name(found.name + ".yml")
    return named if named.is_file() else path


def example(path: str | Path) -> Path:
    """The file or folder that a user means: an existing one, else one of the examples of switch configurations.

    'rollout-example/old' and 'docs/howto/rollout-example/old' name the same folder, as the guides write it.
    """
    path = Path(path)
    # os.path: a name that is too long for the system is no file; Path.exists() raises, and this is a type of argparse.
    if os.path.exists(path) or path.is_absolute() or ".." in path.parts:  # noqa: PTH110
        return path
    inside = Path(*path.parts[2:]) if path.parts[:2] == ("docs", "howto") else path
    if not (inside.parts and inside.parts[0].endswith("-example")):
        return path
    found = folder("examples") / inside
    return found if found.exists() else path


def studies() -> list[Path]:
    """Every study that comes with the package, sorted."""
    return sorted(_STUDIES.glob("*.yml"))


def study(path: Path) -> Path:
    """The file that a user means by `path`: an existing one, else a study that comes with the package."""
    if path.exists() or path.is_absolute() or len(path.parts) != 1:
        return path
    named = _STUDIES / (path.name if path.suffix in {".yml", ".yaml"} else f"{path.name}.yml")
    return named if named.is_file() else path


def pages() -> dict[str, Path]:
    """Every page of the documentation by its name, without suffix: 'diagnosis', 'howto/live'; sorted."""
    root = folder("docs")
    found = sorted(path for path in root.rglob("*.md") if path.relative_to(root).parts[0] not in {"man", "site"})
    return {path.relative_to(root).with_suffix("").as_posix(): path for path in found}


def page_name(text: str) -> str:
    """The name of the page that a message or a link means: 'docs/howto/live.md', 'howto/live' and 'live.md' alike."""
    name = text.strip().removeprefix("./").removeprefix("docs/")
    return name.removesuffix(".md").strip("/")


def test_plans() -> dict[str, list[Path]]:
    """Every test plan that comes with the package, by name, with the files of its cases, sorted."""
    folders = sorted(it for it in _TEST_PLANS.iterdir() if it.is_dir())
    return {it.name: sorted(it.glob("*.yml")) for it in folders}
