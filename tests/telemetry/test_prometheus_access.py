"""`fabric capacity` and a protected Prometheus: token, password, authorities; secrets stay out of every message."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import pytest

from fabric.cli.main import main
from telemetry.export.tls import server_context
from tests.telemetry.test_tls import Pki, make_pki

TOKEN: Final = "t0ken-of-a-reader"
PASSWORD: Final = "pass word: with colon"
BASIC: Final = "Basic " + base64.b64encode(f"reader:{PASSWORD}".encode()).decode()
TIMES: Final = ["--start", "2026-01-01T00:00:00Z", "--end", "2026-01-31T00:00:00Z", "--json"]
LABELS: Final = {"role": "leaf", "peer_role": "spine", "device": "leaf1", "port": "Ethernet0"}
VALUES: Final = [[1_767_225_600 + day * 86_400, str(0.1 + 0.01 * day)] for day in range(30)]


class Stub(BaseHTTPRequestHandler):
    """Answers range queries with a growing history, and only with the right authorization."""

    wanted = ""
    seen: list[str | None]
    redirect = ""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        given = self.headers["Authorization"]
        self.seen.append(given)
        if self.redirect:
            self._send(302, b"", Location=self.redirect)
        elif given != (self.wanted or None):
            self._send(401, f"not this one: {given}".encode())
        else:
            result = [{"metric": LABELS, "values": VALUES}] if "range" in self.path else []
            self._send(200, json.dumps({"data": {"result": result}}).encode())

    def _send(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:  # noqa: ANN401
        """Say nothing."""


@contextmanager
def stub(wanted: str = "", pki: Pki | None = None, redirect: str = "") -> Iterator[tuple[str, list[str | None]]]:
    """(URL, Authorization of each request) of a server."""
    seen: list[str | None] = []
    handler = type("Handler", (Stub,), {"wanted": wanted, "seen": seen, "redirect": redirect})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    if pki is not None:
        server.socket = server_context(pki.server).wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http{'s' if pki else ''}://127.0.0.1:{server.server_port}", seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


Files = Callable[[str, str], str]


@pytest.fixture
def secret(tmp_path: Path) -> Files:
    def write(name: str, text: str) -> str:
        (tmp_path / name).write_text(text, encoding="utf-8")
        return str(tmp_path / name)

    return write


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return make_pki(tmp_path_factory.mktemp("pki"))


def capacity(url: str, *words: str) -> int:
    return main(["capacity", "--prometheus", url, *TIMES, *words])


def test_a_token_or_a_password_of_a_file_is_sent_with_every_request(
    secret: Files, capsys: pytest.CaptureFixture[str]
) -> None:
    token, password = secret("token", f"{TOKEN}\n"), secret("password", f"{PASSWORD}\n")
    with stub(f"Bearer {TOKEN}") as (url, seen):
        assert capacity(url, "--token-file", token) == 0
        assert set(seen) == {f"Bearer {TOKEN}"}
    assert json.loads(capsys.readouterr().out)["classes"]["classes"][0]["link_class"] == "leaf to spine"
    with stub(BASIC) as (url, seen):
        assert capacity(f"{url}/prometheus/", "--user", "reader", "--password-file", password) == 0
        assert set(seen) == {BASIC}


def test_a_refusal_names_the_options_and_not_the_secret(secret: Files, capsys: pytest.CaptureFixture[str]) -> None:
    token, password = secret("token", TOKEN), secret("password", PASSWORD)
    for words in ((), ("--token-file", token), ("--user", "reader", "--password-file", password)):
        with stub("Bearer of-another") as (url, _):
            assert capacity(url, *words) == 2
        told = capsys.readouterr()
        assert "answered 401: not this one" in told.err
        assert "--token-file" in told.err
        for hidden in (TOKEN, PASSWORD, BASIC.removeprefix("Basic ")):
            assert hidden not in told.err + told.out


def test_a_redirection_to_another_server_does_not_get_the_secret(secret: Files) -> None:
    with stub() as (other, others), stub(redirect=f"{other}/api/v1/query_range") as (url, seen):
        assert capacity(url, "--token-file", secret("token", TOKEN)) == 0
        assert set(seen) == {f"Bearer {TOKEN}"}
        assert set(others) == {None}


def test_the_certificate_of_the_server_is_checked_with_the_given_authority(
    pki: Pki, secret: Files, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--token-file", secret("token", TOKEN))
    with stub(f"Bearer {TOKEN}", pki) as (url, seen):
        assert capacity(url, *words, "--tls-ca", str(pki.ca)) == 0
        assert capacity(url, *words, "--tls-ca", str(pki.pair("other")[0])) == 2
        assert capacity(url, *words) == 2
        assert len(seen) == 2
    told = capsys.readouterr().err
    assert told.count("TLS failed") == 2
    assert "--tls-ca" in told


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--user", "reader"), "--user: goes together with --password-file"),
        (("--password-file", "x"), "--user: goes together with --password-file"),
        (("--tls-cert", "x", "--tls-key", "y"), "--tls-cert: has no effect without TLS"),
        (("--tls-ca", "x"), "--tls-ca: has no effect without TLS"),
        (("--user", "a:b", "--password-file", "x"), "--user: is no user name"),
        (("--user", "a", "--password-file", "x", "--token-file", "y"), "a request has one authorization"),
        (("--token-file", "{missing}"), "--token-file: "),
        (("--token-file", "{empty}"), "empty is empty"),
        (("--token-file", "{two}"), "two is not one line of printable characters"),
        (("--token-file", "{spaces}"), "spaces is no token"),
    ],
)
def test_wrong_options_are_named(
    words: tuple[str, ...], text: str, secret: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"empty": "\n", "two": "s3cret\nline\n", "spaces": "s3cret of three\n"}
    names = {name: secret(name, content) for name, content in files.items()} | {"missing": str(tmp_path / "missing")}
    assert capacity("http://127.0.0.1:9", *(it.format_map(names) for it in words)) == 2
    told = capsys.readouterr().err
    assert text in told
    assert "s3cret" not in told


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("http://reader:s3cret@host:9090", "holds a user or a password"),
        ("https://s3cret@[::1", "is no URL"),
        ("ftp://host", "is no URL"),
        ("http://host:9090/?a=b", "has a query"),
    ],
)
def test_a_url_that_is_none_or_holds_a_password_is_refused_without_it(
    url: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert capacity(url) == 2
    told = capsys.readouterr().err
    assert text in told
    assert "s3cret" not in told


def test_a_secret_over_a_network_without_tls_is_warned_about(secret: Files, capsys: pytest.CaptureFixture[str]) -> None:
    token = ["--token-file", secret("token", TOKEN)]
    assert capacity("http://prometheus.invalid:9090", *token) == 2
    assert "the secret is sent without encryption" in capsys.readouterr().err
    assert capacity("http://127.0.0.1:9", *token) == 2
    assert "without encryption" not in capsys.readouterr().err


def test_access_has_no_effect_with_recorded_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["capacity", "--run", "2026-01-01=x", "--token-file", "t", "--tls-ca", "c"]) == 2
    told = capsys.readouterr().err
    for option in ("--token-file", "--tls-ca"):
        assert f"{option}: has no effect without --prometheus" in told
