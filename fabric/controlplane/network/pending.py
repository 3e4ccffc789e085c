"""Timers that decide how long routes take to follow an event, and those of them that run when a control plane ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from fabric.controlplane.network import events as e
from fabric.controlplane.network.config import ControlConfig

if TYPE_CHECKING:
    from fabric.controlplane.network.network import Network
    from fabric.controlplane.network.switch import Switch
    from fabric.controlplane.network.transport import Transport

CARRIER: Final = "carrier_delay"
PRUNE: Final = "prune_delay"
UPDATE: Final = "update_delay"
FIB: Final = "fib_delay"
HOLD: Final = "hold"
BFD: Final = "bfd"
"""Fields of the scenario's `bgp` section."""


class Pending(NamedTuple):
    """A timer whose end may still change routes."""

    setting: str
    due_ns: int
    """Of the run's clock."""
    router: int
    cause: int
    """Number of the event that started it, from 1 (record.py)."""


def value_ns(setting: str, config: ControlConfig) -> int:
    """The value of a timer; of BFD the detection time, 0 where it is off."""
    if setting == BFD:
        return 0 if config.bfd is None else config.bfd.detection_ns
    return int(getattr(config, f"{setting}_ns"))


def deciding(event: e.ControlEvent, config: ControlConfig) -> tuple[str, ...]:
    """Timers that decide how soon routes follow an event, in the order in which they run."""
    if isinstance(event, e.CableSilent) or (isinstance(event, e.RouterCrash) and event.carrier):
        return (HOLD if config.bfd is None else BFD, UPDATE, FIB)
    if isinstance(event, e.CableDown | e.CableUp | e.RouterCrash):
        return (CARRIER, UPDATE, FIB)
    return (UPDATE, FIB)


def pending(network: Network) -> tuple[Pending, ...]:
    """Timers of dated events that run now, in order of time. Reconnections and keepalives are not among them."""
    found = [*_scheduled(network), *_decisions(network), *_silent(network)]
    return tuple(sorted(it for it in found if it.cause))


def _scheduled(network: Network) -> Iterator[Pending]:
    """Calls of the network that are due later. Readers give (setting, router, time from the call to the end)."""
    readers: dict[Callable[..., None], Callable[..., Iterator[tuple[str, int, int]]]] = {
        network.loss_read: _of_loss,
        network.carrier_lost: _of_carrier,
        network.carrier_back: _of_carrier,
        network.prune: _of_prune,
        network.install: _of_routes,
        network.import_routes: _of_routes,
        network.bfd_down: _of_bfd,
    }
    for time_ns, cause, do, arguments in network.calls():
        if (reader := readers.get(do)) is not None:
            for setting, router, later_ns in reader(network.config, *arguments):
                yield Pending(setting, time_ns + later_ns - network.epoch_ns, router, cause)


def _of_loss(config: ControlConfig, transport: Transport, *_: Any) -> Iterator[tuple[str, int, int]]:  # noqa: ANN401
    for router in transport.routers if not transport.up else ():
        yield CARRIER, router, config.carrier_delay_ns - config.interface_event_ns


def _of_carrier(_: ControlConfig, transport: Transport, side: int, *__: Any) -> Iterator[tuple[str, int, int]]:  # noqa: ANN401
    yield CARRIER, transport.routers[side], 0


def _of_prune(_: ControlConfig, switch: Switch, *__: Any) -> Iterator[tuple[str, int, int]]:  # noqa: ANN401
    yield PRUNE, switch.row, 0


def _of_routes(_: ControlConfig, switch: Switch, incarnation: int, *__: Any) -> Iterator[tuple[str, int, int]]:  # noqa: ANN401
    if switch.incarnation == incarnation:  # else the daemon has stopped, and the call does nothing
        yield FIB, switch.row, 0


def _of_bfd(_: ControlConfig, transport: Transport, side: int, *__: Any) -> Iterator[tuple[str, int, int]]:  # noqa: ANN401
    if transport.open_at[side] and not transport.passes:
        yield BFD, transport.routers[side], 0


def _decisions(network: Network) -> Iterator[Pending]:
    """Decision processes that wait for their update delay."""
    for switch in network.switches:
        waiting = switch.speaker.decisions.waiting if switch.daemon_up else None
        if waiting is not None:
            due_ns, cause = waiting
            yield Pending(UPDATE, due_ns - network.epoch_ns, switch.row, cause)


def _silent(network: Network) -> Iterator[Pending]:
    """Hold timers of sessions over cables that carry nothing, which only these timers end."""
    if network.config.bfd is not None:
        return
    for transport in network.transports:
        for router, name, generation in zip(transport.routers, transport.names, transport.open_at, strict=True):
            switch = network.switches[router]
            if not transport.silent or not generation or not switch.daemon_up:
                continue
            peer = switch.speaker.peers[name]
            due_ns = peer.primary.hold_timer.deadline_ns
            if due_ns is not None:
                yield Pending(HOLD, due_ns - network.epoch_ns, router, peer.cause)
