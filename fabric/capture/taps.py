"""Frames on the cables of some ports, read while a fabric is simulated, without any change of the engine.

A frame is in the list of its wire from its departure until it takes effect at the other end, which is at least the
wire's delay (dataplane/port/wire, rule 1). So a simulation that stops at least once per delay passes no frame by, and a
run without a tap costs nothing.

Rules
1. A frame's time is the end of its last bit at the tapped port: departure for a frame that the port sends, arrival for
   one that it receives.
2. A tapped port sees what is on its cable, frames included that are discarded on arrival or lost with the link later.
3. The reason for a mark or a discard is found by its exact time: a switch decides about a packet at the instant of its
   arrival, or, with marking at dequeue, at the start of its departure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import EventKind, Stop, TraceBit
from fabric.dataplane.state.types import TX_SIZES
from fabric.topology.model import Fabric

RECORD: Final = TraceBit.MARK | TraceBit.DROP
"""Events that an emulator has to record, so that a frame's reason is known."""
_EVENTS: Final = (int(EventKind.MARK), int(EventKind.DROP))
_KEY: Final = ("kind", "qp", "seq", "src")
"""Fields that name a packet beyond one hop; not unique for retransmissions, which a later mark replaces."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """One frame at a tapped port."""

    time_ps: int
    """End of its last bit at the port."""
    port: int
    direction: Literal["in", "out"]
    frame: np.void
    """Its row of PACKET, copied: what the frame is on this cable."""
    mark: np.void | None = None
    """The event by which the switch of this port has marked it."""
    drop: np.void | None = None
    """The event by which the device of this port discarded it on arrival."""


@dataclass(slots=True)
class _Wire:
    """One direction of a cable, as seen from one end."""

    port: int
    """The tapped port."""
    direction: Literal["in", "out"]
    sender: int
    receiver: int
    control: bool
    """The list of flow-control frames."""
    shown: bool
    """False: it is read only for what becomes of its packets in the switch."""
    last_ps: int = -1
    """Effect of the newest frame that was read."""


class Taps:
    """Taps at ports of a fabric.

    Parameters
    ----------
    emulator    records RECORD, and has not been advanced beyond the begin of the capture
    ports       rows of the ports
    stops_ps    times at which frames may vanish from a cable: those of dated edits
    """

    def __init__(self, emulator: Emulator, ports: Sequence[int], stops_ps: Sequence[int] = ()) -> None:
        self._emulator = emulator
        self._fabric: Fabric = emulator.fabric
        self._stops_ps = sorted(set(stops_ps))
        self._wires = [wire for port in ports for wire in self._wires_of(port, shown=True)]
        tapped = self._shown = frozenset(ports)
        for device in dict.fromkeys(self._fabric.ports[port].node for port in ports):
            node = self._fabric.nodes[device]
            if not node.is_host:
                others = [port for port in node.ports if port not in tapped]
                self._wires += [w for port in others for w in self._wires_of(port, shown=False) if w.direction == "in"]
        self._marks: dict[tuple[int, tuple[int, ...]], np.void] = {}
        """(egress port, packet) -> the mark on arrival."""
        self._departures: dict[tuple[int, int, int], np.void] = {}
        """(egress port, time, queue pair) -> the mark at dequeue."""
        self._drops: dict[tuple[int, int, int], np.void] = {}
        """(device, time, queue pair) -> the discard."""
        self._arrivals: dict[tuple[int, int], list[np.void]] = {}
        """(device, time) -> frames that take effect then."""
        self._waiting: list[Sighting] = []
        """Read, but not yet handed out."""

    def _wires_of(self, port: int, *, shown: bool) -> list[_Wire]:
        peer = int(self._fabric.ports[port].peer)
        kinds = (False, True) if shown else (False,)
        return [
            wire
            for control in kinds
            for wire in (_Wire(port, "out", port, peer, control, shown), _Wire(port, "in", peer, port, control, shown))
        ]

    def sightings(self, from_ps: int, to_ps: int) -> Iterator[Sighting]:
        """Simulate from the emulator's time to to_ps; frames whose last bit passes in [from_ps, to_ps), in order."""
        emulator = self._emulator
        emulator.advance(max(0, from_ps - self.longest_ps()))
        emulator.drain_events()
        now_ps, idle = emulator.now_ps, False
        # By then every frame that passes before to_ps has taken effect, however many are on the way behind it.
        while (self._waiting or not idle) and now_ps < to_ps + self.longest_ps() + self.step_ps():
            until_ps = now_ps + self.step_ps()
            now_ps = min(until_ps, next((stop for stop in self._stops_ps if now_ps < stop), until_ps))
            idle = emulator.advance(now_ps) is Stop.IDLE
            self.read()
            self.note(emulator.drain_events())
            yield from (seen for seen in self.settled(now_ps) if from_ps <= seen.time_ps < to_ps)

    # ===== for a caller that advances the emulator itself =====

    def step_ps(self) -> int:
        """A simulated time in which no frame both departs and arrives: stop and read at least once in each.

        Stop and read before each dated edit too.
        """
        ports = self._emulator.state.ports
        senders = [wire.sender for wire in self._wires]
        return max(1, int(min(ports["arrival_delay_ps"][senders].min(), ports["pause_delay_ps"][senders].min())))

    def read(self) -> None:
        """Read the cables at a stop; before note() of the events up to it."""
        self._waiting += self._read()

    def settled(self, now_ps: int) -> list[Sighting]:
        """Frames whose reasons are known when everything before now_ps has been read and noted, in order, once."""
        done_ps = now_ps - self.longest_ps()
        found = self._passed(done_ps)
        self._forget(done_ps)
        return found

    def rest(self) -> list[Sighting]:
        """At the end of a run: the frames whose last bit has passed by the emulator's time, in order."""
        return self._passed(self._emulator.now_ps + 1)

    def _passed(self, before_ps: int) -> list[Sighting]:
        ready = [it for it in self._waiting if it.time_ps < before_ps]
        self._waiting = [it for it in self._waiting if it.time_ps >= before_ps]
        return [self._explained(it) for it in sorted(ready, key=lambda it: (it.time_ps, it.port, it.direction))]

    # ===== time =====

    def longest_ps(self) -> int:
        """From the last bit of a frame at a tapped port to its effect at most."""
        ports = self._emulator.state.ports
        senders = [wire.sender for wire in self._wires]
        return int(max(ports["arrival_delay_ps"][senders].max(), ports["pause_delay_ps"][senders].max()))

    def _serialisation_ps(self, seen: Sighting) -> int:
        """As transmit.serialisation_ps(), which only kernels can call."""
        state = self._emulator.state
        return int(state.tx_ps[int(state.ports[seen.port]["rate_row"]) * TX_SIZES + int(seen.frame["size"])])

    # ===== frames =====

    def _read(self) -> list[Sighting]:
        """Frames that are on the tapped wires for the first time."""
        state, found = self._emulator.state, []
        for wire in self._wires:
            packet = int(state.ports[wire.receiver]["pin_head" if wire.control else "in_head"])
            sender = state.ports[wire.sender]
            delay_ps = int(sender["pause_delay_ps" if wire.control else "arrival_delay_ps"])
            after_ps = delay_ps if wire.direction == "out" else delay_ps - int(sender["propagation_ps"])
            while packet:
                row = state.packets[packet]
                if row["time_ps"] > wire.last_ps:
                    wire.last_ps = int(row["time_ps"])
                    frame = row.copy()
                    if wire.direction == "in" and not wire.control:
                        device = int(self._fabric.ports[wire.port].node)
                        self._arrivals.setdefault((device, wire.last_ps), []).append(frame)
                    if wire.shown:
                        found.append(Sighting(wire.last_ps - after_ps, wire.port, wire.direction, frame))
                packet = int(row["next"])
        return found

    # ===== reasons =====

    def note(self, events: NDArray[Any]) -> None:
        """Remember by which event each packet was marked or discarded."""
        for event in events[np.isin(events["kind"], _EVENTS)]:
            device, time_ps, port, qp = (int(event[field]) for field in ("device", "time_ps", "port", "qp"))
            if event["kind"] == EventKind.DROP:
                self._drops[device, time_ps, qp] = event.copy()
                continue
            if port not in self._shown:
                continue
            arrived = [it for it in self._arrivals.get((device, time_ps), ()) if it["qp"] == qp]
            for frame in arrived:
                self._marks[port, _key(frame)] = event.copy()
            if not arrived:
                self._departures[port, time_ps, qp] = event.copy()

    def _explained(self, seen: Sighting) -> Sighting:
        """The frame with its reasons."""
        device, qp = int(self._fabric.ports[seen.port].node), int(seen.frame["qp"])
        if seen.direction == "in":
            return replace(seen, drop=self._drops.get((device, int(seen.frame["time_ps"]), qp)))
        mark = self._marks.pop((seen.port, _key(seen.frame)), None)
        if mark is None:
            mark = self._departures.get((seen.port, seen.time_ps - self._serialisation_ps(seen), qp))
        return replace(seen, mark=mark)

    def _forget(self, before_ps: int) -> None:
        """Drop what no later frame can refer to."""
        before_ps -= self.longest_ps()
        self._arrivals = {key: value for key, value in self._arrivals.items() if key[1] >= before_ps}
        self._drops = {key: value for key, value in self._drops.items() if key[1] >= before_ps}
        self._departures = {key: value for key, value in self._departures.items() if key[1] >= before_ps}


def _key(frame: np.void) -> tuple[int, ...]:
    return tuple(int(frame[field]) for field in _KEY)
