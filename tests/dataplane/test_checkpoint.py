"""A checkpoint of another run is refused with the reason, before its content is used."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_guard import emulator

from fabric.dataplane.engine import checkpoint
from fabric.dataplane.engine.driver import Emulator
from fabric.errors import FabricError


def test_a_checkpoint_of_another_version_is_refused_by_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rows may have other sizes, so they are not read."""
    engine = emulator("alone")
    engine.save(tmp_path / "state")
    monkeypatch.setattr(checkpoint, "source_digest", lambda: "0123456789abcdef")
    monkeypatch.setattr(checkpoint, "_aligned", None)
    with pytest.raises(FabricError, match="was written by another version"):
        Emulator.restore(engine.fabric, engine.params, (), tmp_path / "state")


def test_a_file_that_is_no_checkpoint_is_refused(tmp_path: Path) -> None:
    engine = emulator("alone")
    (tmp_path / "state").write_bytes(b"PK\x05\x06" + bytes(18))
    with pytest.raises(FabricError, match="is not a readable checkpoint"):
        Emulator.restore(engine.fabric, engine.params, (), tmp_path / "state")


def test_a_checkpoint_of_another_scenario_is_refused(tmp_path: Path) -> None:
    engine, other = emulator("alone"), emulator("incast")
    other.save(tmp_path / "state")
    with pytest.raises(FabricError, match="belongs to another scenario"):
        Emulator.restore(engine.fabric, engine.params, (), tmp_path / "state")
