"""What is installed is what the repository holds: packages, data, licence, and no name that belongs to others."""

from __future__ import annotations

import importlib
import importlib.metadata
import re
import tomllib
import zipfile
from pathlib import Path

import pytest

import fabric
from fabric import shipped
from fabric.cli.init import EXAMPLES

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES = sorted(
    ".".join(path.parent.relative_to(ROOT).parts)
    for top in ("fabric", "telemetry", "playbooks")
    for path in (ROOT / top).rglob("__init__.py")
)


def test_the_installed_version_is_the_one_the_package_states() -> None:
    assert importlib.metadata.version("fabric-emulator") == fabric.__version__


def test_no_dependency_installs_another_fabric() -> None:
    wanted = PROJECT["project"]["dependencies"] + PROJECT["project"]["optional-dependencies"]["dev"]
    names = {re.split(r"[^A-Za-z0-9_.-]", line)[0].lower() for line in wanted}
    assert not names & {"fabric", "fabric2", "fabric3"}
    assert Path(fabric.__file__).resolve().parent == ROOT / "fabric"


def test_every_dependency_has_a_lower_bound() -> None:
    extras = PROJECT["project"]["optional-dependencies"].values()
    wanted = PROJECT["project"]["dependencies"] + [line for extra in extras for line in extra]
    assert [line for line in wanted if ">=" not in line and not line.startswith("fabric-emulator[")] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_file_holds_a_docstring(package: str) -> None:
    module = importlib.import_module(package)
    assert module.__doc__
    assert module.__doc__.strip().endswith((".", ")"))


def test_every_folder_with_code_is_a_package() -> None:
    folders = {path.parent for top in ("fabric", "telemetry", "playbooks") for path in (ROOT / top).rglob("*.py")}
    assert [str(folder.relative_to(ROOT)) for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_every_example_folder_of_the_guides_is_in_the_wheel_and_init() -> None:
    names = {path.name for path in (ROOT / "docs/howto").glob("*-example")}
    wheel = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert names == set(EXAMPLES)
    for name in names:
        assert wheel[f"docs/howto/{name}"] == f"fabric/shipped_files/examples/{name}"


def test_the_image_is_built_from_all_that_the_wheel_carries() -> None:
    """What the wheel's build reads is copied into the image's first stage, and not left out of its context."""
    wheel = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    read = {*wheel["packages"], *wheel["force-include"], wheel["hooks"]["custom"]["path"], *wheel["shared-data"]}
    image, context = (
        (ROOT / "deploy" / name).read_text(encoding="utf-8") for name in ("Dockerfile", "Dockerfile.dockerignore")
    )
    copied = set(re.findall(r"^COPY (\S+) \1$", image, re.MULTILINE))
    kept = {line[1:] for line in context.splitlines() if line.startswith("!")}
    left_out = {line for line in context.splitlines() if not line.startswith(("!", "*", "#"))}
    for path in sorted(read):
        above = {path, *(parent.as_posix() for parent in Path(path).parents)}
        assert above & copied, path
        assert above & kept, path
        assert not above & left_out, path


def test_every_ignored_lint_rule_has_its_reason() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    block = text[text.index("[tool.ruff.lint]") : text.index("[tool.ruff.lint.pydocstyle]")]
    bare = [line for line in block.splitlines() if re.match(r'\s+"[A-Z]+[0-9]*",\s*$', line)]
    assert bare == []


def test_the_licence_file_is_the_licence_the_project_states() -> None:
    assert PROJECT["project"]["license"] == "GPL-2.0-or-later"
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").lstrip().startswith("GNU GENERAL PUBLIC LICENSE")


@pytest.mark.slow
def test_a_built_wheel_carries_code_data_and_type_marker(built_wheel: Path) -> None:
    held = set(zipfile.ZipFile(built_wheel).namelist())
    kinds = {".py", ".yml", ".yaml", ".json", ".typed", ".md", ".csv"}
    ours = {
        path.relative_to(ROOT).as_posix()
        for top in ("fabric", "telemetry", "playbooks")
        for path in (ROOT / top).rglob("*")
        if path.suffix in kinds
    }
    assert ours <= held
    assert {f"fabric/shipped_files/docs/{name}.md" for name in shipped.pages()} <= held
    assert not any(name.startswith(("tests/", "bench/")) for name in held)
