"""The change log of a run, and the last change before a root cause."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fabric.cli.main import main
from fabric.explain.evidence import Evidence
from fabric.explain.report import compose
from fabric.runs.rundir import RunDir
from fabric.topology.model import Fabric
from telemetry.diagnosis.changes import Change, Source, before, is_act
from telemetry.diagnosis.root import Kind, Root
from telemetry.sources.change_log import change_log
from telemetry.sources.focus import focus_of
from telemetry.sources.incidents import Incident, incidents_of
from tests.diagnosis.conftest import LEAF_SPINE, played, scenario

MS = 1_000_000
_MARKING = {"asic": "trident3", "ecn": {"kmin": "100KB", "kmax": "400KB", "pmax": 0.2}}
_FAST = LEAF_SPINE | {"fabric_rate": "400G"}
_INCAST = {"name": "in", "kind": "incast", "receiver": "host1", "senders": ["host[5-9]", "host1[0-2]"], "size": "20MB"}
_DRIFT = {"kind": "config-drift", "ports": "leaf1:*", "ecn": "off", "at": "1ms"}
_ELSEWHERE = {"name": "planned", "kind": "config-drift", "ports": "leaf3:*", "dynamic_th": -4, "at": "2.5ms",
              "until": "5ms"}  # fmt: skip
_OPTIC = {"kind": "bit-errors", "link": "leaf2--spine2", "ratio": 1.0e-6, "at": "1ms"}


@pytest.fixture(scope="module")
def drifted(tmp_path_factory: pytest.TempPathFactory) -> RunDir:
    """Marking goes off at leaf1 while five senders meet there; leaf3 changes on purpose; a cable damages frames."""
    slow = {"dcqcn": "hpcc-dcqcn"}
    faults = (_DRIFT, _ELSEWHERE, _OPTIC)
    data = scenario(*faults, topology=_FAST, workload=[_INCAST], switches=_MARKING, transport=slow)
    return played(tmp_path_factory.mktemp("changes"), data)


@pytest.fixture(scope="module")
def fabric(drifted: RunDir) -> Fabric:
    return drifted.fabric


def change(time_ms: float, *places: str, source: Source = Source.CONFIGURATION, spreads: bool = False) -> Change:
    devices = frozenset(part.partition(":")[0] for it in places for part in it.split("--"))
    return Change(int(time_ms * MS), source, "changed", places, devices, "scenario", spreads)


@pytest.mark.parametrize(
    ("text", "time_ms", "places", "kind", "act"),
    [
        ("shut: link leaf1:Ethernet0", 5, ("leaf1:Ethernet0",), Kind.LINK_DOWN, True),
        ("shut: link host1--leaf1", 5, ("host1--leaf1",), Kind.LINK_DOWN, True),
        ("shut: link leaf1:Ethernet0", 2, ("leaf1:Ethernet0",), Kind.LINK_DOWN, False),  # it was opened again since
        ("shut: link leaf1--spine1", 5, ("leaf1--spine1",), Kind.LINK_DOWN, False),  # another cable
        ("shut: link leaf1:Ethernet4", 5, ("leaf1:Ethernet4",), Kind.LINK_DOWN, False),  # another port
        ("shut: link leaf1:*", 5, ("leaf1:*",), Kind.LINK_DOWN, True),
        ("reset-nic: hosts host1", 5, ("host1",), Kind.LINK_DOWN, False),
        ("shut: link leaf1:Ethernet0", 5, ("leaf1:Ethernet0",), Kind.BROKEN_NIC, False),
    ],
)
def test_a_cable_that_somebody_shut_is_down_on_purpose(
    text: str, time_ms: float, places: tuple[str, ...], kind: Kind, act: bool
) -> None:
    done = replace(change(time_ms, *places, source=Source.ACT), text=text)
    root = Root(kind, "leaf1", 5 * MS, 9 * MS, ("down",), "Ethernet0", members=("host1",))
    assert is_act(root, done) is act
    assert not is_act(root, replace(done, source=Source.CONFIGURATION))
    assert not is_act(root, None)


def root(device: str, port: str = "", began_ms: float = 4, kind: Kind = Kind.ECN_WRONG) -> Root:
    return Root(kind, device, int(began_ms * MS), 9 * MS, (), port)


def test_the_log_has_changes_and_no_broken_part(drifted: RunDir) -> None:
    log = [it for it in change_log(drifted) if it.source is Source.CONFIGURATION]
    assert [(it.time_ns, it.text) for it in log] == [
        (1 * MS, "ECN marking off"),
        (2_500_000, "dynamic threshold -4"),
        (5 * MS, "reverted: dynamic threshold -4"),
    ]
    assert {it.by for it in log} == {"scenario"}
    assert log[0].devices == {"leaf1"}
    assert not any("spine2" in it.devices for it in change_log(drifted))


def test_a_drift_is_the_change_before_what_it_causes(drifted: RunDir) -> None:
    [found] = [it for it in incidents_of(drifted) if it.root.kind is Kind.ECN_WRONG]
    assert found.root.device == "leaf1"
    assert found.change is not None
    assert (found.change.text, found.change.time_ns) == ("ECN marking off", 1 * MS)


def test_acts_of_a_playbook_and_of_the_api_are_lines(drifted: RunDir) -> None:
    def act(kind: str, time_ms: int, objects: dict[str, Any], *, fault: bool = False) -> dict[str, Any]:
        return {"kind": kind, "at_ns": time_ms * MS, "objects": objects, "fault": fault}

    undo = [act("undo", time_ms, {"fault": name}) for time_ms, name in ((5, "planned"), (5, "other"), (4, "nothing"))]
    acts = [act("shut", 3, {"link": "leaf2--spine2"}), *undo]
    drift = act("config-drift", 1, {"ports": ["leaf1:Ethernet0"]}, fault=True)
    live = [drift, act("ecn-off", 4, {"ports": "leaf*:Ethernet0"})]
    manifest = {**drifted.manifest, "playbook": {"changes": acts}, "live": {"changes": live}}
    log = change_log(RunDir(drifted.path, manifest))
    assert [(it.time_ns // MS, it.by, it.text) for it in log if it.by != "scenario"] == [
        (1, "API", "ECN marking off"),
        (3, "playbook", "shut: link leaf2--spine2"),
        (4, "playbook", "undo: fault nothing"),
        (4, "API", "ecn-off: ports leaf*:Ethernet0"),
        (5, "playbook", "undo: fault other"),
        (5, "playbook", "reverted: dynamic threshold -4"),
    ]
    [shut] = [it for it in log if it.text.startswith("shut")]
    assert shut.devices == {"leaf2", "spine2"}
    [off] = [it for it in log if it.text.startswith("ecn-off")]
    assert off.devices == {"leaf1", "leaf2", "leaf3", "leaf4"}


def test_a_root_without_a_change_at_its_place_has_none(drifted: RunDir) -> None:
    [found] = [it for it in incidents_of(drifted) if it.root.kind is Kind.BAD_OPTIC]
    assert found.change is None
    assert found.change_line == "nothing in the change log of this run"


@pytest.mark.parametrize(("time_ms", "named"), [(1, True), (4, True), (4.999, True), (5, False), (8, False)])
def test_a_change_counts_up_to_the_end_of_the_first_interval(fabric: Fabric, time_ms: float, *, named: bool) -> None:
    found = before(root("leaf1"), [change(time_ms, "leaf1:Ethernet0")], fabric, MS)
    assert (found is not None) is named


def test_a_change_elsewhere_is_not_named_unless_it_is_about_routes(fabric: Fabric) -> None:
    assert before(root("leaf1"), [change(1, "spine1:Ethernet0")], fabric, MS) is None
    assert before(root("leaf1"), [change(1, "spine1", spreads=True)], fabric, MS) is not None
    assert before(root("leaf1"), [change(1, "leaf2", spreads=True)], fabric, MS) is None


def test_the_last_change_is_named_and_at_one_time_that_of_the_port(fabric: Fabric) -> None:
    early, late = change(1, "leaf1:Ethernet0"), change(2, "leaf1:Ethernet4")
    assert before(root("leaf1", "Ethernet0"), [early, late], fabric, MS) is late
    beside = replace(early, time_ns=late.time_ns)
    assert before(root("leaf1", "Ethernet0"), [beside, late], fabric, MS) is beside


def test_what_people_did_comes_before_what_the_network_did(fabric: Fabric) -> None:
    push, session = change(1, "leaf1"), change(3, "leaf1--spine1", source=Source.SESSION)
    assert before(root("leaf1"), [push, session], fabric, MS) is push
    assert before(root("leaf1"), [session], fabric, MS) is session


def test_a_root_in_another_log_is_no_change_before_it(fabric: Fabric) -> None:
    carrier = change(3, "leaf1--spine1", source=Source.LINK)
    assert before(root("leaf1", kind=Kind.LINK_DOWN), [carrier], fabric, MS) is None
    assert before(root("leaf1", kind=Kind.BGP_DOWN), [carrier], fabric, MS) is carrier


def test_every_kind_of_change_of_a_scenario_has_a_line(tmp_path: Path) -> None:
    """And no other kind has."""
    faults = [
        {"kind": "route", "switches": ["leaf1"], "hosts": ["host5", "host6"], "via": [], "at": "1ms", "until": "2ms"},
        {"kind": "drain", "switch": "spine1", "at": "2ms", "until": "4ms"},
        {"kind": "wrong-asn", "switch": "leaf2", "asn": 65099, "at": "3ms", "until": "5ms"},
        {"kind": "route-policy", "switch": "leaf3", "neighbour": "spine2", "direction": "import", "at": "3ms",
         "rules": [{"accept": False}]},
        {"kind": "link-down", "link": "leaf4--spine1", "at": "2ms", "until": "3ms"},
        {"kind": "slow-receiver", "hosts": ["host3"], "drain": "90G", "at": "1ms"},
    ]  # fmt: skip
    run = played(tmp_path, scenario(*faults, routing="bgp"))
    log = change_log(run)
    pushed = {it.text for it in log if it.source is Source.CONFIGURATION}
    assert pushed == {
        "static route for 2 hosts via nowhere",
        "reverted: static route for 2 hosts via nowhere",
        "drained",
        "returned: drained",
        "AS number 65099",
        "reverted: AS number 65099",
        "route map of import, from spine2",
    }
    links = [(it.time_ns, it.text) for it in log if it.source is Source.LINK]
    assert links == [(2 * MS, "carrier lost"), (3 * MS, "carrier back")]
    lost = [it for it in log if it.source is Source.SESSION and "down" in it.text]
    assert [it.devices for it in lost] == [frozenset({"leaf2", "spine1"}), frozenset({"leaf2", "spine2"})]
    assert any(it.source is Source.ROUTES for it in log)


def test_the_page_and_json_name_the_root_that_a_change_came_before(
    drifted: RunDir, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "changes", str(drifted.path)]) == 0
    assert "ECN marking off" in capsys.readouterr().out
    assert main(["explain", "changes", str(drifted.path), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["changes"]["changes"]
    assert [it["root"].split(":")[0] for it in rows if it["root"]] == ["ecn-wrong at leaf1"]
    assert main(["explain", "roots", str(drifted.path), "--json"]) == 0
    roots = json.loads(capsys.readouterr().out)["roots"]["roots"]
    [drift] = [it for it in roots if it["kind"] == "ecn-wrong"]
    assert drift["change_before"]["text"] == "ECN marking off"
    assert drift["playbook"] == "ecn-wrong"
    assert "FabricEcnNeverMarks" in drift["runbooks"]
    assert set(drift["hurt"]) == {"messages", "failed", "unfinished", "slower", "hosts", "dependent", "jobs"}


def test_the_headline_of_the_whole_run_is_its_first_root(drifted: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    first: Incident = incidents_of(drifted)[0]
    assert main(["explain", str(drifted.path), "--json"]) == 0
    assert first.root.place in json.loads(capsys.readouterr().out)["verdict"]


def test_the_headline_of_the_page_is_the_root_in_the_box_below_it(drifted: RunDir) -> None:
    evidence = Evidence(drifted)
    page = compose(evidence, focus=focus_of(evidence))
    first = incidents_of(drifted)[0].root
    assert page.answer is not None
    assert first.place in page.verdict
    assert page.verdict.lower().startswith(page.answer.text.lower().partition(":")[0])


def test_a_run_without_changes_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = played(tmp_path, scenario())
    assert change_log(run) == []
    assert main(["explain", "changes", str(run.path)]) == 0
    assert "no change" in capsys.readouterr().out
