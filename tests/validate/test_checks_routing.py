"""Checks D: one change of a small clean fabric at a time; its check reports it, about its object."""

from __future__ import annotations

import json

import pytest
from fabrics import Judge, Tables, small_fabric, switch
from finding_cases import Case, Change, I, W, assert_found, one_case, put

from fabric.validate.checks.base import Severity


def hashing(leaf: str, spine: str) -> Change:
    """Algorithms of leaf1 and spine1, which both have a choice towards leaf2."""
    changes = [
        put("leaf1", "SWITCH_HASH", "GLOBAL", ecmp_hash_algorithm=leaf),
        put("spine1", "SWITCH_HASH", "GLOBAL", ecmp_hash_algorithm=spine),
    ]
    for number in (1, 2):
        port = f"Ethernet{40 + number}"
        changes += [
            put(f"leaf{number}", "DEVICE_NEIGHBOR", "Ethernet8", name="spine1", port=port),
            put("spine1", "PORT", port, speed="400000", admin_status="up"),
        ]

    def change(fabric: dict[str, Tables]) -> None:
        for one in changes:
            one(fabric)

    return change


def _third_leaf() -> dict[str, Tables]:
    """leaf1 has lost spine2, leaf3 has lost spine1: the shortest way between them is over leaf2."""
    base = small_fabric()
    text = json.dumps(base["leaf2"]).replace("leaf2", "leaf3").replace("host3", "host5").replace("host4", "host6")
    leaf3: Tables = json.loads(text)
    leaf3["DEVICE_NEIGHBOR"]["Ethernet24"]["port"] = "Ethernet32"
    leaf3["DEVICE_NEIGHBOR"]["Ethernet16"]["port"] = "Ethernet32"
    for spine in ("spine1", "spine2"):
        for table in ("PORT", "PORT_QOS_MAP", "PFC_WD"):
            base[spine][table]["Ethernet32"] = dict(base[spine][table]["Ethernet16"])
        base[spine]["DEVICE_NEIGHBOR"]["Ethernet32"] = {"name": "leaf3", "port": f"Ethernet{8 + 8 * int(spine[-1])}"}
    base["leaf1"]["PORT"]["Ethernet24"]["admin_status"] = "down"
    leaf3["PORT"]["Ethernet16"]["admin_status"] = "down"
    return {**base, "leaf3": leaf3}


CASES: list[Case] = [
    (
        "D8",
        I,
        "leaf1",
        "BUFFER_PROFILE|pg_lossless_400000_5m_profile",
        put("leaf1", "BUFFER_POOL", "ingress_lossless_pool", size="400000"),
    ),
    (
        "D2",
        W,
        "leaf1",
        "BGP_NEIGHBOR",
        lambda f: (
            put("leaf1", "BGP_NEIGHBOR", "10.0.0.1", name="spine1", asn="1")(f),
            put("leaf1", "BGP_NEIGHBOR", "10.0.0.3", name="spine2", asn="2")(f),
        ),
    ),
    ("D4", W, "leaf1", "uplinks", put("leaf1", "PORT", "Ethernet24", admin_status="down")),
    ("D5", I, "leaf1", "leaf1↔spine1", put("spine1", "DEVICE_METADATA", "localhost", type="ToRRouter")),
    (
        "D5",
        W,
        "leaf1",
        "leaf1↔spine1",
        lambda f: (
            put("spine1", "DEVICE_METADATA", "localhost", type="ToRRouter")(f),
            *(
                change(f)
                for leaf, port in (("leaf1", "Ethernet8"), ("leaf2", "Ethernet8"))
                for change in (
                    put(leaf, "DEVICE_NEIGHBOR", port, name="spine1", port=f"Ethernet{40 + int(leaf[-1])}"),
                    put("spine1", "PORT", f"Ethernet{40 + int(leaf[-1])}", speed="400000", admin_status="up"),
                )
            ),
        ),
    ),
    *(
        ("D5", severity, "leaf1", "leaf1↔spine1", hashing(algorithm, algorithm))
        for algorithm, severity in (("XOR", W), ("CRC", I), ("CRC_CCITT", I))
    ),
    (
        "D3",
        W,
        "leaf1",
        "SWITCH|switch",
        lambda f: (
            put("leaf1", "VLAN", "Vlan100", vlanid="100")(f),
            put("leaf1", "VLAN_MEMBER", "Vlan100|Ethernet0", tagging_mode="untagged")(f),
            put("leaf1", "SWITCH", "switch", fdb_aging_time="600")(f),
        ),
    ),
    ("D6", W, "leaf1", "SWITCH_HASH|GLOBAL", put("leaf1", "SWITCH_HASH", "GLOBAL", ecmp_hash="SRC_IP,DST_IP")),
    ("D7", W, "leaf1", "uplinks", put("leaf1", "PORT", "Ethernet24", speed="200000")),
    ("D11", W, "leaf2", "leaf3", lambda f: f.update(_third_leaf())),
]


@one_case(CASES)
def test_one_change_is_found_by_its_check(
    id_: str, severity: Severity, device: str, obj: str, change: Change, judge: Judge
) -> None:
    assert_found(judge, id_, severity, device, obj, change)


def test_a_ring_of_switches_with_hosts_may_deadlock(judge: Judge) -> None:
    ring = {
        f"s{n}": switch(
            f"s{n}",
            str(65001 + n),
            "ToRRouter",
            {
                "Ethernet0": (f"host{n}", "eth0"),
                "Ethernet8": (f"s{(n + 1) % 5}", "Ethernet16"),
                "Ethernet16": (f"s{(n - 1) % 5}", "Ethernet8"),
            },
        )
        for n in range(5)
    }
    found = judge(ring, only={"D1"})
    assert len(found) == 2  # one cycle each way round
    assert all(it.text.count("→") == 4 for it in found)


@pytest.mark.parametrize(("leaf", "spine"), [("RANDOM", "RANDOM"), ("CRC", "CRC_CCITT"), ("CRC_32LO", "XOR")])
def test_a_hash_that_is_not_linear_or_another_one_per_tier_is_no_finding(leaf: str, spine: str, judge: Judge) -> None:
    fabric = small_fabric()
    hashing(leaf, spine)(fabric)
    assert not judge(fabric, only={"D5"})
