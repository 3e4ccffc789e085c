"""What tests with real programs rely on."""

from __future__ import annotations

import socket

import pytest

from tests.telemetry.programs import held_port


def test_a_held_port_is_refused_to_other_programs_and_a_server_listens_on_it() -> None:
    with held_port() as port:
        with socket.socket() as other, pytest.raises(OSError, match="Address already in use"):
            other.bind(("127.0.0.1", port))
        with (
            socket.create_server(("127.0.0.1", port)) as server,
            socket.create_connection(("127.0.0.1", port), timeout=60),
        ):
            server.accept()[0].close()
