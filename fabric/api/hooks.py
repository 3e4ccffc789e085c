"""Hooks of every run from the command line or Python: paths of messages, deadlock search, invariants on request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fabric.dataplane.engine.counters import Snapshot
from fabric.dataplane.engine.driver import Emulator
from fabric.forwarding.message_ports import message_paths
from fabric.runs.session import Hooks, Progress
from fabric.verify.conservation import check as broken_laws
from fabric.verify.deadlock import find_cycle


def hooks_of(
    *,
    check: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
    on_pause: Callable[[Any], None] | None = None,
) -> Hooks:
    """The hooks of `fabric run`; `check` tests the invariants of the model at every sample."""
    return Hooks(
        on_progress=on_progress,
        on_pause=on_pause,
        check=_check if check else None,
        find_cycle=_cycle,
        paths=message_paths,
    )


def _check(engine: Emulator, _now: Snapshot) -> Sequence[str]:
    return broken_laws(engine.state, engine.fabric, engine.now_ps)


def _cycle(engine: Emulator) -> Sequence[tuple[int, int]]:
    return find_cycle(engine.state, engine.fabric)
