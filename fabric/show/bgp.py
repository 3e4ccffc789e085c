"""BGP tables of one speaker as plain dicts, in the JSON format of FRR, which operators' tools read.

Each function names the command whose output format it has. Fields that only a daemon has are left out: memory, file
descriptors, wall clock, TCP ports. Times count from the start of the control plane, in whole seconds as in FRR.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from fabric.controlplane.bgp.afi import IPV4_UNICAST, AddressFamily, address_text
from fabric.controlplane.bgp.attributes import path_text
from fabric.controlplane.bgp.capabilities import FORWARDING_STATE, GRACEFUL_NOTIFICATION, RESTART_STATE
from fabric.controlplane.bgp.decision import Reason
from fabric.controlplane.bgp.peer import Peer
from fabric.controlplane.bgp.rib import Path
from fabric.controlplane.bgp.speaker import Speaker
from fabric.controlplane.evpn.evpn_nlri import EVPN, EvpnKey, Payload, key_of
from fabric.controlplane.evpn.rd import rd_text
from fabric.show import evpn as views
from fabric.show.evpn import uptime_text
from fabric.wire.iana import Community, Origin

Json = dict[str, Any]
_NS_PER_MS: Final = 1_000_000
_ORIGIN: Final = {Origin.IGP: "IGP", Origin.EGP: "EGP", Origin.INCOMPLETE: "incomplete"}
_NEIGHBOUR_CAPABILITIES: Final = (
    ("4byteAs", "asn4"),
    ("extendedMessage", "extended_message"),
    ("longLivedGracefulRestart", "long_lived"),
)


def _whole_ms(time_ns: int) -> int:
    """FRR counts whole seconds and prints milliseconds."""
    return max(time_ns, 0) // 10**9 * 1000


def families(speaker: Speaker) -> tuple[AddressFamily, ...]:
    """Configured families of all neighbours, IPv4 unicast first."""
    return tuple(dict.fromkeys(family for peer in speaker.peers.values() for family in peer.families))


# -- show bgp summary -------------------------------------------------------------------------------------------------


def summary(speaker: Speaker, now_ns: int) -> Json:
    """`show bgp summary json`."""
    return {family.json_name: _family_summary(speaker, family, now_ns) for family in families(speaker)}


def _family_summary(speaker: Speaker, family: AddressFamily, now_ns: int) -> Json:
    peers = {name: peer for name, peer in speaker.peers.items() if family in peer.families}
    groups = {peer.neighbor.peer_group for peer in peers.values()} - {""}
    table = speaker.table(family)
    return {
        "routerId": speaker.config.router_id,
        "as": speaker.config.asn,
        "vrfId": 0,
        "vrfName": "default",
        "tableVersion": table.version,
        "ribCount": len(table.group_of),
        "peerCount": len(peers),
        "peerGroupCount": len(groups),
        "peers": {name: _peer_summary(speaker, peer, family, now_ns) for name, peer in peers.items()},
        "failedPeers": sum(peer.established is None for peer in peers.values()),
        "displayedPeers": len(peers),
        "totalPeers": len(peers),
        "dynamicPeers": 0,
        "bestPath": {"multiPathRelax": "true" if speaker.config.multipath_relax else "false"},
    }


def _peer_summary(speaker: Speaker, peer: Peer, family: AddressFamily, now_ns: int) -> Json:
    traffic, session = peer.traffic, peer.session
    age_ns = _state_age_ns(peer, now_ns)
    return {
        **_hostname(peer),
        "remoteAs": peer.neighbor.remote_asn,
        "localAs": session.local_asn,
        "version": 4,
        "msgRcvd": traffic.received.total,
        "msgSent": traffic.sent.total,
        "tableVersion": 0,
        "outq": 0,
        "inq": 0,
        "peerUptime": "never" if age_ns is None else uptime_text(age_ns),
        "peerUptimeMsec": 0 if age_ns is None else _whole_ms(age_ns),
        "pfxRcd": accepted(speaker, peer, family),
        "pfxSnt": sent(speaker, peer, family),
        "state": "Idle (Admin)" if peer.shut else session.state.label,
        "peerState": "Admin" if peer.shut else "OK",  # FRR's third word is for missing policies (RFC 8212)
        "connectionsEstablished": peer.connections_established,
        "connectionsDropped": peer.connections_dropped,
        "idType": _id_type(peer),
    }


def _state_age_ns(peer: Peer, now_ns: int) -> int | None:
    """Time since the session came up, or since it was lost; None: never up."""
    if peer.established is not None:
        return now_ns - peer.established.established_ns
    return None if peer.last_reset is None or not peer.connections_established else now_ns - peer.last_reset.at_ns


def _hostname(peer: Peer) -> Json:
    return {"hostname": peer.hostname} if peer.hostname else {}


def _id_type(peer: Peer) -> str:
    if peer.neighbor.by_interface:
        return "interface"
    return "ipv6" if ":" in peer.neighbor.name else "ipv4"


def accepted(speaker: Speaker, peer: Peer, family: AddressFamily) -> int:
    """Number of routes in the Adj-RIB-In: received, and accepted by loop check and import policy."""
    return speaker.table(family).accepted.get(peer.neighbor.name, 0)


def sent(speaker: Speaker, peer: Peer, family: AddressFamily) -> int:
    """Number of routes in the Adj-RIB-Out."""
    return sum(len(keys) for keys, *_ in speaker.adj_rib_out(peer.neighbor.name, family))


# -- show bgp neighbors -----------------------------------------------------------------------------------------------


def neighbors(speaker: Speaker, now_ns: int) -> Json:
    """`show bgp neighbors json`."""
    return {name: _neighbor(speaker, peer, now_ns) for name, peer in speaker.peers.items()}


def _neighbor(speaker: Speaker, peer: Peer, now_ns: int) -> Json:
    session, neighbor, traffic = peer.session, peer.neighbor, peer.traffic
    agreed = session.agreed
    up = peer.established is not None
    hold_ms, keepalive_ms = neighbor.hold_time_s * 1000, neighbor.keepalive_s * 1000
    found: Json = {
        "remoteAs": neighbor.remote_asn,
        "localAs": session.local_asn,
        ("nbrExternalLink" if session.external else "nbrInternalLink"): True,
        "localRole": "undefined",
        "remoteRole": "undefined",
        **_hostname(peer),
        **({"peerGroup": neighbor.peer_group} if neighbor.peer_group else {}),
        **({"adminShutDown": True} if peer.shut else {}),
        "bgpVersion": 4,
        "remoteRouterId": _router_id(session.remote_router_id if up else 0),
        "localRouterId": speaker.config.router_id,
        "bgpState": session.state.label,
    }
    if up:
        age_ns = now_ns - session.established_ns
        found |= {"bgpTimerUpMsec": _whole_ms(age_ns), "bgpTimerUpString": uptime_text(age_ns)}
    found |= {
        "bgpTimerLastRead": _whole_ms(now_ns - traffic.last_read_ns),
        "bgpTimerLastWrite": _whole_ms(now_ns - traffic.last_write_ns),
        "bgpInUpdateElapsedTimeMsecs": _whole_ms(now_ns - traffic.last_update_ns),
        "bgpTimerConfiguredHoldTimeMsecs": hold_ms,
        "bgpTimerConfiguredKeepAliveIntervalMsecs": keepalive_ms,
        "bgpTimerHoldTimeMsecs": agreed.hold_ns // _NS_PER_MS if up and agreed else hold_ms,
        "bgpTimerKeepAliveIntervalMsecs": agreed.keepalive_ns // _NS_PER_MS if up and agreed else keepalive_ms,
    }
    if up:
        found["neighborCapabilities"] = _capabilities(peer)
    found |= {
        "gracefulRestartInfo": _graceful_restart(speaker, peer),
        "messageStats": _messages(peer),
        "minBtwnAdvertisementRunsTimerMsecs": neighbor.mrai_ns // _NS_PER_MS,
        "addressFamilyInfo": {family.json_name: _family_info(speaker, peer, family) for family in peer.families},
        "connectionsEstablished": peer.connections_established,
        "connectionsDropped": peer.connections_dropped,
    }
    found |= _last_reset(peer, now_ns)
    if session.external:
        found["externalBgpNbrMaxHopsAway"] = 1
    found |= {
        "hostLocal": neighbor.local_address if up else "Unknown",
        "hostForeign": neighbor.remote_address if up else "Unknown",
    }
    if up:
        found |= {
            "nexthop": neighbor.local_address if "." in neighbor.local_address else "0.0.0.0",  # noqa: S104
            "nexthopGlobal": "::",
            "nexthopLocal": neighbor.local_address if ":" in neighbor.local_address else "::",
            "bgpConnection": "sharedNetwork",
        }
    found["connectRetryTimer"] = neighbor.connect_retry_ns // 10**9
    if not up and session.idle_timer.deadline_ns is not None:
        found["nextStartTimerDueInMsecs"] = _whole_ms(session.idle_timer.deadline_ns - now_ns)
    if not up and session.retry_timer.deadline_ns is not None:
        found["nextConnectTimerDueInMsecs"] = _whole_ms(session.retry_timer.deadline_ns - now_ns)
    return found


_WORDS: Final = {
    "Administrative Shutdown": ("Admin. shutdown", 11),
    "Administrative reset": ("User reset", 12),
    "Peer closed the session": ("Peer closed the session", 15),
    "BFD down received": ("BFD down received", 24),
    "Interface down": ("Interface down", 25),
}
"""Reason of a session's end -> FRR's text and number (bgpd.c, peer_down_str)."""
_RECEIVED: Final = "NOTIFICATION received: "


def _last_reset(peer: Peer, now_ns: int) -> Json:
    """Reason why the last session ended, or why there is none yet."""
    reset = peer.last_reset
    if reset is None and not peer.waits_for_next_hop:
        return {"lastReset": "never"}
    found: Json = {}
    text, number = ("BGP Notification send", 14) if reset is None or reset.code else (reset.reason, 0)
    if reset is not None:
        found["lastResetTimerMsecs"] = _whole_ms(now_ns - reset.at_ns)
        received = reset.reason.startswith(_RECEIVED)
        text, number = ("BGP Notification received", 13) if received else _WORDS.get(reset.reason, (text, number))
        if number in {13, 14}:
            found |= {
                "lastErrorCodeSubcode": f"{reset.code:02X}{reset.subcode:02X}",
                "lastNotificationReason": reset.reason.removeprefix(_RECEIVED),
            }
    if peer.waits_for_next_hop:
        text, number = "Waiting for NHT", 27
    return found | {"lastResetDueTo": text, "lastResetCode": number}


def _router_id(number: int) -> str:
    return address_text(number.to_bytes(4, "big"))


_BOTH: Final = "advertisedAndReceived"


def _capabilities(peer: Peer) -> Json:
    """Capabilities that both sides announced, in FRR's words."""
    session = peer.session
    if session.agreed is None:
        return {}
    its, own = session.agreed.peer, session.own_capabilities()
    found: Json = {}
    for name, field in _NEIGHBOUR_CAPABILITIES:
        words = _announced(getattr(own, field) not in {None, False}, getattr(its, field) not in {None, False})
        if words:
            found[name] = words
    found["routeRefresh"] = (
        "advertisedAndReceivedOldNew"
        if its.route_refresh and its.route_refresh_cisco
        else _announced(own.route_refresh, its.route_refresh)
    )
    found["enhancedRouteRefresh"] = _announced(own.enhanced_refresh, its.enhanced_refresh)
    found["multiprotocolExtensions"] = {
        family.json_name: {_announced(family.id in own.families, family.id in its.families): True}
        for family in peer.families
    }
    found["hostName"] = {
        "advHostName": own.hostname,
        "advDomainName": "n/a",
        "rcvHostName": its.hostname or "n/a",
        "rcvDomainName": "n/a",
    }
    found["gracefulRestart"] = _announced(own.restart is not None, its.restart is not None)
    if its.restart is not None:
        kept: Json = {
            family.json_name: {} for family in peer.families if any(it[:2] == family.id for it in its.restart_families)
        }
        found |= {"gracefulRestartRemoteTimerMsecs": its.restart[1] * 1000, "addressFamiliesByPeer": kept or "none"}
    return {name: words for name, words in found.items() if words}


def _announced(own: bool, its: bool) -> str:
    return _BOTH if own and its else "advertised" if own else "received" if its else ""


def _graceful_restart(speaker: Speaker, peer: Peer) -> Json:
    """Helper mode only: `gracefulRestartInfo` of RFC 4724."""
    agreed = peer.established.agreed if peer.established is not None else None
    its = agreed.peer.restart if agreed is not None else None
    own_s = speaker.config.restart_time_s
    found: Json = {
        "endOfRibSend": {family.json_name: True for family in peer.end_of_rib_sent} if agreed else {},
        "endOfRibRecv": {family.json_name: True for family in peer.end_of_rib_received} if agreed else {},
        "localGrMode": "Helper*",
        "remoteGrMode": "Helper" if its is not None else "NotApplicable",
        "rBit": its is not None and bool(its[0] & RESTART_STATE),
        "nBit": its is not None and bool(its[0] & GRACEFUL_NOTIFICATION),
        "timers": {"configuredRestartTimer": own_s, "receivedRestartTimer": its[1] if its is not None else own_s},
    }
    if agreed is not None and IPV4_UNICAST in peer.families:
        kept = any(it[:2] == IPV4_UNICAST.id and it[2] & FORWARDING_STATE for it in agreed.peer.restart_families)
        found[IPV4_UNICAST.json_name] = {
            "fBit": kept,
            "endOfRibStatus": {
                "endOfRibSend": IPV4_UNICAST in peer.end_of_rib_sent,
                "endOfRibSentAfterUpdate": False,
                "endOfRibRecv": IPV4_UNICAST in peer.end_of_rib_received,
            },
            "timers": {"stalePathTimer": speaker.config.stale_path_time_s},
        }
    return found


def _messages(peer: Peer) -> Json:
    out, into = peer.traffic.sent, peer.traffic.received
    return {
        "depthInq": 0,
        "depthOutq": 0,
        "opensSent": out.opens,
        "opensRecv": into.opens,
        "notificationsSent": out.notifications,
        "notificationsRecv": into.notifications,
        "updatesSent": out.updates,
        "updatesRecv": into.updates,
        "keepalivesSent": out.keepalives,
        "keepalivesRecv": into.keepalives,
        "routeRefreshSent": out.route_refreshes,
        "routeRefreshRecv": into.route_refreshes,
        "capabilitySent": 0,
        "capabilityRecv": 0,
        "totalSent": out.total,
        "totalRecv": into.total,
    }


def _family_info(speaker: Speaker, peer: Peer, family: AddressFamily) -> Json:
    config = peer.families[family]
    found: Json = {"peerGroupMember": peer.neighbor.peer_group} if peer.neighbor.peer_group else {}
    group = peer.groups.get(family)
    if group is not None:
        found |= {"updateGroupId": group.index, "subGroupId": group.index, "packetQueueLength": 0}
    if config.next_hop_unchanged:
        found["unchangedNextHopPropogatedToNbr"] = True  # FRR's own spelling
    if config.route_reflector_client:
        found["routeReflectorClient"] = True
    if config.next_hop_self:
        found["routerAlwaysNextHop"] = True
    found["commAttriSentToNbr"] = "extendedAndStandard"
    for name, policy in (
        ("routeMapForIncomingAdvertisements", config.import_policy),
        ("routeMapForOutgoingAdvertisements", config.export_policy),
    ):
        if policy.name:
            found[name] = policy.name
    if family is EVPN and any(path.source.local for _, path in speaker.adj_rib_in("", family)):
        found["advertiseAllVnis"] = True
    found["acceptedPrefixCounter"] = accepted(speaker, peer, family)
    return found | ({"sentPrefixCounter": sent(speaker, peer, family)} if peer.established is not None else {})


# -- show ip bgp ------------------------------------------------------------------------------------------------------


def ipv4(speaker: Speaker) -> Json:
    """`show ip bgp json`."""
    table = speaker.table(IPV4_UNICAST)
    return {
        "vrfId": 0,
        "vrfName": "default",
        "tableVersion": table.version,
        "routerId": speaker.config.router_id,
        "defaultLocPrf": speaker.config.default_local_pref,
        "localAS": speaker.config.asn,
        "routes": {
            IPV4_UNICAST.text(key): _ipv4_paths(speaker, key)
            for key in sorted(table.group_of, key=lambda key: (key[1:].ljust(4, b"\0"), key[0]))
        },
    }


def ipv4_route(speaker: Speaker, key: bytes) -> Json:
    """One route in the format of `show ip bgp PREFIX json`: prefix and paths; {} if unknown, as in FRR."""
    if key not in speaker.table(IPV4_UNICAST).group_of:
        return {}
    return {"prefix": IPV4_UNICAST.text(key), "paths": _ipv4_paths(speaker, key, communities=True)}


def community_text(community: int) -> str:
    """'graceful-shutdown', 'no-export', '65000:100'."""
    try:
        return Community(community).name.lower().replace("_", "-")
    except ValueError:
        return f"{community >> 16}:{community & 0xFFFF}"


def _communities(path: Path) -> Json:
    """Communities as in `show ip bgp PREFIX json`: text and list; {} for none. FRR 8.4 writes well-known ones as
    'noExport' in the list and 'no-export' in the text (bgp_community.c, set_community_string).
    """
    texts = [community_text(community) for community in path.attributes.communities]
    split = [text.split("-") for text in texts]
    words = [first + "".join(word.capitalize() for word in rest) for first, *rest in split]
    return {"community": {"string": " ".join(texts), "list": words}} if texts else {}


def _ipv4_paths(speaker: Speaker, key: bytes, *, communities: bool = False) -> list[Json]:
    network = IPV4_UNICAST.text(key)
    named = {
        "prefix": network.partition("/")[0],
        "prefixLen": key[0],
        "network": network,
        "version": speaker.table(IPV4_UNICAST).group_of[key].version,
    }
    return [
        head
        | {"pathFrom": _from(path)}
        | named
        | _attributes(speaker, path)
        | (_communities(path) if communities else {})
        for path, head in _paths_with_status(speaker, IPV4_UNICAST, key)
    ]


def _paths_with_status(speaker: Speaker, family: AddressFamily, key: bytes) -> Iterable[tuple[Path, Json]]:
    """Each path, the newest first, with its status in the decision process."""
    decision = speaker.explain(family, key)
    selection, lost = decision.selection, {id(path): reason for path, reason in decision.lost}
    multipath = {id(path) for path in selection.multipath} if selection is not None else set()
    for path in speaker.candidates(family, key):
        head: Json = {} if lost.get(id(path)) is Reason.UNREACHABLE else {"valid": True}
        if selection is not None and path is selection.best:
            head |= {"bestpath": True, "selectionReason": decision.reason.text}
        elif id(path) in multipath:
            head["multipath"] = True
        yield path, head


def _from(path: Path) -> str:
    return "external" if path.source.external or path.source.local else "internal"


def _attributes(speaker: Speaker, path: Path) -> Json:
    """Fields that follow the name of a route in every table."""
    its = path.attributes
    found: Json = {} if its.med is None else {"metric": its.med}
    if its.local_pref is not None:
        found["locPrf"] = its.local_pref
    peer = speaker.peers.get(path.source.name)
    found |= {
        "weight": path.weight,
        "peerId": peer.neighbor.remote_address if peer else "(unspec)",
        "path": path_text(its.as_path),
        "origin": _ORIGIN[Origin(its.origin)],
    }
    return (
        found
        | views.extended_community(its)
        | {
            "nexthops": [
                {
                    "ip": address_text(path.next_hop),
                    "hostname": peer.hostname if peer else speaker.config.hostname,
                    "afi": "ipv6" if len(path.next_hop) > 4 else "ipv4",
                    "used": True,
                }
            ]
        }
    )


def reasons(speaker: Speaker, family: AddressFamily, key: bytes) -> list[tuple[Path, str, str]]:
    """(path, reason, rule) for every path of a route: the best first, the others in reverse order of elimination."""
    decision = speaker.explain(family, key)
    if decision.selection is None:
        return [(path, reason.text, reason.rule) for path, reason in decision.lost]
    best = decision.selection.best
    multipath = {id(path) for path in decision.selection.multipath}
    won = (best, f"best: {decision.reason.text}", decision.reason.rule)
    return [
        won,
        *(
            (
                path,
                f"multipath, after {reason.text}" if id(path) in multipath else f"lost by {reason.text}",
                reason.rule,
            )
            for path, reason in reversed(decision.lost)
        ),
    ]


# -- show bgp l2vpn evpn ----------------------------------------------------------------------------------------------


def evpn_keys(speaker: Speaker, types: frozenset[int] | None = None, match: str = "") -> list[EvpnKey]:
    """EVPN routes in order of their keys, filtered by types and by `match` in their name; all by default."""
    keys = (key_of(key) for key in sorted(speaker.table(EVPN).group_of))
    return [key for key in keys if (types is None or key.type in types) and match in key.text]


def evpn(speaker: Speaker, types: frozenset[int] | None = None, match: str = "") -> Json:
    """`show bgp l2vpn evpn json`, or the routes that evpn_keys() chooses: distinguisher -> route -> paths."""
    table = speaker.table(EVPN)
    head: Json = {
        "bgpTableVersion": table.version,
        "bgpLocalRouterId": speaker.config.router_id,
        "defaultLocPrf": speaker.config.default_local_pref,
        "localAS": speaker.config.asn,
    }
    found: Json = {}
    routes = paths = 0
    for key in evpn_keys(speaker, types, match):
        shown = [
            head | {"pathFrom": _from(path)} | views.route_fields(key) | _vnis(path) | _attributes(speaker, path)
            for path, head in _paths_with_status(speaker, EVPN, key)
        ]
        distinguisher = rd_text(key.rd)
        by_route = found.setdefault(distinguisher, {"rd": distinguisher})
        by_route[key.text] = {"prefix": key.text, "prefixLen": views.EVPN_PREFIX_LEN, "paths": shown}
        routes, paths = routes + 1, paths + len(shown)
    return (head if routes else {}) | found | {"numPrefix": routes, "totalPrefix": paths}


def _vnis(path: Path) -> Json:
    """{'VNI': '10010/50010'} of a route with an L3 VNI, as in `show bgp l2vpn evpn route detail`."""
    payload = path.payload
    if not isinstance(payload, Payload) or "Rmac" not in str(views.extended_community(path.attributes)):
        return {}
    return {"VNI": "/".join(map(str, payload.labels))}


def by_distinguisher(table: Mapping[str, Any]) -> dict[str, Json]:
    """The routes of evpn(), without its other fields."""
    return {name: routes for name, routes in table.items() if isinstance(routes, dict)}
