"""What tests with real daemons share."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def folder() -> Iterator[Path]:
    """Short enough for a Unix socket's name, and open to the daemons' user."""
    path = Path(tempfile.mkdtemp(prefix="fabt", dir="/run"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)
