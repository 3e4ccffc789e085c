"""Path attributes of the UPDATEs in a capture, decoded here independently of the code under test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from scapy.layers.inet import TCP
from scapy.utils import rdpcap

Attribute = tuple[int, bytes]
"""(type code, value)."""


def updates(pcap: Path) -> Iterator[list[Attribute]]:
    """Path attributes of every UPDATE, of each direction in turn."""
    return (attributes for _, attributes in messages(pcap))


def messages(pcap: Path) -> Iterator[tuple[bytes, list[Attribute]]]:
    """(whole message, path attributes) of every UPDATE. TCP segments are sorted, retransmissions left out."""
    streams: dict[tuple[object, ...], dict[int, bytes]] = {}
    for packet in rdpcap(str(pcap)):
        if TCP in packet and bytes(packet[TCP].payload):
            ends = (packet["IP"].src, packet[TCP].sport, packet["IP"].dst, packet[TCP].dport)
            streams.setdefault(ends, {})[packet[TCP].seq] = bytes(packet[TCP].payload)
    for segments in streams.values():
        stream, expected = b"", min(segments)
        for seq in sorted(segments):
            stream += segments[seq][max(expected - seq, 0) :]
            expected = max(expected, seq + len(segments[seq]))
        yield from _messages(stream)


def _messages(stream: bytes) -> Iterator[tuple[bytes, list[Attribute]]]:
    at = stream.find(b"\xff" * 16)
    while 0 <= at <= len(stream) - 19:
        length = int.from_bytes(stream[at + 16 : at + 18], "big")
        if stream[at + 18] == 2:
            body = stream[at + 19 : at + length]
            start = 2 + int.from_bytes(body[:2], "big") + 2
            end = start + int.from_bytes(body[start - 2 : start], "big")
            yield stream[at : at + length], list(_attributes(body[start:end]))
        at += length


def _attributes(data: bytes) -> Iterator[Attribute]:
    while data:
        head = 4 if data[0] & 0x10 else 3
        length = int.from_bytes(data[2:head], "big")
        yield data[1], data[head : head + length]
        data = data[head + length :]
