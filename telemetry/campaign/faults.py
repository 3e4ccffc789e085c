"""Faults at random, with their groups of truth. One function a fault, all listed in FAULTS and NEAR.

A function takes a Draw and returns an Injection, or None where the fabric has no place for the fault. Ranges are
log-uniform. A fault begins after 10 to 60 % of the run.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from fabric.topology.model import Fabric, Link
from telemetry.campaign.fabrics import Drawn, log_uniform
from telemetry.campaign.loads import Load
from telemetry.campaign.truth import Group, Part
from telemetry.diagnosis.root import Kind

LOSSLESS: Final = 3
"""The class of RoCE with the default DSCP of 26."""
_RESPONSE_S: Final = 2e-6
"""Time in which a port stops once it is asked, at 100G about that of IEEE 802.3 31B.3.7."""
_FRAMES_BYTES: Final = 3 * 4_200
"""Frames under way at both ends when a pause is asked for."""


@dataclass(frozen=True)
class Injection:
    """A fault as entries of a scenario, and its truth."""

    group: Group
    faults: tuple[Mapping[str, Any], ...] = ()
    overrides: tuple[Mapping[str, Any], ...] = ()
    """Of `switches:`, a setting that one switch has from the start."""
    transport: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Draw:
    """What a fault is drawn for."""

    random: random.Random
    drawn: Drawn
    load: Load
    hosts: tuple[str, ...]
    """Hosts that may be hit, () for all: of double faults the second is elsewhere."""

    @property
    def fabric(self) -> Fabric:
        """The fabric."""
        return self.drawn.fabric

    def start_ns(self) -> int:
        """When it begins, in whole us."""
        return round(self.random.uniform(0.1, 0.6) * self.load.duration_ns / 1e3) * 1000

    def host(self) -> str:
        """A host, most often the one that surely receives."""
        names = self.hosts or tuple(it.name for it in self.fabric.hosts)
        if self.load.receiver in names and self.random.random() < 0.7:
            return self.load.receiver
        return self.random.choice(names)

    def cable(self, *, between_switches: bool = False) -> Link:
        """A cable, between switches where it is asked for."""
        links = [
            it
            for it in self.fabric.links
            if not between_switches or not (self.fabric.node_of(it.a).is_host or self.fabric.node_of(it.b).is_host)
        ]
        return self.random.choice(links)

    def switch(self, *, above_leaves: bool = False) -> str:
        """A switch."""
        return self.random.choice([it.name for it in self.fabric.switches if not above_leaves or it.tier > 1])

    def ends(self, link: Link) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """(devices, ports) of a cable."""
        ports = tuple(self.fabric.port_name(it) for it in (link.a, link.b))
        return tuple(it.partition(":")[0] for it in ports), ports

    def has_several_spines(self) -> bool:
        """Whether traffic survives the loss of one upper switch."""
        return sum(it.tier > 1 for it in self.fabric.switches) > 1


Fault = Callable[[Draw], Injection | None]


def _us(time_ns: int) -> str:
    return f"{time_ns // 1000}us"


def _host_port(draw: Draw, name: str) -> tuple[str, ...]:
    return tuple(draw.fabric.port_name(draw.fabric.ports[it].id) for it in draw.fabric.by_name[name].ports)


def _on_host(draw: Draw, name: str, kinds: tuple[Kind, ...], start: int, end: int, change: str, part: Part) -> Group:
    return Group(kinds, (name,), start, end, _host_port(draw, name), LOSSLESS, change, part)


def _storm(draw: Draw, duration_ns: int, duty: float, part: Part) -> Injection:
    host, at = draw.host(), draw.start_ns()
    end = min(at + duration_ns, draw.load.duration_ns)
    watched = draw.drawn.sections["switches"]["watchdog"] != "off"
    kinds = (Kind.BROKEN_NIC, Kind.WATCHDOG_FLAPPING) if watched else (Kind.BROKEN_NIC,)
    change = f"{host} asks for silence {duty:.0%} of {_us(end - at)}"
    fault: dict[str, Any] = {
        "kind": "pause-storm",
        "hosts": [host],
        "at": _us(at),
        "duration": _us(max(end - at, 1000)),
    }
    if duty < 1:
        fault["duty"] = round(duty, 3)
    return Injection(_on_host(draw, host, kinds, at, end, change, part), (fault,))


def pause_storm(draw: Draw) -> Injection:
    """A NIC that pauses though it holds nothing."""
    duty = 1.0 if draw.random.random() < 0.4 else log_uniform(draw.random, 0.05, 1)
    return _storm(draw, round(log_uniform(draw.random, 2e6, 40e6)), duty, "fault")


def short_storm(draw: Draw) -> Injection:
    """A storm of less than 1 ms."""
    return _storm(draw, round(log_uniform(draw.random, 50e3, 1e6)), 1.0, "near")


def _slow(draw: Draw, low: float, high: float, part: Part) -> Injection:
    host, at = draw.host(), draw.start_ns()
    share = log_uniform(draw.random, low, high)
    arrival = (
        draw.load.arrival_bps if host == draw.load.receiver else draw.load.workload[0]["load"] * (draw.drawn.host_bps)
    )
    below_rate = draw.drawn.host_bps * 19 // 20  # a host that takes its line rate is not slow
    drain = max(min(round(share * arrival), below_rate), 10**7)
    change = f"{host} takes {drain / 1e9:.2f}G, {drain / arrival:.2f} of what arrives"
    group = _on_host(draw, host, (Kind.SLOW_RECEIVER,), at, draw.load.duration_ns, change, part)
    return Injection(group, ({"kind": "slow-receiver", "hosts": [host], "drain": f"{drain}bps", "at": _us(at)},))


def slow_receiver(draw: Draw) -> Injection:
    """A host that takes 0.1 to 0.9 of what arrives."""
    return _slow(draw, 0.1, 0.9, "fault")


def nearly_slow(draw: Draw) -> Injection:
    """A host that takes 1.05 to 2 times what arrives."""
    return _slow(draw, 1.05, 2, "near")


def _bits(draw: Draw, ratio: float, part: Part) -> Injection:
    link, at = draw.cable(), draw.start_ns()
    devices, ports = draw.ends(link)
    group = Group(
        (Kind.BAD_OPTIC,), devices, at, draw.load.duration_ns, ports, None,
        f"one bit in {1 / ratio:.2g} is wrong", part,
    )  # fmt: skip
    return Injection(group, ({"kind": "bit-errors", "link": ports[0], "ratio": ratio, "at": _us(at)},))


def bad_optic(draw: Draw) -> Injection:
    """Bit errors that frames show."""
    return _bits(draw, log_uniform(draw.random, 1e-9, 1e-4), "fault")


def clean_optic(draw: Draw) -> Injection:
    """One bit in 1e13: no frame of the run."""
    return _bits(draw, 1e-13, "near")


def silent_loss(draw: Draw) -> Injection:
    """One frame in 50 to 5,000 vanishes in one direction of a cable."""
    link, at = draw.cable(), draw.start_ns()
    devices, ports = draw.ends(link)
    every = round(log_uniform(draw.random, 50, 5000))
    port = draw.random.choice(ports)
    group = Group(
        (Kind.SILENT_LOSS,), devices, at, draw.load.duration_ns, ports, None, f"one frame in {every} towards {port}"
    )
    return Injection(group, ({"kind": "drop-every", "port": port, "every": every, "at": _us(at)},))


def silent_link(draw: Draw) -> Injection:
    """A cable that loses every frame and keeps its carrier."""
    link, at = draw.cable(between_switches=True), draw.start_ns()
    devices, ports = draw.ends(link)
    kinds = (Kind.SILENT_LOSS, Kind.BGP_DOWN) if "bgp" in draw.drawn.sections else (Kind.SILENT_LOSS,)
    group = Group(kinds, devices, at, draw.load.duration_ns, ports, None, "every frame is lost")
    return Injection(group, ({"kind": "link-silent", "link": ports[0], "at": _us(at)},))


def link_down(draw: Draw) -> Injection:
    """A cable is cut."""
    link, at = draw.cable(between_switches=True), draw.start_ns()
    devices, ports = draw.ends(link)
    group = Group((Kind.LINK_DOWN,), devices, at, draw.load.duration_ns, ports, None, "cut")
    return Injection(group, ({"kind": "link-down", "link": ports[0], "at": _us(at)},))


def link_flap(draw: Draw) -> Injection:
    """Carrier comes and goes: 50 us to 5 ms, 1 to 40 times."""
    link, at = draw.cable(between_switches=True), draw.start_ns()
    devices, ports = draw.ends(link)
    down = round(log_uniform(draw.random, 50, 5000))
    up = round(log_uniform(draw.random, 200, 3000))
    room = (draw.load.duration_ns - at) // 1000 // (down + up)
    times = max(min(round(log_uniform(draw.random, 1, 40)), room), 1)
    kinds = (Kind.LINK_FLAP, Kind.LINK_DOWN) if times > 1 else (Kind.LINK_DOWN,)
    end = min(at + times * (down + up) * 1000, draw.load.duration_ns)
    group = Group(kinds, devices, at, end, ports, None, f"{times} times down for {down} us")
    fault = {
        "kind": "link-flap", "link": ports[0], "at": _us(at), "down": f"{down}us", "up": f"{up}us", "count": times,
    }  # fmt: skip
    return Injection(group, (fault,))


def lanes_lost(draw: Draw) -> Injection:
    """A cable keeps 0.25 to 0.75 of its rate."""
    link, at = draw.cable(), draw.start_ns()
    devices, ports = draw.ends(link)
    share = draw.random.choice((0.25, 0.5, 0.75))
    rate = round(link.rate_bps * share)
    group = Group((Kind.LANES_LOST,), devices, at, draw.load.duration_ns, ports, None, f"{share} of its rate")
    return Injection(group, ({"kind": "link-rate", "link": ports[0], "rate": f"{rate}bps", "at": _us(at)},))


def needed_headroom(rate_bps: float, delay_ns: float) -> float:
    """About the bytes that arrive after XOFF: two ways of the cable, the response time, frames under way."""
    return rate_bps / 8 * (2 * delay_ns / 1e9 + _RESPONSE_S) + _FRAMES_BYTES


def _headroom(draw: Draw, low: float, high: float, part: Part) -> Injection:
    switch, at = _leaf_of(draw, draw.load.receiver), draw.start_ns()
    its = [draw.fabric.ports[it] for it in draw.fabric.by_name[switch].ports]
    up = [it for it in its if not draw.fabric.peer_of(it.id).is_host]
    share = log_uniform(draw.random, low, high)
    size = round(
        share * needed_headroom(max(draw.fabric.links[it.link].rate_bps for it in up or its), draw.drawn.cable_ns)
    )
    group = Group(
        (Kind.HEADROOM_SHORT,), (switch,), at, draw.load.duration_ns, (), LOSSLESS,
        f"headroom of {size:,} B, {share:.2f} of what is needed", part,
    )  # fmt: skip
    return Injection(group, ({"kind": "config-drift", "ports": f"{switch}:*", "headroom": f"{size}B", "at": _us(at)},))


def headroom_short(draw: Draw) -> Injection:
    """Headroom of 0.05 to 0.9 of what is needed."""
    return _headroom(draw, 0.05, 0.9, "fault")


def headroom_tight(draw: Draw) -> Injection:
    """Headroom of 1 to 1.2 times what is needed."""
    return _headroom(draw, 1, 1.2, "near")


def pfc_missing(draw: Draw) -> Injection:
    """Ports of a leaf neither send nor obey PFC, or one port of its neighbour obeys none."""
    leaf, at = _leaf_of(draw, draw.load.receiver), draw.start_ns()
    if draw.random.random() < 0.5:
        change = "all ports without PFC"
        group = Group((Kind.PFC_MISSING,), (leaf,), at, draw.load.duration_ns, (), LOSSLESS, change)
        return Injection(group, ({"kind": "config-drift", "ports": f"{leaf}:*", "pfc_priorities": [], "at": _us(at)},))
    peers = [draw.fabric.ports[draw.fabric.ports[it].peer] for it in draw.fabric.by_name[leaf].ports]
    above = [it for it in peers if not draw.fabric.node_of(it.id).is_host]
    port = draw.fabric.port_name(draw.random.choice(above or peers).id)
    group = Group(
        (Kind.PFC_MISSING,), (port.partition(":")[0],), 0, draw.load.duration_ns, (port,), LOSSLESS, "obeys no PFC"
    )
    return Injection(group, (), ({"port": port, "pfc_honour": []},))


def ecn_late(draw: Draw) -> Injection | None:
    """Marking begins above XOFF, or is off, at one leaf."""
    if "ecn-wrong" in draw.drawn.settings or "cc-off" in draw.drawn.settings:
        return None
    leaf, at = _leaf_of(draw, draw.load.receiver), draw.start_ns()
    group = Group((Kind.ECN_WRONG,), (leaf,), at, draw.load.duration_ns, (), LOSSLESS, "marking is off")
    fault: dict[str, Any] = {"kind": "config-drift", "ports": f"{leaf}:*", "at": _us(at)}
    if draw.random.random() < 0.5:
        return Injection(group, (fault | {"ecn": "off"},))
    kmin = round(log_uniform(draw.random, 2e6, 20e6))
    return Injection(group, (fault | {"ecn_curve": {"kmin": f"{kmin}B", "kmax": f"{2 * kmin}B", "pmax": 0.2}},))


def dscp_map(draw: Draw) -> Injection:
    """A switch puts RoCE into class 1."""
    switch = draw.switch()
    group = Group((Kind.DSCP_MAP,), (switch,), 0, draw.load.duration_ns, (), LOSSLESS, "DSCP 26 is class 1")
    return Injection(group, (), ({"switch": switch, "dscp_to_tc": {26: 1}},))


def mtu(draw: Draw) -> Injection:
    """A cable between switches has an MTU of 1,500 at one end; RDMA packets are larger."""
    link = draw.cable(between_switches=True)
    devices, ports = draw.ends(link)
    port = draw.random.choice(ports)
    at_port = next(it for it in ports if it == port)
    group = Group((Kind.MTU,), devices, 0, draw.load.duration_ns, ports, LOSSLESS, f"{at_port} has an MTU of 1,500")
    return Injection(group, (), ({"port": port, "mtu": "1500B"},))


def switch_down(draw: Draw) -> Injection | None:
    """An upper switch loses power."""
    if not draw.has_several_spines():
        return None
    switch, at = draw.switch(above_leaves=True), draw.start_ns()
    group = Group((Kind.SWITCH_DOWN,), (switch,), at, draw.load.duration_ns, (), None, "no power")
    return Injection(group, ({"kind": "switch-crash", "switch": switch, "at": _us(at)},))


def switch_hang(draw: Draw) -> Injection | None:
    """An upper switch keeps its carrier and forwards nothing."""
    if not draw.has_several_spines():
        return None
    switch, at = draw.switch(above_leaves=True), draw.start_ns()
    group = Group((Kind.SWITCH_HANG,), (switch,), at, draw.load.duration_ns, (), None, "hangs")
    return Injection(group, ({"kind": "switch-crash", "switch": switch, "at": _us(at), "carrier": "kept"},))


def black_hole(draw: Draw) -> Injection:
    """A switch has no route for one host."""
    switch, at = draw.switch(above_leaves=True) if draw.has_several_spines() else draw.switch(), draw.start_ns()
    host = draw.host()
    group = Group((Kind.BLACK_HOLE,), (switch,), at, draw.load.duration_ns, (), None, f"no route for {host}")
    return Injection(group, ({"kind": "route", "switches": [switch], "hosts": [host], "via": [], "at": _us(at)},))


def bgp_down(draw: Draw) -> Injection | None:
    """The routing daemons of a switch crash."""
    if "bgp" not in draw.drawn.sections:
        return None
    switch, at = draw.switch(), draw.start_ns()
    group = Group((Kind.BGP_DOWN,), (switch,), at, draw.load.duration_ns, (), None, "daemons crash")
    return Injection(group, ({"kind": "bgp-crash", "switch": switch, "at": _us(at)},))


def drained(draw: Draw) -> Injection | None:
    """An announced drain, sessions kept: nothing is wrong."""
    if "bgp" not in draw.drawn.sections or not draw.has_several_spines():
        return None
    switch, at = draw.switch(above_leaves=True), draw.start_ns()
    group = Group((Kind.BGP_DOWN,), (switch,), at, draw.load.duration_ns, (), None, "announced drain", "near")
    return Injection(group, ({"kind": "drain", "switch": switch, "at": _us(at)},))


def mac_moves(draw: Draw) -> Injection | None:
    """A host's address is learned at two leaves in turn."""
    return _moves(draw, draw.random.randint(6, 12), "fault")


def one_move(draw: Draw) -> Injection | None:
    """A host moves once."""
    return _moves(draw, 1, "near")


def _moves(draw: Draw, times: int, part: Part) -> Injection | None:
    if "bgp" not in draw.drawn.sections or not draw.drawn.overlay:
        return None
    host, at = draw.host(), draw.start_ns()
    home = _leaf_of(draw, host)
    other = draw.random.choice([it.name for it in draw.fabric.switches if it.tier == 1 and it.name != home])
    gap = max((draw.load.duration_ns - at) // (times + 1) // 1000 * 1000, 1000)
    faults = tuple(
        {"name": f"move-{row}", "kind": "mac-move", "host": host, "to": other if row % 2 == 0 else home,
         "at": _us(at + row * gap), "arps": 1}
        for row in range(times)
    )  # fmt: skip
    group = Group(
        (Kind.MAC_MOVE,), (home, other), at, draw.load.duration_ns, (), None,
        f"{host} moves {times} times between {home} and {other}", part,
    )  # fmt: skip
    return Injection(group, faults)


def evpn_loss(draw: Draw) -> Injection | None:
    """All hosts of a leaf leave the overlay."""
    if "bgp" not in draw.drawn.sections or not draw.drawn.overlay:
        return None
    leaf, at = draw.random.choice([it.name for it in draw.fabric.switches if it.tier == 1]), draw.start_ns()
    hosts = sorted({it.name for it in draw.fabric.hosts if _leaf_of(draw, it.name) == leaf})
    group = Group((Kind.EVPN_LOSS,), (leaf,), at, draw.load.duration_ns, (), None, f"the hosts of {leaf} leave")
    return Injection(group, ({"kind": "host-leave", "hosts": hosts, "at": _us(at)},))


def _leaf_of(draw: Draw, host: str) -> str:
    """A switch that a host is attached to."""
    return draw.fabric.peer_of(draw.fabric.ports[draw.fabric.by_name[host].first_port].id).name


FAULTS: Final[Mapping[str, Fault]] = {
    "pause-storm": pause_storm,
    "slow-receiver": slow_receiver,
    "bad-optic": bad_optic,
    "silent-loss": silent_loss,
    "silent-link": silent_link,
    "link-down": link_down,
    "link-flap": link_flap,
    "lanes-lost": lanes_lost,
    "headroom-short": headroom_short,
    "pfc-missing": pfc_missing,
    "ecn-late": ecn_late,
    "dscp-map": dscp_map,
    "mtu": mtu,
    "switch-down": switch_down,
    "switch-hang": switch_hang,
    "black-hole": black_hole,
    "bgp-down": bgp_down,
    "mac-move": mac_moves,
    "evpn-loss": evpn_loss,
}
NEAR: Final[Mapping[str, Fault]] = {
    "short-storm": short_storm,
    "nearly-slow": nearly_slow,
    "clean-optic": clean_optic,
    "headroom-tight": headroom_tight,
    "announced-drain": drained,
    "one-move": one_move,
}
