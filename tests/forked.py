"""Processes of tests that need not import everything again: `fabric` commands, and programs of a few lines.

A start of `fabric run` is two seconds of imports, and some families of tests start hundreds. Here one process per
test process has imported them; it forks for each program. A forked program is a process like any other: process id,
signals, standard streams, exit status, and the interpreter's exit. It does not outlive the test process (on Linux), so
that a test that is killed leaves no server behind. With variables in its environment that imports may
read, or with options of Popen other than streams, it is started the ordinary way.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

ENTRY: Final = "from fabric.cli.main import entry; entry()"
"""The program that `fabric` is."""
SHARED: Final = {"NUMBA_DISABLE_JIT"}
"""Variables that imports read, for whose values there is a process each."""
READ_LATER: Final = {"FABRIC_CONFIG", "FABRIC_TOKEN", "FABRIC_VIEW_TOKEN", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"}
"""Variables that no import reads."""
UNCOMPILED: Final = {"NUMBA_DISABLE_JIT": "1"}
"""Kernels as plain Python."""
STREAMS: Final = {"stdin", "stdout", "stderr", "text"}
"""Options of Popen that a forked program takes."""
Environment = Mapping[str, str | None]
_PR_SET_PDEATHSIG: Final = 1
"""linux/prctl.h"""
_IMPORTED: Final = ("fabric.cli.run", "fabric.cli.serve", "fabric.cli.lab", "fabric.runs.simulate")
_ROOT: Final = Path(__file__).resolve().parents[1]
_FORK: Final = "import sys; from tests.forked import fork_for_each; fork_for_each(int(sys.argv[1]), sys.argv[2:])"


def fabric(*words: str | Path, env: Environment | None = None, **options: Any) -> Program:  # noqa: ANN401  Popen has them
    """`fabric WORDS`."""
    return Program(ENTRY, *map(str, words), env=env, **options)


def printed(code: str, *words: str, env: Environment | None = None) -> str:
    """Standard output of a program that must end with 0; it can import `tests`."""
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    done = completed(Program(code, *words, env=env, text=True, **streams))
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


def completed(program: Program, timeout_s: float | None = None) -> subprocess.CompletedProcess[Any]:
    """Wait for its end, as subprocess.run does."""
    with program:
        try:
            out, err = program.communicate(timeout=timeout_s)
        except BaseException:
            program.kill()
            raise
    return subprocess.CompletedProcess(program.args, program.returncode, out, err)


class Program(subprocess.Popen[Any]):
    """`python -c CODE WORDS`.

    Parameters
    ----------
    env : added to the environment of the caller; None removes a variable
    imported : modules that it shall find imported
    options : as Popen has them
    """

    def __init__(
        self,
        code: str,
        *words: str,
        env: Environment | None = None,
        imported: Sequence[str] = _IMPORTED,
        **options: Any,  # noqa: ANN401
    ) -> None:
        self._imported = tuple(imported)
        self._answer: socket.socket | None = None
        given = env or {}
        self._own_env = {name: given[name] for name in sorted(SHARED & set(given))}
        self._forked = set(given) <= SHARED | READ_LATER and set(options) <= STREAMS
        environ = {name: value for name, value in {**os.environ, **given}.items() if value is not None}
        super().__init__([sys.executable, "-c", code, *words], env=environ, **options)

    # The methods below are those of Popen that know how a child is made and awaited.

    def _execute_child(self, args: list[str], *rest: Any) -> None:  # noqa: ANN401
        environ, pipes = rest[5], rest[9:15]
        if not self._forked:
            super()._execute_child(args, *rest)  # type: ignore[misc]
            return
        stdin, _, _, stdout, _, stderr = pipes
        self._answer, theirs = socket.socketpair()
        streams = [fd if fd != -1 else number for number, fd in enumerate((stdin, stdout, stderr))]
        text = json.dumps([str(Path.cwd()), environ, args[2:]]).encode()
        control, lock = _forker(tuple(self._own_env.items()), self._imported)
        with theirs, lock:
            socket.send_fds(control, [len(text).to_bytes(8, "big")], [theirs.fileno(), *streams])
            control.sendall(text)
        self.pid = int.from_bytes(self._answer.recv(8, socket.MSG_WAITALL), "big")
        assert self.pid, "the process that forks has ended"
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]

    def _internal_poll(self, *args: Any, **options: Any) -> int | None:  # noqa: ANN401
        if not self._forked:
            return super()._internal_poll(*args, **options)  # type: ignore[misc, no-any-return]
        if self.returncode is None:
            pid, status = self._try_wait(os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        if not self._forked:
            return super()._try_wait(wait_flags)  # type: ignore[misc, no-any-return]
        assert self._answer is not None
        try:
            status = self._answer.recv(8, socket.MSG_DONTWAIT if wait_flags else socket.MSG_WAITALL)
        except BlockingIOError:
            return 0, 0
        self._answer.close()
        return self.pid, int.from_bytes(status, "big")


@functools.cache
def _forker(env: tuple[tuple[str, str], ...], imported: tuple[str, ...]) -> tuple[socket.socket, threading.Lock]:
    """(connection to the process that forks, lock around a request)."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-c", _FORK, str(theirs.fileno()), *imported],
            pass_fds=[theirs.fileno()],
            # Pipes, because the streams of the interpreter remember that a pipe has no position.
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=_ROOT,
            env={**os.environ, **dict(env)},
            start_new_session=True,
        )

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours, threading.Lock()


def fork_for_each(control_fd: int, imported: Sequence[str]) -> None:
    """Import, then fork for each request until the other end is closed; a child goes on as the command."""
    for name in imported:
        importlib.import_module(name)
    sys.path[0] = str(_ROOT)
    me, libc = os.getpid(), ctypes.CDLL(None) if sys.platform == "linux" else None
    gc.freeze()  # otherwise a command's last collection copies every page of what was imported
    control = socket.socket(fileno=control_fd)
    running: dict[int, socket.socket] = {}

    def reap(*_: object) -> None:
        for pid in list(running):
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                with running.pop(pid) as answer, suppress(OSError):
                    answer.sendall(status.to_bytes(8, "big"))

    signal.signal(signal.SIGCHLD, reap)
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a shell's background job would pass on that it is ignored
    while True:
        head, fds, _, _ = socket.recv_fds(control, 8, 4)
        if not head:
            os._exit(0)
        folder, environ, (code, *words) = json.loads(control.recv(int.from_bytes(head, "big"), socket.MSG_WAITALL))
        answer = socket.socket(fileno=fds[0])
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        pid = os.fork()
        if pid:
            for fd in fds[1:]:
                os.close(fd)
            answer.sendall(pid.to_bytes(8, "big"))
            running[pid] = answer
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
            continue
        if libc is not None:
            libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != me:  # it has ended since the fork
                os._exit(1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        for inner in (control, answer, *running.values()):
            inner.close()
        for number, fd in enumerate(fds[1:]):
            os.dup2(fd, number)
            os.close(fd)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environ)
        sys.argv = ["-c", *words]
        exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})  # noqa: S102  a program of a test
        return
