"""A gNMI server over hand-made metrics of two switches and a host, without an engine."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from prometheus_client.core import Metric
from pygnmi.client import gNMIclient

from telemetry.catalogue.metrics import BY_NAME
from telemetry.gnmi.reading import Reader, Reading
from telemetry.gnmi.server import GnmiServer

DEVICES: Final = {"leaf1": "leaf", "leaf2": "leaf", "host1": "host"}
PORTS: Final = ("Ethernet0", "Ethernet4")
UP: Final = "/interfaces/interface[name=Ethernet0]/state/oper-status"
OCTETS: Final = "/interfaces/interface[name=Ethernet0]/state/counters/in-octets"


class Switches:
    """Metrics that a test changes; a callable that makes readings."""

    def __init__(self) -> None:
        self.values: dict[tuple[str, tuple[str, ...]], float] = {}
        self.reads = 0
        self.error: Exception | None = None
        self._reader = Reader()
        for device, role in DEVICES.items():
            self.put("fabric_device_info", device, role, "1", "")
            for port in PORTS:
                for name in ("up", "speed_bytes_per_second", "receive_bytes_total", "transmit_bytes_total"):
                    self.put(f"fabric_port_{name}", device, port, value=100)
                self.put("fabric_port_speed_bytes_per_second", device, port, value=12.5e9)
                self.put("fabric_queue_transmit_packets_total", device, port, "3", value=7)
                for kind, value in (("xoff", 5), ("xon", 2)):
                    self.put("fabric_pfc_receive_frames_total", device, port, "3", kind, value=value)
        for state in ("idle", "established"):
            self.put("fabric_bgp_peer_state", "leaf1", "spine1", state, value=state == "established")
        self.put("fabric_bgp_prefixes", "leaf1", "spine1", "l2vpn-evpn", value=12)

    def put(self, name: str, *labels: str, value: float = 1) -> None:
        self.values[name, labels] = value

    def __call__(self) -> Reading:
        self.reads += 1
        if self.error is not None:
            raise self.error
        families: dict[str, Metric] = {}
        for (name, labels), value in self.values.items():
            spec = BY_NAME[name]
            family = families.setdefault(name, Metric(spec.family, spec.help, spec.kind.value))
            family.add_sample(name, dict(zip(spec.labels, labels, strict=True)), value)
        return self._reader.reading(families.values(), time.time_ns())


@contextmanager
def served(switches: Switches) -> Iterator[tuple[GnmiServer, gNMIclient]]:
    with GnmiServer("127.0.0.1:0", switches) as server, client(server.address) as connected:
        yield server, connected


@contextmanager
def client(address: str, **options: Any) -> Iterator[gNMIclient]:  # noqa: ANN401  arguments of gNMIclient
    """pygnmi logs every refusal as critical; the tests read them as exceptions."""
    logging.getLogger("pygnmi.client").setLevel(logging.CRITICAL + 1)
    host, _, port = address.rpartition(":")
    with gNMIclient(target=(host, port), **({"insecure": True} | options)) as connected:
        yield connected


def values(answer: Any) -> dict[str, Any]:  # noqa: ANN401  what pygnmi returns
    """Path -> value of a Get."""
    return {it["path"]: it["val"] for found in answer["notification"] for it in found.get("update", ())}


def updates(message: Any) -> dict[str, Any]:  # noqa: ANN401  what pygnmi returns
    """Path -> value of a message of a subscription."""
    return {it["path"]: it["val"] for it in message["update"].get("update", ())}
