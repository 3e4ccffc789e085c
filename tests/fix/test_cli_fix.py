"""`fabric validate --fix` as it is typed: its files, its formats, its contradictions, and what other options mean."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from fabric.cli.main import main
from tests.mistakes.mistake import LANGUAGES, put, write

FINDING = 1
BAD_INPUT = 2


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """Two mistakes on two switches."""
    files = LANGUAGES["sonic"].good()
    put("DSCP_TO_TC_MAP", "M", "26", value="0")(files["leaf1.json"])
    put("WRED_PROFILE", "W", "ecn", value="ecn_none")(files["spine2.json"])
    folder = tmp_path / "broken"
    folder.mkdir()
    write("sonic", files, folder)
    return folder


@pytest.fixture
def good(tmp_path: Path) -> Path:
    """The working fabric."""
    folder = tmp_path / "good"
    folder.mkdir()
    write("sonic", LANGUAGES["sonic"].good(), folder)
    return folder


def test_patches_and_copies_are_written_and_the_copies_are_clean(
    broken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    patches, copies = tmp_path / "patches", tmp_path / "copies"
    before = {it.name: it.read_bytes() for it in broken.iterdir()}
    assert main(["validate", str(broken), "--fix", str(patches), "--fix-apply", str(copies)]) == FINDING
    out = capsys.readouterr().out
    assert "leaf1: DSCP_TO_TC_MAP|M|26: 0 → 3" in out
    assert "spine2: WRED_PROFILE|W|ecn: ecn_none → ecn_all" in out
    assert {it.name for it in patches.glob("[!.]*")} == {"leaf1.patch.json", "spine2.patch.json"}
    assert {it.name: it.read_bytes() for it in broken.iterdir()} == before
    assert main(["validate", str(copies)]) == 0


def test_only_and_suppress_decide_what_is_fixed(
    broken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["validate", str(broken), "--fix", "--only", "E"])
    out = capsys.readouterr().out
    assert "WRED_PROFILE" in out
    assert "DSCP_TO_TC_MAP" not in out
    accepted = tmp_path / "accepted.yml"
    accepted.write_text(
        "suppressions:\n"
        '  - {check: E3, device: spine2, object: "*", reason: lab, expires: 2099-01-31}\n'
        '  - {check: E4, device: spine2, object: "*", reason: lab, expires: 2099-01-31}\n',
        encoding="utf-8",
    )
    main(["validate", str(broken), "--fix", "--suppress", str(accepted)])
    out = capsys.readouterr().out
    assert "DSCP_TO_TC_MAP" in out
    assert "WRED_PROFILE" not in out


def test_a_baseline_decides_between_two_sides(good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = LANGUAGES["sonic"].good()
    put("SAG", "GLOBAL", "gateway_mac", value="00:00:5e:00:01:02")(files["leaf1.json"])
    new = tmp_path / "new"
    new.mkdir()
    write("sonic", files, new)
    main(["validate", str(new), "--fix"])
    assert "no fix  error V6" in capsys.readouterr().out
    main(["validate", str(new), "--fix", "--baseline", str(good)])
    out = capsys.readouterr().out
    assert "leaf1: SAG|GLOBAL|gateway_mac: 00:00:5e:00:01:02 → 00:00:5e:00:01:01" in out
    assert "why: the baseline has it so" in out


def test_a_switch_that_was_not_given_is_left(good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    part = tmp_path / "part"
    part.mkdir()
    files = LANGUAGES["sonic"].good()
    del files["spine2.json"]
    write("sonic", files, part)
    main(["validate", str(part), "--fix", "--baseline", str(good), "--only", "R11"])
    out = capsys.readouterr().out
    assert "because: what is missing has to be given" in out
    assert "0 of 1 cause gone, 0 of 1 error, 0 of 0 warnings" in out


def test_machines_get_the_fixes(broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["validate", str(broken), "--fix", "--json"])
    fix = json.loads(capsys.readouterr().out)["fix"]
    assert (fix["gone"], fix["new"], fix["left"]) == (fix["asked"], 0, [])
    assert [it["op"] for it in fix["patches"]["leaf1"]] == ["test", "replace"]
    main(["validate", str(broken), "--fix", "--format", "sarif"])
    results = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    text = (broken / "leaf1.json").read_text(encoding="utf-8").splitlines()
    edits = [(one["artifactChanges"][0]["replacements"], it["ruleId"]) for it in results for one in it.get("fixes", ())]
    ((replacement,), _) = next(it for it in edits if it[1] == "M1")
    area = replacement["deletedRegion"]
    assert '"26": "0"' in text[area["startLine"] - 1]
    assert (area["endLine"], area["endColumn"]) == (area["startLine"] + 1, 1)
    assert replacement["insertedContent"]["text"].strip() == text[area["startLine"] - 1].strip().replace('"0"', '"3"')


def test_a_pull_request_gets_the_patch(broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["validate", str(broken), "--fix", "--format", "markdown"])
    out = capsys.readouterr().out
    assert "## Fixes" in out
    assert "leaf1.patch.json" in out
    assert '"path": "/DSCP_TO_TC_MAP/M/26"' in out


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--fix", "--format", "junit"], "junit has no fixes"),
        (["--fix", "--reach"], "is for a verdict"),
        (["--fix", "--all"], "has no effect on fixes"),
    ],
)
def test_contradictions_are_refused(
    broken: Path, words: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", str(broken), *words]) == BAD_INPUT
    assert text in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--fix", "--fix-apply"])
def test_nothing_is_written_into_a_folder_that_is_read(
    option: str, broken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = tmp_path / "before"
    shutil.copytree(broken, before)
    held = {path: path.read_bytes() for folder in (broken, before) for path in folder.iterdir()}
    for words in ([str(broken)], [str(before), "--baseline", str(before)]):
        assert main(["validate", str(broken), option, *words]) == BAD_INPUT
        assert f"{option}: {words[0]} holds the files that were read" in capsys.readouterr().err
    assert {path: path.read_bytes() for folder in (broken, before) for path in folder.iterdir()} == held


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--fix", "a", "--fix-apply", "a"], "--fix-apply: a is, or is in, the place of --fix, a"),
        (["--fix", "a", "--fix-apply", "a/b"], "--fix-apply: a/b is, or is in, the place of --fix, a"),
        (["--fix", "a/b", "--fix-apply", "a"], "--fix: a/b is, or is in, the place of --fix-apply, a"),
        (["--fix", "a", "-o", "a"], "--out: a is, or is in, the place of --fix, a"),
        (["--fix-apply", "broken/leaf1.json"], "is no folder"),
        (["--fix-apply", "."], "--fix-apply: . holds the files that were read"),
    ],
)
def test_places_of_two_options_are_refused_before_anything_is_written(
    words: list[str],
    text: str,
    broken: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    assert main(["validate", "broken", *words]) == BAD_INPUT
    assert text in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == before
    assert broken.is_dir()


def test_a_file_that_was_read_is_not_in_the_folder_of_copies(
    broken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copies, patches = tmp_path / "copies", tmp_path / "patches"
    main(["validate", str(broken), "--fix-apply", str(copies)])
    (copies / "leaf1.json").write_bytes((broken / "leaf1.json").read_bytes())
    names = [str(it) for it in sorted(copies.glob("*.json"))]
    assert main(["validate", *names, "--fix", str(patches), "--fix-apply", str(copies)]) == BAD_INPUT
    assert "holds the files that were read" in capsys.readouterr().err
    assert not patches.exists()


def test_copies_lie_as_their_folder_with_hosts_and_links_of_elsewhere_beside_them(
    broken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = tmp_path / "far" / "away"
    elsewhere.mkdir(parents=True)
    hosts = next(broken.glob("hosts.*"))
    moved = elsewhere / f"servers{hosts.suffix}"
    moved.write_bytes(hosts.read_bytes())
    copies = tmp_path / "copies"
    main(["validate", str(broken), "--hosts", str(moved), "--fix-apply", str(copies)])
    assert sorted(it.name for it in copies.glob("[!.]*")) == sorted(it.name for it in broken.iterdir())
    capsys.readouterr()
    assert main(["validate", str(copies)]) == 0


def test_the_word_after_fix_is_its_folder(broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "--fix", str(broken)]) == BAD_INPUT
    assert "write --fix after CONFIGS" in capsys.readouterr().err


def test_a_clean_fabric_has_nothing_to_fix(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(good), "--fix"]) == 0
    assert (
        capsys.readouterr().out
        == "0 changes of 0 devices: 0 of 0 causes gone, 0 of 0 errors, 0 of 0 warnings; 0 new; 0 trials\n"
    )


@pytest.mark.parametrize("option", ["--fix", "--fix-apply"])
def test_a_second_fix_replaces_the_first_and_no_file_of_others(
    option: str, broken: Path, good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    main(["validate", str(broken), option, str(out)])
    (broken / "leaf1.json").write_bytes((good / "leaf1.json").read_bytes())
    (out / "notes.md").write_text("mine", encoding="utf-8")
    main(["validate", str(broken), option, str(out)])
    names = {it.name for it in out.glob("[!.]*")}
    assert names == ({"notes.md", "spine2.patch.json"} if option == "--fix" else {"notes.md"} | set(_names(broken)))
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "leaf1.json").write_text("{}", encoding="utf-8")
    capsys.readouterr()
    assert main(["validate", str(broken), option, str(taken)]) == BAD_INPUT
    assert "name a folder that is new or empty" in capsys.readouterr().err
    assert [(it.name, it.read_text(encoding="utf-8")) for it in taken.iterdir()] == [("leaf1.json", "{}")]


def _names(folder: Path) -> list[str]:
    return [it.name for it in folder.iterdir()]


@pytest.mark.parametrize("name", ["broken", "good"])
def test_the_fixes_are_counted_as_the_verdict_counts(
    name: str, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    """A check with two findings of one switch and object counts twice in both, and so does each severity."""
    folder = request.getfixturevalue(name)
    main(["validate", str(folder), "--fix", "--json"])
    said = json.loads(capsys.readouterr().out)
    fix, counts = said["fix"], said["counts"]
    assert (fix["errors"]["asked"], fix["warnings"]["asked"]) == (counts["error"], counts["warn"])
    assert fix["causes"]["asked"] == sum(it["severity"] in {"error", "warn"} for it in said["causes"])
    main(["validate", str(folder)])
    verdict = capsys.readouterr().out.splitlines()[-1]
    main(["validate", str(folder), "--fix"])
    line = capsys.readouterr().out.splitlines()[-1]
    assert all(many in line for many in re.findall(r"\d+ (?:causes?|errors?|warnings?)", verdict))
