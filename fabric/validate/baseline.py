"""Differences between two states of a network, in meaning and not in text; and findings that are new or gone.

Key order, lists against single keys, brackets against plain names, and lines moved about are no differences.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final

from fabric.configs.capabilities import Language
from fabric.configs.model import Device, Where
from fabric.configs.network import HOST_SETTINGS, Network
from fabric.validate import derived
from fabric.validate.changed_statements import PORT, ChangedStatements, came_or_went
from fabric.validate.checks.base import Finding, first
from fabric.validate.hidden import Statements, behind, unjudged, visible
from fabric.validate.own_words import own_words, place_of
from fabric.validate.runner import Verdict
from fabric.validate.segment_words import segment_lines

_ABOUT_THE_FILE: Final = frozenset(
    (
        *("name", "file", "bgp", "locator", "beside", "defects", "unread", "unjudged", "compared", "place"),
        *("no_routing", "unrouted_vrfs"),
        *("classes", "admin_stated", "made", "pause_bytes", "averaging"),
    )
)
"""Fields that are no meaning, or follow from others; so are all whose names end in `where`."""
_TOLD: Final = frozenset(("vnis", "routed_vnis", "unnumbered"))
"""Parts of the identity that other values tell: segments have words of their own."""
_OF_SESSIONS: Final = frozenset(("states_asn", "external"))
"""Fields of sessions that follow from the AS number of the neighbour."""
_SHOWN_PORTS: Final = 6
_SHOWN_VALUE: Final = 200
_UNJUDGED: Final = "not judged:"
_OWN_ASN: Final = re.compile(r"^(router bgp) \S+")
"""The block of BGP has the switch's AS number in its name, and all that is in it is the same with another one."""
_WORDS: Final = {"lossless": "PFC priorities", "sessions": "BGP session", "routes": "static route"}
"""Names of the model to words of operators, where a value has no place in the file."""


def compare(old: Verdict, new: Verdict, changes: tuple[str, ...], statements: Statements) -> Verdict:
    """The new verdict with only what the old one has not; what is gone is fixed, hidden, or not judged any more."""
    before: dict[tuple[str, str, str], list[Finding]] = {}
    for item in old.findings:
        before.setdefault(item.key, []).append(item)
    after = Counter(item.key for item in new.findings)

    def is_new(item: Finding) -> bool:
        """Worse than every earlier finding of this object; or one more than before, with another text."""
        known = before.get(item.key, [])
        return all(it.severity < item.severity for it in known) or (
            after[item.key] > len(known) and all(it.text != item.text for it in known)
        )

    fresh = tuple(filter(is_new, new.findings))
    gone = tuple(item for item in old.findings if item.key not in after)
    left_out = unjudged(gone, fresh, statements)
    maybe = {id(it.finding) for it in left_out}
    covered = behind([item for item in gone if id(item) not in maybe], fresh, statements)
    maybe |= {id(it.finding) for it in covered}
    return replace(
        new,
        findings=fresh,
        fixed=tuple(item for item in gone if id(item) not in maybe),
        hidden=covered,
        gone=left_out,
        visible=visible(fresh, gone, statements),
        known=len(new.findings) - len(fresh),
        changes=changes,
    )


def changes(old: Network, new: Network) -> tuple[str, ...]:
    """One line per change of meaning; the same change on many ports of a switch is one line."""
    lines = [
        f"{name}: {'added' if name in new.devices else 'removed'}"
        for name in sorted(old.devices.keys() ^ new.devices.keys())
    ]
    for name in sorted(old.devices.keys() & new.devices.keys()):
        was_device, is_device = old.devices[name], new.devices[name]
        before = derived.stated(was_device, is_device, _values(was_device))
        after = derived.stated(is_device, was_device, _values(is_device))
        language = is_device.language
        stated = [{where for _, where in its.values()} for its in (before, after)]
        same: dict[tuple[str, str], list[str]] = {}
        places: list[Where] = []
        for path in sorted(before.keys() | after.keys()):
            was, now = (its.get(path, ("absent", ())) for its in (before, after))
            if was[0] == now[0] or {was[0], now[0]} <= _NOTHING:
                continue
            port, rest = _split(path)
            where = now[1] or was[1]
            places.append(where)
            if where and (where not in stated[0] or where not in stated[1]):  # the whole construct came or went
                rest, was, now = (), *(("present" if where in its else "absent", where) for its in stated)
            what = _shown(language, where, rest, port)
            turned = what.endswith("shutdown")  # the model says whether it is up
            ports = same.setdefault((what, " → ".join(_of(it[0], turned=turned) for it in (was, now))), [])
            if port not in ports:
                ports.append(port)
        for what, change, its in _by_statements(was_device, is_device, same, places):
            lines.append(f"{name}: {_line(what, change, its)}")
        lines += _made(name, was_device, is_device)
    lines += _of_hosts(old, new)
    ends = [{tuple(sorted((cable.a, cable.b))) for cable in network.links} for network in (old, new)]
    for pair in sorted(ends[0] ^ ends[1]):
        shown = " – ".join(":".join(end) for end in pair)
        lines.append(f"link {shown}: {'added' if pair in ends[1] else 'removed'}")
    return tuple(lines)


def _by_statements(
    old: Device, new: Device, same: dict[tuple[str, str], list[str]], places: list[Where]
) -> Iterator[tuple[str, str, Sequence[str]]]:
    """(what, change, ports) of a switch: of the model, or of the statements of its files where these are fewer.

    They are fewer where values of the model follow from a statement elsewhere. Where they are as many, those of the
    files count if a value stands in lines that did not change, or if fewer of them only came or went.
    """
    model = [(what, change, [it for it in ports if it] or ports) for (what, change), ports in same.items()]
    wrong = [[(it.check, it.where, it.text) for it in device.defects] for device in (old, new)]
    if not model and wrong[0] == wrong[1]:
        yield from model
        return
    files = ChangedStatements(old, new)
    its, whole = len(files.rows), sum(it.whole for it in files.rows)
    its_model, whole_model = len(model), sum(came_or_went(change) for _, change, _ in model)
    fewer = (its, whole) < (its_model, whole_model)
    if files.rows and (not model or fewer or (its == its_model and any(map(files.follows, places)))):
        yield from ((it.what, it.change, it.ports or ("",)) for it in files.rows)
    else:
        yield from model


def _line(what: str, change: str, ports: Sequence[str]) -> str:
    if len(ports) == 1 and ports[0] and PORT in what:
        return f"{what.replace(PORT, ports[0])}: {change}"
    shown = first(list(ports), _SHOWN_PORTS)
    return f"{shown + ': ' if ports[0] else ''}{what}: {change}"


def _of_hosts(old: Network, new: Network) -> Iterator[str]:
    """Settings of hosts that differ; the same change of many hosts is one line. `default` stands for all others."""
    before, after = old.stated_hosts, new.stated_hosts
    if not before or not after:
        if before or after:
            yield f"settings of hosts: {'removed' if before else 'added'}"
        return
    same: dict[str, list[str]] = {}
    for name in sorted(before.keys() | after.keys()):
        was, now = (its.get(name, its.get("default")) for its in (before, after))
        if was is None or now is None:
            same.setdefault("settings added" if was is None else "settings removed", []).append(name)
            continue
        for setting in sorted(HOST_SETTINGS):
            values = [_setting(getattr(it, setting)) for it in (was, now)]
            if values[0] != values[1]:
                same.setdefault(f"{setting}: {' → '.join(values)}", []).append(name)
    for change, names in same.items():
        yield f"{'hosts' if 'default' in names else first(names, _SHOWN_PORTS)}: {change}"


def _setting(value: object) -> str:
    shown = ",".join(map(str, sorted(value))) if isinstance(value, frozenset) else str(value)
    return "not stated" if value is None else _TRUTH.get(shown, shown)


def _made(name: str, before: Device, after: Device) -> Iterator[str]:
    """Groups whose rows were deleted and that the switch makes again, or the reverse: the meaning is the same."""
    its = [
        {
            (port.name, group)
            for port in device.ports.values()
            for group, bound in port.groups.items()
            if bound.made is made and bound.profile is not None
        }
        for device, made in ((before, False), (after, True), (before, True), (after, False))
    ]
    for rows, what in (
        (its[0] & its[1], "present → absent; the switch makes it again when it starts, from cable length and speed"),
        (its[2] & its[3], "absent → present; the switch made it before"),
    ):
        groups: dict[str, list[int]] = {}
        for port, group in sorted(rows):
            groups.setdefault(port, []).append(group)
        alike: dict[tuple[int, ...], list[str]] = {}
        for port, numbers in groups.items():
            alike.setdefault(tuple(numbers), []).append(port)
        for its_groups, ports in alike.items():
            yield f"{name}: {first(ports, _SHOWN_PORTS)}: BUFFER_PG of group {first(its_groups)}: {what}"


def _values(device: Device) -> dict[tuple[str, ...], tuple[str, Where]]:
    """Path in the model to the value, and the place of the construct that states it."""
    found = {
        path: (value, where or place_of(device.language, path))
        for path, value, where in _flat(device)
        if not (_told(path) or path[-1] == "stated" or (path[-1] in _KEYS and value == path[-2]))
    }
    segments = (*device.identity.vnis, *device.identity.routed_vnis)
    found |= {
        ("segments", *where, "value"): (value, where)
        for vni in segments
        for where, value in segment_lines(device.language, vni)
    }
    return found | {path: (value, ()) for path, value in _unjudged(device)}


def _told(path: tuple[str, ...]) -> bool:
    """Whether the lines that say it are told by other values, or by the list of what is not judged."""
    match path:
        case ("identity", part, *_) if part in _TOLD:
            return True
        case ("identity", "policies", "unread_lists", *_):
            return True
        case ("sessions", *_, last):
            return last in _OF_SESSIONS
    return False


_KEYS: Final = ("address", "prefix", "network", "number")
"""Fields by which rows of a list are told apart: they are the row's name already."""
_NOTHING: Final = frozenset(("", "absent"))
_TRUTH: Final = {"True": "on", "False": "off", "": "none"}


_TURNED: Final = {"True": "off", "False": "on"}


def _of(value: str, *, turned: bool = False) -> str:
    return (_TURNED if turned else _TRUTH).get(value, _TRUTH.get(value, value))


def _shown(language: Language, where: Where, rest: tuple[str, ...], port: str) -> str:
    """The switch's own name of a value, without the port's; values that no check uses are as written."""
    if rest[:1] == (_UNJUDGED,):
        return " ".join(filter(None, rest))
    if not where:
        return " ".join(filter(None, (_WORDS.get(word, word.replace("_", " ")) for word in rest)))
    text = own_words(language, where, rest)
    return text.replace(port, PORT) if port and port in where else text


def _split(path: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """The port or row of a change and what changed there, so that equal changes of many are one line."""
    if path[0] == "ports" and len(path) > 2:
        return path[1], path[2:]
    if path[0] == _UNJUDGED and len(path) == 4:  # table, key, field of a CONFIG_DB
        return path[2], (path[0], path[1], path[3])
    return "", path


def _unjudged(device: Device) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every value that no check uses, or that acts only together with others.

    A line or an empty mapping says no more than that it is there.
    """
    for item in (*device.unread, *device.unjudged):
        for path, value in item.leaves:
            yield (_UNJUDGED, *(_OWN_ASN.sub(r"\1", it) for it in path)), value[:_SHOWN_VALUE] or "present"
    for path, value in device.compared:
        yield path, value[:_SHOWN_VALUE] or "present"


def _flat(
    value: Any,  # noqa: ANN401
    path: tuple[str, ...] = (),
    where: Where = (),
) -> Iterator[tuple[tuple[str, ...], str, Where]]:
    """(path, value, place of the construct) of every value with a meaning."""
    if is_dataclass(value) and not isinstance(value, type):
        at: Where = getattr(value, "where", ()) or where
        for item in fields(value):
            if (item.name not in _ABOUT_THE_FILE and not item.name.endswith("where")) or (
                item.name == "name" and isinstance(value, Device)
            ):
                own = getattr(value, f"{_PLACES.get(item.name, item.name)}_where", ()) or at
                yield from _flat(getattr(value, item.name), (*path, item.name), own)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _flat(item, (*path, str(key)), where)
    elif isinstance(value, list) and value and all(is_dataclass(item) for item in value):
        for item in value:  # sessions by address, routes by prefix, clauses by number: not by position
            names = (str(getattr(item, name, "") or "") for name in _KEYS)
            yield from _flat(item, (*path, next(filter(None, names), "")), where)
    elif isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str) and _is_place(value[1]):
        yield (*path, "value"), value[0], value[1]  # the name of a policy, and where it is applied
    elif value is not None:
        shown = sorted(value) if isinstance(value, frozenset) else value
        yield path, ",".join(map(_word, shown)) if isinstance(shown, list | tuple) else str(shown), where


def _is_place(value: object) -> bool:
    return isinstance(value, tuple) and len(value) > 1 and all(isinstance(it, str) for it in value)


_PLACES: Final = {"cable_m": "cable", "lossless": "qos", "maps": "qos", "watched": "qos"}
"""Fields of a port whose place is in another field than its own."""


def _word(value: object) -> str:
    """A next hop is a pair of which one half may be empty."""
    return " ".join(str(part) for part in value if part) if isinstance(value, tuple) else str(value)
