"""Who may use the control API: roles, tokens and their files, the audit log, and the client that finds them."""

from __future__ import annotations

import json
import os
import socket
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from fabric.errors import FabricError, InputErrors, Problem
from fabric.topology.model import Fabric
from telemetry.export.server import serve
from telemetry.live import token
from telemetry.live.audit import AuditError, AuditLog, beside
from telemetry.live.client import LiveClient, LiveError, find_token
from telemetry.live.openapi import Route
from tests.telemetry.served import TOKEN, VIEW, Served


@pytest.mark.parametrize("route", Route.all(), ids=lambda route: route.name)
def test_the_role_view_looks_and_changes_nothing(served: Served, route: Route) -> None:
    status, found, _ = served.ask(route.method, route.path, None, Authorization=f"Bearer {VIEW}")
    assert status == (200 if route.method == "GET" else 403)
    if status == 403:
        assert "operate" in found["error"]["hint"]
    assert not served.world.asked
    assert served.ask("GET", "/api/v1/status")[1]["state"] == "running"


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
        ("speed", "operate", "200 OK"),
        ("faults", "operate", "200 OK"),
        ("faults", "operate", "422 Unprocessable Entity"),
        ("pause", "view", "403 Forbidden"),
        ("speed", "operate", "400 Bad Request"),
    ]
    assert found[0]["request"] == {"dilation": 500}
    assert found[1]["name"] == "live-1"
    assert found[1]["sim_time_ns"] == served.world.asked[0][2] // 1000
    assert {it["client"] for it in found} == {"127.0.0.1"}
    assert all(datetime.fromisoformat(it["time"]).tzinfo for it in found)
    assert [it["time"] for it in found] == sorted(it["time"] for it in found)
    assert all(it["pass"] == 1 and it["sim_time_ns"] >= 0 for it in found)
    assert TOKEN not in served.audit.read_text()


def test_control_characters_do_not_reach_the_audit_log(served: Served) -> None:
    nasty = "".join(map(chr, [*range(32), 127, *range(128, 160), 0x202E, 0x2028, 0xD800]))
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
    assert served.post("faults", {"kind": "first"})[0] == 200  # nothing was known of it before
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
    token.write_token(path, TOKEN + "2")  # what a killed server left is replaced
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
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
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
