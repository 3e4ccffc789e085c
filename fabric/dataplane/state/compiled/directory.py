"""State as kernels see it: one pointer to a directory of table addresses.

A tuple of forty arrays is three hundred machine words, copied at every call and unpacked in every function: two
minutes of compilation, and expensive calls. Kernels therefore receive the address of a directory, an int64
array with (address, length) per table in the order of State's fields, and `state.ports` compiles to a load marked
invariant, since no table moves while a kernel runs. A table compiles to its address: `state.ports[p]["busy_until_ps"]`
is one multiplication and one load, without the negative-index wrap of NumPy arrays (a negative index is a defect here).
With NUMBA_BOUNDSCHECK=1 every index is compared with the table's length, and one outside is an IndexError. The spelling
is NumPy's, so the same text runs as plain Python with the real State (docs/decisions/0003).
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from llvmlite import ir
from numba import from_dtype, types
from numba.core import cgutils
from numba.core.imputils import impl_ret_untracked
from numba.core.typing import signature
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_global
from numba.extending import infer_getattr, intrinsic, lower_builtin, lower_getattr_generic, models, register_model
from numpy.typing import NDArray

from fabric.dataplane.state import control_tables as ct
from fabric.dataplane.state import datagram_tables as dt
from fabric.dataplane.state import shaper_tables as st
from fabric.dataplane.state import transfer_tables as tt
from fabric.dataplane.state import types as t
from fabric.dataplane.state.config_table import CONFIG

DTYPES: dict[str, np.dtype[Any]] = {
    "config": CONFIG,
    "devices": t.DEVICE,
    "ports": t.PORT,
    "queues": t.QUEUE,
    "pgs": t.PG,
    "prios": t.PRIO,
    "pools": t.POOL,
    "packets": t.PACKET,
    "drops": t.DROP,
    "switches": t.SWITCH,
    "hosts": t.HOST,
    "addresses": t.ADDRESS,
    "qps": t.QP,
    "rqps": t.RQP,
    "messages": t.MESSAGE,
    "rmessages": t.RMESSAGE,
    "dependents": t.DEPENDENT,
    "starts": t.HEAP,
    "waits": t.HEAP,
    "transfers": tt.TRANSFER,
    "rtransfers": tt.RTRANSFER,
    "needs": tt.NEED,
    "wakes": np.dtype(np.uint32),
    "agendas": tt.AGENDA,
    "turns": t.HEAP,
    "issued": tt.ISSUED,
    "ahead": np.dtype(np.uint32),
    "nics": t.NIC,
    "pairs": t.PAIR,
    "slots": np.dtype(np.uint32),
    "checks": t.HEAP,
    "ancestry": t.ANCESTRY,
    "groups": t.GROUP,
    "members": t.MEMBER,
    "random": t.RANDOM,
    "flowlets": t.FLOWLET,
    "notices": t.NOTICE,
    "noticed": t.NOTICED,
    "route_sets": t.ROUTE_SET,
    "routes": t.ROUTE,
    "route_ports": np.dtype(np.uint32),
    "route_set_of": np.dtype(np.uint32),
    "route_turns": np.dtype(np.uint32),
    "nic_ports": t.NIC_PORTS,
    "losses": t.LOSS,
    "shares": t.SHARE,
    "shapers": st.SHAPER,
    "storms": t.STORM,
    "trace": t.TRACE,
    "threads": t.THREAD,
    "tasks": t.TASK,
    "lists": t.LIST,
    "qp_list": np.dtype(np.uint32),
    "laws": np.dtype(np.uint8),
    "fib": np.dtype(np.uint32),
    "wires": t.WIRE,
    "inbox": t.SENT,
    "assigned": np.dtype(np.uint32),
    "segments": t.SEGMENT,
    "dscp_maps": np.dtype(np.uint8),
    "asks": t.ASK,
    "streams": dt.STREAM,
    "rstreams": dt.RSTREAM,
    "sources": dt.SOURCE,
    "stream_turns": t.HEAP,
    "datagram_drops": t.DROP,
    "vteps": np.dtype(np.uint32),
    "known": np.dtype(np.uint8),
    "domains": np.dtype(np.uint32),
    "tenant_fib": np.dtype(np.uint32),
    "ways": np.dtype(np.uint32),
    "vtep_fib": np.dtype(np.uint32),
    "roster": np.dtype(np.uint32),
    "leaf_device": np.dtype(np.uint32),
    "bitmap": np.dtype(np.uint8),
    "cells": np.dtype(np.uint16),
    "boards": t.BOARD,
    "placements": t.PLACEMENT,
    "placed": np.dtype(np.uint32),
    "dctcp": t.DCTCP,
    "dctcp_receivers": t.DCTCP_RECEIVER,
    "timely": ct.TIMELY,
    "hpcc": ct.HPCC,
    "hpcc_hops": ct.HPCC_HOP,
    "swift": ct.SWIFT,
    "cubic": ct.CUBIC,
    "departures": ct.DEPARTURE,
    "loads": np.dtype(np.int64),
    "load_terms": ct.PINT_PORT,
    "logs": np.dtype(np.int32),
    "powers": np.dtype(np.float64),
    "pint_codes": ct.PINT_CODE,
    "draws": t.RANDOM,
}
"""Element type of every table; int64 if not named."""

FIELDS: tuple[str, ...] = t.State._fields


def dtype_of(field: str) -> np.dtype[Any]:
    """Element type of a table of State."""
    return DTYPES.get(field, np.dtype(np.int64))


def directory(state: t.State) -> NDArray[np.int64]:
    """(2 * n_tables,) addresses and lengths. Valid while `state` lives; checks dtypes and contiguity."""
    entries = np.empty(2 * len(FIELDS), np.int64)
    for index, field in enumerate(FIELDS):
        array: NDArray[Any] = getattr(state, field)
        if array.dtype != dtype_of(field) or not array.flags.c_contiguous or array.ndim != 1:
            raise TypeError(
                f"State.{field} has dtype {array.dtype} in {array.ndim} dimensions; the kernels expect "
                f"{dtype_of(field)} in 1"
            )
        entries[2 * index], entries[2 * index + 1] = array.ctypes.data, array.size
    return entries


class StateType(types.Type):  # type: ignore[misc]
    """Numba type of the directory pointer."""

    def __init__(self) -> None:
        super().__init__(name="FabricState")


class TableType(types.Type):  # type: ignore[misc]
    """Numba type of one table: rows of a record, or numbers. Its value is the address of the directory entry's data."""

    def __init__(self, element: Any) -> None:
        self.element = element
        super().__init__(name=f"FabricTable({element})")


STATE = StateType()
_TABLES = {field: TableType(from_dtype(dtype_of(field))) for field in FIELDS}
HEAP = _TABLES["starts"]
"""Numba type of a table of HEAP rows, which heap functions take."""


@register_model(StateType)
class _StateModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, fe_type: Any) -> None:
        super().__init__(manager, fe_type, cgutils.voidptr_t)


@register_model(TableType)
class _TableModel(models.StructModel):  # type: ignore[misc]
    def __init__(self, manager: Any, fe_type: Any) -> None:
        super().__init__(manager, fe_type, [("data", types.voidptr), ("length", types.intp)])


@infer_getattr
class _StateAttributes(AttributeTemplate):  # type: ignore[misc]
    key = StateType

    def generic_resolve(self, typ: Any, attr: str) -> Any:
        return _TABLES.get(attr)


@infer_getattr
class _TableAttributes(AttributeTemplate):  # type: ignore[misc]
    key = TableType

    def generic_resolve(self, typ: Any, attr: str) -> Any:
        return types.UniTuple(types.intp, 1) if attr == "shape" else None


@lower_getattr_generic(StateType)
def _table(context: Any, builder: Any, typ: Any, value: Any, attr: str) -> Any:
    word = ir.IntType(64)
    base = builder.bitcast(value, word.as_pointer())
    invariant = builder.module.add_metadata([])

    def load(position: int) -> Any:
        loaded = builder.load(builder.gep(base, [ir.Constant(word, position)]))
        loaded.set_metadata("invariant.load", invariant)
        return loaded

    index = FIELDS.index(attr)
    table = cgutils.create_struct_proxy(_TABLES[attr])(context, builder)
    table.data = builder.inttoptr(load(2 * index), cgutils.voidptr_t)
    table.length = load(2 * index + 1)
    return table._getvalue()


@lower_getattr_generic(TableType)
def _table_shape(context: Any, builder: Any, typ: Any, value: Any, attr: str) -> Any:
    table = cgutils.create_struct_proxy(typ)(context, builder, value)
    return context.make_tuple(builder, types.UniTuple(types.intp, 1), [table.length])


@infer_global(operator.getitem)
class _GetItem(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args: Any, kws: Any) -> Any:
        table, index = args
        if isinstance(table, TableType) and isinstance(index, types.Integer):
            return signature(table.element, table, index)
        return None


@infer_global(operator.setitem)
class _SetItem(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args: Any, kws: Any) -> Any:
        table, index, _ = args
        if (
            isinstance(table, TableType)
            and isinstance(index, types.Integer)
            and isinstance(table.element, types.Number)
        ):
            return signature(types.none, table, index, table.element)
        return None


def element_pointer(context: Any, builder: Any, kind: Any, table: Any, index_type: Any, index: Any) -> Any:
    """LLVM pointer to an element of a table; checked under NUMBA_BOUNDSCHECK=1."""
    value = cgutils.create_struct_proxy(kind)(context, builder, table)
    place = context.cast(builder, index, index_type, types.intp)
    if context.enable_boundscheck:
        # Unsigned, so that a negative index is outside, too.
        with cgutils.if_unlikely(builder, builder.icmp_unsigned(">=", place, value.length)):
            context.call_conv.return_user_exc(builder, IndexError, ("index outside a table of State",))
    return _place_pointer(context, builder, kind, value, place)


def unchecked_pointer(context: Any, builder: Any, kind: Any, table: Any, index_type: Any, index: Any) -> Any:
    """LLVM pointer for a hint to the processor, which may lie outside the table."""
    value = cgutils.create_struct_proxy(kind)(context, builder, table)
    return _place_pointer(context, builder, kind, value, context.cast(builder, index, index_type, types.intp))


def _place_pointer(context: Any, builder: Any, kind: Any, value: Any, place: Any) -> Any:
    if isinstance(kind.element, types.Record):
        offset = builder.mul(place, context.get_constant(types.intp, kind.element.size))
        return builder.gep(value.data, [offset])
    pointer = builder.bitcast(value.data, context.get_data_type(kind.element).as_pointer())
    return builder.gep(pointer, [place])


@lower_builtin(operator.getitem, TableType, types.Integer)
def _getitem(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    kind, index_type = sig.args
    pointer = element_pointer(context, builder, kind, args[0], index_type, args[1])
    if isinstance(kind.element, types.Record):
        result = builder.bitcast(pointer, context.get_value_type(kind.element))
    else:
        result = context.unpack_value(builder, kind.element, pointer)
    return impl_ret_untracked(context, builder, sig.return_type, result)


@lower_builtin(operator.setitem, TableType, types.Integer, types.Any)
def _setitem(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    kind, index_type, value_type = sig.args
    pointer = element_pointer(context, builder, kind, args[0], index_type, args[1])
    context.pack_value(builder, kind.element, context.cast(builder, args[2], value_type, kind.element), pointer)
    return context.get_dummy_value()


@intrinsic
def as_state(typingctx: Any, address: Any) -> Any:
    """Treat an int64 address of a directory as the State that it lists."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], cgutils.voidptr_t)

    return STATE(types.int64), codegen
