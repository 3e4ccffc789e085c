"""One control plane from cold start to the end of a run, and its results for the data plane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fabric.controlplane.network.config import ControlConfig
from fabric.controlplane.network.events import ControlEvent
from fabric.controlplane.network.forwarding import Ports
from fabric.controlplane.network.network import Network
from fabric.controlplane.network.pending import Pending, pending
from fabric.controlplane.network.plan import ControlPlan
from fabric.controlplane.network.record import (
    Alarm,
    BindingChange,
    Convergence,
    EgressChange,
    FloodChange,
    LocationChange,
    RouteChange,
    SessionChange,
)

Location = tuple[int, int]
"""(router of the endpoint's VTEP, row of the local data-plane port or -1)."""


@dataclass(frozen=True)
class ControlScript:
    """All inputs of a control plane."""

    plan: ControlPlan
    config: ControlConfig
    events: tuple[ControlEvent, ...]
    """Dated after convergence, in nanoseconds of the run's clock."""
    seed: int

    def at(self, time_ns: int) -> Network:
        """The whole network at a time: speakers, RIBs, VTEPs. Simulated again at every call, with the same result."""
        network = Network(self.plan, self.config, self.seed)
        network.converge()
        network.schedule(self.events)
        network.advance(time_ns)
        return network


@dataclass(frozen=True)
class ControlRun(ControlScript):
    """A finished control plane: tables at time 0 and every later change. Times are nanoseconds of the run's clock."""

    epoch_ns: int
    """Time from the cold start of all switches to time 0 of the run."""
    converged_ns: int
    """Time from the cold start to the last change before time 0."""
    start_messages: int
    """Messages sent until time 0."""
    routes_at_start: tuple[Mapping[bytes, Ports], ...]
    """Per router: prefix -> ports."""
    locations_at_start: tuple[Mapping[tuple[int, str], Location], ...]
    """Per router: (VNI, MAC) -> location of the endpoint."""
    floods_at_start: tuple[Mapping[int, tuple[int, ...]], ...]
    """Per router: VNI -> routers to which its VTEP replicates broadcast."""
    bindings_at_start: tuple[frozenset[tuple[int, str]], ...]
    """Per router: (VNI, IP) of the bindings by which its VTEP answers ARP."""
    routes: tuple[RouteChange, ...]
    locations: tuple[LocationChange, ...]
    floods: tuple[FloodChange, ...]
    bindings: tuple[BindingChange, ...]
    sessions: tuple[SessionChange, ...]
    alarms: tuple[Alarm, ...]
    convergence: tuple[Convergence, ...]
    egresses_at_start: tuple[Mapping[int, tuple[int, ...]], ...] = ()
    """Per router: host (row in the data plane) -> routers of the egress VTEPs for packets to the host."""
    egresses: tuple[EgressChange, ...] = ()
    pending: tuple[Pending, ...] = ()
    """Timers that would have changed routes later, at the end of the simulation."""


def run_control(
    plan: ControlPlan, config: ControlConfig, events: Sequence[ControlEvent], duration_ns: int, seed: int = 1
) -> ControlRun:
    """Start all switches, let them converge, and simulate the dated events until the end of the run.

    Parameters
    ----------
    plan, config                  routers and their configuration
    events : sequence             dated after convergence, in nanoseconds of the run's clock
    duration_ns : int             end of the run
    seed : int                    of all random values (draws.py)

    Raises: FabricError if the network does not converge.
    """
    network = Network(plan, config, seed)
    network.converge()
    recorder = network.recorder
    converged_ns, start_messages = recorder.last_change_ns, recorder.sends
    routes = tuple(switch.routes() for switch in network.switches)
    locations = tuple(switch.locations() for switch in network.switches)
    floods = tuple(switch.floods() for switch in network.switches)
    bindings = tuple(switch.bindings() for switch in network.switches)
    egresses = tuple(switch.egresses() for switch in network.switches)
    network.schedule(events)
    network.advance(duration_ns)
    return ControlRun(
        plan,
        config,
        tuple(events),
        seed,
        network.epoch_ns,
        converged_ns,
        start_messages,
        routes,
        locations,
        floods,
        bindings,
        tuple(recorder.routes),
        tuple(recorder.locations),
        tuple(recorder.floods),
        tuple(recorder.bindings),
        tuple(recorder.sessions),
        tuple(recorder.alarms),
        tuple(recorder.convergence),
        egresses,
        tuple(recorder.egresses),
        pending(network),
    )
