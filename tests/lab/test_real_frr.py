"""Our speaker and FRR's bgpd: each has the routes of the other in its tables."""

from __future__ import annotations

import signal
from typing import Any

from fabric.capture.journal import read, replay
from fabric.controlplane.bgp.actions import SessionDown
from fabric.controlplane.bgp.afi import IPV4_UNICAST, prefix_key
from fabric.controlplane.evpn.evpn_nlri import EVPN, mac_ip_key, route_text
from fabric.controlplane.evpn.rd import auto_rd
from tests.lab.routers import L3_VNI, OUR_ASN, OUR_VTEP, OURS, REAL, ROUTED_MAC, THEIR_VTEP, THEIRS, VNI, Beside, beside
from tests.waiting import until

pytestmark = REAL


def replays(peer: Beside) -> None:
    """The replay of the journal is equal byte for byte."""
    differences = list(replay(read(peer.journal.getvalue().splitlines(), "the session's journal")))
    assert differences == []


def test_frr_has_our_routes_of_every_kind_and_we_have_frrs() -> None:
    with beside() as peer:
        peer.originate_all()
        peer.until(lambda: peer.established)
        peer.until(lambda: f"{OUR_VTEP}/32" in peer.route("show ip bgp")["routes"])
        peer.until(lambda: len(peer.evpn_paths()) == 5)
        # bgpd first marks a path valid, and selects slightly later.
        peer.until(lambda: all(path.get("valid") and path.get("bestpath") for path in peer.evpn_paths().values()))
        paths = peer.evpn_paths()
        assert set(paths) == {
            "[2]:[0]:[48]:[02:00:00:00:09:01]",
            "[2]:[0]:[48]:[02:00:00:00:09:01]:[32]:[172.16.101.91]",
            f"[2]:[0]:[48]:[{ROUTED_MAC}]:[32]:[172.16.101.92]",
            f"[3]:[0]:[32]:[{OUR_VTEP}]",
            "[5]:[0]:[24]:[172.16.109.0]",
        }
        for path in paths.values():
            assert path["nexthops"][0]["ip"] == OUR_VTEP
            assert path["path"] == str(OUR_ASN)
            assert f"RT:{OUR_ASN}:{L3_VNI if path['routeType'] == 5 else VNI}" in path["extendedCommunity"]["string"]
            assert "ET:8" in path["extendedCommunity"]["string"]
        community_text = paths[f"[2]:[0]:[48]:[{ROUTED_MAC}]:[32]:[172.16.101.92]"]["extendedCommunity"]["string"]
        assert {f"RT:{OUR_ASN}:{VNI}", f"RT:{OUR_ASN}:{L3_VNI}", "Rmac:02:fa:00:00:00:09"} <= set(
            community_text.split()
        )
        detail = peer.frr.shell(f"show bgp l2vpn evpn route rd {OUR_VTEP}:2 mac {ROUTED_MAC} ip 172.16.101.92")
        assert f"{VNI}/{L3_VNI}" in detail
        # bgpd sends its imports to zebra: the flood list and the MAC behind our VTEP.
        peer.until(lambda: peer.route(f"show evpn vni {VNI}").get("numRemoteVteps") == [OUR_VTEP])
        peer.until(lambda: "02:00:00:00:09:01" in peer.route(f"show evpn mac vni {VNI}").get("macs", {}))
        macs = peer.route(f"show evpn mac vni {VNI}")["macs"]
        assert macs["02:00:00:00:09:01"]["remoteVtep"] == OUR_VTEP
        peer.until(lambda: f"{OUR_VTEP}/32" in peer.route(f"show ip route {OUR_VTEP}/32"))
        [route] = peer.route(f"show ip route {OUR_VTEP}/32")[f"{OUR_VTEP}/32"]
        assert [hop["ip"] for hop in route["nexthops"]] == [OURS]

        theirs = prefix_key(f"{THEIR_VTEP}/32")
        peer.until(lambda: [keys for keys, _ in peer.speaker.adj_rib_in(THEIRS, IPV4_UNICAST)] == [(theirs,)])
        peer.until(lambda: any(keys for keys, _ in peer.speaker.adj_rib_in(THEIRS, EVPN)))
        [(keys, path)] = peer.speaker.adj_rib_in(THEIRS, EVPN)
        assert [route_text(key).partition(" ")[2] for key in keys] == [f"[3]:[0]:[32]:[{THEIR_VTEP}]"]
        assert path.attributes.pmsi_tunnel == bytes([0, 6]) + VNI.to_bytes(3) + bytes([10, 255, 1, 1])
        replays(peer)


def test_withdrawn_routes_leave_frrs_tables_and_a_refresh_brings_the_others_again() -> None:
    with beside() as peer:
        peer.originate_all()
        peer.until(lambda: len(peer.evpn_paths()) == 5)
        gone = mac_ip_key(auto_rd(OUR_VTEP, 2), "02:00:00:00:09:01", "172.16.101.91")
        peer.sockets.do("withdraw", family=EVPN, keys=(gone,))
        peer.sockets.do("withdraw", family=IPV4_UNICAST, keys=(prefix_key(f"{OUR_VTEP}/32"),))
        peer.until(lambda: len(peer.evpn_paths()) == 4)
        peer.until(lambda: f"{OUR_VTEP}/32" not in peer.route("show ip bgp")["routes"])
        # Without the route to the next hop the path is invalid.
        peer.until(lambda: not any(path.get("valid") for path in peer.evpn_paths().values()))

        before = peer.speaker.peers[THEIRS].traffic.received.updates
        peer.sockets.do("request_refresh", peer=THEIRS, family=IPV4_UNICAST)
        peer.until(lambda: peer.speaker.peers[THEIRS].traffic.received.updates > before)
        received = peer.route(f"show bgp neighbors {OURS}")[OURS]["messageStats"]
        assert received["routeRefreshRecv"] >= 1
        peer.frr.shell(f"clear bgp ipv4 unicast {OURS} soft in")
        peer.until(lambda: peer.speaker.peers[THEIRS].traffic.received.route_refreshes >= 1)
        replays(peer)


def test_a_drain_reaches_frr_as_the_graceful_shutdown_community() -> None:
    with beside() as peer:
        peer.originate_all()
        prefix = f"{OUR_VTEP}/32"
        peer.until(lambda: prefix in peer.route("show ip bgp")["routes"])

        def communities() -> list[str]:
            return list(peer.route(f"show ip bgp {prefix}")["paths"][0].get("community", {}).get("list", ()))

        assert communities() == []
        peer.sockets.do("graceful_shutdown", on=True)
        peer.until(lambda: communities() != [])
        assert communities() == ["gracefulShutdown"]
        # RFC 8326 section 4.2: the receiver gives it the lowest preference.
        assert peer.route(f"show ip bgp {prefix}")["paths"][0]["locPrf"] == 0
        peer.sockets.do("graceful_shutdown", on=False)
        peer.until(lambda: communities() == [])
        replays(peer)


def test_our_cease_arrives_before_the_connection_ends() -> None:
    with beside() as peer:
        peer.until(lambda: peer.established)
        peer.sockets.stop()

        def ended() -> dict[str, Any] | None:
            neighbor: dict[str, Any] = peer.route(f"show bgp neighbors {OURS}")[OURS]
            return neighbor if neighbor["bgpState"] != "Established" else None

        neighbor = until(ended, "bgpd ends the session")
        assert neighbor is not None
        assert neighbor["lastNotificationReason"] == "Cease/Administrative Shutdown"
        replays(peer)


def test_frrs_notification_ends_our_session_and_it_comes_back() -> None:
    with beside() as peer:
        peer.until(lambda: peer.established)
        peer.frr.shell(f"clear bgp {OURS}")
        peer.until(lambda: any(isinstance(it, SessionDown) for it in peer.seen))
        [down] = [it for it in peer.seen if isinstance(it, SessionDown)]
        # Both ends announced the N bit, so FRR wraps its reset (RFC 8538 section 4).
        assert down.reason == "NOTIFICATION received: Cease/Hard Reset"
        peer.until(lambda: peer.established)
        replays(peer)


def test_a_silent_router_is_given_up_when_the_hold_time_has_passed() -> None:
    with beside(hold_time_s=3) as peer:
        peer.until(lambda: peer.established)
        peer.frr.signal("bgpd", signal.SIGSTOP)
        try:
            peer.until(lambda: not peer.established)
            assert peer.speaker.peers[THEIRS].last_reset is not None
            assert peer.speaker.peers[THEIRS].last_reset.reason == "Hold Timer Expired"
        finally:
            peer.frr.signal("bgpd", signal.SIGCONT)
        replays(peer)


def test_frr_may_open_the_connection_too() -> None:
    with beside(passive=True) as peer:
        peer.originate_all()
        peer.until(lambda: peer.established)
        peer.until(lambda: len(peer.evpn_paths()) == 5)
        replays(peer)
