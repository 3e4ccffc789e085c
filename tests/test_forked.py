"""A forked program ends, writes and is awaited as one that was started the ordinary way."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from tests.forked import Program, completed, fabric

PIPES = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
CODE = "import os, sys; print(sys.argv, os.getcwd(), os.environ.get('FABRIC_TOKEN')); print('end', file=sys.stderr); "


@pytest.mark.parametrize("ending", ["sys.exit(5)", "sys.exit('why')", "1 / 0", "pass", "os.kill(os.getpid(), 9)"])
def test_it_ends_as_an_ordinary_process_does(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = []
    for options in ({}, {"bufsize": -1}):  # the second is an option that no forked program has
        program = Program(CODE + ending, "a", "é", env={"FABRIC_TOKEN": "it"}, **PIPES, **options)
        assert program._forked is not bool(options)
        done = completed(program, 60)
        found.append((done.returncode, done.stdout, done.stderr.splitlines()[:1], done.stderr.splitlines()[-1]))
    assert found[0] == found[1]


def test_it_is_signalled_and_awaited() -> None:
    program = Program("import time; print(1, flush=True); time.sleep(600)", **PIPES)
    assert program.stdout.readline() == "1\n"
    assert program.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        program.wait(timeout=0.05)
    program.send_signal(signal.SIGINT)
    assert program.wait(timeout=60) == -signal.SIGINT
    program.communicate()
    program.kill()  # it has ended: nothing is done


def test_two_run_at_once_and_a_variable_can_be_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FABRIC_TOKEN", "the caller's")
    first, second = (Program(CODE, env={"FABRIC_TOKEN": token}, **PIPES) for token in ("its", None))
    assert "its" in completed(first, 60).stdout
    assert "None" in completed(second, 60).stdout


def test_a_command_is_a_program() -> None:
    done = completed(fabric("nope", **PIPES), 60)
    assert (done.returncode, done.stdout) == (2, "")
    assert "no verb 'nope'" in done.stderr
