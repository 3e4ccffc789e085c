"""`fabric validate --prove`: output in every format, files, interruption, contradictions of options."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from broken_fabrics import Broken, nothing, put

from fabric.cli.main import main
from fabric.configs.network import Network
from fabric.proof import prove as proving
from fabric.proof.files import INDEX, stem
from fabric.validate.proofs import Proof

MISTAKE = put("leaf1", "BUFFER_PROFILE", "pg_lossless_400000_40m_profile", xoff="20000")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A fabric with too little headroom."""
    Broken("H1", "", MISTAKE).network(tmp_path / "configs")
    return tmp_path / "configs"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results without a run."""

    def fake(_: Network, work: Sequence[proving.Task]) -> Iterator[Proof]:
        for task in work:
            key = task.finding.key
            yield Proof(
                *key,
                "proven",
                "9 frames | lost",
                "only if",
                "loss",
                "CHAIN",
                "more",
                task.alike,
                "name: a\n",
                "name: b\n",
            )

    monkeypatch.setattr(proving, "proofs", fake)


@pytest.fixture
def no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search that follows where nothing was simulated looks at the routes only: test_search.py has the rest."""
    monkeypatch.setattr("fabric.proof.search.search.QUANTITIES", {})
    monkeypatch.setattr("fabric.proof.search.search.FAMILIES", ())
    monkeypatch.setattr("fabric.proof.search.search.DEFAULT_RUNS", 0)


def test_a_proof_stands_below_its_finding_with_the_command_that_shows_it(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "proofs"
    assert main(["validate", str(folder), "--only", "H1", "--prove", "--prove-out", str(out), "--quiet"]) == 1
    shown = capsys.readouterr().out
    assert "simulated: proven: leaf1 Ethernet16 dropped 9 frames of class 3" in shown
    assert "proofs: 1 proven, 0 refuted, 0 not proven" in shown
    file = next(path for path in out.glob("H1-*.yml") if "remedied" not in path.name)
    assert f"$ fabric run {file}" in shown
    assert "leaf1:Ethernet16 buffer.headroom" in file.read_text(encoding="utf-8")  # the origin of the value
    assert main(["run", str(file), "--out", str(tmp_path / "run"), "--quiet"]) == 1
    assert main(["run", str(file.with_suffix(".remedied.yml")), "--out", str(tmp_path / "twin"), "--quiet"]) == 0
    assert [it["result"] for it in json.loads((out / INDEX).read_text(encoding="utf-8"))] == ["proven"]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("style", ["json", "sarif", "markdown", "html", "text"])
def test_every_format_has_the_proof(style: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["validate", str(folder), "--only", "H1", "--prove", "--quiet", "--format", style])
    shown = capsys.readouterr().out
    if style == "json":
        assert json.loads(shown)["proofs"][0]["scenario"] == "name: a\n"
    elif style == "sarif":
        run = json.loads(shown)["runs"][0]
        assert run["artifacts"][0]["contents"]["text"] == "name: a\n"
        assert run["results"][0]["properties"]["proofs"][0]["result"] == "proven"
        assert "Simulated H1: proven" in run["results"][0]["message"]["text"]
    elif style == "html":
        assert "<b>Simulated H1:</b> proven: 9 frames | lost (only if)" in shown
        assert "name: a" in shown
    elif style == "markdown":
        assert "simulated H1: proven: 9 frames \\| lost" in shown
    else:
        assert "simulated: proven: 9 frames | lost (only if)" in shown


@pytest.mark.usefixtures("quick")
def test_without_prove_no_format_changes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["validate", str(folder), "--only", "H1", "--json"])
    assert "proofs" not in json.loads(capsys.readouterr().out)


def test_an_interruption_keeps_the_proofs_that_are_finished(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: Network, work: Sequence[proving.Task]) -> Iterator[Proof]:
        yield Proof(*work[0].finding.key, "proven", "lost", scenario="name: a\n", remedied="name: b\n")
        raise KeyboardInterrupt

    monkeypatch.setattr(proving, "proofs", interrupted)
    out = tmp_path / "proofs"
    assert main(["validate", str(folder), "--prove", "--prove-out", str(out), "--quiet"]) == 130
    captured = capsys.readouterr()
    assert "proofs: 1 proven" in captured.out
    assert "interrupted: 1 of" in captured.err
    assert len(json.loads((out / INDEX).read_text(encoding="utf-8"))) == 1


@pytest.mark.usefixtures("quick")
def test_what_is_not_simulated_is_said_with_the_reason(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(folder), "--prove", "--quiet"]) == 1
    shown = capsys.readouterr().out
    assert "; not simulated: " in shown
    assert "(a note claims no damage)" in shown
    main(["validate", str(folder), "--prove", "--quiet", "--json"])
    assert "notes (a note claims no damage)" in json.loads(capsys.readouterr().out)["not_simulated"]


@pytest.mark.usefixtures("no_search")
def test_findings_whose_rules_claim_nothing_of_packets_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change = put("leaf1", "BUFFER_PROFILE", "pg_lossless_400000_40m_profile", dynamic_th="7")
    Broken("B3", "", change).network(tmp_path)
    main(["validate", str(tmp_path), "--only", "B3", "--prove", "--quiet"])
    assert "of B3 (packets alone show nothing of their rules)" in capsys.readouterr().out


@pytest.mark.usefixtures("no_search")
def test_a_fabric_with_notes_alone_says_that_nothing_was_simulated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Broken("H1", "", nothing).network(tmp_path)
    assert main(["validate", str(tmp_path), "--prove", "--quiet"]) == 0
    assert "proofs: no finding was simulated; not simulated: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--prove-out", "x"], "--prove-out: has no effect without --prove"),
        (["--quiet"], "--quiet: has no effect without --prove"),
        (["--prove", "--reach"], "--prove: is for verdicts"),
    ],
)
def test_options_that_contradict_are_refused(
    options: list[str], words: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", str(folder), *options]) == 2
    assert words in capsys.readouterr().err


def test_a_folder_that_cannot_be_made_is_an_error_that_names_it(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert main(["validate", str(folder), "--prove", "--prove-out", str(tmp_path / "file"), "--quiet"]) == 2
    assert str(tmp_path / "file") in capsys.readouterr().err


@pytest.mark.usefixtures("quick", "no_search")
def test_a_later_proof_leaves_no_file_of_an_earlier_one(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "proofs"
    words = ["validate", str(folder), "--prove", "--prove-out", str(out), "--quiet"]
    main(words)
    assert len(list(out.glob("*.yml"))) > 2
    main([*words, "--only", "M1"])
    left = {it.name for it in out.glob("[!.]*") if not it.name.startswith("search")}  # the search looks at every port
    assert left == {INDEX}
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "a.yml").write_text("name: mine", encoding="utf-8")
    capsys.readouterr()
    assert main([*words[:4], str(tmp_path / "mine")]) == 2
    assert "--prove-out: " in capsys.readouterr().err


def test_a_stem_is_a_name_of_files_and_scenarios() -> None:
    assert stem("L1", "spine1", "leaf1:Ethernet16↔spine1:Ethernet8") == "L1-spine1-leaf1-Ethernet16-spine1-Ethernet8"
    assert len(stem("H1", "x" * 80, "y")) <= 50
