"""Optional packages: found missing before anything is read, with a command that works in this installation."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from fabric import extras
from fabric.cli.main import main
from tests.test_layering import modules

PROJECT = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
REQUIRES = metadata.requires(extras.DISTRIBUTION)
NEEDED = [Requirement(it).name for it in PROJECT["dependencies"]]

NO_FILE = "no-such-file"
VERBS: list[tuple[list[str], Sequence[str]]] = [
    (["compare", NO_FILE, "--cc", "dcqcn,dctcp"], extras.SWEEP),
    (["sweep", NO_FILE], extras.SWEEP),
    (["sweep", NO_FILE, "--dask", "local"], ("distributed",)),
    (["tune", NO_FILE], extras.SEARCH),
    (["whatif", NO_FILE, "--seeds", "3"], ("scipy",)),
    (["whatif", NO_FILE, "--dask", "local"], ("distributed",)),
    (["campaign", "--out", NO_FILE, "--dask", "local"], ("distributed",)),
    (["capacity", "--run", f"2026-01-31={NO_FILE}"], ("scipy",)),
    (["capacity", "--run", f"2026-01-31={NO_FILE}", "--out", "page.html"], ("scipy", "matplotlib")),
    (["explain", "roots", NO_FILE, "--card", "png"], ("matplotlib",)),
    (["topology", "show", NO_FILE, "--draw", "picture.svg"], ("matplotlib",)),
    (["fidelity", "--reference", "env", "--write", "page.md"], ("matplotlib",)),
    (["serve", NO_FILE, "--gnmi"], ("grpcio", "pygnmi")),
]


class Installed:
    """A distribution with the extras of this project; `direct_url.json` as an installer writes it."""

    def __init__(self, url: str | None) -> None:
        self.url = url
        self.requires = REQUIRES

    def read_text(self, filename: str) -> str | None:
        return self.url if filename == "direct_url.json" else None


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An environment below the working folder, with pip."""
    monkeypatch.chdir(tmp_path)
    pip = tmp_path / "env/bin/pip"
    pip.parent.mkdir(parents=True)
    pip.touch()
    monkeypatch.setattr("sys.executable", str(pip.with_name("python")))
    return tmp_path


@pytest.mark.parametrize(("words", "names"), VERBS, ids=[" ".join(words) for words, _ in VERBS])
def test_a_verb_finds_its_packages_missing_before_it_reads_its_input(
    words: list[str],
    names: Sequence[str],
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    installed = extras.find_spec
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name in extras.EXTRA_OF else installed(name))
    assert main(words) == 2
    error = capsys.readouterr().err
    assert NO_FILE not in error.replace(f"={NO_FILE}", "")
    for name in names:
        assert name in error
    assert "run: env/bin/pip install -e '/" in " ".join(error.split())
    assert list(place.iterdir()) == [place / "env"]


def optional_imports(tree: ast.AST) -> Iterator[str]:
    """Optional modules that are imported, other than for type checkers."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [it.name for it in node.names]
            yield from (name for name in names if name.partition(".")[0] in extras.EXTRA_OF)
        yield from optional_imports(node)


def test_optional_packages_are_imported_where_they_were_checked() -> None:
    """By require(), after check_installed(), or in the modules of a server that starts after its option is checked."""
    unchecked = {
        module
        for module, path in modules()
        if not module.startswith("telemetry.gnmi.") and "check_installed(" not in (text := path.read_text("utf-8"))
        if any(optional_imports(ast.parse(text)))
    }
    assert unchecked == set()


def test_the_table_of_extras_is_that_of_the_project() -> None:
    packages = metadata.packages_distributions()
    for module, extra in extras.EXTRA_OF.items():
        lines = PROJECT["optional-dependencies"][extra]
        assert canonicalize_name(packages[module][0]) in {canonicalize_name(Requirement(it).name) for it in lines}
    assert not set(extras.EXTRA_OF) & set(NEEDED)


def test_a_checkout_is_installed_with_the_extra_as_it_was(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(extras.__file__).parents[1]
    assert extras.install_command("scipy") == f"env/bin/pip install -e '{root}[studies]'"
    monkeypatch.setattr(extras, "_ROOT", place)
    (place / "pyproject.toml").touch()
    assert extras.install_command("scipy", "matplotlib") == "env/bin/pip install -e '.[studies]'"
    assert extras.install_command("grpc", "matplotlib") == "env/bin/pip install -e '.[gnmi,plot]'"


def test_an_installation_from_an_index_names_the_extra(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "_ROOT", place)
    monkeypatch.setattr(metadata, "distribution", lambda _: Installed(None))
    assert extras.install_command("scipy") == "env/bin/pip install 'fabric-emulator[studies]'"


def test_an_installed_wheel_gets_the_packages_themselves(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No index has this package, and the wheel may be gone."""
    monkeypatch.setattr(extras, "_ROOT", place)
    monkeypatch.setattr(metadata, "distribution", lambda _: Installed(json.dumps({"url": "file:///tmp/it.whl"})))
    assert extras.install_command("grpc") == "env/bin/pip install 'grpcio>=1.66' 'pygnmi>=0.8.15'"
    wanted = extras.install_command("scipy")
    assert "fabric-emulator" not in wanted
    for name in ("cmaes", "distributed", "matplotlib", "optuna", "scikit-learn", "scipy"):
        assert re.search(rf" '{name}[<>]", wanted)


def test_the_pip_of_this_environment_is_named(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "_ROOT", place)
    (place / "pyproject.toml").touch()
    monkeypatch.setattr("shutil.which", lambda _: str(place / "env/bin/pip"))
    assert extras.install_command("pandas").startswith("pip install -e ")
    monkeypatch.undo()
    monkeypatch.setattr("sys.executable", "/opt/env/bin/python")
    assert extras.install_command("pandas").startswith("/opt/env/bin/python -m pip install -e ")
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    assert extras.install_command("pandas").startswith("uv pip install --python /opt/env/bin/python -e ")
