"""A recorded run as IPFIX, as the high-frequency telemetry of SONiC sends it: a file of messages (RFC 5655).

Every switch is an observation domain, numbered from 1. First come its templates, of ports, queues, priority groups and
buffer pools, whose elements are SAI counters of one object each (telemetry/ipfix/sai.py). Then follow the messages of
each sample, with one data set for each template; the design leaves it to the vendor how a snapshot is split. Counters
are those that the gNMI server has in COUNTERS_DB and those of telemetry/ipfix/buffers.py, unsigned and of 64 bits.

SONiC keeps names beside the stream, in its STATE_DB. A file has no such place, so options records carry them: the names
of counters and objects by RFC 5610, those of switches as observationDomainName. They stand in messages of their own,
before the templates.

observationTimeNanoseconds is Unix time in nanoseconds, as SONiC reads it, and not RFC 7011's seconds and fractions
since 1900. Sequence numbers count data records, as RFC 7011 section 3.1 says. Series that have samples at different
times have different templates, because a record has a value in each of its fields.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from fabric.errors import FabricError
from fabric.units import NS_PER_S
from telemetry.catalogue.metrics import BY_NAME
from telemetry.catalogue.spec import Kind
from telemetry.export.grid import Sent, on_grid, sampled, usual_step_ns
from telemetry.gnmi.sonic import LEAVES
from telemetry.ipfix import sai, wire
from telemetry.ipfix.buffers import BUFFERS
from telemetry.ipfix.wire import Field, Template
from telemetry.record.store import Store

_HOST: Final = "host"
"""Role of a device that is no switch."""
_COUNTER_BYTES: Final = 8
_TIME: Final = Field(wire.OBSERVATION_TIME_NANOSECONDS, _COUNTER_BYTES)
_MOST_COUNTERS: Final = 59
"""Of a template: with the time these are 60 fields, the most that Wireshark decodes as it is installed."""

_ABOUT_ELEMENTS: Final = Template(
    wire.FIRST_TEMPLATE,
    (
        Field(wire.ENTERPRISE_NUMBER, 4),
        Field(wire.ELEMENT_ID, 2),
        Field(wire.ELEMENT_DATA_TYPE, 1),
        Field(wire.ELEMENT_SEMANTICS, 1),
        Field(wire.ELEMENT_UNITS, 2),
        Field(wire.ELEMENT_NAME, wire.VARIABLE),
        Field(wire.ELEMENT_DESCRIPTION, wire.VARIABLE),
    ),
    scopes=2,
)
"""RFC 5610 section 3.2; the description is the object's name."""
_ABOUT_DOMAIN: Final = Template(
    wire.FIRST_TEMPLATE + 1,
    (Field(wire.OBSERVATION_DOMAIN_ID, 4), Field(wire.OBSERVATION_DOMAIN_NAME, wire.VARIABLE)),
    scopes=1,
)
_FIRST_DATA: Final = wire.FIRST_TEMPLATE + 2
_UNSIGNED64, _QUANTITY, _TOTAL_COUNTER = 4, 1, 2
"""RFC 5610 sections 3.1 and 3.6."""
_OBJECTS: Final = {
    sai.PORT: ("port",),
    sai.QUEUE: ("port", "queue"),
    sai.PRIORITY_GROUP: ("port", "priority"),
    sai.BUFFER_POOL: ("pool",),
}
"""Labels that an object's name is made of, with | between them as in SONiC's tables."""
_UNITS: Final = {"OCTETS": 2, "BYTES": 2, "PKTS": 3, "PACKETS": 3, "US": 7}
"""IANA's registry of units, by the last word of a counter's name."""


@dataclass(frozen=True, slots=True)
class _Counter:
    """One element of a switch."""

    number: int
    """Enterprise number."""
    object_id: int
    object_name: str
    total: bool
    """Whether it only rises."""
    values: NDArray[np.float64]
    """(n_samples,), not a number where it has none."""

    def about(self) -> bytes:
        """Its record of _ABOUT_ELEMENTS."""
        name = sai.BY_NUMBER[self.number]
        semantics = _TOTAL_COUNTER if self.total else _QUANTITY
        units = _UNITS.get(name.rpartition("_")[2], 0)
        fixed = self.number.to_bytes(4) + self.object_id.to_bytes(2) + bytes([_UNSIGNED64, semantics])
        return fixed + units.to_bytes(2) + wire.variable(name) + wire.variable(self.object_name)


@dataclass(slots=True)
class _Switch:
    """The stream of one observation domain."""

    domain: int
    name: str
    counters: list[_Counter]
    _records: list[tuple[Template, NDArray[np.bool_], NDArray[np.uint64]]] = field(default_factory=list)
    """(template, (n_samples,) whether there is a record, (n_samples, n_fields) its values)."""
    _sequence: int = 0

    def lay_out(self, times_ns: NDArray[np.int64]) -> None:
        """Divide the counters into templates: by object type, and by the samples at which they have a value."""
        groups: dict[tuple[int, bytes], list[_Counter]] = defaultdict(list)
        for it in self.counters:
            groups[sai.object_type(it.number), np.isnan(it.values).tobytes()].append(it)
        for group in groups.values():
            for at in range(0, len(group), _MOST_COUNTERS):
                part = group[at : at + _MOST_COUNTERS]
                fields = (_TIME, *(Field(it.object_id, _COUNTER_BYTES, it.number) for it in part))
                template = Template(_FIRST_DATA + len(self._records), fields)
                if template.id > wire.LAST_TEMPLATE:
                    raise FabricError(
                        f"{self.name} needs more templates than IPFIX has numbers", "export the run as otlp"
                    )
                there = ~np.isnan(part[0].values)
                columns = [times_ns, *(np.where(there, it.values, 0) for it in part)]
                values = np.stack([it.astype(np.uint64) for it in columns], axis=1).astype(">u8")
                self._records.append((template, there, values))

    def head(self, export_s: int) -> Iterator[bytes]:
        """Messages with the names, and then others with the templates of the counters, which SONiC's reader takes."""
        of_options = (_ABOUT_ELEMENTS, _ABOUT_DOMAIN)
        yield from self._messages(export_s, ((wire.template_set(it), 0) for it in of_options))
        name = wire.set_of(_ABOUT_DOMAIN.id, self.domain.to_bytes(4) + wire.variable(self.name))
        about = (wire.set_of(_ABOUT_ELEMENTS.id, it.about()) for it in self.counters)
        yield from self._messages(export_s, ((it, 1) for it in (name, *about)))
        yield from self._messages(export_s, ((wire.template_set(it), 0) for it, _, _ in self._records))

    def sample(self, row: int, export_s: int) -> Iterator[bytes]:
        """Messages with the records of one sample."""
        there = (it for it in self._records if it[1][row])
        sets = ((wire.set_of(template.id, values[row].tobytes()), 1) for template, _, values in there)
        yield from self._messages(export_s, sets)

    def _messages(self, export_s: int, sets: Iterable[tuple[bytes, int]]) -> Iterator[bytes]:
        """Sets and their numbers of records, in as few messages as hold them."""
        kept: list[bytes] = []
        size_bytes, records = wire.HEADER_BYTES, 0
        for one, count in sets:
            if size_bytes + len(one) > wire.MAX_MESSAGE_BYTES:
                yield wire.message(self.domain, self._sequence, export_s, kept)
                self._sequence += records
                kept, size_bytes, records = [], wire.HEADER_BYTES, 0
            kept.append(one)
            size_bytes += len(one)
            records += count
        if kept:
            yield wire.message(self.domain, self._sequence, export_s, kept)
            self._sequence += records


def write_ipfix(store: Store, out: BinaryIO, start_ns: int, interval_ns: int | None = None) -> Sent:
    """Write the counters of all switches.

    Parameters
    ----------
    store : Store
    out : BinaryIO
    start_ns : int          Unix time of simulated time 0
    interval_ns : int       simulated time between two records; None keeps every sample

    Raises: FabricError where no switch has a counter, or one has more objects than elements have numbers.
    """
    kept_ns = store.times_ns[sampled(store.times_ns, interval_ns)]
    switches = list(_switches(store, kept_ns))
    if not switches:
        raise FabricError("the run has no counter of a switch", "export it as otlp, which has those of hosts")
    times_ns = start_ns + kept_ns
    parts = 0
    for it in switches:
        it.lay_out(times_ns)
        for data in it.head(int(times_ns[0]) // NS_PER_S):
            out.write(data)
            parts += 1
    for row, time_ns in enumerate(times_ns.tolist()):
        for it in switches:
            for data in it.sample(row, time_ns // NS_PER_S):
                out.write(data)
                parts += 1
    counters = [counter for it in switches for counter in it.counters]
    points = sum(int((~np.isnan(it.values)).sum()) for it in counters)
    return Sent(len(counters), points, parts, usual_step_ns(times_ns))


def _switches(store: Store, times_ns: NDArray[np.int64]) -> Iterator[_Switch]:
    """The switches that have counters, in the order of the fabric."""
    values = _values(store, times_ns)
    devices = [dict(labels) for labels, _ in store.iter_series("fabric_device_info")]
    for domain, about in enumerate((it for it in devices if it["role"] != _HOST), 1):
        name = about["device"]
        counters: list[_Counter] = []
        numbered: dict[tuple[int, str], int] = {}
        of_type: dict[int, int] = defaultdict(int)
        for (number, object_name), (total, column) in values.get(name, {}).items():
            if np.isnan(column).all():
                continue
            kind = sai.object_type(number)
            if (kind, object_name) not in numbered:
                of_type[kind] += 1
                numbered[kind, object_name] = of_type[kind]
            counters.append(_Counter(number, numbered[kind, object_name], object_name, total, column))
        if max(of_type.values(), default=0) > sai.MAX_OBJECTS:
            raise FabricError(f"{name} has more than {sai.MAX_OBJECTS:,} objects of a type", "export the run as otlp")
        if counters:
            yield _Switch(domain, name, counters)


def _values(
    store: Store, times_ns: NDArray[np.int64]
) -> dict[str, dict[tuple[int, str], tuple[bool, NDArray[np.float64]]]]:
    """Device -> (enterprise number, object) -> (whether it only rises, values).

    Samples that get the same element are added, as XOFF and XON frames, which a device counts together.
    """
    found: dict[str, dict[tuple[int, str], tuple[bool, NDArray[np.float64]]]] = defaultdict(dict)
    for leaf in (*LEAVES, *BUFFERS):
        if not leaf.elements[-1][0].startswith("SAI_"):
            continue
        total = BY_NAME[leaf.metric].kind is Kind.COUNTER
        for labels, (found_ns, values) in store.iter_series(leaf.metric):
            about = dict(labels)
            number = sai.BY_NAME[leaf.at(about)[-1][0]]
            name = "|".join(about[it] for it in _OBJECTS[sai.object_type(number)])
            of_device = found[about["device"]]
            column = np.rint(on_grid(found_ns, values, times_ns) * leaf.factor)
            if (number, name) in of_device:
                before = of_device[number, name][1]
                column = np.where(np.isnan(before), column, before + np.nan_to_num(column))
            of_device[number, name] = total, column
    return found
