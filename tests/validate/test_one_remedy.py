"""The remedy of a report and the change of `--fix` are one: same commands, in text, JSON and for Python."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from fabric.errors import InputErrors
from fabric.validate.checks.base import Severity
from fabric.validate.fix.search import find
from fabric.validate.fix.told import with_remedies
from fabric.validate.judge import Request, judge
from fabric.validate.output.data import as_json
from fabric.validate.output.text import remedy
from tests.mistakes.mistake import Mistake, good, write
from tests.mistakes.score import CASES, judged

ONE = {it.id: it for it in CASES}
QUICK = (
    "nvue: RoCE is lossy",
    "sonic: a trailing blank in a profile's name",
    "nxos: the import target differs",
    "eos: the word no-drop is mistyped",
)


def differences(case: Mistake, folder: Path) -> Iterator[str]:
    """Findings that a plan repairs, and whose remedy does not name the commands of the plan, or what has none."""
    case.write(folder)
    request = Request([folder])
    try:
        verdict = judge(request)
    except InputErrors:  # a file that cannot be read has no finding
        return
    plan = find(request, verdict)
    verdict = with_remedies(request, verdict)
    changes = {key: step.changes for step in plan.steps for key in step.cleared}
    data = {(row["id"], row["text"]): row for row in json.loads(as_json(verdict))["causes"]}
    for cause in verdict.causes:
        wanted = changes.get(cause.first.key)
        if cause.severity < Severity.WARN or wanted is None:
            continue
        lines = remedy(cause)
        left = re.match(r"([\d,]+) more such changes?: --json$", lines[-1])  # a text has the first few
        told = [f"$ {it.command}" if it.command else f"{it.device}: {it.what}" for it in wanted]
        hidden = [it for it in told if it not in lines]
        if len(hidden) > (int(left[1].replace(",", "")) if left else 0) or "no command" in "".join(lines):
            yield f"{case.id}: {cause.check.id}: {told} is not in {lines}"
        named = [it["command"] for it in data[cause.check.id, cause.first.text]["fixes"]]
        if [it for it in wanted if (it.command or None) not in named]:
            yield f"{case.id}: {cause.check.id}: {wanted} is not in the JSON: {named}"


@pytest.mark.parametrize("name", QUICK)
def test_the_remedy_is_the_change_that_repairs(name: str, tmp_path: Path) -> None:
    assert list(differences(ONE[name], tmp_path)) == []


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda it: it.id)
def test_every_remedy_is_the_change_that_repairs(case: Mistake, tmp_path: Path) -> None:
    assert list(differences(case, tmp_path)) == []


@pytest.mark.parametrize("language", ["eos", "nxos"])
def test_a_block_that_a_later_line_takes_back_needs_that_line_removed(language: str, tmp_path: Path) -> None:
    files = good(language)
    files["leaf1.cfg"] += "no router bgp 65101\n"
    write(language, files, tmp_path)
    [cause] = judged(tmp_path)
    assert cause.check.id == "P12"
    assert remedy(cause)[1] == "leaf1: remove the line 'no router bgp 65101'"
    assert not any(line.startswith("$ ") for line in remedy(cause))


@pytest.mark.parametrize("language", ["eos", "nxos"])
def test_an_instance_that_is_shut_has_its_command(language: str, tmp_path: Path) -> None:
    [case] = [it for it in CASES if it.id == f"{language}: OSPF: the instance is shut"]
    case.write(tmp_path)
    [cause] = judged(tmp_path)
    [command] = {it.command for it in cause.fixes}
    assert command.startswith("router ospf ")
    assert command.endswith("; no shutdown")


@pytest.mark.parametrize(
    ("title", "place"),
    [
        ("nxos: the thresholds' ends are swapped", "QOS_EGRESS c-out-8q-q3"),
        ("nvue: Kmin above Kmax", "congestion-control default-global 3"),
        ("sonic: Kmin above Kmax", "WRED_PROFILE|W"),
    ],
)
def test_a_curve_has_the_name_that_its_file_gives_it(title: str, place: str, tmp_path: Path) -> None:
    ONE[title].write(tmp_path)
    [cause] = judged(tmp_path)
    assert cause.first.object == place


@pytest.mark.parametrize(
    ("title", "said"),
    [
        ("sonic: a queue names its port by the alias", ": it is the alias of 'Ethernet"),
        ("sonic: a watchdog's row names a range of ports", ": CONFIG_DB has no ranges; write a row for each port"),
    ],
)
def test_a_name_of_a_port_that_is_none_is_told_for_what_it_is(title: str, said: str, tmp_path: Path) -> None:
    files = good("sonic")
    files["leaf1.json"] = ONE[title].edit(files["leaf1.json"])
    files["leaf1.json"]["PORT"]["Ethernet24"]["alias"] = "etp3"
    write("sonic", files, tmp_path)
    cause = judged(tmp_path)[0]
    assert cause.check.id == "R1"
    assert said in cause.first.text


def test_a_password_is_never_taken_away(tmp_path: Path) -> None:
    ONE["eos: a password at one end"].write(tmp_path)
    request = Request([tmp_path])
    [cause] = (it for it in with_remedies(request, judge(request)).causes if it.check.id == "P13")
    assert not cause.fixes
    assert remedy(cause)[1].startswith("no command: ")


@pytest.mark.parametrize(
    ("language", "old", "new", "check", "command"),
    [
        ("eos", "   priority-flow-control on\n", "", "R9", "qos profile ROCE; priority-flow-control on"),
        (
            "nxos",
            "    pause pfc-cos 3\n",
            "",
            "M14",
            "policy-map type network-qos qos_network; class type network-qos c-8q-nq3; pause pfc-cos 3",
        ),
        (
            "nxos",
            "input QOS_CLASSIFICATION",
            "input QOS_CLASIFICATION",
            "R1",
            "interface Ethernet1/1; service-policy type qos input QOS_CLASSIFICATION",
        ),
    ],
)
def test_a_line_that_a_like_switch_has_is_the_remedy(
    language: str, old: str, new: str, check: str, command: str, tmp_path: Path
) -> None:
    files = good(language)
    assert old in files["leaf1.cfg"]
    files["leaf1.cfg"] = files["leaf1.cfg"].replace(old, new)
    write(language, files, tmp_path)
    request = Request([tmp_path])
    cause = with_remedies(request, judge(request)).causes[0]
    assert cause.check.id == check
    assert f"$ {command}" in remedy(cause)


def test_a_value_of_the_baseline_is_the_remedy(tmp_path: Path) -> None:
    for name in ("old", "new"):
        files = good("eos")
        if name == "new":
            files["leaf1.cfg"] = files["leaf1.cfg"].replace("router-id 10.0.0.1", "router-id 10.0.0.2")
        (tmp_path / name).mkdir()
        write("eos", files, tmp_path / name)
    request = Request([tmp_path / "new"], baseline=tmp_path / "old")
    [cause] = (it for it in with_remedies(request, judge(request)).causes if it.check.id == "I3")
    assert "$ router bgp 65101; router-id 10.0.0.1" in remedy(cause)
    assert "why: the baseline has it so" in remedy(cause)
