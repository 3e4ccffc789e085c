"""The head of an HTTP/1 request: strict parsing of bytes to fields (RFC 9110, RFC 9112), without sockets.

Rules
1. Lines end in CR LF, and a header field has no space before its colon (RFC 9112 section 5.1) and is not folded
   (section 5.2). Ambiguous input is refused.
2. Fields for framing and identity may be present once at most: Host, Content-Length, Transfer-Encoding, Content-Type,
   Authorization. Repetitions of other fields are joined by commas (RFC 9110 section 5.3).
3. HTTP/1.1 requires Host (RFC 9112 section 3.2); a request target with a host in it overrides it (section 3.2.2).
4. The length of every number is checked before it is parsed.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final
from urllib.parse import unquote_to_bytes

MAX_HEAD_BYTES: Final = 16_384
MAX_FIELDS: Final = 64
_LENGTH_DIGITS: Final = 12
"""Maximum digits of a Content-Length; a terabyte has 13."""
_TOKEN: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_LINE: Final = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}) ([\x21-\x7e]+) HTTP/(\d)\.(\d)")
_ABSOLUTE: Final = re.compile(rb"https?://([^/?#]*)(.*)", re.IGNORECASE)
_HOST: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{0,5})?")
_UNSEEN: Final = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_ONCE: Final = frozenset({"host", "content-length", "transfer-encoding", "content-type", "authorization"})


class HttpError(Exception):
    """A refused request, with the status of the answer."""

    def __init__(self, status: HTTPStatus, text: str, *headers: tuple[str, str]) -> None:
        super().__init__(text)
        self.status, self.text, self.headers = status, text, headers


@dataclass(frozen=True, slots=True)
class Request:
    """One request."""

    method: str
    path: str
    """Decoded; characters are bytes (PEP 3333)."""
    query: str
    host: str
    """Requested host name or address, lower case, without brackets and port; '' where the request has none."""
    headers: dict[str, str]
    """By name in lower case."""
    body: bytes = b""
    client: str = ""
    """Address of the client."""
    subject: str = ""
    """Common name of the client's certificate, where one was required."""

    @property
    def length(self) -> int | None:
        """Length of the body according to the head; None: the head has no usable length."""
        text = self.headers.get("content-length", "0")
        if (
            "transfer-encoding" in self.headers
            or not text.isascii()
            or not text.isdigit()
            or len(text) > _LENGTH_DIGITS
        ):
            return None
        return int(text)


def read_head(data: bytes) -> Request:
    """Parse a request head that ends with its empty line. Raises: HttpError."""
    lines = data.removesuffix(b"\r\n\r\n").split(b"\r\n")
    found = _LINE.fullmatch(lines[0])
    if found is None:
        raise HttpError(HTTPStatus.BAD_REQUEST, "the first line is not 'METHOD /path HTTP/1.1'")
    method, target, major, minor = found.groups()
    if major != b"1":
        raise HttpError(HTTPStatus.HTTP_VERSION_NOT_SUPPORTED, "only HTTP/1.0 and HTTP/1.1 are supported")
    headers = _fields(lines[1:])
    host, path = headers.get("host"), target
    absolute = _ABSOLUTE.fullmatch(target)
    if absolute is not None:
        host, path = absolute[1].decode("ascii"), absolute[2] or b"/"
    elif host is None and minor != b"0":
        raise HttpError(HTTPStatus.BAD_REQUEST, "the Host field is missing")
    path = path.partition(b"#")[0]
    if not path.startswith(b"/"):
        raise HttpError(HTTPStatus.BAD_REQUEST, "the request target is not a path")
    place, _, query = path.partition(b"?")
    return Request(
        method.decode("ascii"),
        unquote_to_bytes(place).decode("latin-1"),
        query.decode("ascii"),
        _host(host or ""),
        headers,
    )


def _fields(lines: list[bytes]) -> dict[str, str]:
    if len(lines) > MAX_FIELDS:
        raise HttpError(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"more than {MAX_FIELDS} header fields")
    headers: dict[str, str] = {}
    for line in lines:
        raw, colon, value = line.partition(b":")
        if not colon or not _TOKEN.fullmatch(raw) or _UNSEEN.search(value):
            raise HttpError(HTTPStatus.BAD_REQUEST, "a header field is malformed")
        name, text = raw.decode("ascii").lower(), value.decode("latin-1").strip(" \t")
        if name not in headers:
            headers[name] = text
        elif name in _ONCE:
            raise HttpError(HTTPStatus.BAD_REQUEST, f"the field {name} is there twice")
        else:
            headers[name] += f", {text}"
    return headers


def _host(text: str) -> str:
    """'[::1]:9464' -> '::1', 'Example.com.:80' -> 'example.com'; '' -> ''."""
    if not text:
        return ""
    found = _HOST.fullmatch(text)
    if found is None:
        raise HttpError(HTTPStatus.BAD_REQUEST, "the Host field is malformed")
    return plain_host(found[1])


def plain_host(text: str) -> str:
    """A host name or address in its canonical form for comparison."""
    name = text.removeprefix("[").removesuffix("]").partition("%")[0].lower().removesuffix(".")
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return name
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)


@dataclass(frozen=True, slots=True)
class Hosts:
    """Names under which this server answers: protection from DNS rebinding.

    A web page can have its own name resolved to this machine and then read answers from here as same-origin. The
    browser still sends the page's name in Host, so only known names are answered: the local address of the connection,
    the listen address, loopback addresses and 'localhost', and `more`.
    """

    listen: str = ""
    more: frozenset[str] = field(default_factory=frozenset)

    @staticmethod
    def of(listen: str, more: Iterable[str]) -> Hosts:
        """From names as given by a user."""
        return Hosts(plain_host(listen), frozenset(map(plain_host, more)))

    def check(self, request: Request, arrived_at: str) -> None:
        """Raise HttpError (421, RFC 9110 section 15.5.20) where the request is for another name."""
        host = request.host
        # HTTP/1.0 without Host: browsers always send Host, so DNS rebinding is not possible.
        if host in {"", "localhost", self.listen, plain_host(arrived_at)} or host in self.more or _is_loopback(host):
            return
        raise HttpError(
            HTTPStatus.MISDIRECTED_REQUEST,
            f"this server is not known as '{host}'; if it should be, start it with --allow-host {host}",
        )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
