"""One path of a request: the devices it is about, and what a reading has there.

The prefix' target names the device (gNMI specification section 2.2.2.1), because one server answers for a whole fabric
(docs/decisions/0100):

    leaf1                 the OpenConfig tree of that switch
    *                     of every switch; each notification names its own
    COUNTERS_DB/leaf1     SONiC's database of that switch, as SONiC's 'COUNTERS_DB/asic0' names one of several ASICs
    COUNTERS_DB, none     the only switch, where there is one
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from telemetry.gnmi import openconfig, sonic
from telemetry.gnmi.documents import Document, plain, subtree, table
from telemetry.gnmi.leaf import Elem, Leaf, Scalar
from telemetry.gnmi.paths import ANY, Pattern, check, match, pattern
from telemetry.gnmi.reading import Place, Reading
from telemetry.gnmi.refusal import Code, Refusal

ORIGINS: Final = frozenset({"", "openconfig", *openconfig.MODELS})
"""Origins of the OpenConfig tree (gnmi-path-strings, mixed-schema); some clients put the module there."""
DATABASE_ORIGIN: Final = "sonic-db"
_SHOWN: Final = 8


@dataclass(frozen=True, slots=True)
class Item:
    """One update of a notification."""

    key: object
    """Identifies the node over readings."""
    device: str
    elems: tuple[Elem, ...]
    value: Scalar | Document
    leaf: Leaf | None
    """None: a document."""


@dataclass(slots=True)
class Query:
    """A path that was checked."""

    asked: Pattern
    """The path as the client wrote it."""
    pattern: Pattern
    """The same within the tree or the database."""
    devices: frozenset[str]
    database: bool
    target: str
    """As the client wrote it; '*' stands for each device."""
    origin: str
    paths: dict[object, Any] = field(default_factory=dict)
    """Messages of the paths of items, which take longer to make than to copy (telemetry/gnmi/messages.py)."""
    _kept: tuple[int, Pattern] | None = None
    _places: list[tuple[Place, int]] = field(default_factory=list)

    def target_of(self, device: str) -> str:
        """Target of a notification: the client's own word, or none (section 2.2.2.1)."""
        return device if self.target == ANY else self.target

    def leaves(self, reading: Reading) -> Iterator[Item]:
        """Each leaf at or below the path; a database's node as one document."""
        if self.database:
            yield from self._documents(reading)
            return
        for place, _ in self._found(reading, self.pattern):
            yield Item(place, place.device, place.elems, reading.values[place], place.leaf)

    def nodes(self, reading: Reading, *, ietf: bool) -> Iterator[Item]:
        """Each node that the path names, as a value or as an object."""
        if self.database:
            yield from self._documents(reading)
            return
        found: dict[tuple[str, tuple[Elem, ...]], list[Place]] = {}
        for place, depth in self._found(reading, self.pattern):
            found.setdefault((place.device, place.elems[:depth]), []).append(place)
        for (device, elems), places in found.items():
            if places[0].elems == elems:
                yield Item(places[0], device, elems, reading.values[places[0]], places[0].leaf)
                continue
            leaves = ((place.elems, place.leaf, reading.values[place]) for place in places)
            yield Item((device, elems), device, elems, subtree(len(elems), leaves, ietf=ietf), None)

    def _documents(self, reading: Reading) -> Iterator[Item]:
        """A device's answer, at the path as it was asked."""
        wanted = self._without_oid(reading)
        for device in sorted(self.devices):
            leaves = [
                (place.elems, reading.values[place])
                for place, _ in self._found(reading, wanted)
                if place.device == device
            ]
            value = table(wanted, leaves)
            if value is not None:
                elems = tuple((name, ()) for name, _ in self.asked.elems)
                yield Item(device, device, elems, value, None)

    def _found(self, reading: Reading, wanted: Pattern) -> list[tuple[Place, int]]:
        """(place, elements of the named node) of every leaf that has a value; kept until a place is added."""
        if self._kept != (reading.shape, wanted):
            matched = (
                (place, match(wanted, place.elems))
                for place in reading.values
                if place.device in self.devices and place.database == self.database
            )
            found = [(place, depth) for place, depth in matched if depth is not None]
            self._places = sorted(found, key=lambda it: it[0].device)  # notifications are of one device each
            self._kept = reading.shape, wanted
        return [it for it in self._places if it[0] in reading.values]

    def _without_oid(self, reading: Reading) -> Pattern:
        """COUNTERS/oid:0x... is the object of that number, which the maps of names have."""
        elems = self.pattern.elems
        if len(elems) < 2 or not elems[1][0].startswith("oid:"):
            return self.pattern
        for place, value in reading.values.items():
            if value == elems[1][0] and place.database and place.device in self.devices:
                name = place.elems[1][0]
                port, colon, _ = name.partition(":")
                inner = (port, "Queues", name) if colon else (port,)
                return Pattern((elems[0], *((it, {}) for it in inner), *elems[2:]))
        return self.pattern


def query(prefix: Any, path: Any, reading: Reading) -> Query:  # noqa: ANN401  gnmi.Path, which has no types
    """Check a path of a request. Raises: Refusal."""
    if path.target:
        raise Refusal(Code.INVALID_ARGUMENT, "a path has a target; it belongs into the prefix (section 2.2.2.1)")
    if path.origin and prefix.origin and path.origin != prefix.origin:
        raise Refusal(Code.INVALID_ARGUMENT, "prefix and path have different origins")
    origin, wanted = path.origin or prefix.origin, pattern(prefix, path)
    database, _, name = prefix.target.partition("/")
    if origin == DATABASE_ORIGIN:
        return _by_origin(prefix.target, wanted, reading)
    if origin not in ORIGINS:
        raise Refusal(
            Code.INVALID_ARGUMENT, f"origin {origin[:80]!r} is unknown; known are openconfig and {DATABASE_ORIGIN}"
        )
    if database in sonic.OTHERS:
        raise Refusal(Code.UNIMPLEMENTED, f"of SONiC's databases only {sonic.DATABASE} is served")
    if database == sonic.DATABASE:
        devices = _devices(name, reading, sonic.DATABASE + "/")
        return _of_database(wanted, wanted, devices, prefix.target, origin)
    return Query(wanted, wanted, _devices(prefix.target, reading, ""), False, prefix.target, origin)


def _by_origin(target: str, wanted: Pattern, reading: Reading) -> Query:
    """sonic-db:/COUNTERS_DB/localhost/COUNTERS/...: database and namespace in the path, the target is the device."""
    if len(wanted.elems) < 3 or wanted.elems[0][0] != sonic.DATABASE or wanted.elems[1][0] != "localhost":
        raise Refusal(
            Code.INVALID_ARGUMENT, f"a path of {DATABASE_ORIGIN} begins with {sonic.DATABASE}/localhost/TABLE"
        )
    inner = Pattern(wanted.elems[2:])
    return _of_database(wanted, inner, _devices(target, reading, ""), target, DATABASE_ORIGIN)


def _of_database(asked: Pattern, wanted: Pattern, devices: frozenset[str], target: str, origin: str) -> Query:
    if not wanted.elems or [name for name, _ in wanted.elems] == ["COUNTERS"]:
        tables = "COUNTERS_PORT_NAME_MAP, COUNTERS_QUEUE_NAME_MAP, COUNTERS/Ethernet*"
        raise Refusal(Code.INVALID_ARGUMENT, f"name a table, or a port of COUNTERS: {tables}")
    if not wanted.elems[1:] or not wanted.elems[1][0].startswith("oid:"):
        check(wanted, sonic.LEAVES)
    return Query(asked, wanted, devices, True, target, origin)


def _devices(name: str, reading: Reading, before: str) -> frozenset[str]:
    """The switches of a target."""
    if name in reading.switches:
        return frozenset({name})
    if name == ANY and not before:
        return frozenset(reading.switches)
    listed = ", ".join(before + it for it in reading.switches[:_SHOWN]) + (", ..." if reading.switches[_SHOWN:] else "")
    if not name:
        if len(reading.switches) == 1:
            return frozenset(reading.switches)
        raise Refusal(Code.INVALID_ARGUMENT, f"name a switch as target of the prefix: {listed}")
    if name in reading.hosts:
        raise Refusal(Code.NOT_FOUND, f"{name} is a host, and hosts have no gNMI; targets: {listed}")
    raise Refusal(Code.NOT_FOUND, f"there is no switch {name[:80]!r}; targets: {listed}")


def check_known(one: Query) -> None:
    """Refuse a node that no device can have, for Get (section 3.3.1). Raises: Refusal."""
    if not one.database:
        check(one.pattern, openconfig.LEAVES)


def check_root(one: Query) -> None:
    """Refuse a path outside the served modules, for Subscribe; inside them every path is valid (section 3.5.1.3)."""
    if not one.database and one.pattern.elems:
        name = one.pattern.elems[0][0]
        if name not in {ANY, "..."} and name not in openconfig.ROOTS:
            raise Refusal(
                Code.INVALID_ARGUMENT, f"/{name[:80]} is in no served model; served are /{', /'.join(openconfig.ROOTS)}"
            )


def json_value(item: Item, *, ietf: bool) -> Scalar | Document:
    """The value of an item for JSON."""
    if item.leaf is None or not isinstance(item.value, int | str):
        return item.value
    return plain(item.leaf, item.value, ietf=ietf)
