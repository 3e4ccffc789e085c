"""Speakers, VTEPs and cables of one fabric on one clock: a heap of calls, ordered by (time, order of scheduling).

    network = Network(plan, config, seed)
    epoch_ns = network.converge()               from cold start to convergence: the run's time 0
    network.schedule(events)                    dated after the epoch
    network.advance(until_ns)                   everything before that time, in nanoseconds after the epoch

The same arguments give the same network at the same time, so a view "at TIME" is a network advanced to TIME. Messages
are RFC 4271 bytes from speaker to speaker. They take the propagation delay of cables and do not queue behind data
packets.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from fabric.controlplane.bgp.actions import (
    Action,
    Change,
    Close,
    Connect,
    RoutesChanged,
    RoutesReceived,
    Send,
    SessionDown,
    SessionUp,
)
from fabric.controlplane.bgp.cause import Cause
from fabric.controlplane.bgp.fsm import State
from fabric.controlplane.bgp.update import Memory
from fabric.controlplane.network import events as e
from fabric.controlplane.network.config import NS_PER_S, ControlConfig, Jitter
from fabric.controlplane.network.draws import Draws
from fabric.controlplane.network.event_handlers import handle
from fabric.controlplane.network.plan import Cable, ControlPlan
from fabric.controlplane.network.record import Recorder
from fabric.controlplane.network.speakers import families
from fabric.controlplane.network.switch import Switch
from fabric.controlplane.network.transport import RETRANSMIT_NS, SYN_RETRIES_NS, Transport
from fabric.controlplane.network.whereabouts import Whereabouts, key_of
from fabric.errors import FabricError
from fabric.garbage_collection import without_collector

QUIET_NS: Final = 3 * NS_PER_S
"""Converged: no route changed for this long, and no message is in flight."""
COLLISION_LOSS_RATIO: Final = 13 / 21
"""See Network._collide."""
LONGEST_START_NS: Final = 120 * NS_PER_S
"""A network that has not converged by then oscillates (RFC 3345)."""


def by_cause(changes: Sequence[Change], cause: Cause) -> Iterator[Sequence[Change]]:
    """Group changes by cause; `cause.now` is set for each group."""
    first = changes[0].cause
    if all(change.cause == first for change in changes):
        cause.now = first
        yield changes
        return
    for number in dict.fromkeys(change.cause for change in changes):
        cause.now = number
        yield [change for change in changes if change.cause == number]


class Network:
    """Control plane of one fabric. `now_ns` counts from the cold start; `epoch_ns` is time 0 of the run."""

    def __init__(self, plan: ControlPlan, config: ControlConfig, seed: int = 1) -> None:
        self.plan = plan
        self.config = config
        self.now_ns = 0
        self.epoch_ns = 0
        self.cause = Cause()
        """Number of the event that causes the current call; record.py keeps the events."""
        self.recorder = Recorder(self.cause, [(it.vni, it.mac) for it in plan.endpoints])
        memory = Memory(families(plan))
        self.draws = Draws(seed, config.jitter)
        self.switches = [
            Switch(plan, router, config, self.recorder, memory, self.cause, self.draws.timer_key(router.name))
            for router in plan.routers
        ]
        self.transports = [self._transport(cable) for cable in plan.cables]
        self._heap: list[tuple[int, int, int, Callable[..., None], tuple[Any, ...]]] = []
        self._order = 0
        self.down_ports: set[tuple[int, int]] = set()
        """(router, data-plane port) without carrier."""
        self.on_delivery: Callable[[int, Transport, int, bytes], None] | None = None
        """Called for every delivery of BGP messages: (now_ns, transport, receiving side, bytes). For captures."""
        self._whereabouts = Whereabouts(plan)
        self._boot_all()

    def _transport(self, cable: Cable) -> Transport:
        ends = [self.plan.interfaces[row] for row in (cable.a, cable.b)]
        transport = Transport(
            cable.row,
            cable.delay_ns,
            (ends[0].router, ends[1].router),
            (self.switches[ends[0].router].name_of(ends[0]), self.switches[ends[1].router].name_of(ends[1])),
        )
        for side, end in enumerate(ends):
            self.switches[end.router].links[transport.names[side]] = (transport, side)
        return transport

    def _boot_all(self) -> None:
        for switch in self.switches:
            switch.powered = True
            self.boot(switch)

    def boot(self, switch: Switch) -> None:
        """Start the daemon of a switch. When it is up, the hosts behind the switch send gratuitous ARPs."""
        wait_ns = int(self.draws.ratio(f"{switch.router.name}.boot") * self.config.boot_spread_ns)
        if wait_ns:
            self.at(self.now_ns + wait_ns, self._boot, switch, switch.incarnation)
        else:
            self._boot(switch, switch.incarnation)

    def _boot(self, switch: Switch, incarnation: int) -> None:
        if switch.incarnation == incarnation:
            self.perform(switch, switch.boot(self.now_ns))
            self.announce_hosts(switch)

    # ===== the clock =====

    def converge(self) -> int:
        """Simulate from the cold start until no route has changed for QUIET_NS; that time becomes the epoch.

        Raises: FabricError if routes still change after LONGEST_START_NS.
        """
        with without_collector():  # 128 leaves, 32 spines, 4,096 hosts: 84 s with the collector, 47 s without
            return self._converge()

    def _converge(self) -> int:
        while True:
            quiet_ns = self.recorder.last_change_ns + QUIET_NS + self.config.update_delay_ns
            if (
                self._heap
                and self._heap[0][0] > quiet_ns
                and any(switch.speaker.out.coalescing for switch in self.switches)
            ):
                quiet_ns = self._heap[0][0]  # some neighbour waits for its initial table
            if quiet_ns > LONGEST_START_NS:
                raise FabricError(
                    f"BGP does not converge: routes still change after {LONGEST_START_NS // NS_PER_S} s",
                    "look for policies that contradict each other (RFC 3345)",
                )
            if not self._heap or self._heap[0][0] > quiet_ns:
                break
            self._step()
        self.now_ns = max(self.now_ns, quiet_ns)
        if self.config.jitter is not Jitter.OFF:
            self._spread_keepalives()
        self.epoch_ns = self.now_ns
        self.recorder.begin(self.epoch_ns)
        return self.epoch_ns

    def _spread_keepalives(self) -> None:
        """Give every end of a session a random KEEPALIVE phase, as in a fabric that has run for long. Takes one
        interval, so that hold timers follow the new phases too.
        """
        for switch in self.switches:
            self.cause.now = 0
            self.perform(switch, switch.speaker.shift_keepalives(partial(self._phase, switch.router.name), self.now_ns))
        until_ns = self.now_ns + self.config.keepalive_ns
        while self._heap and self._heap[0][0] < until_ns:
            self._step()
        self.now_ns = until_ns

    def _phase(self, router: str, peer: str) -> float:
        return self.draws.ratio(f"{router}.{peer}.keepalive")

    def schedule(self, events: Iterable[e.ControlEvent]) -> None:
        """Schedule dated events; their times count from the epoch. Events of equal time keep their order."""
        for event in sorted(events, key=lambda event: event.time_ns):
            self.at(self.epoch_ns + event.time_ns, self._handle, event)

    def advance(self, until_ns: int) -> None:
        """Simulate everything before `until_ns`, counted from the epoch."""
        bound_ns = self.epoch_ns + until_ns
        with without_collector():
            while self._heap and self._heap[0][0] < bound_ns:
                self._step()
        self.now_ns = max(self.now_ns, bound_ns)

    def _step(self) -> None:
        self.now_ns, _, self.cause.now, do, arguments = heapq.heappop(self._heap)
        do(*arguments)

    def at(self, time_ns: int, do: Callable[..., None], *arguments: Any) -> None:  # noqa: ANN401  the arguments of `do`
        """Schedule a call, with the current cause."""
        self._order += 1
        heapq.heappush(self._heap, (time_ns, self._order, self.cause.now, do, arguments))

    def calls(self) -> Iterator[tuple[int, int, Callable[..., None], tuple[Any, ...]]]:
        """(time, cause, call, its arguments) of what is scheduled, in no order."""
        for time_ns, _, cause, do, arguments in self._heap:
            yield time_ns, cause, do, arguments

    # ===== speakers =====

    def perform(self, switch: Switch, actions: Sequence[Action]) -> None:
        """Execute the actions of a switch's speaker, in order, and schedule its next tick."""
        for action in actions:
            if type(action) is Send:
                self.cause.now = action.cause
                self._send(switch, action)
            elif type(action) is RoutesChanged:
                self._routes(switch, action)
            elif type(action) is RoutesReceived:
                self._import_later(switch, action)
            elif type(action) is Connect:
                self.cause.now = action.cause
                self._connect(switch, action.peer)
            elif type(action) is Close:
                self.cause.now = action.cause
                self.hang_up(*switch.links[action.peer])
            elif type(action) is SessionUp:
                self.cause.now = action.cause
                self.recorder.session(self.now_ns, switch.row, action.peer, up=True, reason="")
            elif type(action) is SessionDown:
                self.cause.now = action.cause
                self.recorder.session(self.now_ns, switch.row, action.peer, up=False, reason=action.reason)
        deadline_ns = switch.next_deadline_ns()
        if deadline_ns is not None and deadline_ns < switch.wake_ns:
            switch.wake_ns = max(deadline_ns, self.now_ns)
            self.at(switch.wake_ns, self._wake, switch, switch.wake_ns)

    def _wake(self, switch: Switch, time_ns: int) -> None:
        if switch.wake_ns == time_ns:
            switch.clear_wake()
            self.perform(switch, switch.tick(self.now_ns))

    def _routes(self, switch: Switch, change: RoutesChanged) -> None:
        for changes in by_cause(change.changes, self.cause):
            self.recorder.loc_rib(self.now_ns)
            install = switch.take_routes(change.family, changes, self.now_ns)
            if install:
                self.at(self.now_ns + self.config.fib_delay_ns, self.install, switch, switch.incarnation, install)

    def _import_later(self, switch: Switch, report: RoutesReceived) -> None:
        for changes in by_cause(report.changes, self.cause):
            self.at(self.now_ns + self.config.fib_delay_ns, self.import_routes, switch, switch.incarnation, changes)

    def import_routes(self, switch: Switch, incarnation: int, changes: Sequence[Change]) -> None:
        """The daemon of a switch imports EVPN routes, unless it has stopped since they came."""
        if switch.incarnation == incarnation:
            self.perform(switch, switch.import_routes(changes, self.now_ns))

    def install(self, switch: Switch, incarnation: int, routes: Sequence[Any]) -> None:
        """A switch forwards by selected routes, unless its daemon has stopped since."""
        if switch.incarnation == incarnation:
            switch.install(routes, self.now_ns)

    # ===== transports =====

    def _send(self, switch: Switch, action: Send) -> None:
        transport, side = switch.links[action.peer]
        self.recorder.sent(self.now_ns, action.data)
        generation = transport.open_at[side]
        if not generation or generation != transport.generation:
            return  # the other end is gone; the hold timer or the next SYN detects it
        if transport.silent or not transport.up:
            transport.waiting.append((1 - side, action.data))
            return
        self._carry(transport, 1 - side, self.now_ns + transport.delay_ns, action.data)

    def _carry(self, transport: Transport, side: int, due_ns: int, data: bytes) -> None:
        """Deliver to a side at `due_ns`, but never before bytes that were sent earlier (RFC 9293 section 3.4)."""
        due_ns = transport.due_ns[side] = max(due_ns, transport.due_ns[side])
        self.at(due_ns, self._deliver, transport, side, transport.generation, data)

    def _deliver(self, transport: Transport, side: int, generation: int, data: bytes) -> None:
        if transport.open_at[side] != generation:
            return
        if self.on_delivery is not None:
            self.on_delivery(self.now_ns, transport, side, data)
        switch = self.switches[transport.routers[side]]
        self.perform(switch, switch.speaker.received(transport.names[side], data, self.now_ns))

    def _connect(self, switch: Switch, peer: str) -> None:
        transport, side = switch.links[peer]
        wait_ns = int(self.draws.ratio(f"{transport.cable}.{side}.dial") * self.config.dial_jitter_ns)
        if wait_ns:
            self.at(self.now_ns + wait_ns, self._dial, switch, transport, side)
        else:
            self._dial(switch, transport, side)

    def _dial(self, switch: Switch, transport: Transport, side: int) -> None:
        """Try to open a connection, unless the other end is opening one."""
        if not switch.daemon_up or all(transport.open_at) or (transport.attempt and transport.dialling != side):
            return
        if switch.speaker.peers[transport.names[side]].primary.state != State.CONNECT:
            return  # meanwhile the session was stopped, or the other end has connected
        if transport.opening:
            self._collide(transport)
            return
        transport.void()
        transport.attempt, transport.dialling = transport.generation, side
        for retry_ns in SYN_RETRIES_NS:
            self.at(self.now_ns + retry_ns, self._syn, transport, side, transport.generation)
        self.at(self.now_ns + 2 * SYN_RETRIES_NS[-1], self._give_up, transport, transport.generation)

    def _collide(self, transport: Transport) -> None:
        """Both ends have opened a connection. The one opened by the higher identifier survives (RFC 4271 section 6.8).
        Here the first attempt serves as the survivor: the time between the two has no other effect.

        FRR 8.4 sometimes loses the survivor too. The end with the lower identifier replaces its own connection by the
        survivor. If the survivor became Established in the same turn of the event loop in which the OPEN was read, the
        queued stop of the old connection ends it (bgp_notify_send, peer_xfer_conn). Both ends are then Idle for 1 s.
        This was seen only if the higher identifier had connected first: in 13 of 21 such collisions.
        """
        first, second = (
            self.plan.routers[transport.routers[side]].router_id
            for side in (transport.dialling, 1 - transport.dialling)
        )
        if (
            self.config.jitter is Jitter.FRR
            and first > second
            and self.draws.ratio(f"{transport.cable}.collision") < COLLISION_LOSS_RATIO
        ):
            self.at(
                self.now_ns + 2 * self.config.session_delay_ns, self._lost_in_collision, transport, transport.generation
            )

    def _lost_in_collision(self, transport: Transport, generation: int) -> None:
        if transport.generation != generation:
            return
        transport.void()
        for side in (0, 1):
            switch, transport.open_at[side] = self.switches[transport.routers[side]], 0
            if switch.daemon_up:
                self.perform(switch, switch.speaker.closed(transport.names[side], self.now_ns))

    def _give_up(self, transport: Transport, generation: int) -> None:
        if transport.attempt == generation:
            transport.attempt = 0

    def _syn(self, transport: Transport, side: int, generation: int) -> None:
        """A SYN leaves `side`: its outcome is decided at once, its effects take the delay of the cable."""
        if transport.attempt != generation:
            return
        mine, other = (self.switches[transport.routers[it]] for it in (side, 1 - side))
        if not mine.daemon_up or not transport.up:
            transport.attempt = 0
            if mine.daemon_up:
                self.perform(mine, mine.speaker.closed(transport.names[side], self.now_ns))
        elif transport.silent or not other.powered:
            return  # lost; the next SYN may arrive
        elif not other.daemon_up:
            transport.attempt = 0  # no listener: RST
            self.at(self.now_ns + 2 * transport.delay_ns, self._refused, transport, side, generation)
        else:
            transport.attempt, transport.opening = 0, True
            open_ns = self.now_ns + self.config.session_delay_ns
            self.at(open_ns + 2 * transport.delay_ns, self._opened, transport, side, generation, True)
            self.at(open_ns + 3 * transport.delay_ns, self._opened, transport, 1 - side, generation, False)

    def _refused(self, transport: Transport, side: int, generation: int) -> None:
        switch = self.switches[transport.routers[side]]
        if transport.generation == generation and switch.daemon_up:
            self.perform(switch, switch.speaker.closed(transport.names[side], self.now_ns))

    def _opened(self, transport: Transport, side: int, generation: int, outgoing: bool) -> None:
        switch, name = self.switches[transport.routers[side]], transport.names[side]
        if transport.generation != generation:
            return
        transport.opening = False
        if not switch.daemon_up:
            return
        if transport.open_at[side]:  # this side still has a connection that the other end has closed
            transport.open_at[side] = 0
            self.perform(switch, switch.speaker.closed(name, self.now_ns))
        transport.open_at[side] = generation
        self.perform(switch, switch.speaker.connected(name, self.now_ns, outgoing=outgoing))

    def hang_up(self, transport: Transport, side: int) -> None:
        """One side closes its connection, or its kernel does after the daemon died."""
        generation, transport.open_at[side] = transport.open_at[side], 0
        if generation and transport.up and not transport.silent:
            self.at(self.now_ns + transport.delay_ns, self._hung_up, transport, 1 - side, generation)

    def _hung_up(self, transport: Transport, side: int, generation: int) -> None:
        """The other end's FIN or RST arrives."""
        switch = self.switches[transport.routers[side]]
        if transport.open_at[side] == generation and switch.daemon_up:
            transport.open_at[side] = 0
            self.perform(switch, switch.speaker.closed(transport.names[side], self.now_ns))

    def _handle(self, event: e.ControlEvent) -> None:
        self.cause.now = self.recorder.begin_event(self.now_ns, event)
        handle(event, self)

    # ===== carrier, silence, endpoints: effects of events on cables and ports =====

    def set_carrier(self, transport: Transport, *, up: bool) -> None:
        """Carrier changes at both ends: hardware reacts at once, the daemons after carrier_delay."""
        if transport.up == up:
            return
        passed = transport.passes
        transport.up = up
        self.set_link_cause(transport)
        if transport.passes:
            self._repeat(transport)
        elif passed:
            self._watch(transport)
        cable = self.plan.cables[transport.cable]
        for side, row in enumerate((cable.a, cable.b)):
            self.set_port_carrier(self.switches[transport.routers[side]], self.plan.interfaces[row].port, up=up)
            if up:
                self.at(self.now_ns + self.config.carrier_delay_ns, self.carrier_back, transport, side)
        if not up:
            transport.losses += 1
            self.at(self.now_ns + self.config.interface_event_ns, self.loss_read, transport, transport.losses)

    def set_port_carrier(self, switch: Switch, port: int, *, up: bool) -> None:
        """Hardware removes a port without carrier from its ECMP groups, and adds a port with carrier again."""
        (self.down_ports.discard if up else self.down_ports.add)((switch.row, port))
        switch.note_carrier(port, up=up)
        self.at(self.now_ns + (0 if up else self.config.prune_delay_ns), self.prune, switch, port)

    def prune(self, switch: Switch, port: int) -> None:
        """Hardware follows the present carrier of a port."""
        switch.carrier(port, self.now_ns, up=(switch.row, port) not in self.down_ports)

    def loss_read(self, transport: Transport, loss: int) -> None:
        """The daemons read the interface event. It takes effect later, also if the cable is back by then."""
        if transport.up or transport.losses != loss:
            return  # the flap was too short for the daemons to notice
        due_ns = self.now_ns + self.config.carrier_delay_ns - self.config.interface_event_ns
        for side in (0, 1):
            incarnation = self.switches[transport.routers[side]].incarnation
            self.at(due_ns, self.carrier_lost, transport, side, incarnation, transport.open_at[side])

    def carrier_lost(self, transport: Transport, side: int, incarnation: int, generation: int) -> None:
        """One daemon reacts to a loss of carrier that it has read."""
        switch, name = self.switches[transport.routers[side]], transport.names[side]
        survives = switch.survives_carrier_loss(name)
        if transport.up and (
            survives  # zebra's queue held both changes of the subnet
            or switch.incarnation != incarnation
            or transport.open_at[side] not in (0, generation)  # connected again
        ):
            return
        if not survives:
            transport.void()
            transport.open_at[side] = 0
        if switch.daemon_up:
            self.perform(switch, switch.link_carrier(name, self.now_ns, up=False))

    def carrier_back(self, transport: Transport, side: int) -> None:
        """One daemon reacts to a carrier that is back."""
        switch = self.switches[transport.routers[side]]
        if transport.up and switch.daemon_up:  # else lost again before the neighbour could be reached
            self.perform(switch, switch.link_carrier(transport.names[side], self.now_ns, up=True))

    def silence(self, transport: Transport) -> None:
        """The cable stops carrying frames, but both ends keep carrier."""
        passed, transport.silent = transport.passes, True
        self.set_link_cause(transport)
        if passed:
            self._watch(transport)

    def set_link_cause(self, transport: Transport) -> None:
        """Make the current event the cause of a later hold timer expiry of the sessions over this cable."""
        for row, name in zip(transport.routers, transport.names, strict=True):
            self.switches[row].speaker.peers[name].cause = self.cause.now

    def _watch(self, transport: Transport) -> None:
        """Schedule BFD's detection that no frames cross, with or without carrier."""
        transport.outages += 1
        if self.config.bfd is not None:
            for side in (0, 1):
                # The last control packet arrived up to one interval ago; intervals are shortened by up to 25 % (RFC
                # 5880 section 6.8.7).
                stream = f"{transport.cable}.{side}.bfd"
                interval_ns = int(self.config.bfd.interval_ns * (1 - self.draws.ratio(stream) / 4))
                age_ns = int(self.draws.ratio(stream) * interval_ns)
                self.at(
                    self.now_ns + self.config.bfd.detection_ns - age_ns,
                    self.bfd_down,
                    transport,
                    side,
                    transport.outages,
                    transport.open_at[side],
                )

    def bfd_down(self, transport: Transport, side: int, outage: int, generation: int) -> None:
        """BFD's detection time of one end is over."""
        switch = self.switches[transport.routers[side]]
        if not generation or transport.open_at[side] != generation or not switch.daemon_up:
            return
        # Frames may cross again. A neighbour that has lost its session, or has booted, then says Down (RFC 5880 section
        # 6.8.6).
        lasts = not transport.passes and transport.outages == outage
        if lasts or transport.open_at[1 - side] != generation:
            transport.open_at[side] = 0
            self.perform(switch, switch.speaker.bfd_down(transport.names[side], self.now_ns))

    def end_silence(self, transport: Transport) -> None:
        """A silent cable carries frames again."""
        transport.silent = False
        self._repeat(transport)
        if self.config.bfd is not None:
            for side in (0, 1):
                self.at(self.now_ns + self.config.bfd.interval_ns, self._bfd_up, transport, side)

    def _repeat(self, transport: Transport) -> None:
        """TCP retransmits the lost bytes."""
        for side, data in transport.waiting:
            self._carry(transport, side, self.now_ns + RETRANSMIT_NS, data)
        transport.waiting.clear()

    def _bfd_up(self, transport: Transport, side: int) -> None:
        switch = self.switches[transport.routers[side]]
        if not transport.silent and transport.up and switch.daemon_up and not transport.open_at[side]:
            self.perform(switch, switch.speaker.link_up(transport.names[side], self.now_ns))

    def announce_hosts(self, switch: Switch) -> None:
        """The hosts behind a starting switch send gratuitous ARPs, all at once."""
        arps = self._whereabouts.present(switch.row)
        if arps:
            self.at(self.now_ns + self.config.learn_delay_ns, self.hosts_seen, switch, arps)

    def host_seen(self, event: e.HostSeen) -> None:
        """A frame of an endpoint, where the event says or, with `back`, where the endpoint was last."""
        if event.back:
            ends = list(self._whereabouts.ends_of(event))
            event = next(filter(self._is_heard, ends), ends[0])
        if not self._is_heard(event) and (event.back or not self._whereabouts.is_bond(key_of(event))):
            self._whereabouts.place(event)  # it sends when the leaf or the port starts
        self.at(self.now_ns + self.config.learn_delay_ns, self.hosts_seen, self.switches[event.router], [event])

    def _is_heard(self, event: e.HostSeen) -> bool:
        """Whether the leaf of an event has power, and its port carrier."""
        return self.switches[event.router].powered and (event.router, event.data_port) not in self.down_ports

    def hosts_seen(self, switch: Switch, events: Sequence[e.HostSeen]) -> None:
        """A VTEP learns from frames that its ports received."""
        received = list(filter(self._is_heard, events))
        if not received:
            return
        for event in received:
            self._whereabouts.place(event)
        self.perform(switch, switch.hosts_seen(received, self.now_ns))

    def host_gone(self, event: e.HostGone) -> None:
        """An endpoint leaves a leaf, by default the one where its last frame was."""
        row = self._whereabouts.leave(event)
        if row is not None and self.switches[row].powered:
            switch = self.switches[row]
            self.perform(switch, switch.host_gone(replace(event, router=row), self.now_ns))

    def set_host_carrier(self, router: int, port: int, *, up: bool) -> None:
        """A leaf's port to a host loses or gains carrier."""
        switch = self.switches[router]
        if up != ((router, port) in self.down_ports):
            return
        self.set_port_carrier(switch, port, up=up)
        self.at(self.now_ns + self.config.carrier_delay_ns, self._host_carrier_noticed, switch, port, up)
        if not up:
            self._fail_over(router, port)
            return
        arps = self._whereabouts.present(
            router, {port}
        )  # MACs learned there were flushed; hosts send when the link is up
        if arps:
            wait_ns = max(self.config.carrier_delay_ns, self.config.learn_delay_ns)
            self.at(self.now_ns + wait_ns, self.hosts_seen, switch, arps)

    def _host_carrier_noticed(self, switch: Switch, port: int, up: bool) -> None:
        if switch.daemon_up and up == ((switch.row, port) not in self.down_ports):
            self.perform(switch, switch.host_carrier(port, self.now_ns, up=up))

    def _fail_over(self, router: int, port: int) -> None:
        """Bonds that were active on this port send a gratuitous ARP on their next port with carrier."""
        for ends in self._whereabouts.other_ends(router, port):
            arp = next(filter(self._is_heard, ends), None)
            if arp is not None:
                at_ns = self.now_ns + self.config.bond_delay_ns
                self.at(at_ns, self.hosts_seen, self.switches[arp.router], [arp])
