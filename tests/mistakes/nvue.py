"""The plan in NVIDIA Cumulus NVUE (startup.yaml), from the documented `nv set` paths."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_interface
from typing import Any, Final

import yaml

from tests.mistakes import plan
from tests.mistakes.plan import Port, Switch

PORTS = {number: f"swp{number}" for number in range(1, 257)}
Tree = dict[str, Any]
_MOST_OWN_ADDRESSES: Final = 253
"""Of leaves, in the gateway's subnet of 24 bits."""


def good(of: Sequence[Switch] = plan.SWITCHES, *, loopbacks: bool = False) -> dict[str, Any]:
    """{file name: text, or tree that edits apply to} of the working fabric; `loopbacks`: EVPN has its own sessions."""
    wide = sum(switch.leaf for switch in of) > _MOST_OWN_ADDRESSES
    gateway = plan.GATEWAY.replace("/24", "/16") if wide else plan.GATEWAY
    files: Tree = {f"{switch.name}.yaml": _switch(switch, loopbacks, gateway) for switch in of}
    return {**files, "topology.json": plan.cabling(PORTS, of), "hosts.json": plan.HOSTS}


def text(tree: Tree) -> str:
    """The startup file."""
    header = {"model": "SN5600", "nvue-api-version": "nvue_v1", "version": "Cumulus Linux 5.9.1"}
    return yaml.safe_dump([{"header": header}, {"set": tree}], sort_keys=False)


def _switch(switch: Switch, loopbacks: bool, gateway: str) -> Tree:
    data = {"mode": "dwrr", "bw-percent": 50}
    marking = {
        "ecn": "enable",
        "red": "disable",
        "min-threshold": 400_000,
        "max-threshold": 1_600_000,
        "probability": 20,
    }
    tree: Tree = {
        "system": {"hostname": switch.name, "global": {"system-mac": switch.mac}},
        "qos": {
            "roce": {"enable": "on", "mode": "lossless"},
            "mapping": {
                "default-global": {
                    "trust": "l3",
                    "dscp": {
                        **{str(code): {"switch-priority": 0} for code in range(24, 32)},
                        "26": {"switch-priority": 3},
                        "48": {"switch-priority": 6},
                    },
                }
            },
            "egress-queue-mapping": {
                "default-global": {"switch-priority": {"3": {"traffic-class": 3}, "6": {"traffic-class": 6}}}
            },
            "egress-scheduler": {
                "default-global": {"traffic-class": {"0": dict(data), "3": dict(data), "6": {"mode": "strict"}}}
            },
            "pfc": {
                "default-global": {
                    "switch-priority": {"3": {}},
                    "tx": "enable",
                    "rx": "enable",
                    "cable-length": plan.FABRIC_CABLE_M,
                }
            },
            "congestion-control": {"default-global": {"traffic-class": {"3": marking}}},
            "pfc-watchdog": {"polling-interval": 100, "robustness": 3},
        },
        "router": {"bgp": {"enable": "on", "autonomous-system": switch.asn, "router-id": switch.loopback}},
        "interface": {
            "lo": {"ip": {"address": {f"{switch.loopback}/32": {}}}, "type": "loopback"},
            **{PORTS[port.number]: _port(port) for port in switch.ports},
        },
        "vrf": {"default": {"router": {"bgp": _bgp(switch, loopbacks)}}},
        "evpn": {"enable": "on"},
    }
    if switch.leaf:
        tree["system"]["global"]["anycast-mac"] = plan.GATEWAY_MAC
        tree["bridge"] = {"domain": {"br_default": {"vlan": {str(plan.VLAN): {"vni": {str(plan.VNI): {}}}}}}}
        tree["nve"] = {"vxlan": {"enable": "on", "source": {"address": switch.loopback}}}
        subnet = ip_interface(gateway)
        own = f"{subnet.ip + int(switch.name.removeprefix('leaf'))}/{subnet.network.prefixlen}"
        tree["interface"][f"vlan{plan.VLAN}"] = {
            "ip": {"address": {own: {}}, "vrr": {"enable": "on", "address": {gateway: {}}}},
            "type": "svi",
            "vlan": plan.VLAN,
        }
    return tree


def _port(port: Port) -> Tree:
    tree: Tree = {
        "link": {"mtu": 9216, "speed": "400G", "fec": "rs"},
        "qos": {"pfc-watchdog": {"state": "enable"}},
        "type": "swp",
        "description": port.peer,
    }
    if port.to_host:
        tree["bridge"] = {"domain": {"br_default": {"access": plan.VLAN}}}
    else:
        tree["ip"] = {"address": {port.address: {}}}
    return tree


def _bgp(switch: Switch, loopbacks: bool) -> Tree:
    peers = [port for port in switch.ports if not port.to_host]
    return {
        "enable": "on",
        "address-family": {
            "ipv4-unicast": {"enable": "on", "redistribute": {"connected": {"enable": "on"}}},
            "l2vpn-evpn": {"enable": "on"},
        },
        "neighbor": {
            **{port.peer_address: _neighbor(port, ipv4=True, evpn=not loopbacks) for port in peers},
            **{
                plan.LOOPBACKS[port.peer]: {
                    **_neighbor(port, ipv4=False, evpn=True),
                    "update-source": "lo",
                    "multihop-ttl": plan.HOPS,
                }
                for port in (peers if loopbacks else ())
            },
        },
    }


def _neighbor(port: Port, *, ipv4: bool, evpn: bool) -> Tree:
    families = {"ipv4-unicast": ipv4, "l2vpn-evpn": evpn}
    return {
        "type": "numbered",
        "remote-as": port.peer_asn,
        "timers": {"keepalive": plan.KEEPALIVE_S, "hold": plan.HOLD_S},
        "address-family": {name: {"enable": "on" if on else "off"} for name, on in families.items()},
    }
