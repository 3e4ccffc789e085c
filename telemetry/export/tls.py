"""TLS for the HTTP interface and its client, with the standard library: certificate, key, certificate authorities."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fabric.errors import FabricError, InputErrors
from fabric.reading import MIB, read_bytes

_MAX_FILE_BYTES: Final = MIB
"""Four times the size of a bundle of all public authorities."""
_PEM: Final = "PEM; `openssl x509 -in FILE -noout -text` and `openssl pkey -in FILE -noout` say whether they are"


class TlsError(FabricError):
    """An unusable certificate, key or authority."""


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Files in PEM format."""

    certificate: Path
    """Certificate of the server, followed by intermediate certificates."""
    key: Path
    """Private key of the server, not encrypted."""
    client_ca: Path | None = None
    """Authorities of client certificates: a client without a certificate of theirs is refused. None: any client."""


def server_context(files: TlsFiles) -> ssl.SSLContext:
    """TLS 1.2 or newer. Raises: TlsError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    _load_pair(context, files.certificate, files.key)
    if files.client_ca is not None:
        _load_authorities(context, files.client_ca)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def client_context(ca: Path | None, certificate: Path | None, key: Path | None) -> ssl.SSLContext:
    """TLS of a client: trusted authorities (`ca`; None: the system's) and its certificate. Raises: TlsError."""
    context = ssl.create_default_context()
    if ca is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        _load_authorities(context, ca)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if certificate is not None and key is not None:
        _load_pair(context, certificate, key)
    return context


def _load_pair(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    for path in (certificate, key):
        _readable(path)

    def no_password() -> str:
        raise TlsError(
            f"the key in {key} is encrypted", "decrypt it: openssl pkey -in FILE -out PLAIN; chmod 600 PLAIN"
        )

    try:
        context.load_cert_chain(certificate, key, no_password)
    except (ssl.SSLError, ValueError) as error:
        reason = getattr(error, "reason", None) or str(error)
        raise TlsError(f"{certificate} and {key} are not a certificate and its key: {reason}", _PEM) from error


def _load_authorities(context: ssl.SSLContext, path: Path) -> None:
    _readable(path)
    try:
        context.load_verify_locations(path)
    except (ssl.SSLError, ValueError) as error:
        raise TlsError(
            f"{path} holds no certificate of an authority: {getattr(error, 'reason', None) or error}", _PEM
        ) from error


def _readable(path: Path) -> None:
    try:
        data = read_bytes(path, _MAX_FILE_BYTES)  # OpenSSL would read a device file endlessly
    except InputErrors as error:
        why = error.problems[0].text.removeprefix("cannot be read: ")
        raise TlsError(f"cannot read {path}: {why}", "name a file in PEM format") from error
    if not data:
        raise TlsError(f"{path} is empty", "name a file in PEM format")
