"""Frozen dataclasses to JSON values and back, by their type hints: configurations and calls of a speaker on one line.

Bytes become hexadecimal text, address families their names, tuples lists; fields at their default are left out. The
value that is read back equals the written one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

from fabric.controlplane.bgp.afi import IPV4_UNICAST, IPV6_UNICAST, AddressFamily
from fabric.controlplane.evpn.evpn_nlri import EVPN, Payload

FAMILIES: Final[Mapping[str, AddressFamily]] = {it.name: it for it in (IPV4_UNICAST, IPV6_UNICAST, EVPN)}
"""Every supported address family, by name."""


def to_plain(value: Any) -> Any:  # noqa: ANN401  any field of a dataclass
    """A value of None, bool, int, str, bytes, family, tuple, mapping or dataclass -> input of json.dumps.

    Raises: TypeError for anything else.
    """
    if isinstance(value, AddressFamily):
        return value.name
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Payload):
        return {name: to_plain(part) for name, part in value._asdict().items() if part != Payload._field_defaults[name]}
    if is_dataclass(value):
        return {
            it.name: to_plain(getattr(value, it.name))
            for it in fields(value)
            if it.init and getattr(value, it.name) != _default(it)
        }
    if isinstance(value, Mapping):
        return {to_plain(key): to_plain(part) for key, part in value.items()}
    if isinstance(value, (tuple, list)):
        return [to_plain(part) for part in value]
    if isinstance(value, (int, str, NoneType)):
        return int(value) if isinstance(value, int) and not isinstance(value, bool) else value
    raise TypeError(f"{type(value).__name__} has no plain form")


def _default(field: Field[Any]) -> object:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return field.default


def from_plain(hint: Any, plain: Any) -> Any:  # noqa: ANN401  the hint determines the type
    """The inverse of to_plain() for a value of the hinted type. Raises: ValueError, TypeError, KeyError for others."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in {Union, UnionType}:
        [inner] = [it for it in arguments if it is not NoneType]
        return None if plain is None else from_plain(inner, plain)
    if origin is Sequence or (origin is tuple and arguments[-1] is Ellipsis):
        return tuple(from_plain(arguments[0], part) for part in plain)
    if origin is tuple:
        return tuple(from_plain(inner, part) for inner, part in zip(arguments, plain, strict=True))
    if origin is not None and issubclass(origin, Mapping):
        return {from_plain(arguments[0], key): from_plain(arguments[1], part) for key, part in plain.items()}
    if hint is Hashable:
        return None if plain is None else _payload(plain)
    if is_dataclass(hint) and hint is not AddressFamily:
        hints = get_type_hints(hint)
        return hint(**{name: from_plain(hints[name], part) for name, part in plain.items()})  # type: ignore[operator]
    read = _READERS.get(hint)
    if read is None:
        raise TypeError(f"no reader for {hint}")
    return read(plain)


def _payload(plain: Mapping[str, Any]) -> Payload:
    hints = get_type_hints(Payload)
    return Payload(**{name: from_plain(hints[name], part) for name, part in plain.items()})


def _exact(kind: type) -> Callable[[Any], Any]:
    def read(plain: Any) -> Any:  # noqa: ANN401
        if type(plain) is not kind:
            raise ValueError(f"{plain!r} is not {kind.__name__}")
        return plain

    return read


_READERS: Final[Mapping[Any, Callable[[Any], Any]]] = {
    int: _exact(int),
    str: _exact(str),
    bool: _exact(bool),
    bytes: bytes.fromhex,
    AddressFamily: FAMILIES.__getitem__,
}
