"""Client of the control API, with the standard library's HTTP client."""

from __future__ import annotations

import http.client
import ipaddress
import json
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPSHandler, ProxyHandler, Request, build_opener

from fabric.errors import FabricError, InputErrors, Problem
from fabric.reading import MIB
from fabric.visible import in_data, visible
from telemetry.live.openapi import BASE
from telemetry.live.token import VARIABLE, Role, checked, read_token, token_path

TIMEOUT_S: Final = 10.0
"""Longer than the server waits for the run, so that its error text arrives."""
_MAX_ANSWER_BYTES: Final = 64 * MIB
"""A view of 1000 rows has about 1 MB; another program may answer with more."""
DEFAULT_URL: Final = "http://127.0.0.1:9464"


class LiveError(FabricError):
    """A server that cannot be reached, or that refuses a request."""


def base_url(text: str) -> str:
    """'127.0.0.1:9464', 'http://host:9464' or '.../metrics' -> 'http://host:9464'. Raises: LiveError."""
    whole = text if "://" in text else f"http://{text}"
    try:
        parts = urlsplit(whole)
        is_one = (
            parts.scheme in {"http", "https"}
            and bool(parts.hostname)
            and parts.port is not None
            and parts.path in {"", "/", "/metrics"}
            and "@" not in parts.netloc
        )
    except ValueError:  # brackets that do not close, an invalid port
        is_one = False
    if not is_one:
        raise LiveError(f"'{text}' is not the address of a live run", f"give a URL such as '{DEFAULT_URL}'")
    return f"{parts.scheme}://{parts.netloc}"


def find_token(url: str, token_file: Path | None, environ: Mapping[str, str], tls: ssl.SSLContext | None = None) -> str:
    """The token for a server: from the file, the environment, or the token folder of this machine.

    On this machine the token of the role 'operate' is preferred to that of 'view'.

    Raises: LiveError, TokenError.
    """
    if token_file is not None:
        return read_token(token_file)
    if VARIABLE in environ:
        return checked(environ[VARIABLE], f"${VARIABLE}")
    parts = urlsplit(url)
    for role in (Role.OPERATE, Role.VIEW):
        path = token_path(parts.port or 0, environ, role)
        if _is_here(parts.hostname or "") and path.is_file():
            return read_token(path)
    LiveClient(url, "", tls).reach()  # a server that does not answer is the more useful error
    raise LiveError(
        f"no token for {url} was found",
        f"give the token file that `fabric serve` printed at its start: --token-file or ${VARIABLE}",
    )


def _is_here(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class LiveClient:
    """Client of one server. Every method raises LiveError, or InputErrors with the problems of a request.

    Parameters
    ----------
    url : str      from base_url
    token : str    the bearer token
    tls : SSLContext, optional     trusted authorities and client certificate; default: the system's
    """

    def __init__(self, url: str, token: str, tls: ssl.SSLContext | None = None) -> None:
        self.url = url
        self._token = token
        # Requests to a server on this machine must not use a proxy of the environment.
        self._opener = build_opener(ProxyHandler({}), *([] if tls is None else [HTTPSHandler(context=tls)]))

    def reach(self) -> None:
        """Check that the server answers; needs no token."""
        self._ask("GET", f"{BASE}/openapi.json", None)

    def get(self, name: str, **query: int) -> dict[str, Any]:
        """GET a route of the API."""
        return self._ask("GET", f"{BASE}/{name}" + (f"?{urlencode(query)}" if query else ""), None)

    def post(self, name: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """POST to a route of the API."""
        return self._ask("POST", f"{BASE}/{name}", json.dumps(body or {}).encode())

    def _ask(self, method: str, path: str, body: bytes | None) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        request = Request(f"{self.url}{path}", body, headers, method=method)  # noqa: S310  base_url has seen the scheme
        try:
            with self._opener.open(request, timeout=TIMEOUT_S) as answer:
                data = answer.read(_MAX_ANSWER_BYTES + 1)
            if len(data) > _MAX_ANSWER_BYTES:
                raise _stranger(self.url)
            found = json.loads(data)
        except HTTPError as error:
            with error:
                raise _refused(self.url, error.code, error.read(_MAX_ANSWER_BYTES)) from error
        except (URLError, OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            raise LiveError(
                f"no answer from {self.url}: {getattr(reason, 'strerror', None) or reason}",
                "start `fabric serve`, or give the URL that it printed",
            ) from error
        except (ValueError, RecursionError) as error:
            raise _stranger(self.url) from error
        if not isinstance(found, dict):
            raise _stranger(self.url)
        return {visible(name): in_data(value) for name, value in found.items()}


def _refused(url: str, code: int, body: bytes) -> FabricError:
    try:
        error = in_data(json.loads(body)["error"])
        problems = [Problem(it["path"], it["text"], it["hint"]) for it in error["problems"]]
        text, hint = str(error["text"]), str(error["hint"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return _stranger(url, f" (HTTP status {code})")
    if problems:
        return InputErrors(text.rpartition(": ")[0] or text, problems)
    return LiveError(f"{url}: {text}", hint)


def _stranger(url: str, how: str = "") -> LiveError:
    return LiveError(f"{url} answers, but not as `fabric serve` does{how}", "give the URL that `fabric serve` printed")
