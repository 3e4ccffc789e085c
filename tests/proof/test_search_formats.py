"""What a search found, in SARIF, JUnit and HTML: losses with their scenarios, ladders and margins."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from broken_fabrics import narrow_network

from fabric.cli.main import main
from fabric.proof.search.margins import Margin
from fabric.proof.search.search import Found, Search

EXAMPLE = Path(__file__).parents[2] / "docs" / "howto" / "margins-example"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """The first class's ladder: two losses."""
    search = Search(narrow_network(tmp_path_factory.mktemp("narrow")), 1, 0)

    def tell(_done: int, _total: int, text: str) -> None:
        if text.startswith("long storm"):
            raise KeyboardInterrupt

    search.carry_out(tell)
    search.found.classes[0].margins.append(Margin("cable", "m", 5, 100, {"loss": 51}))
    search.found.complete = True
    return search.found


def _shown(found: Found, style: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(Search, "carry_out", lambda *_: found)
    assert main(["validate", str(EXAMPLE), "--prove", "--format", style, "--quiet"]) == 1
    return capsys.readouterr().out


def test_sarif_has_a_result_and_the_scenario_of_each_loss(
    found: Found, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (run,) = json.loads(_shown(found, "sarif", capsys, monkeypatch))["runs"]
    results: list[dict[str, Any]] = run["results"]
    ids = [it["id"] for it in run["tool"]["driver"]["rules"]]
    assert all(ids[it["ruleIndex"]] == it["ruleId"] for it in results)
    losses = [it for it in results if it["ruleId"] == "search-loss"]
    assert [it["level"] for it in losses] == ["error", "error"]
    place = losses[0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"].endswith("leaf1.json")
    texts = {it["location"]["uri"]: it["contents"]["text"] for it in run["artifacts"]}
    assert all(texts[it["properties"]["scenario"]].startswith("# Search, ") for it in losses)
    (margins,) = (it for it in results if it["ruleId"] == "search-margin")
    assert margins["kind"] == "informational"
    assert "grows until the first cable (5 m): loss 51 m" in margins["message"]["text"]
    assert run["properties"]["search"]["classes"][0]["margins"][0]["first"] == {"loss": 51}


def test_a_loss_with_a_condition_is_a_note_and_no_failure(
    found: Found, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = replace(found, hits=[found.hits[0], replace(found.hits[1], condition="only if a peer takes long")])
    (run,) = json.loads(_shown(slow, "sarif", capsys, monkeypatch))["runs"]
    assert [it["level"] for it in run["results"] if it["ruleId"] == "search-loss"] == ["error", "note"]
    suite = ET.fromstring(_shown(slow, "junit", capsys, monkeypatch))  # noqa: S314  our own output
    assert suite.get("failures") == "1"


def test_junit_has_a_test_case_for_each_loss_and_each_class(
    found: Found, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = ET.fromstring(_shown(found, "junit", capsys, monkeypatch))  # noqa: S314  our own output
    cases = [it for it in suite if it.get("classname") == "fabric.validate.search"]
    assert suite.get("failures") == "2"
    assert int(suite.get("tests", 0)) == len(suite.findall("testcase"))
    assert [it.find("failure") is not None for it in cases] == [True, True, False]
    assert "workload:" in (cases[0].findtext("system-out") or "")
    assert "traffic incast of 3 x 16 QPs" in (cases[-1].findtext("system-out") or "")


def test_html_and_markdown_have_the_tables_and_the_losses(
    found: Found, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = _shown(found, "html", capsys, monkeypatch)
    assert page.count("<h2>loss without a finding (") == 2
    assert page.count('aria-label="Scenario"') == 2
    assert "<th>first pause</th>" in page
    assert "<td>51 m</td>" in page
    text = _shown(found, "markdown", capsys, monkeypatch)
    assert "| cable (5 m) |" in text
    assert text.count("loss without a finding") == 2


def test_a_loss_names_the_file_that_was_written(
    found: Found, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Search, "carry_out", lambda *_: replace(found))
    out = tmp_path / "proofs"
    options = ["--prove", "--format", "sarif", "--prove-out", str(out), "--quiet"]
    assert main(["validate", str(EXAMPLE), *options]) == 1
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert {it["location"]["uri"] for it in run["artifacts"]} == {str(it) for it in out.glob("search-*.yml")}
