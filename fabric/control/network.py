"""Speakers, VTEPs and cables of one fabric on one clock: a heap of things to do, in order of (time, order of asking).

    network = Network(plan, config, seed)
    epoch_ns = network.converge()               from cold start until nothing changes any more: the run's time 0
    network.schedule(events)                    dated after the epoch
    network.advance(until_ns)                   everything before that moment, in nanoseconds after the epoch

The same arguments give the same network at the same moment, so a view "at TIME" is a network advanced to TIME. Messages
are RFC 4271 bytes from speaker to speaker; they cross cables in the cables' time and never queue behind data packets.
"""

from __future__ import annotations

import gc
import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

from fabric.control import events as e
from fabric.control.config import NS_PER_S, ControlConfig, Jitter
from fabric.control.draws import Draws
from fabric.control.happenings import happen
from fabric.control.plan import Cable, ControlPlan
from fabric.control.record import Recorder
from fabric.control.speakers import families
from fabric.control.switch import Switch
from fabric.control.transport import RETRANSMIT_NS, SYN_RETRIES_NS, Transport
from fabric.errors import FabricError
from fabric.routing.bgp.actions import (
    Action,
    Change,
    Close,
    Connect,
    RoutesChanged,
    RoutesHeard,
    Send,
    SessionDown,
    SessionUp,
)
from fabric.routing.bgp.cause import Cause
from fabric.routing.bgp.fsm import State
from fabric.routing.bgp.update import Memory

QUIET_NS: Final = 3 * NS_PER_S
"""No route moved for this long, and nothing is on its way: converged."""
COLLISION_LOSS_RATIO: Final = 13 / 21
"""See Network._collide."""
LONGEST_START_NS: Final = 120 * NS_PER_S
"""A network that is not quiet by then oscillates (RFC 3345 describes how)."""


def by_cause(changes: Sequence[Change], cause: Cause) -> Iterator[Sequence[Change]]:
    """Changes of one cause together; it is the present one while they are looked at."""
    first = changes[0].cause
    if all(change.cause == first for change in changes):
        cause.now = first
        yield changes
        return
    for number in dict.fromkeys(change.cause for change in changes):
        cause.now = number
        yield [change for change in changes if change.cause == number]


@contextmanager
def _no_collection() -> Iterator[None]:
    """Without Python's cyclic collector: tables hold millions of live objects and make no cycles, and looking through
    them again and again took half of the time (128 leaves, 32 spines, 4,096 hosts: 84 s with it, 47 s without).
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class Network:
    """One fabric's control plane. `now_ns` counts from the cold start, `epoch_ns` is where a run's time 0 lies."""

    def __init__(self, plan: ControlPlan, config: ControlConfig, seed: int = 1) -> None:
        self.plan = plan
        self.config = config
        self.now_ns = 0
        self.epoch_ns = 0
        self.cause = Cause()
        """Number of the event that the present moment is due to; recorder.py keeps the events."""
        self.recorder = Recorder(self.cause, [(it.vni, it.mac) for it in plan.endpoints])
        memory = Memory(families(plan))
        self.draws = Draws(seed, config.jitter)
        self.switches = [Switch(plan, router, config, self.recorder, memory, self.cause,
                                self.draws.timer_key(router.name)) for router in plan.routers]
        self.transports = [self._transport(cable) for cable in plan.cables]
        self._heap: list[tuple[int, int, int, Callable[..., None], tuple[Any, ...]]] = []
        self._order = 0
        self.dark: set[tuple[int, int]] = set()
        """(router, data-plane port) without light."""
        self.on_delivery: Callable[[int, Transport, int, bytes], None] | None = None
        """Sees every delivery of BGP messages: (now_ns, transport, side that receives, bytes). For captures."""
        self._active: dict[tuple[int, str], tuple[int, int]] = {}
        """(VNI, MAC) -> (router, data-plane port) at which the endpoint last spoke."""
        self._boot_all()

    def _transport(self, cable: Cable) -> Transport:
        ends = [self.plan.interfaces[row] for row in (cable.a, cable.b)]
        transport = Transport(cable.row, cable.delay_ns, (ends[0].router, ends[1].router),
                              (self.switches[ends[0].router].name_of(ends[0]),
                               self.switches[ends[1].router].name_of(ends[1])))
        for side, end in enumerate(ends):
            self.switches[end.router].links[transport.names[side]] = (transport, side)
        return transport

    def _boot_all(self) -> None:
        for endpoint in self.plan.endpoints:
            row, _, data_port = endpoint.attachments[0]
            if not endpoint.silent:
                self._active[endpoint.vni, endpoint.mac] = (row, data_port)
        for switch in self.switches:
            switch.powered = True
            self.boot(switch)

    def boot(self, switch: Switch) -> None:
        """Start the daemon of a switch; when it is up, the hosts behind the switch are heard."""
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
        """Play from the cold start until no route has moved for QUIET_NS; that moment becomes the epoch.

        Raises: FabricError where routes still move after LONGEST_START_NS.
        """
        with _no_collection():
            return self._converge()

    def _converge(self) -> int:
        while True:
            quiet_ns = self.recorder.last_change_ns + QUIET_NS + self.config.update_delay_ns
            if self._heap and self._heap[0][0] > quiet_ns and any(switch.speaker.out.coalescing
                                                                  for switch in self.switches):
                quiet_ns = self._heap[0][0]         # some neighbour has been told nothing yet
            if quiet_ns > LONGEST_START_NS:
                raise FabricError(f"BGP does not converge: routes still change after {LONGEST_START_NS // NS_PER_S} s",
                                  "look for policies that contradict each other (RFC 3345)")
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
        """KEEPALIVEs as in a fabric that has been up for long: every end of a session is somewhere in its interval.
        Takes one interval, so that what each end has heard last is of that kind, too.
        """
        for switch in self.switches:
            self.cause.now = 0
            self.perform(switch, switch.speaker.shift_keepalives(partial(self._phase, switch.router.name),
                                                                 self.now_ns))
        until_ns = self.now_ns + self.config.keepalive_ns
        while self._heap and self._heap[0][0] < until_ns:
            self._step()
        self.now_ns = until_ns

    def _phase(self, router: str, peer: str) -> float:
        return self.draws.ratio(f"{router}.{peer}.keepalive")

    def schedule(self, events: Iterable[e.ControlEvent]) -> None:
        """Put dated events on the clock; their times count from the epoch. Equal times keep the order given."""
        for event in sorted(events, key=lambda event: event.time_ns):
            self.at(self.epoch_ns + event.time_ns, self._happen, event)

    def advance(self, until_ns: int) -> None:
        """Play everything before `until_ns`, counted from the epoch."""
        bound_ns = self.epoch_ns + until_ns
        with _no_collection():
            while self._heap and self._heap[0][0] < bound_ns:
                self._step()
        self.now_ns = max(self.now_ns, bound_ns)

    def _step(self) -> None:
        self.now_ns, _, self.cause.now, do, arguments = heapq.heappop(self._heap)
        do(*arguments)

    def at(self, time_ns: int, do: Callable[..., None], *arguments: Any) -> None:  # noqa: ANN401  whatever `do` takes
        """Put a call on the clock, due to what is happening now."""
        self._order += 1
        heapq.heappush(self._heap, (time_ns, self._order, self.cause.now, do, arguments))

    # ===== speakers =====

    def perform(self, switch: Switch, actions: Sequence[Action]) -> None:
        """Carry out what a switch's speaker asks for, in order, and see to its next tick."""
        for action in actions:
            if type(action) is Send:
                self.cause.now = action.cause
                self._send(switch, action)
            elif type(action) is RoutesChanged:
                self._routes(switch, action)
            elif type(action) is RoutesHeard:
                self._heard(switch, action)
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
            switch.asleep()
            self.perform(switch, switch.tick(self.now_ns))

    def _routes(self, switch: Switch, change: RoutesChanged) -> None:
        for changes in by_cause(change.changes, self.cause):
            self.recorder.loc_rib(self.now_ns)
            install = switch.take_routes(change.family, changes, self.now_ns)
            if install:
                self.at(self.now_ns + self.config.fib_delay_ns, self._install, switch, switch.incarnation, install)

    def _heard(self, switch: Switch, heard: RoutesHeard) -> None:
        for changes in by_cause(heard.changes, self.cause):
            self.at(self.now_ns + self.config.fib_delay_ns, self._import, switch, switch.incarnation, changes)

    def _import(self, switch: Switch, incarnation: int, changes: Sequence[Change]) -> None:
        if switch.incarnation == incarnation:
            self.perform(switch, switch.import_routes(changes, self.now_ns))

    def _install(self, switch: Switch, incarnation: int, routes: Sequence[Any]) -> None:
        if switch.incarnation == incarnation:
            switch.install(routes, self.now_ns)

    # ===== transports =====

    def _send(self, switch: Switch, action: Send) -> None:
        transport, side = switch.links[action.peer]
        self.recorder.sent(self.now_ns, action.data)
        generation = transport.open_at[side]
        if not generation or generation != transport.generation:
            return      # the other end is gone; TCP finds out when the hold timer or the next SYN does
        if transport.silent or not transport.lit:
            transport.waiting.append((1 - side, action.data))
            return
        self._carry(transport, 1 - side, self.now_ns + transport.delay_ns, action.data)

    def _carry(self, transport: Transport, side: int, due_ns: int, data: bytes) -> None:
        """Deliver to a side when it is due, and never before what was sent earlier (RFC 9293 section 3.4)."""
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
        """Try to open a connection. One that the other end is opening serves both."""
        if not switch.speaking or all(transport.open_at) or (transport.attempt and transport.dialling != side):
            return
        if switch.speaker.peers[transport.names[side]].primary.state != State.CONNECT:
            return      # it was stopped, or the other end has come first, since it wanted to
        if transport.opening:
            self._collide(transport)
            return
        transport.void()
        transport.attempt, transport.dialling = transport.generation, side
        for retry_ns in SYN_RETRIES_NS:
            self.at(self.now_ns + retry_ns, self._syn, transport, side, transport.generation)
        self.at(self.now_ns + 2 * SYN_RETRIES_NS[-1], self._give_up, transport, transport.generation)

    def _collide(self, transport: Transport) -> None:
        """Both ends have opened a connection. The one that the higher identifier opened survives (RFC 4271 section
        6.8), which here is the one under way: the time between the two is below what anything else depends on.

        FRR 8.4 loses that one, too, now and then. The end with the lower identifier puts the survivor into the place of
        its own connection; if it became Established in the turn in which the OPEN was read, the stop of its own, still
        queued, ends it (bgp_notify_send, peer_xfer_conn). Both are Idle for a second then. Seen only where the higher
        identifier had called first, there in 13 of 21 collisions.
        """
        first, second = (self.plan.routers[transport.routers[side]].router_id
                         for side in (transport.dialling, 1 - transport.dialling))
        if (self.config.jitter is Jitter.FRR and first > second
                and self.draws.ratio(f"{transport.cable}.collision") < COLLISION_LOSS_RATIO):
            self.at(self.now_ns + 2 * self.config.session_delay_ns, self._lost_in_collision, transport,
                    transport.generation)

    def _lost_in_collision(self, transport: Transport, generation: int) -> None:
        if transport.generation != generation:
            return
        transport.void()
        for side in (0, 1):
            switch, transport.open_at[side] = self.switches[transport.routers[side]], 0
            if switch.speaking:
                self.perform(switch, switch.speaker.closed(transport.names[side], self.now_ns))

    def _give_up(self, transport: Transport, generation: int) -> None:
        if transport.attempt == generation:
            transport.attempt = 0

    def _syn(self, transport: Transport, side: int, generation: int) -> None:
        """A SYN leaves `side`: what becomes of it is clear at once, its effects take the cable's time."""
        if transport.attempt != generation:
            return
        mine, other = (self.switches[transport.routers[it]] for it in (side, 1 - side))
        if not mine.speaking or not transport.lit:
            transport.attempt = 0
            if mine.speaking:
                self.perform(mine, mine.speaker.closed(transport.names[side], self.now_ns))
        elif transport.silent or not other.powered:
            return      # lost; the next SYN may do better
        elif not other.speaking:
            transport.attempt = 0       # nobody listens: RST
            self.at(self.now_ns + 2 * transport.delay_ns, self._refused, transport, side, generation)
        else:
            transport.attempt, transport.opening = 0, True
            open_ns = self.now_ns + self.config.session_delay_ns
            self.at(open_ns + 2 * transport.delay_ns, self._opened, transport, side, generation, True)
            self.at(open_ns + 3 * transport.delay_ns, self._opened, transport, 1 - side, generation, False)

    def _refused(self, transport: Transport, side: int, generation: int) -> None:
        switch = self.switches[transport.routers[side]]
        if transport.generation == generation and switch.speaking:
            self.perform(switch, switch.speaker.closed(transport.names[side], self.now_ns))

    def _opened(self, transport: Transport, side: int, generation: int, outgoing: bool) -> None:
        switch, name = self.switches[transport.routers[side]], transport.names[side]
        if transport.generation != generation:
            return
        transport.opening = False
        if not switch.speaking:
            return
        if transport.open_at[side]:     # it still believed in a connection that the other end has given up
            transport.open_at[side] = 0
            self.perform(switch, switch.speaker.closed(name, self.now_ns))
        transport.open_at[side] = generation
        self.perform(switch, switch.speaker.connected(name, self.now_ns, outgoing=outgoing))

    def hang_up(self, transport: Transport, side: int) -> None:
        """One side closes its connection, or its operating system does after the daemon is gone."""
        generation, transport.open_at[side] = transport.open_at[side], 0
        if generation and transport.lit and not transport.silent:
            self.at(self.now_ns + transport.delay_ns, self._hung_up, transport, 1 - side, generation)

    def _hung_up(self, transport: Transport, side: int, generation: int) -> None:
        """The other end's FIN or RST arrives."""
        switch = self.switches[transport.routers[side]]
        if transport.open_at[side] == generation and switch.speaking:
            transport.open_at[side] = 0
            self.perform(switch, switch.speaker.closed(transport.names[side], self.now_ns))

    def _happen(self, event: e.ControlEvent) -> None:
        self.cause.now = self.recorder.happened(self.now_ns, event)
        happen(event, self)

    # ===== carrier, silence, endpoints: what events do to cables and ports =====

    def set_carrier(self, transport: Transport, *, lit: bool) -> None:
        """Light goes or comes: hardware reacts at once, the daemons after carrier_delay."""
        if transport.lit == lit:
            return
        transport.lit = lit
        self.blame(transport)
        if lit:
            self._repeat(transport)
        elif any(self.switches[row].survives_dark(name)
                 for row, name in zip(transport.routers, transport.names, strict=True)):
            self._watch(transport)
        cable = self.plan.cables[transport.cable]
        for side, row in enumerate((cable.a, cable.b)):
            self.set_light(self.switches[transport.routers[side]], self.plan.interfaces[row].port, up=lit)
            self.at(self.now_ns + self.config.carrier_delay_ns, self._carrier_noticed, transport, side, lit)

    def set_light(self, switch: Switch, port: int, *, up: bool) -> None:
        """Hardware takes a dark port out of its ECMP groups, and a lit one back."""
        (self.dark.discard if up else self.dark.add)((switch.row, port))
        switch.light(port, up=up)
        self.at(self.now_ns + (0 if up else self.config.prune_delay_ns), self._prune, switch, port)

    def _prune(self, switch: Switch, port: int) -> None:
        switch.carrier(port, self.now_ns, up=(switch.row, port) not in self.dark)

    def _carrier_noticed(self, transport: Transport, side: int, lit: bool) -> None:
        switch, name = self.switches[transport.routers[side]], transport.names[side]
        if transport.lit != lit:
            return      # a flap too short for the daemon
        if not lit and not switch.survives_dark(name):
            transport.void()
            transport.open_at[side] = 0
        if switch.speaking:
            self.perform(switch, switch.link_carrier(name, self.now_ns, up=lit))

    def silence(self, transport: Transport) -> None:
        """Nothing crosses a cable any more, and both ends keep carrier."""
        transport.silent = True
        self.blame(transport)
        self._watch(transport)

    def blame(self, transport: Transport) -> None:
        """If a session over this cable ends in silence, it is because of what happens now."""
        for row, name in zip(transport.routers, transport.names, strict=True):
            self.switches[row].speaker.peers[name].cause = self.cause.now

    def _watch(self, transport: Transport) -> None:
        """BFD will miss what does not come any more."""
        if self.config.bfd is not None:
            for side in (0, 1):
                # The last control packet came up to an interval ago, which is shortened by up to 25 % (RFC 5880
                # section 6.8.7).
                stream = f"{transport.cable}.{side}.bfd"
                interval_ns = int(self.config.bfd.interval_ns * (1 - self.draws.ratio(stream) / 4))
                age_ns = int(self.draws.ratio(stream) * interval_ns)
                self.at(self.now_ns + self.config.bfd.detection_ns - age_ns, self._bfd_down, transport, side)

    def _bfd_down(self, transport: Transport, side: int) -> None:
        switch = self.switches[transport.routers[side]]
        if (transport.silent or not transport.lit) and switch.speaking and transport.open_at[side]:
            transport.open_at[side] = 0
            self.perform(switch, switch.speaker.bfd_down(transport.names[side], self.now_ns))

    def hear(self, transport: Transport) -> None:
        """A silent cable carries frames again."""
        transport.silent = False
        self._repeat(transport)
        if self.config.bfd is not None:
            for side in (0, 1):
                self.at(self.now_ns + self.config.bfd.interval_ns, self._bfd_up, transport, side)

    def _repeat(self, transport: Transport) -> None:
        """TCP sends again what got lost."""
        for side, data in transport.waiting:
            self._carry(transport, side, self.now_ns + RETRANSMIT_NS, data)
        transport.waiting.clear()

    def _bfd_up(self, transport: Transport, side: int) -> None:
        switch = self.switches[transport.routers[side]]
        if not transport.silent and transport.lit and switch.speaking and not transport.open_at[side]:
            self.perform(switch, switch.speaker.link_up(transport.names[side], self.now_ns))

    def announce_hosts(self, switch: Switch) -> None:
        """The hosts behind a switch that starts are heard, all at once."""
        heard = self._behind(switch, None)
        if heard:
            self.at(self.now_ns + self.config.learn_delay_ns, self.hosts_seen, switch, heard)

    def _behind(self, switch: Switch, ports: set[int] | None) -> list[e.HostSeen]:
        """Gratuitous ARPs of the endpoints that are active at a switch: at these data-plane ports; None: at any. Silent
        hosts that were spoken to go on with other frames.
        """
        return [e.HostSeen(0, endpoint.mac, endpoint.ip, endpoint.vni, row, port, arp=not endpoint.silent,
                           data_port=data_port)
                for endpoint in self.plan.endpoints for row, port, data_port in endpoint.attachments
                if row == switch.row and (ports is None or data_port in ports)
                and (row, data_port) == self._active.get((endpoint.vni, endpoint.mac))]

    def hosts_seen(self, switch: Switch, events: Sequence[e.HostSeen]) -> None:
        """A VTEP learns what its ports have heard."""
        heard = [event for event in events if (switch.row, event.data_port) not in self.dark]
        if not switch.powered or not heard:
            return
        for event in heard:
            self._active[event.vni, event.mac] = (switch.row, event.data_port)
        self.perform(switch, switch.hosts_seen(heard, self.now_ns))

    def set_host_carrier(self, router: int, port: int, *, up: bool) -> None:
        """A leaf's port to a host loses or gains carrier."""
        switch = self.switches[router]
        if up != ((router, port) in self.dark):
            return
        self.set_light(switch, port, up=up)
        self.at(self.now_ns + self.config.carrier_delay_ns, self._host_carrier_noticed, switch, port, up)
        if not up:
            self._fail_over(router, port)
            return
        heard = self._behind(switch, {port})    # what it learned there was flushed; hosts speak when the link is up
        if heard:
            wait_ns = max(self.config.carrier_delay_ns, self.config.learn_delay_ns)
            self.at(self.now_ns + wait_ns, self.hosts_seen, switch, heard)

    def _host_carrier_noticed(self, switch: Switch, port: int, up: bool) -> None:
        if switch.speaking and up == ((switch.row, port) not in self.dark):
            self.perform(switch, switch.host_carrier(port, self.now_ns, up=up))

    def _fail_over(self, router: int, port: int) -> None:
        """Bonds that were active on this port speak on their next one that has carrier (gratuitous ARP)."""
        for endpoint in self.plan.endpoints:
            if (router, port) != self._active.get((endpoint.vni, endpoint.mac)):
                continue
            for row, name, other in endpoint.attachments:
                if self.switches[row].powered and (row, other) not in self.dark:
                    heard = e.HostSeen(0, endpoint.mac, endpoint.ip, endpoint.vni, row, name,
                                       arp=not endpoint.silent, data_port=other)
                    self.at(self.now_ns + self.config.bond_delay_ns, self.hosts_seen, self.switches[row], [heard])
                    break
