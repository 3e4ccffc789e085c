"""Small fabrics and Snapshots for tests of this folder."""

from __future__ import annotations

from tests.small_runs import incast_file, still, tiny

__all__ = ["incast_file", "still", "tiny"]
