"""A checkpoint: every array of State in one NumPy archive, plus a few facts as JSON. No pickles are read or written."""

from __future__ import annotations

import json
import os
import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.engine.issued import ISSUED_MESSAGE
from fabric.dataplane.state.codes import LINE, Shared
from fabric.dataplane.state.compiled.jit import source_digest
from fabric.dataplane.state.types import TRACE, State, rows
from fabric.errors import FabricError

_REMEDY = "start again with --force instead of --resume"
_FACTS, _EVENTS, _MESSAGES = "facts", "events", "drainable_messages"
_NOT_KEPT = ("trace", "inbox", "inbox_count")
"""Between windows inboxes are empty, and the rows of the trace are `events`."""


def write(path: Path, state: State, facts: dict[str, Any], events: NDArray[Any], messages: NDArray[Any]) -> None:
    """Write atomically: a reader sees the old checkpoint or the new one, never half of one."""
    temporary = path.with_name(path.name + ".tmp")
    text = json.dumps({**facts, "kernels": source_digest()})
    arrays: dict[str, Any] = {
        name: array.view(np.uint8) if array.dtype.names else array for name, array in state._asdict().items()
    }
    # Packet rows without an owner are not stored.
    used = int(state.shared[Shared.SPARE_PACKET * LINE])
    arrays["packets"] = state.packets[:used].view(np.uint8)
    for name in _NOT_KEPT:
        del arrays[name]
    arrays |= {_FACTS: np.frombuffer(text.encode(), np.uint8), _EVENTS: events.view(np.uint8)}
    arrays[_MESSAGES] = messages.view(np.uint8)
    with temporary.open("wb") as file:
        np.savez(file, **arrays)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def _aligned(array: NDArray[Any]) -> NDArray[Any]:
    copy = rows(len(array), array.dtype)
    copy[:] = array
    return copy


def read(path: Path, like: State) -> tuple[State, dict[str, Any], NDArray[Any], NDArray[Any]]:
    """Read a checkpoint of a run whose freshly built State is `like`.

    Raises: FabricError if the file is damaged, or written with other kernels, or belongs to another scenario.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        facts = json.loads(arrays.pop(_FACTS).tobytes().decode())
        if facts["kernels"] != source_digest():  # before its rows are read with this layout
            raise FabricError(f"{path} was written by another version", _REMEDY)
        events = arrays.pop(_EVENTS).view(like.trace.dtype)
        messages = arrays.pop(_MESSAGES).view(ISSUED_MESSAGE)
        tables = {
            name: _aligned(arrays[name].view(getattr(like, name).dtype))
            for name in State._fields
            if name not in _NOT_KEPT
        }
        trace = rows(len(tables["threads"]) * int(tables["config"][0]["trace_rows"]), TRACE)
        state = State(trace=trace, inbox=like.inbox, inbox_count=like.inbox_count, **tables)
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile, zlib.error, tokenize.TokenError) as error:
        raise FabricError(f"{path} is not a readable checkpoint: {error}", _REMEDY) from error
    alike = ["devices", "ports", "qps", "transfers", "needs", "fib", "segments", "asks"]
    if not like.config[0]["n_transfers"]:  # otherwise the table may have grown
        alike.append("messages")
    for name in alike:
        if getattr(state, name).shape != getattr(like, name).shape:
            raise FabricError(f"{path} belongs to another scenario ({name} differ in number)", _REMEDY)
    return state, facts, events, messages
