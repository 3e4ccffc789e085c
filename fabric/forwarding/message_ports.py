"""The ports that the packets of messages and transfers leave by, by the routes and hashes at the end of the run.

Packets that are sprayed or moved by flowlets have no single path, and packets without a route have none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fabric.dataplane.engine.follow import End
from fabric.dataplane.state.types import NO_QP
from fabric.forwarding import walk as walks

if TYPE_CHECKING:  # annotations only: the caller has loaded the engine already
    from fabric.dataplane.engine.driver import Emulator
    from fabric.dataplane.state.types import State


def message_paths(emulator: Emulator) -> pa.Array:
    """The names of the ports that packets leave by ('device:port'), sender first; null without a single path.

    Returns: list<string> array: one entry a message, then one a transfer (null for a computation).
    """
    state, fabric = emulator.state, emulator.fabric
    # The rows behind the single messages are those of transfers, which are used again and again.
    single = slice(1, 1 + int(state.config[0]["n_messages"]))
    transfers = state.transfers["qp"][: int(state.config[0]["n_transfers"])].astype(np.int64)
    qp = np.concatenate([state.messages["qp"][single].astype(np.int64), np.where(transfers == NO_QP, 0, transfers)])
    paths = walk(state)[qp] if len(qp) else np.empty((0, 1), np.int64)
    paths[len(qp) - len(transfers) :][transfers == NO_QP] = -1
    taken = paths >= 0
    names = pa.array([fabric.port_name(port.id) for port in fabric.ports], pa.string())
    ends = np.concatenate([[0], np.cumsum(taken.sum(axis=1))]).astype(np.int32)
    no_path = np.append(~taken[:, 0], [False])
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32(), mask=no_path), names.take(pa.array(paths[taken])))


def walk(state: State) -> NDArray[np.int64]:
    """(n_qps, MAX_HOPS) egress ports of each queue pair, -1 after the last; all -1 without a single path."""
    qps = state.qps
    src, dst, words, port = (qps[name].astype(np.int64) for name in ("src", "dst", "words", "port"))
    flows = walks.Flows(src, dst, words, port, np.arange(len(qps)))
    found = walks.walk(walks.Tables.of(state), flows)
    found.egress[found.end != End.ARRIVED] = -1
    return found.egress
