"""IPFIX to series: records with observationTimeNanoseconds and counters that have an enterprise number.

That is what the high-frequency telemetry of SONiC sends, and what telemetry/export/ipfix.py writes. Names of counters
and objects are read from records of RFC 5610; without them a counter has its SAI name, and its object is a number.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.units import NS_PER_S
from telemetry.ipfix import sai, wire
from telemetry.ipfix.wire import Field, FormatError, Message, Template
from telemetry.lint.series import Batch, Break, DeltaError, Series

_SET_IDS: Final = frozenset({wire.TEMPLATE_SET, wire.OPTIONS_TEMPLATE_SET})
_DELTA: Final = 3
_KINDS: Final = {1: "gauge", 2: "counter", 7: "counter", 8: "gauge"}
"""RFC 5610 section 3.6: quantity, totalCounter, snmpCounter, snmpGauge."""
_LATEST_UNIX_NS: Final = 2**63
"""A time above it is one of RFC 7011 section 6.1.9: seconds since 1900 and a fraction of 2**-32."""
_SECONDS_1900_TO_1970: Final = 2_208_988_800
_NUMBER_BYTES: Final = 8
_HALF: Final = wire.SEQUENCES // 2

Key = tuple[int, int]
"""(enterprise number, element)."""


@dataclass(frozen=True, slots=True)
class _About:
    """Name, description and semantics of an element, from a record of RFC 5610."""

    name: str
    description: str
    semantics: int


@dataclass(slots=True)
class _Rows:
    """The records of one template, in their order."""

    template: Template
    arrivals: list[int] = field(default_factory=list)
    data: list[bytes] = field(default_factory=list)

    def columns(self) -> tuple[NDArray[np.int64], NDArray[np.int64], dict[Key, NDArray[np.float64]]]:
        """(arrival, time, values of each counter)."""
        fields = [it for it in self.template.fields if it.length_bytes != wire.VARIABLE]
        width = sum(it.length_bytes for it in fields)
        table = np.frombuffer(b"".join(self.data), np.uint8).reshape(-1, width)
        times = np.zeros(len(table), np.int64)
        values = {}
        at = 0
        for it in fields:
            if it.length_bytes <= _NUMBER_BYTES:
                wide = np.zeros((len(table), _NUMBER_BYTES), np.uint8)
                wide[:, _NUMBER_BYTES - it.length_bytes :] = table[:, at : at + it.length_bytes]
                number = wide.view(">u8")[:, 0].astype(np.uint64)
                if _is_time(it):
                    times = _unix_ns(number)
                elif it.enterprise is not None:
                    values[it.enterprise, it.element] = number.astype(np.float64)
            at += it.length_bytes
        return np.array(self.arrivals, np.int64), times, values


@dataclass(slots=True)
class _Domain:
    """One observation domain."""

    id: int
    name: str = ""
    templates: dict[int, _Rows] = field(default_factory=dict)
    rows: list[_Rows] = field(default_factory=list)
    about: dict[Key, _About] = field(default_factory=dict)
    sequence: list[tuple[int, int, int]] = field(default_factory=list)
    """(sequence number, data records, arrivals before it) of each message; records -1 where they cannot be counted."""
    unknown: int = 0
    """Data sets without a template."""

    def labels(self) -> dict[str, str]:
        """Labels of all its series."""
        return {"device": self.name} if self.name else {"observation_domain": str(self.id)}


def from_ipfix(source: str, data: bytes) -> Batch:
    """The series of a file of messages. Raises: FormatError of no IPFIX or without counters with times; DeltaError."""
    domains: dict[int, _Domain] = {}
    arrival = 0
    for message in wire.messages(data):
        domain = domains.setdefault(message.domain, _Domain(message.domain))
        try:
            arrival = _read(domain, message, arrival)
        except FormatError as error:
            raise FormatError(f"the message at byte {message.offset:,}: {error}") from error
    series: list[Series] = []
    breaks: list[Break] = []
    for domain in domains.values():
        found, arrivals = _series(domain)
        series += found
        breaks += _breaks(domain, arrivals)
    if not series:
        raise FormatError("holds no record with observationTimeNanoseconds and a counter whose template is there")
    unix = max(int(it.times_ns.max()) for it in series) > 10**17
    return Batch(source, series, 1, unix=unix, breaks=breaks)


def _read(domain: _Domain, message: Message, arrival: int) -> int:
    """Read the sets of a message. Returns: the number of records with times up to its end, those before it included."""
    before, count = arrival, 0
    for set_id, body in message.sets:
        if set_id in _SET_IDS:
            for template in wire.templates(set_id, body):
                _learn(domain, template)
            continue
        rows = domain.templates.get(set_id)
        if rows is None:
            domain.unknown += 1
            count = -1
            continue
        if rows.template.scopes:
            names = list(wire.records(rows.template, body))
            for record in names:
                _name(domain, rows.template, record)
            n_records = len(names)
        else:
            records = _records(rows.template, body)
            n_records = len(records)
            if any(_is_time(it) for it in rows.template.fields):
                rows.data += records
                rows.arrivals += range(arrival, arrival + n_records)
                arrival += n_records
        count = count if count < 0 else count + n_records
    domain.sequence.append((message.sequence, count, before))
    return arrival


def _learn(domain: _Domain, template: Template) -> None:
    """Keep a template that is new or changed, and forget one that is withdrawn."""
    known = domain.templates.get(template.id)
    if not template.fields:
        if template.id in _SET_IDS:
            domain.templates.clear()
        domain.templates.pop(template.id, None)
    elif known is None or known.template != template:
        domain.templates[template.id] = rows = _Rows(template)
        domain.rows.append(rows)


def _records(template: Template, body: bytes) -> list[bytes]:
    """The records of a data set, without fields of variable length."""
    if template.fixed:
        size = template.record_bytes
        return [body[at : at + size] for at in range(0, len(body) - size + 1, size)]
    kept = [it.length_bytes != wire.VARIABLE for it in template.fields]
    return [
        b"".join(value for value, wanted in zip(record, kept, strict=True) if wanted)
        for record in wire.records(template, body)
    ]


def _name(domain: _Domain, template: Template, record: tuple[bytes, ...]) -> None:
    """Read an options record: the name of an element or of the domain."""
    found = {it.element: value for it, value in zip(template.fields, record, strict=True) if it.enterprise is None}
    if wire.ELEMENT_ID in found and wire.ENTERPRISE_NUMBER in found:
        key = int.from_bytes(found[wire.ENTERPRISE_NUMBER]), int.from_bytes(found[wire.ELEMENT_ID]) & sai.MAX_OBJECTS
        domain.about[key] = _About(
            _text(found.get(wire.ELEMENT_NAME, b"")),
            _text(found.get(wire.ELEMENT_DESCRIPTION, b"")),
            int.from_bytes(found.get(wire.ELEMENT_SEMANTICS, b"")),
        )
    elif int.from_bytes(found.get(wire.OBSERVATION_DOMAIN_ID, b"")) == domain.id:
        domain.name = _text(found.get(wire.OBSERVATION_DOMAIN_NAME, b""))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace").rstrip("\0")


def _is_time(it: Field) -> bool:
    return (
        it.enterprise is None and it.element == wire.OBSERVATION_TIME_NANOSECONDS and it.length_bytes == _NUMBER_BYTES
    )


def _unix_ns(times: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Times of either form as Unix time in nanoseconds."""
    seconds = (times >> np.uint64(32)).astype(np.int64) - _SECONDS_1900_TO_1970
    fraction = (times & np.uint64(0xFFFFFFFF)) * np.uint64(NS_PER_S) + np.uint64(1 << 31) >> np.uint64(32)
    return np.where(
        times >= np.uint64(_LATEST_UNIX_NS), seconds * NS_PER_S + fraction.astype(np.int64), times.astype(np.int64)
    )


def _series(domain: _Domain) -> tuple[list[Series], dict[int, int]]:
    """(the series of a domain, arrival -> time)."""
    parts: dict[Key, list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]]] = defaultdict(list)
    when: dict[int, int] = {}
    for rows in domain.rows:
        if rows.data:
            arrivals, times, columns = rows.columns()
            when |= zip(arrivals.tolist(), times.tolist(), strict=True)
            for key, values in columns.items():
                parts[key].append((arrivals, times, values))
    found = []
    for key, of_key in parts.items():
        arrivals, times, values = (np.concatenate(it) for it in zip(*of_key, strict=True))
        order = np.argsort(arrivals, kind="stable")
        found.append(_one(domain, key, times[order], values[order]))
    return found, when


def _one(domain: _Domain, key: Key, times_ns: NDArray[np.int64], values: NDArray[np.float64]) -> Series:
    number, element = key
    about = domain.about.get(key, _About("", "", 0))
    name = about.name or sai.BY_NUMBER.get(number) or f"enterprise_{number:#010x}"
    if about.semantics == _DELTA:
        raise DeltaError(f"{name} is a delta, not a cumulative counter", "export it as cumulative")
    labels = domain.labels() | {"object_name": about.description or str(element)}
    return Series(name, labels, _KINDS.get(about.semantics, "unknown"), times_ns, values)


def _breaks(domain: _Domain, when: dict[int, int]) -> list[Break]:
    """Gaps in the sequence numbers of a domain.

    RFC 7011 counts data records. SONiC's design requires only that the number rises, so a stream may count messages, or
    neither. The unit that fits most messages is used; no gap is reported where neither fits more than half of them.
    """
    name = domain.name or f"observation domain {domain.id}"
    found = []
    if domain.unknown:
        text = f"data sets without a template: {domain.unknown:,}; their values are not read"
        found.append(Break(name, None, text))
    steps = [
        ((later[0] - earlier[0]) % wire.SEQUENCES, earlier[1], later[2])
        for earlier, later in zip(domain.sequence, domain.sequence[1:], strict=False)
    ]
    of_records = [step - count for step, count, _ in steps]
    of_messages = [step - 1 for step, _, _ in steps]
    unit, missing = max(("record", of_records), ("message", of_messages), key=lambda it: it[1].count(0))
    if 2 * missing.count(0) <= len(missing):
        return found
    for (_, count, arrival), difference in zip(steps, missing, strict=True):
        lost = difference % wire.SEQUENCES
        if lost == 0 or (unit == "record" and count < 0):
            continue
        text = f"the sequence number goes back by {wire.SEQUENCES - lost:,}: sent twice, or out of order"
        if lost < _HALF:
            text = f"the sequence number says that {lost:,} {unit}{'s' * (lost > 1)} before this are missing"
        found.append(Break(name, when.get(arrival), text))
    return found
