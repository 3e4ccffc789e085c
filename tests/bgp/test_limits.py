"""Limits of a neighbour: routes per family, bytes of attributes, and the memory of decoder caches."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import pytest

from fabric.controlplane.bgp.actions import Close, Connect, Send, SessionDown
from fabric.controlplane.bgp.afi import IPV4_UNICAST, prefix_key
from fabric.controlplane.bgp.attributes import Attributes, sequence
from fabric.controlplane.bgp.capabilities import write_capabilities
from fabric.controlplane.bgp.config import Neighbor, PeerFamily, SpeakerConfig
from fabric.controlplane.bgp.message import KEEPALIVE_BYTES, Open, encode_open
from fabric.controlplane.bgp.rib import Path, Table
from fabric.controlplane.bgp.speaker import Speaker
from fabric.controlplane.bgp.update import Memory, reach_messages
from fabric.wire.iana import Cease, ErrorCode
from tests.bgp.lines import FULL, NET, OTHER, announce, by_hand, line, their_route
from tests.bgp.wiring import S


def test_too_many_routes_end_the_session_with_cease_rfc4486() -> None:
    wiring = line(65001, 65002, families={IPV4_UNICAST: PeerFamily(max_prefixes=1)})
    wiring.keep_log = True
    announce(wiring, "r1", NET, OTHER)
    wiring.start()
    wiring.run(S // 2)
    notes = [data for _, name, _, data in wiring.log if name == "r2" and data[18] == 3]
    assert [(data[19], data[20], data[21:]) for data in notes] == [
        (ErrorCode.CEASE, Cease.MAXIMUM_PREFIXES, b"\0\1\1\0\0\0\1")
    ]


def limited(**limits: object) -> Neighbor:
    """A neighbour that connects, with limits."""
    prefixes = limits.pop("max_prefixes", None)
    family = PeerFamily(max_prefixes=prefixes)  # type: ignore[arg-type]
    return Neighbor("10.0.0.2", 65002, "10.0.0.1", "10.0.0.2", {IPV4_UNICAST: family}, passive=True, **limits)  # type: ignore[arg-type]


def notifications(actions: list[object]) -> list[tuple[int, int]]:
    return [
        (action.data[19], action.data[20]) for action in actions if isinstance(action, Send) and action.data[18] == 3
    ]


def keys(first: int, count: int) -> list[bytes]:
    return [prefix_key(f"10.{number >> 8}.{number & 255}.0/24") for number in range(first, first + count)]


def test_a_limit_is_exceeded_by_one_update_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    put, accepted = Table.put, []

    def counted(table: Table, name: str, keys: tuple[bytes, ...], path: Path) -> bool:
        found = put(table, name, keys, path)
        accepted.append(table.accepted[name])
        return found

    monkeypatch.setattr(Table, "put", counted)
    speaker, _ = by_hand(65001, FULL, [], limited(max_prefixes=10))
    stream = b"".join(their_route(key, 65002) for key in keys(0, 500))  # one piece of the TCP stream
    actions = speaker.received("10.0.0.2", stream, 1)
    assert notifications(actions) == [(ErrorCode.CEASE, Cease.MAXIMUM_PREFIXES)]
    assert max(accepted) == 11
    assert speaker.table(IPV4_UNICAST).accepted["10.0.0.2"] == 0
    assert [it.reason for it in actions if isinstance(it, SessionDown)] == ["more than 10 routes of ipv4 unicast"]


def test_as_many_routes_as_are_allowed_stay_and_replacing_them_counts_nothing() -> None:
    speaker, _ = by_hand(65001, FULL, [], limited(max_prefixes=10, max_attribute_bytes=1000))
    for round_ in range(100):
        for key in keys(0, 10):
            assert not notifications(speaker.received("10.0.0.2", their_route(key, 65002, 65100 + round_), round_))
    assert speaker.table(IPV4_UNICAST).accepted["10.0.0.2"] == 10


def large(key: bytes, number: int, size: int = 1000) -> bytes:
    its = Attributes(as_path=sequence(65002), unknown=((0xC0, 200, number.to_bytes(size)),))
    ((before, behind),) = reach_messages(IPV4_UNICAST, its, 4, [key], 4096, 4)
    return before + bytes([10, 0, 0, 2]) + behind


def test_attributes_beyond_their_limit_end_the_session_with_cease_out_of_resources_rfc4486() -> None:
    speaker, _ = by_hand(65001, FULL, [], limited(max_attribute_bytes=20_000))
    sent = []
    for number, key in enumerate(keys(0, 100)):
        sent = notifications(speaker.received("10.0.0.2", large(key, number), 1))
        if sent:
            break
    assert sent == [(ErrorCode.CEASE, Cease.OUT_OF_RESOURCES)]
    assert 20_000 / 1100 < number <= 20_000 * 9 / 8 / 1000 + 1


def test_attributes_that_many_routes_share_count_once() -> None:
    speaker, _ = by_hand(65001, FULL, [], limited(max_attribute_bytes=20_000))
    for key in keys(0, 500):
        assert not notifications(speaker.received("10.0.0.2", large(key, 7), 1))
    for number, key in enumerate(keys(0, 500)):  # and replaced routes do not count any more
        assert not notifications(speaker.received("10.0.0.2", large(key, number // 100), 1))


def test_without_a_restart_time_a_session_that_exceeded_a_limit_stays_down() -> None:
    speaker, _ = by_hand(65001, FULL, [], limited(max_prefixes=1))
    speaker.received("10.0.0.2", their_route(NET, 65002) + their_route(OTHER, 65002), 1)
    assert speaker.peers["10.0.0.2"].over_limit
    speaker.tick(3600 * S)
    actions = speaker.connected("10.0.0.2", 3600 * S, 7, outgoing=False)
    assert [type(it) for it in actions] == [Close]
    speaker.start(3600 * S)
    assert any(isinstance(it, Send) for it in speaker.connected("10.0.0.2", 3600 * S, 8, outgoing=False))


@pytest.mark.parametrize("passive", [True, False])
def test_with_a_restart_time_the_session_may_come_back_after_it_and_not_before(passive: bool) -> None:
    neighbor = replace(limited(max_prefixes=1, limit_restart_ns=60 * S), passive=passive)
    speaker, _ = by_hand(65001, FULL, [], neighbor)
    speaker.received("10.0.0.2", their_route(NET, 65002) + their_route(OTHER, 65002), S)
    assert not any(isinstance(it, Connect) for it in speaker.tick(60 * S))
    assert [type(it) for it in speaker.connected("10.0.0.2", 60 * S, 7, outgoing=False)] == [Close]
    actions = speaker.tick(61 * S)
    assert any(isinstance(it, Connect) for it in actions) is not passive
    assert any(isinstance(it, Send) for it in speaker.connected("10.0.0.2", 62 * S, 8, outgoing=not passive))
    speaker.received("10.0.0.2", encode_open(Open(65002, 9, 7, write_capabilities(FULL))) + KEEPALIVE_BYTES, 62 * S, 8)
    assert speaker.peers["10.0.0.2"].established is not None
    assert not speaker.peers["10.0.0.2"].over_limit


def test_routes_that_change_for_ever_take_no_more_memory() -> None:
    """Every decoder cache is bounded in bytes; one route whose attributes always differ fills them."""
    neighbor = limited()
    speaker = Speaker(
        SpeakerConfig(65001, "10.255.0.1", "r1", (neighbor,), announce_delay_ns=0, update_delay_ns=0),
        Memory((IPV4_UNICAST,), 100_000),
    )
    speaker.start(0)
    speaker.connected("10.0.0.2", 0, outgoing=False)
    speaker.received("10.0.0.2", encode_open(Open(65002, 9, 7, write_capabilities(FULL))), 0)
    speaker.received("10.0.0.2", KEEPALIVE_BYTES, 0)
    speaker.tick(0)
    tracemalloc.start()
    peaks = []
    for part in range(2):
        tracemalloc.reset_peak()
        for number in range(1000):
            speaker.received("10.0.0.2", large(NET, part * 1000 + number, 3000), 1)
            speaker.tick(1)
        peaks.append(tracemalloc.get_traced_memory()[1])
    tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]
    assert peaks[0] < 1000 * 3000
