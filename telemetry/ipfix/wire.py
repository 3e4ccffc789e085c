"""IPFIX as bytes: messages, sets, template and data records (RFC 7011 section 3). A file is messages one after the
other (RFC 5655 section 4).

All numbers are in network byte order. Padding at the end of a set is shorter than a record and is left out.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

VERSION: Final = 10
TEMPLATE_SET: Final = 2
OPTIONS_TEMPLATE_SET: Final = 3
FIRST_TEMPLATE: Final = 256
"""Section 3.4.1: smaller numbers are reserved for sets of templates."""
LAST_TEMPLATE: Final = 65_535
VARIABLE: Final = 65_535
"""Length of a field whose records say their own length (section 7)."""
MAX_MESSAGE_BYTES: Final = 1_452
"""What a packet of 1,500 bytes has left for it after IPv6 and UDP: section 10.3.3 wants no fragments."""
SEQUENCES: Final = 2**32

# Elements of IANA's registry of IPFIX entities.
OBSERVATION_DOMAIN_ID: Final = 149
OBSERVATION_DOMAIN_NAME: Final = 300
ELEMENT_ID: Final = 303
OBSERVATION_TIME_NANOSECONDS: Final = 325
ELEMENT_DATA_TYPE: Final = 339
ELEMENT_DESCRIPTION: Final = 340
ELEMENT_NAME: Final = 341
ELEMENT_SEMANTICS: Final = 344
ELEMENT_UNITS: Final = 345
ENTERPRISE_NUMBER: Final = 346

_HEADER: Final = struct.Struct(">HHIII")
"""Version, length, export time (Unix seconds), sequence number, observation domain."""
_PAIR: Final = struct.Struct(">HH")
_ENTERPRISE_BIT: Final = 0x8000
_LONG: Final = 255
"""First byte of a variable length of three bytes."""

HEADER_BYTES: Final = _HEADER.size
SET_HEADER_BYTES: Final = _PAIR.size


class FormatError(ValueError):
    """Bytes that are no IPFIX."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field specifier (section 3.2)."""

    element: int
    """15 bits."""
    length_bytes: int
    enterprise: int | None = None
    """None: an element of IANA's registry."""


@dataclass(frozen=True)
class Template:
    """A template record, or an options template record (sections 3.4.1 and 3.4.2)."""

    id: int
    fields: tuple[Field, ...]
    """Without a field the template is withdrawn (section 8.1)."""
    scopes: int = 0
    """Leading fields that say what an options record is about; 0: no options template."""

    @cached_property
    def record_bytes(self) -> int:
        """Length of the shortest record."""
        return sum(1 if it.length_bytes == VARIABLE else it.length_bytes for it in self.fields)

    @cached_property
    def fixed(self) -> bool:
        """Whether all records have one length."""
        return all(it.length_bytes != VARIABLE for it in self.fields)


@dataclass(frozen=True, slots=True)
class Message:
    """A message, in which only the sets are told apart."""

    offset: int
    """Position in the file."""
    domain: int
    sequence: int
    """Data records of the domain before this message, modulo 2**32."""
    sets: tuple[tuple[int, bytes], ...]
    """(set id, content without the header)."""


def message(domain: int, sequence: int, export_s: int, sets: Iterable[bytes]) -> bytes:
    """A message of sets. The caller keeps to MAX_MESSAGE_BYTES."""
    body = b"".join(sets)
    return _HEADER.pack(VERSION, HEADER_BYTES + len(body), export_s, sequence % SEQUENCES, domain) + body


def set_of(set_id: int, body: bytes) -> bytes:
    """A set of records: of the data of a template, or of templates."""
    return _PAIR.pack(set_id, SET_HEADER_BYTES + len(body)) + body


def template_set(template: Template) -> bytes:
    """A set of one template."""
    record = _PAIR.pack(template.id, len(template.fields))
    if template.scopes:
        record += template.scopes.to_bytes(2)
    for it in template.fields:
        if it.enterprise is None:
            record += _PAIR.pack(it.element, it.length_bytes)
        else:
            record += _PAIR.pack(it.element | _ENTERPRISE_BIT, it.length_bytes) + it.enterprise.to_bytes(4)
    return set_of(OPTIONS_TEMPLATE_SET if template.scopes else TEMPLATE_SET, record)


def variable(text: str) -> bytes:
    """A string with its length before it (section 7)."""
    data = text.encode()
    return (bytes([len(data)]) if len(data) < _LONG else bytes([_LONG]) + len(data).to_bytes(2)) + data


def messages(data: bytes) -> Iterator[Message]:
    """The messages of a file. Raises: FormatError, which says where."""
    at = 0
    while at < len(data):
        if len(data) - at < HEADER_BYTES:
            raise FormatError(f"byte {at:,}: {len(data) - at} bytes are less than the header of a message")
        version, length, _, sequence, domain = _HEADER.unpack_from(data, at)
        if version != VERSION:
            raise FormatError(f"byte {at:,}: a message of version {version}, not {VERSION}")
        if not HEADER_BYTES <= length <= len(data) - at:
            raise FormatError(f"byte {at:,}: a message of {length:,} bytes, of which {len(data) - at:,} are there")
        yield Message(at, domain, sequence, tuple(_sets(data, at, at + length)))
        at += length


def _sets(data: bytes, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    at = start + HEADER_BYTES
    while at < end:
        set_id, length = _PAIR.unpack_from(data, at) if end - at >= SET_HEADER_BYTES else (0, 0)
        if not SET_HEADER_BYTES <= length <= end - at:
            raise FormatError(f"byte {at:,}: a set of {length:,} bytes in {end - at:,} that its message has left")
        yield set_id, data[at + SET_HEADER_BYTES : at + length]
        at += length


def templates(set_id: int, body: bytes) -> Iterator[Template]:
    """The templates of a set of them. Raises: FormatError."""
    at = 0
    while any(body[at:]):
        template_id, count = _numbers(body, at)
        at += SET_HEADER_BYTES
        if template_id < FIRST_TEMPLATE and not (count == 0 and template_id == set_id):
            raise FormatError(f"template {template_id} has a reserved number")
        scopes = 0
        if set_id == OPTIONS_TEMPLATE_SET and count:
            scopes = int.from_bytes(body[at : at + 2])
            at += 2
            if not 0 < scopes <= count:
                raise FormatError(f"options template {template_id} has {scopes} scope fields of {count}")
        fields = []
        for _ in range(count):
            element, length_bytes = _numbers(body, at)
            at += SET_HEADER_BYTES
            enterprise = None
            if element & _ENTERPRISE_BIT:
                high, low = _numbers(body, at)
                enterprise = (high << 16) + low
                at += SET_HEADER_BYTES
            fields.append(Field(element & ~_ENTERPRISE_BIT, length_bytes, enterprise))
        template = Template(template_id, tuple(fields), scopes)
        if fields and not template.record_bytes:
            raise FormatError(f"template {template_id} has records of no bytes")
        yield template


def _numbers(body: bytes, at: int) -> tuple[int, int]:
    if len(body) - at < _PAIR.size:
        raise FormatError("a template ends within a field")
    first, second = _PAIR.unpack_from(body, at)
    return first, second


def records(template: Template, body: bytes) -> Iterator[tuple[bytes, ...]]:
    """The fields of each record of a data set. Raises: FormatError."""
    at = 0
    while len(body) - at >= template.record_bytes:
        found = []
        for it in template.fields:
            length = it.length_bytes
            if length == VARIABLE:
                length = int.from_bytes(body[at : at + 1])
                at += 1
                if length == _LONG:
                    length = int.from_bytes(body[at : at + 2])
                    at += 2
            found.append(body[at : at + length])
            at += length
        if at > len(body):
            raise FormatError(f"a record of template {template.id} is longer than its set")
        yield tuple(found)
