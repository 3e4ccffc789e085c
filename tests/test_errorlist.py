"""The catalogue of errors: ids, what is read from the source, and that printed messages are found in it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from fabric.cli.main import main
from fabric.errorlist import entries as catalogue
from fabric.errorlist import page
from fabric.errorlist.causes import area, cause, own_cause, remedies, written
from fabric.errorlist.entries import Entry, entries, match
from fabric.errorlist.sites import COMPUTED, Site, sites

RECORDED = Path(__file__).parent / "scenario" / "errors"
SOURCE = '''
from fabric.errors import FabricError, Problem

class OwnError(FabricError):
    """x"""

class Foreign(Exception):
    """x"""

def one(name, wide):
    text = f"'{name.text}' is too wide" if wide else "is too narrow for it"
    found = Problem("place", text, "shorten it")
    def inner():
        raise OwnError(f"{len(name)} names of {name.first}: " + "at most 9", hint=nearest(name))
    if wide:
        raise Foreign("is not of this program")
    try:
        inner()
    except FabricError as error:
        raise OwnError(error.text, error.hint)
'''
SCHEMA = """
def check(self):
    problems.append("kmax: is below kmin; raise it")
    problems.append("is of no error")
    raise ValueError("pmax: is zero here; give one above 0")
"""


def test_sites_are_what_the_source_makes_of_its_errors(tmp_path: Path) -> None:
    package = tmp_path / "some"
    package.mkdir()
    (package / "code.py").write_text(SOURCE, encoding="utf-8")
    (package / "schema.py").write_text(SCHEMA, encoding="utf-8")
    (tmp_path / "fabric.py").write_text("class FabricError(Exception): pass\n", encoding="utf-8")
    assert sites([package]) == [
        Site("some.code", "Problem", "'<text>' is too wide", "shorten it"),
        Site("some.code", "Problem", "is too narrow for it", "shorten it"),
        Site("some.code", "OwnError", "<name> names of <first>: at most 9", COMPUTED),
        Site("some.schema", "ValueError", "kmax: is below kmin", "raise it"),
        Site("some.schema", "ValueError", "pmax: is zero here", "give one above 0"),
    ]


def test_a_kept_id_stays_and_is_given_to_no_other_text(monkeypatch: pytest.MonkeyPatch) -> None:
    old = Entry("is-too-wide", "'<x>' is too wide", (), ("some.code",))
    monkeypatch.setattr(catalogue, "entries", lambda: {old.id: old})
    found = catalogue._ids(["<y> is too wide", "'<x>' is too wide", "is one of seven words that begin here alike"])
    assert found["'<x>' is too wide"] == "is-too-wide"
    assert found["<y> is too wide"] == "is-too-wide-2"
    assert found["is one of seven words that begin here alike"] == "is-one-of-seven-words-that"


def test_ids_are_words_and_belong_to_one_message() -> None:
    listed = list(entries().values())
    assert len({it.text for it in listed}) == len(listed) > 800
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", it.id) for it in listed)
    assert all(name == it.id for name, it in entries().items())


def test_an_entry_finds_its_own_message() -> None:
    def filled(entry: Entry) -> str:
        return re.sub(r"<[^<>]*>", "Ω", entry.text)

    found = {it.id: match(filled(it)) for it in entries().values()}
    assert [name for name, entry in found.items() if entry is None] == []
    wrong = [
        name
        for name, entry in found.items()
        if entry is not None
        and filled(entries()[name]) != filled(entry)
        and len(entry.text) < len(entries()[name].text)
    ]
    assert wrong == [], "a shorter template was taken"


def test_every_error_has_a_cause_and_a_remedy_and_texts_are_about_errors_that_exist() -> None:
    listed, texts = entries(), written()
    for section in ("causes", "remedies"):
        assert [name for name in texts[section] if name not in listed] == []
    assert [it.id for it in listed.values() if not (cause(it) and remedies(it))] == []
    assert [name for name in texts["remedies"] if listed[name].remedies] == [], "they have a hint of their own"
    assert set(texts["areas"]) == {area(it) for it in listed.values()}


def test_the_page_has_an_anchor_for_each_error() -> None:
    text = page.page()
    assert [name for name in entries() if text.count(f'<a id="{name}"></a>') != 1] == []
    assert str(written()["causes"]["has-no-unit"])[:20] in text


def test_every_message_of_wrong_scenarios_has_an_id_and_a_cause_of_its_own() -> None:
    """tests/scenario/errors holds what `fabric run` prints for each of its files."""
    without, causeless = [], set()
    for file in sorted(RECORDED.glob("*.txt")):
        for line in file.read_text(encoding="utf-8").splitlines():
            problem = re.fullmatch(r"  (\S.*)", line)
            if problem is None or problem[1].startswith("hint: "):
                continue
            parts = problem[1].split(": ")
            found = next((it for number in range(len(parts)) if (it := match(": ".join(parts[number:])))), None)
            if found is None:
                without.append(f"{file.stem}: {problem[1]}")
            elif not own_cause(found):
                causeless.add(found.id)
    assert causeless == set(), "write their causes into fabric/errorlist/causes.yml"
    # One message is put together of parts without words of their own; the others are Python's, about an address.
    assert without == [
        "bgp-policy: bgp-policy.yml: bgp.policies[0].rules[0].match.prefix: 10.0.0.1/24 has host bits set",
        "csv-bad-rows: csv-bad-rows.yml: workload[0].file, bad-rows.csv line 3: start_ns -5 is negative",
        "tenant-shapes: tenant-shapes.yml: vxlan.tenants[6].segments[0].subnet: 10.1.0.1/24 has host bits set",
        "tenant-shapes: tenant-shapes.yml: vxlan.tenants[6].segments[4].gateway: Expected 4 octets in '10.1.0'",
    ]


def test_json_of_an_error_has_the_ids_of_its_problems(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["run", "incast", "--set", "run.duration=10", "--set", "workload[0].recever=host1", "--json"]
    assert main([*words, "--out", str(tmp_path / "x")]) == 2
    problems = json.loads(capsys.readouterr().out)["error"]["problems"]
    assert {it["id"] for it in problems} == {"has-no-unit", "unknown-field-value"}
    assert main(["show", str(tmp_path / "nothing"), "messages", "--json"]) == 2
    name = json.loads(capsys.readouterr().out)["error"]["id"]
    assert name in entries()


@pytest.mark.parametrize(
    "what",
    ["has-no-unit", "10 has no unit", "error: incast.yml: run.duration: 10 has no unit", "  run.x: 3 has no unit "],
)
def test_the_verb_finds_an_id_and_a_printed_line(what: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["errors", what]) == 0
    said = capsys.readouterr().out
    assert said.startswith("has-no-unit\n")
    assert "  cause: A bare number could be seconds or microseconds" in said
    assert main(["errors", what, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["id"], told["cause"][:13]) == ("has-no-unit", "A bare number")


def test_the_verb_refuses_other_words_and_lists_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["errors", "qwertz"]) == 2
    assert "no error has this id or these words" in capsys.readouterr().err
    assert main(["errors", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == len(entries())
    assert main(["errors"]) == 0
    assert "errors have an id" in capsys.readouterr().out
