"""One cause, one finding: a mistake on many devices, with its consequences and the command that repairs it."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import networkx as nx
import pytest
from fabrics import HOSTS, Judge, Tables, small_fabric
from finding_cases import LOSSLESS, Change, E, W, put
from large import large_fabric, write

from fabric.cli.main import main
from fabric.configs.model import Device, Port
from fabric.configs.text.jsonfile import FixedLines
from fabric.validate.causes import Cause, find_causes
from fabric.validate.checks.base import Severity
from fabric.validate.checks.registry import CHECKS
from fabric.validate.remedies import set_cable, set_pfc, set_port, start_watchdog
from tests.mistakes.mistake import LANGUAGES, good
from tests.mistakes.mistake import write as write_fabric


def causes(judge: Judge, fabric: dict[str, Tables], hosts: dict[str, object] | None = None) -> list[Cause]:
    return [it for it in find_causes(judge(fabric, hosts)) if it.severity > Severity.INFO]


def test_no_check_is_a_consequence_of_its_own_consequence() -> None:
    graph = nx.DiGraph((check.id, to) for check in CHECKS.values() for to in check.leads_to)
    assert set(graph) <= set(CHECKS)
    assert list(nx.simple_cycles(graph)) == []


ONE_MISTAKE: dict[str, tuple[Change, str, str, str, str]] = {
    "a map entry": (
        put("leaf1", "DSCP_TO_TC_MAP", "M", _26="0"),
        "M1",
        "leaf1",
        "DSCP_TO_TC_MAP|M|26",
        "sonic-db-cli CONFIG_DB HSET 'DSCP_TO_TC_MAP|M' 26 3",
    ),
    "PFC for another priority": (
        lambda fabric: [
            put("leaf1", "PORT_QOS_MAP", port, pfc_enable="5", pfcwd_sw_enable="5")(fabric)
            for port in fabric["leaf1"]["PORT_QOS_MAP"]
        ],
        "M1",
        "leaf1",
        "PORT_QOS_MAP|Ethernet0|pfc_enable, pfcwd_sw_enable",
        (
            "config interface pfc priority Ethernet0 3 on && config interface pfc priority Ethernet0 5 off"
            " && sonic-db-cli CONFIG_DB HSET 'PORT_QOS_MAP|Ethernet0' pfcwd_sw_enable 3"
        ),
    ),
    "PFC absent at one end": (
        put("spine1", "PORT_QOS_MAP", "Ethernet8", pfc_enable="", pfcwd_sw_enable=""),
        "L1",
        "spine1",
        "PORT_QOS_MAP|Ethernet8|pfc_enable, pfcwd_sw_enable",
        (
            "config interface pfc priority Ethernet8 3 on"
            " && sonic-db-cli CONFIG_DB HSET 'PORT_QOS_MAP|Ethernet8' pfcwd_sw_enable 3"
        ),
    ),
    "a profile that does not exist": (
        put("leaf1", "BUFFER_PG", "Ethernet16|3", profile="pg_lossless_400000_40_profile"),
        "R1",
        "leaf1",
        "",
        "",
    ),
    "thresholds in kilobytes": (
        put("leaf1", "WRED_PROFILE", "W", green_min_threshold="400", green_max_threshold="1600"),
        "E13",
        "leaf1",
        "WRED_PROFILE|W|green_min_threshold, green_max_threshold",
        "ecnconfig -p W -gmin 400000 -gmax 1600000",
    ),
    "a port shut at one end": (
        put("spine1", "PORT", "Ethernet8", admin_status="down"),
        "L12",
        "spine1",
        "PORT|Ethernet8|admin_status",
        "config interface startup Ethernet8",
    ),
}


@pytest.mark.parametrize(("change", "id_", "device", "field", "command"), ONE_MISTAKE.values(), ids=ONE_MISTAKE)
def test_one_mistake_is_one_cause_and_its_remedy_is_a_command(
    change: Change, id_: str, device: str, field: str, command: str, judge: Judge
) -> None:
    fabric = small_fabric()
    change(fabric)
    found = causes(judge, fabric)
    assert [(it.check.id, list(it.devices)) for it in found] == [(id_, [device])]
    if field:
        assert (found[0].fixes[0].field, found[0].fixes[0].command) == (field, command)


def test_a_host_that_marks_another_dscp_is_named_and_not_the_switches(judge: Judge) -> None:
    found = causes(judge, small_fabric(), {**HOSTS, "host3": {"roce_dscp": 34}})
    assert [(it.check.id, list(it.devices), it.severity) for it in found] == [("M1", ["host3"], E)]
    assert found[0].fixes[0].command == "cma_roce_tos -d DEVICE -t 104"
    assert set(found[0].counts) == {"N1"}


def test_a_mistake_of_a_whole_pod_is_one_cause_with_its_list(judge: Judge) -> None:
    fabric = large_fabric(pods=2, leaves=4, aggregations=2, cores=2, ports=4, parallel=1)
    for leaf in range(4):
        put(f"leaf1-{leaf}", "DSCP_TO_TC_MAP", "M", _26="0")(fabric)
    (cause,) = causes(judge, fabric)
    assert (cause.check.id, list(cause.devices)) == ("M1", [f"leaf1-{leaf}" for leaf in range(4)])
    assert len(cause.fixes) == 4
    assert cause.pairs == 4 * 7 + 4 * 4  # from and to each leaf of the pod
    assert set(cause.counts) == {"L9", "M2", "N1"}


def test_two_mistakes_are_two_causes_and_the_one_that_hurts_paths_is_first(judge: Judge) -> None:
    fabric = small_fabric()
    put("leaf2", "PFC_WD", "Ethernet16", action="forward")(fabric)
    put("leaf1", "PFC_WD", "Ethernet0", restoration_time=None)(fabric)
    put("spine1", "PORT_QOS_MAP", "Ethernet8", pfc_enable="", pfcwd_sw_enable="")(fabric)
    found = causes(judge, fabric)
    assert found[0].check.id == "L1"
    assert found[0].paths > 0
    assert {(it.check.id, it.severity) for it in found[1:]} == {("W7", W), ("W4", W)}


def test_every_finding_is_in_some_cause(judge: Judge) -> None:
    fabric = small_fabric()
    for change, *_ in ONE_MISTAKE.values():
        change(fabric)
    findings = judge(fabric)
    held = {id(it) for cause in find_causes(findings) for it in (*cause.findings, *cause.consequences)}
    assert held == {id(it) for it in findings}


def test_a_lossless_profile_in_the_lossy_pool_is_not_blamed_on_the_lossy_profile(judge: Judge) -> None:
    fabric = small_fabric()
    put("leaf1", "BUFFER_POOL", "ingress_lossy_pool", size="9000000", type="ingress", mode="dynamic")(fabric)
    put("leaf1", "BUFFER_PROFILE", "lossy", pool="ingress_lossy_pool", size="0", dynamic_th="3")(fabric)
    put("leaf1", "BUFFER_PG", "Ethernet0|0", profile="lossy")(fabric)
    put("leaf1", "BUFFER_PROFILE", LOSSLESS, pool="ingress_lossy_pool")(fabric)
    found = causes(judge, fabric)
    assert found[0].check.id == "B13"
    assert "B8" not in {it.check.id for it in found}


def test_pools_without_sizes_mean_the_dynamic_model(judge: Judge) -> None:
    fabric = small_fabric()
    for pool in fabric["leaf1"]["BUFFER_POOL"].values():
        pool.pop("size")
    assert judge(fabric, only={"R9"}) == []
    put("leaf1", "DEVICE_METADATA", "localhost", buffer_model="traditional")(fabric)
    assert {it.object for it in judge(fabric, only={"R9"})} == {
        "BUFFER_POOL|egress_lossless_pool",
        "BUFFER_POOL|ingress_lossless_pool",
    }


def test_json_has_causes_and_every_finding_on_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fabric = small_fabric()
    put("leaf1", "DSCP_TO_TC_MAP", "M", _26="0")(fabric)
    for name, tables in fabric.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(tables), encoding="utf-8")
    (tmp_path / "hosts.json").write_text(json.dumps(HOSTS), encoding="utf-8")
    assert main(["validate", str(tmp_path), "--json"]) == 1
    text = capsys.readouterr().out
    report = json.loads(text)
    first = report["causes"][0]
    assert (first["id"], first["devices"]) == ("M1", {"leaf1": [f"Ethernet{n}" for n in (0, 8, 16, 24)]})
    assert first["fixes"] == [
        {
            "device": "leaf1",
            "field": "DSCP_TO_TC_MAP|M|26",
            "value": "3",
            "command": "sonic-db-cli CONFIG_DB HSET 'DSCP_TO_TC_MAP|M' 26 3",
        }
    ]
    assert first["follows"] == {"M2": 1, "L9": 2, "N1": 2}
    assert {number for it in report["findings"] if it["severity"] == "error" for number in it["causes"]} == {0}
    label, value, file, line = report["values"][report["findings"][0]["evidence"][0]]
    assert (label, value, report["files"][file]) == ("DSCP_TO_TC_MAP|M|26", "0", str(tmp_path / "leaf1.json"))
    assert line >= 1
    assert sum(line.startswith('{"id":') for line in text.splitlines()) == len(report["findings"]) + len(
        report["causes"]
    )


def test_sarif_names_the_other_end_of_a_link(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fabric = small_fabric()
    put("spine1", "PORT_QOS_MAP", "Ethernet8", pfc_enable="", pfcwd_sw_enable="")(fabric)
    for name, tables in fabric.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(tables), encoding="utf-8")
    main(["validate", str(tmp_path), "--format", "sarif"])
    results = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    link = next(it for it in results if it["ruleId"] == "L1")
    other = link["relatedLocations"][0]
    assert other["physicalLocation"]["artifactLocation"]["uri"].endswith("leaf1.json")
    assert "leaf1:Ethernet16 pfc_enable" in other["message"]["text"]
    assert all(it["ruleId"] != "L9" for it in results)
    assert link["properties"]["follows"]["L9"] > 0


@pytest.mark.parametrize("language", LANGUAGES)
def test_sarif_names_the_other_end_of_every_link_of_a_cause(
    language: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The MTU of both uplinks of a leaf: one result, with a place at both spines."""
    files = good(language)
    name = next(it for it in files if it.startswith("leaf1."))
    if isinstance(files[name], str):
        line = {
            "eos": r"   mtu 9214\n((?:   .*\n)*?   ip address)",
            "nxos": r"  mtu 9216\n((?:  .*\n)*?  ip address 10\.1)",
        }
        files[name] = re.sub(line[language], r"   mtu 1500\n\1", files[name])
    else:
        ports = files[name]["interface"] if language == "nvue" else files[name]["PORT"]
        for port in list(ports):
            faces = files[name].get("DEVICE_NEIGHBOR", {}).get(port, {}).get("name", "")
            if language == "nvue" and port in {"swp3", "swp4"}:
                ports[port]["link"]["mtu"] = 1500
            if faces.startswith("spine"):
                ports[port]["mtu"] = "1500"
    write_fabric(language, files, tmp_path)
    main(["validate", str(tmp_path), "--format", "sarif"])
    results = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    (mtu,) = [it for it in results if it["ruleId"] == "L4"]
    places = {it["physicalLocation"]["artifactLocation"]["uri"].rpartition("/")[2] for it in mtu["relatedLocations"]}
    assert {it.partition(".")[0] for it in places} >= {"spine1", "spine2"}


def port_of(language: str, name: str = "Ethernet1") -> tuple[Device, Port]:
    return Device("s", "s.cfg", language, FixedLines()), Port(name, ("PORT", name), lanes=8)


@pytest.mark.parametrize(
    ("language", "command"),
    [
        ("sonic", "config interface mtu Ethernet1 9216"),
        ("nvue", "nv set interface Ethernet1 link mtu 9216"),
        ("eos", "interface Ethernet1; mtu 9214"),
        ("nxos", "interface Ethernet1; mtu 9216"),
    ],
)
def test_a_remedy_is_in_the_language_of_its_switch(language: str, command: str) -> None:
    assert set_port(*port_of(language), "mtu", 9216).command == command


@pytest.mark.parametrize("language", ["sonic", "nvue"])
def test_a_name_from_a_file_is_one_word_of_the_command(language: str) -> None:
    device, port = port_of(language, "Ethernet0; reboot")
    for fix in (set_port(device, port, "mtu", 9216), set_port(device, port, "admin_status", "up")):
        assert "Ethernet0; reboot" in shlex.split(fix.command)
    if language == "sonic":
        fixes = (set_pfc(device, port, {3}), set_cable(device, port, 40), start_watchdog(device, port))
        assert all("Ethernet0; reboot" in shlex.split(fix.command) for fix in fixes)


def _pod(folder: Path) -> Path:
    """8 leaves that send RoCE to a lossy class, 8 aggregation switches, 8 cores."""
    tables = large_fabric(pods=1, leaves=8, aggregations=8, cores=8, ports=32, parallel=2)
    for name, switch in tables.items():
        if name.startswith("leaf"):
            switch["DSCP_TO_TC_MAP"]["M"]["26"] = "0"
    write(folder, tables)
    return folder


def test_a_fault_of_a_whole_pod_is_one_result_for_a_code_host(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["validate", str(_pod(tmp_path)), "--format", "sarif"])
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    errors = [it for it in run["results"] if it["level"] == "error"]
    assert [it["ruleId"] for it in errors] == ["M1"]
    (result,) = errors
    assert len(result["properties"]["devices"]) == 8
    assert result["properties"]["follows"].keys() == {"M2", "L9", "N1"}
    assert "DSCP_TO_TC_MAP|M" in result["message"]["text"]
    places = [it["physicalLocation"]["artifactLocation"]["uri"] for it in result["relatedLocations"]]
    assert {f"leaf0-{number}.json" for number in range(1, 8)} <= {uri.rpartition("/")[2] for uri in places}
    assert [it["id"] for it in result["relatedLocations"]] == list(range(1, len(places) + 1))


def test_sarif_keeps_the_limits_of_code_hosts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["validate", str(_pod(tmp_path)), "--format", "sarif"])
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert len(run["results"]) <= 5000
    assert all(len(it.get("relatedLocations", ())) < 100 for it in run["results"])
    for rule in run["tool"]["driver"]["rules"]:
        assert len(rule["name"]) <= 255
        assert all(0 < len(rule[key]["text"]) <= 1024 for key in ("shortDescription", "fullDescription"))
        assert rule["help"]["text"]
        assert "**Remedy**" in rule["help"]["markdown"]


def test_a_cause_is_recognised_when_one_of_its_switches_is_repaired(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def fingerprint() -> str:
        main(["validate", str(tmp_path), "--format", "sarif", "--only", "M1"])
        (result,) = json.loads(capsys.readouterr().out)["runs"][0]["results"]
        found: str = result["partialFingerprints"]["cause/v1"]
        return found

    before = fingerprint() if _pod(tmp_path) else ""
    leaf = tmp_path / "leaf0-0.json"
    leaf.write_text(leaf.read_text(encoding="utf-8").replace('"26": "0"', '"26": "3"'), encoding="utf-8")
    assert fingerprint() == before
