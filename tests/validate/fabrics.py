"""A small clean fabric, as CONFIG_DB tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fabric.validate.checks.base import Finding

Judge = Callable[..., list[Finding]]
Tables = dict[str, dict[str, dict[str, Any]]]
HOSTS = {
    "default": {
        "mtu": 9000,
        "roce_mtu": 4096,
        "trust": "dscp",
        "roce_dscp": 26,
        "pfc_enable": "3",
        "cnp_dscp": 48,
        "ecn_np_prio": 3,
        "ecn_rp_prio": 3,
        "cc": "dcqcn",
    }
}


def switch(name: str, asn: str, role: str, neighbors: dict[str, tuple[str, str]]) -> Tables:
    """A clean 400G switch: every port named in neighbors, 5 m to hosts, 40 m to switches."""
    cable = {port: "5m" if peer[0].startswith("host") else "40m" for port, peer in neighbors.items()}
    profiles = {
        f"pg_lossless_400000_{m}m_profile": {
            "pool": "ingress_lossless_pool",
            "xon": "37888",
            "xoff": xoff,
            "size": size,
            "dynamic_th": "0",
        }
        for m, xoff, size in (("5", "38912", "86016"), ("40", "77824", "124928"))
    }
    return {
        "DEVICE_METADATA": {"localhost": {"hostname": name, "hwsku": "ACS-MSN4700", "type": role, "bgp_asn": asn}},
        "PORT": {
            port: {"speed": "400000", "lanes": "1,2,3,4,5,6,7,8", "mtu": "9216", "admin_status": "up", "fec": "rs"}
            for port in neighbors
        },
        "DEVICE_NEIGHBOR": {port: {"name": peer[0], "port": peer[1]} for port, peer in neighbors.items()},
        "CABLE_LENGTH": {"AZURE": cable},
        "BUFFER_POOL": {
            "ingress_lossless_pool": {"size": "26451968", "type": "ingress", "mode": "dynamic"},
            "egress_lossless_pool": {"size": "60817392", "type": "egress", "mode": "dynamic"},
        },
        "BUFFER_PROFILE": {
            "egress_lossless_profile": {"pool": "egress_lossless_pool", "size": "0", "dynamic_th": "7"},
            **{
                f"pg_lossless_400000_{m}_profile": profiles[f"pg_lossless_400000_{m}_profile"]
                for m in sorted(set(cable.values()))
            },
        },
        "BUFFER_PG": {f"{port}|3": {"profile": f"pg_lossless_400000_{m}_profile"} for port, m in cable.items()},
        "BUFFER_QUEUE": {f"{port}|3": {"profile": "egress_lossless_profile"} for port in neighbors},
        "DSCP_TO_TC_MAP": {"M": {str(d): {26: "3", 48: "6"}.get(d, "0") for d in range(64)}},
        "TC_TO_QUEUE_MAP": {"M": {str(n): str(n) for n in range(8)}},
        "TC_TO_PRIORITY_GROUP_MAP": {"M": {str(n): "3" if n == 3 else "0" for n in range(8)}},
        "SCHEDULER": {"data": {"type": "DWRR", "weight": "50"}, "cnp": {"type": "STRICT"}},
        "WRED_PROFILE": {
            "W": {
                "ecn": "ecn_all",
                "green_min_threshold": "400000",
                "green_max_threshold": "1600000",
                "green_drop_probability": "20",
                "wred_green_enable": "true",
            }
        },
        "QUEUE": {
            f"{port}|{q}": value
            for port in neighbors
            for q, value in (
                ("0", {"scheduler": "data"}),
                ("3", {"scheduler": "data", "wred_profile": "W"}),
                ("6", {"scheduler": "cnp"}),
            )
        },
        "PORT_QOS_MAP": {
            port: {
                "dscp_to_tc_map": "M",
                "tc_to_queue_map": "M",
                "tc_to_pg_map": "M",
                "pfc_enable": "3",
                "pfcwd_sw_enable": "3",
            }
            for port in neighbors
        },
        "PFC_WD": {
            "GLOBAL": {"POLL_INTERVAL": "200"},
            **{port: {"action": "drop", "detection_time": "200", "restoration_time": "200"} for port in neighbors},
        },
    }


def small_fabric() -> dict[str, Tables]:
    """Two leaves, two spines, two hosts a leaf."""
    leaves = {
        f"leaf{n}": switch(
            f"leaf{n}",
            f"6510{n}",
            "ToRRouter",
            {
                "Ethernet0": (f"host{2 * n - 1}", "eth0"),
                "Ethernet8": (f"host{2 * n}", "eth0"),
                "Ethernet16": ("spine1", f"Ethernet{8 * n}"),
                "Ethernet24": ("spine2", f"Ethernet{8 * n}"),
            },
        )
        for n in (1, 2)
    }
    spines = {
        f"spine{n}": switch(
            f"spine{n}",
            "65000",
            "LeafRouter",
            {f"Ethernet{8 * leaf}": (f"leaf{leaf}", f"Ethernet{8 + 8 * n}") for leaf in (1, 2)},
        )
        for n in (1, 2)
    }
    return {**leaves, **spines}
