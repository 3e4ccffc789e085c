"""What fidelity tests share: the folder of recorded runs, the oracle, and random cases both can play."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

# importmode=importlib puts no test folder on the path; cases.py is shared by the tests of this folder.
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def ns3_dir(reference_dir: Path) -> Path:
    """Recorded runs of the public HPCC simulator."""
    folder = reference_dir / "ns3"
    if not (folder / "cases").is_dir():
        pytest.skip(f"recorded runs are not at {folder}")
    return folder


@pytest.fixture(scope="session")
def oracle(ns3_dir: Path) -> ModuleType:
    """The simulator's rules as a plain Python program, ended at the case's stop time.

    Left to itself it runs until nothing is pending, which a flow that lost its tail never lets happen.
    """
    path = ns3_dir / "oracle.py"
    if not path.is_file():
        pytest.skip(f"the executable rules are not at {path}")
    spec = importlib.util.spec_from_file_location("ns3_oracle", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["ns3_oracle"] = module
    spec.loader.exec_module(module)
    return module
