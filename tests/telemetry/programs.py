"""Real programs on loopback: Prometheus, promtool, Alertmanager, amtool. A test skips where one is missing.

Time limits are those of a machine that is busy with other work: they end a test that would wait for ever.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import pytest

PATIENCE_S: Final = 120.0


def program(*names: str) -> str:
    """The first of these that is installed."""
    for name in names:
        if (found := shutil.which(name)) is not None:
            return found
    pytest.skip(f"{names[0]} is not installed (Debian: apt-get install prometheus prometheus-alertmanager)")


@contextmanager
def held_port() -> Iterator[int]:
    """A port of 127.0.0.1 that no other program is given until the block ends.

    A server that sets SO_REUSEADDR, as all of these do, can listen on it all the same: Linux refuses that only while
    another socket listens.
    """
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield int(holder.getsockname()[1])


def run_tool(*args: str, cwd: Path | None = None) -> str:
    done = subprocess.run(args, capture_output=True, text=True, check=False, timeout=5 * PATIENCE_S, cwd=cwd)
    assert done.returncode == 0, f"{' '.join(args)}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def wait_for(what: Callable[[], Any], text: str, patience_s: float = PATIENCE_S) -> Any:  # noqa: ANN401  the result of `what`
    """What `what` returns once it is truthy."""
    end_s, pause_s = time.monotonic() + patience_s, 0.001
    while time.monotonic() < end_s:
        with suppress(OSError):
            if found := what():
                return found
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, 0.2)
    raise AssertionError(f"waited {patience_s:g} s in vain for {text}")


def get(url: str) -> Any:  # noqa: ANN401  any JSON value
    with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:  # noqa: S310  our own server
        body = answer.read()
    return json.loads(body) if answer.headers.get_content_type() == "application/json" else body.decode()


def end(process: subprocess.Popen[Any]) -> None:
    """Ask a program to end; it does not outlive this call."""
    process.terminate()
    try:
        process.wait(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


@contextmanager
def running(args: list[str], ready: str, log: Path) -> Iterator[None]:
    """A server from its readiness until the block ends."""
    with log.open("w") as out:
        process = subprocess.Popen(args, stdout=out, stderr=subprocess.STDOUT)
        try:

            def is_ready() -> bool:
                assert process.poll() is None, log.read_text()
                with urllib.request.urlopen(ready, timeout=5) as answer:  # noqa: S310  our own server
                    return answer.status == 200

            wait_for(is_ready, f"{args[0]} to be ready")
            yield
        finally:
            end(process)


@contextmanager
def prometheus(folder: Path, config: str, *options: str) -> Iterator[str]:
    """A Prometheus with this configuration; yields its URL."""
    folder.mkdir(exist_ok=True)
    (folder / "prometheus.yml").write_text(config)
    with held_port() as port:
        url = f"http://127.0.0.1:{port}"
        args = [
            program("prometheus"),
            f"--config.file={folder / 'prometheus.yml'}",
            f"--web.listen-address=127.0.0.1:{port}",
            "--log.level=warn",
            *options,
        ]
        if not any(option.startswith("--storage.tsdb.path") for option in options):
            args.append(f"--storage.tsdb.path={folder / 'data'}")
        with running(args, f"{url}/-/ready", folder / "prometheus.log"):
            yield url


def query_range(url: str, expr: str, start_s: float, end_s: float, step_s: float) -> list[dict[str, Any]]:
    asked = urllib.parse.urlencode({"query": expr, "start": start_s, "end": end_s, "step": step_s})
    return list(get(f"{url}/api/v1/query_range?{asked}")["data"]["result"])


def query(url: str, expr: str, at_s: float | None = None) -> list[dict[str, Any]]:
    """Rows of an expression, now or at a moment."""
    asked = {"query": expr} | ({} if at_s is None else {"time": f"{at_s:.3f}"})
    return list(get(f"{url}/api/v1/query?{urllib.parse.urlencode(asked)}")["data"]["result"])
