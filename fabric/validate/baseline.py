"""What differs between two states of a network: in meaning, not in text; and which findings are new or gone.

Key order, lists against single keys, brackets against plain names, and lines moved about are no differences.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final

from fabric.configs.model import Device
from fabric.configs.network import Network
from fabric.validate.runner import Verdict

_ABOUT_THE_FILE: Final = frozenset(("where", "profile_where", "qos_where", "cable_where", "pattern_where", "name",
                                    "file",
                                    "locator", "defects", "unread", "place"))
_SHOWN_PORTS: Final = 6
_WORDS: Final = {"lossless": "PFC priorities", "watched": "watchdog priorities", "cable_m": "cable (m)",
                 "profiles": "buffer profile", "pools": "pool", "wreds": "marking profile", "schedulers": "scheduler",
                 "maps": "map", "entries": "", "curves": "", "groups": "priority group", "queues": "queue",
                 "ports": "port", "speed_mbps": "speed (Mb/s)", "detection_ms": "detection (ms)",
                 "restoration_ms": "restoration (ms)", "sessions": "BGP session", "bgp": "BGP neighbour"}
"""Names of the model to words of operators."""


def compare(old: Verdict, new: Verdict, changes: tuple[str, ...]) -> Verdict:
    """The new verdict with only what the old one has not; what it had and the new one has not is in `fixed`."""
    before = {item.key: item.severity for item in old.findings}
    after = {item.key for item in new.findings}
    fresh = tuple(item for item in new.findings if before.get(item.key, 0) < item.severity)
    return replace(new, findings=fresh, fixed=tuple(item for item in old.findings if item.key not in after),
                   known=len(new.findings) - len(fresh), changes=changes)


def changes(old: Network, new: Network) -> tuple[str, ...]:
    """One line per change of meaning; the same change on many ports of a switch is one line."""
    lines = [f"{name}: {'added' if name in new.devices else 'removed'}"
             for name in sorted(old.devices.keys() ^ new.devices.keys())]
    for name in sorted(old.devices.keys() & new.devices.keys()):
        before, after = dict(_flat(old.devices[name])), dict(_flat(new.devices[name]))
        same: dict[tuple[str, str], list[str]] = {}
        for path in sorted(before.keys() | after.keys()):
            was, now = before.get(path, "absent"), after.get(path, "absent")
            if was != now:
                inside = path[0] == "ports" and len(path) > 2
                port, rest = (path[1], path[2:]) if inside else ("", path)
                shown = " ".join(filter(None, (_WORDS.get(word, word.replace("_bytes", " (bytes)")) for word in rest)))
                same.setdefault((shown, f"{was or 'none'} → {now or 'none'}"), []).append(port)
        for (what, change), ports in same.items():
            shown = ", ".join(ports[:_SHOWN_PORTS]) + (f" and {len(ports) - _SHOWN_PORTS} more"
                                                       if len(ports) > _SHOWN_PORTS else "")
            lines.append(f"{name}: {shown + ': ' if ports[0] else ''}{what}: {change}")
    ends = [{tuple(sorted((cable.a, cable.b))) for cable in network.links} for network in (old, new)]
    for pair in sorted(ends[0] ^ ends[1]):
        shown = " – ".join(":".join(end) for end in pair)
        lines.append(f"link {shown}: {'added' if pair in ends[1] else 'removed'}")
    return tuple(lines)


def _flat(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:  # noqa: ANN401
    if is_dataclass(value) and not isinstance(value, type):
        for item in fields(value):
            if item.name not in _ABOUT_THE_FILE or (item.name == "name" and isinstance(value, Device)):
                yield from _flat(getattr(value, item.name), (*path, item.name))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _flat(item, (*path, str(key)))
    elif value is not None:
        shown = sorted(value) if isinstance(value, frozenset) else value
        yield path, ",".join(map(str, shown)) if isinstance(shown, list | tuple) else str(shown)
