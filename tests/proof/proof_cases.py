"""One broken fabric a check, and what its proof finds."""

from __future__ import annotations

from typing import Final

from broken_fabrics import LOSSLESS, Broken, every, nothing, put, ring, with_lines, with_tables

from tests.mistakes.mistake import both, replaced
from tests.mistakes.reach_edits import static
from tests.validate.test_paths import healthy, route

_PREFIX: Final = "10.2.0.0/24"
_DOG: Final = {"action": "drop", "detection_time": "200"}
_LINK_300_M: Final = {
    "links": [
        {"a": ["leaf1", "Ethernet16"], "b": ["spine1", "Ethernet8"], "length_m": 300},
        *(
            {"a": [f"leaf{leaf}", f"Ethernet{8 + 8 * spine}"], "b": [f"spine{spine}", f"Ethernet{8 * leaf}"]}
            for leaf, spine in ((1, 2), (2, 1), (2, 2))
        ),
        *(
            {"a": [f"leaf{leaf}", f"Ethernet{8 * slot}"], "b": [f"host{2 * leaf - 1 + slot}", "eth0"]}
            for leaf in (1, 2)
            for slot in (0, 1)
        ),
    ]
}


def _profile(name: str = LOSSLESS, **values: str | None):  # type: ignore[no-untyped-def]  # noqa: ANN202
    return put("leaf1", "BUFFER_PROFILE", name, **values)


def _no_group(fabric):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    fabric["leaf1"]["BUFFER_PG"].pop("Ethernet16|3")


_UNSTOPPED: Final = every(
    put("leaf1", "DSCP_TO_TC_MAP", "M", _10="1"), put("leaf1", "TC_TO_PRIORITY_GROUP_MAP", "M", _1="3")
)
_SHAPED: Final = put("leaf1", "SCHEDULER", "data", pir="1000000000", pbs="8192", meter_type="bytes")
_ONE_UPLINK: Final = replaced("   description spine2\n", "   description spine2\n   shutdown\n")
_OTHER_SUBNET: Final = replaced("ip address 10.1.0.0/31", "ip address 10.9.0.0/31")
_OTHER_AS: Final = replaced("neighbor 10.1.0.1 remote-as 65000", "neighbor 10.1.0.1 remote-as 65009")


def _no_neighbour(text: str) -> str:
    """Without the session to leaf1."""
    return "".join(line for line in text.splitlines(keepends=True) if "neighbor 10.1.0.0 " not in line)


CASES: Final = (
    Broken("H1", "xoff 20,000 B, 400G and 40 m", _profile(xoff="20000")),
    Broken(
        "H2",
        "no row for 60 m, no group",
        every(put("leaf1", "CABLE_LENGTH", "AZURE", Ethernet16="60m"), _no_group),
        device="leaf1",
        object="Ethernet16",
    ),
    Broken(
        "H2",
        "no row for 60 m, the group of 40 m is saved",
        put("leaf1", "CABLE_LENGTH", "AZURE", Ethernet16="60m"),
        device="leaf1",
        object="Ethernet16",
    ),
    Broken("H3", "300 m with the profile of 40 m", put("leaf1", "CABLE_LENGTH", "AZURE", Ethernet16="300m")),
    Broken("H4", "xoff 30,000 B instead of the row's", _profile(xoff="30000")),
    Broken("H5", "300 m in the links file, 40 m at the ports", nothing, links=_LINK_300_M),
    Broken(
        "H6",
        "a rack's cable at both ends, length unknown",
        every(
            put("leaf1", "CABLE_LENGTH", "AZURE", Ethernet16="5m"),
            put("spine1", "CABLE_LENGTH", "AZURE", Ethernet8="5m"),
        ),
        result="not proven",
    ),
    Broken(
        "H7",
        "0 m of cable, no group",
        every(put("leaf1", "CABLE_LENGTH", "AZURE", Ethernet16="0m"), _no_group),
        device="leaf1",
        object="Ethernet16",
    ),
    Broken(
        "H7",
        "0 m of cable, the saved row still makes the group",
        put("leaf1", "CABLE_LENGTH", "AZURE", Ethernet16="0m"),
        "not proven",
        "leaf1",
        "Ethernet16",
    ),
    Broken(
        "H8",
        "traffic pattern of 1,024 B",
        every(
            put("leaf1", "DEVICE_METADATA", "localhost", buffer_model="dynamic"),
            put("leaf1", "LOSSLESS_TRAFFIC_PATTERN", "AZURE", mtu="1024", small_packet_percentage="50"),
            *(put("leaf1", "BUFFER_PG", f"Ethernet{8 * n}|3", profile="NULL") for n in range(4)),
        ),
        "refuted",
    ),
    Broken("B2", "shared headroom of 20,000 B", put("leaf1", "BUFFER_POOL", "ingress_lossless_pool", xoff="20000")),
    Broken("B4", "size 80,000 B for xon and xoff of 115,712 B", _profile(size="80000")),
    Broken("B5", "size 1,248 B, no shared headroom", _profile(size="1248")),
    Broken("B6", "xon and xon_offset 0", _profile(xon="0")),
    Broken("B7", "egress queue of 1 MB", _profile("egress_lossless_profile", static_th="1000000", dynamic_th=None)),
    Broken(
        "B7",
        "a lossy egress profile, alpha 8 of 60 MB",
        every(
            _profile("egress_lossy_profile", pool="egress_lossless_pool", size="0", dynamic_th="3"),
            put("leaf1", "BUFFER_QUEUE", "Ethernet0|3", profile="egress_lossy_profile"),
        ),
        "refuted",
    ),
    Broken(
        "B8",
        "a lossy alpha of 8 in the lossless pool",
        every(
            _profile("lossy", pool="ingress_lossless_pool", size="0", dynamic_th="3"),
            put("leaf1", "BUFFER_PG", "Ethernet0|0", profile="lossy"),
        ),
    ),
    Broken(
        "B10",
        "the profile of unused ports",
        every(
            _profile("zero_profile", pool="ingress_lossless_pool", size="0", dynamic_th="-8"),
            put("leaf1", "BUFFER_PG", "Ethernet0|3", profile="zero_profile"),
        ),
    ),
    Broken(
        "B11",
        "a port's headroom above its limit",
        put("leaf1", "DEFAULT_LOSSLESS_BUFFER_PARAMETER", "AZURE", default_dynamic_th="0", max_headroom_size="100000"),
    ),
    Broken(
        "B16",
        "a lossless pool of a tenth of the other switches'",
        put("leaf1", "BUFFER_POOL", "ingress_lossless_pool", size="2645196"),
    ),
    Broken("M1", "DSCP 26 in class 0", put("leaf1", "DSCP_TO_TC_MAP", "M", _26="0"), device="leaf1"),
    Broken("M2", "DSCP 26 in class 2 at one spine", put("spine1", "DSCP_TO_TC_MAP", "M", _26="2"), object="DSCP 26"),
    Broken("M3", "no entry for DSCP 26", put("leaf1", "DSCP_TO_TC_MAP", "M", _26=None), device="leaf1"),
    Broken("M4", "class 3 in group 0", put("leaf1", "TC_TO_PRIORITY_GROUP_MAP", "M", _3="0"), device="leaf1"),
    Broken(
        "M5",
        "priority 3 stops queue 6",
        every(
            put("leaf1", "MAP_PFC_PRIORITY_TO_QUEUE", "P", _3="6"),
            put("leaf1", "PORT_QOS_MAP", "Ethernet0", pfc_to_queue_map="P"),
        ),
    ),
    Broken(
        "M8",
        "DSCP 24, 25, 27 and 28 in RoCE's class",
        put("leaf1", "DSCP_TO_TC_MAP", "M", _24="3", _25="3", _27="3", _28="3"),
    ),
    Broken("M16", "class 1 in RoCE's group", _UNSTOPPED, device="leaf1"),
    Broken("M9", "RoCE's queue strict", put("leaf1", "QUEUE", "Ethernet0|3", scheduler="cnp")),
    Broken(
        "M11",
        "weight 1 beside 50",
        every(
            put("leaf1", "SCHEDULER", "low", type="DWRR", weight="1"),
            put("leaf1", "QUEUE", "Ethernet0|3", scheduler="low"),
        ),
    ),
    Broken("M15", "RoCE's queues held to 8 Gb/s", _SHAPED, device="leaf1", object="Ethernet0|3"),
    Broken(
        "M15",
        "the port held to 300 Gb/s of 400",
        every(
            put("leaf1", "SCHEDULER", "slow", type="DWRR", pir="37500000000", meter_type="bytes"),
            put("leaf1", "PORT_QOS_MAP", "Ethernet0", scheduler="slow"),
        ),
        device="leaf1",
        object="Ethernet0",
    ),
    Broken(
        "M12",
        "DSCP rewritten to 0 towards a spine",
        every(
            put("leaf1", "TC_TO_DSCP_MAP", "R", _3="0"), put("leaf1", "PORT_QOS_MAP", "Ethernet16", tc_to_dscp_map="R")
        ),
    ),
    Broken(
        "M12",
        "DSCP rewritten to 0 towards a host",
        every(
            put("leaf1", "TC_TO_DSCP_MAP", "R", _3="0"), put("leaf1", "PORT_QOS_MAP", "Ethernet0", tc_to_dscp_map="R")
        ),
        "not proven",
    ),
    Broken(
        "E2",
        "Kmin 14 MB above T(1)",
        put("leaf1", "WRED_PROFILE", "W", green_min_threshold="14000000", green_max_threshold="20000000"),
    ),
    Broken("E3", "ecn_none", put("leaf1", "WRED_PROFILE", "W", ecn="ecn_none")),
    Broken("E4", "no marking profile", put("leaf1", "QUEUE", "Ethernet0|3", wred_profile=None)),
    Broken("E6", "probability 0", put("leaf1", "WRED_PROFILE", "W", green_drop_probability="0")),
    Broken(
        "E11",
        "Kmin 0.2 MB below T(1)",
        put("leaf1", "WRED_PROFILE", "W", green_min_threshold="13000000", green_max_threshold="13100000"),
    ),
    Broken("E10", "hosts without ECN, WRED drops", nothing, hosts={"cc": "none"}, device="leaf1"),
    Broken("W1", "priority 3 not watched", put("leaf1", "PORT_QOS_MAP", "Ethernet0", pfcwd_sw_enable="")),
    Broken("W2", "no watchdog", lambda f: f["leaf1"]["PFC_WD"].pop("Ethernet0")),
    Broken("W4", "never restored", put("leaf1", "PFC_WD", "Ethernet0", restoration_time=None)),
    Broken("W5", "1G port, 200 ms", put("leaf1", "PORT", "Ethernet0", speed="1000"), "refuted", "leaf1", "Ethernet0"),
    Broken(
        "W6",
        "detection 600 ms, hosts give up after 470 ms",
        put("leaf1", "PFC_WD", "Ethernet0", detection_time="600"),
        hosts={"rdma_timeout": 14, "rdma_retries": 7},
    ),
    Broken("W8", "action forward at a host's port", put("leaf1", "PFC_WD", "Ethernet0", action="forward")),
    Broken("W7", "action alert among drop", put("leaf1", "PFC_WD", "Ethernet0", action="alert")),
    Broken("W10", "action alert", put("leaf1", "PFC_WD", "Ethernet0", action="alert")),
    Broken("W11", "BIG_RED_SWITCH on", put("leaf1", "PFC_WD", "GLOBAL", BIG_RED_SWITCH="enable")),
    Broken("L1", "PFC off at a spine", put("spine1", "PORT_QOS_MAP", "Ethernet8", pfc_enable=""), device="spine1"),
    Broken("L2", "200G against 400G", put("spine1", "PORT", "Ethernet8", speed="200000")),
    Broken("L4", "MTU 1500 at a host's port", put("leaf1", "PORT", "Ethernet0", mtu="1500"), device="leaf1"),
    Broken(
        "L4",
        "MTU 4200 at a host's port: RoCE fits, the hosts' packets do not",
        put("leaf1", "PORT", "Ethernet0", mtu="4200"),
        device="leaf1",
    ),
    Broken("L5", "FEC at one end", put("spine1", "PORT", "Ethernet8", fec="none")),
    Broken("L6", "asymmetric PFC", put("spine1", "PORT", "Ethernet8", pfc_asym="on"), "not proven"),
    Broken("L10", "the hosts have link-wide pause", nothing, hosts={"global_pause": True}),
    Broken(
        "L8",
        "a LAG member without PFC",
        every(
            lambda f: f["leaf1"].update(
                PORTCHANNEL_MEMBER={"PortChannel1|Ethernet16": {}, "PortChannel1|Ethernet24": {}}
            ),
            lambda f: f["spine1"].update(PORTCHANNEL_MEMBER={"PortChannel1|Ethernet8": {}}),
            lambda f: f["spine2"].update(PORTCHANNEL_MEMBER={"PortChannel1|Ethernet8": {}}),
            put("leaf1", "PORT_QOS_MAP", "Ethernet24", pfc_enable=""),
            put("spine2", "PORT_QOS_MAP", "Ethernet8", pfc_enable=""),  # at one end alone it would be L1's
        ),
    ),
    Broken("L9", "PFC on 4 at one hop", put("spine1", "PORT_QOS_MAP", "Ethernet16", pfc_enable="4")),
    Broken(
        "T1",
        "underlay of 4,150 B, RoCE needs 4,206 B",
        every(put("leaf1", "VXLAN_TUNNEL", "v", src_ip="10.0.0.1"), put("spine1", "PORT", "Ethernet8", mtu="4150")),
    ),
    Broken(
        "T1",
        "underlay of 9,000 B, hosts' MTU 9,000 B",
        every(put("leaf1", "VXLAN_TUNNEL", "v", src_ip="10.0.0.1"), put("spine1", "PORT", "Ethernet8", mtu="9000")),
    ),
    Broken("T2", "pipe", put("leaf1", "VXLAN_TUNNEL", "v", src_ip="10.0.0.1", dscp_mode="pipe")),
    Broken("T3", "ECN not copied", put("leaf1", "VXLAN_TUNNEL", "v", ecn_mode="copy_from_outer")),
    Broken("N1", "the host has PFC on no priority", nothing, hosts={"pfc_enable": ""}),
    Broken("N5", "receive buffer of 30,000 B", nothing, hosts={"rx_buffer_bytes": 30_000}),
    Broken("N5", "receive buffer of 100,000 B", nothing, "not proven", hosts={"rx_buffer_bytes": 100_000}),
    Broken("D1", "a ring of five switches", ring),
    Broken(
        "D9",
        "a spine's table sends a leaf's prefix back",
        nothing,
        make=with_tables(route(healthy(), "spine1", _PREFIX, gateway="10.9.0.0", dev="Ethernet8")),
    ),
    Broken("D10", "a spine's table lacks a prefix", nothing, make=with_tables(route(healthy(), "spine2", _PREFIX))),
    Broken(
        "D10",
        "a leaf's next hop is at the management port",
        nothing,
        make=with_tables(route(healthy(), "leaf1", _PREFIX, gateway="192.0.2.1", dev="eth0")),
    ),
    Broken(
        "D12",
        "two static default routes that point at each other",
        nothing,
        make=with_lines(
            leaf1=static("eos", "0.0.0.0/0", "10.1.0.1"),
            spine1=static("eos", "0.0.0.0/0", "10.1.0.0"),
            leaf2=static("eos", "0.0.0.0/0", "172.16.100.9"),
        ),
    ),
    Broken(
        "D12",
        "the same, and no switch delivers the prefix",
        nothing,
        "not proven",
        make=with_lines(leaf1=static("eos", "0.0.0.0/0", "10.1.0.1"), spine1=static("eos", "0.0.0.0/0", "10.1.0.0")),
    ),
    Broken(
        "D13",
        "a static route to a spine that has none",
        nothing,
        make=with_lines(
            leaf1=static("eos", "192.0.2.0/24", "10.1.0.1"), leaf2=static("eos", "192.0.2.0/24", "172.16.100.9")
        ),
    ),
    Broken(
        "D13",
        "a gateway on no interface",
        nothing,
        make=with_lines(
            leaf1=static("eos", "192.0.2.0/24", "10.77.0.1"), leaf2=static("eos", "192.0.2.0/24", "172.16.100.9")
        ),
    ),
    Broken("P1", "two subnets on the only uplink", nothing, make=with_lines(leaf1=both(_ONE_UPLINK, _OTHER_SUBNET))),
    Broken("P1", "two subnets on one of two uplinks", nothing, "not proven", make=with_lines(leaf1=_OTHER_SUBNET)),
    Broken("P2", "another AS number on the only uplink", nothing, make=with_lines(leaf1=both(_ONE_UPLINK, _OTHER_AS))),
    Broken("P2", "another AS number on one of two uplinks", nothing, "not proven", make=with_lines(leaf1=_OTHER_AS)),
    Broken(
        "P3",
        "a session of the only uplink at one end",
        nothing,
        make=with_lines(leaf1=_ONE_UPLINK, spine1=_no_neighbour),
    ),
    Broken(
        "P3", "a session of one of two uplinks at one end", nothing, "not proven", make=with_lines(spine1=_no_neighbour)
    ),
)
"""(check, what is wrong, change, result)."""
