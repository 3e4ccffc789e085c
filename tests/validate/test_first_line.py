"""What was not judged is said first, in every format; what was not understood is listed and not only counted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree as ET

import pytest

from fabric.cli.main import main
from fabric.configs.load import load_network
from fabric.validate.checks.base import Severity
from fabric.validate.output.data import as_json, as_junit, as_sarif
from fabric.validate.output.page import as_html, as_markdown
from fabric.validate.output.text import render
from fabric.validate.runner import Verdict, validate
from tests.recordings import SONIC

Tables = dict[str, Any]
SWITCHES: Final = sorted((SONIC / "fabric_ok").glob("[ls]*.json"))


def judged(folder: Path, edit: Callable[[Tables], object]) -> Verdict:
    """The sound fabric with an edit of every switch; only R12 is asked."""
    for file in SWITCHES:
        tables = json.loads(file.read_text(encoding="utf-8"))
        edit(tables)
        (folder / file.name).write_text(json.dumps(tables), encoding="utf-8")
    return validate(load_network([folder]), only={"R12"})


def no_links(tables: Tables) -> None:
    del tables["DEVICE_NEIGHBOR"]


def unknown_platform(tables: Tables) -> None:
    tables["DEVICE_METADATA"]["localhost"]["hwsku"] = "Acme-9000"
    tables["BUFFER_PG"] = {key: row for key, row in tables["BUFFER_PG"].items() if key.endswith("|0")}
    tables["BUFFER_PROFILE"] = {
        key: row for key, row in tables["BUFFER_PROFILE"].items() if not key.startswith("pg_lossless")
    }


def dynamic(tables: Tables) -> None:
    tables["DEVICE_METADATA"]["localhost"]["buffer_model"] = "dynamic"


def no_state(tables: Tables) -> None:
    del tables["DEVICE_NEIGHBOR"]
    del tables["PORT"][next(iter(tables["PORT"]))]["admin_status"]


def some_links(tables: Tables) -> None:
    own = tables["DEVICE_METADATA"]["localhost"]["hostname"]
    rows = tables["DEVICE_NEIGHBOR"].items()
    tables["DEVICE_NEIGHBOR"] = {} if own == "leaf2" else {key: it for key, it in rows if it["name"] != "leaf2"}


@pytest.mark.parametrize(
    ("edit", "rules", "text"),
    [
        (no_links, 1, "no link is known"),
        (some_links, 1, "no link of this switch is known"),
        (unknown_platform, 4, "no headroom table of 'Acme-9000' is known"),
        (dynamic, 4, "no file states max_headroom_size"),
        (no_state, 5, "no admin_status is stated, as at Ethernet0"),
    ],
)
def test_a_rule_that_could_not_be_judged_is_the_first_line_of_text(
    edit: Callable[[Tables], object], rules: int, text: str, tmp_path: Path
) -> None:
    shown = render(judged(tmp_path, edit))
    assert shown.startswith(f"{rules} rule{'s' if rules > 1 else ''} could not be judged")
    assert text in shown


def test_every_format_says_first_that_a_rule_could_not_be_judged(tmp_path: Path) -> None:
    verdict = judged(tmp_path, no_links)
    words = "1 rule could not be judged"
    found = json.loads(as_json(verdict))
    assert words in found[next(iter(found))]
    assert found["could_not_be_judged"] == 1
    notes = json.loads(as_sarif(verdict))["runs"][0]["invocations"][0]["toolExecutionNotifications"]
    assert words in notes[0]["message"]["text"]
    output = ET.fromstring(as_junit(verdict, Severity.ERROR)).findtext("system-out")  # noqa: S314  our own
    assert words in (output or "").strip().splitlines()[0]
    assert words in as_markdown(verdict).splitlines()[2]
    assert words in as_html(verdict).partition("<p>")[2].partition("</p>")[0]


def test_a_fabric_of_which_every_rule_was_judged_says_nothing_of_it(tmp_path: Path) -> None:
    verdict = judged(tmp_path, lambda _: None)
    assert "could not be judged" not in render(verdict)
    assert json.loads(as_json(verdict))["could_not_be_judged"] == 0


def test_a_switch_in_a_language_without_a_reader_is_a_rule_that_could_not_be_judged(tmp_path: Path) -> None:
    (tmp_path / "leaf1.cfg").write_text("interface ethernet1/1/1\n no shutdown\n", encoding="utf-8")
    verdict = validate(load_network([tmp_path]), only={"R12"})
    assert ["no check looks at this switch" in it.text for it in verdict.findings] == [True]
    assert main(["validate", str(tmp_path), "--strict"]) == 1


def test_of_many_lines_that_are_not_understood_the_first_are_shown_and_the_rest_has_a_way_to_be_seen(
    tmp_path: Path,
) -> None:
    lines = [f"frobnicate {number}" for number in range(14)]
    text = "\n".join(["hostname leaf1", "qos map dscp 26 to traffic-class 3", *lines, "qos frobnicate", "end"])
    (tmp_path / "leaf1.cfg").write_text(text + "\n", encoding="utf-8")
    verdict = validate(load_network([tmp_path]))
    shown = [line for line in render(verdict).splitlines() if line.startswith("not understood")]
    assert len(shown) == 11
    assert any("'qos frobnicate'" in line for line in shown)  # it could act on RoCE
    assert shown[-1] == "not understood: 5 more places: --all or --json lists each"
    everything = (
        render(verdict, everything=True),
        as_json(verdict),
        as_sarif(verdict),
        as_junit(verdict, Severity.ERROR),
        as_html(verdict),
        as_markdown(verdict),
    )
    for whole in everything:
        assert [line for line in lines if line not in whole.replace("\\", "")] == []
