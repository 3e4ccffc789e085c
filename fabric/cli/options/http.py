"""Options of the HTTP interface for `fabric serve` and `fabric run --metrics`: names of the server, and TLS."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fabric.errors import Problem

if TYPE_CHECKING:
    from telemetry.export.server import Access

_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,253}|\[?[0-9A-Fa-f:.]{2,45}\]?")


def add_http(parser: argparse.ArgumentParser) -> None:
    """Declare them."""
    parser.add_argument(
        "--allow-host",
        metavar="NAME",
        action="append",
        default=[],
        dest="hosts",
        help="also answer requests for this host name or address, such as the server's name in a proxy "
        "or a container network; repeatable. The listen address and localhost are always answered, "
        "other names never (DNS rebinding)",
    )
    parser.add_argument(
        "--tls-cert",
        metavar="FILE",
        type=Path,
        help="serve HTTPS with this certificate (PEM), followed by intermediate certificates",
    )
    parser.add_argument("--tls-key", metavar="FILE", type=Path, help="its private key (PEM, not encrypted)")
    parser.add_argument(
        "--tls-client-ca",
        metavar="FILE",
        type=Path,
        help="answer only clients with a certificate from these authorities (PEM)",
    )


def given_http(args: argparse.Namespace) -> list[str]:
    """Those that were given."""
    return [
        option
        for option, value in (
            ("--allow-host", args.hosts),
            ("--tls-cert", args.tls_cert),
            ("--tls-key", args.tls_key),
            ("--tls-client-ca", args.tls_client_ca),
        )
        if value
    ]


def http_problems(args: argparse.Namespace) -> list[Problem]:
    """Problems of the options."""
    problems = [
        Problem(
            "--allow-host",
            f"{name!r} is not a host name or address",
            "give it without scheme and port, such as emulator or 192.0.2.7",
        )
        for name in args.hosts
        if not _NAME.fullmatch(name)
    ]
    problems += [
        Problem(option, f"has no effect without {other}", f"add {other} FILE")
        for option, value, other, wanted in (
            ("--tls-cert", args.tls_cert, "--tls-key", args.tls_key),
            ("--tls-key", args.tls_key, "--tls-cert", args.tls_cert),
            ("--tls-client-ca", args.tls_client_ca, "--tls-cert", args.tls_cert),
        )
        if value and not wanted
    ]
    return [*problems, *(_tls_problems(args) if not problems else [])]


def _tls_problems(args: argparse.Namespace) -> list[Problem]:
    if args.tls_cert is None:
        return []
    from telemetry.export.tls import TlsError, TlsFiles, server_context  # noqa: PLC0415  only with TLS

    try:
        server_context(TlsFiles(args.tls_cert, args.tls_key, args.tls_client_ca))
    except TlsError as error:
        return [
            Problem(
                "--tls-client-ca" if str(args.tls_client_ca) in error.text else "--tls-cert", error.text, error.hint
            )
        ]
    return []


def access_of(args: argparse.Namespace) -> Access:
    """The options, checked by http_problems."""
    from telemetry.export.server import Access  # noqa: PLC0415  it brings prometheus_client
    from telemetry.export.tls import TlsFiles  # noqa: PLC0415

    tls = None if args.tls_cert is None else TlsFiles(args.tls_cert, args.tls_key, args.tls_client_ca)
    return Access(tuple(args.hosts), tls)
