"""Every threshold of a check: silent at its bound, or the milder verdict, and the other one step beside it.

The small clean fabric with one number changed. Bounds are worked out here from the fabric's own numbers: at leaf1 two
ports to hosts with 5 m of cable, two to spines with 40 m, one group each; alpha 1, so T(k) = pool / (1 + k).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from fabrics import HOSTS, Judge, Tables, small_fabric

from fabric.configs.load import load_network
from fabric.validate.checks.base import Severity
from fabric.validate.runner import validate

E, W, I = Severity.ERROR, Severity.WARN, Severity.INFO  # noqa: E741  as in every table of checks
Change = Callable[[dict[str, Tables], int], object]

NEAR: Final = "pg_lossless_400000_5m_profile"
FAR: Final = "pg_lossless_400000_40m_profile"
POOL: Final = 26_451_968
BUFFER: Final = 60_817_392
HEADROOM: Final = 2 * 38_912 + 2 * 77_824
T1: Final = POOL // 2
HELD: Final = POOL * 3 // 4 + 3 * 47_104
"""What three groups hold when they pause: 3 T(3), and what each is guaranteed."""
UPLINK: Final = "leaf1:Ethernet16↔spine1:Ethernet8"


def at(device: str, table: str, key: str, field: str, **more: str | None) -> Change:
    """The number in one field; `more` fixes others, None removes them."""

    def change(fabric: dict[str, Tables], value: int) -> None:
        row = fabric[device].setdefault(table, {}).setdefault(key, {})
        row[field] = str(value)
        for name, text in more.items():
            if text is None:
                row.pop(name, None)
            else:
                row[name] = text

    return change


def both(*changes: Change) -> Change:
    """The same number in several places."""
    return lambda fabric, value: [change(fabric, value) for change in changes]


def fixed(change: Change, number: int) -> Change:
    """One number that stays."""
    return lambda fabric, _: change(fabric, number)


def wred(field: str, **more: str | None) -> Change:
    return at("leaf1", "WRED_PROFILE", "W", field, **more)


def profile(name: str, field: str, **more: str | None) -> Change:
    return at("leaf1", "BUFFER_PROFILE", name, field, **more)


def pool(field: str) -> Change:
    return at("leaf1", "BUFFER_POOL", "ingress_lossless_pool", field)


def groups_of_one_profile(fabric: dict[str, Tables], count: int) -> None:
    """So many groups of leaf1 have the profile of 40 m."""
    names = [f"Ethernet{port}|{group}" for group in (3, 4) for port in (0, 8, 16, 24)]
    fabric["leaf1"]["BUFFER_PG"] = {name: {"profile": FAR} for name in names[:count]}


def lossy_in_the_lossless_pool(**threshold: str) -> Change:
    def change(fabric: dict[str, Tables], value: int) -> None:
        ((field, _),) = threshold.items()
        fabric["leaf1"]["BUFFER_PROFILE"]["lossy"] = {"pool": "ingress_lossless_pool", "size": "0", field: str(value)}
        fabric["leaf1"]["BUFFER_PG"]["Ethernet0|0"] = {"profile": "lossy"}

    return change


def priorities(fabric: dict[str, Tables], count: int) -> None:
    fabric["leaf1"]["PORT_QOS_MAP"]["Ethernet0"]["pfc_enable"] = ",".join(map(str, range(3, 3 + count)))


def link_mtu(fabric: dict[str, Tables], value: int) -> None:
    """Of one uplink, at both ends."""
    at("leaf1", "PORT", "Ethernet16", "mtu")(fabric, value)
    at("spine1", "PORT", "Ethernet8", "mtu")(fabric, value)


def of_another_vendor(fabric: dict[str, Tables], _: int) -> None:
    """Of NVIDIA's switches alone the size of a profile contains its xon."""
    fabric["leaf1"]["DEVICE_METADATA"]["localhost"]["hwsku"] = "Force10-S6100"


def uplink_mtu_under_vxlan(source: str) -> Change:
    def change(fabric: dict[str, Tables], value: int) -> None:
        fabric["leaf1"]["VXLAN_TUNNEL"] = {"v": {"src_ip": source}}
        at("spine1", "PORT", "Ethernet8", "mtu")(fabric, value)

    return change


def others_in_the_roce_class(fabric: dict[str, Tables], count: int) -> None:
    for tables in fabric.values():
        tables["DSCP_TO_TC_MAP"]["M"].update({str(dscp): "3" for dscp in range(32, 32 + count)})


def others_on_some_switches(fabric: dict[str, Tables], count: int) -> None:
    for tables in list(fabric.values())[:count]:
        tables["DSCP_TO_TC_MAP"]["M"]["46"] = "3"


def weight_of(queue: int) -> Change:
    """Another scheduler for one queue of leaf1's Ethernet0; the data queues have 50."""

    def change(fabric: dict[str, Tables], value: int) -> None:
        fabric["leaf1"]["SCHEDULER"]["own"] = {"type": "DWRR", "weight": str(value)}
        fabric["leaf1"]["QUEUE"][f"Ethernet0|{queue}"]["scheduler"] = "own"

    return change


def weight_of_cnps(fabric: dict[str, Tables], value: int) -> None:
    """A weight for the CNPs' queue of every port: nowhere is it strict, as at the other ports otherwise."""
    for tables in fabric.values():
        tables["SCHEDULER"]["cnp"] = {"type": "DWRR", "weight": str(value)}


def kmin_towards_hosts(fabric: dict[str, Tables], value: int) -> None:
    leaf = fabric["leaf1"]
    leaf["WRED_PROFILE"]["H"] = {**leaf["WRED_PROFILE"]["W"], "green_min_threshold": str(value)}
    for port in ("Ethernet0", "Ethernet8"):
        leaf["QUEUE"][f"{port}|3"]["wred_profile"] = "H"


def host_speed(fabric: dict[str, Tables], value: int) -> None:
    for port in ("Ethernet0", "Ethernet8"):
        at("leaf1", "PORT", port, "speed")(fabric, value)


def uplink_speed(fabric: dict[str, Tables], value: int) -> None:
    for port in ("Ethernet16", "Ethernet24"):
        at("leaf1", "PORT", port, "speed")(fabric, value)


def routed_vlan(fabric: dict[str, Tables], value: int) -> None:
    leaf = fabric["leaf1"]
    leaf["VLAN"] = {"Vlan100": {"vlanid": "100", "mtu": str(value)}}
    leaf["VLAN_INTERFACE"] = {"Vlan100": {}}
    leaf["VLAN_MEMBER"] = {"Vlan100|Ethernet0": {"tagging_mode": "untagged"}}


def ageing(fabric: dict[str, Tables], value: int) -> None:
    routed_vlan(fabric, 9216)
    fabric["leaf1"]["SWITCH"] = {"switch": {"fdb_aging_time": str(value)}}


def ports(fabric: dict[str, Tables], count: int) -> None:
    """So many ports, of which four are in use."""
    for number in range(100, 96 + count):
        fabric["leaf1"]["PORT"][f"Ethernet{number}"] = {"speed": "400000", "admin_status": "down"}


def pattern(fabric: dict[str, Tables], value: int) -> None:
    fabric["leaf1"]["DEVICE_METADATA"]["localhost"]["buffer_model"] = "dynamic"
    fabric["leaf1"]["LOSSLESS_TRAFFIC_PATTERN"] = {"AZURE": {"mtu": str(value), "small_packet_percentage": "50"}}


def port_headroom(fabric: dict[str, Tables], value: int) -> None:
    fabric["leaf1"]["DEFAULT_LOSSLESS_BUFFER_PARAMETER"] = {
        "AZURE": {"default_dynamic_th": "0", "max_headroom_size": str(value)}
    }


def release(fabric: dict[str, Tables], patch: int) -> None:
    """A file of release 3.0.x whose watchdog does not look at the lossless priority."""
    fabric["leaf1"]["VERSIONS"] = {"DATABASE": {"VERSION": f"version_3_0_{patch}"}}
    del fabric["leaf1"]["PORT_QOS_MAP"]["Ethernet0"]["pfcwd_sw_enable"]


DETECTION: Final = at("leaf1", "PFC_WD", "Ethernet0", "detection_time")
RESTORATION: Final = at("leaf1", "PFC_WD", "Ethernet0", "restoration_time")

PAIRS: list[tuple[str, str, Change, tuple[int, Severity | None], tuple[int, Severity | None]]] = [
    # check, object, where the number goes, (number, verdict), (number beside it, verdict)
    # B1: ingress pools + two groups of 86,016 B and two of 124,928 B <= buffer
    ("B1", "BUFFER_POOL", pool("size"), (BUFFER - 421_888, None), (BUFFER - 421_887, E)),
    ("B2", "BUFFER_POOL|ingress_lossless_pool", pool("xoff"), (HEADROOM // 6, I), (HEADROOM // 6 - 1, W)),
    ("B2", "BUFFER_POOL|ingress_lossless_pool", pool("xoff"), (HEADROOM, None), (HEADROOM - 1, I)),
    ("B3", f"BUFFER_PROFILE|{FAR}", profile(FAR, "dynamic_th"), (3, None), (4, W)),
    ("B3", f"BUFFER_PROFILE|{FAR}", profile(FAR, "dynamic_th"), (-6, None), (-7, W)),
    ("B3", f"BUFFER_PROFILE|{FAR}", both(fixed(profile(FAR, "dynamic_th"), 6), groups_of_one_profile), (4, W), (5, E)),
    ("B3", f"BUFFER_PROFILE|{FAR}", both(fixed(groups_of_one_profile, 5), profile(FAR, "dynamic_th")), (5, W), (6, E)),
    ("B4", f"BUFFER_PROFILE|{FAR}", profile(FAR, "size"), (37_888 + 77_824, None), (37_888 + 77_823, E)),
    ("B4", f"BUFFER_PROFILE|{FAR}", both(of_another_vendor, profile(FAR, "size")), (77_824, None), (77_823, E)),
    ("B4", f"BUFFER_PROFILE|{FAR}", profile(FAR, "size"), (16_384, None), (16_385, E)),
    ("B5", f"BUFFER_PROFILE|{FAR}", profile(FAR, "size"), (16_385, None), (16_384, E)),
    ("B5", f"BUFFER_PROFILE|{FAR}", profile(FAR, "size", xoff="1000"), (1000, None), (999, E)),
    (
        "B6",
        f"BUFFER_PROFILE|{FAR}",
        both(fixed(pool("size"), 5 * 5_000_000), profile(FAR, "xon_offset")),
        (5_000_000, None),
        (5_000_001, W),
    ),
    ("B6", f"BUFFER_PROFILE|{FAR}", profile(FAR, "xon"), (1, None), (0, W)),
    ("B6", f"BUFFER_PROFILE|{FAR}", profile(FAR, "xon_offset", xon="0"), (1, None), (0, W)),
    ("B7", "Ethernet0|3", profile("egress_lossless_profile", "static_th", dynamic_th=None), (HELD, I), (HELD - 1, W)),
    (
        "B7",
        "Ethernet0|3",
        profile("egress_lossless_profile", "static_th", dynamic_th=None),
        (HELD + 38_912 + 2 * 77_824, None),
        (HELD + 38_912 + 2 * 77_824 - 1, I),
    ),
    (
        "B7",
        "Ethernet0|3",
        both(fixed(pool("size"), 5 * 5_000_000), profile("egress_lossless_profile", "static_th", dynamic_th=None)),
        (12_500_000, W),
        (12_499_999, E),
    ),
    ("B8", "BUFFER_PROFILE|lossy", lossy_in_the_lossless_pool(dynamic_th=""), (-1, None), (0, W)),
    ("B8", "BUFFER_PROFILE|lossy", lossy_in_the_lossless_pool(static_th=""), (POOL - 1, None), (POOL, I)),
    ("B9", "Ethernet0", priorities, (2, None), (3, W)),
    ("B9", "BUFFER_POOL", profile(FAR, "xoff"), (BUFFER // 4 - 38_912, None), (BUFFER // 4 - 38_911, W)),
    ("B11", "Ethernet0", port_headroom, ((4 + 19 + 20) * 1024 + 86_016, None), ((4 + 19 + 20) * 1024 + 86_015, W)),
    # H1: 400G, 40 m, MTU 9216: 20,000 B of cable, 84 B of PFC, 9,258 B a frame, 4,220 B of RoCE, 905 x 64 B
    ("H1", f"Ethernet16|{FAR}", profile(FAR, "xoff"), (20_084 + 2 * 9_258 + 57_920, None), (96_519, I)),
    ("H1", f"Ethernet16|{FAR}", profile(FAR, "xoff"), (20_084 + 2 * 9_258, I), (38_599, W)),
    ("H1", f"Ethernet16|{FAR}", profile(FAR, "xoff"), (20_084 + 9_258 + 4_220, W), (33_561, E)),
    # A jumbo frame has more than 4200 B: 20,084 + 2 x 4,243 = 28,570 at MTU 4201, bound B 28,547; 28,568 at 4200
    ("H1", f"Ethernet16|{FAR}", both(fixed(profile(FAR, "xoff"), 28_545), link_mtu), (4200, W), (4201, E)),
    ("H4", f"BUFFER_PROFILE|{FAR}", profile(FAR, "xoff"), (70_042, W), (70_041, E)),
    ("H4", f"BUFFER_PROFILE|{FAR}", profile(FAR, "xoff"), (77_824, None), (77_823, W)),
    ("H4", f"BUFFER_PROFILE|{FAR}", profile(FAR, "xoff"), (77_824, None), (77_825, W)),
    # one byte above the row in both is kept; a second one of xoff is not in size
    (
        "H4",
        f"BUFFER_PROFILE|{FAR}",
        both(fixed(profile(FAR, "size"), 124_929), profile(FAR, "xoff")),
        (77_825, I),
        (77_826, W),
    ),
    ("H8", "LOSSLESS_TRAFFIC_PATTERN", pattern, (4096 + 78, None), (4096 + 77, W)),
    # H9: RS-FEC at both ends is 200 ns, 10,000 B at 400G; below bound D H1 speaks
    ("H9", f"Ethernet16|{FAR}", profile(FAR, "xoff"), (96_520, I), (96_519, None)),
    ("H9", f"Ethernet16|{FAR}", profile(FAR, "xoff"), (106_520, None), (106_519, I)),
    ("E1", "WRED_PROFILE|W", wred("green_min_threshold"), (1_600_000, None), (1_600_001, E)),
    ("E2", "Ethernet0|3", wred("green_min_threshold", green_max_threshold="20000000"), (T1 - 1, W), (T1, E)),
    ("E2", "Ethernet0|3", wred("green_max_threshold"), (T1 - 1, None), (T1, W)),
    (
        "E2b",
        "WRED_PROFILE|W",
        wred("green_min_threshold", green_max_threshold="6000000"),
        (POOL // 8 - 1, None),
        (POOL // 8, I),
    ),
    ("E5", "Ethernet0|3", wred("green_min_threshold"), (200_000, None), (199_999, W)),
    (
        "E5",
        "Ethernet0|3",
        wred("green_min_threshold", green_max_threshold="13000000"),
        (12_800_000, None),
        (12_800_001, W),
    ),
    ("E5", "WRED_PROFILE|W", at("leaf1", "PORT", "Ethernet0", "speed"), (100_001, None), (100_000, W)),
    ("E6", "WRED_PROFILE|W", wred("green_drop_probability"), (1, None), (0, E)),
    ("E6", "WRED_PROFILE|W", wred("green_min_threshold"), (1_599_999, None), (1_600_000, I)),
    ("E7", "host ports", kmin_towards_hosts, (400_000, None), (400_001, W)),
    (
        "E8",
        "Ethernet0|3",
        both(
            fixed(profile("egress_lossless_profile", "static_th", dynamic_th=None), 20_000_000),
            wred("green_max_threshold"),
        ),
        (20_000_000, None),
        (20_000_001, W),
    ),
    ("E9", "WRED_PROFILE|W", wred("green_min_threshold"), (3 * (4096 + 78), None), (3 * (4096 + 78) - 1, W)),
    # E11: 14 us at 400G are 700,000 B
    (
        "E11",
        "Ethernet0|3",
        wred("green_min_threshold", green_max_threshold="20000000"),
        (T1 - 700_000, None),
        (T1 - 699_999, W),
    ),
    ("M6", "Ethernet0", weight_of_cnps, (25, None), (24, W)),
    ("M8", "DSCP_TO_TC_MAP|M", others_in_the_roce_class, (3, I), (4, W)),
    ("M8", "DSCP_TO_TC_MAP|M", others_in_the_roce_class, (0, None), (1, I)),
    ("M8", "DSCP_TO_TC_MAP|M", others_on_some_switches, (2, I), (1, W)),  # of four
    ("M11", "Ethernet0|3", weight_of(3), (26, None), (25, W)),  # 34 and 33 % of the weights, elsewhere 50
    ("L4", UPLINK, at("spine1", "PORT", "Ethernet8", "mtu"), (9000, W), (8999, E)),
    ("L4", UPLINK, at("spine1", "PORT", "Ethernet8", "mtu"), (9216, None), (9215, W)),
    ("L4", "Ethernet0", at("leaf1", "PORT", "Ethernet0", "mtu"), (9000, None), (8999, E)),
    ("W1", "Ethernet0", release, (3, I), (4, E)),
    ("W3", "Ethernet0", DETECTION, (200, None), (199, E)),
    ("W3", "Ethernet0", RESTORATION, (200, None), (199, E)),
    # W5: three hops of (T(1) + 38,912 B) at 1G are 240 ms where that is 10 MB
    (
        "W5",
        "Ethernet0",
        both(
            fixed(pool("size"), 2 * (10_000_000 - 38_912)),
            fixed(at("leaf1", "PORT", "Ethernet0", "speed"), 1000),
            DETECTION,
        ),
        (241, None),
        (240, W),
    ),
    # W6: 4.096 us x 2**14 x 7 = 469.8 ms; the poll takes 200
    ("W6", "Ethernet0", DETECTION, (269, None), (270, W)),
    ("W9", "PFC_WD", ports, (32, None), (33, I)),
    ("W9", "PFC_WD", both(fixed(ports, 33), DETECTION), (400, None), (399, I)),
    ("T1", "Ethernet8", at("spine1", "PORT", "Ethernet8", "mtu"), (9000, None), (8999, E)),
    ("T1", "Ethernet8", uplink_mtu_under_vxlan("10.0.0.1"), (9050, None), (9049, E)),
    ("T1", "Ethernet8", uplink_mtu_under_vxlan("2001:db8::1"), (9070, None), (9069, E)),
    ("T6", "Vlan100", routed_vlan, (9216, None), (9215, W)),
    ("D3", "SWITCH|switch", ageing, (14_400, None), (14_399, W)),
    # D4: two host ports and two uplinks, errors above 3:1; with one uplink failed 1.25:1 is a note
    ("D4", "uplinks", both(fixed(host_speed, 600_000), uplink_speed), (200_000, W), (199_999, E)),
    ("D4", "uplinks", uplink_speed, (400_000, I), (399_999, W)),
    ("D4", "uplinks", host_speed, (250_000, None), (250_001, I)),
    # D8: 2 (T(2) + 38,912 B) at 400G are 14 us where that is 350,000 B
    ("D8", f"BUFFER_PROFILE|{NEAR}", pool("size"), (3 * (350_000 - 38_912), None), (3 * (350_000 - 38_912) - 1, I)),
    ("N4", "Ethernet0|3", wred("green_min_threshold"), (250_000, None), (249_999, W)),
    ("N5", "Ethernet0", at("leaf1", "CABLE_LENGTH", "AZURE", "Ethernet0"), (7, None), (8, W)),
]
DEVICE: Final = {"T1": "spine1"}


def _metres(fabric: dict[str, Tables]) -> None:
    """Cable lengths carry their unit."""
    for tables in fabric.values():
        cable = tables["CABLE_LENGTH"]["AZURE"]
        cable.update({port: f"{length}m" for port, length in cable.items() if not length.endswith("m")})


def _verdict(judge: Judge, check: str, where: str, change: Change, value: int) -> Severity | None:
    fabric = small_fabric()
    change(fabric, value)
    _metres(fabric)
    device = DEVICE.get(check, "leaf1")
    # A link is judged at the end that differs.
    found = [it for it in judge(fabric, only={check}) if it.object == where and (it.device == device or "↔" in where)]
    assert len(found) <= 1
    return found[0].severity if found else None


@pytest.mark.parametrize(
    ("check", "where", "change", "bound", "beside"), PAIRS, ids=[f"{row[0]}-{row[3][0]}-{row[4][0]}" for row in PAIRS]
)
def test_a_check_speaks_beyond_its_bound_and_not_at_it(
    check: str,
    where: str,
    change: Change,
    bound: tuple[int, Severity | None],
    beside: tuple[int, Severity | None],
    judge: Judge,
) -> None:
    assert abs(bound[0] - beside[0]) <= 2
    found = [_verdict(judge, check, where, change, value) for value, _ in (bound, beside)]
    assert found == [bound[1], beside[1]]


@pytest.mark.parametrize(
    ("xoff", "bound"), [(20_084 + 2 * 1_542, "B"), (20_084 + 2 * 1_542 - 1, "A"), (33_562, "C"), (38_600, "D")]
)
def test_the_worst_bound_that_is_missed_is_named(xoff: int, bound: str, judge: Judge) -> None:
    fabric = small_fabric()
    profile(FAR, "xoff")(fabric, xoff)
    found = [it for it in judge(fabric, only={"H1"}) if it.device == "leaf1" and it.object == f"Ethernet16|{FAR}"]
    assert f"bound {bound} " in found[0].text


HOST_PAIRS: Final = [
    # check, the hosts' settings with the number, (number, findings), (number beside it, findings)
    ("N5", {"rx_buffer_bytes": 0}, (149_787, 0), (149_786, 1)),  # (301 + 2.16 x 5) x 400 + 2.72 x 9216
    ("T5", {"mtu": 0}, (4174, 0), (4173, 1)),
    ("W6", {"rdma_retries": 0, "rdma_timeout": 14}, (6, 0), (5, 1)),  # 402.7 ms and 335.5 ms; detection + poll 400
    ("L4", {"mtu": 0}, (9216, 0), (9217, 1)),
]


@pytest.mark.parametrize(("check", "settings", "bound", "beside"), HOST_PAIRS, ids=[row[0] for row in HOST_PAIRS])
def test_a_host_setting_is_judged_at_its_bound(
    check: str, settings: dict[str, Any], bound: tuple[int, int], beside: tuple[int, int], judge: Judge
) -> None:
    number = next(iter(settings))
    for value, count in (bound, beside):
        hosts = {"default": {**HOSTS["default"], **settings, number: value}}
        assert bool(judge(small_fabric(), hosts, only={check})) is bool(count)


@pytest.mark.parametrize(("roce_mtu", "severity"), [(4096, E), (4095, W)])
def test_bound_b_is_an_error_where_hosts_use_frames_of_4096(roce_mtu: int, severity: Severity, judge: Judge) -> None:
    fabric = small_fabric()
    profile(FAR, "xoff")(fabric, 33_561)
    hosts = {"default": {**HOSTS["default"], "roce_mtu": roce_mtu}}
    found = [it for it in judge(fabric, hosts, only={"H1"}) if it.object == f"Ethernet16|{FAR}"]
    assert found[0].severity is severity


def test_only_what_nothing_uses_is_named_so(judge: Judge) -> None:
    fabric = small_fabric()
    assert judge(fabric, only={"R2"}) == []
    leaf = fabric["leaf1"]
    leaf["TC_TO_PRIORITY_GROUP_MAP"]["spare"] = leaf["TC_TO_PRIORITY_GROUP_MAP"]["decap"] = {"0": "0"}
    leaf["PORT_QOS_MAP"]["Ethernet0"]["decap_tc_to_pg_map"] = "decap"
    assert [it.object for it in judge(fabric, only={"R2"})] == ["TC_TO_PRIORITY_GROUP_MAP|spare"]


@pytest.mark.parametrize(("mtu", "findings"), [(4096 + 78, 0), (4096 + 77, 1)])
def test_the_largest_roce_mtu_decides_whether_a_traffic_pattern_is_too_small(
    mtu: int, findings: int, judge: Judge
) -> None:
    fabric = small_fabric()
    pattern(fabric, mtu)
    hosts = {**HOSTS, "host1": {"roce_mtu": 1024}}
    assert len(judge(fabric, hosts, only={"H8"})) == findings


@pytest.mark.parametrize(("metres", "findings"), [(5, 1), (6, 0)])
def test_a_cable_of_more_than_five_metres_was_not_left_at_the_default(metres: int, findings: int, judge: Judge) -> None:
    fabric = small_fabric()
    fabric["leaf1"]["CABLE_LENGTH"]["AZURE"]["Ethernet16"] = f"{metres}m"
    assert len(judge(fabric, only={"H6"})) == findings


@pytest.mark.parametrize(("planned", "findings"), [(40, 0), (41, 2)])
def test_a_stated_length_may_be_the_planned_one_and_not_less(planned: int, findings: int, judge: Judge) -> None:
    links = {"links": [{"a": ["leaf1", "Ethernet16"], "b": ["spine1", "Ethernet8"], "length_m": planned}]}
    assert len(judge(small_fabric(), links=links, only={"H5"})) == findings


@pytest.mark.parametrize(("metres", "findings"), [(100, 0), (101, 1)])
def test_the_default_headroom_of_nxos_is_for_a_hundred_metres(metres: int, findings: int, tmp_path: Path) -> None:
    (tmp_path / "n1.cfg").write_text(
        "system qos\n  service-policy type network-qos N\npolicy-map type network-qos N\n"
        "  class type network-qos c-8q-nq3\n"
        "    pause pfc-cos 3\ninterface Ethernet1/1\n  speed 100000\n  no shutdown\n",
        encoding="utf-8",
    )
    links = {"links": [{"a": ["n1", "Ethernet1/1"], "b": ["host1", "eth0"], "length_m": metres}]}
    (tmp_path / "links.json").write_text(json.dumps(links), encoding="utf-8")
    assert len(validate(load_network([tmp_path]), only={"H10"}).findings) == findings
