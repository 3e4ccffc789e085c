"""``--metrics``: a run's live counters for Prometheus, joined from the telemetry package."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from prometheus_client.registry import CollectorRegistry

from fabric import __version__
from fabric.report.session import Plan
from telemetry.collect import FabricCollector, SnapshotRelay
from telemetry.derive import RunInfo
from telemetry.server import serve

if TYPE_CHECKING:  # annotations only
    from fabric.engine.counters import Snapshot


def serve_metrics(listen: str, plan: Plan, stack: ExitStack) -> Callable[[Callable[[], Snapshot]], None]:
    """Serve until the stack is closed; returns what to call, between two calls of the engine, with a way to look.

    Raises: ListenError for an address that cannot be listened on.
    """
    relay = SnapshotRelay()
    registry = CollectorRegistry()
    info = RunInfo(
        __version__, plan.name, plan.name, str(plan.about["model"]), int(plan.about["seed"]), ideal_ps=plan.ideal_ps
    )
    registry.register(FabricCollector(relay, info))
    server = stack.enter_context(serve(listen, registry))
    print(f"metrics at {server.url}", file=sys.stderr, flush=True)

    def offer(look: Callable[[], Snapshot]) -> None:
        relay.offer(look)

    return offer
