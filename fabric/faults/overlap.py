"""Overlapping faults of the control plane: the events that routers get when several faults hold one setting.

Rules, as for the data plane (dataplane/engine/holds.py)
1. A fault acts from its beginning to its own end. A router that two faults have crashed starts when the second one
   ends; of two policies or AS numbers the one that began last is in force; when it ends, the earlier one is in force
   again.
2. Configuration survives a restart: a daemon or a switch that starts while it is drained is drained again, and a
   crashed daemon stays down when its switch starts.
3. A host is where the latest fault has put it: announcements that an earlier move would repeat are not sent any more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from fabric.controlplane.bgp.policy import Policy
from fabric.controlplane.network import events as e

_Key = tuple[object, ...]


class _Router:
    """The faults that act on one router at a moment."""

    def __init__(self) -> None:
        self.crashed: set[int] = set()
        self.daemon_dead: set[int] = set()
        self.drained: set[int] = set()
        self.shut: set[int] = set()


class _Overlap:
    def __init__(self) -> None:
        self._routers: dict[int, _Router] = defaultdict(_Router)
        self._held: dict[_Key, dict[int, e.ControlEvent]] = defaultdict(dict)
        self._policies: dict[tuple[int, str], dict[int, tuple[int | None, Policy]]] = defaultdict(dict)
        self._silent: set[int] = set()
        self._placed: dict[_Key, int] = {}
        """Host -> the latest fault that moved it or took it away."""
        self._received: set[_Key] = set()
        """(host, fault after which its frames were received)."""

    def take(self, fault: int, event: e.ControlEvent, *, lasting: bool) -> Iterator[e.ControlEvent]:
        """The events that replace one event of a fault; `lasting`: the fault has an end."""
        match event:
            case e.RouterCrash() | e.RouterBoot():
                yield from self._power(fault, event)
            case e.DaemonCrash():
                router = self._routers[event.router]
                if not router.daemon_dead and not router.crashed:
                    yield event
                router.daemon_dead.add(fault)
            case e.DaemonStart():
                yield from self._start(fault, event)
            case e.Drain() | e.Shutdown():
                yield from self._drain(fault, event)
            case e.Reconfigure():
                yield from self._latest(("asn", event.router), fault, event, ends=event.asn is None)
                yield from self._configured(event.time_ns, event.router)
            case e.SetPolicy():
                yield from self._policy(fault, event)
            case e.CableSilent() | e.CableSilenceEnded():
                ends = isinstance(event, e.CableSilenceEnded)
                yield from self._any(("silent", event.cable), fault, event, ends=ends)
                (self._silent.add if self._held["silent", event.cable] else self._silent.discard)(event.cable)
            case e.HostGone() | e.HostSeen():
                yield from self._host(fault, event, lasting=lasting)
            case _:
                yield event

    def _host(self, fault: int, event: e.HostGone | e.HostSeen, *, lasting: bool) -> Iterator[e.ControlEvent]:
        seen = isinstance(event, e.HostSeen)
        key: _Key = ("host", event.vni, event.mac)
        if seen and not lasting and (*key, fault) in self._received and self._placed.get(key) != fault:
            return  # rule 3
        self._placed[key] = fault
        if seen:
            self._received.add((*key, fault))
        if lasting:
            yield from self._any(key, fault, event, ends=seen)
        else:
            yield event

    def _any(self, key: _Key, fault: int, event: e.ControlEvent, *, ends: bool) -> Iterator[e.ControlEvent]:
        held = self._held[key]
        before = bool(held)
        if ends:
            held.pop(fault, None)
        else:
            held[fault] = event
        if bool(held) != before:
            yield event

    def _latest(self, key: _Key, fault: int, event: e.ControlEvent, *, ends: bool) -> Iterator[e.ControlEvent]:
        held = self._held[key]
        before = list(held)[-1:]
        if not ends:
            held[fault] = event
            yield event
            return
        held.pop(fault, None)
        if before == [fault]:
            yield replace(list(held.values())[-1], time_ns=event.time_ns) if held else event

    def _policy(self, fault: int, event: e.SetPolicy) -> Iterator[e.ControlEvent]:
        """A policy towards all neighbours replaces earlier policies towards one neighbour."""
        held = self._policies[event.router, event.direction]
        if event.policy is not None:
            held[fault] = (event.peer, event.policy)
            yield event
            return
        later = list(held)[list(held).index(fault) + 1 :]
        del held[fault]
        if not any(held[it][0] in {None, event.peer} for it in later):
            yield replace(event, others=tuple(held.values()))

    def _power(self, fault: int, event: e.RouterCrash | e.RouterBoot) -> Iterator[e.ControlEvent]:
        router = self._routers[event.router]
        if isinstance(event, e.RouterCrash):
            if not router.crashed:
                yield event
            router.crashed.add(fault)
            return
        router.crashed.discard(fault)
        if not router.crashed:
            yield replace(event, silent=frozenset(self._silent))
            if router.daemon_dead:
                yield e.DaemonCrash(event.time_ns, event.router)
            yield from self._configured(event.time_ns, event.router)

    def _start(self, fault: int, event: e.DaemonStart) -> Iterator[e.ControlEvent]:
        """The end of a daemon's crash, or of a drain that had closed the sessions."""
        router = self._routers[event.router]
        of_daemon = fault in router.daemon_dead
        for held in (router.daemon_dead, router.drained, router.shut):
            held.discard(fault)
        if router.crashed or router.daemon_dead or (not of_daemon and router.shut):
            return
        yield event
        yield from self._configured(event.time_ns, event.router)

    def _drain(self, fault: int, event: e.Drain | e.Shutdown) -> Iterator[e.ControlEvent]:
        router = self._routers[event.router]
        if isinstance(event, e.Shutdown):
            if not router.shut:
                yield event
            router.shut.add(fault)
        elif event.on:
            if not router.drained:
                yield event
            router.drained.add(fault)
        else:
            router.drained.discard(fault)
            if not router.drained:
                yield event

    def _configured(self, time_ns: int, number: int) -> Iterator[e.ControlEvent]:
        """The configuration of a daemon that has just started (rule 2)."""
        router = self._routers[number]
        if router.crashed or router.daemon_dead:
            return
        if router.shut:
            yield e.Shutdown(time_ns, number)
        elif router.drained:
            yield e.Drain(time_ns, number, on=True)


def settle(faults: Sequence[tuple[Iterable[e.ControlEvent], bool]]) -> list[e.ControlEvent]:
    """The events of all faults together, in order of time.

    Parameters
    ----------
    faults : (events, whether the fault has an end) of each, in the order of the file
    """
    dated = [(event, number, lasting) for number, (events, lasting) in enumerate(faults) for event in events]
    dated.sort(key=lambda it: it[0].time_ns)  # stable: events of one moment keep the file's order
    overlap = _Overlap()
    return [settled for event, number, lasting in dated for settled in overlap.take(number, event, lasting=lasting)]
