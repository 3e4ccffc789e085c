"""`python -m tools.version_range`: the engine's tests and the golden runs at both ends of the allowed versions.

The kernels use Numba's internals, so pyproject.toml bounds Numba from both sides, and both ends are tried:

    lowest     every direct requirement at its lower bound, by lock/lowest.txt, in an environment below .venv-range/
    highest    the environment of lock/dev.txt, whose Numba is of the highest series that is allowed
    newest     today's newest release of everything that is allowed, whatever is locked; only where it is asked for

Each end imports every module, checks tests/goldens, and runs the tests of the engine and of captures; with --whole it
runs all of `make test` instead. Where the lowest passes, lock/tested-range.json records the versions and sources, and
the gate, which runs with the highest, compares them (tools/tested_range.py). The exit status is 1 where an end fails,
and the last lines name what failed. Lower bounds are tried with Python 3.11 or 3.12: newer versions of Python have no
wheels of packages that old, and pip chooses newer ones there by itself.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tools import tested_range
from tools.requirements import ROOT, entries, lock_path, project

HOME: Final = ROOT / ".venv-range"
OLD_PYTHONS: Final = ((3, 11), (3, 12))
TESTS: Final = ("tests/dataplane", "tests/lab/test_capture_process.py", "tests/evpn/test_frames.py")
OF_THE_LOCK: Final = ("tests/test_supply_chain.py", "tests/test_pages.py")
_LAST: Final = 20
"""Lines of a failed step that are printed again where none names a failure."""
_IMPORT_ALL: Final = """
import importlib, sys
from pathlib import Path
failed = []
for top in ("fabric", "telemetry", "playbooks"):
    for path in sorted(Path(top).rglob("*.py")):
        name = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
        if name.endswith("__main__") or name == "fabric.capture.writer":
            continue
        try:
            importlib.import_module(name)
        except Exception as error:
            failed.append(f"{name}: {type(error).__name__}: {error}")
print(*(f"ERROR {it}" for it in failed), sep="\\n")
sys.exit(bool(failed))
"""


class StepError(Exception):
    """A command that had to succeed has failed; its output."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines


def main() -> int:
    """Test the ends, print their versions and times."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.version_range", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--end", choices=("lowest", "highest", "newest"), action="append", help="this end only (default: the first two)"
    )
    steps = parser.add_mutually_exclusive_group()
    steps.add_argument("--quick", action="store_true", help="imports and golden runs only")
    steps.add_argument(
        "--whole", action="store_true", help="all of `make test`, but what judges the locked environment"
    )
    words = parser.parse_args()
    failed: dict[str, Sequence[str]] = {}
    for end in words.end or ("lowest", "highest"):
        if end == "highest" and (problem := not_highest()):
            failed["highest: lock"] = [problem]
        try:
            python = _python_of(end)
        except StepError as error:
            failed[f"{end}: environment"] = error.lines
            continue
        # A separate cache for each end: kernels of all ends are compiled once.
        environment = {**os.environ, **({"XDG_CACHE_HOME": str(HOME / "cache" / end)} if end != "highest" else {})}
        for name, arguments in _steps(quick=words.quick, whole=words.whole).items():
            began = time.monotonic()
            code, lines = _shown([python, *arguments], environment)
            print(
                f"{end}: {name}: {'passed' if code == 0 else f'failed ({code})'} after "
                f"{time.monotonic() - began:.0f} s",
                flush=True,
            )
            if code:
                failed[f"{end}: {name}"] = lines
    if "lowest" in (words.end or ("lowest",)) and not any(name.startswith("lowest:") for name in failed):
        tested_range.write()
    print(summary(failed) if failed else "both ends passed" if not words.end else "passed")
    return int(bool(failed))


def _steps(*, quick: bool, whole: bool) -> dict[str, Sequence[str]]:
    """Name -> arguments of Python."""
    if whole:
        # What compares this environment with the lock, or a page with what locked packages make, does not apply.
        return {"make test": ("-m", "tools.suite", "fast", *(f"--ignore={path}" for path in OF_THE_LOCK))}
    steps: dict[str, Sequence[str]] = {
        "imports": ("-c", _IMPORT_ALL),
        "goldens": ("-m", "tests.goldens", "--check"),
        "tests": ("-m", "pytest", "-q", "-m", "not slow and not timed", *TESTS),
    }
    if quick:
        del steps["tests"]
    return steps


def summary(failed: Mapping[str, Sequence[str]]) -> str:
    """The last lines: each failed step with the failures that its output names, else with the end of its output."""
    shown = [f"FAILED: {', '.join(failed)}"]
    for step, lines in failed.items():
        names = [line for line in lines if line.startswith(("FAILED ", "ERROR "))]
        shown += [f"  {step}: {line}" for line in names or lines[-_LAST:]]
    return "\n".join(shown)


def _shown(command: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> tuple[int, list[str]]:
    """(exit status, lines) of a command whose output is shown while it comes."""
    lines = []
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        text=True,
        errors="replace",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            lines.append(line.rstrip("\n"))
    return process.returncode, lines


def _needed(command: Sequence[str | Path]) -> None:
    """Run a command. Raises: StepError."""
    code, lines = _shown(command)
    if code:
        raise StepError([*lines, f"{' '.join(map(str, command[:4]))} .. ended with {code}"])


def not_highest() -> str:
    """Why lock/dev.txt does not have Numba at the top of its range; '' where it has."""
    direct = [Requirement(line) for line in project()["project"]["dependencies"]]
    numba = next(it for it in direct if it.name == "numba")
    locked = next(
        Version(it.version) for it in entries(lock_path("dev").read_text(encoding="utf-8")) if it.name == "numba"
    )
    above = Version(f"{locked.major}.{locked.minor + 1}")
    return (
        f"Numba {above} is allowed and {locked} is locked: lock it, or lower the bound"
        if numba.specifier.contains(above)
        else ""
    )


def _lowest() -> Path:
    """The interpreter of an environment by lock/lowest.txt, made once for each content of the lock.

    Raises: StepError.
    """
    lock = lock_path("lowest").read_bytes()
    python, stamp = HOME / "lowest/bin/python", HOME / "lowest/.ready"
    if not stamp.is_file() or stamp.read_bytes() != lock:
        shutil.rmtree(HOME / "lowest", ignore_errors=True)
        _needed([_old_python(), "-m", "venv", HOME / "lowest"])
        install: list[str | Path] = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _needed([*install, "--no-deps", "--require-hashes", "--only-binary", ":all:", "-r", lock_path("lowest")])
        _needed([*install, "--no-deps", "--no-index", "--no-build-isolation", "--editable", ROOT])
        _needed([python, "-m", "pip", "check", "--disable-pip-version-check"])
        stamp.write_bytes(lock)
    _print_versions("lowest", python)
    return python


def _newest() -> Path:
    """The interpreter of an environment with the newest releases that are allowed, renewed at every call.

    Raises: StepError.
    """
    python = HOME / "newest/bin/python"
    if not python.is_file():
        _needed([sys.executable, "-m", "venv", HOME / "newest"])
    install: list[str | Path] = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade"]
    _needed([*install, "--upgrade-strategy", "eager", "--editable", f"{ROOT}[dev]"])
    _needed([python, "-m", "pip", "check", "--disable-pip-version-check"])
    _print_versions("newest", python)
    return python


def _python_of(end: str) -> Path:
    """The interpreter of an end's environment. Raises: StepError."""
    if end == "highest":
        return Path(sys.executable)
    return _lowest() if end == "lowest" else _newest()


def _print_versions(end: str, python: Path) -> None:
    """Names and versions of the direct requirements of this environment."""
    there = subprocess.run(
        [python, "-m", "pip", "list", "--format", "freeze", "--disable-pip-version-check"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    direct = {canonicalize_name(Requirement(line).name) for line in project()["project"]["dependencies"]}
    print(f"{end}:", *sorted(it for it in there if canonicalize_name(it.partition("==")[0]) in direct), flush=True)


def _old_python() -> str:
    if sys.version_info[:2] in OLD_PYTHONS:
        return sys.executable
    for major, minor in OLD_PYTHONS:
        found = shutil.which(f"python{major}.{minor}")
        if found:
            return found
    sys.exit("error: the lower bounds are tried with Python 3.11 or 3.12, and neither is here: install one")


if __name__ == "__main__":
    sys.exit(main())
