"""The control API over HTTP, before a player whose engine stands still."""

from __future__ import annotations

import http.client
import json
import os
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from prometheus_client import CollectorRegistry

from fabric.engine.counters import Snapshot
from fabric.errors import FabricError, InputErrors, Problem
from fabric.state.codes import Stop
from fabric.state.types import TRACE
from fabric.topology.model import Fabric
from fabric.units import PS_PER_MS
from telemetry.derive import RunInfo
from telemetry.live import token
from telemetry.live.api import MAX_BODY_BYTES, Api
from telemetry.live.audit import AuditError, AuditLog, beside
from telemetry.live.client import LiveClient, LiveError, find_token
from telemetry.live.collector import LiveCollector
from telemetry.live.mailbox import Mailbox
from telemetry.live.openapi import Route, Schemas
from telemetry.live.pacing import Pacer
from telemetry.live.player import Player, Program
from telemetry.live.view import ViewMaker
from telemetry.server import serve

TOKEN: Final = "a-token-of-the-test-0123456789"
VIEW: Final = "a-view-token-of-the-test-98765"
TOKENS: Final = token.Tokens(TOKEN, VIEW)
OBJECT: Final = {"type": "object", "additionalProperties": True}


class Still:
    """An engine that plays nothing, at any pace."""

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

    def recent_events(self, after: int, count: int) -> list[dict[str, Any]]:
        return [{"sequence": number} for number in range(after + 1, after + 4)][-count:]


@dataclass
class Served:
    host: str
    port: int
    player: Player
    world: World
    thread: threading.Thread
    audit: Path

    def ask(self, method: str, path: str, body: bytes | str | None = None, **headers: str) -> tuple[int, Any, Any]:
        given = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"} | {
            name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection(self.host, self.port, timeout=30)
        connection.request(method, path, body, {name: value for name, value in given.items() if value})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, json.loads(text), answer.headers

    def post(self, name: str, body: object = None) -> tuple[int, Any]:
        status, found, _ = self.ask("POST", f"/api/v1/{name}", None if body is None else json.dumps(body))
        return status, found


@pytest.fixture
def served(tiny: Fabric, still: Callable[..., Snapshot], tmp_path: Path) -> Iterator[Served]:
    player = Player(Program(1000 * PS_PER_MS, PS_PER_MS, stop_when_done=False, loop=False),
                    lambda: Still(lambda time_ps: still(tiny, time_ps=time_ps)), Pacer(1000), Mailbox())
    world = World()
    api = Api(player, world, TOKENS, {"scenario": "tiny", "version": "1.2.3", "hosts": 2, "switches": 1},
              Schemas(OBJECT, OBJECT, {}), audit := AuditLog(tmp_path / "audit"))
    thread = threading.Thread(target=player.play, daemon=True)
    with audit, serve("127.0.0.1:0", CollectorRegistry(), api.beside) as server:
        host, port = server.address
        thread.start()
        while not player.started:
            thread.join(0.01)
        yield Served(host, port, player, world, thread, audit.path)
        player.stop()
        thread.join(10)


def test_nothing_but_health_is_answered_before_the_engine_has(tiny: Fabric, still: Callable[..., Snapshot]) -> None:
    """At once: who asks would only wait for the compiler."""
    player = Player(Program(PS_PER_MS, PS_PER_MS, stop_when_done=False, loop=False),
                    lambda: Still(lambda time_ps: still(tiny, time_ps=time_ps)), Pacer(1000), Mailbox())
    api = Api(player, World(), TOKENS, {"scenario": "tiny", "version": "1"}, Schemas(OBJECT, OBJECT, {}))
    collector = LiveCollector(RunInfo("1", "r", "s", "asic", 1))
    collector.watch(player, lambda: still(tiny), lambda: still(tiny))
    registry = CollectorRegistry()
    registry.register(collector)
    with serve("127.0.0.1:0", registry, api.beside) as server:
        host, port = server.address

        def ask(path: str) -> tuple[int, str | None, str]:
            connection = http.client.HTTPConnection(host, port, timeout=2)
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
        thread = threading.Thread(target=player.play, daemon=True)
        thread.start()
        while not player.started:
            thread.join(0.01)
        assert [ask(path)[0] for path in ("/-/ready", "/metrics", "/api/v1/status")] == [200, 200, 200]
        player.stop()
        thread.join(10)


def test_the_status_says_where_the_run_is(served: Served) -> None:
    status, found, headers = served.ask("GET", "/api/v1/status")
    assert status == 200
    assert (found["scenario"], found["state"], found["dilation"], found["pass"]) == ("tiny", "playing", 1000, 1)
    assert headers["Cache-Control"] == "no-store"
    assert "Access-Control-Allow-Origin" not in headers


@pytest.mark.parametrize("given", ["", "Bearer wrong", "Bearer ", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN}x",
                                   f"Bearer {TOKEN[:-1]}"])
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
    assert served.ask("GET", "/api/v1/status")[1]["state"] == "playing"


@pytest.mark.parametrize("path", ["/-/healthy", "/-/ready", "/api/v1/openapi.json"])
def test_health_and_the_description_need_no_token(served: Served, path: str) -> None:
    assert served.ask("GET", path, Authorization="")[0] == 200
    assert served.ask("POST", path, Authorization="")[0] == 405


def test_a_run_is_paused_and_resumed(served: Served) -> None:
    assert served.post("pause")[1]["state"] == "paused"
    first, second = (served.ask("GET", "/api/v1/status")[1]["sim_time_seconds"] for _ in range(2))
    assert first == second
    assert served.post("resume")[1]["state"] == "playing"


def test_the_pace_is_changed(served: Served) -> None:
    assert served.post("speed", {"dilation": 250})[1]["dilation"] == 250
    assert served.player.pacer.dilation == 250


@pytest.mark.parametrize("body", [{}, {"dilation": 0}, {"dilation": -1}, {"dilation": "fast"}, {"dilation": True},
                                  {"dilation": 1e12}, {"dilation": 10, "speed": 3}, {"dilation": 10 ** 400}])
def test_a_pace_that_is_none_is_refused_with_its_range(served: Served, body: dict[str, Any]) -> None:
    status, found = served.post("speed", body)
    assert status == 422
    assert found["error"]["problems"][0]["hint"]
    assert served.player.pacer.dilation == 1000


def test_a_fault_begins_at_the_first_moment_that_can_still_change(served: Served) -> None:
    status, found = served.post("faults", {"kind": "link-down", "link": "x"})
    assert (status, found["name"], found["pass"]) == (200, "live-1", 1)
    (what, fault, now_ps), = served.world.asked
    assert (what, fault) == ("inject", {"kind": "link-down", "link": "x"})
    assert 0 <= now_ps <= 1000 * PS_PER_MS


def test_problems_of_a_fault_come_back_with_their_remedies(served: Served) -> None:
    status, found = served.post("faults", {})
    assert status == 422
    assert found["error"]["problems"] == [{"path": "fault.kind", "text": "is missing", "hint": "one of: link-down"}]


def test_stop_ends_the_run(served: Served) -> None:
    assert served.post("stop")[0] == 200
    served.thread.join(10)
    assert not served.thread.is_alive()


@pytest.mark.parametrize(("body", "headers", "status"), [
    (b"{", {}, 400), (b"[]", {}, 400), (b"7", {}, 400), (b'{"dilation": NaN}', {}, 400), (b"\xff\xfe", {}, 400),
    (b'{"a":' * 9000 + b"1" + b"}" * 9000, {}, 400),
    (b'{"dilation": 10}', {"Content_Type": "text/plain"}, 415), (b'{"dilation": 10}', {"Content_Type": ""}, 415),
    (b" " * (MAX_BODY_BYTES + 1), {}, 413)])
def test_a_body_that_is_no_small_json_object_is_refused(served: Served, body: bytes, headers: dict[str, str],
                                                        status: int) -> None:
    assert served.ask("POST", "/api/v1/speed", body, **headers)[0] == status
    assert served.player.pacer.dilation == 1000


def test_a_body_without_its_length_is_not_waited_for(served: Served) -> None:
    with socket.create_connection((served.host, served.port), timeout=30) as door:
        door.sendall(f"POST /api/v1/speed HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
                     "Transfer-Encoding: chunked\r\n\r\n".encode())
        assert b" 411 " in door.recv(200)
    with socket.create_connection((served.host, served.port), timeout=30) as door:
        door.sendall(f"POST /api/v1/speed HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
                     "Content-Length: -5\r\n\r\n".encode())
        assert b" 400 " in door.recv(200)


@pytest.mark.parametrize("length", ["9" * 5000, "0" * 5000, "9" * 13, str(1 << 62)])
def test_a_length_of_very_many_digits_is_refused_without_being_read(served: Served, length: str) -> None:
    with socket.create_connection((served.host, served.port), timeout=30) as door:
        door.sendall(f"POST /api/v1/speed HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
                     f"Content-Length: {length}\r\n\r\n".encode())
        assert b" 413 " in door.recv(200)


@pytest.mark.parametrize("path", ["/api/v1/status", "/api/v1/openapi.json", "/-/healthy", "/-/ready"])
def test_a_head_request_is_answered(served: Served, path: str) -> None:
    connection = http.client.HTTPConnection(served.host, served.port, timeout=30)
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


@pytest.mark.parametrize("query", ["rows=0", "rows=1001", "rows=x", "rows=-1", "rows=1e3", "sort=port", "rows=²",
                                   "rows=" + "9" * 5000])
def test_a_query_that_nobody_reads_is_refused(served: Served, query: str) -> None:
    status, found, _ = served.ask("GET", f"/api/v1/view?{query.encode('ascii', 'backslashreplace').decode()}")
    assert status == 422
    assert found["error"]["problems"][0]["hint"]


def test_a_query_of_very_many_fields_is_refused(served: Served) -> None:
    status, found, _ = served.ask("GET", "/api/v1/view?" + "&".join(f"f{number}=1" for number in range(100)))
    assert (status, "fields" in found["error"]["text"]) == (400, True)


def test_events_are_asked_for_from_a_number_on(served: Served) -> None:
    assert served.ask("GET", "/api/v1/events?after=7&rows=2")[1]["events"] == [{"sequence": 9}, {"sequence": 10}]


def test_nothing_changes_once_the_run_is_over(tiny: Fabric, still: Callable[..., Snapshot]) -> None:
    player = Player(Program(PS_PER_MS, PS_PER_MS, stop_when_done=False, loop=False),
                    lambda: Still(lambda time_ps: still(tiny, time_ps=time_ps)), Pacer(0.001), Mailbox())
    api = Api(player, World(), TOKENS, {}, Schemas(OBJECT, OBJECT, {}))
    threading.Thread(target=player.play, daemon=True).start()
    with serve("127.0.0.1:0", CollectorRegistry(), api.beside) as server:
        client = LiveClient("http://{}:{}".format(*server.address), TOKEN)
        while client.get("status")["state"] != "finished":
            pass
        with pytest.raises(LiveError, match="the run is over") as caught:
            client.post("faults", {"kind": "x"})
        assert "--loop" in caught.value.hint
    player.stop()


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


# ===== roles and the audit log =====


@pytest.mark.parametrize("route", Route.all(), ids=lambda route: route.name)
def test_the_role_view_looks_and_changes_nothing(served: Served, route: Route) -> None:
    status, found, _ = served.ask(route.method, route.path, None, Authorization=f"Bearer {VIEW}")
    assert status == (200 if route.method == "GET" else 403)
    if status == 403:
        assert "operate" in found["error"]["hint"]
    assert not served.world.asked
    assert served.ask("GET", "/api/v1/status")[1]["state"] == "playing"


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]


def test_every_change_is_logged_with_who_when_what_and_its_result(served: Served) -> None:
    served.post("speed", {"dilation": 500})
    served.post("faults", {"kind": "x"})
    served.post("faults", {})
    served.ask("POST", "/api/v1/pause", Authorization=f"Bearer {VIEW}")
    served.ask("POST", "/api/v1/pause", Authorization="Bearer nobody")
    served.ask("POST", "/api/v1/speed", b"{")
    served.ask("GET", "/api/v1/status")
    found = lines(served.audit)
    assert [(it["action"], it["role"], it["result"]) for it in found] == [
        ("speed", "operate", "200 OK"), ("faults", "operate", "200 OK"),
        ("faults", "operate", "422 Unprocessable Entity"), ("pause", "view", "403 Forbidden"),
        ("speed", "operate", "400 Bad Request")]
    assert found[0]["request"] == {"dilation": 500}
    assert found[1]["name"] == "live-1"
    assert found[1]["sim_time_ns"] == served.world.asked[0][2] // 1000
    assert {it["client"] for it in found} == {"127.0.0.1"}
    assert all(datetime.fromisoformat(it["time"]).tzinfo for it in found)
    assert [it["time"] for it in found] == sorted(it["time"] for it in found)
    assert all(it["pass"] == 1 and it["sim_time_ns"] >= 0 for it in found)
    assert TOKEN not in served.audit.read_text()


def test_control_characters_do_not_reach_the_audit_log(served: Served) -> None:
    nasty = "".join(map(chr, [*range(32), 127, *range(128, 160), 0x202e, 0x2028, 0xd800]))
    served.post("faults", {"kind": nasty, nasty: "\x1b[2J"})
    raw = served.audit.read_bytes()
    assert all(32 <= byte < 127 for byte in raw.replace(b"\n", b""))
    assert raw.count(b"\n") == 1
    assert lines(served.audit)[0]["request"][nasty] == "\x1b[2J"


def test_a_long_request_is_cut_in_the_audit_log(served: Served) -> None:
    served.post("faults", {"kind": "x", "hosts": ["h" * 100] * 400})
    request = lines(served.audit)[0]["request"]
    assert len(request) < 5000
    assert "characters" in request


def test_what_cannot_be_logged_is_not_done(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    write, full_disk = os.write, True

    def written(handle: int, data: bytes) -> int:
        if full_disk:
            raise OSError(28, "No space left on device")
        return write(handle, data)

    monkeypatch.setattr("telemetry.live.audit.os.write", written)
    assert served.post("faults", {"kind": "first"})[0] == 200      # nothing was known of it before
    status, found = served.post("faults", {"kind": "second"})
    assert (status, "No space left" in found["error"]["text"]) == (503, True)
    assert served.ask("GET", "/api/v1/status")[0] == 200
    full_disk = False
    assert served.post("faults", {"kind": "third"})[0] == 200
    assert [fault["kind"] for _, fault, _ in served.world.asked] == ["first", "third"]
    assert [it["request"]["kind"] for it in lines(served.audit)] == ["first", "third"]


def test_the_audit_log_is_appended_to_and_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "log"
    for number in range(2):
        with AuditLog(path) as log:
            log.write("console", "", "serve", str(number))
    assert [it["result"] for it in lines(path)] == ["0", "1"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_an_audit_log_is_a_regular_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "pipe", Path("/dev/null"), tmp_path, tmp_path / "no" / "log"):
        with pytest.raises(AuditError) as caught:
            AuditLog(place)
        assert str(place) in caught.value.text
        assert "--audit" in caught.value.hint


def test_the_audit_log_of_a_run_is_beside_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert beside(Path("runs/live")) == Path("runs/live.audit.jsonl")
    monkeypatch.chdir(tmp_path)
    assert beside(Path()) == tmp_path.with_name(f"{tmp_path.name}.audit.jsonl")


def test_both_roles_with_one_token_are_refused() -> None:
    with pytest.raises(token.TokenError, match="both roles"):
        token.Tokens(TOKEN, TOKEN)
    assert token.Tokens(TOKEN).role(VIEW) is None


# ===== tokens and the client =====


def test_a_token_file_is_its_owners_alone(tmp_path: Path) -> None:
    path = token.token_path(9464, {"XDG_STATE_HOME": str(tmp_path)})
    token.write_token(path, TOKEN)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert token.read_token(path) == TOKEN
    token.write_token(path, TOKEN + "2")    # what a killed server left is replaced
    assert token.read_token(path) == TOKEN + "2"
    assert not token.is_open_to_others(path)


def test_a_token_is_not_written_through_a_link_that_somebody_left(tmp_path: Path) -> None:
    path = token.token_path(9464, {"XDG_STATE_HOME": str(tmp_path)})
    path.parent.mkdir(parents=True)
    victim = tmp_path / "victim"
    victim.write_text("mine")
    path.symlink_to(victim)
    token.write_token(path, TOKEN)
    assert victim.read_text() == "mine"
    assert not path.is_symlink()


@pytest.mark.parametrize("text", ["", "short", "with a space inside it", "ünprintable-token-0123456789"])
def test_a_token_that_is_none_is_refused_with_a_way_to_make_one(tmp_path: Path, text: str) -> None:
    path = tmp_path / "token"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(token.TokenError) as caught:
        token.read_token(path)
    assert "secrets" in caught.value.hint


def test_a_user_without_a_home_is_told_how_to_give_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> Path:
        raise RuntimeError("no home")

    monkeypatch.setattr(token.Path, "home", nowhere)
    with pytest.raises(token.TokenError) as caught:
        token.token_path(9464, {})
    assert token.VARIABLE in caught.value.hint
    assert token.token_path(9464, {"XDG_STATE_HOME": "/x"}) == Path("/x/fabric/serve-9464.token")


def test_new_tokens_differ_and_are_long() -> None:
    made = {token.make_token() for _ in range(50)}
    assert len(made) == 50
    assert min(map(len, made)) >= 43


def test_the_client_finds_the_token_of_a_server_on_this_machine(served: Served, tmp_path: Path) -> None:
    environ = {"XDG_STATE_HOME": str(tmp_path)}
    url = f"http://127.0.0.1:{served.port}"
    with pytest.raises(LiveError, match="no token"):
        find_token(url, None, environ)
    token.write_token(token.token_path(served.port, environ, token.Role.VIEW), VIEW)
    assert find_token(url, None, environ) == VIEW
    token.write_token(token.token_path(served.port, environ), TOKEN)
    assert LiveClient(url, find_token(url, None, environ)).get("status")["scenario"] == "tiny"
    assert find_token(url, None, {**environ, token.VARIABLE: "another-token-0123456789"}).startswith("another")


def test_the_client_tells_a_wrong_token_from_a_server_that_is_not_there(served: Served) -> None:
    with pytest.raises(LiveError, match="token is missing or wrong"):
        LiveClient(f"http://127.0.0.1:{served.port}", "wrong-token-0123456789").get("status")
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = door.getsockname()[1]
    with pytest.raises(LiveError, match="no answer from") as caught:
        find_token(f"http://127.0.0.1:{port}", None, {"HOME": "/nonexistent", "XDG_STATE_HOME": "/nonexistent"})
    assert "fabric serve" in caught.value.hint


def test_the_client_says_what_is_wrong_with_a_request(served: Served) -> None:
    client = LiveClient(f"http://127.0.0.1:{served.port}", TOKEN)
    with pytest.raises(InputErrors) as caught:
        client.post("faults", {})
    assert caught.value.problems == (Problem("fault.kind", "is missing", "one of: link-down"),)
    assert isinstance(caught.value, FabricError)


def test_a_server_of_another_kind_is_told(tiny: Fabric) -> None:
    with serve("127.0.0.1:0", CollectorRegistry()) as server, pytest.raises(LiveError, match="not as `fabric serve`"):
        LiveClient("http://{}:{}".format(*server.address), TOKEN).get("status")


# ===== the view =====


def test_shares_are_of_the_time_since_the_look_before(tiny: Fabric, still: Callable[..., Snapshot]) -> None:
    wall = iter([0.0, 1.0, 1.2, 2.0])
    views = ViewMaker(clock=lambda: next(wall))

    def at(time_ps: int, paused_ps: int) -> dict[str, Any]:
        snapshot = still(tiny, time_ps=time_ps)
        snapshot.prios["rx_paused_ps"][2, 3] = paused_ps
        return views.view(1, snapshot)

    assert at(1000, 100)["ports"][0]["paused_ratio"] == pytest.approx(0.1)      # since the beginning
    second = at(2000, 1100)
    assert (second["ports"][0]["paused_ratio"], second["window_seconds"]) == (pytest.approx(1.0), 1000 / 1e12)
    assert at(2200, 1100)["ports"][0]["paused_ratio"] == pytest.approx(1000 / 1200, rel=1e-4)   # no new base yet
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
    assert [f"{row['device']}:{row['port']}" for row in view["ports"]] == [
        tiny.port_name(port) for port in (1, 2)]
    assert [row["bytes"] for row in view["queues"]] == [7, 5]
