"""UPDATE messages: bytes to routes and back (RFC 4271 section 4.3, RFC 4760, RFC 7606).

A fabric sends the same bytes many times: a route reaches a leaf through every spine, and a spine sends the same to all
leaves. So a `Decoder` caches results at three levels: a whole message, an attribute list without its next hop, and an
NLRI field. It is a pure function with a cache, and any number of speakers may share it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple, TypeVar

from fabric.controlplane.bgp.afi import IPV4_UNICAST, AddressFamily, Block
from fabric.controlplane.bgp.attribute_codec import Fields, read_attributes
from fabric.controlplane.bgp.attributes import (
    OPTIONAL,
    OPTIONAL_TRANSITIVE,
    WELL_KNOWN,
    Attributes,
    encode_attribute,
    encode_path,
)
from fabric.controlplane.bgp.errors import UpdateError
from fabric.wire.iana import (
    AS_TRANS,
    HEADER_BYTES,
    MARKER,
    AttributeFlag,
    AttributeType,
    MessageType,
    SegmentType,
    UpdateErrorCode,
)

_UPDATE: Final = bytes([MessageType.UPDATE])
_MP_FLAGS: Final = bytes([OPTIONAL | AttributeFlag.EXTENDED_LENGTH])
MEMORY_BYTES: Final = 64 << 20
"""Bytes of keys per cache; a full cache is emptied. The values take about five times as much."""
_MEMORY_ENTRIES: Final = 1 << 17
"""Entries per cache; a full cache is emptied. At some 200 bytes each: 26 MB."""
_STREAM_MEMORY_BYTES: Final = 16 << 20
"""Bytes of cached pieces of streams."""


class Reach(NamedTuple):
    """Routes that an UPDATE announces."""

    family: AddressFamily
    next_hop: bytes
    """Packed; 32 bytes are a global and a link-local address."""
    blocks: tuple[Block, ...]


class Unreach(NamedTuple):
    """Routes that an UPDATE withdraws."""

    family: AddressFamily
    keys: tuple[bytes, ...]


class Update(NamedTuple):
    """An UPDATE after the error handling of RFC 7606: routes with flawed attributes are among the withdrawn ones."""

    attributes: Attributes | None
    """None if no route is announced."""
    reach: tuple[Reach, ...] = ()
    unreach: tuple[Unreach, ...] = ()
    end_of_rib: tuple[int, int] | None = None
    """(AFI, SAFI), RFC 4724 section 2."""
    flaws: tuple[UpdateError, ...] = ()
    """Flaws that led to attribute discard or treat-as-withdraw."""


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Kept(dict[K, V]):
    """A cache that is emptied when it is full. Only `put` may add entries.

    Parameters
    ----------
    room_bytes : int     limit of the sum of the sizes given to `put`
    """

    def __init__(self, room_bytes: int) -> None:
        super().__init__()
        self.room_bytes, self.held_bytes = room_bytes, 0

    def put(self, key: K, value: V, size_bytes: int) -> None:
        """Cache a value, unless it alone exceeds the limit."""
        self.held_bytes += size_bytes
        if self.held_bytes > self.room_bytes or len(self) >= _MEMORY_ENTRIES:
            self.clear()
            self.held_bytes = size_bytes
        if size_bytes <= self.room_bytes:
            self[key] = value


class Decoder:
    """Decodes UPDATE bodies, for sessions of one kind: width of AS numbers, external or internal.

    Raises UpdateError of severity 'reset' if RFC 7606 has no milder handling.
    """

    def __init__(
        self,
        families: Iterable[AddressFamily],
        *,
        width: int = 4,
        external: bool = True,
        memory_bytes: int = MEMORY_BYTES,
    ) -> None:
        self.families = {family.id: family for family in (IPV4_UNICAST, *families)}
        self.width = width
        self.external = external
        self._streams: Kept[bytes, tuple[Update, ...]] = Kept(min(_STREAM_MEMORY_BYTES, memory_bytes))
        self._updates: Kept[bytes, Update] = Kept(memory_bytes)
        self._attributes: Kept[bytes, Attributes] = Kept(memory_bytes)
        self._nlri: dict[tuple[tuple[int, int], bool], Kept[bytes, tuple[Block, ...]]] = {}
        self._memory_bytes = memory_bytes

    def update(self, body: bytes) -> Update:
        """Decode the body of an UPDATE, without its header."""
        found = self._updates.get(body)
        if found is not None:
            return found
        quick = self._quick(body)
        if quick is not None:
            return quick
        update = self._read(body)
        self._updates.put(body, update, len(body))
        return update

    def stream(self, data: bytes, limit: int) -> tuple[Update, ...] | None:
        """UPDATEs in `data` if it is a sequence of whole, well-formed ones of at most `limit` bytes; None otherwise."""
        found = self._streams.get(data)
        if found is not None:
            return found
        updates = []
        at, end = 0, len(data)
        while at < end:
            length = data[at + 16] << 8 | data[at + 17] if at + HEADER_BYTES <= end else 0
            if not 23 <= length <= min(limit, end - at):
                return None
            if data[at + 18] != MessageType.UPDATE or data[at : at + 16] != MARKER:
                return None
            try:
                updates.append(self.update(data[at + HEADER_BYTES : at + length]))
            except UpdateError:
                return None  # read again message by message, up to the bad one
            at += length
        result = tuple(updates)
        self._streams.put(data, result, end)
        return result

    def _quick(self, body: bytes) -> Update | None:
        """Well-formed IPv4 announcement whose attributes begin with ORIGIN, AS_PATH, NEXT_HOP in this order.

        The next hop is removed before the cache lookup: it differs between sessions, the other attributes do not.
        """
        after = 4 + (body[2] << 8 | body[3])
        if body[:2] != b"\0\0" or after >= len(body) or body[4:7] != b"\x40\x01\x01" or body[8:10] != b"\x50\x02":
            return None
        at = 12 + (body[10] << 8 | body[11])
        if body[at : at + 3] != b"\x40\x03\x04" or at + 7 > after:
            return None
        attributes = self._attributes.get(body[4:at] + body[at + 7 : after])
        if attributes is None or not 0 < body[at + 3] < 224:
            attributes = self._learn(body, at, after)
            if attributes is None:
                return None
        return Update(attributes, (Reach(IPV4_UNICAST, body[at + 3 : at + 7], self.nlri(IPV4_UNICAST, body[after:])),))

    def _learn(self, body: bytes, at: int, after: int) -> Attributes | None:
        fields = read_attributes(body[4:after], width=self.width, external=self.external)
        if fields.flaws or fields.mp_reach or fields.mp_unreach or "as_path" not in fields.values:
            return None
        attributes = fields.attributes()
        self._attributes.put(body[4:at] + body[at + 7 : after], attributes, after)
        return attributes

    def nlri(self, family: AddressFamily, data: bytes, *, withdrawn: bool = False) -> tuple[Block, ...]:
        """Blocks of an NLRI field; equal bytes give the same tuple object."""
        memory = self._nlri.get((family.id, withdrawn))
        if memory is None:
            memory = self._nlri[family.id, withdrawn] = Kept(self._memory_bytes)
        blocks = memory.get(data)
        if blocks is None:
            blocks = family.decode_nlri(data, withdrawn)
            memory.put(data, blocks, len(data))
        return blocks

    def _read(self, body: bytes) -> Update:
        withdrawn_end = 2 + int.from_bytes(body[:2])
        start = withdrawn_end + 2
        end = start + int.from_bytes(body[withdrawn_end:start])
        if start > len(body) or end > len(body):
            # RFC 7606 section 3 (b): if lengths overrun the message, no part of it can be trusted.
            raise UpdateError(UpdateErrorCode.MALFORMED_ATTRIBUTE_LIST, "lengths exceed the message", "reset")
        fields = read_attributes(body[start:end], width=self.width, external=self.external)
        if fields.severity == "reset":
            raise next(flaw for flaw in fields.flaws if flaw.severity == "reset")
        reach, unreach = self._routes(body, withdrawn_end, end, fields)
        if not reach and not unreach and not fields.flaws:
            end_of_rib = self._end_of_rib(body, fields)
            if end_of_rib is not None:
                return Update(None, end_of_rib=end_of_rib)
        if reach:
            if fields.severity != "withdraw":
                self._check_mandatory(fields, reach)
            # RFC 7606 section 5.2: flawed attributes without NLRI have no route to withdraw, and are not an error.
            if fields.severity == "withdraw":
                taken = tuple(
                    Unreach(one.family, keys)
                    for one in reach
                    if (keys := tuple(key for block in one.blocks for key in block.keys))
                )
                return Update(None, (), (*unreach, *taken), None, tuple(fields.flaws))
        attributes = fields.attributes() if reach else None
        return Update(attributes, tuple(reach), tuple(unreach), None, tuple(fields.flaws))

    def _routes(self, body: bytes, withdrawn_end: int, end: int, fields: Fields) -> tuple[list[Reach], list[Unreach]]:
        reach: list[Reach] = []
        unreach: list[Unreach] = []
        if withdrawn_end > 2:
            unreach += self._withdrawn(IPV4_UNICAST, body[2:withdrawn_end])
        if fields.mp_unreach is not None:
            family = self.families.get((int.from_bytes(fields.mp_unreach[:2]), fields.mp_unreach[2]))
            if family is not None:
                unreach += self._withdrawn(family, fields.mp_unreach[3:])
        if fields.mp_reach is not None:
            reach += self._mp_reach(fields.mp_reach)
        if end < len(body):
            reach.append(Reach(IPV4_UNICAST, fields.next_hop or b"", self.nlri(IPV4_UNICAST, body[end:])))
        return reach, unreach

    def _withdrawn(self, family: AddressFamily, data: bytes) -> Iterator[Unreach]:
        for block in self.nlri(family, data, withdrawn=True):
            yield Unreach(family, block.keys)

    def _mp_reach(self, value: bytes) -> Iterator[Reach]:
        """RFC 4760 section 3; a next hop of impossible length ends the session, RFC 7606 section 7.11."""
        family = self.families.get((int.from_bytes(value[:2]), value[2]))
        if family is None:
            return  # not negotiated: ignored
        after = 4 + value[3]
        if value[3] not in family.next_hop_lengths or after + 1 > len(value):
            raise UpdateError(
                UpdateErrorCode.OPTIONAL_ATTRIBUTE, f"next hop of {value[3]} bytes in {family.name}", "reset", value
            )
        yield Reach(family, value[4:after], self.nlri(family, value[after + 1 :]))

    @staticmethod
    def _end_of_rib(body: bytes, fields: Fields) -> tuple[int, int] | None:
        if len(body) == 4:
            return IPV4_UNICAST.id
        if fields.mp_unreach is not None and len(fields.mp_unreach) == 3 and not fields.values:
            return int.from_bytes(fields.mp_unreach[:2]), fields.mp_unreach[2]
        return None

    @staticmethod
    def _check_mandatory(fields: Fields, reach: list[Reach]) -> None:
        """RFC 7606 section 3 (d): a missing mandatory attribute makes the routes withdrawn."""
        missing = [
            name
            for name, there in (
                ("ORIGIN", "origin" in fields.values),
                ("AS_PATH", "as_path" in fields.values),
                ("NEXT_HOP", all(one.next_hop for one in reach)),
            )
            if not there
        ]
        if missing:
            fields.flaws.append(
                UpdateError(
                    UpdateErrorCode.MISSING_WELL_KNOWN,
                    f"no {', '.join(missing)}",
                    "withdraw",
                    bytes([AttributeType[missing[0]]]),
                )
            )


class Memory:
    """Decoders shared by the speakers of a fabric: UPDATEs that one speaker has decoded are cached for the others.

    `room_bytes` bounds each of their caches.
    """

    def __init__(self, families: Iterable[AddressFamily] = (), room_bytes: int = MEMORY_BYTES) -> None:
        self._families = tuple(families)
        self.room_bytes = room_bytes
        self._decoders: dict[tuple[int, bool], Decoder] = {}

    def decoder(self, width: int, *, external: bool) -> Decoder:
        """The decoder for sessions of this kind."""
        found = self._decoders.get((width, external))
        if found is None:
            found = self._decoders[width, external] = Decoder(
                self._families, width=width, external=external, memory_bytes=self.room_bytes
            )
        return found


def encode_update(update: Update, limit: int = 65535) -> bytes:
    """Encode one UPDATE as one message: the inverse of Decoder.update for messages of this module.

    Raises ValueError if it is longer than `limit`; routes are packed into messages by `reach_messages`.
    """
    if update.end_of_rib is not None:
        return end_of_rib(update.end_of_rib)
    withdrawn, mp, nlri, next_hop = b"", b"", b"", b""
    for gone in update.unreach:
        wire = b"".join(gone.family.encode_nlri(gone.keys, None, True))
        if gone.family is IPV4_UNICAST:
            withdrawn += wire
        else:
            mp += encode_attribute(_MP_FLAGS[0], AttributeType.MP_UNREACH_NLRI, _family_bytes(gone.family) + wire)
    for one in update.reach:
        encode = one.family.encode_nlri
        wire = b"".join(piece for block in one.blocks for piece in encode(block.keys, block.payload, False))
        if one.family is IPV4_UNICAST and len(one.next_hop) == 4:
            nlri, next_hop = wire, encode_attribute(WELL_KNOWN, AttributeType.NEXT_HOP, one.next_hop)
        else:
            mp += encode_attribute(
                _MP_FLAGS[0],
                AttributeType.MP_REACH_NLRI,
                _family_bytes(one.family) + bytes([len(one.next_hop)]) + one.next_hop + b"\0" + wire,
            )
    attributes = update.attributes
    listed = mp + (attributes.head + next_hop + attributes.tail if attributes is not None else b"")
    length = HEADER_BYTES + 4 + len(withdrawn) + len(listed) + len(nlri)
    if length > limit:
        raise ValueError(f"UPDATE of {length} bytes")
    return b"".join(
        (
            MARKER,
            length.to_bytes(2),
            _UPDATE,
            len(withdrawn).to_bytes(2),
            withdrawn,
            len(listed).to_bytes(2),
            listed,
            nlri,
        )
    )


def _family_bytes(family: AddressFamily) -> bytes:
    return family.afi.to_bytes(2) + bytes([family.safi])


def end_of_rib(family: tuple[int, int]) -> bytes:
    """End-of-RIB marker, RFC 4724 section 2."""
    if family == IPV4_UNICAST.id:
        return MARKER + b"\x00\x17\x02\x00\x00\x00\x00"
    # FRR writes this attribute without extended length.
    return MARKER + b"\x00\x1d\x02\x00\x00\x00\x06\x80\x0f\x03" + family[0].to_bytes(2) + bytes([family[1]])


def split_nlri(pieces: Sequence[bytes], room: int) -> Iterator[bytes]:
    """Join pieces to fields of at most `room` bytes; longer pieces are left out."""
    if sum(map(len, pieces)) <= room:
        yield b"".join(pieces)
        return
    field: list[bytes] = []
    size = 0
    for piece in pieces:
        if len(piece) > room:
            continue
        if size + len(piece) > room:
            yield b"".join(field)
            field, size = [], 0
        field.append(piece)
        size += len(piece)
    if field:
        yield b"".join(field)


def reach_messages(
    family: AddressFamily, attributes: Attributes, next_hop_bytes: int, pieces: Sequence[bytes], limit: int, width: int
) -> Iterator[tuple[bytes, bytes]]:
    """UPDATEs that announce NLRI `pieces`: each as the bytes before and after the next hop (`next_hop_bytes` long).

    `limit` is the longest message, `width` that of AS numbers. The next hop stays open, so that one encoding serves all
    peers of an update group. Routes that do not fit beside their attributes are left out (RFC 4271 section 9.2).
    """
    head, tail = (attributes.head, attributes.tail) if width == 4 else two_byte_lists(attributes)
    if family is IPV4_UNICAST and next_hop_bytes == 4:
        size = len(head) + 7 + len(tail)
        fixed = b"\0\0" + size.to_bytes(2) + head + b"\x40\x03\x04"
        for nlri in split_nlri(pieces, limit - HEADER_BYTES - 4 - size):
            yield (MARKER + (HEADER_BYTES + 4 + size + len(nlri)).to_bytes(2) + _UPDATE + fixed), tail + nlri
        return
    size = 9 + next_hop_bytes + len(head) + len(tail)
    family_bytes = _family_bytes(family) + bytes([next_hop_bytes])
    for nlri in split_nlri(pieces, limit - HEADER_BYTES - 4 - size):
        yield (
            b"".join(
                (
                    MARKER,
                    (HEADER_BYTES + 4 + size + len(nlri)).to_bytes(2),
                    b"\x02\0\0",
                    (size + len(nlri)).to_bytes(2),
                    _MP_FLAGS,
                    b"\x0e",
                    (5 + next_hop_bytes + len(nlri)).to_bytes(2),
                    family_bytes,
                )
            ),
            b"".join((b"\0", nlri, head, tail)),
        )


def unreach_messages(family: AddressFamily, pieces: Sequence[bytes], limit: int) -> Iterator[bytes]:
    """UPDATEs that withdraw NLRI `pieces`."""
    if family is IPV4_UNICAST:
        for nlri in split_nlri(pieces, limit - HEADER_BYTES - 4):
            yield b"".join(
                (MARKER, (HEADER_BYTES + 4 + len(nlri)).to_bytes(2), _UPDATE, len(nlri).to_bytes(2), nlri, b"\0\0")
            )
        return
    family_bytes = _family_bytes(family)
    for nlri in split_nlri(pieces, limit - HEADER_BYTES - 11):
        yield b"".join(
            (
                MARKER,
                (HEADER_BYTES + 11 + len(nlri)).to_bytes(2),
                b"\x02\0\0",
                (7 + len(nlri)).to_bytes(2),
                _MP_FLAGS,
                b"\x0f",
                (3 + len(nlri)).to_bytes(2),
                family_bytes,
                nlri,
            )
        )


def two_byte_lists(attributes: Attributes) -> tuple[bytes, bytes]:
    """(head, tail) for a peer with two-byte AS numbers: AS_TRANS, and AS4_PATH if AS_TRANS replaced a number.

    RFC 6793 section 4.2.2; confederation segments stay out of AS4_PATH (section 3).
    """
    head = attributes.head[:4] + encode_attribute(
        attributes.head[4], AttributeType.AS_PATH, encode_path(attributes.as_path, 2)
    )
    extra: list[tuple[int, int, bytes]] = []
    if any(asn > 65535 for _, asns in attributes.as_path for asn in asns):
        plain = tuple(part for part in attributes.as_path if part[0] in (SegmentType.AS_SET, SegmentType.AS_SEQUENCE))
        extra.append((OPTIONAL_TRANSITIVE, AttributeType.AS4_PATH, encode_path(plain)))
    aggregator = attributes.aggregator
    if aggregator is None:
        return head, _merge_attributes(attributes.tail, extra)
    asn, address = aggregator
    if asn > 65535:
        extra.append((OPTIONAL_TRANSITIVE, AttributeType.AS4_AGGREGATOR, asn.to_bytes(4) + address))
    old = encode_attribute(OPTIONAL_TRANSITIVE, AttributeType.AGGREGATOR, asn.to_bytes(4) + address)
    new = encode_attribute(
        OPTIONAL_TRANSITIVE, AttributeType.AGGREGATOR, (asn if asn < 65536 else AS_TRANS).to_bytes(2) + address
    )
    return head, _merge_attributes(attributes.tail.replace(old, new, 1), extra)


def _merge_attributes(tail: bytes, extra: list[tuple[int, int, bytes]]) -> bytes:
    """Insert attributes into a list in ascending order of type codes."""
    parts, at = [], 0
    while at < len(tail):
        start = at + (4 if tail[at] & AttributeFlag.EXTENDED_LENGTH else 3)
        after = start + int.from_bytes(tail[at + 2 : start])
        parts.append((tail[at + 1], tail[at:after]))
        at = after
    parts += [(code, encode_attribute(flags, code, value)) for flags, code, value in extra]
    return b"".join(wire for _, wire in sorted(parts, key=lambda part: part[0]))
