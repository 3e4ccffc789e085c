"""`python -m tools.lock`: regenerate the files in lock/ from pyproject.toml. `make lock` calls it.

    lock/dev.txt       everything: what runs, what tests, what builds            make, .ci/run
    lock/runtime.txt   what runs, a part of it                                   deploy/Dockerfile, the wheel's test
    lock/build.txt     the build backend and what it needs, a part of it         deploy/Dockerfile
    lock/lowest.txt    every direct requirement at its lower bound               make test-version-range
    lock/uv.txt        uv, which makes the locks and installs them              make, .ci/run

Each names every package by version, with the SHA-256 of every file that may be installed, for all versions of Python
that are supported; pip takes nothing else (--require-hashes, --no-deps). Versions that still fit are kept; with
--upgrade every one is the newest that pyproject.toml allows. The program is uv, from PyPI: pip itself locks for one
version of Python and one machine only.

What changed is printed, one package a line: "lock/dev.txt: rich 13.9.4 -> 14.0.0", with "nothing" for a package that is
new or that is gone. Of lock/lowest.txt too, where a lower bound or an indirect requirement has moved.

With --check nothing is written: exit 1 where a lock does not fit pyproject.toml. With --installed also where this
environment is not what lock/dev.txt says. Neither needs a network.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Final

from packaging.markers import default_environment
from packaging.utils import canonicalize_name

from tools.requirements import LOCKS, ROOT, digest, entries, lock_path, problems, project, wanted

LOWEST_PYTHON: Final = "3.11"
_HEAD: Final = """\
# Made by `make lock`; do not edit. {what}
# of pyproject.toml with the digest {digest}
"""
_WHAT: Final = {
    "dev": "Everything that development and tests need, by hash.",
    "runtime": "What runs, by hash: a part of dev.txt.",
    "build": "What builds the package, by hash: a part of dev.txt.",
    "lowest": "Every direct requirement at its lower bound, by hash.",
}
_OWN: Final = {"fabric-emulator", "pip", "setuptools", "uv", "wheel"}
"""Of an environment: ourselves, what `python -m venv` puts there, and what installs the rest."""


def main() -> int:
    """Lock, or check."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.lock", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions that pyproject.toml allows")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where a lock does not fit")
    parser.add_argument("--installed", action="store_true", help="as --check, and compare this environment")
    words = parser.parse_args()
    if not words.check and not words.installed:
        before = _locks()
        with tempfile.TemporaryDirectory(prefix="fabric-lock-") as work:
            _lock(Path(work), upgrade=words.upgrade)
        after = _locks()
        changed = [f"lock/{name}.txt: {line}" for name in after for line in changes(before.get(name, ""), after[name])]
        print("\n".join(changed) or "no version changed")
    found = problems() + (differences() if words.installed else [])
    for line in found:
        print(line, file=sys.stderr)
    return int(bool(found))


def _locks() -> dict[str, str]:
    """Name of each lock that there is -> its text."""
    there = {name: lock_path(name) for name in (*LOCKS, "uv")}
    return {name: path.read_text(encoding="utf-8") for name, path in there.items() if path.is_file()}


def changes(before: str, after: str) -> list[str]:
    """Packages whose version differs between two texts of a lock, by name: "rich 13.9.4 -> 14.0.0".

    A package that a lock names twice, for different versions of Python, has its versions joined by "and". A version
    whose hashes changed is named too: its files were replaced or added to, which is to be looked at before it is taken.
    """
    old, new = _versions(before), _versions(after)
    found = []
    for name in sorted(set(old) | set(new)):
        was, now = old.get(name, {}), new.get(name, {})
        if set(was) != set(now):
            found.append(f"{name} {' and '.join(was) or 'nothing'} -> {' and '.join(now) or 'nothing'}")
        elif was != now:
            found.append(f"{name} {' and '.join(now)}: other files")
    return found


def _versions(text: str) -> dict[str, dict[str, frozenset[str]]]:
    """Name -> version -> hashes, in the order of the lock."""
    found: dict[str, dict[str, frozenset[str]]] = {}
    for it in entries(text):
        versions = found.setdefault(it.name, {})
        versions[it.version] = versions.get(it.version, frozenset()) | frozenset(it.hashes)
    return found


def _lock(work: Path, *, upgrade: bool) -> None:
    program = _program(work)

    def compile_(name: str, *options: str | Path, source: Path = ROOT / "pyproject.toml") -> None:
        target = work / f"{name}.txt"
        if lock_path(name).is_file() and not upgrade:
            shutil.copy(lock_path(name), target)  # uv keeps the versions that it finds there
        subprocess.run(
            [
                program,
                "pip",
                "compile",
                "--quiet",
                "--no-config",
                "--universal",
                "--fork-strategy",
                "fewest",
                "--python-version",
                LOWEST_PYTHON,
                "--generate-hashes",
                "--no-header",
                "--index-url",
                "https://pypi.org/simple",
                *map(str, options),
                source.name,  # relative: the lock quotes the name
                "--output-file",
                str(target),
            ],
            cwd=source.parent,
            check=True,
        )
        head = (
            _HEAD.format(what=_WHAT[name], digest=digest(project()))
            if name in _WHAT
            else "# Made by `make lock`; do not edit. The program that makes the other locks.\n"
        )
        lock_path(name).write_text(head + target.read_text(encoding="utf-8"), encoding="utf-8")

    (work / "build.in").write_text("".join(f"{it}\n" for it in wanted("build", project())), encoding="utf-8")
    (work / "uv.in").write_text("uv\n", encoding="utf-8")
    compile_("dev", "--all-extras")
    constraints = lock_path("dev").relative_to(ROOT)  # relative: the lock quotes the path
    compile_("runtime", "--constraints", constraints)
    (work / constraints).parent.mkdir()
    shutil.copy(lock_path("dev"), work / constraints)
    compile_("build", "--constraints", constraints, source=work / "build.in")
    compile_("lowest", "--all-extras", "--resolution", "lowest-direct")
    compile_("uv", source=work / "uv.in")


def _program(work: Path) -> Path:
    """uv, by the hashes of lock/uv.txt; the newest where there is no lock yet."""
    home = work / "uv"
    venv.create(home, with_pip=True)
    what = ["--require-hashes", "-r", lock_path("uv")] if lock_path("uv").is_file() else ["uv"]
    subprocess.run(
        [
            home / "bin/python",
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--only-binary",
            ":all:",
            *map(str, what),
        ],
        check=True,
    )
    return home / "bin/uv"


def differences() -> list[str]:
    """Where this environment is not what lock/dev.txt says, or a package lacks what it requires."""
    environment = {key: str(value) for key, value in default_environment().items()}
    locked = {
        it.name: it.version for it in entries(lock_path("dev").read_text(encoding="utf-8")) if it.applies(environment)
    }
    there = {canonicalize_name(it.name): it.version for it in importlib.metadata.distributions()}
    check = subprocess.run(
        [sys.executable, "-m", "pip", "check", "--disable-pip-version-check"],
        capture_output=True,
        text=True,
        check=False,
    )
    broken = check.stdout.strip().splitlines() if check.returncode else []
    return broken + [
        f"{name}: {there.get(name, 'nothing')} is installed, {locked.get(name, 'nothing')} is locked"
        for name in sorted((set(there) | set(locked)) - _OWN)
        if there.get(name) != locked.get(name)
    ]


if __name__ == "__main__":
    sys.exit(main())
