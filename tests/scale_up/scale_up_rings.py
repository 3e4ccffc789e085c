"""Ring all-reduces as lists of messages, for tests of scale-up domains."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fabric.dataplane.engine.driver import Emulator
from fabric.scenario.compile.scenario import CompiledScenario, compile_scenario
from fabric.scenario.load import build_scenario

HEADER = "id,src,dst,size_bytes,start_ns,priority,after,delay_ns"


def ring_rows(hosts: list[str], size_bytes: int, channels: int, delay_ns: int, *, in_phase: bool) -> list[str]:
    """Messages of `channels` rings in one direction; a step begins delay_ns after the arrival of the one before.

    in_phase: after the arrival of the messages of all channels, else each channel by itself.
    """
    n, rows = len(hosts), [HEADER]
    for channel in range(channels):
        for step in range(2 * (n - 1)):
            for rank in range(n):
                earlier = range(channels) if in_phase else [channel]
                after = " ".join(f"c{c}s{step - 1}r{(rank - 1) % n}" for c in earlier) if step else ""
                rows.append(
                    f"c{channel}s{step}r{rank},{hosts[rank]},{hosts[(rank + 1) % n]},{size_bytes // (n * channels)},"
                    f"{0 if step else delay_ns},,{after},{delay_ns if step else 0}"
                )
    return rows


def compiled(raw: dict[str, Any], folder: Path) -> CompiledScenario:
    """A scenario as a mapping, with the files that it names in `folder`."""
    return compile_scenario(build_scenario(raw, folder / "scenario.yml"))


def last_arrival_ps(found: CompiledScenario) -> int:
    """Run to the end; when the last byte of the last message arrived."""
    emulator = Emulator(found.fabric, found.params)
    emulator.advance(found.duration_ps)
    arrived = emulator.state.rmessages["arrived_ps"][1:]
    assert (arrived >= 0).all()
    return int(arrived.max())
