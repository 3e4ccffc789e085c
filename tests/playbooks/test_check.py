"""Every kind of root and every alert has a playbook with a silent twin; `check` and `new` do what they say."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import pytest

from fabric.cli.main import main
from fabric.errors import InputErrors
from fabric.scenario.load import load_scenario
from fabric.studies.jobs import Job, Result
from playbooks import runner
from playbooks.catalogue import find, runbook, slugs
from playbooks.check import check
from playbooks.new import kinds
from playbooks.schema import load_playbook
from playbooks.twin import twin_scenario
from telemetry.alerting.alerts import BY_NAME
from telemetry.diagnosis.root import Kind

FAULT = """
name: small
topology: {kind: leaf-spine, leaves: 2, spines: 2, hosts_per_leaf: 2, host_rate: 100G, fabric_rate: 100G}
workload:
  - {name: background, kind: poisson, sizes: fixed, size: 64KB, load: 0.2, stop: 6ms}
faults:
  - {name: cut, kind: link-down, link: leaf1--spine1, at: 1ms}
run: {duration: 6ms, stop: duration}
telemetry: {interval: 500us, events: []}
"""
STEPS = """
  - {step: expect, text: It is named., until: 3ms, check: [root.kind == link-down, root.device == leaf1, roots == 1]}
  - {step: act, text: Plug it in., at: 3ms, do: {kind: undo, fault: cut}}
  - {step: verify, text: Nothing is lost., since: 4ms, check: [lost == 0]}
"""
HEAD = "title: Small\nseverity: info\nsummary: Small.\nscenario: scenario.yml\n"


def write(folder: Path, head: str, steps: str = STEPS) -> Path:
    folder.mkdir()
    (folder / "scenario.yml").write_text(FAULT)
    (folder / "playbook.yml").write_text(HEAD + head + "steps:" + steps)
    return folder


SITUATIONS = {
    "broken NIC": "pfc-storm",
    "slow receiver": "slow-receiver",
    "incast": "fan-in",
    "incast that PFC has to carry": "incast",
    "oversubscription": "oversubscription",
    "PFC missing on a hop": "pfc-missing",
    "wrong DSCP map": "dscp-map",
    "deadlock cycle": "deadlock",
    "headroom too small": "headroom-short",
    "ECN too late or never": "ecn-wrong",
    "congestion control off": "cc-off",
    "watchdog flapping": "watchdog-flapping",
    "ECMP polarisation": "polarised",
    "elephant collision": "elephants",
    "degraded optic": "bad-optic",
    "lossy link": "silent-loss",
    "flapping link": "link-flap",
    "lanes lost": "lanes-lost",
    "link slower than its peers": "slow-link",
    "spine hang": "spine-hang",
    "switch without power": "switch-down",
    "black hole": "black-hole",
    "BGP session loss": "bgp-down",
    "EVPN route loss": "evpn-loss",
    "ARP flood": "arp-flood",
    "MTU after encapsulation": "mtu",
    "MAC move": "mac-move",
    "config drift": "config-drift",
    "microburst unseen by polls": "microburst",
    "straggler": "straggler",
}
"""What operators meet, and the playbook that rehearses it."""


def test_every_kind_of_root_has_a_playbook() -> None:
    assert {it.value for it in Kind} - kinds().keys() == set()


@pytest.mark.parametrize("situation", SITUATIONS)
def test_what_operators_meet_has_a_playbook_with_a_healthy_twin(situation: str) -> None:
    found = load_playbook(find(SITUATIONS[situation]))
    assert found.twin is not None
    assert found.alerts is not None


def test_a_new_playbook_of_a_kind_copies_the_playbook_of_that_name() -> None:
    found = kinds()
    assert found["ecn-wrong"] == "ecn-wrong"
    assert [kind for kind in found.keys() & set(slugs()) if found[kind] != kind] == []


def test_every_alert_must_fire_in_a_playbook() -> None:
    found = [load_playbook(find(slug)).alerts for slug in slugs()]
    fired = {name for it in found if it is not None for name in it.fire}
    assert set(BY_NAME) - fired == set()


@pytest.mark.parametrize("alert", BY_NAME)
def test_the_runbook_of_an_alert_names_a_playbook_that_fires_it(alert: str, repo_root: Path) -> None:
    page = (repo_root / "docs/runbooks" / f"{alert}.md").read_text(encoding="utf-8")
    named = re.findall(r"`fabric playbook run ([a-z-]+)`", page.partition("\nRehearse: ")[2])
    assert named
    for slug in named:
        found = load_playbook(find(slug)).alerts
        assert found is not None
        assert alert in found.fire


@pytest.mark.parametrize("slug", slugs())
def test_every_runbook_of_a_playbook_has_commands_of_real_devices(slug: str) -> None:
    text = runbook(find(slug))
    firsts = " ".join(line.split("|")[1] for line in text.splitlines() if line.startswith("| "))
    assert [it for it in ("SONiC", "NVUE", "EOS", "NX-OS", "host") if it not in firsts] == []
    assert "check your release" not in text


@pytest.mark.parametrize("slug", slugs())
def test_every_playbook_has_a_twin_that_differs(slug: str) -> None:
    playbook = load_playbook(find(slug))
    assert playbook.alerts is not None
    assert playbook.twin is not None
    own = load_scenario(find(slug) / playbook.scenario)
    assert twin_scenario(find(slug), playbook, playbook.twin) != own


@pytest.mark.slow
@pytest.mark.parametrize("part", range(9))
def test_playbooks_are_met_and_their_twins_silent(part: int) -> None:
    """All of them, in parts that several workers can share; `make playbooks` does the same."""
    for slug in slugs()[part::9]:
        found = check(find(slug))
        assert found.passed, found.problems


def test_a_playbook_names_the_root_undoes_it_and_has_a_silent_twin(tmp_path: Path) -> None:
    found = check(write(tmp_path / "own", "twin: {without: [cut]}\nalerts: {may: [FabricLinkDown]}\n"))
    assert found.problems == ()
    assert found.passed
    assert found.root == "link-down"


def test_an_alert_that_is_not_named_and_one_that_is_missing_fail(tmp_path: Path) -> None:
    found = check(write(tmp_path / "own", "alerts: {fire: [FabricPfcStorm]}\n"))
    assert not found.passed
    assert "FabricPfcStorm did not fire" in found.problems


def test_a_twin_with_the_fault_is_not_silent(tmp_path: Path) -> None:
    found = check(write(tmp_path / "own", "twin: {set: [run.seed=7]}\n"))
    assert found.met
    assert not found.passed
    assert "the diagnosis names link-down at leaf1:Ethernet8 in the healthy twin" in found.problems


@pytest.mark.parametrize(
    ("head", "text"),
    [
        ("twin: {}\n", "the twin would be the same run"),
        ("alerts: {fire: [FabricPfcStrom]}\n", "did you mean 'FabricPfcStorm'?"),
        ("alerts: {fire: [FabricPfcStorm], may: [FabricPfcStorm]}\n", "must fire and may fire"),
    ],
)
def test_bad_twins_and_alerts_are_refused(tmp_path: Path, head: str, text: str) -> None:
    with pytest.raises(InputErrors, match="playbook"):
        runner.prepare(write(tmp_path / "own", head))
    with pytest.raises(InputErrors) as caught:
        runner.prepare(tmp_path / "own")
    assert text in str(caught.value)


def test_a_twin_without_an_unknown_fault_is_refused(tmp_path: Path) -> None:
    folder = write(tmp_path / "own", "twin: {without: [cutt]}\n")
    playbook = load_playbook(folder)
    assert playbook.twin is not None
    with pytest.raises(InputErrors, match="did you mean 'cut'"):
        twin_scenario(folder, playbook, playbook.twin)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ("{kind: undo, fault: cutt}", "did you mean 'cut'?"),
        ("{kind: pfc, ports: 'host1', priorities: [3]}", "names no port of a switch"),
        ("{kind: pfc, ports: leaf1, priorities: [3]}", "changes nothing"),
        ("{kind: thresholds, ports: leaf1}", "neither dynamic_th nor headroom"),
        ("{kind: dscp-map, switches: [leaf1], like: spine1}", "name switches without hosts"),
        ("{kind: withdraw-route, switches: [leaf1], hosts: [host1]}", "have no static route"),
    ],
)
def test_acts_without_effect_are_refused(tmp_path: Path, change: str, text: str) -> None:
    steps = f"\n  - {{step: act, text: t, at: 3ms, do: {change}}}\n  - {{step: verify, text: t, check: [lost == 0]}}\n"
    with pytest.raises(InputErrors) as caught:
        runner.prepare(write(tmp_path / "own", "", steps))
    assert text in str(caught.value)


def test_one_bad_file_does_not_stop_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabric.studies.local.LocalProcesses", InOneProcess)
    write(tmp_path / "good", "twin: {without: [cut]}\n")
    names = []
    for name, text in (("first", "titel: Wrong\n"), ("second", "steps: [\n")):
        names.append(str(write(tmp_path / name, "")))
        (tmp_path / name / "playbook.yml").write_text(text, encoding="utf-8")
    assert main(["playbook", "check", *names, str(tmp_path / "good"), "--quiet"]) == 2
    out = capsys.readouterr().out
    squeezed = " ".join(out.split())
    assert "good met silent" in squeezed
    assert "first bad input" in squeezed
    assert "second bad input" in squeezed
    assert "titel" in out
    assert "\\n" not in out
    assert "1 of 3 passed" in out


def test_check_prints_a_line_each_and_exits_1_where_one_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabric.studies.local.LocalProcesses", InOneProcess)
    write(tmp_path / "good", "twin: {without: [cut]}\n")
    write(tmp_path / "bad", "alerts: {fire: [FabricPfcStorm]}\n")
    words = ["playbook", "check", str(tmp_path / "good"), str(tmp_path / "bad"), "--quiet"]
    assert main(words) == 1
    out = capsys.readouterr().out
    assert "good      met" in out
    assert "bad: FabricPfcStorm did not fire" in out
    assert main([*words[:3], "--quiet", "--json"]) == 0
    assert [it["passed"] for it in json.loads(capsys.readouterr().out)] == [True]


class InOneProcess:
    """An executor without processes."""

    def __init__(self, slots: int, first_alone: Callable[[], bool]) -> None:
        self.slots = slots

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def results(self, function: Callable[[Any], Any], jobs: deque[Job]) -> Iterator[Result]:
        """As Executor.results."""
        while jobs:
            job = jobs.popleft()
            yield Result(job.key, function(job.argument))


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "no playbook is given"),
        (["--all", "incast"], "has no effect beside names"),
        (["incast", "--workers", "0"], "0 processes are not possible"),
        (["incsat"], "did you mean 'incast'?"),
    ],
)
def test_check_refuses_bad_options(words: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["playbook", "check", *words]) == 2
    assert text in capsys.readouterr().err


def test_a_new_playbook_can_be_prepared_and_nothing_is_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for kind in ("broken-nic", "straggler"):
        assert main(["playbook", "new", f"my-{kind}", "--kind", kind]) == 0
        assert runner.prepare(tmp_path / f"my-{kind}").playbook.twin is not None
        assert f"playbook run my-{kind}" in (tmp_path / f"my-{kind}" / "README.md").read_text() or kind == "broken-nic"
    assert main(["playbook", "new", "my-straggler"]) == 2
    assert "nothing is overwritten" in capsys.readouterr().err
    assert main(["playbook", "new", "other", "--kind", "broken-nics"]) == 2
    assert "did you mean 'broken-nic'?" in capsys.readouterr().err
    assert main(["playbook", "new", "../other"]) == 2


def test_completion_knows_the_names_of_playbooks(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    assert "black-hole" in capsys.readouterr().out
