"""One change to a clean fabric of real size, as a rollout would bring it: its finding, and no error beside it.

Each row: what was done, the error ids per switch that must be there and no others, and one finding by id, severity,
switch and object.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fabric.configs.load import load_network
from fabric.validate.checks.base import Severity
from fabric.validate.runner import validate
from tests.recordings import SONIC

Files = dict[str, Any]
Change = Callable[[Files], object]
UP, LINK = "Ethernet192", "leaf1:Ethernet192↔spine1:Ethernet0"
P40 = "pg_lossless_400000_40m_profile"
PATHS = "L9 leaf1, L9 leaf2"


def put(device: str, table: str, key: str, **fields: str | None) -> Change:
    def change(files: Files) -> None:
        row = files[device].setdefault(table, {}).setdefault(key, {})
        for name, value in fields.items():
            if value is None:
                row.pop(name.lstrip("_"), None)
            else:
                row[name.lstrip("_")] = value

    return change


def every(device: str, table: str, **fields: str | None) -> Change:
    """The same change to each row of a table."""
    return lambda files: [put(device, table, key, **fields)(files) for key in list(files[device][table])]


def drop(device: str, table: str, key: str) -> Change:
    return lambda files: files[device][table].pop(key)


def both(*changes: Change) -> Change:
    return lambda files: [change(files) for change in changes]


def hosts(**fields: object) -> Change:
    return lambda files: files["hosts"]["default"].update(fields)


VARIANTS: list[tuple[str, Change, str, tuple[str, str, str, str]]] = [
    (
        "a cable of a length the table lacks",
        put("leaf1", "CABLE_LENGTH", "AZURE", Ethernet192="60m"),
        "H2 leaf1, H3 leaf1",
        ("H2", "error", "leaf1", UP),
    ),
    (
        "a long cable with headroom for a short one",
        put("leaf1", "CABLE_LENGTH", "AZURE", Ethernet192="300m"),
        "H1 leaf1, H3 leaf1",
        ("H1", "error", "leaf1", f"{UP}|{P40}"),
    ),
    (
        "a cable of no length",
        put("leaf1", "CABLE_LENGTH", "AZURE", Ethernet192="0m"),
        "H3 leaf1, H7 leaf1",
        ("H7", "error", "leaf1", UP),
    ),
    (
        "a spine port left at 1500",
        put("spine1", "PORT", "Ethernet0", mtu="1500"),
        "L4 spine1, T1 spine1",
        ("L4", "error", "spine1", LINK),
    ),
    (
        "RoCE's class admitted to the lossy group",
        put("leaf1", "TC_TO_PRIORITY_GROUP_MAP", "AZURE", _3="0"),
        f"M4 leaf1, M5 leaf1, {PATHS}",
        ("M4", "error", "leaf1", "Ethernet0|3"),
    ),
    (
        "RoCE's class in a lossy queue",
        put("leaf1", "TC_TO_QUEUE_MAP", "AZURE", _3="2"),
        f"M1 leaf1, M2 leaf1, M5 leaf1, N1 leaf1, {PATHS}",
        ("M5", "error", "leaf1", "Ethernet0|3"),
    ),
    (
        "pauses for the other queue",
        put("leaf1", "MAP_PFC_PRIORITY_TO_QUEUE", "AZURE", _3="4", _4="3"),
        "M5 leaf1, N1 leaf1, N2 leaf1",
        ("M5", "error", "leaf1", "Ethernet0|4"),
    ),
    (
        "pauses for the other group",
        put("leaf1", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "AZURE", _3="4"),
        "M5 leaf1",
        ("M5", "error", "leaf1", "Ethernet0|3"),
    ),
    (
        "notifications in a lossless queue",
        put("leaf1", "DSCP_TO_TC_MAP", "AZURE", _48="4"),
        "M2 leaf1, M6 leaf1",
        ("M6", "error", "leaf1", "Ethernet0"),
    ),
    (
        "no entry for RoCE",
        put("leaf1", "DSCP_TO_TC_MAP", "AZURE", _26=None),
        f"M1 leaf1, M2 leaf1, M3 leaf1, N1 leaf1, {PATHS}",
        ("M3", "error", "leaf1", "DSCP_TO_TC_MAP|AZURE"),
    ),
    (
        "another lossless class on one spine",
        put("spine1", "DSCP_TO_TC_MAP", "AZURE", _26="4"),
        "M2 spine1",
        ("M2", "error", "spine1", "DSCP 26"),
    ),
    (
        "a marking profile that is mistyped",
        put("leaf1", "QUEUE", f"{UP}|3", wred_profile="AZURE_LOSSLES"),
        "R1 leaf1",
        ("R1", "error", "leaf1", f"QUEUE|{UP}|3"),
    ),
    (
        "a scheduler that is mistyped",
        put("leaf1", "QUEUE", f"{UP}|3", scheduler="scheduler.9"),
        "R1 leaf1",
        ("R1", "error", "leaf1", f"QUEUE|{UP}|3"),
    ),
    (
        "a buffer profile that is mistyped",
        put("leaf1", "BUFFER_PG", f"{UP}|3-4", profile="pg_lossless_400000_40_x"),
        f"R1 leaf1, {PATHS}",
        ("R1", "error", "leaf1", f"BUFFER_PG|{UP}|3-4"),
    ),
    (
        "a pool that is mistyped",
        put("leaf1", "BUFFER_PROFILE", P40, pool="ingress_pool"),
        "R1 leaf1",
        ("R1", "error", "leaf1", f"BUFFER_PROFILE|{P40}"),
    ),
    (
        "a map that is mistyped",
        put("leaf1", "PORT_QOS_MAP", UP, dscp_to_tc_map="AZUR"),
        f"R1 leaf1, {PATHS}",
        ("R1", "error", "leaf1", f"PORT_QOS_MAP|{UP}"),
    ),
    (
        "a profile that drops instead of marking",
        every("spine1", "WRED_PROFILE", ecn="ecn_none"),
        "E3 spine1",
        ("E3", "error", "spine1", "Ethernet0|3"),
    ),
    (
        "one queue without marking",
        put("spine1", "QUEUE", "Ethernet0|3", wred_profile=None),
        "E4 spine1",
        ("E4", "error", "spine1", "Ethernet0|3"),
    ),
    (
        "a marking probability of nothing",
        every("spine1", "WRED_PROFILE", green_drop_probability="0"),
        "E6 spine1",
        ("E6", "error", "spine1", "WRED_PROFILE|AZURE_LOSSLESS"),
    ),
    (
        "marking from a few frames on",
        every("spine1", "WRED_PROFILE", green_min_threshold="4095"),
        "",
        ("E9", "warn", "spine1", "WRED_PROFILE|AZURE_LOSSLESS"),
    ),
    (
        "a watchdog faster than its poll",
        put("leaf1", "PFC_WD", "GLOBAL", POLL_INTERVAL="1000"),
        "W3 leaf1",
        ("W3", "error", "leaf1", "Ethernet0"),
    ),
    (
        "a watchdog that never restores",
        put("leaf1", "PFC_WD", "Ethernet0", restoration_time=None),
        "",
        ("W4", "warn", "leaf1", "Ethernet0"),
    ),
    (
        "a watchdog that forwards to a host",
        put("leaf1", "PFC_WD", "Ethernet0", action="forward"),
        "",
        ("W8", "warn", "leaf1", "Ethernet0"),
    ),
    (
        "a watchdog time YANG refuses",
        put("leaf1", "PFC_WD", "Ethernet0", detection_time="50"),
        "R5 leaf1",
        ("R5", "error", "leaf1", "PFC_WD|Ethernet0"),
    ),
    ("no watchdog at a host", drop("leaf1", "PFC_WD", "Ethernet0"), "W2 leaf1", ("W2", "error", "leaf1", "Ethernet0")),
    (
        "pools larger than the buffer",
        put("leaf1", "BUFFER_POOL", "ingress_lossless_pool", size="58000000"),
        "B1 leaf1",
        ("B1", "error", "leaf1", "BUFFER_POOL"),
    ),
    (
        "headroom without memory",
        put("leaf1", "BUFFER_PROFILE", P40, size="86016"),
        "B4 leaf1",
        ("B4", "error", "leaf1", f"BUFFER_PROFILE|{P40}"),
    ),
    (
        "a lossless profile without headroom",
        put("leaf1", "BUFFER_PROFILE", P40, xoff="0"),
        f"M4 leaf1, {PATHS}",
        ("M4", "error", "leaf1", f"{UP}|3"),
    ),
    (
        "no level to resume at",
        put("leaf1", "BUFFER_PROFILE", P40, xon="0"),
        "",
        ("B6", "warn", "leaf1", f"BUFFER_PROFILE|{P40}"),
    ),
    (
        "an alpha of nearly nothing",
        put("leaf1", "BUFFER_PROFILE", P40, dynamic_th="-8"),
        "E2 leaf1",
        ("B3", "warn", "leaf1", f"BUFFER_PROFILE|{P40}"),
    ),
    (
        "an alpha YANG refuses",
        put("leaf1", "BUFFER_PROFILE", P40, dynamic_th="8"),
        "R5 leaf1",
        ("R5", "error", "leaf1", f"BUFFER_PROFILE|{P40}"),
    ),
    (
        "two kinds of threshold",
        put("leaf1", "BUFFER_PROFILE", P40, static_th="100000"),
        "R6 leaf1",
        ("R6", "error", "leaf1", f"BUFFER_PROFILE|{P40}"),
    ),
    (
        "a lossless queue with the lossy profile",
        put("leaf1", "BUFFER_QUEUE", "Ethernet0|3-4", profile="egress_lossy_profile"),
        "B7 leaf1",
        ("B7", "error", "leaf1", "Ethernet0|3"),
    ),
    (
        "the profile of unused ports on a port in use",
        both(
            put(
                "leaf1",
                "BUFFER_PROFILE",
                "ingress_lossless_zero_profile",
                pool="ingress_lossless_pool",
                size="0",
                dynamic_th="-8",
            ),
            put("leaf1", "BUFFER_PG", "Ethernet0|3-4", profile="ingress_lossless_zero_profile"),
        ),
        "B10 leaf1, M4 leaf1",
        ("B10", "error", "leaf1", "Ethernet0|3"),
    ),
    (
        "two profiles on one group",
        put("leaf1", "BUFFER_PG", "Ethernet0|3", profile=P40),
        "R4 leaf1, H3 leaf1",
        ("R4", "error", "leaf1", "BUFFER_PG|Ethernet0|3"),
    ),
    (
        "strict priority for data",
        put("leaf1", "SCHEDULER", "scheduler.1", type="STRICT"),
        "M9 leaf1",
        ("M9", "error", "leaf1", "Ethernet0|3"),
    ),
    ("one end without FEC", put("spine1", "PORT", "Ethernet0", fec="none"), "L5 leaf1", ("L5", "error", "leaf1", LINK)),
    (
        "autonegotiation at one end",
        both(put("spine1", "PORT", "Ethernet0", autoneg="on"), put("leaf1", "PORT", UP, autoneg="off")),
        "L2 leaf1",
        ("L2", "error", "leaf1", LINK),
    ),
    ("asymmetric PFC at one end", put("spine1", "PORT", "Ethernet0", pfc_asym="on"), "", ("L6", "warn", "leaf1", LINK)),
    (
        "one end shut",
        put("spine1", "PORT", "Ethernet0", admin_status="down"),
        "L12 spine1",
        ("L12", "error", "spine1", "Ethernet0"),
    ),
    (
        "a neighbour table that is out of date",
        put("leaf1", "DEVICE_NEIGHBOR", UP, port="Ethernet8"),
        "",
        ("L7", "warn", "spine1", "Ethernet0"),
    ),
    (
        "a spine with a leaf's type",
        put("spine1", "DEVICE_METADATA", "localhost", type="ToRRouter"),
        "",
        ("D5", "warn", "leaf1", "leaf1↔spine1"),
    ),
    (
        "a neighbour with another AS number",
        put("leaf1", "BGP_NEIGHBOR", "10.1.0.1", asn="65009"),
        "P2 leaf1",
        ("P2", "error", "leaf1", "BGP_NEIGHBOR|10.1.0.1"),
    ),
    (
        "a session at one end only",
        drop("leaf1", "BGP_NEIGHBOR", "10.1.0.1"),
        "P3 spine1",
        ("P3", "error", "spine1", "BGP_NEIGHBOR|10.1.0.0"),
    ),
    (
        "a session that is shut at one end",
        put("leaf1", "BGP_NEIGHBOR", "10.1.0.1", admin_status="down"),
        "P6 leaf1",
        ("P6", "error", "leaf1", "BGP_NEIGHBOR|10.1.0.1"),
    ),
    (
        "another subnet at one end",
        both(drop("leaf1", "INTERFACE", f"{UP}|10.1.0.0/31"), put("leaf1", "INTERFACE", f"{UP}|10.9.9.0/31")),
        "P1 leaf1",
        ("P1", "error", "leaf1", LINK),
    ),
    (
        "two static routes that point at each other",
        both(
            put("leaf1", "STATIC_ROUTE", "default|10.0.0.2/32", nexthop="10.1.0.1"),
            put("spine1", "STATIC_ROUTE", "default|10.0.0.2/32", ifname="Ethernet0"),
        ),
        "D1 leaf1, D9 leaf1",
        ("D9", "error", "leaf1", "10.0.0.2/32"),
    ),
    (
        "a hash without the source port",
        put("leaf1", "SWITCH_HASH", "GLOBAL", ecmp_hash="SRC_IP,DST_IP"),
        "",
        ("D6", "warn", "leaf1", "SWITCH_HASH|GLOBAL"),
    ),
    (
        "a third lossless priority without a group",
        put("leaf1", "PORT_QOS_MAP", "Ethernet0", pfc_enable="2,3,4", pfcwd_sw_enable="2,3,4"),
        "B7 leaf1, M4 leaf1, M5 leaf1",
        ("B9", "warn", "leaf1", "Ethernet0"),
    ),
    (
        "no PFC at a host",
        put("leaf1", "PORT_QOS_MAP", "Ethernet0", pfc_enable="", pfcwd_sw_enable=""),
        "L1 leaf1, N1 leaf1, M7 leaf1",
        ("L1", "error", "leaf1", "Ethernet0"),
    ),
    (
        "a profile of another speed",
        both(
            put(
                "leaf1",
                "BUFFER_PROFILE",
                "pg_lossless_100000_40m_profile",
                pool="ingress_lossless_pool",
                xon="19456",
                xoff="44032",
                size="63488",
                dynamic_th="0",
            ),
            put("leaf1", "BUFFER_PG", f"{UP}|3-4", profile="pg_lossless_100000_40m_profile"),
        ),
        "H3 leaf1",
        ("H3", "error", "leaf1", f"{UP}|3"),
    ),
    ("a port without speed", put("leaf1", "PORT", UP, speed=None), "R7 leaf1", ("R7", "error", "leaf1", UP)),
    (
        "one reference in the old syntax",
        put("leaf1", "BUFFER_PG", f"{UP}|3-4", profile=f"[BUFFER_PROFILE|{P40}]"),
        "",
        ("R3", "warn", "leaf1", "BUFFER_PG"),
    ),
    (
        "a port that bleaches",
        both(put("leaf1", "TC_TO_DSCP_MAP", "R", _3="0"), put("leaf1", "PORT_QOS_MAP", UP, tc_to_dscp_map="R")),
        "M12 leaf1",
        ("M12", "error", "leaf1", UP),
    ),
    (
        "a weight of one",
        both(
            put("leaf1", "SCHEDULER", "low", type="DWRR", weight="1"), put("leaf1", "QUEUE", f"{UP}|3", scheduler="low")
        ),
        "",
        ("M11", "warn", "leaf1", f"{UP}|3"),
    ),
    (
        "a slower uplink",
        both(put("leaf1", "PORT", "Ethernet216", speed="200000"), put("spine2", "PORT", "Ethernet8", speed="200000")),
        "H3 leaf1, H3 spine2",
        ("D7", "warn", "leaf1", "uplinks"),
    ),
    (
        "an egress limit below the pause",
        put("leaf1", "BUFFER_PROFILE", "egress_lossless_profile", static_th="2000000", dynamic_th=None),
        "B7 leaf1",
        ("B7", "error", "leaf1", "Ethernet0|3"),
    ),
    (
        "full marking above what the queue may hold",
        put("leaf1", "WRED_PROFILE", "AZURE_LOSSLESS", green_max_threshold="70000000"),
        "",
        ("E8", "warn", "leaf1", "Ethernet0|3"),
    ),
    (
        "thresholds of yellow swapped",
        put("leaf1", "WRED_PROFILE", "AZURE_LOSSLESS", yellow_min_threshold="9000000"),
        "E1 leaf1",
        ("E1", "error", "leaf1", "WRED_PROFILE|AZURE_LOSSLESS"),
    ),
    (
        "another map for the whole switch",
        both(
            lambda files: files["leaf1"]["DSCP_TO_TC_MAP"].update(
                OTHER={**files["leaf1"]["DSCP_TO_TC_MAP"]["AZURE"], "26": "1"}
            ),
            put("leaf1", "PORT_QOS_MAP", "global", dscp_to_tc_map="OTHER"),
        ),
        "",
        ("M13", "warn", "leaf1", "Ethernet0"),
    ),
    (
        "eight code points in RoCE's class",
        both(
            *(
                put(name, "DSCP_TO_TC_MAP", "AZURE", **{f"_{n}": "3" for n in range(24, 32)})
                for name in ("leaf1", "leaf2", "spine1", "spine2")
            )
        ),
        "",
        ("M8", "warn", "spine2", "DSCP_TO_TC_MAP|AZURE"),
    ),
    (
        "a watchdog that only reports",
        put("spine1", "PFC_WD", "Ethernet0", action="alert"),
        "",
        ("W10", "warn", "spine1", "Ethernet0"),
    ),
    (
        "a watchdog slower than the hosts' patience",
        put("leaf1", "PFC_WD", "Ethernet0", detection_time="5000"),
        "",
        ("W6", "warn", "leaf1", "Ethernet0"),
    ),
    (
        "a watchdog for one of two priorities",
        put("leaf1", "PORT_QOS_MAP", "Ethernet0", pfcwd_sw_enable="3"),
        "W1 leaf1",
        ("W1", "error", "leaf1", "Ethernet0"),
    ),
    (
        "a lossless queue without a scheduler",
        put("leaf1", "QUEUE", "Ethernet0|3", scheduler=None),
        "",
        ("M9", "warn", "leaf1", "Ethernet0|3"),
    ),
    (
        "a routed VLAN of 1500",
        both(put("leaf1", "VLAN", "Vlan100", mtu="1500"), put("leaf1", "VLAN_INTERFACE", "Vlan100|10.100.0.1/24")),
        "",
        ("T6", "warn", "leaf1", "Vlan100"),
    ),
    (
        "addresses of hosts that are forgotten too soon",
        put("leaf1", "SWITCH", "switch", fdb_aging_time="600"),
        "",
        ("D3", "warn", "leaf1", "SWITCH|switch"),
    ),
    (
        "a VLAN that is gone",
        drop("leaf1", "VLAN", "Vlan100"),
        "R1 leaf1",
        ("R1", "error", "leaf1", "VLAN_MEMBER|Vlan100|Ethernet0"),
    ),
    (
        "a profile without its pool",
        put("leaf1", "BUFFER_PROFILE", P40, pool=None),
        "R9 leaf1",
        ("R9", "error", "leaf1", f"BUFFER_PROFILE|{P40}"),
    ),
    (
        "a lane in two ports",
        put("leaf1", "PORT", "Ethernet8", lanes="7,8,9,10,11,12,13,14"),
        "R9 leaf1",
        ("R9", "error", "leaf1", "PORT|Ethernet8"),
    ),
    (
        "one host of another congestion control",
        lambda files: files["hosts"].update(host1={"cc": "none"}),
        "",
        ("N6", "warn", "host1", "DSCP 26"),
    ),
    (
        "hosts whose reaction point is another priority's",
        hosts(ecn_rp_prio=0),
        "N2 leaf1, N2 leaf2",
        ("N2", "error", "leaf1", "Ethernet0"),
    ),
    ("hosts with small receive buffers", hosts(rx_buffer_bytes=100000), "", ("N5", "warn", "leaf1", "Ethernet0")),
    (
        "hosts with larger frames than the fabric",
        hosts(mtu=9300),
        "L4 leaf1, L4 leaf2, T1 leaf1, T1 leaf2, T1 spine1, T1 spine2",
        ("L4", "error", "leaf2", "Ethernet0"),
    ),
    ("hosts that trust 802.1p", hosts(trust="pcp"), "N1 leaf1, N1 leaf2", ("N1", "error", "leaf1", "Ethernet0")),
    (
        "hosts with PFC on another priority",
        hosts(pfc_enable="4"),
        "N1 leaf1, N1 leaf2",
        ("N1", "error", "leaf2", "Ethernet24"),
    ),
    (
        "hosts whose notifications are bulk",
        hosts(cnp_dscp=0),
        "N3 leaf1, N3 leaf2",
        ("N3", "error", "leaf1", "Ethernet0"),
    ),
]


@pytest.mark.parametrize(("change", "errors", "must"), [row[1:] for row in VARIANTS], ids=[row[0] for row in VARIANTS])
def test_a_variant_has_its_finding_and_no_other_error(
    change: Change, errors: str, must: tuple[str, str, str, str], tmp_path: Path
) -> None:
    files: Files = {
        path.stem: json.loads(path.read_text(encoding="utf-8")) for path in (SONIC / "fabric_ok").glob("*.json")
    }
    before = copy.deepcopy(files)
    change(files)
    assert files != before
    for name, content in files.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content, indent=1), encoding="utf-8")
    found = validate(load_network([tmp_path])).findings
    assert {f"{it.check.id} {it.device}" for it in found if it.severity is Severity.ERROR} == {
        word for word in errors.split(", ") if word
    }
    assert must in {(it.check.id, it.severity.word, it.device, it.object) for it in found}
    assert all(it.evidence for it in found if (it.check.id, it.device) == (must[0], must[2]))
