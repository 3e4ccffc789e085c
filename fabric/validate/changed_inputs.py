"""What changed in the files of hosts and links, beside the switches' own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path as FilePath
from typing import Any, Final

from fabric.configs.hosts.capture import Nic, Said
from fabric.configs.model import Place
from fabric.configs.network import HOST_SETTINGS, Cable, Host, Network
from fabric.validate.checks.base import first

_SHOWN_HOSTS: Final = 6
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
        values = _of_host(was), _of_host(now)
        for setting in dict.fromkeys((*values[0], *values[1])):
            pair = [its.get(setting, _ABSENT) for its in values]
            if pair[0] != pair[1]:
                same.setdefault(f"{setting}: {' → '.join(pair)}", []).append(name)
    for change, names in same.items():
        yield f"{'hosts' if 'default' in names else first(names, _SHOWN_HOSTS)}: {change}"


def _of_host(host: Host) -> dict[str, str]:
    """Setting to value; of each NIC, and of what outputs of its tools say, too."""
    found = {it: _setting(getattr(host, it)) for it in sorted(HOST_SETTINGS)}
    for interface, nic in host.nics.items():
        found |= {f"{interface} {it}": value for it, value in _of_host(nic).items()}
    return found | (dict(_captured(host.captured, ())) if host.captured is not None else {})


def _setting(value: object) -> str:
    if value is None:
        return "not stated"
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, sorted(value))) if isinstance(value, frozenset) else str(value)


def _captured(value: Any, path: tuple[str, ...]) -> Iterator[tuple[str, str]]:  # noqa: ANN401
    """Words that lead to a value of an output, and the value."""
    if isinstance(value, Said):
        yield " ".join(path), str(value.value)
    elif isinstance(value, Place) or value is None or value == "":
        return
    elif is_dataclass(value):
        for item in fields(value):
            yield from _captured(getattr(value, item.name), path if isinstance(value, Nic) else (*path, item.name))
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _captured(item, (*path, str(key)))
    elif isinstance(value, tuple):
        for number, item in enumerate(value, 1):
            yield from _captured(item, (*path, str(number)))
    else:
        yield " ".join(path), _setting(value)


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
