"""What every test shares: where things are, and generous but fixed time for property tests."""

from __future__ import annotations

import fcntl
import gc
import os
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, settings

from tests.failed_examples import forgetting
from tests.lab import leftovers
from tests.recordings import VENDOR_FILES

ROOT: Final = Path(__file__).resolve().parent.parent
LEFT_OUT: Final = pytest.StashKey[int]()

# No deadline: the first example of a property may pay for a compilation. The same examples every time, so that a
# failure in a check is the failure on a desk; HYPOTHESIS_PROFILE=search looks for new ones.
settings.register_profile(
    "fixed", derandomize=True, deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("search", deadline=None, max_examples=1000, suppress_health_check=[HealthCheck.too_slow])
# Commands of tests have the defaults, whatever is configured on the machine.
os.environ["FABRIC_CONFIG"] = ""
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


def pytest_sessionstart(session: pytest.Session) -> None:
    """What a killed run of tests left on this machine is removed once, before any test."""
    if not hasattr(session.config, "workerinput"):
        leftovers.sweep()


@pytest.fixture(scope="session")
def repo_root() -> Path:
    """The repository's top folder."""
    return ROOT


@pytest.fixture(scope="session")
def vendor_files() -> Path:
    """Configurations and tables that vendors publish; only for tests marked `vendor_files`."""
    return VENDOR_FILES


@pytest.fixture(scope="session")
def built_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout, built once for all processes of a test run. Nothing is fetched."""
    from tests.wheels import build_wheel

    home = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        home = home.parent
    with (home / "wheel.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not list((home / "wheel").glob("*.whl")):
            build_wheel(ROOT, home / "wheel")
    (found,) = (home / "wheel").glob("fabric_emulator-*.whl")
    return found


def pytest_pycollect_makeitem(name: str, obj: object) -> None:
    """A property that fails is to keep one failed example's objects: seen once, before it becomes tests."""
    handle = getattr(obj, "hypothesis", None)
    if name.startswith("test") and hasattr(handle, "inner_test"):  # is_hypothesis_test: newer releases only
        handle.inner_test = forgetting(handle.inner_test)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests that read vendors' files where those files are absent.

    The licence does not allow copies of the files in this repository, so their absence is normal: neither a skip nor a
    failure. tests/validate/test_stock_like.py restates what they check with configurations written for this project,
    and tests/configs/buffers/test_headroom.py holds single rows of the tables.
    """
    if VENDOR_FILES.is_dir():
        return
    left_out = [item for item in items if item.get_closest_marker("vendor_files")]
    items[:] = [item for item in items if not item.get_closest_marker("vendor_files")]
    config.hook.pytest_deselected(items=left_out)
    config.stash[LEFT_OUT] = len(left_out)


def pytest_collection_finish() -> None:
    """The collected tests live as long as the process: the garbage collector need not visit them again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say in one line how many tests of vendors' files were left out."""
    count = config.stash.get(LEFT_OUT, 0)
    if count:
        terminalreporter.write_line(f"{count} tests of files that vendors publish were left out: no {VENDOR_FILES}")
