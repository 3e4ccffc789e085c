"""Journal of a BGP speaker: all inputs and outputs, one JSON object per line. A replay gives the same outputs.

    {"journal": "bgp", "version": 1, "config": {...}}                                the speaker
    {"at_ns": 12000, "call": "received", "peer": "10.0.0.1", "data": "ffff..."}      an input: a method of Speaker
    {"do": "send", "peer": "10.0.0.1", "data": "ffff..."}                            its outputs, in order
    {"at_ns": 15000, "call": "tick"}

A speaker is a function of its configuration and its inputs, so a journal of a session with a real router is a test of
the speaker without a router. Outputs are compared as text, hence byte for byte.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Final, Protocol, TextIO, get_type_hints

from fabric.capture.plain import FAMILIES, from_plain, to_plain
from fabric.controlplane.bgp.actions import Action, Change, Close, Connect, RoutesChanged, Send, SessionDown, SessionUp
from fabric.controlplane.bgp.afi import address_text
from fabric.controlplane.bgp.attributes import path_text
from fabric.controlplane.bgp.config import SpeakerConfig
from fabric.controlplane.bgp.rib import Selection
from fabric.controlplane.bgp.speaker import Speaker
from fabric.controlplane.bgp.update import Memory
from fabric.errors import InputErrors, Problem

VERSION: Final = 1
MEMORY_BYTES: Final = 1 << 20
"""Bound of each cache of a speaker that shares no decoders with others."""
Json = dict[str, Any]
CALLS: Final = (
    "start",
    "stop",
    "connected",
    "received",
    "closed",
    "link_down",
    "link_up",
    "bfd_down",
    "reset",
    "tick",
    "originate",
    "withdraw",
    "graceful_shutdown",
    "set_policy",
    "request_refresh",
    "interior_routes",
)
"""Methods of Speaker that change it."""
_ACTION_NAMES: Final[Mapping[type, str]] = {
    Connect: "connect",
    Send: "send",
    Close: "close",
    SessionUp: "up",
    SessionDown: "down",
    RoutesChanged: "routes",
}


class Caller(Protocol):
    """Calls a method of one speaker."""

    def __call__(self, method: str, now_ns: int, /, **arguments: object) -> list[Action]:
        """The actions of the speaker."""


def direct(speaker: Speaker) -> Caller:
    """Calls without a journal."""

    def call(method: str, now_ns: int, /, **arguments: object) -> list[Action]:
        actions: list[Action] = getattr(speaker, method)(now_ns=now_ns, **arguments)
        return actions

    return call


def recording(speaker: Speaker, sink: TextIO) -> Caller:
    """Calls that are written to `sink` with their outputs; the head of the journal is written now."""
    sink.write(_line({"journal": "bgp", "version": VERSION, "config": to_plain(speaker.config)}))
    plain = direct(speaker)

    def call(method: str, now_ns: int, /, **arguments: object) -> list[Action]:
        sink.write(_line(_input(method, now_ns, arguments)))
        actions = plain(method, now_ns, **arguments)
        sink.writelines(_line(output(action)) for action in actions)
        return actions

    return call


def _line(entry: Json) -> str:
    return json.dumps(entry, separators=(", ", ": ")) + "\n"


def _input(method: str, now_ns: int, arguments: Mapping[str, object]) -> Json:
    if method not in CALLS:
        raise ValueError(f"{method} is not an input of a speaker")
    return {"at_ns": now_ns, "call": method, **{name: to_plain(value) for name, value in arguments.items()}}


def output(action: Action) -> Json:
    """One action in the form of the journal. Of changed routes: the best path, and the number of multipath members."""
    head: Json = {"do": _ACTION_NAMES[type(action)]}
    if isinstance(action, RoutesChanged):
        return head | {"family": action.family.name, "changes": [_change(action, it) for it in action.changes]}
    plain: Json = to_plain(action)
    return head | plain


def _change(action: RoutesChanged, change: Change) -> Json:
    routes = [action.family.text(key) for key in change.keys]
    return {"routes": routes, "was": _selected(change.old), "is": _selected(change.new)}


def _selected(selection: Selection | None) -> Json | None:
    if selection is None:
        return None
    best = selection.best
    return {
        "peer": best.source.name,
        "next_hop": address_text(best.next_hop),
        "as_path": path_text(best.attributes.as_path),
        "paths": len(selection.multipath),
    }


@dataclass(frozen=True, slots=True)
class Entry:
    """One input of a journal and its outputs."""

    line: int
    at_ns: int
    call: str
    arguments: Mapping[str, Any]
    outputs: Sequence[Json]


@dataclass(frozen=True, slots=True)
class Journal:
    """A journal that was read."""

    config: SpeakerConfig
    entries: tuple[Entry, ...]
    name: str = "journal"
    """Its file, for messages."""


@dataclass(frozen=True, slots=True)
class Difference:
    """An output that differs from the journal."""

    line: int
    """Line of the input that caused the output."""
    call: str
    recorded: Json | None
    simulated: Json | None


def read(lines: Iterable[str], name: str) -> Journal:
    """Read the lines of a journal. Raises: InputErrors that name the line, if one cannot be read."""
    config: SpeakerConfig | None = None
    entries: list[Entry] = []
    outputs: list[Json] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            if config is None:
                config = _head(entry)
            elif "call" in entry:
                call = entry["call"]
                arguments = {key: value for key, value in entry.items() if key not in {"at_ns", "call"}}
                outputs = []
                entries.append(Entry(number, int(entry["at_ns"]), call, _arguments(call, arguments), outputs))
            else:
                entry["do"]  # a KeyError if the line is neither
                outputs.append(entry)
        except Exception as error:  # a value of a wrong type can raise any error on its way to a message
            raise _unreadable(name, number, error) from error
    if config is None:
        raise InputErrors("journal", [Problem(name, "is empty", "a journal begins with its speaker's configuration")])
    return Journal(config, tuple(entries), name)


def _unreadable(name: str, line: int, error: Exception) -> InputErrors:
    return InputErrors(
        "journal",
        [
            Problem(
                f"{name}: line {line}",
                f"cannot be read: {type(error).__name__}: {str(error)[:200]}",
                "a journal is what `fabric bgp speak --journal` writes",
            )
        ],
    )


def _head(entry: Json) -> SpeakerConfig:
    if entry["journal"] != "bgp" or entry["version"] != VERSION:
        raise ValueError(f"is a journal of {entry['journal']} in version {entry['version']}, not of bgp in {VERSION}")
    config: SpeakerConfig = from_plain(SpeakerConfig, entry["config"])
    return config


def _arguments(call: str, plain: Mapping[str, Any]) -> dict[str, Any]:
    if call not in CALLS:
        raise ValueError(f"{call!r} is not an input of a speaker")
    method = getattr(Speaker, call)
    known, hints = inspect.signature(method).parameters, get_type_hints(method)
    strange = set(plain) - set(known)
    if strange:
        raise ValueError(f"{call} takes no {', '.join(sorted(strange))}")
    return {name: from_plain(hints[name], value) for name, value in plain.items()}


def replay(journal: Journal, speaker: Speaker | None = None) -> Iterator[Difference]:
    """Replay every input and yield the outputs that differ; none: equal byte for byte.

    `speaker`: for inspection afterwards; None: a new one with the journal's configuration.
    """
    try:
        call = direct(speaker if speaker is not None else speaker_of(journal.config))
    except Exception as error:  # addresses and numbers that are invalid for a speaker
        raise _unreadable(journal.name, 1, error) from error
    for entry in journal.entries:
        try:
            actions = call(entry.call, entry.at_ns, **entry.arguments)
            simulated = [json.loads(_line(output(action))) for action in actions]
        except Exception as error:  # an impossible input: a wrong type, a time that goes back
            raise _unreadable(journal.name, entry.line, error) from error
        for recorded, now in zip_longest(entry.outputs, simulated):
            if recorded != now:
                yield Difference(entry.line, entry.call, recorded, now)


def speaker_of(config: SpeakerConfig) -> Speaker:
    """A new speaker that decodes every family of its neighbours.

    Its decoder caches are small: a single router rarely sends the same bytes twice.
    """
    return Speaker(config, Memory(FAMILIES.values(), MEMORY_BYTES))
