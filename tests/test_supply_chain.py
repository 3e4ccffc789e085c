"""What is installed is fixed by hashes: locks that fit pyproject.toml, images by digest, licences that are known."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import tools.lock
from tools import images, licences, tested_range, version_range
from tools.requirements import LOCKS, ROOT, entries, environments, lock_path, problems, project, wanted

DOCKERFILE = (ROOT / "deploy/Dockerfile").read_text(encoding="utf-8")


def copied(root: Path) -> Path:
    """The files that the checks read, to be changed."""
    for name in ("pyproject.toml", *(f"lock/{lock}.txt" for lock in LOCKS), *images.FILES):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, root / name)
    return root


def test_every_lock_satisfies_pyproject_for_every_version_of_python() -> None:
    assert problems() == []


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_names_no_folder_of_the_machine_that_made_it(name: str) -> None:
    lines = lock_path(name).read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.lstrip("# ").startswith(("-c /", "-r /"))] == []


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        (
            "pyproject.toml",
            '"rich>=13.7"',
            '"rich>=13.8"',
            "lock/dev.txt is older than the requirements of pyproject.toml",
        ),
        ("pyproject.toml", '"rich>=13.7"', '"rich>=99"', "lock/runtime.txt: Python 3.11: rich>=99 is not satisfied by"),
        ("pyproject.toml", '"rich>=13.7"', '"rich>=13.7", "absent>=1"', "absent>=1 is not satisfied by any entry"),
        (
            "pyproject.toml",
            '"hatchling>=1.26"]\nbuild',
            '"hatchling>=99"]\nbuild',
            "lock/build.txt: Python 3.14: hatchling>=99",
        ),
        ("lock/dev.txt", "scapy==", "scapy==0.", "lock/runtime.txt: scapy"),
        ("lock/lowest.txt", "numba==0.60.0", "numba==0.59.0", "lock/lowest.txt: Python 3.11: numba<0.69,>=0.60"),
    ],
)
def test_a_lock_that_does_not_fit_is_named(file: str, old: str, new: str, expected: str, tmp_path: Path) -> None:
    path = copied(tmp_path) / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    assert any(expected in line for line in problems(tmp_path)), problems(tmp_path)


def test_an_entry_without_a_hash_and_a_missing_lock_are_named(tmp_path: Path) -> None:
    path = copied(tmp_path) / "lock/runtime.txt"
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub(r"(?m)^(shtab==\S+) \\\n(\s+--hash\S+( \\)?\n)+", r"\1\n", text), encoding="utf-8")
    (tmp_path / "lock/build.txt").unlink()
    found = problems(tmp_path)
    assert "lock/runtime.txt: shtab has no sha256 hash" in found
    assert "lock/build.txt is missing" in found


def test_a_line_that_is_no_package_is_refused() -> None:
    with pytest.raises(ValueError, match="no package of a lock: https://"):
        entries("https://example.org/package.whl --hash=sha256:" + "0" * 64)


def test_the_image_gets_no_package_that_only_tests_need() -> None:
    [(_, environment)] = [it for it in environments() if it[0] == "3.13"]
    runtime = {it.name for it in entries(lock_path("runtime").read_text()) if it.applies(environment)}
    dev = {it.name for it in entries(lock_path("dev").read_text()) if it.applies(environment)}
    assert runtime < dev
    assert not runtime & {"pytest", "ruff", "mypy", "hatchling", "hypothesis", "matplotlib"}
    assert {it.name.lower() for it in wanted("runtime", project())} <= runtime


def test_every_pip_command_takes_hashes_or_no_index() -> None:
    """Of the image, of make and of the tests: nothing is fetched that a lock does not name."""
    texts = (DOCKERFILE, (ROOT / "Makefile").read_text(encoding="utf-8"))
    commands = [
        command for text in texts for command in re.findall(r"pip (?:install|wheel) [^&\n]*", text.replace("\\\n", " "))
    ]
    assert len(commands) == 8
    for command in commands:
        words = shlex.split(command.replace(";", " "))
        assert "--no-deps" in words, command
        assert {"--require-hashes", "--only-binary"} <= set(words) or "--no-index" in words, command
        assert not {"wheel", "--editable"} & set(words) or "--no-build-isolation" in words, command


@pytest.mark.slow
def test_a_file_with_another_hash_is_not_installed(built_wheel: Path, tmp_path: Path) -> None:
    """An entry of a lock, with the hash of a file that is here instead of one that would have to be fetched."""
    [block] = re.findall(r"(?m)^shtab==[^ ]+ \\\n(?:\s+--hash\S+(?: \\)?\n)+", lock_path("runtime").read_text())
    name, version = built_wheel.name.split("-")[:2]
    ours = re.sub("(?m)^shtab==[^ ]+", f"{name}=={version}", block)
    digest, lock = hashlib.sha256(built_wheel.read_bytes()).hexdigest(), tmp_path / "lock.txt"
    for text, code in ((re.sub("(?<=sha256:)[0-9a-f]{64}", digest, ours), 0), (ours, 1)):
        lock.write_text(text)
        words = ["--no-index", "--find-links", str(built_wheel.parent), "--target", str(tmp_path / "out")]
        done = subprocess.run(
            [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--require-hashes", *words, "-r", str(lock)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stderr
    assert "DO NOT MATCH THE HASHES" in done.stderr


def test_numba_is_locked_at_the_top_of_its_range() -> None:
    assert version_range.not_highest() == ""


def test_the_lowest_numba_has_passed_with_what_uses_its_internals() -> None:
    assert tested_range.untested() == ""


def test_every_dependency_whose_internals_are_used_has_an_upper_bound() -> None:
    bounded = {it.name for it in wanted("runtime", project()) if any("<" in one.operator for one in it.specifier)}
    assert bounded >= {"numba", "llvmlite", "scapy", "pydantic", "textual", "prometheus-client", "pyroute2"}


# -- images ------------------------------------------------------------------------------------------------------------


def test_every_image_is_fixed_by_tag_and_digest() -> None:
    found = images.images()
    assert {it.tagged.partition(":")[0] for it in found} == {
        "prom/prometheus",
        "prom/alertmanager",
        "grafana/grafana",
        "python",
    }
    assert [it for it in found if not it.pinned] == []
    assert len({it.reference for it in found if it.tagged.startswith("python:")}) == 1, "one base image, one digest"
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"].values()
    assert {it["image"] for it in services} == {images.LOCAL, *(it.reference for it in found if "compose" in it.file)}


@pytest.mark.parametrize(
    ("reference", "pinned"),
    [
        ("python:3.13@sha256:" + "a" * 64, True),
        ("host:5000/python:3.13@sha256:" + "a" * 64, True),
        ("python:3.13", False),
        ("python@sha256:" + "a" * 64, False),
        ("python:3.13@sha256:" + "a" * 63, False),
        ("python", False),
        ("host:5000/python@sha256:" + "a" * 64, False),
    ],
)
def test_an_image_needs_a_tag_and_a_whole_digest(reference: str, pinned: bool) -> None:
    assert images.Image("docker-compose.yml", reference).pinned == pinned


def fake(folder: Path, name: str, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that stands in for one that asks a registry."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")


@pytest.mark.parametrize(
    ("name", "script"),
    [
        ("crane", 'echo sha256:$(printf %s "$2" | sha256sum | cut -c1-64)'),
        ("skopeo", 'echo sha256:$(printf %s "${5#docker://}" | sha256sum | cut -c1-64)'),
        ("docker", 'echo "{\\"digest\\": \\"sha256:$(printf %s "$6" | sha256sum | cut -c1-64)\\"}"'),
    ],
)
def test_images_are_pinned_to_what_the_registry_says(
    name: str, script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import hashlib

    root = copied(tmp_path)
    fake(tmp_path / "bin", name, script, monkeypatch)
    compose = root / "docker-compose.yml"
    compose.write_text(re.sub(r"(prom/prometheus:\S+)@sha256:\S+", r"\1", compose.read_text()))
    assert [it.tagged for it in images.images(root) if not it.pinned] == ["prom/prometheus:v3.5.0"]
    changed = images.pin(root)
    for it in images.images(root):
        assert it.reference == f"{it.tagged}@sha256:{hashlib.sha256(it.tagged.encode()).hexdigest()}"
    assert len(changed) == 4  # python is named alike by two FROM lines
    assert images.pin(root) == []
    before = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    assert yaml.safe_load(compose.read_text()).keys() == before.keys()


def test_nothing_is_written_where_a_registry_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = copied(tmp_path)
    before = {name: (root / name).read_text() for name in images.FILES}
    refusal = 'case "$2" in prom/*) echo "no route to host" >&2; exit 1;; esac; echo sha256:'
    fake(tmp_path / "bin", "crane", refusal + "a" * 64, monkeypatch)
    with pytest.raises(SystemExit, match=r"prom/alertmanager:v0.28.1: no route to host"):
        images.pin(root)
    assert before == {name: (root / name).read_text() for name in images.FILES}
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    with pytest.raises(SystemExit, match="none of crane, skopeo, docker is here"):
        images.pin(root)


# -- licences ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def packages() -> list[licences.Package]:
    """Every locked package; reading all of our sources for what they import takes seconds."""
    return licences.packages()


def test_every_licence_is_known_and_allowed(packages: list[licences.Package]) -> None:
    assert licences.problems(packages) == []


def test_importlib_metadata_does_not_change_the_page() -> None:
    """importlib_metadata, once imported, answers for importlib.metadata, and raises where a field is absent."""
    program = (
        "import importlib_metadata; from tools import licences; "
        "licences._imported = lambda paths: set(); licences.page()"  # what our sources import takes seconds to read
    )
    command = [sys.executable, "-c", program]
    made = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert made.stderr == ""


@pytest.mark.parametrize(
    ("expression", "process", "expected"),
    [
        ("AGPL-3.0-only", "emulator", "AGPL-3.0-only is not on the list"),
        ("", "emulator", "has no licence that is known"),
        ("GPL-2.0-only", "emulator", "GPL-2.0-only may not be joined with Apache-2.0"),
        ("MIT AND SSPL-1.0", "development", "SSPL-1.0 is not on the list"),
        ("Apache-2.0", "capture writer", "Apache-2.0 may not be joined with GPL-2.0-only"),
        ("GPL-2.0-or-later OR SSPL-1.0", "emulator", ""),
        ("(MIT OR SSPL-1.0) AND BSD-3-Clause", "emulator", ""),
        ("BSD-2-Clause AND Apache-2.0 WITH LLVM-exception", "capture writer", ""),
    ],
)
def test_a_licence_is_judged_by_its_process(expression: str, process: str, expected: str) -> None:
    package = licences.Package("example", "1", expression, (), process, in_image=True)
    found = licences.problems([package])
    assert [expected in line for line in found] == ([True] if expected else [])


def test_scapy_is_alone_in_the_process_that_writes_captures(packages: list[licences.Package]) -> None:
    processes = {it.name: it.process for it in packages}
    assert [name for name, process in processes.items() if process == "capture writer"] == ["scapy"]
    assert {processes[name] for name in ("pyarrow", "prometheus-client", "numba", "llvmlite")} == {"emulator"}
    assert processes["ruff"] == "development"


def test_the_page_names_what_is_in_the_base_image() -> None:
    text = (ROOT / "docs/licences.md").read_text(encoding="utf-8")
    assert "bash" in text
    assert "libc6" in text
    [tagged] = {it.tagged for it in images.images() if it.file == "deploy/Dockerfile"}
    assert tagged in text
    assert licences.base_image() == tagged, "deploy/base-image.txt is of another base image"


def locked(*packages: tuple[str, str, str]) -> str:
    """Text of a lock: (name, version with its marker, one digit that fills the hash)."""
    return "".join(f"{name}=={version} \\\n    --hash=sha256:{digit * 64}\n" for name, version, digit in packages)


def test_the_lock_says_which_packages_changed_from_which_version_to_which() -> None:
    before = locked(
        ("gone", "2.0", "a"),
        ("numpy", "1.26.4 ; python_full_version < '3.12'", "a"),
        ("numpy", "2.0.1 ; python_full_version >= '3.12'", "b"),
        ("rich", "13.9.4", "a"),
        ("same", "1.0", "a"),
        ("swapped", "1.0", "a"),
    )
    after = locked(
        ("new", "0.1", "a"),
        ("numpy", "2.0.1", "b"),
        ("rich", "14.0.0", "b"),
        ("same", "1.0", "a"),
        ("swapped", "1.0", "b"),
    )
    assert tools.lock.changes(before, after) == [
        "gone 2.0 -> nothing",
        "new nothing -> 0.1",
        "numpy 1.26.4 and 2.0.1 -> 2.0.1",
        "rich 13.9.4 -> 14.0.0",
        "swapped 1.0: other files",
    ]
    assert tools.lock.changes(after, after) == []


def test_make_lock_prints_what_changed_in_each_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "lock").mkdir()
    for name in ("dev", "runtime"):
        (tmp_path / f"lock/{name}.txt").write_text(locked(("rich", "13.9.4", "a")), encoding="utf-8")

    def relock(_: Path, *, upgrade: bool) -> None:
        if upgrade:
            (tmp_path / "lock/dev.txt").write_text(locked(("rich", "14.0.0", "b")), encoding="utf-8")

    monkeypatch.setattr(tools.lock, "lock_path", lambda name: tmp_path / f"lock/{name}.txt")
    monkeypatch.setattr(tools.lock, "_lock", relock)
    for words, expected in (["--upgrade"], "lock/dev.txt: rich 13.9.4 -> 14.0.0\n"), ([], "no version changed\n"):
        monkeypatch.setattr(sys, "argv", ["lock", *words])
        assert tools.lock.main() == 0
        assert capsys.readouterr().out == expected
