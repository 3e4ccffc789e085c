"""TLS of the HTTP interface and its client, with certificates made by openssl."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from telemetry.export import http_server
from telemetry.export.server import Access, Beside, serve
from telemetry.export.tls import TlsError, TlsFiles, client_context, server_context
from telemetry.live.client import LiveClient, LiveError


@dataclass(frozen=True)
class Pki:
    """An authority, and certificates of it."""

    folder: Path

    @property
    def ca(self) -> Path:
        return self.folder / "ca.pem"

    def pair(self, name: str) -> tuple[Path, Path]:
        return self.folder / f"{name}.pem", self.folder / f"{name}.key"

    @property
    def server(self) -> TlsFiles:
        return TlsFiles(*self.pair("server"))

    def client(self, name: str | None = None) -> ssl.SSLContext:
        return client_context(self.ca, *(self.pair(name) if name else (None, None)))


def make_pki(folder: Path) -> Pki:
    """An authority; a server with the names of this machine; a client; a client of another authority."""
    openssl = shutil.which("openssl") or pytest.skip("openssl is not installed (Debian: apt-get install openssl)")

    def call(*words: str) -> None:
        subprocess.run([openssl, *words], cwd=folder, check=True, capture_output=True)

    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2")
    for ca in ("ca", "other"):
        call(
            "req",
            "-x509",
            *key,
            "-keyout",
            f"{ca}.key",
            "-out",
            f"{ca}.pem",
            "-subj",
            f"/CN={ca}",
            "-addext",
            "keyUsage=critical,keyCertSign,cRLSign",
        )
    for name, ca in (("server", "ca"), ("operator", "ca"), ("stranger", "other")):
        call(
            "req",
            "-x509",
            *key,
            "-keyout",
            f"{name}.key",
            "-out",
            f"{name}.pem",
            "-subj",
            f"/CN={name}",
            "-CA",
            f"{ca}.pem",
            "-CAkey",
            f"{ca}.key",
            "-addext",
            "subjectAltName=IP:127.0.0.1,DNS:localhost",
            "-addext",
            "basicConstraints=CA:FALSE",
        )
    call("pkey", "-in", "server.key", "-aes256", "-passout", "pass:secret", "-out", "encrypted.key")
    return Pki(folder)


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return make_pki(tmp_path_factory.mktemp("pki"))


def get(url: str, context: ssl.SSLContext) -> int:
    with urllib.request.urlopen(url, timeout=120, context=context) as answer:  # noqa: S310  our own server
        return int(answer.status)


def test_a_scrape_goes_over_tls(pki: Pki) -> None:
    with serve("127.0.0.1:0", CollectorRegistry(), access=Access(tls=pki.server)) as server:
        assert server.url.startswith("https://127.0.0.1:")
        assert get(server.url, pki.client()) == 200
        with pytest.raises(OSError, match="CERTIFICATE_VERIFY_FAILED"):
            get(server.url, ssl.create_default_context())
        with pytest.raises(OSError):  # noqa: PT011  a reset or an empty answer, as it happens
            get(server.url.replace("https", "http"), pki.client())


def test_a_large_answer_goes_over_tls_whole(pki: Pki) -> None:
    large = Beside(lambda path: path == "/large", lambda _, start: (start("200 OK", []), [bytes(8 << 20)])[1])
    with serve("127.0.0.1:0", CollectorRegistry(), large, Access(tls=pki.server)) as server:
        for _ in range(3):
            with urllib.request.urlopen(  # noqa: S310
                server.url.replace("metrics", "large"), timeout=120, context=pki.client()
            ) as answer:
                assert len(answer.read()) == 8 << 20


def test_only_clients_with_a_certificate_of_the_authority_get_in(pki: Pki) -> None:
    seen: list[str] = []
    tls = TlsFiles(*pki.pair("server"), pki.ca)
    app = Beside(
        lambda path: path == "/who",
        lambda environ, start: (seen.append(environ["fabric.client_subject"]), start("200 OK", []), [b"ok"])[2],
    )
    with serve("127.0.0.1:0", CollectorRegistry(), app, Access(tls=tls)) as server:
        url = server.url.replace("metrics", "who")
        assert get(url, pki.client("operator")) == 200
        for context in (pki.client(), pki.client("stranger")):
            with pytest.raises(OSError):  # noqa: PT011  an alert of TLS 1.3 comes with the first read
                get(url, context)
        assert get(url, pki.client("operator")) == 200
    assert seen == ["operator", "operator"]


def test_clients_that_do_not_finish_the_handshake_block_nobody(pki: Pki, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "HEAD_S", 2.0)  # for a handshake that is finished, too
    with serve("127.0.0.1:0", CollectorRegistry(), access=Access(tls=pki.server), limit=4) as server:
        silent = [socket.create_connection(server.address, timeout=120) for _ in range(8)]
        silent[-1].sendall(b"\x16\x03\x01")
        assert get(server.url, pki.client()) == 200
        for client in silent:
            with suppress(ConnectionResetError):
                assert client.recv(1) == b""
            client.close()
        with socket.create_connection(server.address, timeout=120) as plain:
            plain.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b"200" not in plain.recv(100)
        assert get(server.url, pki.client()) == 200


def test_versions_before_1_2_are_not_spoken(pki: Pki) -> None:
    assert server_context(pki.server).minimum_version is ssl.TLSVersion.TLSv1_2
    assert pki.client().minimum_version is ssl.TLSVersion.TLSv1_2


def test_the_client_of_the_api_speaks_tls(pki: Pki) -> None:
    with serve("127.0.0.1:0", CollectorRegistry(), access=Access(tls=pki.server)) as server:
        with pytest.raises(LiveError, match="not as `fabric serve`"):
            LiveClient(server.url.removesuffix("/metrics"), "x", pki.client()).get("status")
        with pytest.raises(LiveError, match="CERTIFICATE_VERIFY_FAILED"):
            LiveClient(server.url.removesuffix("/metrics"), "x").get("status")


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda pki: TlsFiles(pki.folder / "none.pem", pki.pair("server")[1]), "none.pem: No such file"),
        (lambda pki: TlsFiles(pki.pair("server")[0], pki.pair("operator")[1]), "KEY_VALUES_MISMATCH"),
        (lambda pki: TlsFiles(pki.pair("server")[1], pki.pair("server")[1]), "are not a certificate and its key"),
        (lambda pki: TlsFiles(pki.pair("server")[0], pki.folder / "encrypted.key"), "is encrypted"),
        (lambda pki: TlsFiles(pki.folder, pki.folder), "is a directory"),
        (lambda pki: TlsFiles(*pki.pair("server"), pki.pair("server")[1]), "no certificate of an authority"),
    ],
)
def test_files_that_cannot_be_used_are_refused_with_their_names(
    pki: Pki, make: Callable[[Pki], TlsFiles], text: str
) -> None:
    with pytest.raises(TlsError) as caught:
        serve("127.0.0.1:0", CollectorRegistry(), access=Access(tls=make(pki)))
    assert text in caught.value.text
    assert caught.value.exit_code == 2
    assert caught.value.hint
