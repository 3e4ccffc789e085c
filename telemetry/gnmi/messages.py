"""Items as gnmi.proto has them: paths, typed values, notifications. pygnmi carries the generated messages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from typing import Any, Final

from pygnmi.spec.v080 import gnmi_pb2 as pb

from telemetry.gnmi import openconfig
from telemetry.gnmi.leaf import Elem, Form
from telemetry.gnmi.query import Item, Query, json_value
from telemetry.gnmi.refusal import Code, Refusal

VERSION: Final = "0.8.0"
"""Of gnmi.proto, as pygnmi carries it."""
ENCODINGS: Final = ("JSON", "JSON_IETF", "PROTO")
AT_ONCE: Final = 500
"""Updates in one notification of a subscription: a few ten kilobytes, far below gRPC's limit of 4 MiB a message."""


def encoding_name(number: int) -> str:
    """Name of a requested encoding. Raises: Refusal (section 3.3.1)."""
    try:
        name = str(pb.Encoding.Name(number))
    except ValueError:
        name = str(number)
    if name not in ENCODINGS:
        raise Refusal(Code.UNIMPLEMENTED, f"encoding {name} is not served; served are {', '.join(ENCODINGS)}")
    return name


def check_models(asked: Iterable[Any]) -> None:
    """use_models must name served models (section 2.6). Raises: Refusal."""
    for model in asked:
        if model.name not in openconfig.MODELS:
            names = ", ".join(openconfig.MODELS)
            raise Refusal(Code.INVALID_ARGUMENT, f"model {model.name[:80]!r} is not served; served are {names}")


def capabilities() -> Any:  # noqa: ANN401  generated messages have no types
    """The answer to Capabilities (section 3.2.2)."""
    return pb.CapabilityResponse(
        supported_models=[
            pb.ModelData(name=name, organization="OpenConfig working group", version=version)
            for name, version in openconfig.MODELS.items()
        ],
        supported_encodings=[pb.Encoding.Value(name) for name in ENCODINGS],
        gNMI_version=VERSION,
    )


def notifications(items: Iterable[Item], query: Query, time_ns: int, encoding: str) -> Iterator[Any]:
    """Notifications with these items: one device each, AT_ONCE updates at most (section 2.1)."""
    for device, of_device in groupby(items, lambda item: item.device):
        while updates := [_update(item, query, encoding) for item in islice(of_device, AT_ONCE)]:
            yield notification(query, device, time_ns, updates)


def whole(items: Iterable[Item], query: Query, time_ns: int, encoding: str) -> list[Any]:
    """One notification for each device, with all items (section 3.3.2)."""
    return [
        notification(query, device, time_ns, [_update(item, query, encoding) for item in of_device])
        for device, of_device in groupby(items, lambda item: item.device)
    ]


def notification(query: Query, device: str, time_ns: int, updates: Iterable[Any]) -> Any:  # noqa: ANN401
    """One notification; its prefix repeats the request's target and origin."""
    return pb.Notification(
        timestamp=time_ns, prefix=pb.Path(target=query.target_of(device), origin=query.origin), update=updates
    )


def _update(item: Item, query: Query, encoding: str) -> Any:  # noqa: ANN401
    path = query.paths.get(item.key)
    if path is None:
        path = query.paths[item.key] = path_of(item.elems)
    return pb.Update(path=path, val=_value(item, encoding))


def path_of(elems: Iterable[Elem]) -> Any:  # noqa: ANN401
    """A path without prefix."""
    return pb.Path(elem=[pb.PathElem(name=name, key=dict(keys)) for name, keys in elems])


def _value(item: Item, encoding: str) -> Any:  # noqa: ANN401
    """A value in the requested encoding (section 2.3); one field of a database is a string, as SONiC sends it."""
    if item.leaf is None and isinstance(item.value, str):
        return pb.TypedValue(string_val=item.value)
    if encoding == "PROTO":
        if item.leaf is None:
            raise Refusal(Code.UNIMPLEMENTED, "a table of a database has no encoding PROTO; ask for JSON_IETF")
        if item.leaf.form in {Form.UINT64, Form.UINT32}:
            return pb.TypedValue(uint_val=item.value)
        return pb.TypedValue(string_val=json_value(item, ietf=False))
    ietf = encoding == "JSON_IETF"
    text = json.dumps(json_value(item, ietf=ietf)).encode()
    return pb.TypedValue(json_ietf_val=text) if ietf else pb.TypedValue(json_val=text)
