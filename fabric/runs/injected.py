"""Which faults of a scenario discard frames that arrive at a port (drop reason `injected`), of truth.jsonl."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from fabric.units import PS_PER_NS, format_time_ps

_DISCARDS: Final = frozenset({"drop-every", "link-silent", "switch-crash"})
"""A switch-crash does where carrier is 'kept'; its ports keep light and forward nothing."""
_BETWEEN: Final = "--"
"""Between the two ports of a cable's name."""
_MOST: Final = 3
"""Places of a fault that are named."""


def discarding(truth: Iterable[Mapping[str, Any]], port: str, end_ns: int) -> list[Mapping[str, Any]]:
    """Records of the faults that discard frames arriving at a port ('leaf1:Ethernet0') before `end_ns`, in order of
    time.
    """
    found = [it for it in truth if it["kind"] in _DISCARDS and it["start_ns"] < end_ns and _is_at(it["objects"], port)]
    return sorted(found, key=lambda it: int(it["start_ns"]))


def words(fault: Mapping[str, Any]) -> str:
    """'link-silent of leaf1:Ethernet0--spine1:Ethernet8, from 500us to 2ms'; without an end where it lasts to that of
    the run.
    """
    objects = fault["objects"]
    every = objects.get("every") or 0
    what = f"{fault['kind']} (every {every:,} data frames)" if every > 1 else str(fault["kind"])
    until = f" to {_time(fault['end_ns'])}" if fault["repaired"] else " on"
    return f"{what} of {', '.join(_places(objects))}, from {_time(fault['start_ns'])}{until}"


def _is_at(objects: Mapping[str, Any], port: str) -> bool:
    if objects.get("carrier") not in {None, "kept"}:
        return False
    return (
        port in (objects.get("ports") or ())
        or port.partition(":")[0] in (objects.get("switches") or ())
        or any(port in link.split(_BETWEEN) for link in objects.get("links") or ())
    )


def _places(objects: Mapping[str, Any]) -> list[str]:
    found = [str(it) for name in ("links", "switches", "ports") for it in objects.get(name) or ()]
    return found if len(found) <= _MOST else [*found[:_MOST], f"{len(found) - _MOST} more"]


def _time(time_ns: int) -> str:
    return format_time_ps(int(time_ns) * PS_PER_NS)
