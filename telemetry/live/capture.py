"""Packets of a live run as pcapng, to a file or to a reader that comes and goes, such as Wireshark at a FIFO.

Rules
1. Faults and changes of the API are in the packets, because the tap is at the engine of the run.
2. The tap is attached only while somebody reads: a file from the start to the end of the run, a FIFO from a reader's
   arrival to its leaving. A reader that leaves ends its capture, never the run.
3. A reader that stops reading holds the run for at most PATIENCE_S. Then frames are left out, and the comment of the
   next frame has their number.
4. Times are simulated time over all passes, so that they never decrease.

The simulation thread describes the frames; a thread of its own writes them (fabric/capture/process.py).
"""

from __future__ import annotations

import logging
import os
import queue
import select
import stat
import threading
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from numpy.typing import NDArray

from fabric.capture.packets import Packets
from fabric.capture.process import Frame, FrameFile
from fabric.capture.sessions import Segment, segments
from fabric.capture.taps import Sighting, Taps
from fabric.controlplane.network.run import ControlRun
from fabric.dataplane.engine.counters import Snapshot
from fabric.dataplane.engine.driver import Emulator
from fabric.errors import FabricError
from fabric.units import PS_PER_NS, format_time_ps
from telemetry.live.simulation import Observer
from telemetry.live.world import LiveWorld

log = logging.getLogger(__name__)

PATIENCE_S: Final = 1.0
"""How long a full queue holds the run."""
MAX_FRAMES: Final = 20_000
"""Frames between the two threads."""
_LOOK_S: Final = 0.1
"""Time between two checks for a reader."""
_END_S: Final = 10.0
"""How long the end of the run waits for the last frames to be written."""
_Item = tuple[int, Frame]
"""(nanoseconds, frame)."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a capture goes; without a path, to standard output."""

    path: Path | None

    @property
    def is_fifo(self) -> bool:
        """Whether readers come and go."""
        return self.path is not None and self.path.exists() and stat.S_ISFIFO(self.path.stat().st_mode)

    @property
    def is_file(self) -> bool:
        """Whether it is a file on a disk: no reader can be slow, or leave."""
        if self.path is None:
            return stat.S_ISREG(os.fstat(1).st_mode)
        return not self.path.exists() or self.path.is_file()

    def __str__(self) -> str:
        """For messages."""
        return "standard output" if self.path is None else str(self.path)


class LiveCapture(Observer):
    """Observer that captures at some ports.

    Parameters
    ----------
    world, ports    the run; rows of the ports
    make_packets    frames of an emulator's packets
    place           where they go
    """

    def __init__(
        self, world: LiveWorld, ports: Sequence[int], make_packets: Callable[[Emulator], Packets], place: Place
    ) -> None:
        self._world, self._ports, self._make, self._place = world, tuple(ports), make_packets, place
        self._frames: queue.Queue[_Item] = queue.Queue(MAX_FRAMES)
        self._read = threading.Event()
        """Somebody reads; set and cleared by the writer."""
        self._ended = threading.Event()
        """No frame will come any more."""
        self._is_file, self._is_fifo = place.is_file, place.is_fifo
        self._file = FrameFile(place.path) if self._is_file else None
        if self._is_file:
            self._read.set()
        self._thread = threading.Thread(target=self._write_all, name="capture", daemon=True)
        self._attached = False
        self._before_ps = self._from_ps = 0
        self._left_out = 0
        self._stalled = False
        self._packets: Packets | None = None
        self._routed: ControlRun | None = None
        self._segments: list[Segment] = []
        self._told_ps = 0
        """Messages before this have been written."""

    def __enter__(self) -> Self:
        """Start to write."""
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Write what is left, for a while."""
        self._ended.set()
        self._thread.join(_END_S)
        if self._thread.is_alive():
            log.warning("the capture is not whole: its reader does not read", extra={"capture": str(self._place)})
            if self._file is not None:
                self._file.abandon()
            self._thread.join(_END_S)

    # ===== the simulation thread =====

    def begin(self, number: int) -> None:  # noqa: ARG002  every pass begins alike
        """A new engine."""
        self._attached, self._routed, self._told_ps = False, None, 0
        self._attend()

    def events(self, rows: NDArray[Any], complete_ps: int) -> None:  # noqa: ARG002  the engine gives them to the taps
        """Follow the readers."""
        self._attend()

    def end(self, reason: str, now: Snapshot) -> None:  # noqa: ARG002  only that it ends
        """The last frames of a pass."""
        self._detach()
        self._before_ps += now.time_ps

    def _attend(self) -> None:
        """Attach or detach the tap."""
        if self._read.is_set() == self._attached:
            return
        if self._attached:
            self._detach()
            return
        engine = self._world.engine
        self._from_ps, self._packets = engine.now_ps, self._make(engine)
        self._routed, self._left_out, self._stalled = None, 0, False
        engine.attach(Taps(engine, self._ports), self._take)
        self._attached = True
        log.info("capture begins", extra={"capture": str(self._place), "at": format_time_ps(engine.now_ps)})

    def _detach(self) -> None:
        if self._attached:
            self._world.engine.detach()
            self._attached = False

    def _take(self, seen: list[Sighting], before_ps: int) -> None:
        """Frames of hosts, and the messages between switches before this time."""
        if not self._read.is_set() or self._packets is None:
            return
        frames = [(it.time_ps, self._packets.frame(it)) for it in seen if it.time_ps >= self._from_ps]
        told = self._told(before_ps)
        for time_ps, frame in sorted([*told, *frames], key=lambda it: it[0]) if told else frames:
            self._put(time_ps, frame)

    def _told(self, before_ps: int) -> list[tuple[int, Frame]]:
        """BGP messages before a time, once: of the control plane with the faults so far."""
        control = self._world.control
        if control is None:
            return []
        if self._routed is not control:
            since_ps, fabric = max(self._from_ps, self._told_ps), self._world.engine.fabric
            # An injected fault changes no message before it (docs/decisions/0009).
            self._segments = segments(control, fabric, frozenset(self._ports), since_ps, self._world.duration_ps)
            self._routed = control
        number = bisect_left(self._segments, before_ps, key=lambda it: it.time_ps)
        found, self._segments = self._segments[:number], self._segments[number:]
        self._told_ps = max(self._told_ps, before_ps)
        return [(it.time_ps, it.frame) for it in found]

    def _put(self, time_ps: int, frame: Frame) -> None:
        if not self._read.is_set():  # nobody would make room
            return
        item = (self._before_ps + time_ps) // PS_PER_NS, frame
        if self._left_out:
            comment = f"{self._left_out} packets before this one are missing: the reader was slow"
            item = item[0], {**frame, "comment": "; ".join(filter(None, (comment, frame.get("comment"))))}
        try:
            # A disk is slow at times, but it is not gone.
            self._frames.put(item, timeout=None if self._is_file else 0 if self._stalled else PATIENCE_S)
        except queue.Full:
            if not self._left_out:
                log.warning("the reader of the capture is slow: packets are left out")
            self._left_out, self._stalled = self._left_out + 1, True
        else:
            self._left_out, self._stalled = 0, False

    # ===== the writer =====

    def _write_all(self) -> None:
        watched = -1
        while self._file is not None or (watched := self._opened()) >= 0:
            left = self._write_until_gone(watched)
            self._read.clear()
            self._file = None
            if watched >= 0:
                os.close(watched)
            self._empty()
            if not (left and self._is_fifo):
                return

    def _opened(self) -> int:
        """A descriptor of the output, once it has a reader; -1: the run ended first."""
        while not self._ended.is_set():
            try:
                end = os.dup(1) if self._place.path is None else os.open(self._place.path, os.O_WRONLY | os.O_NONBLOCK)
            except OSError:  # ENXIO: nobody has opened the FIFO to read
                self._ended.wait(_LOOK_S)
                continue
            os.set_blocking(end, True)  # the program that writes shares it
            self._file = FrameFile(end)
            self._empty()
            self._read.set()
            return end
        return -1

    def _write_until_gone(self, end: int) -> bool:
        """Write; returns whether the reader left, or the output failed, before the run ended."""
        file = self._file
        assert file is not None  # noqa: S101  _write_all() has seen it
        watched = select.poll()
        if end >= 0:
            watched.register(end, 0)  # POLLERR alone: no reader is left
        try:
            while not (self._ended.is_set() and self._frames.empty()):
                try:
                    at_ns, frame = self._frames.get(timeout=_LOOK_S)
                except queue.Empty:
                    if end >= 0 and watched.poll(0):
                        raise BrokenPipeError from None
                    continue
                file.write(at_ns, frame, flush=self._frames.empty())
            file.close()
        except BrokenPipeError:
            log.info("the reader of the capture has left", extra={"capture": str(self._place)})
        except (OSError, FabricError) as error:
            log.warning("the capture has ended early", extra={"capture": str(self._place), "why": str(error)})
        else:
            return False
        file.abandon()
        return True

    def _empty(self) -> None:
        """Remove frames that nobody will read; so a run that waits for room goes on."""
        while True:
            try:
                self._frames.get_nowait()
            except queue.Empty:
                return
