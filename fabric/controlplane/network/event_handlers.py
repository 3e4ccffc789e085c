"""Handlers of dated events: the effect of each kind of event on a network."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING

from fabric.controlplane.network import events as e

if TYPE_CHECKING:
    from fabric.controlplane.network.network import Network


@singledispatch
def handle(event: e.ControlEvent, network: Network) -> None:
    """Apply one event now. Raises: TypeError for an event without a handler."""
    raise TypeError(f"no handler for {type(event).__name__} at {network.now_ns} ns")


@handle.register(e.CableDown)
def _(event: e.CableDown, network: Network) -> None:
    network.set_carrier(network.transports[event.cable], up=False)


@handle.register(e.CableUp)
def _(event: e.CableUp, network: Network) -> None:
    transport = network.transports[event.cable]
    if all(network.switches[row].has_light for row in transport.routers):
        network.set_carrier(transport, up=True)


@handle.register(e.CableSilent)
def _(event: e.CableSilent, network: Network) -> None:
    network.silence(network.transports[event.cable])


@handle.register(e.CableSilenceEnded)
def _(event: e.CableSilenceEnded, network: Network) -> None:
    transport = network.transports[event.cable]
    if all(network.switches[row].powered for row in transport.routers):  # else the start of the switch ends the silence
        network.end_silence(transport)


@handle.register(e.RouterCrash)
def _(event: e.RouterCrash, network: Network) -> None:
    switch = network.switches[event.router]
    switch.crash(network.now_ns, hung=event.carrier)
    for transport, side in switch.links.values():
        transport.open_at[side] = 0
        if event.carrier:
            network.silence(transport)
        else:
            network.set_carrier(transport, up=False)


@handle.register(e.RouterBoot)
def _(event: e.RouterBoot, network: Network) -> None:
    switch = network.switches[event.router]
    switch.power_on()
    for transport, side in switch.links.values():
        still_silent = transport.cable in event.silent or network.switches[transport.routers[1 - side]].hung
        if transport.silent and not still_silent:
            transport.void()
            network.end_silence(transport)
        if transport.cable in event.down_cables:
            network.set_carrier(transport, up=False)
        elif all(network.switches[row].has_light for row in transport.routers):
            network.set_carrier(transport, up=True)
    network.boot(switch)


@handle.register(e.DaemonCrash)
def _(event: e.DaemonCrash, network: Network) -> None:
    switch = network.switches[event.router]
    switch.stop_daemon()
    for transport, side in switch.links.values():
        network.hang_up(transport, side)


@handle.register(e.DaemonStart)
def _(event: e.DaemonStart, network: Network) -> None:
    network.boot(network.switches[event.router])


@handle.register(e.Drain)
def _(event: e.Drain, network: Network) -> None:
    switch = network.switches[event.router]
    if switch.daemon_up:
        network.perform(switch, switch.speaker.graceful_shutdown(network.now_ns, on=event.on))


@handle.register(e.Shutdown)
def _(event: e.Shutdown, network: Network) -> None:
    switch = network.switches[event.router]
    if switch.daemon_up:
        network.perform(switch, switch.speaker.stop(network.now_ns))


@handle.register(e.Reconfigure)
def _(event: e.Reconfigure, network: Network) -> None:
    switch = network.switches[event.router]
    switch.renumber(event.asn)
    if not switch.daemon_up:
        return  # the daemon will start with this number
    network.perform(switch, switch.speaker.stop(network.now_ns))
    switch.stop_daemon()
    network.perform(switch, switch.boot(network.now_ns))
    network.announce_hosts(switch)


@handle.register(e.SetPolicy)
def _(event: e.SetPolicy, network: Network) -> None:
    switch = network.switches[event.router]
    others = [(network.plan.name_of(peer), policy) for peer, policy in event.others]
    network.perform(
        switch,
        switch.set_policy(network.plan.name_of(event.peer), event.direction, event.policy, network.now_ns, others),
    )


@handle.register(e.HostSeen)
def _(event: e.HostSeen, network: Network) -> None:
    network.host_seen(event)


@handle.register(e.HostPortDown)
def _(event: e.HostPortDown, network: Network) -> None:
    network.set_host_carrier(event.router, event.data_port, up=False)


@handle.register(e.HostPortUp)
def _(event: e.HostPortUp, network: Network) -> None:
    network.set_host_carrier(event.router, event.data_port, up=True)


@handle.register(e.HostGone)
def _(event: e.HostGone, network: Network) -> None:
    network.host_gone(event)
