"""FRR's zebra, bgpd and bfdd of one router in one namespace: started with directories of their own, asked, and ended.

Written against FRR 8.4. Every path is explicit (`--vty_socket`, `-z`, `-i`, `-f`), so daemons that the system runs are
neither needed nor touched. Configuration files hold one daemon's commands each: neither daemon reads the other's.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from fabric.errors import FabricError
from fabric.lab.netns import Namespace

LIBRARY: Final = Path("/usr/lib/frr")
USER: Final = "frr"
PROGRAMS: Final = (str(LIBRARY / "zebra"), str(LIBRARY / "bgpd"), "vtysh", "nsenter")
"""What a laboratory needs."""
BFDD: Final = str(LIBRARY / "bfdd")
"""What one with BFD needs as well."""
_ALL: Final = ("bgpd", "bfdd", "zebra")
_START_S: Final = 15.0
_END_S: Final = 5.0
_POLL_S: Final = 0.02
_HEARD_S: Final = 0.1
"""For what zebra tells bgpd to be written, which a thread of its own does."""


class Daemons:
    """zebra, bgpd and, where there is BFD, bfdd of one router."""

    def __init__(self, namespace: Namespace, folder: Path) -> None:
        self.namespace = namespace
        self.folder = folder

    def start(self, zebra: str, bgpd: str, bfdd: str | None = None) -> None:
        """Write the configurations and start all. Raises: FabricError with what a daemon said, where it will not."""
        self.folder.mkdir(parents=True, exist_ok=True)
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
        done = subprocess.run(self.namespace.command(
            str(LIBRARY / daemon), "-d", "--vty_socket", str(self.folder), "-z", str(self.folder / "zserv.api"),
            "-i", str(self._pid_file(daemon)), "-f", str(config), "-P", "0", "--log", f"file:{self._log(daemon)}",
            *(("--bfdctl", str(self.folder / "bfdd.sock")) if daemon == "bfdd" else ())),
            capture_output=True, text=True, check=False)
        said = (done.stderr or done.stdout).strip()
        if done.returncode or "% " in said:     # it starts without the lines that it does not know
            raise FabricError(f"{daemon} of {self.namespace.name} does not start as configured: {said}",
                              f"its configuration is {config}")
        _wait((self.folder / f"{daemon}.vty").exists, f"{daemon} of {self.namespace.name} does not answer")

    def _pid_file(self, daemon: str) -> Path:
        return self.folder / f"{daemon}.pid"

    def _log(self, daemon: str) -> Path:
        return self.folder / f"{daemon}.log"

    def shell(self, *commands: str) -> str:
        """What vtysh prints for some commands. Raises: FabricError where it fails."""
        words = [word for command in commands for word in ("-c", command)]
        done = subprocess.run(["vtysh", "--vty_socket", str(self.folder), *words], capture_output=True, text=True,
                              check=False)
        if done.returncode:
            raise FabricError(f"vtysh of {self.namespace.name} failed: {(done.stderr or done.stdout).strip()}")
        return done.stdout

    def show(self, *commands: str) -> list[Any]:
        """JSON of `show ... json` commands, in order; {} for a command that printed nothing."""
        text, found = self.shell(*commands), []
        decoder, at = json.JSONDecoder(), 0
        while at < len(text):
            if text[at].isspace():
                at += 1
                continue
            try:
                value, at = decoder.raw_decode(text, at)
            except ValueError as error:
                raise FabricError(f"{self.namespace.name}: no JSON in the answer to {', '.join(commands)}: "
                                  f"{text[at:at + 80]!r}") from error
            found.append(value)
        if len(found) != len(commands):
            raise FabricError(f"{self.namespace.name}: {len(found)} answers to {len(commands)} commands")
        return found

    def configure(self, *lines: str) -> None:
        """Commands of `configure terminal`."""
        self.shell("configure terminal", *lines)

    def until_up(self, interface: str) -> None:
        """Wait until zebra calls an interface up and bgpd has heard it. Raises: FabricError where zebra does not."""
        def is_up() -> bool:
            return bool(self.show(f"show interface {interface} json")[0][interface]["operationalStatus"] == "up")

        _wait(is_up, f"{self.namespace.name}: {interface} does not come up")
        time.sleep(_HEARD_S)
        self.show("show bgp summary json")          # it answers in a turn of its loop, in which it reads zebra first

    def end(self, daemons: Sequence[str] = _ALL, number: int = signal.SIGTERM) -> None:
        """End daemons by the ids in their files, and wait until they are gone; by force after 5 s."""
        pids = [pid for pid in map(self._pid, daemons) if pid is not None]
        for pid in pids:
            _signal(pid, number)
        until_s = time.monotonic() + _END_S
        for pid in pids:
            while _alive(pid) and time.monotonic() < until_s:
                time.sleep(_POLL_S)
            _signal(pid, signal.SIGKILL)
        for daemon in daemons:
            self._pid_file(daemon).unlink(missing_ok=True)

    def signal(self, daemon: str, number: int) -> None:
        """Send a signal to a daemon. Raises: FabricError where it does not run."""
        pid = self._pid(daemon)
        if pid is None:
            raise FabricError(f"{daemon} of {self.namespace.name} does not run")
        _signal(pid, number)

    def _pid(self, daemon: str) -> int | None:
        """The daemon's process; None where it does not run, or its number is another program's by now."""
        try:
            pid = int(self._pid_file(daemon).read_text(encoding="ascii"))
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except (OSError, ValueError):
            return None
        return pid if os.fsencode(self.folder) in words else None


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def _wait(done: Callable[[], bool], complaint: str) -> None:
    until_s = time.monotonic() + _START_S
    while not done():
        if time.monotonic() > until_s:
            raise FabricError(complaint, f"waited {_START_S:g} s")
        time.sleep(_POLL_S)
