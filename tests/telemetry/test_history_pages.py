"""docs/howto/backfill.md and docs/howto/capacity.md: their commands with a real Prometheus at a free port."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import Final

import pytest

from tests.conftest import ROOT
from tests.shell import said
from tests.telemetry.programs import end, get, held_port, program, wait_for
from tools.page_commands import commands

pytestmark = pytest.mark.slow
USUAL: Final = "127.0.0.1:9090"
"""Where the pages have their Prometheus."""


def written(page: str, begin: str) -> str:
    """The command of a page that begins so."""
    (found,) = (it.words for it in commands(f"docs/howto/{page}") if it.words.startswith(begin))
    return found


@contextmanager
def served(command: str, folder: Path) -> Iterator[str]:
    """Address of the Prometheus of a command, which ends with the block."""
    program("promtool")
    (folder / "prometheus.yml").touch()
    words = shlex.split(command.removesuffix("&"))
    words[0] = program(words[0])
    with held_port() as port:
        address = f"127.0.0.1:{port}"
        with (folder / "prometheus.log").open("wb") as log:
            server = subprocess.Popen(
                [*words, f"--web.listen-address={address}"], cwd=folder, stdout=log, stderr=subprocess.STDOUT
            )
        try:
            wait_for(lambda: "Ready" in get(f"http://{address}/-/ready"), (folder / "prometheus.log").read_text())
            yield address
        finally:
            end(server)


def count(address: str, expr: str) -> int:
    """How many series an instant query finds."""
    found = get(f"http://{address}/api/v1/query?query={expr}")["data"]["result"]
    return len(found)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("scenarios", "docs"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


def test_a_run_of_the_page_about_backfill_is_in_prometheus_by_blocks_and_by_remote_write(folder: Path) -> None:
    for begin in ("fabric run ", "fabric export openmetrics ", "promtool "):
        said(written("backfill.md", begin), folder)
    with served(written("backfill.md", "prometheus --config.file=prometheus.yml --storage"), folder) as address:
        assert count(address, "count_over_time(fabric_queue_bytes[30d])") > 10
    receiver = written("backfill.md", "prometheus --config.file=prometheus.yml --web.enable")
    with served(f"{receiver} --storage.tsdb.path=received", folder) as address:
        said(written("backfill.md", "fabric export remote-write ").replace(USUAL, address), folder)
        assert count(address, "count_over_time(fabric_queue_bytes[1d])") > 10


def test_the_history_of_the_page_about_capacity_has_the_dates_of_the_page(folder: Path) -> None:
    page = (ROOT / "docs/howto/capacity.md").read_text(encoding="utf-8")
    blocks = re.search(r"```yaml\n# load.yml\n(.*?)```.*?^\$ (for week.*?^  done)$", page, re.MULTILINE | re.DOTALL)
    assert blocks is not None
    (folder / "load.yml").write_text(blocks[1], encoding="utf-8")
    said(blocks[2], folder)
    with served(written("capacity.md", "prometheus "), folder) as address:
        found = said(written("capacity.md", "fabric capacity --prometheus http://").replace(USUAL, address), folder)
    (promised,) = re.findall(r"^host to leaf reaches 80% of the line rate first, about [\d-]+\.", page, re.MULTILINE)
    assert promised in " ".join(found.split())
    assert "<html" in (folder / "capacity.html").read_text(encoding="utf-8")
    monday = date(2026, 8, 31)
    runs = [word for week in range(12) for word in ("--run", f"{monday + timedelta(weeks=week)}=runs/week{week}")]
    begin, few, last = re.split(r"((?:--run \S+ )+)\.\.\. ", written("capacity.md", "fabric capacity --run "))
    assert few.split() == runs[: len(few.split())]
    assert "Capacity 12 recorded runs host to leaf" in " ".join(
        said(f"{begin}{shlex.join(runs)} {last}", folder).split()
    )
