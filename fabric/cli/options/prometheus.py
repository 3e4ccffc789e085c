"""Options of clients of a Prometheus, or of a receiver of its protocol: token, password and certificates.

The URL is an option of the verb's own.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from fabric.cli.terminal import streams
from fabric.errors import Problem

if TYPE_CHECKING:
    from telemetry.export.client_access import Access, Secret

_GIVEN: Final = ("token_file", "user", "password_file", "tls_ca", "tls_cert", "tls_key")
"""Of the parsed options."""


def add_access(parser: argparse.ArgumentParser, whom: str = "the Prometheus") -> None:
    """Declare the options, in a group that names `whom` the verb sends its requests to."""
    group = parser.add_argument_group(f"access to {whom}")
    group.add_argument("--token-file", metavar="FILE", type=Path, help="file with a bearer token as its only line")
    group.add_argument("--user", metavar="NAME", help="user name, with --password-file")
    group.add_argument("--password-file", metavar="FILE", type=Path, help="file with the password as its only line")
    group.add_argument(
        "--tls-ca",
        metavar="FILE",
        type=Path,
        help="authorities for the server's certificate (PEM; default: those of the system)",
    )
    group.add_argument("--tls-cert", metavar="FILE", type=Path, help="client certificate (PEM)")
    group.add_argument("--tls-key", metavar="FILE", type=Path, help="its private key (PEM, not encrypted)")


def given_access(args: argparse.Namespace) -> list[str]:
    """The options that were given, as the user writes them."""
    return [f"--{name.replace('_', '-')}" for name in _GIVEN if getattr(args, name) is not None]


def access_problems(
    args: argparse.Namespace, url: str, option: str, example: str = "http://127.0.0.1:9090"
) -> Iterator[Problem]:
    """What is wrong with the URL that `option` gives, with one that is right as an example, and with the options of
    add_access(); no file is read.
    """
    problem = _url_problem(url, f"such as {example}")
    if problem is not None:
        yield Problem(option, *problem)
    elif not url.startswith("https://"):
        for name in ("tls_ca", "tls_cert", "tls_key"):
            if getattr(args, name) is not None:
                yield Problem(f"--{name.replace('_', '-')}", "has no effect without TLS", "write the URL with https://")
    if args.token_file is not None and args.user is not None:
        yield Problem("--token-file", "and --user are both given; a request has one authorization", "leave out one")
    for one, other in (("user", "password_file"), ("tls_cert", "tls_key")):
        if (getattr(args, one) is None) is not (getattr(args, other) is None):
            names = [f"--{it.replace('_', '-')}" for it in (one, other)]
            yield Problem(names[0], f"goes together with {names[1]}", "give both")
    if args.user is not None and (":" in args.user or not args.user.isprintable() or not args.user):
        yield Problem(
            "--user", "is no user name: it is empty, or has a colon or a control character", "write the name alone"
        )


def _url_problem(url: str, example: str) -> tuple[str, str] | None:
    """(text, hint); the text does not quote a URL that may hold a password."""
    try:
        parts = urlsplit(url)
        named = bool(parts.hostname) and parts.port != 0
    except ValueError:  # brackets that do not close, an invalid port
        return "is no URL", example
    if "@" in parts.netloc:
        return "holds a user or a password, which others can read", "give --user and --password-file"
    if parts.scheme not in {"http", "https"} or not named:
        return f"{url!r} is no URL", example
    if parts.query or parts.fragment:
        return f"{url!r} has a query or a fragment", "give the address alone, such as https://host/prometheus"
    return None


def access_of(args: argparse.Namespace) -> Access:
    """Read the files. Raises: InputErrors; TlsError."""
    from telemetry.export.client_access import Access  # noqa: PLC0415  --help must not load it
    from telemetry.export.tls import client_context  # noqa: PLC0415

    wanted = any(it is not None for it in (args.tls_ca, args.tls_cert))
    return Access(_secret(args), client_context(args.tls_ca, args.tls_cert, args.tls_key) if wanted else None)


def _secret(args: argparse.Namespace) -> Secret | None:
    from telemetry.export.client_access import basic, bearer  # noqa: PLC0415  as above

    if args.token_file is not None:
        return bearer(args.token_file, "--token-file")
    return None if args.user is None else basic(args.user, args.password_file, "--password-file")


def warn_of_clear_text(args: argparse.Namespace, url: str) -> None:
    """Say where a secret goes over a network without TLS."""
    if url.startswith("https://") or (args.token_file is None and args.user is None):
        return
    if urlsplit(url).hostname not in {"localhost", "127.0.0.1", "::1"}:
        streams.say("the secret is sent without encryption; use an https URL where the server has one")
