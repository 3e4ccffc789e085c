"""Playbooks are run with the live view; bad ones are refused with their place and remedy. test_check.py runs all."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from fabric.cli.main import main
from fabric.errors import InputErrors, UnitError
from fabric.runs.rundir import RunDir
from fabric.runs.session import Hooks
from fabric.runs.simulate import Options
from fabric.units import PS_PER_NS, format_time_ps
from playbooks import runner
from playbooks.catalogue import RUNBOOK, find, slugs
from playbooks.checks import Check, parse_check
from playbooks.live import LiveView
from playbooks.schema import ActStep, Playbook, load_playbook

PORT = ("leaf1", "Ethernet0")
SCENARIO = """
name: small
topology: {kind: leaf-spine, leaves: 2, spines: 1, hosts_per_leaf: 2, host_rate: 100G, fabric_rate: 100G}
workload:
  - {kind: incast, receiver: host1, senders: ["*"], size: 64KB}
run: {duration: 200us, seed: 1, stop: duration}
telemetry: {interval: 20us}
"""


def act(at: str, change: str) -> str:
    """The steps of a playbook with one act."""
    return f"  - {{step: verify, text: t, check: [trees == 0]}}\n  - {{step: act, text: t, at: {at}, do: {change}}}\n"


def write(folder: Path, steps: str, scenario: str = SCENARIO) -> Path:
    folder.mkdir()
    (folder / "scenario.yml").write_text(scenario)
    (folder / "playbook.yml").write_text(
        f"title: Small\nseverity: info\nsummary: Small.\nscenario: scenario.yml\nsteps:\n{steps}"
    )
    return folder


@pytest.fixture(scope="module", params=["black-hole", "incast"])
def simulated(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[runner.Result, str]:
    prepared = runner.prepare(find(request.param))
    out = tmp_path_factory.mktemp("runs") / request.param
    shown = io.StringIO()
    acts = [(step.at, step.text) for step in prepared.playbook.steps if isinstance(step, ActStep)]
    with LiveView(shown, prepared.compiled.duration_ps, acts, quiet=False) as view:
        result = runner.run(prepared, Options(out=out), Hooks(on_sample=view.on_sample))
    return result, shown.getvalue()


def test_a_playbook_that_comes_with_the_package_is_met(simulated: tuple[runner.Result, str]) -> None:
    result, _ = simulated
    assert [step.lines for step in result.steps if step.met is False] == []
    assert result.exit_code == 0
    assert result.page.read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize("slug", slugs())
def test_every_playbook_verifies_after_its_act_and_has_a_runbook(slug: str) -> None:
    folder = find(slug)
    steps = load_playbook(folder).steps
    act = next((number for number, step in enumerate(steps) if step.step == "act"), None)
    runbook = (folder / RUNBOOK).read_text(encoding="utf-8")
    if act is None:
        assert "There is no act" in runbook
    else:
        assert any(step.step == "verify" for step in steps[act:])
    for heading in ("Meaning", "Impact", "Diagnosis", "Mitigation"):
        assert f"## {heading}\n" in runbook


def test_the_view_shows_the_acts_while_the_playbook_runs(simulated: tuple[runner.Result, str]) -> None:
    result, shown = simulated
    for row in result.steps:
        if row.step.step == "act":
            assert f"operator: {row.step.text}" in shown


def test_the_view_shows_the_storm_from_counters_alone(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["playbook", "run", "pfc-storm", "--out", str(tmp_path / "run"), "--json"]) == 0
    out, err = capfd.readouterr()
    run = RunDir.open(tmp_path / "run")
    times = {
        kind: [it["time_ns"] for it in run.events([kind]).to_pylist() if (it["device"], it["port"]) == PORT]
        for kind in ("paused", "storm_detected")
    }
    begun, detected = (format_time_ps(min(it) * PS_PER_NS) for it in times.values())
    assert f"{begun}  host1 sends pause frames to leaf1:Ethernet0" in err
    assert f"{detected}  the PFC watchdog detects a storm at leaf1:Ethernet0 class 3" in err
    assert err.count("no host is paused any more") == 1
    paused = run.summary["metrics"]["pfc.paused_hosts"]
    assert paused == 15
    assert "stop fifteen hosts?" in Path("docs/gallery.md").read_text(encoding="utf-8")
    assert "fifteen hosts stop, the PFC watchdog" in Path("README.md").read_text(encoding="utf-8")
    found = json.loads(out)
    assert found["met"] is True
    assert Path(found["report"]).is_file()


def test_a_check_that_fails_exits_1_and_names_the_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write(tmp_path / "own", "  - {step: verify, text: No message arrives., check: [done == 0]}\n")
    assert main(["playbook", "run", str(folder), "--out", str(tmp_path / "run"), "--quiet"]) == 1
    out = capsys.readouterr().out
    assert "was not resolved (1 of 1 checks failed): No message arrives." in out
    assert "done == 0: 3" in out


def test_goodput_and_done_count_only_their_hosts_and_their_window(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "own",
        """\
  - {step: verify, text: All messages arrive at host1., hosts: [host1], check: [done == 3, goodput > 1G]}
  - {step: verify, text: No message arrives elsewhere., hosts: ["host[2-4]"], check: [done == 0, goodput == 0]}
  - {step: verify, text: Not all messages arrive within 10 us., until: 10us, check: [done < 3]}
  - {step: expect, text: There was no tree., check: [trees == 0, paused.time == 0]}
""",
    )
    result = runner.run(runner.prepare(folder), Options(out=tmp_path / "run"))
    assert [step.met for step in result.steps] == [True, True, True, True]


def test_a_shut_cable_is_a_dated_edit_and_no_fault(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "own",
        """\
  - {step: act, text: Shut it., at: 1us, do: {kind: shut, link: leaf1--host1}}
  - {step: verify, text: Nothing arrives., check: [done == 0]}
""",
    )
    result = runner.run(runner.prepare(folder), Options(out=tmp_path / "run"))
    assert result.met
    assert (tmp_path / "run" / "truth.jsonl").read_text() == ""


@pytest.mark.parametrize(
    ("steps", "text"),
    [
        ("  - {step: verify, text: t, check: [paused.host == 0]}\n", "did you mean 'paused.hosts'?"),
        ("  - {step: verify, text: t, check: [paused.hosts]}\n", "is not a check"),
        ("  - {step: verify, text: t, check: [paused.time == 5]}\n", "'5' has no unit"),
        ("  - {step: verify, text: t, check: [cause > broken NIC]}\n", "is a text, which '>' cannot compare"),
        ("  - {step: verify, text: t, check: [done == many]}\n", "is not a whole number"),
        ("  - {step: verify, text: t, since: 1us, check: [fct.p99 < 2ms]}\n", "covers the whole run"),
        ("  - {step: verify, text: t, hosts: [host1], check: [trees == 0]}\n", "hosts has no effect on trees"),
        ("  - {step: verify, text: t, since: 2us, until: 1us, check: [trees == 0]}\n", "until is not after since"),
        ("  - {step: observe, text: t, show: [trees]}\n", "no step expects or verifies anything"),
        ("  - {step: verify, text: t, until: 1s, check: [trees == 0]}\n", "is beyond the scenario's run.duration"),
        ("  - {step: verify, text: t, hosts: [hots1], check: [done == 0]}\n", "did you mean 'host1'?"),
        (act("1us", "{kind: reset-nic, hosts: [host2]}"), "does not storm at that moment"),
        (act("1s", "{kind: shut, link: leaf1--host1}"), "is not within the scenario's run.duration"),
        (act("1us", "{kind: ecn, ports: 'host*', kmin: 1KB, kmax: 2KB, pmax: 0.1}"), "so a curve has no effect there"),
    ],
)
def test_a_bad_playbook_is_refused_with_the_place_and_a_remedy(tmp_path: Path, steps: str, text: str) -> None:
    with pytest.raises(InputErrors) as caught:
        runner.prepare(write(tmp_path / "own", steps))
    assert text in str(caught.value)
    assert "playbook.yml" in str(caught.value)


def test_an_unknown_playbook_is_refused_with_the_nearest_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["playbook", "show", "pfc-strom"]) == 2
    assert "did you mean 'pfc-storm'?" in capsys.readouterr().err


def test_listing_and_showing_run_nothing(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "run", None)
    assert main(["playbook", "list", "--json"]) == 0
    assert [entry["name"] for entry in json.loads(capsys.readouterr().out)] == slugs()
    assert main(["playbook", "show", "pfc-storm"]) == 0
    shown = capsys.readouterr().out
    assert "## Mitigation" in shown
    assert "verify" in shown


def test_a_check_reads_back_as_it_was_written() -> None:
    for text in ("paused.hosts == 0", "goodput > 30Gbit/s", "cause == broken NIC"):
        check = parse_check(text.replace("bit/s", ""))
        assert isinstance(check, Check)
        assert str(check) == text
    with pytest.raises(UnitError):
        parse_check(7)


def test_a_missing_value_meets_no_check() -> None:
    assert not parse_check("depth < 100").holds(None)
    assert not parse_check("origin != host1").holds(None)


def test_shipped_playbooks_are_valid_models() -> None:
    for slug in slugs():
        assert isinstance(load_playbook(find(slug)), Playbook)
