"""Checks R, B and H: one change of a small clean fabric at a time; its check reports it, about its object."""

from __future__ import annotations

from fabrics import Judge, small_fabric
from finding_cases import LOSSLESS, Case, Change, E, I, W, assert_found, drop, one_case, put

from fabric.validate.checks.base import Severity

CASES: list[Case] = [
    ("R1", E, "leaf1", "QUEUE|Ethernet0|3", put("leaf1", "QUEUE", "Ethernet0|3", wred_profile="V")),
    ("R2", I, "leaf1", "SCHEDULER|spare", put("leaf1", "SCHEDULER", "spare", type="STRICT")),
    ("R3", W, "leaf1", "BUFFER_PG", put("leaf1", "BUFFER_PG", "Ethernet16|3", profile=f"[BUFFER_PROFILE|{LOSSLESS}]")),
    (
        "R4",
        E,
        "leaf1",
        "BUFFER_PG|Ethernet16|3-4",
        put("leaf1", "BUFFER_PG", "Ethernet16|3-4", profile="pg_lossless_400000_5m_profile"),
    ),
    ("R5", E, "leaf1", f"BUFFER_PROFILE|{LOSSLESS}", put("leaf1", "BUFFER_PROFILE", LOSSLESS, dynamic_th="8")),
    ("R6", E, "leaf1", f"BUFFER_PROFILE|{LOSSLESS}", put("leaf1", "BUFFER_PROFILE", LOSSLESS, static_th="9")),
    ("R7", E, "leaf1", "Ethernet0", put("leaf1", "PORT", "Ethernet0", speed=None)),
    ("R9", E, "leaf1", "PFC_WD|Ethernet0", put("leaf1", "PFC_WD", "Ethernet0", detection_time=None)),
    ("B1", E, "leaf1", "BUFFER_POOL", put("leaf1", "BUFFER_POOL", "ingress_lossless_pool", size="60800000")),
    (
        "B2",
        W,
        "leaf1",
        "BUFFER_POOL|ingress_lossless_pool",
        put("leaf1", "BUFFER_POOL", "ingress_lossless_pool", xoff="20000"),
    ),
    ("B3", W, "leaf1", f"BUFFER_PROFILE|{LOSSLESS}", put("leaf1", "BUFFER_PROFILE", LOSSLESS, dynamic_th="5")),
    ("B4", E, "leaf1", f"BUFFER_PROFILE|{LOSSLESS}", put("leaf1", "BUFFER_PROFILE", LOSSLESS, size="90000")),
    ("B5", E, "leaf1", f"BUFFER_PROFILE|{LOSSLESS}", put("leaf1", "BUFFER_PROFILE", LOSSLESS, size="1248")),
    ("B6", W, "leaf1", f"BUFFER_PROFILE|{LOSSLESS}", put("leaf1", "BUFFER_PROFILE", LOSSLESS, xon="0")),
    (
        "B7",
        E,
        "leaf1",
        "Ethernet0|3",
        put("leaf1", "BUFFER_PROFILE", "egress_lossless_profile", static_th="1000000", dynamic_th=None),
    ),
    ("B9", W, "leaf1", "Ethernet0", put("leaf1", "PORT_QOS_MAP", "Ethernet0", pfc_enable="2,3,4")),
    (
        "B7",
        E,
        "leaf1",
        "Ethernet0|3",
        lambda f: (
            put(
                "leaf1", "BUFFER_PROFILE", "egress_lossy_profile", pool="egress_lossless_pool", size="0", dynamic_th="3"
            )(f),
            put("leaf1", "BUFFER_QUEUE", "Ethernet0|3", profile="egress_lossy_profile")(f),
        ),
    ),
    (
        "B8",
        W,
        "leaf1",
        "BUFFER_PROFILE|lossy",
        lambda f: (
            put("leaf1", "BUFFER_PROFILE", "lossy", pool="ingress_lossless_pool", size="0", dynamic_th="3")(f),
            put("leaf1", "BUFFER_PG", "Ethernet0|0", profile="lossy")(f),
        ),
    ),
    ("B9", W, "leaf1", "BUFFER_POOL", put("leaf1", "BUFFER_PROFILE", LOSSLESS, xoff="20000000", size="20037888")),
    (
        "B10",
        E,
        "leaf1",
        "Ethernet0|3",
        lambda f: (
            put("leaf1", "BUFFER_PROFILE", "zero_profile", pool="ingress_lossless_pool", size="0", dynamic_th="-8")(f),
            put("leaf1", "BUFFER_PG", "Ethernet0|3", profile="zero_profile")(f),
        ),
    ),
    (
        "B11",
        W,
        "leaf1",
        "Ethernet0",
        put("leaf1", "DEFAULT_LOSSLESS_BUFFER_PARAMETER", "AZURE", default_dynamic_th="0", max_headroom_size="100000"),
    ),
    (
        "H5",
        E,
        "leaf1",
        "Ethernet16",
        lambda f: (
            put("leaf1", "CABLE_LENGTH", "AZURE", Ethernet16="5m")(f),
            put("leaf1", "BUFFER_PG", "Ethernet16|3", profile="pg_lossless_400000_5m_profile")(f),
        ),
    ),
    ("H9", I, "leaf1", f"Ethernet16|{LOSSLESS}", put("leaf1", "BUFFER_PROFILE", LOSSLESS, xoff="97280")),
    ("H1", E, "leaf1", f"Ethernet16|{LOSSLESS}", put("leaf1", "BUFFER_PROFILE", LOSSLESS, xoff="20000")),
    (
        "H2",
        E,
        "leaf1",
        "Ethernet16",
        lambda f: (
            put("leaf1", "CABLE_LENGTH", "AZURE", Ethernet16="60m")(f),
            drop("leaf1", "BUFFER_PG", "Ethernet16|3")(f),
        ),
    ),
    ("H3", E, "leaf1", "Ethernet16|3", put("leaf1", "CABLE_LENGTH", "AZURE", Ethernet16="300m")),
    ("H4", W, "leaf1", f"BUFFER_PROFILE|{LOSSLESS}", put("leaf1", "BUFFER_PROFILE", LOSSLESS, xon="18432")),
    ("H6", W, "leaf1", "Ethernet16", put("leaf1", "CABLE_LENGTH", "AZURE", Ethernet16="5m")),
    ("H7", E, "leaf1", "Ethernet16", put("leaf1", "CABLE_LENGTH", "AZURE", Ethernet16="0m")),
    (
        "B7",
        W,
        "leaf1",
        "Ethernet0|3",
        lambda f: (
            drop("leaf1", "BUFFER_QUEUE", "Ethernet0|3")(f),
            put("leaf1", "BUFFER_QUEUE", "Ethernet0|0", profile="egress_lossless_profile")(f),
        ),
    ),
    ("H7", I, "leaf1", "Ethernet16", put("leaf1", "CABLE_LENGTH", "AZURE", Ethernet16=None)),
    ("B12", E, "leaf1", "Ethernet0|3", put("leaf1", "BUFFER_PG", "Ethernet0|3", profile="egress_lossless_profile")),
    ("B12", E, "leaf1", "Ethernet16|3", put("leaf1", "BUFFER_QUEUE", "Ethernet16|3", profile=LOSSLESS)),
    (
        "B13",
        E,
        "leaf1",
        f"BUFFER_PROFILE|{LOSSLESS}",
        lambda f: (
            put("leaf1", "BUFFER_POOL", "ingress_lossy_pool", size="9000000", type="ingress", mode="dynamic")(f),
            put("leaf1", "BUFFER_PROFILE", LOSSLESS, pool="ingress_lossy_pool")(f),
        ),
    ),
    (
        "B14",
        W,
        "leaf1",
        "Ethernet0",
        lambda f: (
            put("leaf1", "BUFFER_POOL", "ingress_lossy_pool", size="9000000", type="ingress", mode="dynamic")(f),
            put("leaf1", "BUFFER_PROFILE", "lossy", pool="ingress_lossy_pool", size="0", dynamic_th="3")(f),
            put("leaf1", "BUFFER_PORT_INGRESS_PROFILE_LIST", "Ethernet0", profile_list="lossy")(f),
        ),
    ),
    ("B15", W, "leaf1", f"BUFFER_PROFILE|{LOSSLESS}", put("leaf1", "BUFFER_PROFILE", LOSSLESS, dynamic_th="1")),
    (
        "B1",
        E,
        "leaf1",
        "BUFFER_POOL",
        lambda f: (
            put("leaf1", "DEVICE_METADATA", "localhost", hwsku="DellEMC-Z9332f-O32")(f),
            put("leaf1", "BUFFER_POOL", "ingress_lossless_pool", size="70000000")(f),
        ),
    ),
]


@one_case(CASES)
def test_one_change_is_found_by_its_check(
    id_: str, severity: Severity, device: str, obj: str, change: Change, judge: Judge
) -> None:
    assert_found(judge, id_, severity, device, obj, change)


def test_a_static_threshold_of_0_is_no_limit(judge: Judge) -> None:
    fabric = small_fabric()
    for profile in fabric["leaf1"]["BUFFER_PROFILE"].values():
        if "xoff" in profile:
            del profile["dynamic_th"]
            profile["static_th"] = "0"
    assert judge(fabric, only={"E2", "E11", "B7"}) == []


def test_a_static_threshold_above_the_pool_ends_at_the_pool(judge: Judge) -> None:
    fabric = small_fabric()
    for profile in fabric["leaf1"]["BUFFER_PROFILE"].values():
        if "xoff" in profile:
            del profile["dynamic_th"]
            profile["static_th"] = "60000000"
    put("leaf1", "WRED_PROFILE", "W", green_min_threshold="30000000", green_max_threshold="40000000")(fabric)
    assert "T(1) = 26451968 B" in judge(fabric, only={"E2"})[0].text


def test_a_switch_whose_table_is_not_known_says_that_no_row_was_compared(judge: Judge) -> None:
    fabric = small_fabric()
    put("leaf1", "DEVICE_METADATA", "localhost", hwsku="Nobody-9000")(fabric)
    found = judge(fabric, only={"H2"})
    assert [(it.device, it.severity) for it in found] == [("leaf1", I)]
    assert "not against a vendor's row" in found[0].text


def test_a_traffic_pattern_smaller_than_roce_packets_is_named(judge: Judge) -> None:
    fabric = small_fabric()
    put("leaf1", "DEVICE_METADATA", "localhost", buffer_model="dynamic")(fabric)
    put("leaf1", "LOSSLESS_TRAFFIC_PATTERN", "AZURE", mtu="1024", small_packet_percentage="50")(fabric)
    assert [it.device for it in judge(fabric, only={"H8"})] == ["leaf1"]
