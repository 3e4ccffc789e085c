"""``--metrics``: a run's live counters for Prometheus, joined from the telemetry package."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from prometheus_client.registry import CollectorRegistry

from fabric.runs.session import Plan
from telemetry.export.collect import FabricCollector, SnapshotRelay
from telemetry.export.compat.registry import LAYERS
from telemetry.export.server import Access, serve
from telemetry.sources.control_history import ControlHistory
from telemetry.sources.engine_facts import observed
from telemetry.sources.run_info import of_plan

if TYPE_CHECKING:  # annotations only
    from fabric.dataplane.engine.driver import Emulator


def serve_metrics(
    listen: str, compat: str | None, access: Access, plan: Plan, stack: ExitStack
) -> Callable[[Emulator], None]:
    """Serve until the stack is closed; returns a function to call with the engine between two steps.

    `compat`: exporter whose metric names are served instead of the native ones. `access`: names of the server, and TLS.

    Raises: ListenError for an address on which the server cannot listen.
    """
    relay = SnapshotRelay()
    registry = CollectorRegistry()
    registry.register(FabricCollector(relay, of_plan(plan), layer=LAYERS[compat] if compat else None))
    server = stack.enter_context(serve(listen, registry, access=access))
    print(f"metrics at {server.url}", file=sys.stderr, flush=True)

    history = ControlHistory(plan.control) if plan.control is not None else None

    def offer(engine: Emulator) -> None:
        relay.offer(lambda: observed(engine, history.at(engine.now_ps) if history is not None else None))

    return offer
