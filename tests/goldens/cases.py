"""Short runs, one mechanism each, whose results are kept in goldens.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

Tree = dict[str, Any]

BASE: Final[Tree] = {
    "topology": {
        "kind": "leaf-spine",
        "leaves": 2,
        "spines": 2,
        "hosts_per_leaf": 3,
        "host_rate": "100G",
        "fabric_rate": "100G",
        "host_cable": "3m",
        "fabric_cable": "30m",
    },
    "switches": {"asic": "trident3", "memory": "6MB", "ecn": {"kmin": "40KB", "kmax": "160KB", "pmax": 0.2}},
    "workload": [
        {"kind": "incast", "receiver": "host1", "senders": ["*"], "size": "150KB"},
        {"kind": "permutation", "size": "60KB", "start": "5us"},
    ],
    "run": {"duration": "3ms", "seed": 11},
    "telemetry": {"events": []},
}
"""Five senders to one receiver across two spines, and a permutation beside them: ECN marks, DCQCN cuts."""

SMALL_BUFFER: Final[Tree] = {"switches": {"memory": "1MB", "ecn": "off"}, "transport": {"cc": "none"}}
LOSSY: Final[Tree] = {
    "switches": {"memory": "300KB", "ecn": "off"},
    "pfc": "off",
    "transport": {"cc": "none", "retransmit_timeout": "200us"},
}
CLOS: Final[Tree] = {
    "topology": {
        "kind": "clos3",
        "pods": 2,
        "leaves_per_pod": 2,
        "spines_per_pod": 2,
        "super_spines": 2,
        "hosts_per_leaf": 2,
        "host_rate": "100G",
        "fabric_rate": "100G",
        "core_rate": "100G",
    },
    "workload": [{"kind": "all-to-all", "size": "20KB"}],
}
QUICK_BGP: Final[Tree] = {
    "routing": "bgp",
    "bgp": {"update_delay": "20us", "fib_delay": "10us", "carrier_delay": "10us", "prune_delay": "5us"},
    "transport": {"retransmit_timeout": "200us"},
    "workload": [{"kind": "permutation", "size": "1MB", "shift": 3}],
}
TENANTS: Final = [
    {
        "name": "red",
        "l3_vni": 50010,
        "segments": [
            {"name": "a", "vni": 10010, "hosts": ["host1", "host4"]},
            {"name": "b", "vni": 10020, "hosts": ["host2", "host5"]},
        ],
    },
    {"name": "blue", "vni": 10030, "hosts": ["host3", "host6"]},
]
LONG: Final = [{"kind": "incast", "receiver": "host1", "senders": ["*"], "size": "1MB"}]
LONGER: Final = [{**LONG[0], "size": "2MB"}]
HPCC_NS3: Final[Tree] = {
    "model": "hpcc-ns3",
    "topology": {
        "kind": "leaf-spine",
        "leaves": 2,
        "spines": 2,
        "hosts_per_leaf": 3,
        "host_rate": "100G",
        "fabric_rate": "100G",
        "host_cable": "200m",
        "fabric_cable": "200m",
    },
    "switches": None,
    "transport": {"dcqcn": "hpcc-dcqcn", "acks": "strict"},
    "workload": [
        {"kind": "incast", "receiver": "host1", "senders": ["*"], "size": "400KB"},
        {"kind": "all-to-all", "size": "50KB"},
    ],
}
"""All to all beside the incast: packets that meet at one instant, so that the order of events matters."""


def fault(kind: str, at: str = "20us", until: str | None = "120us", **fields: object) -> Tree:
    return {"faults": [{"kind": kind, "at": at, **({} if until is None else {"until": until}), **fields}]}


CASES: Final[Mapping[str, Tree]] = {
    "base": {},
    "threads": {"topology": {"leaves": 4, "hosts_per_leaf": 4}},
    "pfc": SMALL_BUFFER,
    "pfc-static-threshold": {
        **SMALL_BUFFER,
        "switches": {"memory": "2MB", "ecn": "off", "buffer": {"static_th": "60KB"}},
    },
    "pfc-short-quanta": {**SMALL_BUFFER, "switches": {"memory": "1MB", "ecn": "off", "pause_quanta": 200}},
    "pfc-two-classes": {
        **SMALL_BUFFER,
        "switches": {"memory": "2MB", "ecn": "off", "lossless": [3, 4], "dscp_to_tc": {26: 3, 34: 4}},
        "workload": [
            {"kind": "incast", "receiver": "host1", "senders": ["*"], "size": "150KB", "priority": 3},
            {"kind": "incast", "name": "other", "receiver": "host1", "senders": ["*"], "size": "90KB", "priority": 4},
        ],
    },
    "shared-headroom": {**SMALL_BUFFER, "switches": {"memory": "900KB", "ecn": "off", "shared_headroom": "200KB"}},
    "lossy-go-back-n": LOSSY,
    "lossy-selective": {**LOSSY, "transport": {**LOSSY["transport"], "recovery": "selective", "window": "200KB"}},
    "lossy-go-back-0": {**LOSSY, "transport": {**LOSSY["transport"], "recovery": "go-back-0"}},
    "window": {"transport": {"window": "80KB"}},
    "window-variable": {"transport": {"window": "80KB", "variable_window": True}},
    "ack-every-8": {"transport": {"ack_every": 8, "ack_dscp": 48}},
    "ecn-dequeue": {"switches": {"mark": "dequeue"}},
    "ecn-hpcc-curve": {"switches": {"ecn": "hpcc"}, "workload": LONG},
    "ecn-paper-curve": {"switches": {"ecn": "paper-2015"}, "workload": LONG},
    "ecn-sonic-curve": {"switches": {"ecn": "sonic"}, "workload": LONGER},
    "ecn-drops-non-ect": {
        "vxlan": {"ecn": "compatibility"},
        "switches": {"ecn": {"kmin": "20KB", "kmax": "60KB", "pmax": 0.5, "drop_non_ect": True}},
        "transport": {"retransmit_timeout": "100us"},
    },
    **{
        f"dcqcn-{name}": {"transport": {"dcqcn": name}, "workload": LONG}
        for name in ("mlx5", "paper-2015", "ns3-rdma", "hpcc-dcqcn", "hpcc-dcqcn-paper", "hpcc-dcqcn-vwin", "simai")
    },
    "dctcp": {
        "switches": {"ecn": {"kmin": "60KB", "kmax": "60001B", "pmax": 1.0}},
        "transport": {"cc": "dctcp"},
        "workload": LONG,
    },
    "dctcp-coalesced-acks": {
        "switches": {"ecn": {"kmin": "20KB", "kmax": "80KB", "pmax": 0.5}},
        "transport": {
            "cc": "dctcp",
            "ack_every": 8,
            "variable_window": False,
            "dctcp": {"additive": "600M", "gain": 0.25},
        },
        "workload": LONG,
    },
    "dctcp-out-of-order": {
        **CLOS,
        "switches": {"load_balancing": "spray", "ecn": {"kmin": "4KB", "kmax": "30KB", "pmax": 0.5}},
        "transport": {"cc": "dctcp", "window": "off", "ack_every": 4},
    },
    "timely": {
        "switches": {"ecn": "off"},
        "transport": {"cc": "timely", "timely": {"low_rtt": "10us", "high_rtt": "60us", "min_rtt": "5us"}},
        "workload": LONG,
    },
    "hpcc": {"switches": {"ecn": "off"}, "transport": {"cc": "hpcc"}, "workload": LONG},
    "hpcc-pint": {"switches": {"ecn": "off"}, "transport": {"cc": "hpcc-pint"}, "workload": LONG},
    "swift": {"switches": {"ecn": "off"}, "transport": {"cc": "swift"}, "workload": LONG},
    "swift-out-of-order": {
        **CLOS,
        "switches": {"load_balancing": "spray", "ecn": "off"},
        "transport": {"cc": "swift", "recovery": "out-of-order"},
    },
    "cubic": {
        "pfc": "off",
        "switches": {"memory": "200KB"},
        "transport": {"cc": "cubic", "recovery": "selective", "retransmit_timeout": "400us"},
        "workload": LONG,
    },
    "dctcp-loss-cut": {
        "pfc": "off",
        "switches": {"memory": "200KB", "ecn": {"kmin": "70KB", "kmax": "70001B", "pmax": 1.0}},
        "transport": {
            "cc": "dctcp",
            "dctcp": {"loss_cut": 0.5},
            "recovery": "selective",
            "retransmit_timeout": "400us",
        },
        "workload": LONG,
    },
    "hpcc-multi-rate": {
        **CLOS,
        "switches": {"ecn": "off"},
        "transport": {
            "cc": "hpcc",
            "hpcc": {"multi_rate": True, "sample_feedback": True, "increase_stages": 5, "target": 0.9},
        },
    },
    "scheduler-dwrr": {
        **SMALL_BUFFER,
        "switches": {
            "memory": "2MB",
            "ecn": "off",
            "lossless": [3, 4],
            "dscp_to_tc": {26: 3, 34: 4},
            "scheduler": {3: 10, 4: 30, 6: "strict"},
        },
        "workload": [
            {"kind": "incast", "receiver": "host1", "senders": ["*"], "size": "150KB", "priority": 3},
            {"kind": "incast", "name": "other", "receiver": "host1", "senders": ["*"], "size": "150KB", "priority": 4},
        ],
    },
    "scheduler-strict": {
        **SMALL_BUFFER,
        "switches": {
            "memory": "2MB",
            "ecn": "off",
            "lossless": [3, 4],
            "dscp_to_tc": {26: 3, 34: 4},
            "scheduler": {4: "strict"},
        },
        "workload": [
            {"kind": "incast", "receiver": "host1", "senders": ["*"], "size": "100KB", "priority": 3},
            {"kind": "incast", "name": "other", "receiver": "host1", "senders": ["*"], "size": "100KB", "priority": 4},
        ],
    },
    **{
        f"hash-{name}": {**CLOS, "switches": {"hash": {"algorithm": name, "seed": "per-switch"}}}
        for name in ("crc32", "xor", "toeplitz", "murmur3")
    },
    **{
        f"hash-{name}-same-seed": {**CLOS, "switches": {"hash": {"algorithm": name, "seed": 0xDEADBEEF}}}
        for name in ("crc32", "xor", "toeplitz", "murmur3")
    },
    "spray": {
        **CLOS,
        "switches": {"load_balancing": "spray"},
        "transport": {"recovery": "selective", "window": "200KB"},
    },
    "adaptive": {**CLOS, "switches": {"load_balancing": "adaptive"}},
    "congestion-notices": {
        **CLOS,
        "topology": {**CLOS["topology"], "link_overrides": [{"a": "p2-leaf1", "b": "p2-spine1", "rate": "25G"}]},
        "switches": {"load_balancing": "adaptive", "congestion_notices": "5KB"},
    },
    "source-routed": {
        **CLOS,
        "switches": {"load_balancing": "source-routed"},
        "transport": {"source_routes": {"withdrawal": "20us"}, "retransmit_timeout": "200us"},
        "faults": [{"kind": "link-down", "link": "p1-leaf1--p1-spine1", "at": "10us", "until": "60us"}],
    },
    "source-routed-queue-pairs": {
        **CLOS,
        "switches": {"load_balancing": "source-routed"},
        "transport": {"source_routes": {"choice": "queue-pair"}},
    },
    "source-routed-nic-ports": {
        **CLOS,
        "topology": {
            "kind": "dual-tor",
            "racks": 2,
            "hosts_per_rack": 4,
            "spines": 4,
            "planes": 2,
            "host_rate": "100G",
            "fabric_rate": "100G",
        },
        "switches": {"load_balancing": "source-routed"},
        "transport": {"source_routes": {"withdrawal": "20us"}, "retransmit_timeout": "200us"},
        "faults": [{"kind": "link-down", "link": "host1--tor1a", "at": "10us", "until": "60us"}],
    },
    "weighted": {
        **CLOS,
        "topology": {**CLOS["topology"], "link_overrides": [{"a": "*", "b": "superspine1", "rate": "50G"}]},
        "switches": {"load_balancing": "weighted"},
    },
    "hash-queue-pairs": {
        **CLOS,
        "switches": {"hash": {"fields": ["source-ip", "destination-ip", "source-port", "destination-qp"]}},
        "transport": {"source_port": "pair", "qp": {"per": "pair", "count": 4}},
    },
    "flowlets": {**CLOS, "switches": {"load_balancing": "flowlet", "flowlet_gap": "2us"}},
    "watchdog-drop": {
        **SMALL_BUFFER,
        "switches": {
            "memory": "2MB",
            "ecn": "off",
            "watchdog": {"poll": "20us", "detection": "40us", "restoration": "40us"},
        },
        **fault("pause-storm", until=None, hosts=["host1"], duration="300us", frames_per_second=1_000_000),
    },
    "watchdog-forward": {
        **SMALL_BUFFER,
        "switches": {
            "memory": "2MB",
            "ecn": "off",
            "watchdog": {"poll": "20us", "detection": "40us", "restoration": "40us", "action": "forward"},
        },
        **fault("pause-storm", until=None, hosts=["host1"], duration="300us", frames_per_second=1_000_000),
    },
    "pause-storm": {**SMALL_BUFFER, **fault("pause-storm", until=None, hosts=["host1"], duration="300us", duty=0.5)},
    "slow-receiver": {**SMALL_BUFFER, **fault("slow-receiver", hosts=["host1"], drain="20G")},
    "link-down": {
        **fault("link-down", link="leaf1--spine1"),
        "run": {"reroute_delay": "50us"},
        "transport": {"retransmit_timeout": "100us"},
    },
    "link-rate": fault("link-rate", link="leaf1--spine*", rate="25G"),
    "bit-errors": {
        **fault("bit-errors", link="leaf1--spine*", ratio=1e-5),
        "transport": {"retransmit_timeout": "100us"},
    },
    "drop-every": {**fault("drop-every", port="leaf1:*", every=10), "transport": {"retransmit_timeout": "100us"}},
    "config-drift": fault("config-drift", ports="leaf1", ecn="off", dynamic_th=-3),
    "vxlan": {"vxlan": {}},
    "vxlan-pipe": {"vxlan": {"dscp": 26, "ecn": "compatibility"}},
    "tenant-routing": {
        "vxlan": {"tenants": TENANTS},
        "workload": [
            {
                "kind": "messages",
                "messages": [
                    {"src": "host1", "dst": "host5", "size": "200KB"},
                    {"src": "host2", "dst": "host4", "size": "200KB"},
                    {"src": "host3", "dst": "host6", "size": "200KB"},
                    {"src": "host1", "dst": "host2", "size": "80KB"},
                ],
            }
        ],
    },
    "arp-flooded": {
        "vxlan": {"arp_suppression": "off"},
        "workload": [
            {"kind": "arp", "interval": "5us", "stop": "100us"},
            {"kind": "permutation", "size": "60KB", "priority": 0},
        ],
    },
    "datagrams": {
        "switches": {"memory": "1MB", "ecn": {"kmin": "40KB", "kmax": "160KB", "pmax": 0.2, "drop_non_ect": True}},
        "workload": [
            {
                "kind": "datagrams",
                "name": "small",
                "senders": ["host2", "host4"],
                "receivers": ["host1"],
                "load": 1.0,
                "frame": "64B",
                "count": 3000,
            },
            {
                "kind": "datagrams",
                "name": "marked",
                "senders": ["host3", "host5"],
                "receivers": ["host1"],
                "rate": "60G",
                "frame": "1518B",
                "dscp": 26,
                "ect": True,
                "jitter": "1us",
                "stop": "100us",
            },
            {"kind": "permutation", "size": "60KB"},
        ],
    },
    "given-routes": {
        "routing": "given",
        "routes": {
            "leaf1": {"0.0.0.0/0": ["spine1", "spine2"], "host4": ["spine2"]},
            "leaf2": {"host1": ["spine1"], "host2": ["spine2"], "host3": []},
            "spine1": {"host1": ["leaf1"], "host4": ["leaf2"], "host5": ["leaf2"], "host6": ["leaf2"]},
            "spine2": {"0.0.0.0/0": ["leaf1"], "host4": ["leaf2"], "host5": ["leaf2"], "host6": ["leaf2"]},
        },
        "transport": {"retransmit_timeout": "100us", "retries": 1},
        "workload": [
            {"kind": "permutation", "size": "60KB"},
            {"kind": "incast", "receiver": "host1", "senders": ["*"], "size": "30KB"},
        ],
    },
    "port-settings": {
        "switches": {
            "memory": "2MB",
            "lossless": [3, 4],
            "dscp_to_tc": {26: 3, 34: 4},
            "watchdog": {"poll": "20us", "detection": "40us", "restoration": "60us", "rule": "cisco"},
            "overrides": [
                {"port": "leaf1:Ethernet0", "dscp_to_tc": {26: 4}, "ecn_by_queue": {4: "hpcc"}},
                {"port": "leaf1:Ethernet12", "pfc_honour": [4], "buffer_pg": {3: {"static_th": "30KB"}}},
                {"port": "leaf1:Ethernet16", "pfc_send": [4], "lossless": [3, 4]},
                {"port": "leaf2:Ethernet16", "lossless": [4]},
                {"port": "leaf2:Ethernet0", "port_watchdog": {"action": "alert", "detection": "20us"}},
                {"port": "leaf2:Ethernet4", "port_watchdog": "off"},
            ],
        },
        "workload": [
            {"kind": "incast", "receiver": "host1", "senders": ["*"], "size": "150KB"},
            {"kind": "permutation", "size": "300KB", "priority": 4, "start": "5us"},
        ],
        "transport": {"retransmit_timeout": "300us"},
        "faults": [{"kind": "pause-storm", "hosts": ["host4", "host5"], "at": "20us", "duration": "400us"}],
    },
    "arp-suppressed": {
        "vxlan": {"arp_suppression": "on"},
        "workload": [
            {"kind": "arp", "interval": "5us", "stop": "100us"},
            {"kind": "permutation", "size": "60KB", "priority": 0},
        ],
    },
    "bgp-link-down": {**QUICK_BGP, **fault("link-down", link="leaf1--spine1")},
    "bgp-spine-crash": {**QUICK_BGP, "vxlan": {}, **fault("switch-crash", until=None, switch="spine1")},
    "poisson": {"workload": [{"kind": "poisson", "sizes": "fb-hadoop", "load": 0.5, "stop": "300us"}]},
    "dependencies": {"workload": [{"kind": "all-to-all", "size": "30KB", "order": "rounds"}]},
    "qp-per-pair": {
        "transport": {"qp": {"per": "pair", "count": 2}},
        "workload": [
            {"kind": "incast", "receiver": "host1", "senders": ["*"], "size": "40KB", "repeat": 3, "interval": "10us"}
        ],
    },
    "dual-tor": {
        "topology": {
            "kind": "dual-tor",
            "racks": 2,
            "hosts_per_rack": 3,
            "spines": 2,
            "host_rate": "100G",
            "fabric_rate": "100G",
        }
    },
    "hpcc-ns3-windows": HPCC_NS3,
    "hpcc-ns3-insertion": {**HPCC_NS3, "order": "insertion"},
    "hpcc-ns3-stock-acks": {
        **HPCC_NS3,
        "transport": {"dcqcn": "hpcc-dcqcn-vwin", "acks": "stock"},
        "order": "insertion",
    },
    "hpcc-ns3-dctcp": {**HPCC_NS3, "transport": {"cc": "dctcp", "dctcp": {"additive": "2G"}}},
    "hpcc-ns3-timely": {**HPCC_NS3, "transport": {"cc": "timely", "timely": {"low_rtt": "8us"}}},
    "hpcc-ns3-hpcc-pint": {**HPCC_NS3, "transport": {"cc": "hpcc-pint"}, "order": "insertion"},
    "hpcc-ns3-hpcc": {**HPCC_NS3, "transport": {"cc": "hpcc"}, "order": "insertion"},
    "servers": {
        "topology": {"hosts_per_leaf": 4, "gpus_per_server": 4, "scale_up": {"profile": "a100-hgx"}},
        "workload": [
            {"kind": "all-to-all", "size": "60KB"},
            {"kind": "incast", "receiver": "host1", "senders": ["*"], "size": "600KB"},
        ],
    },
}


def tree_of(name: str) -> tuple[Tree, str]:
    """The whole scenario of a case as a tree, and its order of events at one instant."""
    case = dict(CASES[name])
    order = case.pop("order", "source")
    return {"name": name, **_merged(BASE, case)}, order


def _merged(base: Tree, changes: Tree) -> Tree:
    found = dict(base)
    for key, value in changes.items():
        if value is None:
            found.pop(key, None)
        elif isinstance(value, dict) and isinstance(found.get(key), dict) and value.get("kind") is None:
            found[key] = _merged(found[key], value)
        else:
            found[key] = value
    return found
