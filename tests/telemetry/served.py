"""The control API over HTTP with a simulation whose engine does nothing; the fixture `served` is in conftest.py."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np

from fabric.dataplane.engine.counters import Snapshot
from fabric.dataplane.state.codes import Stop
from fabric.dataplane.state.types import TRACE
from fabric.errors import InputErrors, Problem
from telemetry.live import token
from telemetry.live.mailbox import Mailbox
from telemetry.live.simulation import Simulation
from tests.telemetry.programs import PATIENCE_S

TOKEN: Final = "a-token-of-the-test-0123456789"
VIEW: Final = "a-view-token-of-the-test-98765"
TOKENS: Final = token.Tokens(TOKEN, VIEW)
OBJECT: Final = {"type": "object", "additionalProperties": True}


T = TypeVar("T")


class PatientMailbox(Mailbox):
    """Waits for the run as long as a busy machine may take."""

    def ask(self, work: Callable[[], T], timeout_s: float = PATIENCE_S, *, change: bool = False) -> T:
        return super().ask(work, timeout_s, change=change)


class Still:
    """An engine without events, at any pace."""

    def __init__(self, make: Callable[[int], Snapshot]) -> None:
        self.now_ps = 0
        self._make = make
        self.finished = False

    def advance(self, until_ps: int, *, budget: int | None = None) -> Stop:
        self.now_ps = until_ps
        return Stop.BOUND

    def snapshot(self, *, reset_watermarks: bool = False) -> Snapshot:
        return self._make(self.now_ps)

    def drain_events(self) -> Any:  # noqa: ANN401
        return np.zeros(0, TRACE)


class World:
    """The world and the roots of a run in which nothing happens."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Mapping[str, Any], int]] = []

    def inject(self, fault: Mapping[str, Any], now_ps: int) -> dict[str, Any]:
        if "kind" not in fault:
            raise InputErrors("checking the fault", [Problem("fault.kind", "is missing", "one of: link-down")])
        self.asked.append(("inject", fault, now_ps))
        return {"name": "live-1", "kind": fault["kind"], "at_seconds": now_ps / 1e12, "edits": 2, "objects": {}}

    def configure(self, change: Mapping[str, Any], now_ps: int) -> dict[str, Any]:
        self.asked.append(("configure", change, now_ps))
        return {"name": "shut", "kind": "shut", "at_seconds": now_ps / 1e12, "edits": 1, "objects": {}}

    def incidents(self) -> list[dict[str, Any]]:
        return []

    def roots(self, ask: Callable[[Callable[[], Any]], Any]) -> dict[str, Any]:
        number: int = ask(lambda: 1)
        return {"pass": number, "from_seconds": 0.0, "until_seconds": 0.0, "roots": []}

    def recent_events(self, after: int, count: int) -> list[dict[str, Any]]:
        return [{"sequence": number} for number in range(after + 1, after + 4)][-count:]


@dataclass
class Served:
    host: str
    port: int
    simulation: Simulation
    world: World
    thread: threading.Thread
    audit: Path

    def ask(self, method: str, path: str, body: bytes | str | None = None, **headers: str) -> tuple[int, Any, Any]:
        given = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        connection = http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE_S)
        connection.request(method, path, body, {name: value for name, value in given.items() if value})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, json.loads(text), answer.headers

    def post(self, name: str, body: object = None) -> tuple[int, Any]:
        status, found, _ = self.ask("POST", f"/api/v1/{name}", None if body is None else json.dumps(body))
        return status, found
