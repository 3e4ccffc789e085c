"""The benchmark's mutants have answers, a tool's SARIF is scored by them, and fabrics have the sizes they say."""

from __future__ import annotations

import json
from ipaddress import ip_interface
from pathlib import Path
from typing import Any

import pytest

from bench.configs.__main__ import main
from bench.configs.make import fabric_of, mutants, sample
from bench.configs.plan import LARGEST, SMALLEST, shape_of, switches
from bench.configs.sarif import Answer, scored, shares
from fabric.errors import FabricError
from tests.mistakes import plan
from tests.mistakes.mistake import LANGUAGES

ANSWER = Answer("eos-10-000", "eos", 10, "PFC off", ("leaf1",), "Ethernet3/1", ("L1",))


def log(*results: tuple[str, str, str], tool: str = "another") -> dict[str, Any]:
    """(rule, file, message) of each result."""
    rows = [
        {
            "ruleId": rule,
            "level": "error",
            "message": {"text": text},
            "locations": [{"physicalLocation": {"artifactLocation": {"uri": file}}}],
        }
        for rule, file, text in results
    ]
    return {"version": "2.1.0", "runs": [{"tool": {"driver": {"name": tool}}, "results": rows}]}


def test_every_number_of_switches_has_a_fabric() -> None:
    for size in range(SMALLEST, LARGEST + 1):
        shape = shape_of(size)
        assert (shape.switches, shape.short < shape.pods) == (size, True)
        assert min(shape.leaves - (shape.short > 0), shape.spines) >= 2


@pytest.mark.parametrize("size", [4, 10, 21, 300, 401, 1000])
def test_a_fabric_has_its_number_of_switches_and_every_address_once(size: int) -> None:
    found = switches(shape_of(size))
    assert len(found) == shape_of(size).switches == size
    addresses = [it.address for switch in found for it in switch.ports if it.address]
    assert len(set(addresses)) == len(addresses)
    assert sum(not it.to_host for switch in found for it in switch.ports) == 2 * shape_of(size).cables
    assert len({it.loopback for it in found} | {it.mac for it in found} | {it.name for it in found}) == 3 * size


@pytest.mark.parametrize("size", [100, 1000])
def test_every_leaf_has_its_own_address_below_the_gateway_s(size: int) -> None:
    interfaces = [it["interface"]["vlan100"]["ip"] for name, it in fabric_of("nvue", size).items() if "leaf" in name]
    own = {next(iter(it["address"])) for it in interfaces}
    gateways = {next(iter(it["vrr"]["address"])) for it in interfaces}
    assert (len(own), len(gateways)) == (len(interfaces), 1)
    assert not own & gateways
    assert len({ip_interface(it).network for it in own | gateways}) == 1


@pytest.mark.parametrize("address", ["10.1.0.5", "10.1.0.7", "10.1.0.8", "10.0.0.7", "10.0.0.10", "10.0.0.22"])
def test_an_address_that_a_mistake_has_is_nobody_s(address: str) -> None:
    found = switches(shape_of(100))
    ports = {it.address.partition("/")[0] for switch in found for it in switch.ports}
    assert address not in ports | {it.loopback for it in found}


def test_both_ends_of_a_cable_agree() -> None:
    found = {it.name: it for it in switches(shape_of(100))}
    for switch in found.values():
        for port in switch.ports:
            if not port.to_host:
                other = next(it for it in found[port.peer].ports if it.number == port.peer_number)
                assert (other.peer, other.peer_number) == (switch.name, port.number)
                assert other.address.partition("/")[0] == port.peer_address
                assert port.peer_asn == found[port.peer].asn


def test_the_switches_of_the_mistakes_are_those_of_their_plan() -> None:
    found = {it.name: it for it in switches(shape_of(10))}
    for switch in plan.SWITCHES:
        mine = found[switch.name]
        assert (mine.asn, mine.loopback, mine.mac) == (switch.asn, switch.loopback, switch.mac)
        near = {it.number: it for it in mine.ports}
        assert [near[it.number].address for it in switch.ports] == [it.address for it in switch.ports]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_mutant_differs_from_the_working_fabric_and_names_a_switch(language: str) -> None:
    made = list(mutants(fabric_of(language, 10), language, 10, 12))
    assert len(made) >= 10
    assert all(answer.devices and answer.where and answer.checks for answer, _, _ in made)
    assert len({answer.id for answer, _, _ in made}) == len(made)


def test_a_prefix_of_the_sample_is_of_different_checks() -> None:
    found = [it.checks.split()[0] for it in sample("sonic", 12)]
    assert len(set(found)) == 12


def test_a_right_result_that_comes_second_is_found_and_not_first() -> None:
    wrong, right = ("x", "leaf2.cfg", "something"), ("y", "leaf1.cfg", "PFC is off on Ethernet3/1")
    one = scored(ANSWER, log(wrong, right), None)
    assert (one.found, one.first, one.right, one.new) == (True, False, 1, 2)
    assert scored(ANSWER, log(right, wrong), None).first
    assert not scored(ANSWER, log(), None).found
    assert shares([one, scored(ANSWER, log(right), None)]) == (1.0, pytest.approx(2 / 3), 0.5)


def test_a_result_that_the_working_fabric_has_as_well_does_not_count() -> None:
    noise, right = ("x", "leaf2.cfg", "something"), ("y", "leaf1.cfg", "PFC is off on Ethernet3/1")
    one = scored(ANSWER, log(noise, right), log(noise))
    assert (one.first, one.new) == (True, 1)


def test_rules_are_compared_for_this_project_s_own_output_alone() -> None:
    right = ("Q9", "leaf1.cfg", "PFC is off on Ethernet3/1")
    assert scored(ANSWER, log(right), None).found
    assert not scored(ANSWER, log(right, tool="fabric validate"), None).found


def test_a_document_that_is_no_sarif_is_refused() -> None:
    with pytest.raises(FabricError, match="no SARIF"):
        scored(ANSWER, {"results": []}, None)


def test_logs_of_another_tool_are_scored_from_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--make", str(tmp_path / "m"), "--switches", "10", "--languages", "eos", "--mutants", "3"]) == 0
    answers = json.loads((tmp_path / "m/answers.json").read_text())
    assert len(list((tmp_path / "m").glob("eos-10-*"))) == len(answers) + 1
    assert (tmp_path / "m/eos-10-working/leaf1.cfg").is_file()
    (tmp_path / "logs").mkdir()
    first = answers[0]
    text = f"{first['where']} is wrong"
    (tmp_path / f"logs/{first['id']}.sarif").write_text(json.dumps(log(("r", f"{first['devices'][0]}.cfg", text))))
    assert main(["--score", str(tmp_path / "m"), "--logs", str(tmp_path / "logs")]) == 0
    assert f"| 10 | Arista EOS | {len(answers)} | 33.3% | 100.0% | 33.3% |" in capsys.readouterr().out
