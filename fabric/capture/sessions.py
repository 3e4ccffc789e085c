"""BGP messages of a run at some of its ports, in the run's time.

A run simulates its control plane first (docs/decisions/0009), so this does the same once more, up to the end of the
capture. The segments are those of bgp.py: a frame arrives when its bytes are delivered, and it departed from the other
end the cable's propagation earlier. Its time to be sent is not modelled: a control plane's bytes take no bandwidth.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from fabric.capture.bgp import SessionFrames
from fabric.capture.process import Frame
from fabric.controlplane.network.network import Network
from fabric.controlplane.network.plan import Interface
from fabric.controlplane.network.run import ControlScript
from fabric.topology.model import Fabric
from fabric.units import PS_PER_NS


@dataclass(frozen=True, slots=True)
class Segment:
    """A TCP segment of a session at a port."""

    time_ps: int
    """Since the start of the run."""
    frame: Frame
    """With interface and direction."""


def segments(control: ControlScript, fabric: Fabric, ports: Collection[int], from_ps: int, to_ps: int) -> list[Segment]:
    """Segments at `ports` (rows) in [from_ps, to_ps), in the order of time.

    Raises: FabricError if the control plane does not converge.
    """
    network = Network(control.plan, control.config, control.seed)
    found: list[Segment] = []

    def note(time_ns: int, port: int, direction: Literal["in", "out"], frame: Frame) -> None:
        time_ps = time_ns * PS_PER_NS
        if port in ports and from_ps <= time_ps < to_ps:
            found.append(Segment(time_ps, {**frame, "interface": fabric.port_name(port), "direction": direction}))

    def emit(now_ns: int, sender: Interface, receiver: Interface, frame: Frame) -> None:
        epoch_ns = network.recorder.epoch_ns
        if epoch_ns is None:
            return  # before the run: sessions come up, tables converge
        arrival_ns = now_ns - epoch_ns
        note(arrival_ns - control.plan.cables[sender.cable].delay_ns, sender.port, "out", frame)
        note(arrival_ns, receiver.port, "in", frame)

    frames = SessionFrames(network, emit)
    try:
        network.converge()
        network.schedule(control.events)
        network.advance(-(-to_ps // PS_PER_NS))
    finally:
        frames.close()
    return sorted(found, key=lambda it: it.time_ps)
