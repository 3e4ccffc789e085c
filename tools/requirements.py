"""Requirements of pyproject.toml and contents of the lock files in lock/, read without a network."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from packaging.markers import Marker, default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT: Final = Path(__file__).resolve().parent.parent
LOCKS: Final = ("dev", "runtime", "build", "lowest")
"""lock/NAME.txt. The digest in their first line is that of what pyproject.toml asked for when they were made."""
PYTHONS: Final = ("3.11", "3.12", "3.13", "3.14")
"""Versions of Python that each lock is for."""
_DIGEST: Final = re.compile(r"^# of pyproject\.toml with the digest ([0-9a-f]{64})$", re.MULTILINE)
_ENTRY: Final = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^ ;\\]+)(?: *; *(?P<marker>[^\\]+?))?\s*\\?$")
_HASH: Final = re.compile(r"--hash=sha256:([0-9a-f]{64})\b")


@dataclass(frozen=True, slots=True)
class Entry:
    """One package of a lock."""

    name: str
    version: str
    marker: Marker | None
    hashes: tuple[str, ...]

    def applies(self, environment: Mapping[str, str]) -> bool:
        """Whether it is installed there."""
        return self.marker is None or self.marker.evaluate(dict(environment))


def lock_path(name: str, root: Path = ROOT) -> Path:
    """Where a lock is."""
    return root / "lock" / f"{name}.txt"


def entries(text: str) -> list[Entry]:
    """Packages of a lock. Raises: ValueError for a line that is none."""
    found: list[Entry] = []
    for line in re.sub(r"\\\n\s*", "\\\n", text).replace("\\\n--hash", " --hash").splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        head, _, rest = line.partition(" --hash")
        match = _ENTRY.match(head.strip())
        if match is None:
            raise ValueError(f"no package of a lock: {line.strip()[:80]}")
        marker = match["marker"]
        found.append(
            Entry(
                canonicalize_name(match["name"]),
                match["version"],
                Marker(marker) if marker else None,
                tuple(_HASH.findall(f" --hash{rest}")),
            )
        )
    return found


def project(root: Path = ROOT) -> dict[str, Any]:
    """pyproject.toml."""
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))


def wanted(lock: str, data: Mapping[str, Any]) -> list[Requirement]:
    """What a lock has to satisfy."""
    if lock == "build":
        # hatchling asks for editables when it builds an editable install.
        editables = [line for line in data["project"]["optional-dependencies"]["dev"] if line.startswith("editables")]
        return [Requirement(line) for line in [*data["build-system"]["requires"], *editables]]
    lines = list(data["project"]["dependencies"])
    if lock != "runtime":
        ours = data["project"]["name"]
        extras = data["project"]["optional-dependencies"].values()
        lines += [line for extra in extras for line in extra if not line.startswith(f"{ours}[")]
    return [Requirement(line) for line in lines]


def digest(data: Mapping[str, Any]) -> str:
    """SHA-256 of everything in pyproject.toml that decides what is locked."""
    asked = [
        data["project"]["requires-python"],
        data["project"]["dependencies"],
        data["project"]["optional-dependencies"],
        data["build-system"]["requires"],
    ]
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()


def environments() -> Iterator[tuple[str, dict[str, str]]]:
    """(version of Python, environment for markers) of all that the locks are for, on Linux."""
    for python in PYTHONS:
        yield (
            python,
            {
                **{key: str(value) for key, value in default_environment().items()},
                "python_version": python,
                "python_full_version": f"{python}.0",
                "sys_platform": "linux",
                "platform_system": "Linux",
                "os_name": "posix",
                "implementation_name": "cpython",
                "platform_python_implementation": "CPython",
                "extra": "",
            },
        )


def problems(root: Path = ROOT) -> list[str]:
    """What is wrong with the locks: older than pyproject.toml, a version it does not allow, an entry without a hash."""
    data = project(root)
    found: list[str] = []
    held: dict[str, list[Entry]] = {}
    for name in LOCKS:
        path = lock_path(name, root)
        if not path.is_file():
            found.append(f"lock/{name}.txt is missing")
            continue
        text = path.read_text(encoding="utf-8")
        stamp = _DIGEST.search(text)
        if stamp is None or stamp[1] != digest(data):
            found.append(f"lock/{name}.txt is older than the requirements of pyproject.toml")
        held[name] = entries(text)
        found += [f"lock/{name}.txt: {it.name} has no sha256 hash" for it in held[name] if not it.hashes]
        found += [f"lock/{name}.txt: {line}" for line in _unsatisfied(wanted(name, data), held[name])]
    for name in ("runtime", "build"):
        locked = {(it.name, it.version): set(it.hashes) for it in held.get("dev", ())}
        found += [
            f"lock/{name}.txt: {it.name} {it.version} is not what lock/dev.txt has"
            for it in held.get(name, ())
            if set(it.hashes) != locked.get((it.name, it.version))
        ]
    return found


def _unsatisfied(requirements: Sequence[Requirement], held: Sequence[Entry]) -> Iterator[str]:
    for python, environment in environments():
        there = {it.name: it.version for it in held if it.applies(environment)}
        for it in requirements:
            if it.marker is not None and not it.marker.evaluate(environment):
                continue
            version = there.get(canonicalize_name(it.name))
            if version is None or not it.specifier.contains(version, prereleases=True):
                yield f"Python {python}: {it} is not satisfied by {version or 'any entry'}"
