"""Messages of the Chakra execution trace schema, from their field numbers (mlcommons/chakra, et_def.proto).

The classes are made at run time by the protobuf library from the tables here: no generated code. Only fields that have
a meaning for a reader of schedules or that a writer must fill are listed; the library keeps others unread.
"""

from __future__ import annotations

from enum import IntEnum
from functools import cache
from typing import Any, Final, NamedTuple

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_PACKAGE: Final = "chakra"
_KINDS: Final = (
    "double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64", "sfixed32",
    "sfixed64", "bool", "string", "bytes",
)  # fmt: skip
"""Values of an attribute in the order of their numbers: 3, 5, 7 ...; the number after each is the list of it."""
_NAMED: Final = {
    "GlobalMetadata": ((1, "version", "string"), (2, "attr", "AttributeProto*")),
    "IOInfo": ((1, "values", "string"), (2, "shapes", "string"), (3, "types", "string")),
    "Node": (
        (1, "id", "uint64"),
        (2, "name", "string"),
        (3, "type", "int32"),  # an enum in the schema; on the wire the same, and unknown numbers must be reported
        (4, "ctrl_deps", "uint64*"),
        (5, "data_deps", "uint64*"),
        (6, "start_time_micros", "uint64"),
        (7, "duration_micros", "uint64"),
        (8, "inputs", "IOInfo"),
        (9, "outputs", "IOInfo"),
        (10, "attr", "AttributeProto*"),
    ),
}
_INTEGERS: Final = frozenset(f"{kind}_val" for kind in _KINDS if "int" in kind or "fixed" in kind)


class NodeType(IntEnum):
    """Types of nodes."""

    INVALID = 0
    METADATA = 1
    MEM_LOAD = 2
    MEM_STORE = 3
    COMP = 4
    COMM_SEND = 5
    COMM_RECV = 6
    COMM_COLL = 7


class CollectiveType(IntEnum):
    """Values of the attribute comm_type."""

    ALL_REDUCE = 0
    REDUCE = 1
    ALL_GATHER = 2
    GATHER = 3
    SCATTER = 4
    BROADCAST = 5
    ALL_TO_ALL = 6
    REDUCE_SCATTER = 7
    REDUCE_SCATTER_BLOCK = 8
    BARRIER = 9


class Messages(NamedTuple):
    """Classes of the protobuf library."""

    metadata: Any
    node: Any


@cache
def messages() -> Messages:
    """The message classes, in a separate pool, so that another schema of the same process cannot collide."""
    file = descriptor_pb2.FileDescriptorProto(name="chakra.proto", package=_PACKAGE, syntax="proto3")
    _attribute(file)
    for name, fields in _NAMED.items():
        message = file.message_type.add(name=name)
        for number, field, kind in fields:
            _field(message, number, field, kind)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)

    def made(name: str) -> Any:  # noqa: ANN401  a class made at run time
        return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}"))

    return Messages(made("GlobalMetadata"), made("Node"))


def _attribute(file: Any) -> None:  # noqa: ANN401  a protobuf message
    attribute = file.message_type.add(name="AttributeProto")
    _field(attribute, 1, "name", "string")
    _field(attribute, 2, "doc_string", "string")
    attribute.oneof_decl.add(name="value")
    for place, kind in enumerate(_KINDS):
        several = file.message_type.add(name=f"{kind.capitalize()}List")
        _field(several, 1, "values", f"{kind}*")
        for number, field, of in (
            (3 + 2 * place, f"{kind}_val", kind),
            (4 + 2 * place, f"{kind}_list", f"{kind.capitalize()}List"),
        ):
            _field(attribute, number, field, of).oneof_index = 0


def _field(message: Any, number: int, name: str, kind: str) -> Any:  # noqa: ANN401  protobuf messages
    proto = descriptor_pb2.FieldDescriptorProto
    plain = kind.rstrip("*")
    field = message.field.add(
        name=name, number=number, label=proto.LABEL_REPEATED if kind.endswith("*") else proto.LABEL_OPTIONAL
    )
    if plain in _KINDS:
        field.type = getattr(proto, f"TYPE_{plain.upper()}")
    else:
        field.type, field.type_name = proto.TYPE_MESSAGE, f".{_PACKAGE}.{plain}"
    return field


def attributes(message: Any) -> dict[str, Any]:  # noqa: ANN401  a protobuf message
    """Name -> plain value: an integer for any integer kind, since writers differ; lists and bytes are left out."""
    values: dict[str, Any] = {}
    for attribute in message.attr:
        which = attribute.WhichOneof("value")
        if which in _INTEGERS or which in {"bool_val", "string_val", "double_val", "float_val"}:
            values[attribute.name] = getattr(attribute, which)
    return values
