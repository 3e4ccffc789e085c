"""The recipes of docs/howto with real programs: commands and files are taken from the pages,
only the ports are free ones. Every target is up, every panel that should have data has, and the page comes once.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from telemetry.grafana.dashboards import BOARDS
from telemetry.grafana.model import Need
from tests.conftest import ROOT
from tests.telemetry.programs import end, get, held_port, program, query, query_range, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.timed]
SERVERS: Final = ("fabric serve", "prometheus ", "alertmanager ", "fabric alerts pager")
PORTS: Final = ("9464", "9465", "9090", "9093", "9095")
"""Of the run, of the other run, of Prometheus, of Alertmanager, of the pager."""
BEGINS_S: Final = 600.0
"""A first run compiles the engine."""
SERVER_S: Final = 3600
"""A served run ends by itself, also where its test was killed."""
STORM: Final = frozenset({Need.SPINES, Need.PFC, Need.ENDED, Need.ECN, Need.WAITING, Need.SEARCH, Need.SEEN})
"""What scenarios/alerts/storm.yml, served live, has of what panels need."""


def steps(page: str, *headings: str) -> Iterator[tuple[str, str]]:
    """('$', command) and (path, text of the file), in their order, of the sections with these headings."""
    text = (ROOT / "docs/howto" / page).read_text(encoding="utf-8")
    for heading in headings:
        section = re.split(r"^## ", text.split(f"\n## {heading}\n")[1], flags=re.MULTILINE)[0]
        for before, kind, block in re.findall(r"([^\n]*)\n+```(\w*)\n(.*?)^```$", section, re.DOTALL | re.MULTILINE):
            if named := re.fullmatch(r"`(\S+)`:", before):
                yield named[1], block
            elif not kind:
                for command in re.findall(r"^\$ (.*(?:(?<=\\)\n.*)*)", block, re.MULTILINE):
                    yield "$", command


@dataclass(frozen=True)
class Bench:
    """A folder that looks like the checkout, with other ports, and what runs in it."""

    folder: Path
    ports: Mapping[str, int]
    servers: list[subprocess.Popen[bytes]]

    def moved(self, text: str) -> str:
        """With the ports of this bench."""
        return re.sub(r"\b(" + "|".join(PORTS) + r")\b", lambda found: str(self.ports[found[0]]), text)

    def url(self, port: str, path: str = "") -> str:
        return f"http://127.0.0.1:{self.ports[port]}{path}"

    def do(self, what: str, text: str) -> None:
        """Write a file, start a server, or run a command to its end."""
        text = self.moved(text)
        if what != "$":
            (self.folder / what).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / what).write_text(text)
        elif text.startswith(SERVERS):
            if text.startswith("fabric serve"):
                text += f" --duration {SERVER_S}s"
                if "--listen" not in text:
                    text += f" --listen 127.0.0.1:{self.ports['9464']}"
            if text == "fabric alerts pager":
                text += f" --listen 127.0.0.1:{self.ports['9095']}"
            with (self.folder / f"{len(self.servers)}.log").open("wb") as log:
                self.servers.append(
                    subprocess.Popen(
                        ["bash", "-c", f"exec {text}"],
                        cwd=self.folder,
                        stdout=log,
                        stderr=subprocess.STDOUT,
                        env=self.environ,
                    )
                )
        else:
            self.bash(text)
            for written in self.folder.glob("runs/*/prometheus.yml"):  # has the addresses that programs have by default
                written.write_text(self.moved(written.read_text()))

    def bash(self, text: str) -> str:
        done = subprocess.run(
            ["bash", "-ec", text],
            cwd=self.folder,
            env=self.environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=BEGINS_S,
        )
        assert done.returncode == 0, f"{text}\n{done.stdout}{done.stderr}{self.logs()}"
        return done.stdout

    @property
    def environ(self) -> dict[str, str]:
        cache = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))  # the engine compiled by other tests
        path = f"{self.folder / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "FABRIC_"))}
        return kept | {"PATH": path, "HOME": str(self.folder), "XDG_CACHE_HOME": cache}

    def logs(self) -> str:
        return "".join(f"--- {path.name}\n{path.read_text()[-2000:]}" for path in sorted(self.folder.glob("*.log")))

    def wait(self, what: Callable[[], Any], text: str, patience_s: float = BEGINS_S) -> Any:  # noqa: ANN401
        def look() -> Any:  # noqa: ANN401
            ended = [it.args for it in self.servers if it.poll() is not None]
            assert not ended, f"{ended}\n{self.logs()}"
            return what()

        return wait_for(look, text, patience_s)

    def all_up(self, count: int) -> None:
        """Every target that Prometheus has been given is scraped; `count` of them."""

        def health() -> bool:
            found = get(self.url("9090", "/api/v1/targets"))["data"]["activeTargets"]
            return [it["health"] for it in found] == ["up"] * count

        self.wait(health, f"{count} targets that are up")

    def notified(self, receiver: str = "pager") -> list[str]:
        """Lines of the pager about alerts that began, whole ones only."""
        return [
            line
            for path in sorted(self.folder.glob("*.log"))
            for line in path.read_text().splitlines(keepends=True)
            if re.match(rf"{receiver} +firing .*\n", line)
        ]


@contextmanager
def bench(folder: Path) -> Iterator[Bench]:
    """Ends what was started when the block ends; no other program is given its ports until then."""
    (folder / "bin").mkdir()
    (folder / "bin/alertmanager").symlink_to(program("prometheus-alertmanager", "alertmanager"))
    program("prometheus"), program("curl")
    with ExitStack() as stack:
        found = Bench(folder, {port: stack.enter_context(held_port()) for port in PORTS}, [])
        for name in ("scenarios", "docs"):
            (folder / name).symlink_to(ROOT / name)
        for name in ("deploy", "telemetry/prometheus", "telemetry/alertmanager"):
            shutil.copytree(ROOT / name, folder / name)
        for name in ("deploy/prometheus.yml", "telemetry/alertmanager/alertmanager.yml"):
            (folder / name).write_text(found.moved((folder / name).read_text()))
        try:
            yield found
        finally:
            for server in found.servers:
                end(server)


def test_the_dashboards_without_docker_are_filled(tmp_path: Path) -> None:
    """docs/howto/grafana.md: both targets up, each panel of each board, and one page."""
    with bench(tmp_path) as at:
        began_s = time.time()
        for step in steps("grafana.md", "Without Docker"):
            at.do(*step)
        at.all_up(2)

        def empty() -> list[str]:
            return [
                f"{board.uid}/{panel.title}: {query.legend}"
                for board in BOARDS
                for panel in board.panels
                for query in panel.queries
                if (set(panel.needs) <= STORM) != bool(shown(at, query.of.expr, began_s))
            ]

        at.wait(lambda: not empty(), "every panel to be filled")
        assert empty() == []
        at.wait(at.notified, "the page")
        (page,) = at.notified()
        assert "FabricPfcStorm: host1 kept leaf1:Ethernet0" in page


def shown(at: Bench, expr: str, began_s: float) -> list[dict[str, Any]]:
    """Rows of an expression since the start, as Grafana asks for it with everything chosen."""
    for name, value in {
        "__rate_interval": "1m",
        "__range": "5m",
        "__interval": "15s",
        "instance": "fabric",
        "seen": "fabric:sonic",
        "device": ".*",
        "port": ".*",
        "priority": ".*",
    }.items():
        expr = re.sub(rf"\${name}\b", value, expr)
    return query_range(at.url("9090"), expr, began_s, time.time(), 15)


def test_the_storm_of_the_page_about_alerts_pages_once(tmp_path: Path) -> None:
    """docs/howto/alerts.md: the page, what it mutes, and its runbook behind its link."""
    with bench(tmp_path) as at:
        for step in steps("alerts.md", "Live"):
            at.do(*step)
        at.all_up(1)

        def muted() -> set[str]:
            return {
                it["labels"]["alertname"] for it in get(at.url("9093", "/api/v2/alerts")) if it["status"]["inhibitedBy"]
            }

        at.wait(lambda: {"FabricPfcPauseRatioHigh", "FabricVictimFlows"} <= muted(), "the symptoms to be muted")
        at.wait(at.notified, "the page")
        (page,) = at.notified()
        assert "FabricPfcStorm: host1 kept leaf1:Ethernet0" in page
        assert at.notified("tickets") == []
        assert "<h1>FabricPfcStorm</h1>" in get(at.url("9090", "/user/FabricPfcStorm.html"))


def test_the_commands_of_the_page_about_live_runs_do_what_it_says(tmp_path: Path) -> None:
    """docs/howto/live.md: the scrape, the expression for shares, and a session with the API."""
    with bench(tmp_path) as at:
        text = (ROOT / "docs/howto/live.md").read_text(encoding="utf-8")
        serve = re.findall(r"^\$ (fabric serve .*)", text, re.MULTILINE)[0]
        at.do("$", serve)
        at.bash(f"until curl --silent --fail {at.url('9464', '/-/ready')}; do sleep 1; done")
        for step in steps("live.md", "Prometheus"):
            at.do(*step)
        at.all_up(1)
        share = re.findall(r"^```\n(rate\(.*?)^```$", text, re.DOTALL | re.MULTILINE)[0]
        paused = at.wait(lambda: query(at.url("9090"), f"({share}) > 0.1"), "a paused port")
        assert max(float(it["value"][1]) for it in paused) <= 1.05
        session = "\n".join(command for _, command in steps("live.md", "The API"))
        output = at.bash(at.moved(session))
        assert output.count('"state"') >= 2
        assert '"error"' not in output
