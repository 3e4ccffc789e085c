"""A hostile BGP neighbour: mutated messages, more routes than allowed, routes that change endlessly."""

from __future__ import annotations

import random
import tracemalloc
from pathlib import Path
from typing import Final

from fabric.capture.journal import speaker_of
from fabric.controlplane.bgp.actions import Action, Close, Send
from fabric.controlplane.bgp.afi import IPV4_UNICAST, prefix_key
from fabric.controlplane.bgp.attributes import Attributes, sequence
from fabric.controlplane.bgp.capabilities import Capabilities, write_capabilities
from fabric.controlplane.bgp.config import NS_PER_S
from fabric.controlplane.bgp.message import (
    KEEPALIVE_BYTES,
    Notification,
    Open,
    RouteRefresh,
    encode_notification,
    encode_open,
    encode_refresh,
)
from fabric.controlplane.bgp.speaker import Speaker
from fabric.controlplane.bgp.update import end_of_rib, reach_messages, unreach_messages
from fabric.controlplane.evpn.evpn_nlri import EVPN
from fabric.lab.speaker_setup import Limits, session_config
from fabric.wire.iana import Cease, ErrorCode
from tests.reliability.report import Row

MESSAGES: Final = 60_000
FLOODS: Final = 300
CHANGES: Final = 20_000
_US, _THEM = "127.0.0.1", "127.0.0.2"
_OPEN: Final = encode_open(
    Open(
        65002,
        9,
        7,
        write_capabilities(
            Capabilities(
                families=(IPV4_UNICAST.id, EVPN.id),
                route_refresh=True,
                enhanced_refresh=True,
                extended_message=True,
                asn4=65002,
                restart=(0, 60),
                restart_families=((1, 1, 0x80),),
            )
        ),
    )
)


def rows(_work: Path) -> list[Row]:
    """All three."""
    return [
        Row(
            "A mutated BGP message (bytes, lengths, order, cut anywhere): the speaker raises nothing, and after a "
            "NOTIFICATION the session comes up again",
            MESSAGES,
            "0 of 60,000",
            _mutated(),
        ),
        Row(
            "A neighbour announces a random number of routes with random attributes: a limit is never exceeded by more "
            "than one UPDATE, and ends the session with the Cease of RFC 4486",
            FLOODS,
            "300 of 300: `fabric bgp speak` had no limit",
            _floods(),
        ),
        Row(
            "A neighbour announces one route with other attributes each time: the second half of the changes takes no "
            "memory beyond the first",
            CHANGES,
            "20,000 of 20,000: 30 kB each, 600 MB in all",
            _changes(),
        ),
    ]


class _Session:
    """The speaker of `fabric bgp speak` and a scripted neighbour."""

    def __init__(self, limits: Limits) -> None:
        self.speaker: Speaker = speaker_of(
            session_config(_US, _THEM, 65001, 65002, "10.0.0.1", "tried", passive=True, hold_time_s=9, limits=limits)
        )
        self.now_ns, self.connection = 0, 0
        self.speaker.start(0)

    def connect(self) -> bool:
        """Bring the session up; False where it does not come."""
        self.dial()
        self.receive(_OPEN)
        self.receive(KEEPALIVE_BYTES)
        return self.up

    def dial(self) -> None:
        """A new connection; what is left of the one before is gone, or the two would collide (RFC 4271 section 6.8)."""
        if self.connection:
            self.speaker.closed(_THEM, self.now_ns, self.connection)
        self.now_ns += 2 * NS_PER_S
        self.connection += 1
        self.speaker.tick(self.now_ns)
        self.speaker.connected(_THEM, self.now_ns, self.connection, outgoing=False)

    @property
    def up(self) -> bool:
        return self.speaker.peers[_THEM].established is not None

    def receive(self, data: bytes) -> list[Action]:
        actions = self.speaker.received(_THEM, data, self.now_ns, self.connection)
        return [*actions, *self.speaker.tick(self.now_ns)]


def _mutated() -> list[str]:
    session, failures = _Session(Limits()), []
    choose = random.Random(16)
    for number in range(MESSAGES):
        try:
            if not session.up and not session.connect():
                failures.append(f"message {number}: the session did not come up again")
                session = _Session(Limits())
                continue
            if choose.random() < 0.01:  # as long as the OPENs are being exchanged, too
                session.dial()
            data = _mutant(choose)
            closed = any(isinstance(it, Close) for it in session.receive(data))
            if not closed and choose.random() < 0.5:  # what the stream is out of step with ends here
                session.speaker.closed(_THEM, session.now_ns, session.connection)
        except Exception as error:  # noqa: BLE001  any is a failure
            failures.append(f"message {number}: {error!r}")
            session = _Session(Limits())
    return failures


def _message(choose: random.Random) -> bytes:
    key = prefix_key(f"10.{choose.randrange(256)}.{choose.randrange(256)}.0/24")
    kind = choose.randrange(10)
    if kind < 6:
        its = Attributes(
            as_path=sequence(65002, *choose.choices(range(1, 1 << 32), k=choose.randrange(4))),
            med=choose.choice([None, 0, 7]),
            communities=tuple(choose.choices(range(1 << 32), k=2)),
            aggregator=choose.choice([None, (65002, bytes(4))]),
            ext_communities=(choose.randbytes(8),),
            large_communities=((1, 2, 3),),
            unknown=((0xC0, 200, choose.randbytes(choose.randrange(40))),),
        )
        ((before, behind),) = reach_messages(IPV4_UNICAST, its, 4, [key], 4096, 4)
        return before + bytes([127, 0, 0, 2]) + behind
    return [
        next(unreach_messages(IPV4_UNICAST, [key], 4096)),
        end_of_rib(EVPN.id),
        encode_refresh(RouteRefresh(1, 1, choose.randrange(4))),
        choose.choice([_OPEN, encode_notification(Notification(choose.randrange(8), choose.randrange(12), b"x"))]),
    ][kind - 6]


def _mutant(choose: random.Random) -> bytes:
    data = b"".join(_message(choose) for _ in range(choose.choice([1, 1, 1, 2, 3])))
    for _ in range(choose.choice([0, 1, 1, 2, 6])):
        at = choose.randrange(16 if choose.random() < 0.9 and len(data) > 16 else 0, len(data) + 1)
        piece = choose.choice([b"\0", b"\xff", choose.randbytes(1), choose.randbytes(3), b""])
        data = data[:at] + piece + data[at + choose.choice([1, 1, 1, 0, 4]) :]
    return data if choose.random() < 0.9 else data[: choose.randrange(len(data) + 1)]


def _floods() -> list[str]:
    failures = []
    for seed in range(FLOODS):
        choose = random.Random(seed)
        limits = Limits(choose.randrange(1, 200), choose.choice([65_536, 200_000]))
        session = _Session(limits)
        session.connect()
        most, sent, each, size = 0, b"", choose.choice([1, 1, 7, 50]), choose.choice([4, 100, 3000])
        for number in range(400):
            keys = [
                prefix_key(f"{choose.randrange(1, 220)}.{number >> 8}.{number & 255}.{it}/32") for it in range(each)
            ]
            its = Attributes(as_path=sequence(65002), unknown=((0xC0, 200, number.to_bytes(size)),))
            ((before, behind),) = reach_messages(IPV4_UNICAST, its, 4, keys, 4096, 4)
            notes = [
                it.data[19:21]
                for it in session.receive(before + bytes([127, 0, 0, 2]) + behind)
                if isinstance(it, Send) and it.data[18] == 3
            ]
            if notes:
                sent = notes[0]
                break
            most = session.speaker.table(IPV4_UNICAST).accepted.get(_THEM, 0)
        by_number = 400 * each > limits.prefixes
        expected = {bytes([ErrorCode.CEASE, Cease.MAXIMUM_PREFIXES])} if by_number else set()
        if 400 * size > limits.attribute_bytes:
            expected.add(bytes([ErrorCode.CEASE, Cease.OUT_OF_RESOURCES]))
        if most > limits.prefixes or sent not in (expected or {b""}):
            failures.append(f"seed {seed}: {most} of {limits.prefixes} routes, then {sent!r}")
    return failures


def _changes() -> list[str]:
    session = _Session(Limits())
    session.connect()
    tracemalloc.start()
    peaks = []
    for part in range(2):
        tracemalloc.reset_peak()
        for number in range(CHANGES // 2):
            its = Attributes(as_path=sequence(65002), unknown=((0xC0, 200, (part * CHANGES + number).to_bytes(3500)),))
            ((before, behind),) = reach_messages(IPV4_UNICAST, its, 4, [prefix_key("192.0.2.0/24")], 4096, 4)
            session.receive(before + bytes([127, 0, 0, 2]) + behind)
        peaks.append(tracemalloc.get_traced_memory()[1])
    tracemalloc.stop()
    return [f"{peaks[0]} bytes, then {peaks[1]}"] if peaks[1] > 1.2 * peaks[0] or not session.up else []
