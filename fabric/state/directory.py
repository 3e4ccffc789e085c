"""State as kernels see it: one pointer to a directory of table addresses.

A tuple of forty arrays is three hundred machine words, copied at every call and unpacked in every function: two
minutes of compilation, and calls too dear to make. Kernels therefore receive the address of a directory, an int64
array with (address, length) per table in the order of State's fields, and `state.ports` compiles to two loads marked
invariant, since no table moves while a kernel runs. The spelling is the tuple's, so the same text runs as plain Python
with the real State (docs/decisions/0003).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import from_dtype, types
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, intrinsic, lower_getattr_generic, models, register_model
from numba.np.arrayobj import populate_array
from numpy.typing import NDArray

from fabric.state import types as t

DTYPES: dict[str, np.dtype[Any]] = {
    "config": t.CONFIG, "devices": t.DEVICE, "ports": t.PORT, "queues": t.QUEUE, "pgs": t.PG, "prios": t.PRIO, "pools": t.POOL,
    "packets": t.PACKET, "drops": t.DROP, "switches": t.SWITCH, "hosts": t.HOST, "qps": t.QP, "rqps": t.RQP,
    "messages": t.MESSAGE, "rmessages": t.RMESSAGE, "dependents": t.DEPENDENT, "starts": t.HEAP, "waits": t.HEAP,
    "groups": t.GROUP, "members": t.MEMBER, "random": t.RANDOM, "flowlets": t.FLOWLET, "trace": t.TRACE, "threads": t.THREAD,
    "qp_list": np.dtype(np.uint32), "fib": np.dtype(np.uint32), "outbox": np.dtype(np.uint32), "roster": np.dtype(np.uint32),
    "leaf_device": np.dtype(np.uint32), "bitmap": np.dtype(np.uint8),
}
"""Element type of every table; those not named are int64."""

FIELDS: tuple[str, ...] = t.State._fields


def dtype_of(field: str) -> np.dtype[Any]:
    """Element type of a table of State."""
    return DTYPES.get(field, np.dtype(np.int64))


def directory(state: t.State) -> NDArray[np.int64]:
    """(2 * n_tables,) addresses and lengths. Valid while `state` lives; checks dtypes and contiguity."""
    entries = np.empty(2 * len(FIELDS), np.int64)
    for index, (field, array) in enumerate(zip(FIELDS, state, strict=True)):
        if array.dtype != dtype_of(field) or not array.flags.c_contiguous or array.ndim != 1:
            raise TypeError(f"State.{field} has dtype {array.dtype}, {array.ndim} dimensions; the kernels expect {dtype_of(field)}, 1")
        entries[2 * index], entries[2 * index + 1] = array.ctypes.data, array.size
    return entries


class StateType(types.Type):  # type: ignore[misc]
    """Numba type of the directory pointer."""

    def __init__(self) -> None:
        super().__init__(name="FabricState")


STATE = StateType()
HEAP = types.Array(from_dtype(t.HEAP), 1, "C")
"""Numba type of a table of HEAP rows, which heap functions take."""
_ARRAYS = {field: types.Array(from_dtype(dtype_of(field)), 1, "C") for field in FIELDS}


@register_model(StateType)
class _StateModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, fe_type: Any) -> None:
        super().__init__(manager, fe_type, cgutils.voidptr_t)


@infer_getattr
class _StateAttributes(AttributeTemplate):  # type: ignore[misc]
    key = StateType

    def generic_resolve(self, typ: Any, attr: str) -> Any:
        return _ARRAYS.get(attr)


@lower_getattr_generic(StateType)
def _table(context: Any, builder: Any, typ: Any, value: Any, attr: str) -> Any:
    word = ir.IntType(64)
    base = builder.bitcast(value, word.as_pointer())
    invariant = builder.module.add_metadata([])

    def load(position: int) -> Any:
        loaded = builder.load(builder.gep(base, [ir.Constant(word, position)]))
        loaded.set_metadata("invariant.load", invariant)
        return loaded

    index, kind = FIELDS.index(attr), _ARRAYS[attr]
    array = context.make_array(kind)(context, builder)
    itemsize = context.get_constant(types.intp, dtype_of(attr).itemsize)
    populate_array(array, data=builder.inttoptr(load(2 * index), array.data.type), shape=[load(2 * index + 1)],
                   strides=[itemsize], itemsize=itemsize, meminfo=None)
    return array._getvalue()


@intrinsic
def as_state(typingctx: Any, address: Any) -> Any:
    """Take an int64 address of a directory for the State that it lists."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], cgutils.voidptr_t)

    return STATE(types.int64), codegen

