"""What differs between two states of a network: in meaning, not in text; and which findings are new or gone.

Key order, lists against single keys, brackets against plain names, and lines moved about are no differences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final

from fabric.configs.model import Device
from fabric.configs.network import Network
from fabric.validate.checks.base import Finding
from fabric.validate.runner import Verdict

_ABOUT_THE_FILE: Final = frozenset(("name", "file", "bgp", "locator", "defects", "unread", "place"))
"""Fields that are no meaning, or follow from others; so are all whose names end in `where`."""
_SHOWN_PORTS: Final = 6
_WORDS: Final = {"lossless": "PFC priorities", "watched": "watchdog priorities", "cable_m": "cable (m)",
                 "profiles": "buffer profile", "pools": "pool", "wreds": "marking profile", "schedulers": "scheduler",
                 "maps": "map", "entries": "", "curves": "", "groups": "priority group", "queues": "queue",
                 "ports": "port", "speed_mbps": "speed (Mb/s)", "detection_ms": "detection (ms)",
                 "restoration_ms": "restoration (ms)", "sessions": "BGP session", "routes": "static route",
                 "hops": "next hops"}
"""Names of the model to words of operators."""


def compare(old: Verdict, new: Verdict, changes: tuple[str, ...]) -> Verdict:
    """The new verdict with only what the old one has not; what it had and the new one has not is in `fixed`."""
    before: dict[tuple[str, str, str], list[Finding]] = {}
    for item in old.findings:
        before.setdefault(item.key, []).append(item)
    after = Counter(item.key for item in new.findings)

    def is_new(item: Finding) -> bool:
        """Worse than anything said of the object before; or one more than before, in words not used before."""
        known = before.get(item.key, [])
        return all(it.severity < item.severity for it in known) or (
            after[item.key] > len(known) and all(it.text != item.text for it in known))

    fresh = tuple(filter(is_new, new.findings))
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
            if (item.name not in _ABOUT_THE_FILE and not item.name.endswith("where")) or (
                    item.name == "name" and isinstance(value, Device)):
                yield from _flat(getattr(value, item.name), (*path, item.name))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _flat(item, (*path, str(key)))
    elif isinstance(value, list) and value and all(is_dataclass(item) for item in value):
        for item in value:                            # sessions by address, static routes by prefix: not by position
            yield from _flat(item, (*path, str(getattr(item, "address", "") or getattr(item, "prefix", ""))))
    elif value is not None:
        shown = sorted(value) if isinstance(value, frozenset) else value
        yield path, ",".join(map(_word, shown)) if isinstance(shown, list | tuple) else str(shown)


def _word(value: object) -> str:
    """A next hop is a pair of which one half may be empty."""
    return " ".join(str(part) for part in value if part) if isinstance(value, tuple) else str(value)
