"""deploy/check_stack.py: what it asks, how it reads answers, and what it says where there is no docker engine."""

from __future__ import annotations

import importlib.util
import json
import re
from typing import Any

import pytest
import yaml

from tests.conftest import ROOT

SPEC = importlib.util.spec_from_file_location("check_stack", ROOT / "deploy/check_stack.py")
assert SPEC is not None
assert SPEC.loader is not None
stack = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(stack)
BOARDS = [json.loads(path.read_text()) for path in sorted(stack.RENDERED.glob("*.json"))]


def answers(url: str, body: dict[str, Any] | None) -> Any:  # noqa: ANN401  JSON
    """Of a stack in which all is well."""
    if body is not None:
        return {"results": {it["refId"]: {"status": 200, "frames": []} for it in body["queries"]}}
    return {
        "/api/v1/status/buildinfo": {"data": {"version": "3.5.0"}},
        "/api/v1/targets": {"data": {"activeTargets": [{"scrapeUrl": "u", "health": "up", "lastError": ""}]}},
        "/api/v1/rules": {"data": {"groups": [{"rules": [{"name": "r", "health": "ok"}]}]}},
        "/api/search?type=dash-db": [{"uid": board["uid"]} for board in BOARDS],
    }[re.sub(r"^http://[^/]+", "", url)]


def test_a_stack_in_which_all_is_well_has_no_problems() -> None:
    assert BOARDS
    assert stack.problems(answers, BOARDS) == []


@pytest.mark.parametrize(
    ("path", "answer", "said"),
    [
        ("buildinfo", {"data": {"version": "2.53.0"}}, "Prometheus is 2.53.0, not 3"),
        ("targets", {"data": {"activeTargets": []}}, "Prometheus has no target"),
        (
            "targets",
            {"data": {"activeTargets": [{"scrapeUrl": "u", "health": "down", "lastError": "refused"}]}},
            "target u is down: refused",
        ),
        ("rules", {"data": {"groups": []}}, "Prometheus has no rule"),
        (
            "rules",
            {"data": {"groups": [{"rules": [{"name": "r", "health": "err", "lastError": "bad"}]}]}},
            "rule r is err: bad",
        ),
        ("dash-db", [{"uid": it["uid"]} for it in BOARDS[1:]], f"dashboard {BOARDS[0]['uid']} is not in Grafana"),
    ],
)
def test_what_a_server_says_is_wrong_is_named(path: str, answer: object, said: str) -> None:
    found = stack.problems(lambda url, body: answer if url.endswith(path) else answers(url, body), BOARDS)
    assert found == [said]


def test_a_query_that_fails_or_is_not_answered_is_named() -> None:
    body = {"queries": [{"refId": "A"}, {"refId": "B"}, {"refId": "C"}]}
    answer = {"results": {"A": {"status": 200, "frames": []}, "B": {"status": 400, "error": "parse error"}}}
    assert stack.wrong_answers(body, answer) == ["query B: parse error", "query C: no answer"]
    assert stack.wrong_answers(body, {"message": "no access"}) == ["no access"]


def test_every_query_of_every_panel_is_asked_with_its_variables_filled() -> None:
    source = yaml.safe_load((ROOT / "deploy/grafana/datasources.yml").read_text())["datasources"][0]
    assert {"type": source["type"], "uid": source["uid"]} == stack.SOURCE
    for board in BOARDS:
        panels = [it for it in board["panels"] if it["type"] != "row"]
        asked = stack.requests(board)
        assert [len(asked[it["title"]]["queries"]) for it in panels] == [len(it["targets"]) for it in panels]
        left = set(re.findall(r"\$\{?(\w+)", json.dumps(asked)))
        assert left <= {"__rate_interval", "__range", "__interval", "1"}  # 1: a group of label_replace


def test_it_starts_and_ends_a_project_of_its_own_on_the_published_ports() -> None:
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    assert compose["name"] != stack.PROJECT
    assert stack.compose("docker", "down")[-3:] == ["--project-name", stack.PROJECT, "down"]
    for service, url in (("prometheus", stack.PROMETHEUS), ("grafana", stack.GRAFANA)):
        address = url.removeprefix("http://")
        assert [it.rpartition(":")[0] for it in compose["services"][service]["ports"]] == [address]
    assert (ROOT / "scenarios" / stack.SCENARIO).is_file()


@pytest.mark.parametrize(
    ("failing", "said"), [(None, "not installed"), ("compose", "no compose plugin"), ("info", "no docker engine")]
)
def test_without_an_engine_it_says_one_sentence_and_ends_with_2(
    failing: str | None, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Done:
        def __init__(self, returncode: int) -> None:
            self.returncode = returncode

    monkeypatch.setattr(stack.shutil, "which", lambda _: failing and "docker")
    monkeypatch.setattr(stack.subprocess, "run", lambda words, **_: Done(int(words[1] == failing)))
    assert stack.main() == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert err.count("\n") == 1
