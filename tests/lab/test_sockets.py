"""Two speakers over TCP on this machine: no router, no root."""

from __future__ import annotations

import json
import logging
import os
import select
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest

from fabric.capture.journal import direct, read, recording, replay, speaker_of
from fabric.cli.main import main
from fabric.controlplane.bgp.afi import IPV4_UNICAST
from fabric.controlplane.bgp.speaker import Speaker
from fabric.errors import FabricError
from fabric.lab.sockets import Ports, SpeakerSockets
from fabric.lab.speaker_setup import announce, announcements_of, session_config
from tests.forked import fabric
from tests.waiting import LIMIT_S

A, B = "127.0.0.1", "127.0.0.2"
S = 1_000_000_000
PREFIXES = ("198.51.100.0/24", "203.0.113.0/25")


def sockets(local: str, peer: str, *, passive: bool, port: int = 0) -> tuple[SpeakerSockets, Speaker, StringIO]:
    asns = {A: 65001, B: 65002}
    config = session_config(
        local, peer, asns[local], asns[peer], local.replace("127", "10"), local, passive=passive, hold_time_s=90
    )
    config = replace(config, neighbors=tuple(replace(it, connect_retry_ns=S) for it in config.neighbors))
    speaker, journal = speaker_of(config), StringIO()
    return SpeakerSockets(recording(speaker, journal), speaker, Ports((local, 0), {peer: port})), speaker, journal


@contextmanager
def pair() -> Iterator[tuple[tuple[SpeakerSockets, Speaker, StringIO], tuple[SpeakerSockets, Speaker, StringIO]]]:
    """A listens, B connects."""
    one = sockets(A, B, passive=True)
    one[0].start()
    assert one[0].listening is not None
    two = sockets(B, A, passive=False, port=one[0].listening[1])
    two[0].start()
    try:
        yield one, two
    finally:
        for it in (one[0], two[0]):
            if it.open:
                it.stop()


def simulate(done: Callable[[], bool], *speakers: SpeakerSockets) -> None:
    """Serve both alternately, until `done`."""
    until_ns = speakers[0].now_ns + int(LIMIT_S * S)
    while not done():
        assert speakers[0].now_ns < until_ns
        for it in speakers:
            it.run_until(lambda: False, it.now_ns + S // 200)


def answered(clients: Sequence[socket.socket]) -> list[socket.socket]:
    """Those that have something to read, or are at an end."""
    return select.select(clients, [], [], 0)[0]


def prefixes(speaker: Speaker, peer: str) -> set[str]:
    return {IPV4_UNICAST.text(key) for keys, _ in speaker.adj_rib_in(peer, IPV4_UNICAST) for key in keys}


def test_routes_cross_a_socket_and_both_journals_play_again() -> None:
    with pair() as ((one, its, first), (two, other, second)):
        announce(one, announcements_of(PREFIXES))
        simulate(lambda: prefixes(other, A) == set(PREFIXES), one, two)
        announce(two, announcements_of(["192.0.2.0/24"]))
        simulate(lambda: prefixes(its, B) == {"192.0.2.0/24"}, one, two)
        two.stop()
        simulate(lambda: its.peers[B].established is None, one)
        reset = its.peers[B].last_reset
        assert reset is not None
        assert reset.reason == "NOTIFICATION received: Cease/Administrative Shutdown"
    for journal in (first, second):
        assert list(replay(read(journal.getvalue().splitlines(), "journal"))) == []


def test_a_lost_connection_is_dialled_again() -> None:
    with pair() as ((one, its, _), (two, other, _)):
        simulate(lambda: other.peers[A].established is not None and its.peers[B].established is not None, one, two)
        two.do("reset", peer=A)
        simulate(lambda: other.peers[A].connections_established == 2, one, two)


def test_nobody_listening_is_no_error_and_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "fabric.lab.sockets")
    with socket.socket() as silent:  # it has the port, so that nobody else listens there
        silent.bind((A, 0))
        two, other, _ = sockets(B, A, passive=False, port=silent.getsockname()[1])
        two.start()
        simulate(lambda: caplog.messages == ["connection failed"], two)
    assert other.peers[A].established is None
    assert other.next_deadline_ns() is not None  # the retry
    two.stop()


def test_a_stranger_is_turned_away() -> None:
    one, its, _ = sockets(A, B, passive=True)
    one.start()
    assert one.listening is not None
    with socket.create_connection(one.listening, source_address=("127.0.0.9", 0), timeout=5) as stranger:
        simulate(lambda: answered([stranger]) == [stranger], one)
        assert stranger.recv(100) == b""  # not even an OPEN
    assert its.peers[B].traffic.sent.opens == 0
    one.stop()


def test_a_neighbour_has_a_few_connections_at_a_time_and_no_more() -> None:
    one, its, _ = sockets(A, B, passive=True)
    one.start()
    assert one.listening is not None
    with ExitStack() as stack:
        clients = [
            stack.enter_context(socket.create_connection(one.listening, source_address=(B, 0), timeout=5))
            for _ in range(50)
        ]
        simulate(lambda: len(answered(clients)) == len(clients), one)
        greeted = 0
        for client in clients:
            with suppress(ConnectionResetError):
                greeted += client.recv(100) != b""
    assert greeted == 4
    assert its.peers[B].traffic.sent.opens == 4
    one.stop()


def test_a_speaker_without_any_timer_waits() -> None:
    speaker = speaker_of(session_config(A, B, 65001, 65002, "10.0.0.1", "x", passive=True, hold_time_s=0))
    one = SpeakerSockets(direct(speaker), speaker, Ports((A, 0)))
    one.start()
    one.interrupt()
    seen = iter([False, True])
    assert speaker.next_deadline_ns() is None
    assert one.run_until(lambda: next(seen), 1 << 62)
    one.stop()


def test_a_port_that_is_taken_is_said() -> None:
    one, _, _ = sockets(A, B, passive=True)
    one.start()
    assert one.listening is not None
    speaker = speaker_of(session_config(A, B, 65001, 65002, "10.0.0.1", "x", passive=True, hold_time_s=9))
    other = SpeakerSockets(one._call, speaker, Ports(one.listening))
    with pytest.raises(FabricError, match=f"port {one.listening[1]}"):
        other.start()
    one.stop()


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["--peer", "leaf1"], "--peer"),
        (["--peer", "10.0.0.1:99999"], "--peer"),
        (["--asn", "0"], "--asn"),
        (["--router-id", "2001:db8::1"], "--router-id"),
        (["--prefix", "10.0.0.1/24"], "--prefix"),
        (["--node", "leaf1"], "--node"),
        (["--hold-time", "2"], "--hold-time"),
        (["--duration", "4"], "--duration"),
        (["--port", "1790"], "--port"),
        (["--peer", "fe80::1"], "--peer"),
        (["--max-prefixes", "0"], "--max-prefixes"),
        (["--max-attributes", "5"], "--max-attributes"),
        (["--max-attributes", "1KiB"], "--max-attributes"),
        (["--restart", "0s"], "--restart"),
    ],
)
def test_options_that_cannot_be_are_named(words: list[str], option: str, capsys: pytest.CaptureFixture[str]) -> None:
    given = {"--peer": "127.0.0.1", "--peer-asn": "65001", "--asn": "65002", "--router-id": "10.0.0.2"}
    given |= {words[0]: words[1]}
    assert main(["bgp", "speak", *(word for pair in given.items() for word in pair), "--json"]) == 2
    problems = json.loads(capsys.readouterr().out)["error"]["problems"]
    assert {problem["path"] for problem in problems} == {option}


def test_the_command_speaks_until_it_is_ended(tmp_path: Path) -> None:
    """As an operator uses it: a separate process, a journal, SIGTERM, and tables at the end."""
    one, its, _ = sockets(A, B, passive=True)
    one.start()
    assert one.listening is not None
    journal = tmp_path / "session.jsonl"
    command = fabric(
        *[
            "bgp",
            "speak",
            "--json",
            "--peer",
            f"{A}:{one.listening[1]}",
            "--peer-asn",
            "65001",
            "--asn",
            "65002",
            "--router-id",
            "10.0.0.2",
            "--local",
            B,
            "--prefix",
            "192.0.2.0/24",
            "--journal",
            str(journal),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        announce(one, announcements_of(PREFIXES))
        simulate(lambda: prefixes(its, B) == {"192.0.2.0/24"}, one)
        simulate(lambda: its.peers[B].traffic.sent.updates > 0, one)
        before = its.peers[B].traffic.received.updates
        one.do("request_refresh", peer=B, family=IPV4_UNICAST)  # it is answered when all before it has been read
        simulate(lambda: its.peers[B].traffic.received.updates > before, one)
        os.kill(command.pid, signal.SIGTERM)
        simulate(lambda: its.peers[B].established is None, one)
        out, _ = command.communicate(timeout=LIMIT_S)
    finally:
        command.kill()
        one.stop()
    assert command.returncode == 0
    tables = json.loads(out)
    assert set(tables["ipv4"]["routes"]) == {*PREFIXES, "192.0.2.0/24"}
    assert tables["summary"]["ipv4Unicast"]["peers"][A]["pfxRcd"] == 2
    assert list(replay(read(journal.read_text().splitlines(), "session"))) == []


def test_the_command_ends_a_session_with_too_many_routes_and_says_so() -> None:
    one, its, _ = sockets(A, B, passive=True)
    one.start()
    assert one.listening is not None
    command = fabric(
        *[
            "bgp",
            "speak",
            "--json",
            "--peer",
            f"{A}:{one.listening[1]}",
            "--peer-asn",
            "65001",
            "--asn",
            "65002",
            "--router-id",
            "10.0.0.2",
            "--local",
            B,
            "--max-prefixes",
            "1",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        announce(one, announcements_of(PREFIXES))
        simulate(lambda: its.peers[B].last_reset is not None, one)
        reset = its.peers[B].last_reset
        assert reset is not None
        assert reset.reason == "NOTIFICATION received: Cease/Maximum Prefixes"
        one.run_until(lambda: False, one.now_ns + 2 * S)  # it is not tried again
        assert its.peers[B].connections_established == 1
        os.kill(command.pid, signal.SIGTERM)
        out, err = command.communicate(timeout=LIMIT_S)
    finally:
        command.kill()
        one.stop()
    assert command.returncode == 1, err
    assert "is down: more than 1 routes of ipv4 unicast; it stays down" in err
    assert json.loads(out)["summary"]["ipv4Unicast"]["peers"][A]["state"] == "Idle"
