"""Routes of the control API, and the OpenAPI 3.1 description made from their table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from telemetry.live.pacing import MAX_DILATION, MIN_DILATION
from telemetry.live.view import DEFAULT_ROWS, MAX_ROWS

Schema = dict[str, Any]
BASE: Final = "/api/v1"


@dataclass(frozen=True, slots=True)
class Schemas:
    """JSON schemas of the scenario layer, with references to `#/components/schemas/`."""

    fault: Schema
    change: Schema
    parts: Mapping[str, Schema]
    """Schemas that the two refer to."""


@dataclass(frozen=True, slots=True)
class Route:
    """One route."""

    method: str
    name: str
    summary: str
    answer: str
    """Name of the schema of its answer."""
    fields: tuple[str, ...] = ()
    """Query parameters of a GET, fields of a POST."""
    schema: str = ""
    """Name of the schema of the body, where it is not a flat set of fields."""

    @property
    def path(self) -> str:
        """Path of the route."""
        return f"{BASE}/{self.name}"

    @staticmethod
    def all() -> tuple[Route, ...]:
        """Every route that needs the token."""
        return _ROUTES


_ROUTES: Final = (
    Route("GET", "status", "State and pace of the run.", "Status"),
    Route(
        "GET", "view", "Ports by pause ratio, queues by depth, pause trees: what `fabric top` shows.", "View", ("rows",)
    ),
    Route("GET", "roots", "Root causes of the present pass so far, as `fabric explain roots` finds them.", "Roots"),
    Route("GET", "events", "The newest event lines.", "Events", ("after", "rows")),
    Route("POST", "pause", "Pause simulated time; scrapes are still answered.", "Status"),
    Route("POST", "resume", "Resume simulated time.", "Status"),
    Route("POST", "speed", "Another pace.", "Status", ("dilation",)),
    Route(
        "POST",
        "faults",
        "Inject a fault into the present pass, as `faults:` of a scenario does.",
        "Change",
        schema="Fault",
    ),
    Route(
        "POST",
        "config",
        "Change the configuration of running devices, as an operator does.",
        "Change",
        schema="ConfigChange",
    ),
    Route("POST", "stop", "Stop the run with usable results, as Ctrl-C does.", "Status"),
)

_NUMBER: Final[Schema] = {"type": "number"}
_COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
_TEXT: Final[Schema] = {"type": "string"}
_FLAG: Final[Schema] = {"type": "boolean"}

_PARAMETERS: Final[Mapping[str, tuple[Schema, str]]] = {
    "rows": ({"type": "integer", "minimum": 1, "maximum": MAX_ROWS, "default": DEFAULT_ROWS}, "Maximum of rows."),
    "after": ({**_COUNT, "default": 0}, "Only events with a higher sequence number."),
}
_FIELDS: Final[Mapping[str, Schema]] = {
    "dilation": {
        "type": "number",
        "minimum": MIN_DILATION,
        "maximum": MAX_DILATION,
        "description": "Seconds of wall clock per simulated second.",
    }
}


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "required": list(properties), "properties": properties}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _or_null(kind: str) -> Schema:
    return {"type": [kind, "null"]}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


_ANSWERS: Final[Mapping[str, Schema]] = {
    "Status": _object(
        scenario=_TEXT,
        version=_TEXT,
        hosts=_COUNT,
        switches=_COUNT,
        state={"enum": ["starting", "running", "paused", "finished", "stopping", "stopped"]},
        **{"pass": _COUNT},
        passes=_COUNT,
        sim_time_seconds=_NUMBER,
        duration_seconds=_NUMBER,
        elapsed_seconds=_NUMBER,
        loop=_FLAG,
        dilation=_NUMBER,
        realtime_ratio=_NUMBER,
        slipped_seconds=_NUMBER,
    ),
    "Port": _object(
        device=_TEXT,
        port=_TEXT,
        priority=_COUNT,
        peer=_TEXT,
        up=_FLAG,
        paused=_FLAG,
        paused_ratio=_NUMBER,
        paused_seconds=_NUMBER,
        pausing=_FLAG,
        transmit_ratio=_NUMBER,
    ),
    "Queue": _object(
        device=_TEXT,
        port=_TEXT,
        queue=_COUNT,
        bytes=_COUNT,
        peak_bytes=_COUNT,
        marked_packets=_COUNT,
        dropped_packets=_COUNT,
        stormed=_FLAG,
    ),
    "Incident": _object(
        origin=_TEXT,
        cause=_TEXT,
        text=_TEXT,
        priority=_COUNT,
        since_seconds=_NUMBER,
        until_seconds=_NUMBER,
        open=_FLAG,
        depth=_COUNT,
        hosts=_list(_TEXT),
        switches=_list(_TEXT),
        paused_seconds=_NUMBER,
        remedy=_TEXT,
        tree=_list(_ref("PauseNode")),
    ),
    "PauseNode": _object(port=_TEXT, victim=_TEXT, depth=_COUNT, pauses=_COUNT, paused_seconds=_NUMBER, still=_FLAG),
    "View": _object(
        status=_ref("Status"),
        window_seconds=_NUMBER,
        ports=_list(_ref("Port")),
        queues=_list(_ref("Queue")),
        incidents=_list(_ref("Incident")),
    ),
    "Roots": _object(**{"pass": _COUNT}, from_seconds=_NUMBER, until_seconds=_NUMBER, roots=_list(_ref("Root"))),
    "Root": _object(
        kind=_TEXT,
        title=_TEXT,
        place=_TEXT,
        device=_TEXT,
        port=_or_null("string"),
        **{"class": _or_null("integer")},
        members=_list(_TEXT),
        rank={"enum": [0, 1, 2], "description": "0: traffic is lost or blocked; 1: slower; 2: what it is built for."},
        since_seconds=_NUMBER,
        until_seconds=_NUMBER,
        open={**_FLAG, "description": "The last sample interval still shows it."},
        confidence=_or_null("number"),
        evidence=_list(_TEXT),
        act=_TEXT,
        change_before=_or_null("string"),
        runbooks=_list(_TEXT),
        playbook=_TEXT,
    ),
    "Events": _object(events=_list({"type": "object", "additionalProperties": True})),
    "Change": _object(
        name=_TEXT,
        kind=_TEXT,
        at_seconds=_NUMBER,
        edits=_COUNT,
        **{"pass": _COUNT},
        objects={"type": "object", "additionalProperties": True},
    ),
    "Error": _object(
        error=_object(text=_TEXT, hint=_TEXT, problems=_list(_object(path=_TEXT, text=_TEXT, hint=_TEXT)))
    ),
}
_REFUSALS: Final = {
    "400": "Not a JSON object.",
    "401": "The token is missing or wrong.",
    "403": "The token does not allow changes.",
    "409": "Not now.",
    "413": "The body is too large.",
    "415": "The body is not JSON.",
    "422": "The request is invalid; every problem with its remedy.",
    "503": "The run gave no answer in time, or has not begun: the engine is being compiled.",
}


def describe(schemas: Schemas, version: str) -> Schema:
    """The OpenAPI description."""
    paths: dict[str, Schema] = {route.path: {route.method.lower(): _operation(route)} for route in _ROUTES}
    for path, summary in (
        ("/-/healthy", "Liveness of the process."),
        ("/-/ready", "Whether the run has begun."),
        (f"{BASE}/openapi.json", "This description."),
    ):
        paths[path] = {
            "get": {
                "operationId": path.strip("/-").rpartition("/")[2].partition(".")[0],
                "security": [],
                "summary": summary,
                "responses": {
                    "200": _response(summary, {"type": "object"}),
                    "503": _response("Not ready, or ended.", _ref("Error")),
                },
            }
        }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "fabric serve",
            "version": version,
            "description": "Controls a live run of a fabric. Metrics are at /metrics, without a token. The "
            "token of the role 'view' allows every GET, that of 'operate' every request.",
        },
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {**_ANSWERS, **schemas.parts, "Fault": schemas.fault, "ConfigChange": schemas.change},
        },
    }


def _operation(route: Route) -> Schema:
    responses = {
        "200": _response(route.summary, _ref(route.answer)),
        **{code: _response(text, _ref("Error")) for code, text in _REFUSALS.items()},
    }
    found: Schema = {"operationId": route.name, "summary": route.summary, "responses": responses}
    if route.method == "GET" and route.fields:
        found["parameters"] = [
            {
                "name": name,
                "in": "query",
                "required": False,
                "schema": _PARAMETERS[name][0],
                "description": _PARAMETERS[name][1],
            }
            for name in route.fields
        ]
    if route.schema or (route.method == "POST" and route.fields):
        body = (
            _ref(route.schema)
            if route.schema
            else {**_object(**{name: _FIELDS[name] for name in route.fields}), "additionalProperties": False}
        )
        found["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    return found


def _response(text: str, schema: Schema) -> Schema:
    return {"description": text, "content": {"application/json": {"schema": schema}}}
