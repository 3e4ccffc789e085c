"""Mistakes that people reported in public, as small configurations: each has the verdict that the report asks for.

01 sonic-buildimage #23354, 03 sonic-buildimage #4545, 06 how-tos for RoCE on Nexus 9000, 08 blogs about EOS, 10 how-tos
with NVUE commands that do not exist, 26 Guo et al., SIGCOMM 2016, section 6.2.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

import pytest

from fabric.configs.load import load_network, parse_device
from fabric.validate.checks.base import Severity
from fabric.validate.judge import Request, judge
from fabric.validate.output.text import render
from fabric.validate.runner import Verdict, validate

FIELD: Final = Path(__file__).parents[1] / "data" / "field"
NXOS: Final = "06-nxos-policies-not-attached"
EOS: Final = "08-eos-howto-lines-no-switch-takes"
NVUE: Final = "10-nvue-howto-unknown-commands"


@cache
def judged(path: str) -> Verdict:
    return validate(load_network([FIELD / path]))


def found(path: str, severity: Severity) -> set[str]:
    return {it.check.id for it in judged(path).findings if it.severity is severity}


def texts(path: str, check: str) -> str:
    return "; ".join(f"{it.object}: {it.text}" for it in judged(path).findings if it.check.id == check)


@pytest.mark.parametrize("case", ["ok", "g", "h"])
def test_a_lossless_class_of_nxos_that_is_sound_has_no_error(case: str) -> None:
    assert found(f"{NXOS}/{case}", Severity.ERROR) == set()
    assert not found(f"{NXOS}/{case}", Severity.WARN) & {"M1", "M14", "R10"}


@pytest.mark.parametrize(
    ("case", "errors"),
    [("a", {"R9", "M3"}), ("b", {"R1"}), ("b2", {"R9"}), ("b3", {"R1"}), ("b4", {"R1"}), ("d", {"R9"}), ("e", {"E3"})],
)
def test_a_policy_of_nxos_that_the_switch_refuses_or_has_not_applied_is_an_error(case: str, errors: set[str]) -> None:
    assert found(f"{NXOS}/{case}", Severity.ERROR) >= errors


@pytest.mark.parametrize("case", ["b", "b2", "b4", "d"])
def test_a_pause_in_a_class_that_does_not_exist_makes_nothing_lossless(case: str) -> None:
    assert "M14" in found(f"{NXOS}/{case}", Severity.WARN)


def test_a_pause_in_the_class_of_another_group_leaves_roce_lossy() -> None:
    verdict = judge(Request([FIELD / NXOS / "b5"], roce_dscps=[26]))
    assert "M1" in {it.check.id for it in verdict.findings if it.severity is Severity.ERROR}
    text = "; ".join(it.text for it in verdict.findings if it.check.id == "M1")
    assert "26" in text


def test_an_unapplied_classification_of_nxos_is_named() -> None:
    assert "'CLASSIFY' is not applied here, nor in 'system qos'" in texts(f"{NXOS}/a", "M3")


def test_match_all_with_a_tag_beside_a_dscp_classifies_no_routed_packet() -> None:
    assert "match-all" in texts(f"{NXOS}/c", "R9")
    assert "M1" in {it.check.id for it in judged(f"{NXOS}/c").findings}


def test_match_all_with_an_access_list_that_is_not_there_leaves_the_class_open() -> None:
    assert "'ROCE-V2' is not in the file" in texts(f"{NXOS}/c2", "R1")
    assert "'match access-group name ROCE-V2'" in texts(f"{NXOS}/c2", "M1")


@pytest.mark.parametrize("case", ["a", "b", "c", "d"])
def test_a_marking_profile_without_enables_is_never_silent(case: str) -> None:
    path = f"03-ecnconfig-no-enable/{case}"
    assert "E4" in found(path, Severity.INFO) or "R5" in found(path, Severity.ERROR)
    assert "E3" not in {it.check.id for it in judged(path).findings}


def test_a_marking_profile_without_ecn_and_enables_neither_marks_nor_drops() -> None:
    assert "drops nothing" in texts("03-ecnconfig-no-enable/e", "E4")
    assert "E3" not in found("03-ecnconfig-no-enable/e", Severity.ERROR)


def test_a_smaller_alpha_of_one_tor_is_named_with_both_values() -> None:
    text = texts("26-alpha-of-a-new-tor/new", "B17")
    assert "-6 (alpha 1/64)" in text
    assert "-4 (alpha 1/16) on tor1" in text
    cause = next(it for it in judged("26-alpha-of-a-new-tor/new").causes if it.check.id == "B17")
    assert set(cause.devices) == {"tor2"}
    assert "E11" in cause.counts  # lowering Kmin is not the remedy


def test_equal_alphas_of_two_tors_are_no_finding() -> None:
    assert not texts("26-alpha-of-a-new-tor/same", "B17")


@pytest.mark.parametrize("case", ["a", "b", "c", "d", "e", "f"])
def test_a_running_config_of_eos_is_read_as_eos_whatever_policies_it_has(case: str) -> None:
    (device,) = load_network([FIELD / EOS / case]).devices.values()
    assert device.language == "eos"


@pytest.mark.parametrize(("case", "warnings"), [("a", {"E4", "W2"}), ("b", {"M14"}), ("d", {"E4"}), ("e", {"E4"})])
def test_a_setting_of_eos_that_no_line_makes_is_missed(case: str, warnings: set[str]) -> None:
    assert found(f"{EOS}/{case}", Severity.WARN) >= warnings


@pytest.mark.parametrize(
    ("case", "lines"),
    [
        ("a", ["class tx-queue 3", "tx-queue 6", "priority-flow-control watchdog action errdisable"]),
        ("b", ["priority-flow-control mode on", "dcbx pfc 3", "qos list pfc 3"]),
    ],
)
def test_lines_that_eos_does_not_have_are_shown(case: str, lines: list[str]) -> None:
    shown = render(judged(f"{EOS}/{case}"))
    assert [it for it in lines if f"not understood: '{it}" not in shown] == []


@pytest.mark.parametrize(
    ("case", "part"),
    [
        ("1", "interface.swp1.qos.pfc.priority.3"),
        ("2", "qos.congestion-control.profile.RDMA-ECN"),
        ("5", "qos.pfc.default-global.switch-priority.3.xof-threshold"),
        ("6", "qos.pfc.default-global.txx"),
        ("10", "switch-prio (did you mean 'switch-priority'?)"),
        ("16", "egress-lossless-buffer.shared-byte"),
    ],
)
def test_a_leaf_that_nvue_does_not_have_is_not_understood(case: str, part: str) -> None:
    lines = [it for it in render(judged(f"{NVUE}/s/{case}.txt")).splitlines() if it.startswith("not understood: ")]
    assert [it for it in lines if part in it]


@pytest.mark.parametrize(
    ("case", "given", "meant"),
    [
        ("3", "min-treshold", "min-threshold"),
        ("7", "profle", "profile"),
        ("11", "traffic-clas", "traffic-class"),
        ("13", "cable-lengths", "cable-length"),
        ("14", "mtuu", "mtu"),
        ("15", "polling-intervall", "polling-interval"),
    ],
)
def test_a_leaf_that_is_one_slip_from_one_of_nvue_is_an_error(case: str, given: str, meant: str) -> None:
    said = [it.text for it in judged(f"{NVUE}/s/{case}.txt").findings if it.check.id == "R5"]
    assert f"'{given}' is no word of NVUE here (did you mean '{meant}'?)" in said


@pytest.mark.parametrize(("case", "check"), [("4", "R5"), ("8", "R1"), ("9", "R1"), ("12", "R5"), ("17", "M15")])
def test_a_value_that_nvue_refuses_or_that_hurts_is_an_error(case: str, check: str) -> None:
    assert check in found(f"{NVUE}/s/{case}.txt", Severity.ERROR)


def test_commands_of_nvue_that_do_not_exist_leave_the_macro_and_are_shown() -> None:
    assert not {it.check.id for it in judged(f"{NVUE}/a").findings} & {"M1", "E4", "M14"}
    shown = render(judged(f"{NVUE}/a"))
    assert "qos.traffic-class with 3.pfc.mode, 3.congestion-control.mode, 3.congestion-control.min-threshold" in shown


def test_commands_of_nvue_that_do_not_exist_switch_no_pfc_on() -> None:
    assert "M14" in found(f"{NVUE}/b", Severity.WARN)
    shown = render(judged(f"{NVUE}/b"))
    assert "not understood: interface.swp1.qos.pfc.priority.3.tx.enable.on.rx.enable" in shown
    assert "not understood: qos.congestion-control.profile.RDMA-ECN" in shown


def test_a_port_without_admin_status_is_named_and_gets_no_lossless_group() -> None:
    path = "01-breakout-no-admin-status/leaf1.json"
    named = {it.object: it for it in judged(path).findings if it.check.id == "L12"}
    assert set(named) == {"Ethernet1", "Ethernet2", "Ethernet3"}
    assert "gets no lossless group until it is up" in named["Ethernet1"].text
    assert named["Ethernet1"].evidence[0].value == "not stated: down"


def test_a_port_without_the_lossless_groups_of_like_ports_is_an_error() -> None:
    named = {it.object for it in judged("01-breakout-no-admin-status/b").findings if it.check.id == "M4"}
    assert named == {f"Ethernet{port}|{priority}" for port in (1, 2, 3) for priority in (3, 4)}


def test_a_queue_policy_of_eos_is_read() -> None:
    (device,) = load_network([FIELD / EOS / "c"]).devices.values()
    assert device.ports["Ethernet1/1"].queues[3].wred is not None
    assert "E4" not in {it.check.id for it in judged(f"{EOS}/c").findings}


SWITCHED = """hostname leaf1
qos map dscp 26 to traffic-class 3
interface Ethernet1/1
   switchport mode access
   {trust}
   priority-flow-control on
   priority-flow-control priority 3 no-drop
"""


@pytest.mark.parametrize(("trust", "tc"), [("qos trust dscp", 3), ("mtu 9214", 1), ("qos trust cos", 1)])
def test_a_switched_port_of_eos_trusts_the_dscp_only_where_it_says_so(trust: str, tc: int) -> None:
    device = parse_device(SWITCHED.format(trust=trust), "leaf1.cfg")
    found = device.map_of(device.ports["Ethernet1/1"], "dscp_to_tc")
    assert found is not None
    assert found.entries[26] == tc


def test_rules_that_could_not_be_judged_are_counted_in_the_summary_and_fail_with_strict() -> None:
    folder = FIELD.parent / "sonic" / "fabric_ok"
    network = load_network([*sorted(folder.glob("leaf*.json")), *sorted(folder.glob("spine*.json"))])
    network.links = []
    verdict = validate(network, only={"R12"})
    assert render(verdict).startswith("1 rule could not be judged")
    assert ": 1 rule could not be judged, " in render(verdict).splitlines()[-1]
    assert "could not be judged: " in render(verdict)
    network.strict = True
    assert validate(network, only={"R12"}).reaches(Severity.ERROR)


def test_a_baseline_that_is_empty_makes_every_finding_new(tmp_path: Path) -> None:
    request = Request([FIELD / NXOS / "e"], baseline=tmp_path)
    assert "E3" in {it.check.id for it in judge(request).findings}
