"""Small overlays without speakers: the other VTEPs select at once what one VTEP originates."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from fabric.controlplane.bgp.actions import Change
from fabric.controlplane.bgp.rib import Path as BgpPath
from fabric.controlplane.bgp.rib import Selection, Source
from fabric.controlplane.evpn.actions import Action, Originate, Withdraw
from fabric.controlplane.evpn.config import VniConfig, VtepConfig
from fabric.controlplane.evpn.vtep import Vtep
from tests.recordings import FRR

S = 1_000_000_000


@pytest.fixture(scope="session")
def frr() -> Path:
    return FRR


def leaf(number: int, vnis: Iterable[VniConfig] = (), **more: object) -> VtepConfig:
    address = f"10.255.1.{number}"
    return VtepConfig(
        f"leaf{number}", 65100 + number, address, address, tuple(vnis) or (VniConfig(10100), VniConfig(10200)), **more
    )  # type: ignore[arg-type]


def select(action: Originate, asn: int) -> Selection:
    path = BgpPath(Source("spine1", asn, True, 1, b"\x0a\0\0\1"), action.attributes, action.next_hop, action.payload, 0)
    return Selection(path, (path,))


class Mesh:
    """VTEPs that receive each other's routes at once, or when deliver() is called."""

    def __init__(self, *configs: VtepConfig) -> None:
        self.vteps = [Vtep(config) for config in configs]
        self.selected: dict[tuple[int, bytes], Selection] = {}
        self.waiting: list[tuple[int, Action]] = []
        self.log: list[tuple[str, Action]] = []
        for index, vtep in enumerate(self.vteps):
            self.note(index, vtep.start(0))
        self.deliver(0)

    def note(self, index: int, actions: Iterable[Action]) -> None:
        for action in actions:
            self.log.append((self.vteps[index].config.hostname, action))
            self.waiting.append((index, action))

    def deliver(self, now_ns: int) -> None:
        while self.waiting:
            index, action = self.waiting.pop(0)
            if not isinstance(action, Originate | Withdraw):
                continue
            changes = []
            for key in action.keys:
                old = self.selected.pop((index, key), None)
                new = select(action, self.vteps[index].config.asn) if isinstance(action, Originate) else None
                if new is not None:
                    self.selected[index, key] = new
                changes.append(Change((key,), old, new))
            for other, vtep in enumerate(self.vteps):
                if other != index:
                    self.note(other, vtep.routes_changed(changes, now_ns))

    def say(self, number: int, vni: int, mac: str, ip: str, port: str, now_ns: int) -> None:
        """A gratuitous ARP, and the BGP changes that follow."""
        self.note(number - 1, self.vteps[number - 1].host_seen(vni, mac, ip, port, now_ns))
        self.deliver(now_ns)
