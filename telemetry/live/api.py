"""The control API: status and views by GET, changes by POST, protected by bearer tokens.

A WSGI application beside /metrics (telemetry/export/server.py). Rules

1. Only /-/healthy, /-/ready and the OpenAPI description answer without a token (RFC 6750). No header allows another
   origin, and Content-Type of a body must be JSON, so a web page cannot send one from another origin. The token of the
   role 'view' allows every GET, the token of 'operate' also every POST; every POST with a token is a line of the audit
   log.
2. A request body is one JSON object of at most MAX_BODY_BYTES without unknown fields. Its problems are returned as a
   list, each with its remedy, as on the command line.
3. The simulation thread carries out every request between two steps of the run (telemetry/live/mailbox.py).
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol
from urllib.parse import parse_qs

from fabric.errors import FabricError, InputErrors, Problem
from fabric.units import NS_PER_S, PS_PER_NS, PS_PER_S
from telemetry.export.server import Beside
from telemetry.live.audit import AuditError, AuditLog, shortened
from telemetry.live.mailbox import BusyError
from telemetry.live.openapi import Route, Schemas, describe
from telemetry.live.pacing import MAX_DILATION, MIN_DILATION, is_dilation
from telemetry.live.simulation import STARTING, Simulation
from telemetry.live.token import Role, Tokens
from telemetry.live.view import DEFAULT_ROWS, MAX_ROWS, ViewMaker, still_hosts

log = logging.getLogger(__name__)

MAX_BODY_BYTES: Final = 65_536
"""The largest fault is a list of host names."""
_LENGTH_DIGITS: Final = 12
"""Maximum digits of a Content-Length."""
_MAX_FIELDS: Final = 16
"""Maximum fields of a query; no route reads more than two."""

Body = dict[str, Any]
StartResponse = Callable[..., Any]


class ConflictError(FabricError):
    """A valid request that conflicts with the present state of the run."""


class World(Protocol):
    """The scenario's interface for this API; called by the simulation thread only."""

    def inject(self, fault: Mapping[str, Any], now_ps: int) -> Body:
        """Add a fault of the scenario's own schema to the present pass. Raises: InputErrors."""

    def configure(self, change: Mapping[str, Any], now_ps: int) -> Body:
        """Change the configuration of running devices. Raises: InputErrors."""

    def incidents(self) -> list[Body]:
        """Pause trees of the present pass, most paused time first."""

    def recent_events(self, after: int, count: int) -> list[Body]:
        """Event lines with a higher `sequence` than `after`, the newest `count` of them, oldest first."""


class Roots(Protocol):
    """Root causes of the present pass (telemetry/live/roots.py); called by any thread."""

    def roots(self, ask: Callable[[Callable[[], Any]], Any]) -> Body:
        """Asks the simulation thread for what it has recorded. Raises: BusyError."""


@dataclass(eq=False)
class Refusal(Exception):  # noqa: N818  it becomes an answer, not a failure
    """An error answer."""

    status: str
    text: str
    hint: str = ""
    problems: tuple[Problem, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()


class Api:
    """The WSGI application.

    Parameters
    ----------
    simulation : Simulation    the controlled run
    world : World          the scenario's interface
    roots : Roots          root causes so far
    tokens : Tokens        the bearer tokens, one for each role
    about : mapping        facts of the run that do not change: scenario, version, size of the fabric
    schemas : Schemas      JSON schemas of faults and configuration changes, for the description
    audit : AuditLog       where changes are logged; None: nowhere
    """

    def __init__(
        self,
        simulation: Simulation,
        world: World,
        roots: Roots,
        tokens: Tokens,
        about: Mapping[str, Any],
        schemas: Schemas,
        audit: AuditLog | None = None,
    ) -> None:
        self._simulation, self._world, self._roots = simulation, world, roots
        self._tokens, self._about = tokens, about
        self._audit = audit
        self._views = ViewMaker()
        handlers: Mapping[str, Callable[[Body], Body]] = {
            "status": self._status,
            "view": self._view,
            "roots": lambda _: self._roots.roots(self._simulation.mailbox.ask),
            "events": self._events,
            "pause": self._pause,
            "resume": self._resume,
            "speed": self._speed,
            "faults": self._inject,
            "config": self._configure,
            "stop": self._stop,
        }
        self._description = describe(schemas, str(about.get("version", "")))
        self._routes = {(route.method, route.path): (route, handlers[route.name]) for route in Route.all()}

    @property
    def beside(self) -> Beside:
        """The application for telemetry/export/server.py."""
        return Beside(serves, self, HEALTH, MAX_BODY_BYTES)

    def __call__(self, environ: Mapping[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request."""
        try:
            status, body = "200 OK", self._answer(environ)
            headers: tuple[tuple[str, str], ...] = ()
        except Refusal as refusal:
            status, headers, body = refusal.status, refusal.headers, _error(refusal)
        log.debug(
            "api request",
            extra={"method": environ["REQUEST_METHOD"], "path": ascii(environ["PATH_INFO"]), "status": status},
        )
        start_response(
            status,
            [
                ("Content-Type", "application/json"),
                ("Cache-Control", "no-store"),
                ("X-Content-Type-Options", "nosniff"),
                *headers,
            ],
        )
        return [json.dumps(body).encode() + b"\n"]

    def _answer(self, environ: Mapping[str, Any]) -> Body:
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        if path in _OPEN:
            if method != "GET":
                raise Refusal("405 Method Not Allowed", f"{path} takes GET only", headers=(("Allow", "GET, HEAD"),))
            return self._open(path)
        role = self._role(environ)
        allowed = [known for known, at in self._routes if at == path]
        if not allowed:
            raise Refusal("404 Not Found", f"nothing is at {path}", "GET /api/v1/openapi.json lists what is")
        if method not in allowed:
            right = "GET, HEAD" if allowed[0] == "GET" else allowed[0]
            raise Refusal("405 Method Not Allowed", f"{path} takes {right}, not {method}", headers=(("Allow", right),))
        route, handler = self._routes[method, path]
        if method == "GET":
            return self._carry_out(route, handler, _query(environ))
        return self._logged(role, route, handler, environ)

    def _logged(self, role: Role, route: Route, handler: Callable[[Body], Body], environ: Mapping[str, Any]) -> Body:
        """Carry out a change, if the role allows it, and log it with its result."""
        if self._audit is not None:
            try:
                self._audit.check()
            except AuditError as error:
                raise Refusal("503 Service Unavailable", error.text, error.hint) from error
        given: Body | None = None
        facts: Body = {}
        result = "500 Internal Server Error"
        try:
            _may_change(role)
            given = _body(environ)
            found = self._carry_out(route, handler, given)
            result, facts = "200 OK", {"name": found["name"]} if "name" in found else {}
            at_s: float = found["at_seconds"] if "at_seconds" in found else found["sim_time_seconds"]
            facts |= {"pass": found["pass"], "sim_time_ns": round(at_s * NS_PER_S)}
        except Refusal as refusal:
            number, now_ps = self._simulation.moment
            result, facts = refusal.status, {"why": refusal.text, "pass": number, "sim_time_ns": now_ps // PS_PER_NS}
            raise
        else:
            return found
        finally:
            if self._audit is not None:
                subject = environ.get("fabric.client_subject", "")
                self._audit.write(
                    role,
                    environ.get("REMOTE_ADDR", ""),
                    route.name,
                    result,
                    request=shortened(given),
                    **facts,
                    **({"certificate": subject} if subject else {}),
                )

    def _carry_out(self, route: Route, handler: Callable[[Body], Body], given: Body) -> Body:
        if not self._simulation.started:
            raise Refusal(
                "503 Service Unavailable", STARTING, "retry when /-/ready answers 200", headers=(("Retry-After", "1"),)
            )
        try:
            _known(given, route)
            return handler(given)
        except InputErrors as error:
            raise Refusal("422 Unprocessable Entity", error.text.split("\n")[0], problems=error.problems) from error
        except BusyError as error:
            raise Refusal("503 Service Unavailable", error.text, error.hint, headers=(("Retry-After", "1"),)) from error
        except FabricError as error:
            raise Refusal("409 Conflict", error.text, error.hint) from error

    def _open(self, path: str) -> Body:
        if path == "/api/v1/openapi.json":
            return self._description
        if path == "/-/healthy":
            if not self._simulation.alive:
                raise Refusal("503 Service Unavailable", "the run has not moved for a minute")
        elif not self._simulation.started:
            raise Refusal("503 Service Unavailable", STARTING, headers=(("Retry-After", "1"),))
        elif not self._simulation.ready():
            raise Refusal("503 Service Unavailable", "the run answers nothing now", headers=(("Retry-After", "1"),))
        return {"ok": True}

    def _role(self, environ: Mapping[str, Any]) -> Role:
        scheme, _, given = str(environ.get("HTTP_AUTHORIZATION", "")).partition(" ")
        role = self._tokens.role(given.strip()) if scheme.lower() == "bearer" else None
        if role is None:
            raise Refusal(
                "401 Unauthorized",
                "the token is missing or wrong",
                "send 'Authorization: Bearer TOKEN' with the token of the file that `fabric serve` named at its start",
                headers=(("WWW-Authenticate", 'Bearer realm="fabric"'),),
            )
        return role

    # ===== reads =====

    def _status(self, _: Body) -> Body:
        return self._simulation.mailbox.ask(self._standing)

    def _standing(self) -> Body:
        simulation = self._simulation
        at, program = simulation.standing(), simulation.program
        return {
            **self._about,
            "state": at.phase.value,
            "pass": at.number,
            "passes": at.passes,
            "sim_time_seconds": at.now_ps / PS_PER_S,
            "duration_seconds": program.duration_ps / PS_PER_S,
            "elapsed_seconds": at.elapsed_ps / PS_PER_S,
            "loop": program.loop,
            "dilation": at.dilation,
            "realtime_ratio": at.speed_ratio,
            "slipped_seconds": round(at.slipped_s, 3),
        }

    def _view(self, query: Body) -> Body:
        rows = _whole(query, "rows", DEFAULT_ROWS, 1, MAX_ROWS)
        simulation = self._simulation

        def read() -> tuple[Body, list[Body], Any]:
            return self._standing(), self._world.incidents(), simulation.engine.snapshot()

        status, incidents, snapshot = simulation.mailbox.ask(read)
        return {
            "status": {**status, "hosts_paused": still_hosts(snapshot)},
            **self._views.view(status["pass"], snapshot, rows),
            "incidents": incidents,
        }

    def _events(self, query: Body) -> Body:
        after, count = _whole(query, "after", 0, 0, 1 << 62), _whole(query, "rows", DEFAULT_ROWS, 1, MAX_ROWS)
        return {"events": self._simulation.mailbox.ask(lambda: self._world.recent_events(after, count))}

    # ===== changes =====

    def _pause(self, _: Body) -> Body:
        return self._do(self._simulation.pause)

    def _resume(self, _: Body) -> Body:
        return self._do(self._simulation.resume)

    def _speed(self, body: Body) -> Body:
        value = body.get("dilation")
        if not isinstance(value, int | float) or isinstance(value, bool) or not is_dilation(value):
            raise InputErrors(
                "the request",
                [
                    Problem(
                        "dilation",
                        "is missing" if value is None else f"{value!r} is no dilation",
                        f"give seconds of wall clock per simulated second, {MIN_DILATION:g} to {MAX_DILATION:g}",
                    )
                ],
            )
        return self._do(lambda: self._simulation.change_pace(float(value)))

    def _do(self, change: Callable[[], None]) -> Body:
        def work() -> Body:
            self._running()
            change()
            return self._standing()

        return self._simulation.mailbox.ask(work, change=True)

    def _inject(self, body: Body) -> Body:
        return self._change(self._world.inject, body)

    def _configure(self, body: Body) -> Body:
        return self._change(self._world.configure, body)

    def _change(self, change: Callable[[Mapping[str, Any], int], Body], body: Body) -> Body:
        def work() -> Body:
            self._running()
            return {**change(body, self._simulation.edit_ps), "pass": self._simulation.standing().number}

        return self._simulation.mailbox.ask(work, change=True)

    def _running(self) -> None:
        if not self._simulation.changeable:
            raise ConflictError(
                "the run has ended and cannot be changed any more", "start `fabric serve` with --loop to repeat it"
            )

    def _stop(self, _: Body) -> Body:
        status = self._simulation.mailbox.ask(self._standing)
        self._simulation.stop()
        return {**status, "state": "stopping"}


HEALTH: Final = frozenset({"/-/healthy", "/-/ready"})
_OPEN: Final = HEALTH | {"/api/v1/openapi.json"}


def serves(path: str) -> bool:
    """Whether a path belongs to this application."""
    return path.startswith(("/api/", "/-/"))


def _may_change(role: Role) -> None:
    if role is not Role.OPERATE:
        raise Refusal(
            "403 Forbidden",
            f"the role '{role}' may read, but not change anything",
            "use the token of the role 'operate'",
        )


def _error(refusal: Refusal) -> Body:
    return {
        "error": {
            "text": refusal.text,
            "hint": refusal.hint,
            "problems": [{"path": it.path, "text": it.text, "hint": it.hint} for it in refusal.problems],
        }
    }


def _query(environ: Mapping[str, Any]) -> Body:
    try:
        found = parse_qs(environ.get("QUERY_STRING", ""), keep_blank_values=True, max_num_fields=_MAX_FIELDS)
    except ValueError as error:
        raise Refusal("400 Bad Request", f"the query has more than {_MAX_FIELDS} fields") from error
    return {name: values[-1] for name, values in found.items()}


def _body(environ: Mapping[str, Any]) -> Body:
    """The JSON object of a POST; an absent body is an empty one."""
    text = environ.get("CONTENT_LENGTH") or ""
    if environ.get("HTTP_TRANSFER_ENCODING"):
        raise Refusal("411 Length Required", "a chunked body is not read", "send Content-Length")
    if text and not (text.isascii() and text.isdigit()):
        raise Refusal("400 Bad Request", f"Content-Length {text[:40]!r} is not a number")
    if len(text) > _LENGTH_DIGITS or int(text or 0) > MAX_BODY_BYTES:
        raise Refusal("413 Content Too Large", f"at most {MAX_BODY_BYTES} bytes of a body are read")
    length = int(text or 0)
    if length == 0:
        return {}
    kind = str(environ.get("CONTENT_TYPE", "")).partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refusal(
            "415 Unsupported Media Type",
            f"the body is {kind or 'of no type'}, not JSON",
            "send 'Content-Type: application/json'",
        )
    try:
        found = json.loads(environ["wsgi.input"].read(length), parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise Refusal("400 Bad Request", f"the body is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise Refusal("400 Bad Request", "the body is not one JSON object", "send {...}")
    return found


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is not JSON")


def _known(given: Mapping[str, Any], route: Route) -> None:
    """Refuse fields that the route does not have; faults and changes check their own fields."""
    if route.schema:
        return
    unknown = [
        Problem(
            name,
            "is unknown to this route",
            "leave it out" + (f"; fields: {', '.join(route.fields)}" if route.fields else ""),
        )
        for name in given
        if name not in route.fields
    ]
    if unknown:
        raise InputErrors("the request", unknown)


def _whole(query: Mapping[str, Any], name: str, default: int, least: int, most: int) -> int:
    text = query.get(name)
    if text is None:
        return default
    if (
        not (text.isascii() and text.isdigit())
        or len(text) > math.ceil(math.log10(most + 1))
        or not least <= int(text) <= most
    ):
        raise InputErrors(
            "the request",
            [Problem(name, f"{text[:40]!r} is out of range", f"give a whole number from {least} to {most}")],
        )
    return int(text)
