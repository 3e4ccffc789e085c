"""FRR's zebra, bgpd and bfdd of one router in one namespace: start with separate directories, query, end.

Written for FRR 8.4. Every path is explicit (`--vty_socket`, `-z`, `-i`, `-f`), so daemons of the system are neither
needed nor affected. Each configuration file has the commands of one daemon: no daemon reads another's.

A daemon runs in a separate session but without `-d`, so that its process id is known before it starts: a shell waits in
its place until the record has the id (record.py), and exits if it is not released.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from fabric.errors import FabricError
from fabric.lab import processes
from fabric.lab.netns import Namespace
from fabric.lab.processes import Daemon, ProcessId
from fabric.lab.record import Record

LIBRARY: Final = Path("/usr/lib/frr")
USER: Final = "frr"
PROGRAMS: Final = (str(LIBRARY / "zebra"), str(LIBRARY / "bgpd"), "vtysh", "nsenter")
"""Programs that a laboratory needs."""
BFDD: Final = str(LIBRARY / "bfdd")
"""Program that a laboratory with BFD needs in addition."""
_ALL: Final = ("bgpd", "bfdd", "zebra")
FILES: Final = (
    "zserv.api",
    "bfdd.sock",
    *(f"{daemon}.{kind}" for daemon in _ALL for kind in ("conf", "pid", "log", "vty", "out")),
)
"""All files in a router's folder."""
_GATE: Final = 'cd / && read -r _ && exec "$@" </dev/null'
_REFUSED: Final = (" on config line ", "% ")
"""Marks in a daemon's messages about lines that it rejects; it starts without them (lib/vty.c, vty_read_file)."""
_ANSWER_END: Final = b"\0\0\0"
"""The status of the command follows, one byte (lib/vty.c, vtysh_read)."""
_TAIL_BYTES: Final = 16_384
_START_S: Final = 15.0
_END_S: Final = 5.0
_POLL_S: Final = 0.02
_CONNECTION_OF_BGPD: Final = re.compile(r"^Client: (?:bgp|vnc)\s*$", re.MULTILINE)
"""In `show zebra client`; the second one is that of bgpd's rfapi, where it is built in."""
_SENT: Final = r"MESSAGE: ZEBRA_INTERFACE_(?:UP|DOWN) {} "
_RECEIVED: Final = r"Rx Intf (?:up|down) VRF \d+ IF {}$"
"""A message about an interface in the debug logs: zebra/redistribute.c, bgpd/bgp_zebra.c."""


class Daemons:
    """zebra, bgpd and, with BFD, bfdd of one router, listed in the record of its laboratory."""

    def __init__(self, node: str, namespace: Namespace, record: Record) -> None:
        self.node = node
        self.namespace = namespace
        self.folder = record.folder / node
        self._record = record

    def start(self, zebra: str, bgpd: str, bfdd: str | None = None) -> None:
        """Write the configurations and start all. Raises: FabricError with the daemon's message, if one fails."""
        self._record.add_folder(self.node, FILES)
        shutil.chown(self.folder, USER, USER)
        for daemon, text in (("zebra", zebra), ("bfdd", bfdd), ("bgpd", bgpd)):
            if text is not None:
                self._start(daemon, text)

    def restart(self, daemon: str, text: str) -> None:
        """End one daemon and start it with another configuration."""
        self.end((daemon,))
        self._start(daemon, text)

    def _start(self, daemon: str, text: str) -> None:
        config = self.folder / f"{daemon}.conf"
        config.write_text(text, encoding="utf-8")
        shutil.chown(config, USER, USER)
        log, out = (self.folder / f"{daemon}.{kind}" for kind in ("log", "out"))
        log_before = log.stat().st_size if log.exists() else 0
        started = self._launch(
            daemon,
            out,
            [
                str(LIBRARY / daemon),
                "--vty_socket",
                str(self.folder),
                "-z",
                str(self.folder / "zserv.api"),
                "-i",
                str(self.folder / f"{daemon}.pid"),
                "-f",
                str(config),
                "-P",
                "0",
                "--log",
                f"file:{log}",
                *(("--bfdctl", str(self.folder / "bfdd.sock")) if daemon == "bfdd" else ()),
            ],
        )
        until_s = time.monotonic() + _START_S
        answers = False
        while not answers and started.process.alive and time.monotonic() < until_s:
            answers = _answers(self.folder / f"{daemon}.vty")
            if not answers:
                time.sleep(_POLL_S)
        refused = [line for line in (*tail(out, 0), *tail(log, log_before)) if any(it in line for it in _REFUSED)]
        if refused or not answers:
            refused = refused or tail(out, 0)[-1:] or tail(log, log_before)[-1:] or ["no message"]
            raise FabricError(
                f"{daemon} of {self.namespace.name} does not start as configured: {'; '.join(refused)}",
                f"its configuration is {config}",
            )

    def _launch(self, daemon: str, out: Path, command: Sequence[str]) -> Daemon:
        words = self.namespace.command("sh", "-c", _GATE, "sh", *command)
        program = shutil.which(words[0])
        if program is None:
            raise FabricError(f"{words[0]} is not installed", "Debian and Ubuntu: apt install util-linux")
        wait, go = os.pipe()
        try:
            pid = os.posix_spawn(
                program,
                words,
                os.environ,
                setsid=True,
                setsigdef=[signal.SIGPIPE],
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, wait, 0),
                    (os.POSIX_SPAWN_OPEN, 1, str(out), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644),
                    (os.POSIX_SPAWN_DUP2, 1, 2),
                ],
            )
            started = Daemon(
                self.node,
                daemon,
                ProcessId(pid, processes.start_ticks(pid) or 0),
                str(Path(command[0]).resolve()),
                self.namespace.inode,
            )
            self._record.add_daemon(started)
            os.write(go, b"go\n")
        finally:
            os.close(wait)
            os.close(go)
        return started

    def shell(self, *commands: str) -> str:
        """Output of vtysh for some commands. Raises: FabricError if it fails."""
        return shell(self.folder, *commands)

    def show(self, *commands: str) -> list[Any]:
        """JSON of `show ... json` commands, in order; {} for a command that printed nothing."""
        return show(self.folder, *commands)

    def configure(self, *lines: str) -> None:
        """Run commands of `configure terminal`."""
        self.shell("configure terminal", *lines)

    @contextlib.contextmanager
    def coming_up(self, interface: str) -> Iterator[None]:
        """A block that brings an interface up; it ends when zebra has it as up, and bgpd has read every message of
        zebra about it. Raises: FabricError on timeout.

        No command of bgpd shows what it knows of an interface, so both debug logs are compared: a line of zebra for
        each message, and a line of bgpd for each of its connections to zebra that received it.
        """
        logs = {daemon: self.folder / f"{daemon}.log" for daemon in ("zebra", "bgpd")}
        connections = len(_CONNECTION_OF_BGPD.findall(self.shell("show zebra client")))
        self.shell("debug zebra events", "debug bgp zebra")
        begins = {daemon: path.stat().st_size for daemon, path in logs.items()}

        def count(daemon: str, text: str) -> int:
            with logs[daemon].open("rb") as file:
                file.seek(begins[daemon])
                lines = file.read().decode(errors="replace").splitlines()
            return len([line for line in lines if re.search(text.format(re.escape(interface)), line)])

        def is_known() -> bool:
            [found] = self.show(f"show interface {interface} json")
            sent = count("zebra", _SENT)
            return found[interface]["operationalStatus"] == "up" and 0 < connections * sent <= count("bgpd", _RECEIVED)

        try:
            yield
            _wait(is_known, f"{self.namespace.name}: {interface} does not come up")
        finally:
            self.shell("no debug zebra events", "no debug bgp zebra")

    def end(self, daemons: Sequence[str] = _ALL, number: int = signal.SIGTERM) -> None:
        """End the daemons as listed in the record, and wait for their end; with SIGKILL after 5 s."""
        processes.end([it for (node, name), it in self._newest() if name in daemons], _END_S, number)
        for daemon in daemons:
            (self.folder / f"{daemon}.pid").unlink(missing_ok=True)

    def signal(self, daemon: str, number: int) -> None:
        """Send a signal to a daemon. Raises: FabricError if it does not run."""
        for (_, name), it in self._newest():
            if name == daemon and it.matches():
                os.kill(it.process.pid, number)
                return
        raise FabricError(f"{daemon} of {self.namespace.name} does not run")

    def _newest(self) -> list[tuple[tuple[str, str], Daemon]]:
        found = self._record.content
        return [] if found is None else [it for it in found.newest().items() if it[0][0] == self.node]


def shell(folder: Path, *commands: str) -> str:
    """Output of vtysh for some commands of the router with this folder. Raises: FabricError if it fails."""
    words = [word for command in commands for word in ("-c", command)]
    done = subprocess.run(["vtysh", "--vty_socket", str(folder), *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise FabricError(f"vtysh of {folder.name} failed: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def show(folder: Path, *commands: str) -> list[Any]:
    """JSON of `show ... json` commands, in order; {} for a command that printed nothing."""
    text, found = shell(folder, *commands), []
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        try:
            value, at = decoder.raw_decode(text, at)
        except ValueError as error:
            raise FabricError(
                f"{folder.name}: no JSON in the answer to {', '.join(commands)}: {text[at : at + 80]!r}"
            ) from error
        found.append(value)
    if len(found) != len(commands):
        raise FabricError(f"{folder.name}: {len(found)} answers to {len(commands)} commands")
    return found


def tail(path: Path, offset: int) -> list[str]:
    """Lines of a file after an offset, only the last ones of many; none if there is no file."""
    try:
        with path.open("rb") as file:
            file.seek(max(offset, path.stat().st_size - _TAIL_BYTES))
            data = file.read(_TAIL_BYTES)
    except OSError:
        return []
    return [line.strip() for line in data.decode(errors="replace").splitlines() if line.strip()]


def _answers(path: Path) -> bool:
    """Whether a daemon answers a command; it answers only after it has read its configuration."""
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(_START_S)
        try:
            sock.connect(str(path))
            sock.sendall(b"show version\0")
            output = b""
            while _ANSWER_END not in output[:-1]:
                data = sock.recv(65_536)
                if not data:
                    return False
                output += data
        except OSError:
            return False
    return True


def _wait(done: Callable[[], bool], complaint: str) -> None:
    until_s = time.monotonic() + _START_S
    while not done():
        if time.monotonic() > until_s:
            raise FabricError(complaint, f"waited {_START_S:g} s")
        time.sleep(_POLL_S)
