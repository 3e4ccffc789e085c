"""A hosts file that was changed: the change is listed, and the host is to be changed back, not the switches."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fabric.configs.load import load_network
from fabric.validate.baseline import changes
from fabric.validate.checks.base import Severity
from fabric.validate.edits import Row
from fabric.validate.fix import hostsfile
from fabric.validate.fix.files import patches
from fabric.validate.fix.search import find
from fabric.validate.fix.told import with_remedies
from fabric.validate.judge import Request, judge
from fabric.validate.output.fix import as_text

BEFORE = Path(__file__).resolve().parents[2] / "docs/howto/validate-example/before"


@pytest.mark.parametrize(
    ("setting", "old", "new", "check"),
    [
        ("roce_dscp", "26", "24", "M1"),
        ("cnp_dscp", "48", "46", "N3"),
        ("cnp_dscp", "48", "26", "N3"),
        ("pfc_enable", "3", "4", "L1"),
        ("mtu", "9000", "9900", "L4"),
    ],
)
def test_a_changed_setting_of_all_hosts_is_listed_and_is_the_first_cause(
    setting: str, old: str, new: str, check: str, tmp_path: Path
) -> None:
    shutil.copytree(BEFORE, tmp_path, dirs_exist_ok=True)
    file = tmp_path / "hosts.yml"
    text = file.read_text(encoding="utf-8")
    assert f"{setting}: {old}" in text
    file.write_text(text.replace(f"{setting}: {old}", f"{setting}: {new}", 1), encoding="utf-8")
    request = Request([tmp_path], baseline=BEFORE)
    verdict = with_remedies(request, judge(request))
    assert verdict.changes == (f"hosts: {setting}: {old} → {new}",)
    first = next(it for it in verdict.causes if it.severity >= Severity.WARN)
    assert first.check.id == check
    assert [(it.device, it.value) for it in first.fixes] == [("default", old)]
    assert not {it.device for cause in verdict.causes for it in cause.fixes} & {"leaf1", "leaf2", "spine1", "spine2"}


def test_equal_hosts_are_no_change() -> None:
    assert not judge(Request([BEFORE], baseline=BEFORE)).changes


@pytest.mark.parametrize("baseline", [True, False])
def test_the_line_of_the_hosts_file_is_repaired_where_all_switches_agree(baseline: bool, tmp_path: Path) -> None:
    new = tmp_path / "new"
    shutil.copytree(BEFORE, new)
    file = new / "hosts.yml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("roce_dscp: 26", "roce_dscp: 24"), encoding="utf-8")
    request = Request([new], baseline=BEFORE if baseline else None)
    plan = find(request, judge(request))
    assert [(it.device, it.value) for it in plan.changes] == [("default", "26")]
    assert plan.gone == plan.asked
    assert plan.end.contents == {str(file): text}
    assert "104" in patches(plan)["hosts.commands.txt"]
    assert "roce_dscp: 24 → 26" in as_text(plan, [])
    said = plan.steps[0].cause.first.text
    assert ("the baseline has" in said) is baseline
    assert ("change the hosts, or put 24 there on every switch" in said) is not baseline


def test_a_switch_that_differs_leaves_the_choice_to_the_switches(tmp_path: Path) -> None:
    new = tmp_path / "new"
    shutil.copytree(BEFORE, new)
    file = new / "hosts.yml"
    file.write_text(file.read_text(encoding="utf-8").replace("roce_dscp: 26", "roce_dscp: 24"), encoding="utf-8")
    leaf = new / "leaf1.json"
    leaf.write_text(leaf.read_text(encoding="utf-8").replace('"24": "0"', '"24": "3"'), encoding="utf-8")
    first = judge(Request([new])).causes[0]
    assert (first.check.id, first.fixes[0].device) == ("M1", "leaf2")


@pytest.mark.parametrize(
    ("text", "host", "wanted"),
    [
        ("default: {mtu: 9000, roce_dscp: 24}  # all\n", "default", "default: {mtu: 9000, roce_dscp: 26}  # all\n"),
        ("default:\n  roce_dscp: 24  # old\n  mtu: 1\n", "default", "default:\n  roce_dscp: 26  # old\n  mtu: 1\n"),
        ("h1:\n  mtu: 1\n", "h1", "h1:\n  roce_dscp: 26\n  mtu: 1\n"),
        ("h1: {}\n", "h1", "h1: {roce_dscp: 26}\n"),
        ("h1: {mtu: 1}\n", "h1", "h1: {roce_dscp: 26, mtu: 1}\n"),
        ("h1: {mtu: 1}\n", "h2", None),
    ],
)
def test_one_value_of_a_hosts_file_changes_and_nothing_else(text: str, host: str, wanted: str | None) -> None:
    assert hostsfile.applied(text, Row((host, "roce_dscp"), "26")) == wanted


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("NCCL_IB_TC=106", "NCCL_IB_TC=96", "env NCCL_IB_TC: 106 → 96"),
        ("Cable len: 40", "Cable len: 400", "mlnx_qos -i eth0 Cable len: 40 → 400"),
        (
            "limit: unlimited",
            "limit: 1G",
            "mlnx_qos -i eth0 tc: 0 ratelimit: unlimited, tsa: vendor → 0 ratelimit: 1G, tsa: vendor",
        ),
        ("\n106\n", "\n104\n", "cma_roce_tos -d mlx5_0 106: present → absent"),
        (
            "/sys/class/net/eth0/ecn/roce_np/cnp_802p_prio:6",
            "/sys/class/net/eth0/ecn/roce_np/cnp_802p_prio:5",
            "sysfs /sys/class/net/eth0/ecn/roce_np/cnp_802p_prio: 6 → 5",
        ),
    ],
)
def test_a_changed_line_of_a_host_s_outputs_is_listed(old: str, new: str, said: str, tmp_path: Path) -> None:
    outputs = BEFORE.parents[1] / "hosts-example"
    for state in ("old", "new"):
        shutil.copytree(BEFORE, tmp_path / state)
        (tmp_path / state / "hosts.yml").unlink()
        (tmp_path / state / "hosts").mkdir()
        text = (outputs / "host1.txt").read_text(encoding="utf-8")
        assert old in text
        text = text.replace(old, new, 1) if state == "new" else text
        (tmp_path / state / "hosts/host1.txt").write_text(text, encoding="utf-8")
    networks = [load_network([tmp_path / state]) for state in ("old", "new")]
    assert f"host1: {said}" in changes(*networks)
