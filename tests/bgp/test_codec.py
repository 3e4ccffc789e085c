"""Encoding of messages: FRR's bytes, round trips, and arbitrary bytes."""

from __future__ import annotations

import functools
import itertools
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric.controlplane.bgp.afi import IPV4_UNICAST, IPV6_UNICAST, Block, address_text, prefix_key
from fabric.controlplane.bgp.attribute_codec import merge_as4
from fabric.controlplane.bgp.attributes import AsPath, Attributes, path_length, path_text, prepend, sequence
from fabric.controlplane.bgp.capabilities import Capabilities, read_capabilities, write_capabilities
from fabric.controlplane.bgp.errors import BgpError
from fabric.controlplane.bgp.message import (
    KEEPALIVE_BYTES,
    Keepalive,
    Notification,
    Open,
    RouteRefresh,
    decode_body,
    encode_notification,
    encode_open,
    encode_refresh,
    message_length,
)
from fabric.controlplane.bgp.update import (
    Decoder,
    Reach,
    Unreach,
    Update,
    encode_update,
    reach_messages,
    unreach_messages,
)
from fabric.controlplane.evpn.evpn_nlri import EVPN
from fabric.wire.iana import MARKER, ErrorCode
from tests.bgp.conftest import captured_messages

FAMILIES = (IPV4_UNICAST, IPV6_UNICAST, EVPN)
CAPTURES = ("bgp-leaf1-spine1.pcap", "bgp-leaf2-spine2.pcap")

asns = st.integers(1, 2**32 - 1)
segments = st.tuples(st.sampled_from((1, 2)), st.lists(asns, min_size=1, max_size=6).map(tuple))
paths = st.lists(segments, max_size=3).map(tuple)
words = st.integers(0, 2**32 - 1)
attributes = st.builds(
    Attributes,
    origin=st.integers(0, 2),
    as_path=paths,
    med=st.none() | words,
    local_pref=st.none() | words,
    atomic_aggregate=st.booleans(),
    aggregator=st.none() | st.tuples(asns, st.binary(min_size=4, max_size=4)),
    communities=st.lists(words, max_size=70).map(tuple),
    originator_id=st.none() | words,
    cluster_list=st.lists(words, max_size=3).map(tuple),
    ext_communities=st.lists(st.binary(min_size=8, max_size=8), max_size=40).map(tuple),
    large_communities=st.lists(st.tuples(words, words, words), max_size=3).map(tuple),
    pmsi_tunnel=st.none() | st.binary(min_size=5, max_size=12),
    unknown=st.lists(
        st.tuples(st.sampled_from((0xC0, 0xE0)), st.integers(200, 220), st.binary(max_size=300)),
        max_size=3,
        unique_by=lambda item: item[1],
    ).map(lambda items: tuple(sorted(items, key=lambda item: item[1]))),
)


@st.composite
def ipv4_keys(draw: st.DrawFn) -> bytes:
    bits = draw(st.integers(0, 32))
    return (
        bytes([bits]) + ((draw(st.integers(0, 2**bits - 1)) << 32 - bits) if bits else 0).to_bytes(4)[: bits + 7 >> 3]
    )


keys = st.lists(ipv4_keys(), min_size=1, max_size=20, unique=True).map(tuple)
hosts = st.binary(min_size=4, max_size=4).filter(lambda address: 0 < address[0] < 224)


@pytest.mark.parametrize("capture", CAPTURES)
def test_every_captured_message_decodes_and_encodes_to_the_same_bytes(frr: Path, capture: str) -> None:
    decoder = Decoder(FAMILIES)
    kinds = dict.fromkeys(range(1, 6), 0)
    for message in captured_messages(frr / "2x2" / capture):
        assert message_length(message, 0, 65535) == len(message)
        kind, body = message[18], message[19:]
        kinds[kind] += 1
        if kind == 2:
            update = decoder.update(body)
            assert update.flaws == ()
            assert encode_update(update) == message
            continue
        decoded = decode_body(kind, body)
        if isinstance(decoded, Open):
            assert encode_open(decoded) == message
            known = read_capabilities(decoded.capabilities)
            assert write_capabilities(known) == decoded.capabilities
            assert known.families == ((1, 1), (25, 70))
            assert known.hostname in ("leaf1", "spine1", "leaf2", "spine2")
            assert known.restart == (0xC, 120)
        elif isinstance(decoded, Notification):
            assert encode_notification(decoded) == message
        else:
            assert (decoded, message) == (Keepalive(), KEEPALIVE_BYTES)
    assert kinds[1] >= 2
    assert kinds[2] >= 30
    assert kinds[4] >= 10


@pytest.mark.parametrize("capture", CAPTURES)
def test_what_the_packer_makes_of_captured_routes_is_what_frr_sent(frr: Path, capture: str) -> None:
    decoder = Decoder(FAMILIES)
    for message in captured_messages(frr / "2x2" / capture):
        update = decoder.update(message[19:]) if message[18] == 2 else Update(None)
        for one in update.reach:
            assert update.attributes is not None
            pieces = [
                piece for block in one.blocks for piece in one.family.encode_nlri(block.keys, block.payload, False)
            ]
            made = list(reach_messages(one.family, update.attributes, len(one.next_hop), pieces, 65535, 4))
            assert [before + one.next_hop + behind for before, behind in made] == [message]
        for gone in update.unreach:
            pieces = gone.family.encode_nlri(gone.keys, None, True)
            assert list(unreach_messages(gone.family, pieces, 65535)) == [message]


@given(attributes, keys, hosts)
def test_an_ipv4_update_survives_the_round_trip(its: Attributes, routes: tuple[bytes, ...], next_hop: bytes) -> None:
    update = Update(its, (Reach(IPV4_UNICAST, next_hop, (Block(routes),)),))
    message = encode_update(update)
    for decoder in (Decoder(FAMILIES, external=False),) * 2:  # the second time from the cache
        back = decoder.update(message[19:])
        assert back == update
        assert back.attributes is not None
        assert replace(back.attributes) == its
        assert back.flaws == ()


@given(attributes, st.lists(st.integers(0, 128), min_size=1, max_size=5, unique=True), st.sampled_from((16, 32)))
def test_an_ipv6_update_survives_the_round_trip(its: Attributes, lengths: list[int], next_hop: int) -> None:
    routes = tuple(prefix_key(f"::/{bits}") for bits in lengths)
    update = Update(its, (Reach(IPV6_UNICAST, b"\xfe" * next_hop, (Block(routes),)),))
    assert Decoder(FAMILIES, external=False).update(encode_update(update)[19:]) == update


@given(attributes, keys, st.binary(min_size=16, max_size=16))
def test_ipv4_routes_over_ipv6_next_hops_travel_in_mp_reach_rfc8950(
    its: Attributes, routes: tuple[bytes, ...], next_hop: bytes
) -> None:
    message = encode_update(Update(its, (Reach(IPV4_UNICAST, next_hop, (Block(routes),)),)))
    assert message[23:25] == b"\x90\x0e"
    back = Decoder(FAMILIES, external=False).update(message[19:])
    assert back.reach == (Reach(IPV4_UNICAST, next_hop, (Block(routes),)),)
    assert back.attributes == its


@given(keys)
def test_withdrawals_survive_the_round_trip(routes: tuple[bytes, ...]) -> None:
    update = Update(None, (), (Unreach(IPV4_UNICAST, routes),))
    assert Decoder(FAMILIES).update(encode_update(update)[19:]) == update


@given(attributes, st.integers(1, 3000), hosts, st.sampled_from((4096, 65535)), st.sampled_from((2, 4)))
@settings(deadline=None, max_examples=40)
def test_packed_messages_stay_within_the_limit_and_lose_no_route(
    its: Attributes, count: int, next_hop: bytes, limit: int, width: int
) -> None:
    routes = [prefix_key(f"10.{n >> 8}.{n & 255}.0/24") for n in range(count)]
    decoder = Decoder(FAMILIES, width=width, external=False)
    found: list[bytes] = []
    for before, behind in reach_messages(IPV4_UNICAST, its, 4, routes, limit, width):
        message = before + next_hop + behind
        assert message_length(message, 0, limit) == len(message)
        update = decoder.update(message[19:])
        assert update.flaws == ()
        found += update.reach[0].blocks[0].keys
        if width == 4:
            assert update.attributes == its
    assert found == routes


@given(paths)
def test_a_path_survives_two_byte_peers_rfc6793(path: AsPath) -> None:
    its = Attributes(as_path=path, aggregator=(4_200_000_001, b"\1\2\3\4"))
    ((before, behind),) = reach_messages(IPV4_UNICAST, its, 4, [prefix_key("10.0.0.0/8")], 65535, 2)
    update = Decoder(FAMILIES, width=2).update((before + b"\x0a\0\0\1" + behind)[19:])
    assert update.flaws == ()
    assert update.attributes is not None
    # Segments of one kind may be merged; the numbers and their order are the same.
    assert [asn for _, asns in update.attributes.as_path for asn in asns] == [asn for _, asns in path for asn in asns]
    assert path_length(update.attributes.as_path) == path_length(path)
    assert update.attributes.aggregator == (4_200_000_001, b"\1\2\3\4")


def test_as4_path_longer_than_as_path_is_ignored_rfc6793_4_2_3() -> None:
    assert merge_as4(sequence(1), sequence(7, 8)) == sequence(1)
    assert merge_as4(sequence(9, 23456, 23456), sequence(7, 8)) == sequence(9, 7, 8)


@given(
    st.builds(
        Open,
        st.integers(1, 65535),
        st.integers(3, 65535),
        words,
        st.lists(st.tuples(st.integers(128, 255), st.binary(max_size=60)), max_size=12).map(tuple),
    )
)
def test_an_open_survives_the_round_trip_also_with_many_capabilities_rfc9072(message: Open) -> None:
    data = encode_open(message)
    assert message_length(data, 0, 4096) == len(data)
    assert decode_body(1, data[19:]) == message


def test_capabilities_survive_the_round_trip() -> None:
    its = Capabilities(
        ((1, 1), (2, 1), (25, 70)),
        True,
        True,
        True,
        True,
        4_200_000_001,
        ((1, 1, 2),),
        ((1, 1, 1),),
        (8, 120),
        ((1, 1, 0x80), (25, 70, 0)),
        hostname="leaf1",
        unknown=((200, b"\1"),),
    )
    assert read_capabilities(write_capabilities(its)) == its


def test_small_messages_survive_the_round_trip() -> None:
    for message, data in (
        (Notification(6, 2, b"bye"), encode_notification(Notification(6, 2, b"bye"))),
        (RouteRefresh(25, 70, 1), encode_refresh(RouteRefresh(25, 70, 1))),
    ):
        assert decode_body(data[18], data[19:]) == message


@given(ipv4_keys())
def test_a_prefix_has_the_same_key_from_text_and_from_the_wire(key: bytes) -> None:
    assert prefix_key(IPV4_UNICAST.text(key)) == key
    assert IPV4_UNICAST.decode_nlri(key, False) == (Block((key,)),)


def test_bits_behind_the_prefix_length_do_not_make_another_route() -> None:
    assert IPV4_UNICAST.decode_nlri(b"\x17\x0a\x01\xff", False)[0].keys == (prefix_key("10.1.254.0/23"),)


def test_as_paths_read_as_operators_write_them() -> None:
    assert path_text(((2, (65000, 65101)), (1, (7, 8)))) == "65000 65101 {7,8}"
    assert path_text(()) == ""
    assert prepend(sequence(*[1] * 255), 2)[0] == (2, (2,))
    assert address_text(b"\x0a\0\0\1") == "10.0.0.1"
    assert address_text(bytes(15) + b"\1" + bytes(16)) == "::1"


def decode_anything(data: bytes) -> None:
    """Like a session: any bytes decode, or raise an error of the protocol."""
    refused: BgpError | None = None
    try:
        length = message_length(data, 0, 65535)
        body = data[19:length].ljust(length - 19, b"\0")
        if data[18] == 2:
            for external in (True, False):
                for width in (2, 4):
                    Decoder(FAMILIES, width=width, external=external).update(body)
        else:
            decoded = decode_body(data[18], body)
            if isinstance(decoded, Open):
                read_capabilities(decoded.capabilities)
    except BgpError as error:
        refused = error
    if refused is not None:
        answer = encode_notification(Notification(ErrorCode(refused.code), refused.subcode, refused.data))
        assert message_length(answer, 0, 4096) == len(answer)


def framed(kind: int, body: bytes) -> bytes:
    return MARKER + (19 + len(body)).to_bytes(2) + bytes([kind]) + body


FLAGS = st.sampled_from((0x00, 0x40, 0x50, 0x80, 0x90, 0xC0, 0xD0, 0xE0))
CODES = st.one_of(st.integers(1, 35), st.integers(0, 255))


def almost(flags: int, code: int, value: bytes, lie: int) -> bytes:
    """An attribute whose length may be off by one."""
    return bytes([flags, code]) + max(0, len(value) + lie).to_bytes(2 if flags & 0x10 else 1) + value


ALMOST = st.lists(
    st.builds(almost, FLAGS, CODES, st.binary(max_size=40), st.sampled_from((0, 0, 0, 0, 1, -1))), max_size=8
).map(b"".join)
UPDATES = st.builds(
    lambda gone, attrs, nlri: len(gone).to_bytes(2) + gone + len(attrs).to_bytes(2) + attrs + nlri,
    st.binary(max_size=12),
    ALMOST,
    st.binary(max_size=12),
)
ANYTHING = st.one_of(
    st.binary(min_size=19, max_size=200),
    st.builds(framed, st.integers(0, 6), st.binary(max_size=100)),
    st.builds(framed, st.just(2), UPDATES),
)


@given(ANYTHING)
@settings(max_examples=300, deadline=None)
def test_any_bytes_decode_or_raise_the_protocols_own_error(data: bytes) -> None:
    decode_anything(data)


@pytest.mark.slow
@given(ANYTHING)
@settings(max_examples=2_500, deadline=None)
def test_any_bytes_decode_or_raise_the_protocols_own_error_at_length(data: bytes) -> None:
    decode_anything(data)


@functools.cache
def first_messages(capture: Path) -> list[bytes]:
    return list(itertools.islice(captured_messages(capture), 60))


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_a_captured_message_with_flipped_bytes_decodes_or_raises(frr: Path, data: st.DataObject) -> None:
    broken = bytearray(data.draw(st.sampled_from(first_messages(frr / "2x2" / CAPTURES[0]))))
    for _ in range(data.draw(st.integers(1, 4))):
        broken[data.draw(st.integers(0, len(broken) - 1))] = data.draw(st.integers(0, 255))
    decode_anything(bytes(broken))
