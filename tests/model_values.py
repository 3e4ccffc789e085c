"""Every value of the model of a switch by its path: two switches whose values are equal mean the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, Final

from fabric.configs.model import Device

_ABOUT_THE_FILE: Final = frozenset(
    ("name", "file", "bgp", "locator", "beside", "defects", "unread", "unjudged", "place", "no_routing",
     "unrouted_vrfs", "classes", "admin_stated", "made", "pause_bytes")
)  # fmt: skip
"""Fields that are no meaning, or follow from others; so are all whose names end in `where`."""
_KEYS: Final = ("address", "prefix", "network", "number")
"""Fields by which rows of a list are told apart."""

Path = tuple[str, ...]


def values_of(value: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:  # noqa: ANN401  any part of the model
    """(path, value) of every value with a meaning."""
    if is_dataclass(value) and not isinstance(value, type):
        for item in fields(value):
            told = item.name in _ABOUT_THE_FILE or item.name.endswith("where")
            if not told or (item.name == "name" and isinstance(value, Device)):
                yield from values_of(getattr(value, item.name), (*path, item.name))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from values_of(item, (*path, str(key)))
    elif isinstance(value, list) and value and all(is_dataclass(item) for item in value):
        for item in value:
            names = (str(getattr(item, name, "") or "") for name in _KEYS)
            yield from values_of(item, (*path, next(filter(None, names), "")))
    elif value is not None:
        shown = sorted(value) if isinstance(value, frozenset | set) else value
        yield path, ",".join(map(str, shown)) if isinstance(shown, list | tuple) else str(shown)


def listed(device: Device) -> dict[Path, str]:
    """Every value that no check uses."""
    return {path: value for item in (*device.unread, *device.unjudged) for path, value in item.leaves}
