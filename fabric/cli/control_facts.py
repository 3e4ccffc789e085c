"""Facts of the control plane beside a running data plane: what an exporter on the switches would say of BGP and EVPN.

The control plane is played before the packets (docs/decisions/0009), and plays the same again whenever it is asked.
Here it is advanced sample by sample, so the facts of a moment are those of that moment.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from fabric.control.run import ControlRun
from fabric.control.switch import Switch
from fabric.overlay.evpn_nlri import EVPN
from fabric.report.frr_bgp import accepted, families
from fabric.routing.bgp.afi import IPV4_UNICAST
from fabric.units import PS_PER_NS
from telemetry.control import EVPN_TYPES, BgpPeer, BgpPrefixes, ControlFacts, EvpnRoutes

FAMILIES: Final = {IPV4_UNICAST: "ipv4-unicast", EVPN: "l2vpn-evpn"}
"""As the label `family` spells them."""


class ControlWatch:
    """A control plane that follows a run's clock; times only grow.

    Parameters
    ----------
    control : ControlRun     as compiled; CompiledScenario.control
    """

    def __init__(self, control: ControlRun) -> None:
        self._network = control.at(0)
        self._names: Final = [router.name for router in control.plan.routers]

    def facts(self, time_ps: int) -> ControlFacts:
        """Sessions and routes as they are at a moment of the run."""
        network = self._network
        network.advance(time_ps // PS_PER_NS + 1)
        down = Counter((it.router, it.peer) for it in network.recorder.sessions if not it.up)
        peers, prefixes, evpn = [], [], []
        for switch in network.switches:
            device = switch.router.name
            for name, peer in switch.speaker.peers.items():
                other = self._other_end(switch, name)
                state = peer.session.state.label.lower() if switch.speaking else "idle"
                peers.append(BgpPeer(device, other, state, down[switch.row, name]))
                prefixes += [BgpPrefixes(device, other, FAMILIES[family], accepted(switch.speaker, peer, family))
                             for family in families(switch.speaker)]
            evpn += _evpn(switch)
        return ControlFacts(peers=tuple(peers), prefixes=tuple(prefixes), evpn=tuple(evpn))

    def _other_end(self, switch: Switch, peer: str) -> str:
        transport, side = switch.links[peer]
        return self._names[transport.routers[1 - side]]


def _evpn(switch: Switch) -> list[EvpnRoutes]:
    """Best EVPN routes by type (RFC 7432 section 7: the first octet); a switch whose daemon is gone holds none."""
    counts: Counter[int] = Counter()
    if switch.speaking and EVPN in families(switch.speaker):
        for keys, _ in switch.speaker.loc_rib(EVPN):
            counts.update(key[0] for key in keys)
    return [EvpnRoutes(switch.router.name, name, counts[number]) for number, name in enumerate(EVPN_TYPES, 1)]
