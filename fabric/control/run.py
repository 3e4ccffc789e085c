"""One control plane from cold start to the end of a run, and what the data plane needs to know of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fabric.control.config import ControlConfig
from fabric.control.events import ControlEvent
from fabric.control.forwarding import Ports
from fabric.control.network import Network
from fabric.control.plan import ControlPlan
from fabric.control.record import (
    Alarm,
    BindingChange,
    Convergence,
    FloodChange,
    LocationChange,
    RouteChange,
    SessionChange,
    WayChange,
)

Location = tuple[int, int]
"""(router behind whose VTEP an endpoint is, row of the local data-plane port or -1)."""


@dataclass(frozen=True)
class ControlScript:
    """All that a control plane is a function of."""

    plan: ControlPlan
    config: ControlConfig
    events: tuple[ControlEvent, ...]
    """Dated after convergence, in nanoseconds of the run's clock."""
    seed: int

    def at(self, time_ns: int) -> Network:
        """The whole network as it was at a moment: speakers, RIBs, VTEPs. Computed anew, and the same every time."""
        network = Network(self.plan, self.config, self.seed)
        network.converge()
        network.schedule(self.events)
        network.advance(time_ns)
        return network


@dataclass(frozen=True)
class ControlRun(ControlScript):
    """A finished control plane: tables at time 0 and every later change. Times are nanoseconds of the run's clock."""

    epoch_ns: int
    """From the cold start of all switches to the run's time 0."""
    converged_ns: int
    """From the cold start to the last change before time 0."""
    start_messages: int
    """Messages sent until then."""
    routes_at_start: tuple[Mapping[bytes, Ports], ...]
    """Per router: prefix -> ports."""
    locations_at_start: tuple[Mapping[tuple[int, str], Location], ...]
    """Per router: (VNI, MAC) -> where it believes the endpoint."""
    floods_at_start: tuple[Mapping[int, tuple[int, ...]], ...]
    """Per router: VNI -> routers to which its VTEP replicates broadcast."""
    bindings_at_start: tuple[frozenset[tuple[int, str]], ...]
    """Per router: (VNI, IP) of hosts that its VTEP knows well enough to answer ARP for."""
    routes: tuple[RouteChange, ...]
    locations: tuple[LocationChange, ...]
    floods: tuple[FloodChange, ...]
    bindings: tuple[BindingChange, ...]
    sessions: tuple[SessionChange, ...]
    alarms: tuple[Alarm, ...]
    convergence: tuple[Convergence, ...]
    ways_at_start: tuple[Mapping[int, tuple[int, ...]], ...] = ()
    """Per router: host (row in the data plane) -> routers to whose VTEPs it routes the host's packets."""
    ways: tuple[WayChange, ...] = ()


def run_control(plan: ControlPlan, config: ControlConfig, events: Sequence[ControlEvent], duration_ns: int,
                seed: int = 1) -> ControlRun:
    """Start all switches, let them converge, and play the dated events until the end of the run.

    Parameters
    ----------
    plan, config                  who, and how
    events : sequence             dated after convergence, in nanoseconds of the run's clock
    duration_ns : int             end of the run
    seed : int                    of everything that is drawn (draws.py)

    Raises: FabricError where the network does not converge.
    """
    network = Network(plan, config, seed)
    network.converge()
    recorder = network.recorder
    converged_ns, start_messages = recorder.last_change_ns, recorder.sends
    routes = tuple(switch.routes() for switch in network.switches)
    locations = tuple(switch.locations() for switch in network.switches)
    floods = tuple(switch.floods() for switch in network.switches)
    bindings = tuple(switch.bindings() for switch in network.switches)
    ways = tuple(switch.ways() for switch in network.switches)
    network.schedule(events)
    network.advance(duration_ns)
    return ControlRun(
        plan, config, tuple(events), seed, network.epoch_ns, converged_ns, start_messages, routes, locations, floods,
        bindings,
        tuple(recorder.routes), tuple(recorder.locations), tuple(recorder.floods), tuple(recorder.bindings),
        tuple(recorder.sessions), tuple(recorder.alarms), tuple(recorder.convergence), ways, tuple(recorder.ways))
