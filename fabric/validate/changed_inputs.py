"""What changed in the files of hosts and links, beside the switches' own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path as FilePath
from typing import Final

from fabric.configs.network import HOST_SETTINGS, Cable, Network
from fabric.configs.text.secrets import NOT_SHOWN, is_secret
from fabric.validate.checks.base import first

_SHOWN_HOSTS: Final = 6
_SYSFS: Final = re.compile(r"(/sys/\S*):([^:]*)")
_NAMED: Final = re.compile(r"([^:=]+)[:=](.*)")
_FIRST: Final = re.compile(r"(\S+)(.*)")
_PRESENT: Final = "present"
_ABSENT: Final = "absent"


def changed_hosts(old: Network, new: Network) -> Iterator[str]:
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
        outputs = old.host_outputs.get(name), new.host_outputs.get(name)
        if outputs[0] is not None and outputs[1] is not None:
            for line in _of_outputs(outputs[0], outputs[1]):
                same.setdefault(line, []).append(name)
            continue
        for setting in sorted(HOST_SETTINGS):
            pair = [_setting(getattr(it, setting)) for it in (was, now)]
            if pair[0] != pair[1]:
                same.setdefault(f"{setting}: {' → '.join(pair)}", []).append(name)
    for change, names in same.items():
        yield f"{'hosts' if 'default' in names else first(names, _SHOWN_HOSTS)}: {change}"


def _setting(value: object) -> str:
    if value is None:
        return "not stated"
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, sorted(value))) if isinstance(value, frozenset) else str(value)


def _of_outputs(old: Sequence[tuple[str, str]], new: Sequence[tuple[str, str]]) -> Iterator[str]:
    """What differs between the outputs of a host's tools. Lines of one name are compared in their order."""
    before, after = _by_name(old), _by_name(new)
    for at in dict.fromkeys((*before, *after)):
        was, now = before.get(at, []), after.get(at, [])
        left = [it for it in was if it not in now], [it for it in now if it not in was]
        for pair in zip_longest(*left, fillvalue=_ABSENT):
            shown = ("changed", NOT_SHOWN) if is_secret(at[1]) else (pair[0], "→", pair[1])
            yield f"{' '.join(at)}: {' '.join(shown)}"


def _by_name(lines: Sequence[tuple[str, str]]) -> dict[tuple[str, str], list[str]]:
    """(command, what a line is about) to the values; the path of a file of sysfs may have colons."""
    found: dict[tuple[str, str], list[str]] = {}
    for command, line in lines:
        path = _SYSFS.fullmatch(line)
        name, value = (path[1], path[2]) if path else _named(line)
        found.setdefault((command, name.strip()), []).append(value.strip() or _PRESENT)
    return found


def _named(line: str) -> tuple[str, str]:
    match = _NAMED.match(line) or _FIRST.match(line)
    return (match[1], match[2]) if match else (line, "")


def changed_links(old: Network, new: Network) -> Iterator[str]:
    """Links that came or went, their lengths, and what else the file of links has."""
    before, after = ({tuple(sorted((it.a, it.b))): it for it in its.links} for its in (old, new))
    for pair in sorted(before.keys() | after.keys()):
        was, now = before.get(pair), after.get(pair)
        shown = " – ".join(":".join(end) for end in pair)
        if was is None or now is None:
            yield f"link {shown}: {'added' if was is None else 'removed'}"
        elif was.length_m != now.length_m:
            yield f"link {shown}: length_m: {_length(was)} → {_length(now)}"


def changed_others(old: Network, new: Network) -> Iterator[str]:
    """Values of the files of links and hosts that no check uses."""
    values = [
        {(FilePath(it.place.file).name, *path): value for it in its.unjudged for path, value in it.leaves}
        for its in (old, new)
    ]
    for path in dict.fromkeys((*values[0], *values[1])):
        was, now = (its.get(path, _ABSENT) for its in values)
        if was != now:
            yield f"{path[0]}: {' '.join(path[1:])}: {was or _PRESENT} → {now or _PRESENT} (not judged)"


def _length(cable: Cable) -> str:
    return _ABSENT if cable.length_m is None else str(cable.length_m)
