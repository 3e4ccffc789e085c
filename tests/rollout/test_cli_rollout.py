"""`fabric rollout`: exit codes, formats, bad input, and the guide."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from fabric.cli.main import main
from fabric.configs.network import Network
from fabric.proof import prove as proving
from fabric.proof.files import INDEX
from fabric.rollout.output.words import claim
from fabric.validate.proofs import Proof

EXAMPLE = "docs/howto/rollout-example"
TENANTS = "docs/howto/tenants-example"
_SECONDS = re.compile(r"about \d+ s")


@pytest.fixture(autouse=True)
def _in_the_repository(repo_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repo_root)


def test_the_guide_shows_what_its_commands_print(repo_root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    guide = (repo_root / "docs/howto/rollout.md").read_text(encoding="utf-8")
    codes = []
    blocks = [block for block in guide.split("```\n")[1::2] if block.startswith("$ ")]
    for block in blocks:
        command, *lines = block.splitlines()
        codes.append(main([*command.removeprefix("$ fabric ").split()]))
        printed = _SECONDS.sub("", capsys.readouterr().out).splitlines()
        shown = [_SECONDS.sub("", line) for line in lines if line.strip() != "..."]
        assert [line for line in shown if line not in printed] == []
    assert codes == [0, 1, 0, 1]


def test_json_has_every_state_the_order_and_patches(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rollout", f"{EXAMPLE}/old", f"{EXAMPLE}/new", "--json"]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert "mixed states will be validated" in err
    assert found["safe"] is True
    assert found["listed_order"]["hazard_after"] == "leaf1"
    assert len(found["order"]) == sum(it["on_order"] for it in found["states"]) == 11
    assert found["units"][0]["steps"][0]["edits"][0]["path"] == "/DSCP_TO_TC_MAP/M/30"
    assert {it["safe"] for it in found["states"]} == {True, False}


def test_json_of_a_hazard_has_its_counterexample_and_the_split(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rollout", f"{EXAMPLE}/old", f"{EXAMPLE}/other-class", "--json", "-q"]) == 1
    out, err = capsys.readouterr()
    hazard = json.loads(out)["hazard"]
    assert err == ""
    assert hazard["findings"][0]["id"] == "M2"
    assert hazard["nearest_safe_state"] == "all OLD"
    assert [it["safe"] for it in hazard["split"]["stages"]] == [True, True, True]
    assert hazard["split"]["stages"][0]["units"][0]["steps"][0]["edits"][0]["value"] == "4"


def test_markdown_is_a_comment_with_the_order_or_the_hazard(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "comment.md"
    assert main(["rollout", f"{EXAMPLE}/old", f"{EXAMPLE}/new", "-q", "--format", "markdown", "-o", str(out)]) == 0
    text = out.read_text(encoding="utf-8")
    assert "## Safe order" in text
    assert "1. spine1, spine2, leaf1, leaf2: classes\n" in text
    assert main(["rollout", f"{EXAMPLE}/old", f"{EXAMPLE}/other-class", "-q", "--format", "markdown"]) == 1
    text = capsys.readouterr().out
    assert "## Hazard" in text
    assert "remedy, split (validated)" in text
    assert all(line.count("|") == 5 for line in text.replace(r"\|", "").splitlines() if line.startswith("|"))


def test_html_is_one_page_with_the_order_or_the_hazard(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "rollout.html"
    assert main(["rollout", f"{EXAMPLE}/old", f"{EXAMPLE}/new", "-q", "--format", "html", "-o", str(out)]) == 0
    text = out.read_text(encoding="utf-8")
    assert "<h1>fabric rollout</h1>" in text
    assert "<td><b>1 to 4</b></td><td>spine1, spine2, leaf1, leaf2</td><td>classes</td>" in text
    assert "<summary>30 states</summary>" in text
    assert "<code>DSCP_TO_TC_MAP|M|30: 0 → 4</code>" in text
    assert main(["rollout", f"{EXAMPLE}/old", f"{EXAMPLE}/other-class", "-q", "--format", "html"]) == 1
    text = capsys.readouterr().out
    assert '<section class="error"><h2>HAZARD' in text
    assert "<b>Remedy, split</b> (validated)" in text
    assert "http" not in re.sub(r"<small>.*?</small>", "", text)
    main(["rollout", f"{EXAMPLE}/old", f"{EXAMPLE}/old", "-q", "--format", "html"])
    assert "nothing changes between OLD and NEW" in capsys.readouterr().out


def test_names_from_files_are_no_markup(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    old, new = _copies(tmp_path)
    file = new / "leaf1.json"
    file.write_text(file.read_text(encoding="utf-8").replace('"26": "3"', '"26": "<b>3</b>"'), encoding="utf-8")
    main(["rollout", str(old), str(new), "-q", "--format", "html"])
    text = capsys.readouterr().out
    assert "<b>3</b>" not in text
    assert "&lt;b&gt;3&lt;/b&gt;" in text


def test_what_another_system_does_is_not_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rollout", f"{TENANTS}/broken", f"{TENANTS}/working", "-q"]) == 0
    text = capsys.readouterr().out
    assert "what a running eos switch does with an edit is not known" in text
    assert "1. all edits: router bgp vrf RED route-target import evpn: 65000:50010 → 65000:50001" in text


def test_a_folder_to_itself_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rollout", f"{EXAMPLE}/old", f"{EXAMPLE}/old", "-q"]) == 0
    assert "nothing changes between OLD and NEW" in capsys.readouterr().out


def test_hosts_of_old_and_new_can_be_given(capsys: pytest.CaptureFixture[str]) -> None:
    hosts = [f"{EXAMPLE}/{name}/hosts.yml" for name in ("old", "new")]
    options = [part for path in hosts for part in ("--hosts", path)]
    assert main(["rollout", f"{EXAMPLE}/old", f"{EXAMPLE}/new", "-q", "--json", *options]) == 0
    both = json.loads(capsys.readouterr().out)
    assert [it["name"] for it in both["units"]][-1] == "hosts"
    main(["rollout", f"{EXAMPLE}/old", f"{EXAMPLE}/new", "-q", "--json", *options[:2]])
    one = json.loads(capsys.readouterr().out)
    assert "hosts" not in [it["name"] for it in one["units"]]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["{old}/leaf1.json", "{new}"], "is no folder"),
        (["{old}", "absent"], "is no folder"),
        (["{old}", "{new}", "--hosts", "a", "--hosts", "b", "--hosts", "c"], "3 files were given"),
        (["{old}", "{new}", "--links", "a", "--links", "b", "--links", "c"], "3 files were given"),
        (["{old}", "{new}", "--json", "--format", "text"], "contradicts --format text"),
        (["{old}", "{new}", "--json", "--all"], "has no effect on json"),
        (["{old}", "{new}", "--estimate", "--format", "markdown"], "has no Markdown"),
        (["{old}", "{new}", "--estimate", "--format", "html"], "has no HTML"),
        (["{old}", "{new}", "--estimate", "--all"], "has no effect with --estimate"),
        (["{old}", "{new}", "--estimate", "--prove"], "has no effect with --estimate"),
        (["{old}", "{new}", "--prove-out", "x"], "--prove-out: has no effect without --prove"),
        (["{old}", "{new}", "--prove", "--prove-out", "{new}"], "--prove-out: "),
        (["{old}", "{new}", "--hosts", "absent.yml"], "absent.yml"),
        (["{old}", "{new}", "-o", "{old}"], "is a folder"),
        (["{old}", "{new}", "-o", "absent/plan.txt"], "absent is no folder"),
        (["{old}", "{new}", "-o", "{new}/leaf1.json"], "is a file that this command reads"),
        (["{old}", "{new}", "--hosts", "{old}/hosts.yml", "-o", "{old}/hosts.yml"], "this command reads"),
    ],
)
def test_bad_input_is_one_error_and_exit_code_2(
    words: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [word.format(old=f"{EXAMPLE}/old", new=f"{EXAMPLE}/new") for word in words]
    assert main(["rollout", *given]) == 2
    assert text in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--max-states", "0"], ["--max-states", "9" * 12], ["--sonic-release", "202311"]])
def test_a_bad_value_of_an_option_is_refused(words: list[str]) -> None:
    assert main(["rollout", f"{EXAMPLE}/old", f"{EXAMPLE}/new", *words]) == 2


def test_a_broken_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(f"{EXAMPLE}/new", tmp_path / "new")
    (tmp_path / "new" / "leaf1.json").write_text("{", encoding="utf-8")
    assert main(["rollout", f"{EXAMPLE}/old", str(tmp_path / "new")]) == 2
    assert "leaf1.json:1" in capsys.readouterr().err


def test_an_estimate_is_numbers_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rollout", f"{EXAMPLE}/old", f"{EXAMPLE}/new", "--estimate", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["units"], found["states"], found["most"]) == (5, 25, 1000)


def test_the_release_changes_the_effects(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(f"{EXAMPLE}/old", tmp_path / "new")
    path = tmp_path / "new" / "leaf1.json"
    tables = json.loads(path.read_text(encoding="utf-8"))
    tables["WRED_PROFILE"]["W"]["green_min_threshold"] = "300000"
    path.write_text(json.dumps(tables), encoding="utf-8")
    kinds = []
    for release in ("202411", "202505"):
        main(["rollout", f"{EXAMPLE}/old", str(tmp_path / "new"), "-q", "--json", "--sonic-release", release])
        step = json.loads(capsys.readouterr().out)["units"][0]["steps"][0]
        kinds.append((step["edits"][0]["effect"], step["needs_reload"]))
    assert kinds == [("refused", True), ("live", False)]


def test_errors_of_new_alone_are_a_hazard_and_named(capsys: pytest.CaptureFixture[str]) -> None:
    folders = ["docs/howto/validate-example/before", "docs/howto/validate-example/after"]
    assert main(["rollout", *folders, "-q"]) == 1
    text = capsys.readouterr().out
    assert "HAZARD: NEW is worse than OLD, with 10 findings that OLD does not have" in text
    assert "error H2 leaf1 Ethernet16: no headroom row for this speed and cable: " in text
    assert "taken down and up again: 1 port or session" in text
    assert " 1  " not in text
    assert main(["rollout", *folders, "-q", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["safe"], found["safe_on_the_way"], found["order"]) == (False, True, None)
    assert len(found["findings_of_new_alone"]) == 10
    for style, words in (("markdown", "- error **H2** leaf1 Ethernet16: "), ("html", "<b>H2 leaf1 Ethernet16:</b>")):
        assert main(["rollout", *folders, "-q", "--format", style]) == 1
        assert words in capsys.readouterr().out


def test_findings_that_old_has_are_said_and_not_held_against_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    for folder in (old, new):
        shutil.copytree("docs/howto/validate-example/after", folder)
    file = new / "spine1.json"
    tables = json.loads(file.read_text(encoding="utf-8"))
    tables["WRED_PROFILE"]["W"]["green_min_threshold"] = "500000"
    file.write_text(json.dumps(tables), encoding="utf-8")
    assert main(["rollout", str(old), str(new), "-q"]) == 0
    text = capsys.readouterr().out
    assert "note: NEW has 10 findings that OLD has as well, not held against the rollout (1 H2, 1 H3, " in text


def test_a_check_is_named_with_its_title(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rollout", f"{EXAMPLE}/old", f"{EXAMPLE}/new", "-q"]) == 0
    text = capsys.readouterr().out
    assert "  M2: a code point changes class from hop to hop\n" in text
    assert "hazardous after leaf1 (NEW: leaf1): M1 leaf1 Ethernet0 and 3 more: RoCE rides a lossy queue; " in text


def _copies(tmp_path: Path) -> tuple[Path, Path]:
    old, new = tmp_path / "old", tmp_path / "new"
    for folder in (old, new):
        shutil.copytree(f"{EXAMPLE}/old", folder)
    return old, new


def test_a_switch_that_is_removed_or_added_is_named_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = _copies(tmp_path)
    (new / "spine2.json").unlink()
    assert main(["rollout", str(old), str(new), "-q"]) == 1
    text = capsys.readouterr().out
    assert "  spine2 (sonic)\n    1. removed\n" in text
    assert "error R11 spine2 configuration: a switch, or a part of one, is missing" in text
    assert "all edits" not in text
    assert main(["rollout", str(new), str(old), "-q"]) == 0
    assert "1  spine2: added" in capsys.readouterr().out


def test_a_switch_with_another_name_is_pointed_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = _copies(tmp_path)
    (new / "leaf2.json").rename(new / "leaf9.json")
    for file in new.glob("*.json"):
        file.write_text(file.read_text(encoding="utf-8").replace("leaf2", "leaf9"), encoding="utf-8")
    main(["rollout", str(old), str(new), "-q"])
    text = capsys.readouterr().out
    assert "warning: leaf9 comes at the cables of leaf2" in text
    assert "NEW: leaf2 (removed)" in text
    assert "OLD: leaf2 (not yet removed), all others NEW" in text
    assert "no port and no session is taken down" in text


@pytest.mark.parametrize(("more", "words"), [(1, "1 more state that equals these"), (2, "2 more states that equal")])
def test_one_state_is_one(more: int, words: str) -> None:
    state = SimpleNamespace(on_order=True, stands_for=1 + more, checked=SimpleNamespace(safe=True))
    assert words in claim(SimpleNamespace(listed=[state], complete=True))  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_hazard_of_a_mixed_state_is_proven(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rollout", f"{EXAMPLE}/old", f"{EXAMPLE}/other-class", "--prove", "--json", "-q"]) == 1
    [proof] = json.loads(capsys.readouterr().out)["proofs"]
    assert (proof["id"], proof["device"], proof["result"]) == ("M2", "spine1", "proven")
    assert "DSCP" in proof["scenario"] or "dscp" in proof["scenario"]


@pytest.mark.parametrize("other", ["validate", "rollout"])
def test_scenarios_of_hazards_are_written_beside_their_states(
    other: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fake(_: Network, work: Sequence[proving.Task]) -> Iterator[Proof]:
        for task in work:
            yield Proof(*task.finding.key, "proven", "lost", scenario="name: a\n", remedied="name: b\n")

    monkeypatch.setattr(proving, "proofs", fake)
    out = tmp_path / "proofs of it"
    words = ["rollout", f"{EXAMPLE}/old", f"{EXAMPLE}/other-class", "--prove", "--prove-out", str(out), "-q"]
    assert main(words) == 1
    text = capsys.readouterr().out
    assert f"$ fabric run '{out}/M2-spine1-DSCP-26.yml'" in text
    assert (out / "M2-spine1-DSCP-26.yml").read_text(encoding="utf-8") == "name: a\n"
    assert (out / "M2-spine1-DSCP-26.remedied.yml").read_text(encoding="utf-8") == "name: b\n"
    rows = json.loads((out / INDEX).read_text(encoding="utf-8"))
    assert {(it["id"], it["state"]) for it in rows} >= {("M2", "NEW: spine1")}
    if other == "validate":  # another command never removes these files
        assert main(["validate", f"{EXAMPLE}/old", "--prove", "--prove-out", str(out), "--quiet"]) == 2
        assert "`fabric validate --prove-out` did not write them" in capsys.readouterr().err
    else:
        assert main(words) == 1
