"""A speaker's tables and sessions as plain dictionaries in the shape of FRR's JSON. Nothing here changes anything.

Fields that describe FRR's process (memory, threads, TCP ports) are absent, since nothing here has them.
"""

from __future__ import annotations

from typing import Any, Final

from fabric.routing.bgp.afi import AddressFamily, address_text
from fabric.routing.bgp.attributes import path_length, path_text
from fabric.routing.bgp.capabilities import FORWARDING_STATE, GRACEFUL_NOTIFICATION, RESTART_STATE, Capabilities
from fabric.routing.bgp.config import NS_PER_MS, NS_PER_S
from fabric.routing.bgp.decision import Reason
from fabric.routing.bgp.fsm import State
from fabric.routing.bgp.peer import Peer
from fabric.routing.bgp.rib import Path
from fabric.routing.bgp.session import Traffic
from fabric.routing.bgp.speaker import Speaker
from fabric.wire.iana import Afi, Origin, SegmentType

Json = dict[str, Any]
_ORIGINS: Final = {Origin.IGP: "IGP", Origin.EGP: "EGP", Origin.INCOMPLETE: "incomplete"}
_SEGMENTS: Final = {SegmentType.AS_SET: "as-set", SegmentType.AS_SEQUENCE: "as-sequence",
                    SegmentType.AS_CONFED_SEQUENCE: "as-confed-sequence", SegmentType.AS_CONFED_SET: "as-confed-set"}


def table_json(speaker: Speaker, family: AddressFamily) -> Json:
    """`show bgp <family> json` of a unicast family."""
    table = speaker.table(family)
    return {"vrfId": 0, "vrfName": "default", "tableVersion": table.version, "routerId": speaker.config.router_id,
            "defaultLocPrf": speaker.config.default_local_pref, "localAS": speaker.config.asn,
            "routes": {family.text(key): paths_json(speaker, family, key) for key in _in_order(speaker, family)}}


def table_detail_json(speaker: Speaker, family: AddressFamily) -> Json:
    """`show bgp <family> <prefix> json` of every route, under the head that `table_json` has."""
    head = table_json(speaker, family)
    return head | {"routes": {family.text(key): [route_head_json(speaker, family, key),
                                                 *path_details_json(speaker, family, key)]
                              for key in _in_order(speaker, family)}}


def _in_order(speaker: Speaker, family: AddressFamily) -> list[bytes]:
    """Routes by address, then length, as FRR's trees have them."""
    return sorted(speaker.table(family).group_of, key=lambda key: (key[1:].ljust(16, b"\0"), key[0]))


def paths_json(speaker: Speaker, family: AddressFamily, key: bytes) -> list[Json]:
    """All paths of one route, the newest first."""
    prefix, _, bits = family.text(key).partition("/")
    group = speaker.table(family).group_of[key]
    return [{**_marks(speaker, family, key, path), "pathFrom": _path_from(path), "prefix": prefix,
             "prefixLen": int(bits), "network": family.text(key), "version": group.version,
             **_metrics(path), "weight": path.weight, "peerId": path.source.name or "(unspec)",
             "path": path_text(path.attributes.as_path), "origin": _ORIGINS[Origin(path.attributes.origin)],
             "nexthops": [_next_hop(speaker, path)]} for path in speaker.candidates(family, key)]


def _path_from(path: Path) -> str:
    # FRR calls own routes external, too.
    return "external" if path.source.external or path.source.local else "internal"


def _metrics(path: Path) -> Json:
    its = path.attributes
    found = {"metric": its.med, "locPrf": its.local_pref}
    return {name: value for name, value in found.items() if value is not None}


def _marks(speaker: Speaker, family: AddressFamily, key: bytes, path: Path) -> Json:
    """Whether the path is valid, best (and why), in use beside the best, or stale."""
    selection = speaker.selection(family, key)
    decision = speaker.explain(family, key)
    marks: Json = {}
    if (path, Reason.UNREACHABLE) not in decision.lost:
        marks["valid"] = True
    if path.stale:
        marks["stale"] = True
    if selection is not None and path is selection.best:
        marks |= {"bestpath": True, "selectionReason": decision.reason.text}
    elif selection is not None and path in selection.multipath:
        marks["multipath"] = True
    return marks


def _next_hop(speaker: Speaker, path: Path) -> Json:
    afi = "ipv6" if len(path.next_hop) >= 16 else "ipv4"
    return {"ip": address_text(path.next_hop), "hostname": hostname_of(speaker, path), "afi": afi, "used": True} | (
        {"scope": "link-local" if path.next_hop[:2] == b"\xfe\x80" else "global"} if afi == "ipv6" else {})


def hostname_of(speaker: Speaker, path: Path) -> str:
    """Who announced a path: the neighbour's hostname capability, or its address without one."""
    if path.source.local:
        return speaker.config.hostname
    agreed = speaker.peers[path.source.name].session.agreed
    return agreed.peer.hostname if agreed is not None and agreed.peer.hostname else path.source.name


def advertised_to(speaker: Speaker, family: AddressFamily, key: bytes) -> Json:
    """Peers that were told of a route, with their hostnames."""
    group = speaker.table(family).group_of[key]
    told: Json = {}
    for peer in speaker.peers.values():
        update_group = peer.groups.get(family)
        if update_group is not None and peer.neighbor.name in update_group.synced and update_group.index in group.sent:
            told[peer.neighbor.name] = {"hostname": _hostname(peer)}
    return told


def route_head_json(speaker: Speaker, family: AddressFamily, key: bytes) -> Json:
    """First element of a route's detail."""
    group = speaker.table(family).group_of[key]
    told = advertised_to(speaker, family, key)
    return {"prefix": family.text(key), "version": group.version} | ({"advertisedTo": told} if told else {})


def path_details_json(speaker: Speaker, family: AddressFamily, key: bytes) -> list[Json]:
    """Every path of a route as `show bgp <family> <prefix> json` has it; `lastUpdate` counts simulated seconds."""
    selection = speaker.selection(family, key)
    group = speaker.table(family).group_of[key]
    rows = []
    for path in speaker.candidates(family, key):
        marks = _marks(speaker, family, key, path)
        its = path.attributes
        row: Json = {
            "aspath": {"string": path_text(its.as_path) or "Local", "segments": [
                {"type": _SEGMENTS[SegmentType(kind)], "list": list(asns)} for kind, asns in its.as_path],
                "length": path_length(its.as_path)},
            "origin": _ORIGINS[Origin(its.origin)], **_metrics(path)}
        if path.weight:
            row["weight"] = path.weight
        row |= {"valid": marks.get("valid", False), "version": group.version}
        if path.source.local:
            row |= {"sourced": True, "local": True}
        if selection is not None and len(selection.multipath) > 1 and path in selection.multipath:
            row["multipath"] = True
        if "bestpath" in marks:
            row["bestpath"] = {"bestpathFromAs": path.source.asn if not path.source.local else 0, "overall": True,
                               "selectionReason": marks["selectionReason"]}
        row |= {"lastUpdate": {"epoch": path.received_ns // NS_PER_S},
                "nexthops": [_next_hop(speaker, path) | {"metric": 0, "accessible": marks.get("valid", False)}],
                "peer": _peer_json(speaker, path), **_communities_json(path)}
        rows.append(row)
    return rows


def _peer_json(speaker: Speaker, path: Path) -> Json:
    if path.source.local:
        return {"peerId": "0.0.0.0", "routerId": speaker.config.router_id}  # noqa: S104  as FRR has it
    return {"peerId": path.source.name, "routerId": address_text(path.source.router_id.to_bytes(4)),
            "hostname": hostname_of(speaker, path), "type": "external" if path.source.external else "internal"}


def _communities_json(path: Path) -> Json:
    its = path.attributes
    found: Json = {}
    if its.communities:
        listed = [f"{one >> 16}:{one & 0xFFFF}" for one in its.communities]
        found["community"] = {"string": " ".join(listed), "list": listed}
    if its.large_communities:
        listed = [":".join(map(str, one)) for one in its.large_communities]
        found["largeCommunity"] = {"string": " ".join(listed), "list": listed}
    if its.originator_id is not None:
        found["originatorId"] = address_text(its.originator_id.to_bytes(4))
    if its.cluster_list:
        found["clusterList"] = {"list": [address_text(one.to_bytes(4)) for one in its.cluster_list]}
    return found


def summary_json(speaker: Speaker, now_ns: int) -> Json:
    """`show bgp summary json`, by family."""
    families = dict.fromkeys(family for peer in speaker.peers.values() for family in peer.neighbor.families)
    result: Json = {}
    for family in families:
        peers = {peer.neighbor.name: _summary_row(speaker, peer, family, now_ns) for peer in speaker.peers.values()
                 if family in peer.neighbor.families}
        failed = sum(row["state"] != "Established" for row in peers.values())
        result[family.json_name] = {
            "routerId": speaker.config.router_id, "as": speaker.config.asn, "vrfId": 0, "vrfName": "default",
            "tableVersion": speaker.table(family).version, "ribCount": len(speaker.table(family).group_of),
            "peerCount": len(peers), "peers": peers, "failedPeers": failed, "displayedPeers": len(peers),
            "totalPeers": len(peers), "dynamicPeers": 0,
            "bestPath": {"multiPathRelax": "true" if speaker.config.multipath_relax else "false"}}
    return result


def _summary_row(speaker: Speaker, peer: Peer, family: AddressFamily, now_ns: int) -> Json:
    name, established = peer.neighbor.name, peer.established
    up_ns = now_ns - established.established_ns if established is not None else 0
    return {
        "hostname": _hostname(peer), "remoteAs": peer.neighbor.remote_asn, "localAs": peer.primary.local_asn,
        "version": 4, "msgRcvd": peer.traffic.received.total, "msgSent": peer.traffic.sent.total, "tableVersion": 0,
        "outq": 0, "inq": 0,
        "peerUptime": uptime_text(up_ns) if established is not None else "never", "peerUptimeMsec": up_ns // NS_PER_MS,
        "pfxRcd": speaker.table(family).accepted.get(name, 0), "pfxSnt": _sent(peer, family),
        "state": peer.session.state.label, "peerState": "OK" if peer.started else "Admin",
        "connectionsEstablished": peer.connections_established, "connectionsDropped": peer.connections_dropped,
        "idType": "ipv4" if len(peer.remote_bytes) == 4 else "interface"}


def _sent(peer: Peer, family: AddressFamily) -> int:
    group = peer.groups.get(family)
    return group.advertised if group is not None and peer.neighbor.name in group.synced else 0


def _hostname(peer: Peer) -> str:
    agreed = peer.session.agreed
    return agreed.peer.hostname if agreed is not None and agreed.peer.hostname else peer.neighbor.name


def uptime_text(span_ns: int) -> str:
    """'00:00:06'; '2d03h10m' from a day on."""
    seconds = span_ns // NS_PER_S
    if seconds < 86400:
        return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{seconds // 86400}d{seconds // 3600 % 24:02}h{seconds // 60 % 60:02}m"


def neighbors_json(speaker: Speaker, now_ns: int) -> Json:
    """`show bgp neighbors json`."""
    return {name: neighbor_json(speaker, peer, now_ns) for name, peer in speaker.peers.items()}


def neighbor_json(speaker: Speaker, peer: Peer, now_ns: int) -> Json:
    """One neighbour of `show bgp neighbors json`."""
    neighbor, session, traffic = peer.neighbor, peer.session, peer.traffic
    agreed = session.agreed
    row: Json = {
        "remoteAs": neighbor.remote_asn, "localAs": session.local_asn,
        "nbrExternalLink" if session.external else "nbrInternalLink": True,
        "hostname": _hostname(peer), "peerGroup": neighbor.peer_group, "bgpVersion": 4,
        "remoteRouterId": address_text(session.remote_router_id.to_bytes(4)), "localRouterId": speaker.config.router_id,
        "bgpState": session.state.label}
    if session.state == State.ESTABLISHED:
        up_ns = now_ns - session.established_ns
        row |= {"bgpTimerUpMsec": up_ns // NS_PER_MS, "bgpTimerUpString": uptime_text(up_ns),
                "bgpTimerUpEstablishedEpoch": session.established_ns // NS_PER_S}
    row |= {
        "bgpTimerLastRead": (now_ns - traffic.last_read_ns) // NS_PER_MS,
        "bgpTimerLastWrite": (now_ns - traffic.last_write_ns) // NS_PER_MS,
        "bgpInUpdateElapsedTimeMsecs": (now_ns - traffic.last_update_ns) // NS_PER_MS,
        "bgpTimerConfiguredHoldTimeMsecs": neighbor.hold_time_s * 1000,
        "bgpTimerConfiguredKeepAliveIntervalMsecs": neighbor.keepalive_s * 1000,
        "bgpTimerHoldTimeMsecs": (agreed.hold_ns if agreed else neighbor.hold_time_s * NS_PER_S) // NS_PER_MS,
        "bgpTimerKeepAliveIntervalMsecs": (
            agreed.keepalive_ns if agreed else neighbor.keepalive_s * NS_PER_S) // NS_PER_MS}
    if agreed is not None:
        row |= {"neighborCapabilities": _capabilities_json(session.own_capabilities(), agreed.peer, peer),
                "gracefulRestartInfo": _restart_json(speaker, peer, session.own_capabilities(), agreed.peer)}
    row |= {"messageStats": _traffic_json(traffic),
            "minBtwnAdvertisementRunsTimerMsecs": neighbor.mrai_ns // NS_PER_MS,
            "addressFamilyInfo": {family.json_name: _family_json(speaker, peer, family)
                                  for family in neighbor.families},
            "connectionsEstablished": peer.connections_established, "connectionsDropped": peer.connections_dropped}
    if peer.last_reset is not None:
        row |= {"lastResetTimerMsecs": (now_ns - peer.last_reset.at_ns) // NS_PER_MS,
                "lastResetDueTo": peer.last_reset.reason, "lastErrorCodeSubcode":
                f"{peer.last_reset.code:02X}{peer.last_reset.subcode:02X}"}
    return row | {"hostLocal": neighbor.local_address, "hostForeign": neighbor.remote_address,
                  "nexthop": neighbor.local_address, "bgpConnection": "sharedNetwork",
                  "connectRetryTimer": neighbor.connect_retry_ns // NS_PER_S,
                  "routesRejected": {why.name: count for why, count in peer.rejected.items()},
                  "updatesWithFlaws": peer.flaws}


def _both(own: bool, theirs: bool) -> str | None:
    words = {(True, True): "advertisedAndReceived", (True, False): "advertised", (False, True): "received"}
    return words.get((own, theirs))


def _capabilities_json(own: Capabilities, theirs: Capabilities, peer: Peer) -> Json:
    rows: Json = {
        "4byteAs": _both(own.asn4 is not None, theirs.asn4 is not None),
        "extendedMessage": _both(own.extended_message, theirs.extended_message),
        "extendedNexthop": _both(bool(own.extended_next_hop), bool(theirs.extended_next_hop)),
        "longLivedGracefulRestart": _both(own.long_lived, theirs.long_lived),
        "routeRefresh": "advertisedAndReceivedOldNew" if theirs.route_refresh and theirs.route_refresh_cisco
        else _both(own.route_refresh, theirs.route_refresh),
        "enhancedRouteRefresh": _both(own.enhanced_refresh, theirs.enhanced_refresh),
        "multiprotocolExtensions": {family.json_name: {_both(True, family.id in theirs.families) or "": True}
                                    for family in peer.neighbor.families},
        "hostName": {"advHostName": own.hostname, "advDomainName": "n/a", "rcvHostName": theirs.hostname or "n/a",
                     "rcvDomainName": "n/a"},
        "gracefulRestart": _both(own.restart is not None, theirs.restart is not None)}
    if theirs.restart is not None:
        preserved = {family.json_name: {"preserved": bool(flags & FORWARDING_STATE)}
                     for family in peer.neighbor.families
                     for afi, safi, flags in theirs.restart_families if family.id == (afi, safi)}
        rows |= {"gracefulRestartRemoteTimerMsecs": theirs.restart[1] * 1000,
                 "addressFamiliesByPeer": preserved or "none"}
    return {name: value for name, value in rows.items() if value is not None}


def _restart_json(speaker: Speaker, peer: Peer, own: Capabilities, theirs: Capabilities) -> Json:
    flags, time_s = theirs.restart if theirs.restart is not None else (0, 0)
    remote = "Restart" if theirs.restart_families else "Helper" if theirs.restart is not None else "NotReceived"
    return {"endOfRibSend": {family.json_name: True for family in peer.end_of_rib_sent},
            "endOfRibRecv": {family.json_name: True for family in peer.end_of_rib_received},
            "localGrMode": "Helper*", "remoteGrMode": remote, "rBit": bool(flags & RESTART_STATE),
            "nBit": bool(flags & GRACEFUL_NOTIFICATION),
            "timers": {"configuredRestartTimer": own.restart[1] if own.restart is not None else 0,
                       "receivedRestartTimer": time_s},
            **{family.json_name: {
                "fBit": any((afi, safi) == family.id and bits & FORWARDING_STATE
                            for afi, safi, bits in theirs.restart_families),
                "endOfRibStatus": {"endOfRibSend": family in peer.end_of_rib_sent,
                                   "endOfRibRecv": family in peer.end_of_rib_received},
                "timers": {"stalePathTimer": speaker.config.stale_path_time_s}}
               for family in peer.neighbor.families if family.afi in (Afi.IPV4, Afi.IPV6)}}


def _traffic_json(traffic: Traffic) -> Json:
    sent, received = traffic.sent, traffic.received
    return {"depthInq": 0, "depthOutq": 0, "opensSent": sent.opens, "opensRecv": received.opens,
            "notificationsSent": sent.notifications, "notificationsRecv": received.notifications,
            "updatesSent": sent.updates, "updatesRecv": received.updates, "keepalivesSent": sent.keepalives,
            "keepalivesRecv": received.keepalives, "routeRefreshSent": sent.route_refreshes,
            "routeRefreshRecv": received.route_refreshes, "capabilitySent": 0, "capabilityRecv": 0,
            "totalSent": sent.total, "totalRecv": received.total}


def _family_json(speaker: Speaker, peer: Peer, family: AddressFamily) -> Json:
    group = peer.groups.get(family)
    row: Json = {"peerGroupMember": peer.neighbor.peer_group} if peer.neighbor.peer_group else {}
    if group is not None:
        row |= {"updateGroupId": group.index, "subGroupId": group.index, "packetQueueLength": 0}
    if family.keeps_next_hop or peer.families[family].next_hop_unchanged:
        row["unchangedNextHopPropogatedToNbr"] = True        # FRR's spelling
    return row | {"commAttriSentToNbr": "extendedAndStandard",
                  "acceptedPrefixCounter": speaker.table(family).accepted.get(peer.neighbor.name, 0),
                  "sentPrefixCounter": _sent(peer, family)}
