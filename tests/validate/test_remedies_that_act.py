"""Remedies that set another value than the present one, and the right one."""

from __future__ import annotations

from pathlib import Path

import pytest
from fabrics import Judge, small_fabric
from finding_cases import put

from fabric.configs.load import load_network
from fabric.validate.checks.base import Finding, Severity
from fabric.validate.runner import validate
from tests.mistakes.mistake import good, write


def found(language: str, folder: Path, old: str, new: str, id_: str, file: str = "leaf1.cfg") -> list[Finding]:
    files = good(language)
    assert old in files[file]
    files[file] = files[file].replace(old, new, 1)
    write(language, files, folder)
    return list(validate(load_network([folder]), only={id_}).findings)


def test_a_port_at_its_largest_mtu_is_one_warning_that_names_the_option(tmp_path: Path) -> None:
    write("eos", good("eos"), tmp_path)
    network = load_network([tmp_path])
    for device in network.devices.values():
        for port in device.ports.values():
            port.mtu = 9214
    network.hosts, network.default_host = {}, None
    (one,) = validate(network, only={"T1"}).findings
    assert one.severity is Severity.WARN
    assert "give --hosts" in one.text
    assert one.fix is None


def test_the_speed_of_eos_has_the_lanes_of_the_switchs_other_ports(tmp_path: Path) -> None:
    uplink = good("eos")["leaf1.cfg"].split("interface Ethernet3/1\n", 1)[1].split("speed", 1)[0]
    (one,) = found("eos", tmp_path, f"{uplink}speed 400g-8", f"{uplink}speed 100g-2", "L2")
    assert one.fix is not None
    assert one.fix.command == "interface Ethernet3/1; speed 400g-8"


def test_a_class_that_is_match_all_is_changed_in_place(tmp_path: Path) -> None:
    text = good("nxos")["leaf1.cfg"]
    head = next(it for it in text.splitlines() if it.startswith("class-map type qos") and "CNP" not in it)
    name = head.split()[-1]
    whole = head.replace("match-any ", "").replace("match-all ", "").replace(name, f"match-all {name}")
    body = text.split(head + "\n", 1)[1].split("\n", 1)[0]
    (one, *_) = found("nxos", tmp_path, f"{head}\n{body}", f"{whole}\n  match dscp 24", "M1")
    assert one.fix is not None
    assert one.fix.command == f"{whole}; no match dscp 24; match dscp 26"


@pytest.mark.parametrize(
    ("poll", "field", "value"), [("1000", "POLL_INTERVAL", "200"), ("300", "POLL_INTERVAL", "200")]
)
def test_a_poll_longer_than_every_time_is_what_changes(judge: Judge, poll: str, field: str, value: str) -> None:
    fabric = small_fabric()
    put("leaf1", "PFC_WD", "GLOBAL", POLL_INTERVAL=poll)(fabric)
    one = next(it for it in judge(fabric) if it.check.id == "W3")
    assert one.fix is not None
    assert (one.fix.rows[0].path[-1], one.fix.rows[0].value) == (field, value)


def test_both_short_times_of_one_port_are_raised(judge: Judge) -> None:
    fabric = small_fabric()
    put("leaf1", "PFC_WD", "GLOBAL", POLL_INTERVAL="200")(fabric)
    put("leaf1", "PFC_WD", "Ethernet0", detection_time="100", restoration_time="100")(fabric)
    one = next(it for it in judge(fabric) if it.check.id == "W3")
    assert one.fix is not None
    assert {(it.path[-1], it.value) for it in one.fix.rows} == {("detection_time", "200"), ("restoration_time", "200")}
