"""The control API over HTTP with a simulation whose engine does nothing."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from fabric.dataplane.engine.counters import Snapshot
from fabric.topology.model import Fabric
from fabric.units import PS_PER_MS
from telemetry.catalogue.derive import RunInfo
from telemetry.export.server import serve
from telemetry.live.api import MAX_BODY_BYTES, Api
from telemetry.live.client import LiveClient, LiveError
from telemetry.live.collector import LiveCollector
from telemetry.live.openapi import Route, Schemas
from telemetry.live.pacing import Pacer
from telemetry.live.simulation import Program, Simulation
from telemetry.live.view import ViewMaker
from tests.telemetry.programs import PATIENCE_S, wait_for
from tests.telemetry.served import OBJECT, TOKEN, TOKENS, PatientMailbox, Served, Still, World


def test_nothing_but_health_is_answered_before_the_engine_has(tiny: Fabric, still: Callable[..., Snapshot]) -> None:
    """At once: who asks would only wait for the compiler."""
    simulation = Simulation(
        Program(PS_PER_MS, PS_PER_MS, stop_when_done=False, loop=False),
        lambda: Still(lambda time_ps: still(tiny, time_ps=time_ps)),
        Pacer(1000),
        PatientMailbox(),
    )
    api = Api(simulation, World(), World(), TOKENS, {"scenario": "tiny", "version": "1"}, Schemas(OBJECT, OBJECT, {}))
    collector = LiveCollector(RunInfo("1", "r", "s", "asic", 1))
    collector.watch(simulation, lambda: still(tiny), lambda: still(tiny))
    registry = CollectorRegistry()
    registry.register(collector)
    with serve("127.0.0.1:0", registry, api.beside) as server:
        host, port = server.address

        def ask(path: str) -> tuple[int, str | None, str]:
            connection = http.client.HTTPConnection(host, port, timeout=PATIENCE_S)
            connection.request("GET", path, headers={"Authorization": f"Bearer {TOKEN}"})
            answer = connection.getresponse()
            text = answer.read().decode()
            connection.close()
            return answer.status, answer.headers["Retry-After"], text

        assert ask("/-/healthy")[0] == 200
        for path in ("/-/ready", "/metrics", "/api/v1/status"):
            status, again, text = ask(path)
            assert (status, again) == (503, "1"), path
            assert "the engine is being compiled" in text
        thread = threading.Thread(target=simulation.simulate, daemon=True)
        thread.start()
        wait_for(lambda: simulation.started, "the run to begin")
        assert [ask(path)[0] for path in ("/-/ready", "/metrics", "/api/v1/status")] == [200, 200, 200]
        simulation.stop()
        thread.join(PATIENCE_S)


def test_the_status_says_where_the_run_is(served: Served) -> None:
    status, found, headers = served.ask("GET", "/api/v1/status")
    assert status == 200
    assert (found["scenario"], found["state"], found["dilation"], found["pass"]) == ("tiny", "running", 1000, 1)
    assert headers["Cache-Control"] == "no-store"
    assert "Access-Control-Allow-Origin" not in headers


@pytest.mark.parametrize(
    "given", ["", "Bearer wrong", "Bearer ", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}"]
)
@pytest.mark.parametrize("path", ["/api/v1/status", "/api/v1/nothing", "/api/"])
def test_without_the_token_nothing_is_told_not_even_what_exists(served: Served, given: str, path: str) -> None:
    status, found, headers = served.ask("GET", path, Authorization=given)
    assert status == 401
    assert headers["WWW-Authenticate"].startswith("Bearer")
    assert "token" in found["error"]["hint"]


def test_without_the_token_nothing_is_done(served: Served) -> None:
    assert served.ask("POST", "/api/v1/stop", Authorization="")[0] == 401
    assert served.ask("POST", "/api/v1/faults", b'{"kind": "x"}', Authorization="Bearer no")[0] == 401
    assert not served.world.asked
    assert served.ask("GET", "/api/v1/status")[1]["state"] == "running"


@pytest.mark.parametrize("path", ["/-/healthy", "/-/ready", "/api/v1/openapi.json"])
def test_health_and_the_description_need_no_token(served: Served, path: str) -> None:
    assert served.ask("GET", path, Authorization="")[0] == 200
    assert served.ask("POST", path, Authorization="")[0] == 405


def test_a_run_is_paused_and_resumed(served: Served) -> None:
    assert served.post("pause")[1]["state"] == "paused"
    first, second = (served.ask("GET", "/api/v1/status")[1]["sim_time_seconds"] for _ in range(2))
    assert first == second
    assert served.post("resume")[1]["state"] == "running"


def test_the_pace_is_changed(served: Served) -> None:
    assert served.post("speed", {"dilation": 250})[1]["dilation"] == 250
    assert served.simulation.pacer.dilation == 250


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"dilation": 0},
        {"dilation": -1},
        {"dilation": "fast"},
        {"dilation": True},
        {"dilation": 1e12},
        {"dilation": 10, "speed": 3},
        {"dilation": 10**400},
    ],
)
def test_a_pace_that_is_none_is_refused_with_its_range(served: Served, body: dict[str, Any]) -> None:
    status, found = served.post("speed", body)
    assert status == 422
    assert found["error"]["problems"][0]["hint"]
    assert served.simulation.pacer.dilation == 1000


def test_a_fault_begins_at_the_first_moment_that_can_still_change(served: Served) -> None:
    status, found = served.post("faults", {"kind": "link-down", "link": "x"})
    assert (status, found["name"], found["pass"]) == (200, "live-1", 1)
    ((what, fault, now_ps),) = served.world.asked
    assert (what, fault) == ("inject", {"kind": "link-down", "link": "x"})
    assert 0 <= now_ps <= 1000 * PS_PER_MS


def test_problems_of_a_fault_come_back_with_their_remedies(served: Served) -> None:
    status, found = served.post("faults", {})
    assert status == 422
    assert found["error"]["problems"] == [{"path": "fault.kind", "text": "is missing", "hint": "one of: link-down"}]


def test_stop_ends_the_run(served: Served) -> None:
    assert served.post("stop")[0] == 200
    served.thread.join(PATIENCE_S)
    assert not served.thread.is_alive()


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"{", {}, 400),
        (b"[]", {}, 400),
        (b"7", {}, 400),
        (b'{"dilation": NaN}', {}, 400),
        (b"\xff\xfe", {}, 400),
        (b'{"a":' * 9000 + b"1" + b"}" * 9000, {}, 400),
        (b'{"dilation": 10}', {"Content_Type": "text/plain"}, 415),
        (b'{"dilation": 10}', {"Content_Type": ""}, 415),
        (b" " * (MAX_BODY_BYTES + 1), {}, 413),
    ],
)
def test_a_body_that_is_no_small_json_object_is_refused(
    served: Served, body: bytes, headers: dict[str, str], status: int
) -> None:
    assert served.ask("POST", "/api/v1/speed", body, **headers)[0] == status
    assert served.simulation.pacer.dilation == 1000


def test_a_body_without_its_length_is_not_waited_for(served: Served) -> None:
    with socket.create_connection((served.host, served.port), timeout=PATIENCE_S) as client:
        client.sendall(
            f"POST /api/v1/speed HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
            "Transfer-Encoding: chunked\r\n\r\n".encode()
        )
        assert b" 411 " in client.recv(200)
    with socket.create_connection((served.host, served.port), timeout=PATIENCE_S) as client:
        client.sendall(
            f"POST /api/v1/speed HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
            "Content-Length: -5\r\n\r\n".encode()
        )
        assert b" 400 " in client.recv(200)


@pytest.mark.parametrize("length", ["9" * 5000, "0" * 5000, "9" * 13, str(1 << 62)])
def test_a_length_of_very_many_digits_is_refused_without_being_read(served: Served, length: str) -> None:
    with socket.create_connection((served.host, served.port), timeout=PATIENCE_S) as client:
        client.sendall(
            f"POST /api/v1/speed HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
            f"Content-Length: {length}\r\n\r\n".encode()
        )
        assert b" 413 " in client.recv(200)


@pytest.mark.parametrize("path", ["/api/v1/status", "/api/v1/openapi.json", "/-/healthy", "/-/ready"])
def test_a_head_request_is_answered(served: Served, path: str) -> None:
    connection = http.client.HTTPConnection(served.host, served.port, timeout=PATIENCE_S)
    connection.request("HEAD", path, headers={"Authorization": f"Bearer {TOKEN}"})
    answer = connection.getresponse()
    assert (answer.status, answer.read()) == (200, b"")
    assert int(answer.headers["Content-Length"]) > 0
    connection.close()


def test_a_wrong_path_or_method_says_what_is_right(served: Served) -> None:
    assert served.ask("GET", "/api/v1/nothing")[0] == 404
    status, _, headers = served.ask("GET", "/api/v1/pause")
    assert (status, headers["Allow"]) == (405, "POST")
    assert served.ask("DELETE", "/api/v1/status")[0] == 405


@pytest.mark.parametrize(
    "query", ["rows=0", "rows=1001", "rows=x", "rows=-1", "rows=1e3", "sort=port", "rows=²", "rows=" + "9" * 5000]
)
def test_a_query_that_nobody_reads_is_refused(served: Served, query: str) -> None:
    status, found, _ = served.ask("GET", f"/api/v1/view?{query.encode('ascii', 'backslashreplace').decode()}")
    assert status == 422
    assert found["error"]["problems"][0]["hint"]


def test_a_query_of_very_many_fields_is_refused(served: Served) -> None:
    status, found, _ = served.ask("GET", "/api/v1/view?" + "&".join(f"f{number}=1" for number in range(100)))
    assert (status, "fields" in found["error"]["text"]) == (400, True)


def test_events_are_asked_for_from_a_number_on(served: Served) -> None:
    assert served.ask("GET", "/api/v1/events?after=7&rows=2")[1]["events"] == [{"sequence": 9}, {"sequence": 10}]


def test_a_run_that_has_ended_cannot_be_changed(tiny: Fabric, still: Callable[..., Snapshot]) -> None:
    simulation = Simulation(
        Program(PS_PER_MS, PS_PER_MS, stop_when_done=False, loop=False),
        lambda: Still(lambda time_ps: still(tiny, time_ps=time_ps)),
        Pacer(0.001),
        PatientMailbox(),
    )
    api = Api(simulation, World(), World(), TOKENS, {}, Schemas(OBJECT, OBJECT, {}))
    threading.Thread(target=simulation.simulate, daemon=True).start()
    with serve("127.0.0.1:0", CollectorRegistry(), api.beside) as server:
        client = LiveClient("http://{}:{}".format(*server.address), TOKEN)
        wait_for(lambda: client.get("status")["state"] == "finished", "the end of the run")
        with pytest.raises(LiveError, match="the run has ended") as caught:
            client.post("faults", {"kind": "x"})
        assert "--loop" in caught.value.hint
    simulation.stop()


# ===== the description =====


def references(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "$ref":
                yield value
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def conforms(value: object, schema: Mapping[str, Any], schemas: Mapping[str, Any], where: str = "") -> None:
    """As much of JSON Schema as the description uses."""
    if "$ref" in schema:
        schema = schemas[schema["$ref"].rpartition("/")[2]]
    if "enum" in schema:
        assert value in schema["enum"], where
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float)}
    if "type" in schema:
        assert isinstance(value, kinds[schema["type"]]), where
    if isinstance(value, dict):
        assert set(schema.get("required", ())) <= set(value), where
        if "properties" in schema:
            for name, part in value.items():
                if name in schema["properties"]:
                    conforms(part, schema["properties"][name], schemas, f"{where}.{name}")
    if isinstance(value, list):
        for part in value:
            conforms(part, schema["items"], schemas, f"{where}[]")


def test_the_description_holds_every_route_and_every_reference(served: Served) -> None:
    _, found, _ = served.ask("GET", "/api/v1/openapi.json")
    described = {(method.upper(), path) for path, methods in found["paths"].items() for method in methods}
    assert {(route.method, route.path) for route in Route.all()} <= described
    names = found["components"]["schemas"]
    assert {ref.rpartition("/")[2] for ref in references(found)} <= set(names)
    assert found["openapi"].startswith("3.1")


@pytest.mark.parametrize("name", ["status", "view", "events"])
def test_answers_are_what_the_description_says(served: Served, name: str) -> None:
    _, found, _ = served.ask("GET", "/api/v1/openapi.json")
    _, answer, _ = served.ask("GET", f"/api/v1/{name}")
    operation = found["paths"][f"/api/v1/{name}"]["get"]
    schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
    conforms(answer, schema, found["components"]["schemas"])


def test_refusals_are_what_the_description_says(served: Served) -> None:
    _, found, _ = served.ask("GET", "/api/v1/openapi.json")
    for name, body in (("speed", {}), ("faults", {})):
        status, answer = served.post(name, body)
        schema = found["paths"][f"/api/v1/{name}"]["post"]["responses"][str(status)]["content"]["application/json"]
        conforms(answer, schema["schema"], found["components"]["schemas"])


# ===== the view =====


def test_shares_are_of_the_time_since_the_look_before(tiny: Fabric, still: Callable[..., Snapshot]) -> None:
    wall = iter([0.0, 1.0, 1.2, 2.0])
    views = ViewMaker(clock=lambda: next(wall))

    def at(time_ps: int, paused_ps: int) -> dict[str, Any]:
        snapshot = still(tiny, time_ps=time_ps)
        snapshot.prios["rx_paused_ps"][2, 3] = paused_ps
        return views.view(1, snapshot)

    assert at(1000, 100)["ports"][0]["paused_ratio"] == pytest.approx(0.1)  # since the beginning
    second = at(2000, 1100)
    assert (second["ports"][0]["paused_ratio"], second["window_seconds"]) == (pytest.approx(1.0), 1000 / 1e12)
    assert at(2200, 1100)["ports"][0]["paused_ratio"] == pytest.approx(1000 / 1200, rel=1e-4)  # no new base yet
    assert at(3000, 1100)["ports"][0]["paused_ratio"] == 0


def test_a_new_pass_is_not_compared_with_the_one_before(tiny: Fabric, still: Callable[..., Snapshot]) -> None:
    wall = iter([0.0, 5.0])
    views = ViewMaker(clock=lambda: next(wall))
    first = still(tiny, time_ps=9000)
    first.prios["rx_paused_ps"][2, 3] = 9000
    views.view(1, first)
    again = still(tiny, time_ps=1000)
    again.prios["rx_paused_ps"][2, 3] = 250
    assert views.view(2, again)["ports"][0]["paused_ratio"] == pytest.approx(0.25)


def test_the_worst_rows_come_first_and_no_more_than_asked_for(tiny: Fabric, still: Callable[..., Snapshot]) -> None:
    snapshot = still(tiny, time_ps=1000)
    snapshot.ports["pfc_classes"] = 8
    snapshot.prios["rx_paused_ps"][:, 3] = [10, 40, 30, 20]
    snapshot.queues["enqueued_pkts"][2:, 3] = 1
    snapshot.queues["depth_bytes"][2:, 3] = [5, 7]
    view = ViewMaker().view(1, snapshot, rows=2)
    assert [f"{row['device']}:{row['port']}" for row in view["ports"]] == [tiny.port_name(port) for port in (1, 2)]
    assert [row["bytes"] for row in view["queues"]] == [7, 5]
