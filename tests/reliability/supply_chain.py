"""Packages installed from the locks, and packages that are not what the locks say."""

from __future__ import annotations

import hashlib
import random
import re
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Final

from packaging.markers import default_environment

from tests.forked import Program, completed
from tests.reliability.report import Row
from tools import images, licences
from tools.requirements import ROOT, Entry, entries, lock_path, problems

SEED: Final = 16
_PIP: Final = "import sys; from pip._internal.cli.main import main; sys.exit(main(sys.argv[1:]))"
_IMPORTED: Final = ("pip._internal.commands.install", "pip._internal.resolution.resolvelib.resolver")
_INSTALL: Final = (
    "install",
    "--quiet",
    "--disable-pip-version-check",
    "--no-index",
    "--no-deps",
    "--require-hashes",
    "--only-binary",
    ":all:",
    "--no-cache-dir",
)


def rows(work: Path, every: int = 1) -> list[Row]:
    """Hashes, staleness, licences, images; every: pip installs each so-many-th package."""
    environment = {key: str(value) for key, value in default_environment().items()}
    locked = [it for it in entries(lock_path("dev").read_text(encoding="utf-8")) if it.applies(environment)]
    return [
        _hashes(work, locked[::every]),
        _changed(work / "changed", 20 // every),
        _stale(work / "stale"),
        _licences(),
        _images(),
    ]


def some_rows(work: Path) -> list[Row]:
    """The same rows with a quarter of what pip installs."""
    return rows(work, every=4)


def _wheel(folder: Path, entry: Entry, content: str) -> Path:
    """A wheel of the name and the version, that is not the publisher's."""
    name = entry.name.replace("-", "_")
    path = folder / f"{name}-{entry.version}-py3-none-any.whl"
    info = f"{name}-{entry.version}.dist-info"
    files = {
        f"{name}.py": content,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {entry.name}\nVersion: {entry.version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": "",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for member, text in files.items():
            archive.writestr(member, text)
    return path


def _install(folder: Path, lock: Path) -> subprocess.CompletedProcess[str]:
    words = (*_INSTALL, "--find-links", str(folder), "--target", str(folder / "out"), "-r", str(lock))
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return completed(Program(_PIP, *words, imported=_IMPORTED, text=True, **pipes))


def _hashes(work: Path, locked: list[Entry]) -> Row:
    """Every package of the lock, offered by an index under its name and version with other contents."""
    failures = []
    for entry in locked:
        folder = work / entry.name
        folder.mkdir()
        _wheel(folder, entry, "print('not the publisher')\n")
        lock = folder / "lock.txt"
        lock.write_text(f"{entry.name}=={entry.version} " + " ".join(f"--hash=sha256:{it}" for it in entry.hashes))
        done = _install(folder, lock)
        if done.returncode == 0 or (folder / "out").exists():
            failures.append(f"{entry.name}: installed although its hash is another")
        elif "hash" not in done.stderr.lower():
            failures.append(f"{entry.name}: refused without naming the hash: {done.stderr.strip()[-120:]}")
        shutil.rmtree(folder)
    return Row(
        "every package of lock/dev.txt, offered by an index under its name and version with other contents: pip "
        "refuses it and names the hash",
        len(locked),
        "all: there were no hashes",
        failures,
    )


def _changed(work: Path, cases: int) -> Row:
    """A package that is installed by its hash, and the same file with one byte changed."""
    work.mkdir()
    rng, failures = random.Random(SEED), []
    entry = Entry("example", "1.0", None, ())
    for case in range(cases):
        folder = work / str(case)
        folder.mkdir()
        wheel = _wheel(folder, entry, f"case = {case}\n")
        data = wheel.read_bytes()
        lock = folder / "lock.txt"
        lock.write_text(f"example==1.0 --hash=sha256:{hashlib.sha256(data).hexdigest()}")
        if _install(folder, lock).returncode != 0:
            failures.append(f"case {case}: the file that was locked is refused")
        shutil.rmtree(folder / "out", ignore_errors=True)
        at = rng.randrange(len(data))
        wheel.write_bytes(data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :])
        if _install(folder, lock).returncode == 0:
            failures.append(f"case {case}: installed with byte {at} changed")
    return Row(
        "a file that is installed by its hash, and again with one bit flipped: refused",
        cases,
        "all: there were no hashes",
        failures,
    )


def _stale(work: Path) -> Row:
    """Each requirement of pyproject.toml raised beyond what is locked, one at a time."""
    shutil.copytree(ROOT / "lock", work / "lock")
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    lines = re.findall(r'"([A-Za-z0-9-]+)>=([0-9.]+)([^"]*)"', text)
    failures = []
    for name, version, rest in lines:
        (work / "pyproject.toml").write_text(
            text.replace(f'"{name}>={version}{rest}"', f'"{name}>=9999"'), encoding="utf-8"
        )
        if not any(f"{name}>=9999 is not satisfied" in line for line in problems(work)):
            failures.append(f"{name}: a lock that does not satisfy it is not named")
    return Row(
        "each requirement of pyproject.toml raised beyond what is locked: `make check` names it",
        len(lines),
        "all: there was no lock",
        failures,
    )


def _licences() -> Row:
    """Each package with a licence that is not on the list, and with none."""
    found, failures = licences.packages(), [f"as it is: {line}" for line in licences.problems(licences.packages())]
    for it in found:
        for expression in ("AGPL-3.0-only", ""):
            other = licences.Package(it.name, it.version, expression, it.files, it.process, in_image=it.in_image)
            if len(licences.problems([other])) != 1:
                failures.append(f"{it.name} under {expression or 'no licence'} is let through")
    return Row(
        "each package under a licence that is not allowed, and under none: `make check` names it",
        2 * len(found),
        "all: nothing looked at licences",
        failures,
    )


def _images() -> Row:
    found = images.images()
    return Row(
        "container images that docker-compose.yml and the Dockerfile fetch: named by tag and digest",
        len(found),
        "all: no digests",
        [f"{it.file}: {it.reference} has no digest" for it in found if not it.pinned],
    )
