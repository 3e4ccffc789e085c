"""Real programs on loopback: Prometheus, promtool, Alertmanager, amtool. A test skips where one is missing."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

PATIENCE_S: Final = 60.0


def program(*names: str) -> str:
    """The first of these that is installed."""
    for name in names:
        if (found := shutil.which(name)) is not None:
            return found
    pytest.skip(f"{names[0]} is not installed (Debian: apt-get install prometheus prometheus-alertmanager)")


def free_port() -> int:
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return int(door.getsockname()[1])


def run_tool(*args: str, cwd: Path | None = None) -> str:
    done = subprocess.run(args, capture_output=True, text=True, check=False, timeout=PATIENCE_S, cwd=cwd)
    assert done.returncode == 0, f"{' '.join(args)}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def wait_for(what: Callable[[], Any], text: str, patience_s: float = PATIENCE_S) -> Any:  # noqa: ANN401  the result of `what`
    """What `what` returns once it is truthy."""
    end = time.monotonic() + patience_s
    while time.monotonic() < end:
        try:
            if found := what():
                return found
        except (OSError, urllib.error.URLError):
            pass
        time.sleep(0.1)
    pytest.fail(f"waited {patience_s:g} s in vain for {text}")


def get(url: str) -> Any:  # noqa: ANN401  any JSON value
    with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310  our own server
        body = answer.read()
    return json.loads(body) if answer.headers.get_content_type() == "application/json" else body.decode()


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
            process.terminate()
            process.wait(timeout=PATIENCE_S)


@contextmanager
def prometheus(folder: Path, config: str, *options: str) -> Iterator[str]:
    """A Prometheus with this configuration; yields its URL."""
    folder.mkdir(exist_ok=True)
    (folder / "prometheus.yml").write_text(config)
    url = f"http://127.0.0.1:{free_port()}"
    args = [
        program("prometheus"),
        f"--config.file={folder / 'prometheus.yml'}",
        f"--web.listen-address={url.removeprefix('http://')}",
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
