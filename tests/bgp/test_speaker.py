"""Functions of a speaker beyond route exchange: restarts, refreshes, reflection, policy, drain, limits, next hops."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from fabric.controlplane.bgp.actions import Close, Connect, Send, SessionDown
from fabric.controlplane.bgp.afi import IPV4_UNICAST, prefix_key
from fabric.controlplane.bgp.attributes import Attributes, path_text, sequence
from fabric.controlplane.bgp.capabilities import Capabilities, write_capabilities
from fabric.controlplane.bgp.config import Neighbor, PeerFamily, SpeakerConfig
from fabric.controlplane.bgp.importing import Rejected
from fabric.controlplane.bgp.message import KEEPALIVE_BYTES, Open, encode_open
from fabric.controlplane.bgp.policy import DENY_ALL, Match, Policy, Rule, Set
from fabric.controlplane.bgp.speaker import Speaker
from fabric.controlplane.bgp.timers import TimerJitter
from fabric.controlplane.bgp.update import Decoder, end_of_rib
from fabric.controlplane.evpn.evpn_nlri import EVPN, mac_ip_key
from fabric.wire.iana import Cease, Community, ErrorCode
from tests.bgp.lines import FULL, NET, OTHER, announce, best, by_hand, line, their_route, their_withdrawal
from tests.bgp.wiring import MS, S, leaf_spine, originate_loopbacks


def test_each_hop_prepends_its_as_and_sets_itself_as_next_hop_and_med_goes_one_hop() -> None:
    wiring = line(65001, 65002, 65003)
    announce(wiring, "r1", NET)
    wiring.start()
    wiring.settle()
    near, far = best(wiring, "r2"), best(wiring, "r3")
    assert near is not None
    assert far is not None
    assert (path_text(near.attributes.as_path), near.attributes.med) == ("65001", 0)
    assert near.next_hop == bytes([10, 0, 1, 1])
    assert (path_text(far.attributes.as_path), far.attributes.med, far.next_hop) == (
        "65002 65001",
        None,
        bytes([10, 0, 2, 1]),
    )


def test_a_withdrawal_travels_as_far_as_the_route_did() -> None:
    wiring = line(65001, 65002, 65003)
    announce(wiring, "r1", NET)
    wiring.start()
    wiring.settle()
    wiring.act("r1", wiring.speakers["r1"].withdraw(IPV4_UNICAST, (NET,), wiring.now_ns))
    wiring.settle()
    assert [best(wiring, name) for name in ("r1", "r2", "r3")] == [None] * 3
    assert not wiring.speakers["r3"].tables[IPV4_UNICAST].groups


def test_internal_routes_are_not_passed_to_internal_peers_without_a_reflector() -> None:
    wiring = line(65001, 65001, 65001)
    announce(wiring, "r1", NET)
    wiring.start()
    wiring.settle()
    assert best(wiring, "r2") is not None
    assert best(wiring, "r3") is None


def test_a_reflector_passes_them_on_with_originator_and_cluster_and_nothing_else_changed_rfc4456() -> None:
    wiring = line(65001, 65001, 65001, families={IPV4_UNICAST: PeerFamily(route_reflector_client=True)})
    announce(wiring, "r1", NET)
    wiring.start()
    wiring.settle()
    far = best(wiring, "r3")
    assert far is not None
    assert (far.attributes.originator_id, far.attributes.cluster_list) == (0x0AFF0001, (0x0AFF0002,))
    assert (far.attributes.as_path, far.attributes.local_pref, far.next_hop) == ((), 100, bytes([10, 0, 1, 1]))
    # The originator rejects its own routes.
    assert sum(wiring.speakers["r1"].peers["10.0.1.2"].rejected.values()) == 1
    assert [path.source.local for path in wiring.speakers["r1"].candidates(IPV4_UNICAST, NET)] == [True]


def test_a_cluster_loop_is_refused_rfc4456() -> None:
    wiring = line(
        65001, 65001, 65001, families={IPV4_UNICAST: PeerFamily(route_reflector_client=True)}, cluster_id="9.9.9.9"
    )
    announce(wiring, "r1", NET)
    wiring.start()
    wiring.settle()
    assert best(wiring, "r3") is None
    assert wiring.speakers["r3"].peers["10.0.2.1"].rejected == {Rejected.CLUSTER_LOOP: 1}


@pytest.mark.parametrize(("times", "accepted"), [(0, False), (1, True)])
def test_the_own_as_in_the_path_is_refused_unless_allowed(times: int, accepted: bool) -> None:
    wiring = line(65001, 65002, 65001, families={IPV4_UNICAST: PeerFamily(allowas_in=times)})
    announce(wiring, "r1", NET)
    wiring.start()
    wiring.settle()
    assert (best(wiring, "r3") is not None) == accepted


@pytest.mark.parametrize(
    ("community", "second", "third"),
    [(Community.NO_ADVERTISE, False, False), (Community.NO_EXPORT, False, False), (0x00010002, True, True)],
)
def test_well_known_communities_stop_routes_rfc1997(community: int, second: bool, third: bool) -> None:
    wiring = line(65001, 65002, 65003)
    announce(wiring, "r1", NET, its=Attributes(communities=(community,)))
    wiring.start()
    wiring.settle()
    assert ((best(wiring, "r2") is not None), (best(wiring, "r3") is not None)) == (second, third)


def test_evpn_next_hops_stay_those_of_the_vtep() -> None:
    wiring = line(65001, 65002, 65003, families={EVPN: PeerFamily()})
    key, vtep = mac_ip_key(bytes(8), "02:00:00:00:00:01"), bytes([10, 255, 0, 1])
    wiring.act("r1", wiring.speakers["r1"].originate(EVPN, (key,), Attributes(), 0, next_hop=vtep))
    wiring.start()
    wiring.settle()
    assert [getattr(best(wiring, name, key, EVPN), "next_hop", None) for name in ("r2", "r3")] == [vtep, vtep]


def test_routes_over_next_hops_that_do_not_resolve_wait_until_they_do() -> None:
    wiring = line(65001, 65002, families={IPV4_UNICAST: PeerFamily(), EVPN: PeerFamily()}, tracked_families=(EVPN,))
    key, vtep = mac_ip_key(bytes(8), "02:00:00:00:00:01"), bytes([10, 255, 0, 1])
    r1, r2 = wiring.speakers["r1"], wiring.speakers["r2"]
    wiring.act("r1", r1.originate(EVPN, (key,), Attributes(), 0, next_hop=vtep))
    wiring.start()
    wiring.settle()
    assert best(wiring, "r2", key, EVPN) is None
    loopback = prefix_key("10.255.0.1/32")
    announce(wiring, "r1", loopback)
    wiring.settle()
    assert best(wiring, "r2", key, EVPN) is not None
    wiring.act("r1", r1.withdraw(IPV4_UNICAST, (loopback,), wiring.now_ns))
    wiring.settle()
    assert best(wiring, "r2", key, EVPN) is None
    wiring.act("r2", r2.interior_routes({"10.255.0.0/24": 20}, wiring.now_ns))
    wiring.settle()
    assert best(wiring, "r2", key, EVPN) is not None
    wiring.act("r2", r2.interior_routes({"10.255.0.0/24": None}, wiring.now_ns))
    wiring.settle()
    assert best(wiring, "r2", key, EVPN) is None


def test_graceful_shutdown_moves_traffic_before_the_router_goes_rfc8326() -> None:
    wiring = leaf_spine(2, 2)
    originate_loopbacks(wiring)
    wiring.start()
    wiring.settle()
    loopback = prefix_key("10.255.1.2/32")
    leaf = wiring.speakers["leaf1"]
    before = leaf.selection(IPV4_UNICAST, loopback)
    assert before is not None
    assert len(before.multipath) == 2
    wiring.act("spine1", wiring.speakers["spine1"].graceful_shutdown(wiring.now_ns, on=True))
    wiring.settle()
    drained = leaf.selection(IPV4_UNICAST, loopback)
    assert drained is not None
    assert drained.next_hops == (bytes([10, 2, 1, 0]),)
    assert wiring.established() == 8
    assert any(path.attributes.local_pref == 0 for path in leaf.candidates(IPV4_UNICAST, loopback))
    wiring.act("spine1", wiring.speakers["spine1"].graceful_shutdown(wiring.now_ns, on=False))
    wiring.settle()
    after = leaf.selection(IPV4_UNICAST, loopback)
    assert after is not None
    assert len(after.multipath) == 2


def test_export_policy_changes_what_is_told_while_the_session_is_up() -> None:
    wiring = line(65001, 65002)
    announce(wiring, "r1", NET, OTHER)
    wiring.start()
    wiring.settle()
    only = Policy(
        (Rule(Match(prefixes=(("192.0.2.0/24", 24, 24),)), set=Set(prepend=(65001, 65001), med=9)),),
        default_accept=False,
    )
    wiring.act("r1", wiring.speakers["r1"].set_policy("10.0.1.2", IPV4_UNICAST, wiring.now_ns, export_policy=only))
    wiring.settle()
    kept = best(wiring, "r2")
    assert kept is not None
    assert (path_text(kept.attributes.as_path), kept.attributes.med) == ("65001 65001 65001", 9)
    assert best(wiring, "r2", OTHER) is None


def test_import_policy_takes_effect_by_route_refresh() -> None:
    wiring = line(65001, 65002)
    announce(wiring, "r1", NET)
    wiring.start()
    wiring.settle()
    r2 = wiring.speakers["r2"]
    prefer = Policy((Rule(set=Set(local_pref=300, add_communities=(7,))),))
    wiring.act("r2", r2.set_policy("10.0.1.1", IPV4_UNICAST, wiring.now_ns, import_policy=prefer))
    wiring.settle()
    chosen = best(wiring, "r2")
    assert chosen is not None
    assert (chosen.attributes.local_pref, chosen.attributes.communities) == (300, (7,))
    wiring.act("r2", r2.set_policy("10.0.1.1", IPV4_UNICAST, wiring.now_ns, import_policy=DENY_ALL))
    wiring.settle()
    assert best(wiring, "r2") is None
    assert r2.peers["10.0.1.1"].rejected[Rejected.POLICY] == 1


def test_an_import_policy_may_look_at_prefixes_and_parts_what_came_together() -> None:
    policy = Policy(
        (
            Rule(Match(prefixes=(("192.0.2.0/24", 24, 24),), families=((1, 1),)), set=Set(weight=9)),
            Rule(Match(prefixes=(("2001:db8::/32", 32, 128),)), accept=False),
            Rule(Match(prefixes=(("198.51.100.0/24", 25, 32),)), accept=False),
            Rule(Match(communities=(1,), origin_asns=(1,)), accept=False),
        )
    )
    wiring = line(65001, 65002, families={IPV4_UNICAST: PeerFamily(import_policy=policy)})
    announce(wiring, "r1", NET, OTHER)
    wiring.start()
    wiring.settle()
    weights = {keys: path.weight for keys, path in wiring.speakers["r2"].adj_rib_in("10.0.1.1", IPV4_UNICAST)}
    assert weights == {(NET,): 9, (OTHER,): 0}
    assert {keys for keys, _ in wiring.speakers["r2"].loc_rib(IPV4_UNICAST)} == {(NET,), (OTHER,)}


def test_a_policy_can_set_the_next_hop_and_large_and_extended_communities() -> None:
    policy = Policy(
        (
            Rule(
                set=Set(
                    next_hop="10.9.9.9",
                    add_large_communities=((1, 2, 3),),
                    add_ext_communities=(bytes(8),),
                    remove_communities=(5,),
                    add_communities=(6,),
                )
            ),
        )
    )
    wiring = line(65001, 65002, families={IPV4_UNICAST: PeerFamily(export_policy=policy)})
    announce(wiring, "r1", NET, its=Attributes(communities=(5,)))
    wiring.start()
    wiring.settle()
    accepted = best(wiring, "r2")
    assert accepted is not None
    assert (accepted.next_hop, accepted.attributes.communities) == (bytes([10, 9, 9, 9]), (6,))
    assert (accepted.attributes.large_communities, accepted.attributes.ext_communities) == (((1, 2, 3),), (bytes(8),))


def test_routes_whose_path_begins_with_another_as_are_refused_where_that_is_asked() -> None:
    neighbor = Neighbor("10.0.0.2", 65002, "10.0.0.1", "10.0.0.2", enforce_first_as=True)
    speaker, _ = by_hand(65001, FULL, [], neighbor)
    speaker.received("10.0.0.2", their_route(NET, 65009, 65002) + their_route(OTHER, 65002), 1)
    assert [keys for keys, _ in speaker.adj_rib_in("10.0.0.2", IPV4_UNICAST)] == [(OTHER,)]
    assert speaker.peers["10.0.0.2"].rejected == {Rejected.FIRST_AS: 1}


def test_a_reset_tells_the_peer_and_connects_again() -> None:
    speaker, _ = by_hand(65001, FULL, [])
    actions = speaker.reset("10.0.0.2", 1)
    sent = next(action.data for action in actions if isinstance(action, Send))
    assert (sent[19], sent[20]) == (ErrorCode.CEASE, Cease.ADMINISTRATIVE_RESET)
    assert actions[-1] == Connect("10.0.0.2")


def test_the_first_matching_rule_decides() -> None:
    policy = Policy((Rule(Match(as_path_contains=(65001,)), accept=False), Rule(set=Set(local_pref=5))))
    wiring = line(65001, 65002, families={IPV4_UNICAST: PeerFamily(import_policy=policy)})
    announce(wiring, "r1", NET)
    wiring.start()
    wiring.settle()
    assert best(wiring, "r2") is None


def test_updates_of_one_change_keep_the_minimum_interval() -> None:
    wiring = line(65001, 65002, update_delay_ns=0)
    for name, speaker in wiring.speakers.items():
        neighbors = tuple(replace(neighbor, mrai_ns=5 * S) for neighbor in speaker.config.neighbors)
        wiring.speakers[name] = Speaker(replace(speaker.config, neighbors=neighbors))
    wiring.keep_log = True
    wiring.start()
    wiring.settle(1)
    for med in range(4):
        announce(wiring, "r1", NET, its=Attributes(med=med))
        wiring.run(wiring.now_ns + 100 * MS)
    wiring.settle(20)
    times = [time_ns for time_ns, name, _, data in wiring.log if name == "r1" and data[18] == 2 and len(data) > 30]
    assert len(times) == 2
    assert times[1] - times[0] == 5 * S
    last = best(wiring, "r2")
    assert last is not None
    assert last.attributes.med == 3


def test_a_two_byte_neighbour_gets_as_trans_and_as4_path_rfc6793() -> None:
    speaker, actions = by_hand(4_200_000_001, Capabilities(families=((1, 1),)), [(NET, Attributes())])
    opened = next(action.data for action in actions if isinstance(action, Send))
    assert opened[20:22] == (23456).to_bytes(2)
    message = next(
        action.data for action in actions if isinstance(action, Send) and action.data[18] == 2 and len(action.data) > 30
    )
    update = Decoder((), width=2).update(message[19:])
    assert update.attributes is not None
    assert update.attributes.as_path == sequence(4_200_000_001)
    assert b"\x5b\xa0" in message
    assert speaker.peers["10.0.0.2"].established is not None


def test_the_first_table_ends_with_end_of_rib_if_the_peer_can_restart() -> None:
    _, actions = by_hand(65001, FULL, [(NET, Attributes())])
    updates = [action.data for action in actions if isinstance(action, Send) and action.data[18] == 2]
    assert updates[-1] == end_of_rib((1, 1))
    _, actions = by_hand(65001, replace(FULL, restart=None, restart_families=()), [])
    assert not [action for action in actions if isinstance(action, Send) and action.data[18] == 2]


def test_routes_of_a_peer_that_restarts_stay_until_end_of_rib_rfc4724() -> None:
    speaker, _ = by_hand(65001, FULL, [])
    peer = "10.0.0.2"
    speaker.received(peer, their_route(NET, 65002) + their_route(OTHER, 65002), 1)
    assert SessionDown(peer, "Peer closed the session") in speaker.closed(peer, 2)
    assert [path.stale for _, path in speaker.adj_rib_in(peer, IPV4_UNICAST)] == [True, True]
    assert speaker.selection(IPV4_UNICAST, NET) is not None
    speaker.tick(2 * S)
    speaker.connected(peer, 3 * S)
    speaker.received(peer, encode_open(Open(65002, 9, 7, write_capabilities(FULL))) + KEEPALIVE_BYTES, 3 * S)
    speaker.received(peer, their_route(NET, 65002), 4 * S)
    assert speaker.selection(IPV4_UNICAST, OTHER) is not None
    speaker.received(peer, end_of_rib((1, 1)), 5 * S)
    assert speaker.selection(IPV4_UNICAST, OTHER) is None
    assert speaker.selection(IPV4_UNICAST, NET) is not None
    assert [path.stale for _, path in speaker.adj_rib_in(peer, IPV4_UNICAST)] == [False]


def test_stale_routes_go_when_the_restart_takes_too_long_or_forwarding_was_lost_rfc4724() -> None:
    peer = "10.0.0.2"
    speaker, _ = by_hand(65001, FULL, [])
    speaker.received(peer, their_route(NET, 65002), 1)
    speaker.closed(peer, 2)
    speaker.tick(60 * S + 1)
    assert speaker.selection(IPV4_UNICAST, NET) is not None
    speaker.tick(60 * S + 2)
    assert speaker.selection(IPV4_UNICAST, NET) is None

    speaker, _ = by_hand(65001, FULL, [])
    speaker.received(peer, their_route(NET, 65002), 1)
    speaker.closed(peer, 2)
    speaker.tick(2 * S)
    speaker.connected(peer, 3 * S)
    lost = replace(FULL, restart_families=((1, 1, 0),))
    speaker.received(peer, encode_open(Open(65002, 9, 7, write_capabilities(lost))) + KEEPALIVE_BYTES, 3 * S)
    assert speaker.selection(IPV4_UNICAST, NET) is None


@pytest.mark.parametrize("how", ["link", "bfd", "hold"])
def test_only_a_closed_transport_makes_routes_stale(how: str) -> None:
    peer = "10.0.0.2"
    speaker, _ = by_hand(65001, FULL, [])
    speaker.received(peer, their_route(NET, 65002), 1)
    if how == "link":
        speaker.link_down(peer, 2)
    elif how == "bfd":
        actions = speaker.bfd_down(peer, 2)
        sent = next(action.data for action in actions if isinstance(action, Send))
        assert (sent[19], sent[20]) == (ErrorCode.CEASE, Cease.BFD_DOWN)
    else:
        speaker.tick(9 * S + 1)
    assert speaker.selection(IPV4_UNICAST, NET) is None


def test_an_enhanced_refresh_drops_what_is_not_said_again_rfc7313() -> None:
    peer, begin, end = "10.0.0.2", refresh(1), refresh(2)
    speaker, _ = by_hand(65001, FULL, [])
    speaker.received(peer, their_route(NET, 65002) + their_route(OTHER, 65002), 1)
    speaker.received(peer, begin + their_route(NET, 65002), 2)
    assert speaker.selection(IPV4_UNICAST, OTHER) is not None
    speaker.received(peer, end, 3)
    assert speaker.selection(IPV4_UNICAST, OTHER) is None
    assert speaker.selection(IPV4_UNICAST, NET) is not None


def refresh(subtype: int) -> bytes:
    return b"\xff" * 16 + b"\x00\x17\x05\x00\x01" + bytes([subtype]) + b"\x01"


def test_a_refresh_request_is_answered_between_its_marks_rfc7313() -> None:
    speaker, _ = by_hand(65001, FULL, [(NET, Attributes())])
    sent = [action.data for action in speaker.received("10.0.0.2", refresh(0), 1) if isinstance(action, Send)]
    assert (sent[0], sent[-1], len(sent)) == (refresh(1), refresh(2), 3)
    assert Decoder(()).update(sent[1][19:]).reach[0].blocks[0].keys == (NET,)


def test_an_unnumbered_neighbour_gets_ipv4_routes_over_its_link_local_address_rfc8950() -> None:
    neighbor = Neighbor("swp1", 65002, "fe80::1", "fe80::2")
    theirs = replace(FULL, extended_next_hop=((1, 1, 2),))
    speaker, actions = by_hand(65001, theirs, [(NET, Attributes())], neighbor)
    update = next(action.data for action in actions if isinstance(action, Send) and action.data[18] == 2)
    reach = Decoder(()).update(update[19:]).reach[0]
    assert (reach.family, reach.next_hop[:2], len(reach.next_hop)) == (IPV4_UNICAST, b"\xfe\x80", 16)
    assert speaker.peers["swp1"].session.own_capabilities().extended_next_hop == ((1, 1, 2),)


def test_peers_are_told_their_own_routes_too_as_in_frr_and_refuse_them() -> None:
    wiring = line(65001, 65002)
    announce(wiring, "r1", NET)
    wiring.start()
    wiring.settle()
    assert [keys for keys, *_ in wiring.speakers["r2"].adj_rib_out("10.0.1.1", IPV4_UNICAST)] == [(NET,)]
    assert wiring.speakers["r1"].peers["10.0.1.2"].rejected == {Rejected.AS_LOOP: 1}


def test_stopping_says_cease_and_closes() -> None:
    speaker, _ = by_hand(65001, FULL, [])
    actions = speaker.stop(1)
    sent = next(action.data for action in actions if isinstance(action, Send))
    assert (sent[18], sent[19], sent[20]) == (3, ErrorCode.CEASE, Cease.ADMINISTRATIVE_SHUTDOWN)
    assert any(isinstance(action, Close) for action in actions)
    assert speaker.next_deadline_ns() is None


def test_a_route_said_twice_changes_nothing() -> None:
    speaker, _ = by_hand(65001, FULL, [])
    first = speaker.received("10.0.0.2", their_route(NET, 65002), 1)
    assert first
    assert speaker.received("10.0.0.2", their_route(NET, 65002), 2) == []
    assert speaker.received("10.0.0.2", their_withdrawal(OTHER), 3) == []
    assert [path.received_ns for path in speaker.candidates(IPV4_UNICAST, NET)] == [1]


def test_timers_with_jitter_last_three_quarters_to_all_of_their_value_rfc4271_10() -> None:
    neighbor = Neighbor("192.0.2.1", 65001, "192.0.2.0", "192.0.2.1", connect_retry_ns=10 * S)
    exact = Speaker(SpeakerConfig(65000, "10.255.0.1", "r1", (neighbor,)))
    exact.start(0)
    assert exact.next_deadline_ns() == 10 * S
    retries = []
    for key in range(40):
        speaker = Speaker(SpeakerConfig(65000, "10.255.0.1", "r1", (neighbor,), jitter_key=key))
        speaker.start(0)
        retries.append(speaker.next_deadline_ns() or 0)
        assert 7.5 * S <= speaker.jittered(10 * S) <= 10 * S
    assert all(7.5 * S <= due_ns <= 10 * S for due_ns in retries)
    assert min(retries) < 8 * S < 9.5 * S < max(retries)
    assert TimerJitter(3)(0) == 0  # a timer that is off stays off


def test_the_first_table_waits_for_frrs_coalesce_time_and_neighbours_that_come_meanwhile_share_it() -> None:
    neighbors = tuple(Neighbor(f"192.0.2.{n}", 65001, "192.0.2.0", f"192.0.2.{n}") for n in range(1, 5))
    speaker = Speaker(SpeakerConfig(65000, "10.255.0.1", "r1", neighbors))
    assert speaker.out.coalesce_ns() == 1200 * MS
    speaker.start(0)
    speaker.connected("192.0.2.1", 0, outgoing=False)
    assert speaker.out.coalesce_ns() == 1250 * MS  # bgp_accept creates one more neighbour structure
    fixed = Speaker(SpeakerConfig(65000, "10.255.0.1", "r1", neighbors, announce_delay_ns=7))
    assert fixed.out.coalesce_ns() == 7
    many = tuple(Neighbor(f"192.0.2.{n}", 65001, "192.0.2.0", f"192.0.2.{n}") for n in range(1, 201))
    assert Speaker(SpeakerConfig(65000, "10.255.0.1", "r1", many)).out.coalesce_ns() == 10 * S


def gaps_between_announcements(jitter_key: int | None) -> list[float]:
    """Seconds between UPDATEs of r1 to r2, whose MRAI is 4 s, while a route changes every 100 ms."""
    wiring = line(65001, 65002)
    config = wiring.speakers["r1"].config
    neighbor = replace(config.neighbors[0], mrai_ns=4 * S)
    wiring.speakers["r1"] = Speaker(replace(config, neighbors=(neighbor,), jitter_key=jitter_key))
    wiring.start()
    wiring.settle(2)
    counts, moments = wiring.speakers["r1"].peers["10.0.1.2"].traffic.sent, list[float]()
    for turn in range(600):
        before = counts.updates
        wiring.act("r1", wiring.speakers["r1"].originate(IPV4_UNICAST, [NET], Attributes(med=turn), wiring.now_ns))
        wiring.run(wiring.now_ns + 100 * MS)
        if counts.updates > before:
            moments.append(wiring.now_ns / S)
    return [later - sooner for sooner, later in pairwise(moments)]


def test_the_advertisement_interval_is_exact_or_shortened_by_up_to_a_quarter_rfc4271_9_2_1_1() -> None:
    exact, jittered = gaps_between_announcements(None), gaps_between_announcements(5)
    assert len(exact) >= 13
    assert all(gap == pytest.approx(4, abs=0.21) for gap in exact)
    assert all(2.9 <= gap <= 4.21 for gap in jittered)
    assert max(jittered) - min(jittered) > 0.5


def test_neighbours_that_come_up_while_a_table_waits_are_told_with_the_first() -> None:
    wiring = leaf_spine(1, 3)
    originate_loopbacks(wiring)
    wiring.start()
    late = wiring.remote["spine1", "10.1.3.1"]
    wiring.cut("spine1", "10.1.3.1")
    wiring.run(wiring.now_ns + 500 * MS)
    wiring.mend("spine1", "10.1.3.1")
    spine = wiring.speakers["spine1"]
    [group] = spine.out.groups.values()
    began_ns = group.coalesce_timer.deadline_ns
    wiring.run(wiring.now_ns + 300 * MS)
    assert list(group.waiting) == ["10.1.1.1", "10.1.2.1", "10.1.3.1"]
    assert group.coalesce_timer.deadline_ns == began_ns  # half a second later, and in the same batch as the others
    assert began_ns is not None
    wiring.run(began_ns + MS)
    assert not group.waiting
    assert list(group.synced) == ["10.1.1.1", "10.1.2.1", "10.1.3.1"]
    assert wiring.speakers[late[0]].peers[late[1]].established is not None
