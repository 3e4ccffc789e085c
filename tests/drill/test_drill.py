"""A drill hides its root from everything that can be read, and scores kind, place and first act."""

from __future__ import annotations

import json
import shlex
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from fabric.cli import drill
from fabric.cli.main import main
from fabric.cli.options.estimating import admission
from fabric.scenario.compile.scenario import admitted_fabric
from fabric.scenario.load import load_scenario
from fabric.shipped import folder
from playbooks.catalogue import slugs
from telemetry.diagnosis import rehearsed
from telemetry.diagnosis.root import Kind
from telemetry.drill import acts, lessons
from telemetry.drill.aliases import drawn as names_of
from telemetry.drill.aliases import natural
from telemetry.drill.begin import drawn
from telemetry.drill.folder import Folder
from telemetry.drill.incidents import ANSWERS, INCIDENTS, KINDS, NONE
from telemetry.drill.score import Answer, parts
from telemetry.drill.simulated import FULL, POLLED, simulated
from telemetry.drill.tables import LAYOUTS, Window, table

GUIDE = Path(__file__).parents[2] / "docs/howto/drill.md"
ADMIT = partial(admission, yes=True)


@pytest.fixture(scope="module")
def link_down(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A drill of a link that went down, level 1."""
    out = tmp_path_factory.mktemp("drills") / "first"
    assert main(["drill", "start", "--kind", "link-down", "--seed", "4", "--out", str(out)]) == 0
    return out


def test_every_incident_exists_and_every_kind_has_acts_and_a_lesson() -> None:
    assert [it.name for it in INCIDENTS if not it.file.is_file()] == []
    for kind in ANSWERS:
        assert set(acts.helping(kind)) <= set(acts.ACTS)
        assert lessons.APART[kind]
        for name in rehearsed.runbooks(kind):
            assert (folder("docs") / "runbooks" / f"{name}.md").is_file()
        assert (rehearsed.playbook(kind) in slugs()) is (kind != NONE)


def test_words_of_the_command_line_are_those_of_the_modules() -> None:
    assert tuple(acts.ACTS) == drill.ACTS
    assert set(LAYOUTS) | {"overview", "alerts", "topology", "series"} == set(drill.TABLES)


def test_names_are_exchanged_and_cables_are_not() -> None:
    fabric = admitted_fabric(load_scenario(folder("scenarios") / "alerts/storm.yml"))
    aliases = names_of(fabric, 9)
    shown = aliases.fabric(fabric, "drill")
    assert sorted(it.name for it in shown.nodes) == sorted(it.name for it in fabric.nodes)
    assert aliases.shown["leaf1"] != "leaf1"
    assert aliases.text("leaf1:Ethernet0 and host1, host11") == (
        f"{aliases.shown['leaf1']}:Ethernet0 and {aliases.shown['host1']}, {aliases.shown['host11']}"
    )
    told = {shown.port_name(it.id): shown.port_name(it.peer) for it in shown.ports}
    for port in fabric.ports:
        here, there = aliases.text(fabric.port_name(port.id)), aliases.text(fabric.port_name(port.peer))
        assert told[here] == there


@pytest.mark.parametrize("seed", range(20))
def test_no_device_keeps_its_name_and_lists_are_in_order_of_the_shown_ones(seed: int) -> None:
    fabric = admitted_fabric(load_scenario(folder("scenarios") / "alerts/storm.yml"))
    aliases = names_of(fabric, seed)
    assert [name for name, alias in aliases.shown.items() if name == alias] == []
    shown = aliases.fabric(fabric, "drill")
    assert [it.name for it in shown.hosts] == [f"host{n}" for n in range(1, 17)]
    assert [shown.port_name(it.a) for it in shown.links[:2]] == ["host1:eth0", "host2:eth0"]
    assert [it.id for it in shown.ports] == list(range(len(shown.ports)))
    assert all(shown.ports[shown.ports[it.peer].peer] == it for it in shown.ports)


def test_series_are_in_order_of_the_shown_names(link_down: Path) -> None:
    found = Folder(link_down).store.series("fabric_port_up")
    devices = [natural(dict(it)["device"]) for it in found]
    assert devices == sorted(devices)


def test_a_history_of_no_folder_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["drill", "history", str(tmp_path / "nosuch")]) == 2
    assert "is not a directory" in capsys.readouterr().err


def test_nothing_readable_names_the_scenario_the_fault_or_the_seed(link_down: Path) -> None:
    for name in ("drill.json", "topology.json", "alerts.json"):
        text = (link_down / name).read_text(encoding="utf-8")
        if name == "drill.json":
            index = json.loads(text)
            assert "link-down" in index.pop("choices")  # one of five
            text = json.dumps(index)
        assert "link-down" not in text
        assert "seed" not in text
        assert "scenario" not in text
    metrics = pq.read_table(link_down / "metrics.parquet")
    words = {str(it) for name in metrics.column_names if name not in {"time_ns", "value"}
             for it in metrics[name].unique().to_pylist()}  # fmt: skip
    assert not words & {"link-down", "injected", "fabric_run_info", "fabric_pfc_pause_cause_info"}
    assert "link-down" not in (link_down / "sealed.txt").read_text(encoding="utf-8")


def test_frames_that_vanish_silently_are_in_no_counter_of_the_port(tmp_path: Path) -> None:
    incident = next(it for it in INCIDENTS if it.kind is Kind.SILENT_LOSS)
    run = simulated(incident, 3, FULL, ADMIT)
    device = run.aliases.shown["leaf3"]
    found = table("ports", run.seen, Window(device, "Ethernet16"))
    keys = [it.key for it in found.columns]
    row = dict(zip(keys, found.rows[0], strict=True))
    spine = run.aliases.shown["spine1"]
    sent = table("ports", run.seen, Window(spine, "Ethernet8")).rows[0][keys.index("sent")]
    assert row["dropped"] == 0
    assert int(str(sent)) - int(str(row["received"])) > 100


def test_a_polled_drill_shows_speeds_as_a_switch_does_on_request() -> None:
    incident = next(it for it in INCIDENTS if it.name == "alerts/lost-lanes")
    run = simulated(incident, 3, POLLED, ADMIT)
    found = table("ports", run.seen, Window(run.aliases.shown["leaf1"], "Ethernet20"))
    assert found.rows[0][[it.key for it in found.columns].index("lowest_bps")] == 25_000_000_000
    assert "Down" in found.note


def test_every_kind_of_root_is_drilled() -> None:
    assert {Kind(it) for it in KINDS} == set(Kind)


def test_the_same_seed_repeats_a_drill(link_down: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    assert main(["drill", "start", "--kind", "link-down", "--seed", "4", "--out", str(again)]) == 0
    assert Folder(again).opened() == Folder(link_down).opened()
    assert {drawn("any", 3, seed).kind for seed in range(200)} == {*KINDS, NONE}
    assert NONE not in {drawn("any", 1, seed).kind for seed in range(200)}


def test_looks_are_counted_and_an_answer_is_scored_once(
    link_down: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = Folder(link_down).opened()
    device, _, port = secret["places"][0].partition(":")
    for words in (["alerts"], ["ports", "--device", device], ["topology"], ["series", "--metric", "fabric_port_up"]):
        assert main(["drill", "look", str(link_down), *words, "--json"]) == 0
    capsys.readouterr()
    words = ["--kind", "link-down", "--device", device, "--port", port, "--act", "replace", "--json"]
    assert main(["drill", "answer", str(link_down), *words]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert (found["points"], found["of"], found["looks"]) == (95, 95, 4)
    assert found["evidence"]
    assert found["runbooks"] == ["FabricLinkDown"]
    assert main(["drill", "answer", str(link_down), *words]) == 2
    assert main(["drill", "history", str(link_down.parent), "--json"]) == 0
    assert "answered already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (Answer("broken-nic", "host1", "eth0", 3, "shut"), "safe"),
        (Answer("broken-nic", "leaf1", "Ethernet0", 3, "shut"), "safe"),
        (Answer("broken-nic", "leaf1", "", 3, "shut"), "harmful"),
        (Answer("broken-nic", "host1", "eth0", 3, "reset"), "safe"),
        (Answer("broken-nic", "leaf1", "Ethernet0", 3, "reset"), "harmful"),
        (Answer("broken-nic", "host2", "eth0", 3, "shut"), "harmful"),
        (Answer("broken-nic", "host2", "eth0", 3, "watchdog"), "safe"),
        (Answer("broken-nic", "host1", "eth0", 3, "pfc-off"), "harmful"),
        (Answer("broken-nic", "host1", "eth0", 3, "restore-config"), "no effect"),
        (Answer("broken-nic", "host1", "eth0", 3, "drain"), "no effect"),
    ],
)
def test_an_act_is_judged_by_the_root_and_by_where_it_is_done(answer: Answer, verdict: str) -> None:
    secret = {"kind": "broken-nic", "places": ["host1:eth0", "leaf1:Ethernet0"], "priority": 3}
    act = parts(answer, secret, frozenset({"leaf1"}))[-1]
    assert act.why.startswith(verdict)
    assert act.right == (verdict == "safe")


def test_a_healthy_network_is_answered_with_none_and_patience() -> None:
    secret: dict[str, Any] = {"kind": "none", "places": [], "priority": None}
    right = parts(Answer("none", act="wait"), secret, frozenset())
    assert sum(it.points for it in right) == sum(it.of for it in right) == 55
    wrong = parts(Answer("incast", "leaf1", act="shut"), secret, frozenset({"leaf1"}))
    assert sum(it.points for it in wrong) == 0


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["start", "--kind", "brokn-nic"], "did you mean 'broken-nic'?"),
        (["start", "--kind", "none"], "add --level 3"),
        (["start", "--kind", "alerts/permutation"], "nothing is broken there, and level 1 always has a fault"),
        (["start", "--seed", "-1"], "below 0"),
        (["look", "DIR", "pfc", "--device", "leaf11"], "no device 'leaf11'"),
        (["look", "DIR", "pfc", "--metric", "fabric_port_up"], "name the table: series"),
        (["look", "DIR", "series"], "series needs a metric"),
        (["look", "DIR", "topology", "--since", "1ms"], "--since: has no effect on topology"),
        (["look", "DIR", "ports", "--since", "1"], "--since"),
        (["look", "DIR", "ports", "--since", "5ms", "--until", "1ms"], "--since: 5ms is after --until"),
        (["look", "DIR", "ports", "--since", "1s"], "--since: 1s is after the end of the drill"),
        (["look", "DIR", "ports", "--port", "Ethernet99"], "no device has a port 'Ethernet99'"),
        (["look", "DIR", "hosts", "--port", "eth0"], "--port: has no effect on hosts"),
        (["look", "DIR", "jobs", "--device", "leaf1"], "--device: has no effect on jobs"),
        (["look", "DIR", "series", "--metric", "fabric_rnic_timeouts_total", "--port", "eth0"], "has no label 'port'"),
        (["answer", "DIR", "--kind", "slow-reciever", "--device", "host1"], "did you mean 'slow-receiver'?"),
        (["answer", "DIR", "--kind", "incast"], "a root has a place"),
        (["answer", "DIR", "--kind", "none", "--device", "leaf1"], "has no place"),
        (["answer", "DIR", "--kind", "incast", "--device", "leaf1", "--port", "Ethernet99"], "no port 'Ethernet99'"),
        (["look", "absent"], "holds no drill"),
    ],
)
def test_a_wrong_option_is_refused_with_a_hint(
    words: list[str], text: str, link_down: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["drill", *(str(link_down) if it == "DIR" else it for it in words)]) == 2
    assert text in capsys.readouterr().err


def test_a_changed_seal_and_a_folder_in_use_are_refused(
    link_down: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other"
    assert main(["drill", "start", "--kind", "arp-flood", "--seed", "1", "--out", str(other)]) == 0
    (other / "sealed.txt").write_text((link_down / "sealed.txt").read_text(encoding="utf-8"), encoding="utf-8")
    assert main(["drill", "answer", str(other), "--kind", "none"]) == 2
    assert "does not fit the digest" in capsys.readouterr().err
    assert main(["drill", "start", "--out", str(other)]) == 2
    assert "not empty" in capsys.readouterr().err


def test_commands_of_the_guide_work_and_print_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    guide = GUIDE.read_text(encoding="utf-8").split("## Failover")[0]
    ran = 0
    for block in [it for it in guide.split("```\n")[1::2] if it.startswith("$ ")]:
        command, *lines = block.splitlines()
        assert main(shlex.split(command.removeprefix("$ fabric "))) == 0
        printed = capsys.readouterr().out
        squeezed = " ".join(printed.split())
        assert [it for it in lines if it != "..." and " ".join(it.split()) not in squeezed] == [], printed
        ran += 1
    assert ran >= 5


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_diagnosis_has_evidence_for_every_kind_that_is_drilled(kind: str) -> None:
    incident = next(it for it in INCIDENTS if it.kind == kind)
    run = simulated(incident, 77, POLLED, ADMIT)
    roots = [it for it in run.roots if it.kind == kind]
    assert {it.partition(":")[0] for it in incident.places} & set.union(set(), *(it.devices for it in roots))
