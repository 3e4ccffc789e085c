"""Outputs of hosts' tools beside the switches: a working pair has no finding; of a mistake, the cause comes first."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from fabric import shipped
from fabric.configs.load import load_network
from fabric.configs.network import Network
from fabric.validate.class_path import class_paths
from fabric.validate.facts import Facts
from fabric.validate.fix.files import write_copies
from fabric.validate.fix.search import find
from fabric.validate.judge import Request, judge
from fabric.validate.runner import validate
from tests.mistakes.captures import MLX5, OUTPUTS
from tests.mistakes.host_cases import CASES, HostMistake, write
from tests.mistakes.host_page import PAGE, every_result, page, result
from tests.mistakes.mistake import LANGUAGES

GOOD = ("validate-example/before", "rollout-example/old", "margins-example")
"""Fabrics that come with the package and have hosts and RoCE."""


@pytest.mark.parametrize("language", LANGUAGES)
def test_healthy_hosts_beside_healthy_switches_give_no_finding(language: str, tmp_path: Path) -> None:
    write(language, tmp_path)
    network = load_network([tmp_path])
    assert [it.text for it in validate(network).findings if it.check.id[0] in "NR"] == []
    assert not network.unread
    assert set(network.hosts) == {"host1", "host2", "host3", "host4"}
    paths = class_paths(Facts(network))
    assert len(paths) > 8
    assert not [it for it in paths if it.changes is not None]


@pytest.mark.parametrize("name", GOOD)
def test_healthy_hosts_beside_a_shipped_fabric_add_no_finding(name: str, tmp_path: Path) -> None:
    source = shipped.example(name)
    shutil.copytree(source, tmp_path / "fabric")
    before = _bad(load_network([tmp_path / "fabric"]))
    for file in (tmp_path / "fabric").glob("hosts.*"):
        file.unlink()
    for number in range(1, 5):
        folder = tmp_path / "fabric" / "hosts" / f"host{number}"
        folder.mkdir(parents=True)
        text = OUTPUTS[MLX5].replace("Cable len: 7", "Cable len: 40").replace("/eth0/speed:400000", "/eth0/speed:0")
        (folder / "outputs.txt").write_text(text, encoding="utf-8")
    network = load_network([tmp_path / "fabric"])
    assert len(network.hosts) == 4
    assert _bad(network) <= before


def _bad(network: Network) -> set[tuple[str, str, str]]:
    return {it.key for it in validate(network).findings if it.severity.word != "info"}


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case.id) for case in CASES if case.shown], ids=lambda case: case.id
)
def test_a_mistake_between_host_and_switch_is_found_and_its_cause_comes_first(
    case: HostMistake, tmp_path: Path
) -> None:
    assert result(case, tmp_path).wrong == ""


@pytest.mark.slow
def test_the_page_of_hosts_is_what_the_corpus_gives() -> None:
    results = every_result()
    assert {it.case.id: it.wrong for it in results if it.wrong} == {}
    assert PAGE.read_text(encoding="utf-8") == page(results), "run: python -m tests.mistakes.host_page"


def test_the_corpus_of_hosts_has_every_language_and_ten_that_are_shown() -> None:
    assert len(CASES) >= 25
    assert {case.language for case in CASES} == set(LANGUAGES)
    shown = [case for case in CASES if case.shown]
    assert (len(shown), {case.language for case in shown}) == (10, set(LANGUAGES))


def test_the_class_path_names_the_first_place_that_changes_it(tmp_path: Path) -> None:
    case = next(it for it in CASES if it.language == "nxos" and it.title.startswith("one leaf"))
    case.write(tmp_path)
    found = {it.host: it.changes for it in class_paths(Facts(load_network([tmp_path]))) if it.library == "NCCL"}
    assert {host: step.where for host, step in found.items() if step is not None} == {
        "host1": "leaf1:Ethernet1/1 in",
        "host2": "leaf1:Ethernet1/2 in",
        "host3": "leaf1:Ethernet1/3 in",
        "host4": "leaf1:Ethernet1/3 in",
    }


def test_a_library_with_another_class_is_the_first_place_itself(tmp_path: Path) -> None:
    next(it for it in CASES if it.language == "nxos" and it.title.startswith("AMD: MoRI")).write(tmp_path)
    found = [it for it in class_paths(Facts(load_network([tmp_path]))) if it.changes is not None]
    assert [(it.library, it.changes and it.changes.where) for it in found] == [("MoRI", "host4 MoRI")]


def test_the_priority_at_a_host_s_own_port_is_the_one_that_the_way_is_held_against(tmp_path: Path) -> None:
    """Two hosts of one leaf with one DSCP: the port of the second gives it priority 4, all others 3."""

    def other_map(tables: dict[str, Any]) -> dict[str, Any]:
        maps, ports = tables["DSCP_TO_TC_MAP"], tables["PORT_QOS_MAP"]
        usual = ports["Ethernet16"]
        maps["OTHER"] = {**maps[usual["dscp_to_tc_map"]], "26": "4"}
        ports["Ethernet16"] = {**usual, "dscp_to_tc_map": "OTHER", "pfc_enable": "3,4"}
        return tables

    write("sonic", tmp_path, switches={"leaf1.json": other_map})
    paths = [it for it in class_paths(Facts(load_network([tmp_path]))) if it.library == "NCCL"]
    kept = {it.host: {step.keeps for step in it.steps if step.where == "leaf1:Ethernet24 out"} for it in paths}
    assert (kept["host1"], kept["host2"]) == ({True}, {False})


def test_copies_of_fixed_files_have_the_hosts_outputs_beside_them(tmp_path: Path) -> None:
    case = next(it for it in CASES if it.language == "sonic" and it.title.startswith("one leaf"))
    (tmp_path / "bad").mkdir()
    case.write(tmp_path / "bad")
    request = Request([tmp_path / "bad"])
    write_copies(find(request, judge(request)), tmp_path / "good")
    assert (tmp_path / "good" / "hosts" / "host4" / "outputs.txt").is_file()
    assert not _bad(load_network([tmp_path / "good"]))
