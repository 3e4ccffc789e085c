"""Encoding of EVPN NLRI and attributes: FRR's bytes, round trips, and rejected input."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric.controlplane.bgp.attributes import Attributes
from fabric.controlplane.bgp.errors import BgpError
from fabric.controlplane.evpn import evpn_attributes
from fabric.controlplane.evpn.addresses import ip_text, mac_text
from fabric.controlplane.evpn.evpn_attributes import Facts, communities, community_text, read, read_pmsi
from fabric.controlplane.evpn.evpn_nlri import (
    EVPN,
    ZERO_ESI,
    EvpnKey,
    Payload,
    RouteType,
    decode_nlri,
    encode_nlri,
    key_of,
    mac_ip_key,
    multicast_key,
    prefix_key,
    route_text,
)
from fabric.controlplane.evpn.rd import auto_rd, rd_packed, rd_text
from fabric.controlplane.evpn.targets import ImportTarget, auto_target, import_target, target_packed
from tests.evpn.captured import updates

RD = auto_rd("10.255.1.1", 2)
MAC = "02:00:00:65:01:01"

rds = st.one_of(
    st.builds(lambda a, b: f"{a}:{b}", st.integers(0, 0xFFFF), st.integers(0, 0xFFFFFFFF)),
    st.builds(lambda a, b: f"{a}:{b}", st.ip_addresses(v=4), st.integers(0, 0xFFFF)),
    st.builds(lambda a, b: f"{a}:{b}", st.integers(0x10000, 0xFFFFFFFF), st.integers(0, 0xFFFF)),
)
macs = st.binary(min_size=6, max_size=6).map(mac_text)
addresses = st.one_of(st.binary(min_size=4, max_size=4), st.binary(min_size=16, max_size=16)).map(ip_text)
tags = st.integers(0, 0xFFFFFFFF)
labels = st.lists(st.integers(0, 0xFFFFFF), min_size=1, max_size=2).map(tuple)
esis = st.binary(min_size=10, max_size=10)
mac_ips = st.builds(
    lambda rd, mac, ip, tag: mac_ip_key(rd_packed(rd), mac, ip, tag), rds, macs, st.one_of(st.just(""), addresses), tags
)
multicasts = st.builds(lambda rd, ip, tag: multicast_key(rd_packed(rd), ip, tag), rds, addresses, tags)


@st.composite
def prefixes(draw: st.DrawFn) -> EvpnKey:
    bits = draw(st.sampled_from((32, 128)))
    length = draw(st.integers(0, bits))
    network = draw(st.integers(0, (1 << length) - 1)) << (bits - length)
    return prefix_key(rd_packed(draw(rds)), ip_text(network.to_bytes(bits // 8, "big")), length, draw(tags))


@pytest.mark.parametrize("name", ["bgp-leaf1-spine1.pcap", "bgp-leaf2-spine2.pcap"])
def test_captured_routes_are_re_encoded_to_the_same_bytes(frr: Path, name: str) -> None:
    announced = withdrawn = 0
    for attributes in updates(frr / "2x2" / name):
        for kind, value in attributes:
            if kind == 14 and value[:3] == b"\x00\x19\x46":
                field = value[5 + value[3] :]
                again = b"".join(
                    b"".join(encode_nlri(block.keys, block.payload, False)) for block in decode_nlri(field, False)
                )
                announced += 1
            elif kind == 15 and value[:3] == b"\x00\x19\x46":
                field = value[3:]
                again = b"".join(
                    b"".join(encode_nlri(block.keys, block.payload, True)) for block in decode_nlri(field, True)
                )
                withdrawn += bool(field)
            else:
                continue
            assert again == field
    assert announced > 20
    assert withdrawn >= 3


@pytest.mark.parametrize("name", ["bgp-leaf1-spine1.pcap", "bgp-leaf2-spine2.pcap"])
def test_captured_communities_and_tunnels_are_read_and_made_alike(frr: Path, name: str) -> None:
    own = tunnels = 0
    for attributes in updates(frr / "2x2" / name):
        values = dict(attributes)
        if 16 in values:
            found = tuple(values[16][at : at + 8] for at in range(0, len(values[16]), 8))
            assert sorted(communities(read(found))) == sorted(found)
            if values.get(2, b"")[1:2] == b"\x01" and 14 in values:  # one AS in AS_PATH: received from the originator
                assert communities(read(found)) == found
                own += 1
        if 22 in values:
            tunnel = read_pmsi(values[22])
            assert evpn_attributes.pmsi_ingress_replication(tunnel.vni, tunnel.endpoint) == values[22]
            tunnels += 1
    assert own > 3
    assert tunnels > 3


@given(st.one_of(mac_ips, multicasts, prefixes()), labels, esis)
def test_an_announcement_comes_back(key: EvpnKey, vnis: tuple[int, ...], esi: bytes) -> None:
    payload = {RouteType.MAC_IP: Payload(vnis, esi), RouteType.IP_PREFIX: Payload(vnis[:1], esi)}.get(key.type)  # type: ignore[call-overload]
    data = b"".join(encode_nlri((key,), payload, False))
    assert decode_nlri(data, False) == (((key,), payload),)


@given(st.lists(st.one_of(mac_ips, multicasts, prefixes()), max_size=5))
def test_a_withdrawal_comes_back_whatever_labels_it_carries(keys: list[EvpnKey]) -> None:
    data = b"".join(encode_nlri(keys, Payload((77,)), True))
    assert [key for block in decode_nlri(data, True) for key in block.keys] == keys
    assert all(block.payload is None for block in decode_nlri(data, True))


@given(st.lists(st.tuples(st.one_of(mac_ips, multicasts), labels), min_size=1, max_size=6))
def test_blocks_keep_the_order_of_the_wire(routes: list[tuple[EvpnKey, tuple[int, ...]]]) -> None:
    parts = [(key, Payload(vnis) if key.type == RouteType.MAC_IP else None) for key, vnis in routes]
    data = b"".join(encode_nlri((key,), payload, False)[0] for key, payload in parts)
    blocks = decode_nlri(data, False)
    assert [(key, block.payload) for block in blocks for key in block.keys] == parts
    assert all(one.payload != other.payload for one, other in pairwise(blocks))


def test_label_and_esi_are_no_part_of_a_routes_identity() -> None:
    key = mac_ip_key(RD, MAC, "172.16.101.11")
    one, other = (
        decode_nlri(encode_nlri((key,), payload, False)[0], False)[0]
        for payload in (Payload((10100,)), Payload((5, 6), b"\x01" * 10))
    )
    assert one.keys == other.keys
    assert one.payload != other.payload


def test_host_bits_of_a_prefix_are_no_part_of_its_identity() -> None:
    value = RD + ZERO_ESI + bytes(4) + b"\x18" + b"\x0a\x01\x02\x63" + bytes(4) + b"\x00\x27\x74"
    (block,) = decode_nlri(b"\x05" + bytes([len(value)]) + value, False)
    assert block.keys == (prefix_key(RD, "10.1.2.0", 24),)


def test_unknown_route_types_are_left_out_rfc7606_5_4() -> None:
    known = encode_nlri((multicast_key(RD, "10.255.1.1"),), None, False)[0]
    blocks = decode_nlri(b"\x09\x03abc" + known + b"\xfe\x00", False)
    assert [key.text for block in blocks for key in block.keys] == ["[3]:[0]:[32]:[10.255.1.1]"]


@pytest.mark.parametrize(
    "value", [(1, RD + bytes(14) + b"\x00\x27\x74"), (4, RD + bytes(10) + b"\x20\x0a\xff\x01\x01")]
)
def test_routes_of_multihoming_pass_unread(value: tuple[int, bytes]) -> None:
    data = bytes([value[0], len(value[1])]) + value[1]
    (block,) = decode_nlri(data, False)
    assert b"".join(encode_nlri(block.keys, block.payload, False)) == data


@pytest.mark.parametrize(
    "data",
    [
        b"\x02",
        b"\x02\x21",
        b"\x02\x05short",
        b"\x03\x11" + RD + bytes(4) + b"\x21" + bytes(4),
        b"\x05\x01x",
        b"\x02\x21" + RD + bytes(14) + b"\x30" + bytes(6) + b"\x08" + bytes(3),
    ],
)
def test_a_malformed_route_resets_the_session_rfc7606_5_3(data: bytes) -> None:
    with pytest.raises(BgpError) as raised:
        decode_nlri(data, False)
    assert (raised.value.code, raised.value.subcode) == (3, 10)


def _read_anything(data: bytes) -> None:
    for withdrawn in (False, True):
        try:
            blocks = decode_nlri(data, withdrawn)
        except BgpError:
            continue
        for block in blocks:
            for key in block.keys:
                assert route_text(key)
                assert key == key_of(bytes(key))
            again = b"".join(encode_nlri(block.keys, block.payload, withdrawn))
            assert [key for one in decode_nlri(again, withdrawn) for key in one.keys] == list(block.keys)
    read(tuple(data[at : at + 8] for at in range(0, len(data) - 7, 8)))
    try:
        read_pmsi(data)
    except BgpError:
        return


def _nlri_like(values: list[tuple[int, bytes]]) -> bytes:
    return b"".join(bytes([kind, len(value)]) + value for kind, value in values)


SIZES = (17, 25, 29, 33, 34, 36, 37, 40, 49, 58)  # of the values of the five known types
lookalikes = st.lists(
    st.tuples(
        st.integers(0, 7),
        st.one_of(st.binary(max_size=60), *(st.binary(min_size=size, max_size=size) for size in SIZES)),
    ),
    max_size=4,
).map(_nlri_like)


@given(st.one_of(st.binary(max_size=200), lookalikes))
@settings(max_examples=300)
def test_any_bytes_decode_or_raise_the_protocols_error(data: bytes) -> None:
    _read_anything(data)


@pytest.mark.slow
@given(st.one_of(st.binary(max_size=400), lookalikes))
@settings(max_examples=10_000, deadline=None)
def test_many_bytes_decode_or_raise_the_protocols_error(data: bytes) -> None:
    _read_anything(data)


@given(rds)
def test_route_distinguishers_come_back(text: str) -> None:
    assert rd_text(rd_packed(text)) == text


@pytest.mark.parametrize("text", ["", "1", "65536:65536", "10.0.0.1:65536", "1.2.3:4", "a:b", "-1:2", "65000:-1"])
def test_what_is_no_route_distinguisher_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"write it as|Expected 4 octets|Only decimal"):
        rd_packed(text)


def test_derived_targets_are_frrs_and_those_of_rfc8365() -> None:
    assert community_text(auto_target(65101, 10100)) == "RT:65101:10100"
    assert community_text(auto_target(4_200_000_102, 10100)) == "RT:60006:10100"
    assert auto_target(65101, 10100, "rfc8365") == b"\x00\x02\xfe\x4d\x10\x00\x27\x74"


@pytest.mark.parametrize(
    ("wanted", "target", "matches"),
    [
        (ImportTarget(auto_target(65101, 10100), any_asn=True), "65102:10100", True),
        (ImportTarget(auto_target(65101, 10100), any_asn=True), "65102:10200", False),
        (ImportTarget(auto_target(65101, 10100), any_asn=True), "4200000000:10100", False),  # another type of target
        (import_target("65101:10100"), "65102:10100", False),
        (import_target("65101:10100"), "65101:10100", True),
        (import_target("*:7"), "10:7", True),
    ],
)
def test_an_import_takes_what_it_names(wanted: ImportTarget, target: str, matches: bool) -> None:
    assert wanted.matches(target_packed(target)) is matches


def test_facts_of_every_community_come_back() -> None:
    facts = Facts(
        (target_packed("65000:1"), target_packed("10.0.0.1:5"), target_packed("4200000000:3")),
        8,
        7,
        True,
        "02:00:00:00:00:09",
        True,
        3,
    )
    assert read(communities(facts)) == facts
    assert [community_text(one) for one in communities(facts)] == [
        "ET:8",
        "RT:65000:1",
        "RT:10.0.0.1:5",
        "RT:4200000000:3",
        "MM:7, sticky MAC",
        "Rmac:02:00:00:00:00:09",
        "Default Gateway",
        "ND:Router Flag,ND:Override Flag",
    ]
    assert community_text(b"\x43\x99" + bytes(6)) == "UNK:67, 153"


def test_a_sticky_mac_then_the_higher_sequence_is_preferred() -> None:
    ranks = [
        EVPN.rank(Attributes(ext_communities=communities(facts)))
        for facts in (Facts(sticky=True), Facts(sequence=9), Facts(sequence=2), Facts())
    ]
    assert ranks == sorted(ranks)
    assert len({len(rank) for rank in ranks}) == 1
