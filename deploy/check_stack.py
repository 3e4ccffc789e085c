"""Check of docker-compose.yml with its real servers: `make check-stack`, or python deploy/check_stack.py.

It starts the stack as a project of its own (fabric-check) with a short scenario, waits until every service is healthy,
asks Prometheus whether its targets are up and its rules evaluate without error, and Grafana whether each dashboard is
there and each query of each panel is answered without error. It ends what it started, with its volumes. A query without
data is no error: which panels have data is what tests/telemetry/test_dashboards.py looks at.

Exit code: 0 all is well, 1 something is not, 2 it could not be asked (no docker engine, a port in use, no start).
"""

# ruff: noqa: INP001, T201  a script by itself, made to print

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
RENDERED: Final = ROOT / "telemetry/grafana/rendered"
PROJECT: Final = "fabric-check"
"""Of docker compose. A stack that somebody uses is the project `fabric`; its containers and volumes are left alone."""
SCENARIO: Final = "incast.yml"
PROMETHEUS: Final = "http://127.0.0.1:9090"
GRAFANA: Final = "http://127.0.0.1:3000"
SOURCE: Final = {"type": "prometheus", "uid": "prometheus"}
"""The data source of deploy/grafana/datasources.yml."""
START_S: Final = 900
PATIENCE_S: Final = 120.0
CHOSEN: Final = {
    "instance": "fabric",
    "seen": "fabric:sonic",
    "device": ".*",
    "port": ".*",
    "priority": ".*",
    "datasource": "prometheus",
}
"""Variable of a dashboard -> value, with everything chosen. Grafana fills those that begin with two underscores."""

Json = dict[str, Any]
Ask = Callable[[str, Json | None], Any]


class CannotAskError(Exception):
    """The stack could not be asked; the text is one sentence."""


def engine() -> str:
    """Path of docker. Raises: CannotAskError without docker, its compose plugin, or an engine."""
    docker = shutil.which("docker")
    if docker is None:
        raise CannotAskError("the program docker is not installed, so the stack is not checked.")
    for words, text in (
        (["compose", "version"], "docker has no compose plugin, so the stack is not checked."),
        (["info"], "no docker engine answers (docker info fails), so the stack is not checked."),
    ):
        if subprocess.run([docker, *words], capture_output=True, check=False).returncode != 0:
            raise CannotAskError(text)
    return docker


def compose(docker: str, *words: str) -> list[str]:
    """A command of docker compose for our project alone."""
    return [docker, "compose", "--file", str(ROOT / "docker-compose.yml"), "--project-name", PROJECT, *words]


def ask(url: str, body: Json | None) -> Any:  # noqa: ANN401  JSON
    """JSON of an answer: of GET without a body, of POST with one. Raises: OSError, ValueError."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})  # noqa: S310  of this file
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
            return json.load(answer)
    except urllib.error.HTTPError as error:  # Grafana answers a query that fails with 400 and says why in the body
        return json.load(error)


def wrong_targets(answer: Json) -> list[str]:
    """Targets that are not up, from /api/v1/targets of Prometheus."""
    found = answer["data"]["activeTargets"]
    lines = [f"target {it['scrapeUrl']} is {it['health']}: {it['lastError']}" for it in found if it["health"] != "up"]
    return lines if found else ["Prometheus has no target"]


def wrong_rules(answer: Json) -> list[str]:
    """Rules that were not evaluated without error, from /api/v1/rules of Prometheus."""
    rules = [rule for group in answer["data"]["groups"] for rule in group["rules"]]
    lines = [f"rule {it['name']} is {it['health']}: {it.get('lastError', '')}" for it in rules if it["health"] != "ok"]
    return lines if rules else ["Prometheus has no rule"]


def wrong_dashboards(answer: list[Json], uids: list[str]) -> list[str]:
    """Dashboards that /api/search of Grafana does not list."""
    there = {it["uid"] for it in answer}
    return [f"dashboard {uid} is not in Grafana" for uid in uids if uid not in there]


def filled(expr: str, chosen: Mapping[str, str]) -> str:
    """An expression with the values of the dashboard's variables, which a browser fills in."""
    return re.sub(r"\$(?:\{(\w+)\}|(\w+))", lambda it: chosen.get(it[1] or it[2], it[0]), expr)


def requests(dashboard: Json, chosen: Mapping[str, str] = CHOSEN) -> dict[str, Json]:
    """Title of each panel -> body of POST /api/ds/query for all its queries over the last five minutes."""
    return {
        panel["title"]: {
            "from": "now-5m",
            "to": "now",
            "queries": [
                {
                    **target,
                    "datasource": SOURCE,
                    "expr": filled(target["expr"], chosen),
                    "intervalMs": 15_000,
                    "maxDataPoints": 100,
                }
                for target in panel["targets"]
            ],
        }
        for panel in dashboard["panels"]
        if panel["type"] != "row"
    }


def wrong_answers(body: Json, answer: Json) -> list[str]:
    """Why queries of a panel failed, from the answer of /api/ds/query."""
    results = answer.get("results")
    if results is None:
        return [str(answer.get("message", answer))]
    return [
        f"query {ref}: {results[ref]['error'] if ref in results else 'no answer'}"
        for ref in (it["refId"] for it in body["queries"])
        if ref not in results or "error" in results[ref]
    ]


def problems(ask_: Ask, dashboards: list[Json]) -> list[str]:
    """Everything that is wrong with a stack that runs."""
    version = ask_(f"{PROMETHEUS}/api/v1/status/buildinfo", None)["data"]["version"]
    found = [] if version.startswith("3.") else [f"Prometheus is {version}, not 3"]
    found += wrong_targets(ask_(f"{PROMETHEUS}/api/v1/targets", None))
    found += wrong_rules(ask_(f"{PROMETHEUS}/api/v1/rules", None))
    found += wrong_dashboards(ask_(f"{GRAFANA}/api/search?type=dash-db", None), [it["uid"] for it in dashboards])
    for dashboard in dashboards:
        for title, body in requests(dashboard).items():
            answer = ask_(f"{GRAFANA}/api/ds/query", body)
            found += [f"{dashboard['uid']}, {title}: {line}" for line in wrong_answers(body, answer)]
    return found


def settled(ask_: Ask, dashboards: list[Json]) -> list[str]:
    """What is still wrong when PATIENCE_S have passed: first scrapes and evaluations take an interval of 15 s each."""
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            found = problems(ask_, dashboards)
        except (OSError, ValueError, KeyError) as error:
            found = [f"a server gave no answer that can be read: {error!r}"]
        if not found or time.monotonic() > end:
            return found
        time.sleep(5)


def main() -> int:
    """Start, ask, end."""
    dashboards = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(RENDERED.glob("*.json"))]
    try:
        docker = engine()
    except CannotAskError as error:
        print(error, file=sys.stderr)
        return 2
    environment = {**os.environ, "SCENARIO": SCENARIO}
    held = subprocess.run(compose(docker, "ps", "--all", "--quiet"), capture_output=True, check=False)
    if held.stdout.strip():
        print(
            f"the project {PROJECT} has containers already, so another check runs; it is left as it is.",
            file=sys.stderr,
        )
        return 2
    try:
        start = compose(docker, "up", "--build", "--detach", "--wait", "--wait-timeout", str(START_S))
        if subprocess.run(start, env=environment, check=False).returncode != 0:
            print("the stack did not start; what docker says is above. Is a port in use?", file=sys.stderr)
            return 2
        found = settled(ask, dashboards)
    finally:
        subprocess.run(compose(docker, "down", "--volumes"), env=environment, check=False)
    for line in found:
        print(line)
    n_panels = sum(len(requests(it)) for it in dashboards)
    print(f"{len(dashboards)} dashboards, {n_panels} panels: {len(found)} problems")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
