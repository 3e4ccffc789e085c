"""Memory and disk space of the machine for a run, each with the limit that decides it.

Memory is the least of MemAvailable of Linux, the memory left below the limit of every control group of this process
(version 1 or 2), and the memory left below RLIMIT_AS and RLIMIT_DATA. Swap space does not count: a run that swaps takes
days. A resource that the system does not report is not limited.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
_CGROUP: Final = Path("/sys/fs/cgroup")
_V1_NONE: Final = 2**60
"""Above it a limit of cgroup version 1 means none: the largest multiple of a page below 2**63."""
MAPPED_LATER_BYTES: Final = 700_000_000
"""Address space that libraries reserve and hardly use once a run begins: compiler, Parquet, thread stacks and arenas.
Assumed (docs/decisions/0037)."""


@dataclass(frozen=True, slots=True)
class Limit:
    """The bytes left below one limit, and its name."""

    free_bytes: int
    name: str


@dataclass(frozen=True, slots=True)
class Machine:
    """The memory that a run may take."""

    memory: Limit | None
    """None: the system does not report it."""
    used_bytes: int
    """Memory of this process now; the estimate of a run includes it."""


def machine() -> Machine:
    """The memory of this machine now."""
    limits = [*_available(), *_control_groups(), *_process_limits()]
    return Machine(min(limits, key=lambda it: it.free_bytes, default=None), resident_bytes())


def disk(path: Path) -> Limit | None:
    """Space for a folder that need not exist yet, and for the largest file that this process may write."""
    home = path.absolute()
    while not home.exists() and home != home.parent:
        home = home.parent
    try:
        return Limit(shutil.disk_usage(home).free, f"the file system of {home}")
    except OSError:
        return None


def largest_file_bytes() -> int | None:
    """RLIMIT_FSIZE; None: no limit."""
    return _limit("RLIMIT_FSIZE")


def resident_bytes() -> int:
    """Memory of this process now; 0 where the system does not report it."""
    return _status("VmRSS")


def _available() -> Iterator[Limit]:
    try:
        for line in (_PROC / "meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                yield Limit(int(line.split()[1]) * 1024, "memory that is available (MemAvailable)")
                return
    except (OSError, ValueError, IndexError):
        pass
    try:
        yield Limit(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), "physical memory")
    except (ValueError, OSError, AttributeError):
        return


def _control_groups() -> Iterator[Limit]:
    try:
        lines = (_PROC / "self" / "cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers == "":
            for root in (_CGROUP, _CGROUP / "unified"):
                yield from _ancestors(root, path, "memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            yield from _ancestors(
                _CGROUP / "memory", path, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
            )


def _ancestors(root: Path, path: str, most: str, now: str, cache: str) -> Iterator[Limit]:
    """The limits of a group and of all groups around it. A container sees its own group as the root."""
    inner = root / path.lstrip("/")
    for folder in (inner, *inner.parents):
        limit, used = _number(folder / most), _number(folder / now)
        if limit is not None and used is not None and limit < _V1_NONE:
            reclaimable = _of_stat(folder / "memory.stat", cache)  # the kernel frees the page cache on demand
            yield Limit(max(limit - used + reclaimable, 0), f"the memory limit of the control group ({folder / most})")
        if folder == root:
            return


def _process_limits() -> Iterator[Limit]:
    for name, used in (("RLIMIT_AS", "VmSize"), ("RLIMIT_DATA", "VmData")):
        limit = _limit(name)
        if limit is not None:
            yield Limit(max(limit - _status(used) - MAPPED_LATER_BYTES, 0), f"{name} of this process")


def _limit(name: str) -> int | None:
    try:
        import resource  # noqa: PLC0415  not on Windows
    except ImportError:
        return None
    soft, _ = resource.getrlimit(getattr(resource, name))
    return None if soft == resource.RLIM_INFINITY else soft


def _status(field: str) -> int:
    try:
        for line in (_PROC / "self" / "status").read_text(encoding="utf-8").splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return 0


def _number(path: Path) -> int | None:
    try:
        text = path.read_text(encoding="ascii").strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None


def _of_stat(path: Path, field: str) -> int:
    try:
        for line in path.read_text(encoding="ascii").splitlines():
            name, _, value = line.partition(" ")
            if name == field and value.isdigit():
                return int(value)
    except OSError:
        pass
    return 0
