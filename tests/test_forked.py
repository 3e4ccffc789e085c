"""A forked program ends, writes and is awaited as one that was started the ordinary way."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.forked import Program, completed, fabric

PIPES = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
PATIENCE_S = 300
CODE = "import os, sys; print(sys.argv, os.getcwd(), os.environ.get('FABRIC_TOKEN')); print('end', file=sys.stderr); "


@pytest.mark.parametrize("ending", ["sys.exit(5)", "sys.exit('why')", "1 / 0", "pass", "os.kill(os.getpid(), 9)"])
def test_it_ends_as_an_ordinary_process_does(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = []
    for options in ({}, {"bufsize": -1}):  # the second is an option that no forked program has
        program = Program(CODE + ending, "a", "é", env={"FABRIC_TOKEN": "it"}, **PIPES, **options)
        assert program._forked is not bool(options)
        done = completed(program, PATIENCE_S)
        found.append((done.returncode, done.stdout, done.stderr.splitlines()[:1], done.stderr.splitlines()[-1]))
    assert found[0] == found[1]


def test_it_is_signalled_and_awaited() -> None:
    program = Program("import time; print(1, flush=True); time.sleep(600)", **PIPES)
    assert program.stdout.readline() == "1\n"
    assert program.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        program.wait(timeout=0)
    program.send_signal(signal.SIGINT)
    assert program.wait(timeout=PATIENCE_S) == -signal.SIGINT
    program.communicate()
    program.kill()  # it has ended: nothing is done


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel must end a process with its parent")
def test_it_ends_with_the_process_that_started_it() -> None:
    code = (
        "import os, subprocess; from tests.forked import Program\n"
        "code = 'import time; print(1, flush=True); time.sleep(600)'\n"
        "server = Program(code, imported=(), stdout=subprocess.PIPE, text=True)\n"
        "server.stdout.readline(); print(server.pid, flush=True); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=False, timeout=PATIENCE_S
    )
    assert done.returncode == -signal.SIGKILL
    with suppress(ProcessLookupError):
        handle = os.pidfd_open(int(done.stdout))
        assert select.select([handle], [], [], PATIENCE_S)[0]  # it is readable when the process has ended
        os.close(handle)


def test_two_run_at_once_and_a_variable_can_be_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FABRIC_TOKEN", "the caller's")
    first, second = (Program(CODE, env={"FABRIC_TOKEN": token}, **PIPES) for token in ("its", None))
    assert "its" in completed(first, PATIENCE_S).stdout
    assert "None" in completed(second, PATIENCE_S).stdout


def test_a_command_is_a_program() -> None:
    done = completed(fabric("nope", **PIPES), PATIENCE_S)
    assert (done.returncode, done.stdout) == (2, "")
    assert "no verb 'nope'" in done.stderr
