"""Location of the recorded FRR output, and the whole messages of a capture."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from scapy.layers.inet import TCP
from scapy.utils import rdpcap

from tests.recordings import FRR


@pytest.fixture(scope="session")
def frr() -> Path:
    return FRR


def captured_messages(pcap: Path) -> Iterator[bytes]:
    """Every BGP message of a capture, of each direction in turn; TCP segments in order, copies left out."""
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
        at = 0
        while at < len(stream):
            length = int.from_bytes(stream[at + 16 : at + 18])
            yield stream[at : at + length]
            at += length
