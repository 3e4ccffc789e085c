"""What each dated event does to a network: one rule per kind of event."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING

from fabric.control import events as e

if TYPE_CHECKING:
    from fabric.control.network import Network


@singledispatch
def happen(event: e.ControlEvent, network: Network) -> None:
    """Let one event happen now. Raises: TypeError for an event that has no rule here."""
    raise TypeError(f"no rule says what {type(event).__name__} does at {network.now_ns} ns")


@happen.register(e.CableDown)
def _(event: e.CableDown, network: Network) -> None:
    network.set_carrier(network.transports[event.cable], lit=False)


@happen.register(e.CableUp)
def _(event: e.CableUp, network: Network) -> None:
    transport = network.transports[event.cable]
    if all(network.switches[row].powered for row in transport.routers):
        network.set_carrier(transport, lit=True)


@happen.register(e.CableSilent)
def _(event: e.CableSilent, network: Network) -> None:
    network.silence(network.transports[event.cable])


@happen.register(e.CableHeard)
def _(event: e.CableHeard, network: Network) -> None:
    transport = network.transports[event.cable]
    if all(network.switches[row].powered for row in transport.routers):     # else its start ends the silence
        network.hear(transport)


@happen.register(e.RouterCrash)
def _(event: e.RouterCrash, network: Network) -> None:
    switch = network.switches[event.router]
    switch.crash(network.now_ns)
    for transport, side in switch.links.values():
        transport.open_at[side] = 0
        if event.carrier:
            network.silence(transport)
        else:
            network.set_carrier(transport, lit=False)


@happen.register(e.RouterBoot)
def _(event: e.RouterBoot, network: Network) -> None:
    switch = network.switches[event.router]
    switch.powered = True
    for transport, _ in switch.links.values():
        if transport.silent and transport.cable not in event.silent:
            transport.void()
            network.hear(transport)
        if transport.cable not in event.dark and all(network.switches[row].powered for row in transport.routers):
            network.set_carrier(transport, lit=True)
    network.boot(switch)


@happen.register(e.DaemonCrash)
def _(event: e.DaemonCrash, network: Network) -> None:
    switch = network.switches[event.router]
    switch.stop_speaking()
    for transport, side in switch.links.values():
        network.hang_up(transport, side)


@happen.register(e.DaemonStart)
def _(event: e.DaemonStart, network: Network) -> None:
    network.boot(network.switches[event.router])


@happen.register(e.Drain)
def _(event: e.Drain, network: Network) -> None:
    switch = network.switches[event.router]
    if switch.speaking:
        network.perform(switch, switch.speaker.graceful_shutdown(network.now_ns, on=event.on))


@happen.register(e.Shutdown)
def _(event: e.Shutdown, network: Network) -> None:
    switch = network.switches[event.router]
    if switch.speaking:
        network.perform(switch, switch.speaker.stop(network.now_ns))


@happen.register(e.Reconfigure)
def _(event: e.Reconfigure, network: Network) -> None:
    switch = network.switches[event.router]
    switch.renumber(event.asn)
    if not switch.speaking:
        return      # it starts with this number
    network.perform(switch, switch.speaker.stop(network.now_ns))
    switch.stop_speaking()
    network.perform(switch, switch.boot(network.now_ns))
    network.announce_hosts(switch)


@happen.register(e.SetPolicy)
def _(event: e.SetPolicy, network: Network) -> None:
    switch = network.switches[event.router]
    others = [(network.plan.name_of(peer), policy) for peer, policy in event.others]
    network.perform(switch, switch.set_policy(network.plan.name_of(event.peer), event.direction, event.policy,
                                              network.now_ns, others))


@happen.register(e.HostSeen)
def _(event: e.HostSeen, network: Network) -> None:
    network.at(network.now_ns + network.config.learn_delay_ns, network.hosts_seen, network.switches[event.router],
               [event])


@happen.register(e.HostPortDown)
def _(event: e.HostPortDown, network: Network) -> None:
    network.set_host_carrier(event.router, event.data_port, up=False)


@happen.register(e.HostPortUp)
def _(event: e.HostPortUp, network: Network) -> None:
    network.set_host_carrier(event.router, event.data_port, up=True)


@happen.register(e.HostGone)
def _(event: e.HostGone, network: Network) -> None:
    switch = network.switches[event.router]
    if switch.powered:
        network.perform(switch, switch.host_gone(event, network.now_ns))
