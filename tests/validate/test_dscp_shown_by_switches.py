"""RoCE's DSCP without --hosts: what most switches state in their maps is not a mere assumption."""

from __future__ import annotations

from pathlib import Path

from fabric.configs.load import load_network
from fabric.validate.checks.base import Finding, Severity
from fabric.validate.runner import validate

SWITCH = """hostname {name}
lldp run
lldp timer 10
qos map dscp {dscp} to traffic-class {tc}
qos map traffic-class 3 to tx-queue 3
qos profile ROCE
   qos trust dscp
   priority-flow-control on
   priority-flow-control pause watchdog
   priority-flow-control priority {priority} no-drop
priority-flow-control pause watchdog default timeout 0.2
interface Ethernet1
   speed 400g-8
   service-profile ROCE
interface Ethernet2
   speed 400g-8
   service-profile ROCE
"""


def judged(folder: Path, *switches: tuple[int, int, int]) -> list[Finding]:
    """Findings of M1 for switches of (DSCP, class, priority)."""
    for number, (dscp, tc, priority) in enumerate(switches, 1):
        text = SWITCH.format(name=f"leaf{number}", dscp=dscp, tc=tc, priority=priority)
        (folder / f"leaf{number}.cfg").write_text(text, encoding="utf-8")
    network = load_network([folder])
    assert not any(device.unread for device in network.devices.values())
    return [it for it in validate(network).findings if it.check.id == "M1"]


def test_a_class_that_most_switches_state_holds_although_mistakes_are_on_most_ports(tmp_path: Path) -> None:
    found = judged(tmp_path, (26, 3, 3), (26, 3, 4), (26, 4, 3))
    assert {(it.device, it.severity) for it in found} == {("leaf2", Severity.ERROR), ("leaf3", Severity.ERROR)}
    assert {it.fix.value for it in found if it.device == "leaf3" and it.fix} == {"3"}


def test_a_class_that_most_switches_have_from_their_stock_map_holds_as_well(tmp_path: Path) -> None:
    found = judged(tmp_path, (24, 3, 3), (24, 3, 3), (26, 4, 3))
    assert {(it.device, it.severity) for it in found} == {("leaf3", Severity.ERROR)}


def test_a_dscp_that_all_switches_state_as_lossy_is_one_warning_to_name_another(tmp_path: Path) -> None:
    (found,) = judged(tmp_path, (26, 4, 3), (26, 4, 3), (26, 4, 3))
    assert (found.object, found.severity) == ("--roce-dscp", Severity.WARN)
