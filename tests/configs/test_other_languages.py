"""EOS, NX-OS and NVUE: what is read, and that no line is lost without a word."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric.configs.load import load_network, parse_device
from fabric.configs.model import Curve, Device
from fabric.errors import InputErrors
from fabric.validate.checks.base import Severity
from fabric.validate.runner import validate
from tests.recordings import SONIC

EOS = """hostname leaf1
qos map dscp 26 to traffic-class 3
priority-flow-control pause watchdog default timeout 0.20
priority-flow-control pause watchdog default recovery-time 0.30
priority-flow-control pause watchdog default polling-interval 0.10
banner motd nothing
qos profile ROCE
   qos trust dscp
   priority-flow-control on
   priority-flow-control priority 3 no-drop
   priority-flow-control pause watchdog
   uc-tx-queue 3
      bandwidth percent 95
      random-detect ecn minimum-threshold 400 kbytes maximum-threshold 1600 kbytes max-mark-probability 20 weight 0
   uc-tx-queue 6
      priority strict
interface Ethernet1/1-2
   mtu 9214
   speed 400g-8
   service-profile ROCE
interface Ethernet3/1
   shutdown
"""


def read(text: str, name: str = "x.cfg") -> Device:
    return parse_device(text, name)


def test_an_eos_profile_is_spread_over_its_interfaces() -> None:
    device = read(EOS)
    assert (device.language, device.name) == ("eos", "leaf1")
    port = device.ports["Ethernet1/2"]
    assert (port.speed_mbps, port.lanes, port.mtu, port.lossless) == (400_000, 8, 9214, frozenset({3}))
    assert device.wreds[port.queues[3].wred or ""].curve == Curve(400_000, 1_600_000, 20)
    assert device.schedulers[port.queues[6].scheduler or ""].kind == "STRICT"
    assert port.watchdog is not None
    assert (port.watchdog.detection_ms, port.watchdog.restoration_ms, device.watchdog_poll_ms) == (200, 300, 100)
    assert not device.ports["Ethernet3/1"].admin_up


def test_eos_lines_that_are_not_understood_are_listed_with_their_numbers() -> None:
    assert [(item.place.line, item.what) for item in read(EOS).unread] == [(6, "'banner motd nothing'")]


def test_an_eos_threshold_in_an_unknown_unit_is_a_defect() -> None:
    device = read(EOS.replace("400 kbytes", "400 milliseconds"))
    assert [item.check for item in device.defects] == ["R5"]
    assert "unit 'milliseconds' is none of" in device.defects[0].text
    assert not device.wreds


def test_an_eos_service_profile_that_is_not_there_is_a_dangling_reference() -> None:
    assert {item.check for item in read(EOS.replace("service-profile ROCE", "service-profile ROCK")).defects} == {"R1"}


@pytest.mark.parametrize(
    ("file", "language", "curve", "cnp_queue"),
    [
        ("eos_leaf.cfg", "eos", Curve(400_000, 1_600_000, 20), 6),
        ("nxos_leaf.cfg", "nxos", Curve(950_000, 3_000_000, 7), 7),
        ("nvue_startup.yaml", "nvue", Curve(150_000, 1_500_000, 100), 6),
    ],
)
def test_samples_of_three_languages_mean_the_same_things(
    file: str, language: str, curve: Curve, cnp_queue: int
) -> None:
    device = read((SONIC / "other_nos" / file).read_text(encoding="utf-8"), file)
    assert device.language == language
    assert not device.defects
    assert not device.unread
    (port,) = device.ports.values()
    assert port.lossless == {3}
    assert port.watched == {3}
    dscp, queue = device.map_of(port, "dscp_to_tc"), device.map_of(port, "tc_to_queue")
    assert dscp is not None
    assert queue is not None
    assert dscp.entries[26] == 3
    assert queue.entries[dscp.entries[48]] == cnp_queue
    assert device.wreds[port.queues[3].wred or ""].curve == curve
    assert device.wreds[port.queues[3].wred or ""].marks
    assert device.schedulers[port.queues[cnp_queue].scheduler or ""].kind == "STRICT"


NXOS = """system qos
  service-policy type network-qos N
policy-map type network-qos N
  class type network-qos c-8q-nq3
    pause pfc-cos 3
interface Ethernet1/1
  priority-flow-control mode auto
"""


def test_nxos_mode_auto_is_pfc_that_depends_on_the_peer() -> None:
    port = read(NXOS).ports["Ethernet1/1"]
    assert port.pfc_negotiated
    assert port.mtu == 1500


def test_an_nxos_policy_that_is_not_there_is_a_dangling_reference() -> None:
    assert [item.check for item in read(NXOS.replace("network-qos N\npolicy", "network-qos M\npolicy")).defects] == [
        "R1"
    ]


def test_the_roce_macro_of_nvue_is_filled_in_and_what_the_file_says_wins() -> None:
    text = "- set:\n    qos:\n      roce: {enable: on}\n    interface:\n      swp1: {link: {speed: 100G}}\n"
    port = read(text, "x.yaml").ports["swp1"]
    assert port.lossless == {3}
    own = text.replace(
        "roce: {enable: on}",
        "roce: {enable: on}\n      congestion-control: {default-global: "
        "{traffic-class: {'3': {min-threshold: 7, max-threshold: 9}}}}",
    )
    device = read(own, "x.yaml")
    assert device.wreds[device.ports["swp1"].queues[3].wred or ""].curve == Curve(7, 9, 100)


def test_nvue_without_roce_or_pfc_has_no_lossless_priority() -> None:
    assert not read("- set:\n    interface:\n      swp1: {link: {speed: 100G}}\n", "x.yaml").ports["swp1"].lossless


@pytest.mark.parametrize("text", ["hello world", "a: &x [*x]", "- set: 3", "set:\n  qos: [", "\tx: 1"])
def test_text_of_no_known_language_is_one_clear_error(text: str) -> None:
    with pytest.raises(InputErrors) as caught:
        read(text, "x.yaml")
    assert caught.value.problems[0].hint


def test_ageing_times_vlans_and_the_width_of_ecmp_are_read_in_both_languages() -> None:
    tail = (
        "mac address-table aging-time 300\nrouter bgp 65101\n   maximum-paths 2 ecmp 2\n   neighbor 10.0.0.1 x\n"
        "interface Ethernet9/1\n   switchport access vlan 7\n"
    )
    for text in (EOS, NXOS):
        device = read(text + tail)
        assert (device.mac_age_s, device.multipath) == (300, 2)
        assert device.vlans["switched"].members == ("Ethernet9/1",)
        assert any("neighbor" in item.what for item in (*device.unread, *device.unjudged))


@pytest.mark.parametrize(
    ("text", "line", "shown"),
    [
        (EOS, "   neighbor 10.0.0.1 dont-capability-negotiate", "'neighbor 10.0.0.1 dont-capability-negotiate'"),
        (NXOS, "  neighbor 10.0.0.1\n    timers 5 \x1b[2J15", "'timers 5 \\u001b[2J15'"),
        (NXOS, "username admin password 5 $5$AAAA role x", "'username admin password (not shown)'"),
        (EOS, "   neighbor 10.0.0.1 " + "a" * 100, f"'neighbor 10.0.0.1 {'a' * 100}'"),
    ],
)
def test_a_line_that_is_not_judged_is_listed_whole_with_its_place(text: str, line: str, shown: str) -> None:
    text += f"router bgp 65101\n{line}\n"
    device = read(text)
    places = {it.what: it.place.line for it in (*device.unread, *device.unjudged)}
    assert places[shown] == len(text.splitlines())


def test_descriptions_of_all_ports_are_one_part() -> None:
    ports = "".join(f"interface Ethernet{port}/1\n   description to spine{port}\n" for port in (5, 6))
    assert [it.what for it in read(EOS + ports).unjudged if "description" in it.what] == ["'description'"] * 2


NXOS_BUFFER = """system qos
  service-policy type network-qos N
  service-policy type queuing input IN
policy-map type network-qos N
  class type network-qos c-8q-nq3
    pause pfc-cos 3
policy-map type queuing IN
  class type queuing c-in-q3
    pause buffer-size 200000 pause-threshold 80000 resume-threshold 60000
policy-map type queuing SMALL
  class type queuing c-in-q3
    pause buffer-size 45000 pause-threshold 40000 resume-threshold 30000
interface Ethernet1/1
  priority-flow-control mode on
interface Ethernet1/2
  priority-flow-control mode on
  service-policy type queuing input SMALL
"""


def test_nxos_headroom_is_what_lies_above_the_pause_threshold_and_an_interface_may_have_its_own() -> None:
    device = read(NXOS_BUFFER)
    assert not device.unread
    assert not device.defects
    found = {name: device.profile_of(port.groups[3]) for name, port in device.ports.items()}
    assert {name: profile.xoff_bytes for name, profile in found.items() if profile} == {
        "Ethernet1/1": 120_000,
        "Ethernet1/2": 5000,
    }


def test_nxos_thresholds_in_the_wrong_order_are_a_defect() -> None:
    device = read(NXOS_BUFFER.replace("pause-threshold 80000", "pause-threshold 300000"))
    assert [(item.check, "does not hold" in item.text) for item in device.defects] == [("R5", True)]


@pytest.mark.parametrize(
    ("text", "length", "ids"),
    [
        (NXOS_BUFFER, 40, {("H1", "Ethernet1/2|SMALL c-in-q3")}),
        (NXOS, 40, set()),
        (NXOS, 300, {("H10", "Ethernet1/1")}),
    ],
)
def test_nxos_headroom_is_judged_for_the_cables_of_the_links_file(
    text: str, length: int, ids: set[tuple[str, str]], tmp_path: Path
) -> None:
    for name in ("n1", "n2"):
        (tmp_path / f"{name}.cfg").write_text(text.replace("mode on", "mode on\n  speed 100000"), encoding="utf-8")
    (tmp_path / "links.yml").write_text(
        "".join(
            f"- {{a: [n1, Ethernet1/{n}], b: [n2, Ethernet1/{n}], length_m: {length}}}\n"
            for n in (1, 2)
            if f"Ethernet1/{n}" in text
        ),
        encoding="utf-8",
    )
    found = validate(load_network([tmp_path]), only={"H1", "H10"}).findings
    assert {(it.check.id, it.object) for it in found if it.severity > Severity.INFO and it.device == "n1"} == ids


@pytest.mark.parametrize(
    ("text", "link"),
    [
        (
            EOS + "mlag configuration\n   domain-id pair\n   peer-link Port-Channel9\ninterface Ethernet5/1\n"
            "   channel-group 9 mode active\n   no switchport\n",
            "Port-Channel9",
        ),
        (
            NXOS + "interface port-channel9\n  vpc peer-link\ninterface Ethernet5/1\n  channel-group 9 mode active\n"
            "  priority-flow-control mode off\n",
            "port-channel9",
        ),
    ],
)
def test_a_peer_link_without_pfc_is_found_in_both_languages(text: str, link: str, tmp_path: Path) -> None:
    (tmp_path / "leaf1.cfg").write_text(text, encoding="utf-8")
    found = list(validate(load_network([tmp_path]), only={"P4"}).findings)
    assert [(it.object, link in it.text) for it in found] == [("Ethernet5/1", True)]
    assert found[0].place is not None


@pytest.mark.parametrize(
    ("text", "mtu"),
    [
        ("qos profile R\ninterface Ethernet1\n   no switchport\n", 1500),
        ("qos profile R\ninterface Ethernet1\n   speed 400g-8\n", 9214),
        ("qos profile R\ninterface Ethernet1\n   mtu 9000\n   no switchport\n", 9000),
        ("nv set interface swp1 link speed 400G\n", 9216),
    ],
)
def test_a_port_that_states_no_mtu_has_its_languages_default(text: str, mtu: int) -> None:
    (port,) = parse_device(text, "leaf1.cfg").ports.values()
    assert port.mtu == mtu


def test_an_entry_that_the_language_fills_in_says_so(tmp_path: Path) -> None:
    (tmp_path / "leaf1.cfg").write_text(
        "qos map dscp 26 to traffic-class 3\nqos map dscp 27 to traffic-class 3\n"
        "qos profile R\n   qos trust dscp\n   priority-flow-control on\n   priority-flow-control priority 3 no-drop\n"
        "interface Ethernet1\n   service-profile R\n",
        encoding="utf-8",
    )
    (found,) = validate(load_network([tmp_path]), only={"M8"}).findings
    assert {it.label: it.value for it in found.evidence} == {
        "qos map|24": "3 by default",
        "qos map|25": "3 by default",
        "qos map|27": "3",
    }
    assert next(it.place.line for it in found.evidence if it.label == "qos map|27" and it.place) == 2
