"""What an answer tells of lost packets, for controls that cut by losses."""

from __future__ import annotations

import numpy as np

from fabric.dataplane.state.codes import PacketKind
from fabric.dataplane.state.compiled.jit import hot, i64
from fabric.dataplane.state.types import State

_NAK = int(PacketKind.NAK)
u = np.uint32


@hot
def is_reported(state: State, qp: int, packet: np.uint32) -> bool:
    """Whether an answer, already applied, is a NAK, or packets are known to be missing (selective repeat) or declared
    lost (out-of-order).
    """
    row = state.qps[u(qp)]
    if i64(state.packets[packet]["kind"]) == _NAK:
        return True
    return bool(row["recover_psn"] > row["acked_psn"]) and bool(row["resend_psn"] < row["sacked_psn"])
