"""Templates in the forms that vendors publish: read without a false error, and each line that is not read is listed.

The files in `published/` are our own; their forms are those of NVIDIA's RoCE guide (`nv set` and YAML), of RoCE guides
for EOS, of the RoCE scripts for Nexus 9000, of Azure Local's ToR references (NX-OS, Dell OS10), and of AVD's EOS.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric.configs.load import load_network, parse_device
from fabric.configs.model import Curve, Device
from fabric.errors import InputErrors
from fabric.validate.checks.base import Severity
from fabric.validate.runner import validate

FOLDER = Path(__file__).parent / "published"
FILES = sorted(FOLDER.iterdir())


def read(name: str) -> Device:
    return parse_device((FOLDER / name).read_text(encoding="utf-8"), name)


@pytest.mark.parametrize("path", FILES, ids=lambda it: it.name)
def test_a_template_has_no_false_error(path: Path) -> None:
    verdict = validate(load_network([path]))
    assert not [f"{it.check.id} {it.object}: {it.text}" for it in verdict.findings if it.severity is Severity.ERROR]


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("nvue_roce_commands.txt", []),
        ("nvue_roce.yaml", []),
        ("nxos_roce_script.cfg", ["'banner motd #' and 3 lines below it"]),
        (
            "eos_roce_leaf.cfg",
            [
                "'banner login' and 3 lines below it",
                "'load-balance policies' and 2 lines below it",
                "'qos random-detect ecn allow non-ect'",
                "'load-interval 30'",
                "'ipv6 enable'",
            ],
        ),
    ],
)
def test_what_is_not_understood_is_listed_and_nothing_else(name: str, lines: list[str]) -> None:
    assert [it.what for it in read(name).unread] == lines


def test_the_text_of_a_banner_is_no_configuration() -> None:
    nxos, eos = read("nxos_roce_script.cfg"), read("eos_roce_leaf.cfg")
    assert (nxos.name, eos.name) == ("ai-leaf1", "backend-leaf3")
    assert eos.maps["dscp_to_tc"]["default"].entries[26] == 3
    assert read("nxos_storage_tor.cfg").name == "rack7-tor1"


def test_a_banner_without_an_end_hides_nothing() -> None:
    device = parse_device("banner motd #\nhostname leaf1\nfeature bgp\nsystem qos\n", "x.cfg")
    assert device.name == "leaf1"


def test_nvue_commands_with_a_prompt_mean_what_they_mean_without() -> None:
    device = read("nvue_roce_commands.txt")
    assert device.name == "rail1-leaf1"
    assert len(device.ports) == 32  # a port that is broken out is its parts, not itself
    port = device.ports["swp32"]
    assert (port.speed_mbps, port.cable_m) == (400_000, 20)
    assert port.lossless == port.watched == {3}
    assert device.wreds[port.queues[3].wred or ""].curve == Curve(150_000, 1_500_000, 100)


def test_nvue_sizes_may_have_the_units_of_its_own_tables() -> None:
    device = read("nvue_roce.yaml")
    assert device.wreds[device.ports["swp4"].queues[3].wred or ""].curve == Curve(153 * 1024, 1_499_464, 100)


def test_eos_segments_of_an_unknown_chip_mark_and_their_curve_is_listed() -> None:
    device = read("eos_roce_leaf.cfg")
    wred = device.wreds[device.ports["Ethernet1/1"].queues[3].wred or ""]
    assert wred.marks
    assert wred.curve is None
    assert any("write bytes or kbytes" in it.what for it in device.unjudged)


def test_eos_lists_of_classes_rewriting_and_ranges_of_cages() -> None:
    device = read("eos_roce_leaf.cfg")
    assert {tc: device.maps["tc_to_queue"]["default"].entries[tc] for tc in range(4)} == {0: 0, 1: 0, 2: 0, 3: 3}
    assert device.maps["tc_to_dscp"]["rewrite"].entries == {3: 26, 6: 48}
    assert device.maps["dscp_to_tc"]["default"].entries[48] == 6
    assert list(device.ports) == ["Ethernet1/1", "Ethernet2/1", "Ethernet3/1", "Ethernet4/1"]


def test_nxos_watchdog_multipliers_and_policies_without_counters() -> None:
    device = read("nxos_roce_script.cfg")
    first, third = device.ports["Ethernet1/1"].watchdog, device.ports["Ethernet1/3"].watchdog
    assert first is not None
    assert third is not None
    assert (first.detection_ms, first.restoration_ms) == (1000, 200)
    assert (third.detection_ms, third.restoration_ms) == (100, 200)
    assert device.ports["Ethernet1/3"].maps["dscp_to_tc"] == "PM-IN"
    assert device.ports["Ethernet1/3"].queues[3].wred


def test_nxos_ports_whose_class_is_in_the_tag() -> None:
    device = read("nxos_storage_tor.cfg")
    assert [name for name, port in device.ports.items() if port.class_by_tag] == ["Ethernet1/17", "Ethernet1/18"]
    assert device.ports["Ethernet1/17"].lossless == {3}
    assert [it.what for it in device.unjudged if it.roce == "QoS"] == ["'match cos 3'", "'match cos 7'"]
    routed = (
        (FOLDER / "nxos_storage_tor.cfg").read_text(encoding="utf-8").replace("  switchport\n", "  no switchport\n")
    )
    assert (
        not parse_device(routed.replace("  switchport ", "  ip dhcp relay "), "x.cfg")
        .ports["Ethernet1/17"]
        .class_by_tag
    )


def test_a_policy_of_the_whole_nxos_switch_classifies_at_every_port() -> None:
    text = (FOLDER / "nxos_roce_script.cfg").read_text(encoding="utf-8")
    text = text.replace("  service-policy type qos input PM-IN\n", "").replace("input PM-IN no-stats", "input PM-IN")
    text = text.replace("  service-policy type qos input PM-IN\n", "")
    text = text.replace("system qos\n", "system qos\n  service-policy type qos input PM-IN\n")
    device = parse_device(text, "x.cfg")
    found = device.map_of(device.ports["Ethernet1/1"], "dscp_to_tc")
    assert found is not None
    assert found.entries[26] == 3


def test_nxos_override_turns_pfc_off_at_every_port() -> None:
    text = (FOLDER / "nxos_roce_script.cfg").read_text(encoding="utf-8")
    device = parse_device(text.replace("feature bgp\n", "priority-flow-control override-interface mode off\n"), "x.cfg")
    assert not any(port.lossless for port in device.ports.values())


def test_dell_os10_is_not_taken_for_nxos() -> None:
    device = read("os10_storage_tor.cfg")
    assert device.name == "rack7-tor2"
    assert not device.ports
    assert "Dell OS10, which has no reader" in device.unread[0].what
    assert len(device.unread) == 10
    assert all(it.roce for it in device.unread)


@pytest.mark.parametrize("text", ["Ethernet1/1-2/8", "Ethernet1/8-1/1", "Ethernet1/1-1/99999"])
def test_a_range_that_is_no_row_of_ports_makes_none(text: str) -> None:
    device = parse_device(f"feature bgp\ninterface {text}\n  mtu 9216\n", "x.cfg")
    assert not device.ports
    assert [it.check for it in device.defects] == ["R5"]


@pytest.mark.parametrize("path", [it for it in FILES if it.suffix != ".yaml"], ids=lambda it: it.name)
def test_commands_after_a_byte_order_mark_are_refused(path: Path, tmp_path: Path) -> None:
    marked = tmp_path / path.name
    marked.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    with pytest.raises(InputErrors) as caught:
        load_network([marked])
    (problem,) = caught.value.problems
    assert "byte order mark" in problem.text
    assert problem.path.endswith(":1")


def test_yaml_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    marked = tmp_path / "leaf.yaml"
    marked.write_bytes(b"\xef\xbb\xbf" + (FOLDER / "nvue_roce.yaml").read_bytes())
    assert list(load_network([marked]).devices) == ["rail1-leaf2"]
