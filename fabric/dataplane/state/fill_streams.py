"""Initial values of datagram streams, with the first datagram of every host scheduled."""

from __future__ import annotations

import numpy as np

from fabric.dataplane.state import types as t
from fabric.dataplane.state.codes import N_DSCPS, Aux, Ecn
from fabric.dataplane.state.fill_switches import schedule_from_outside
from fabric.dataplane.state.params import EngineParams
from fabric.units import PS_PER_S


def fill_streams(state: t.State, params: EngineParams) -> None:
    """Write every stream, in the order of params.streams, which are sorted by source."""
    given = params.streams
    if given is None or not len(given):
        return
    rows = state.streams
    rows["src"], rows["dst"], rows["port"], rows["dscp"] = given.src, given.dst, given.port, given.dscp
    rows["words"] = (given.src_udp_port & 0xFFFF) | (given.dst_udp_port & 0xFFFF) << 16
    rows["size"], rows["left"], rows["rate_bps"] = given.frame_bytes, given.count, given.rate_bps
    rows["ecn"] = np.where(given.ect, int(Ecn.ECT0), int(Ecn.NOT_ECT))
    rows["tc"] = state.dscp_maps[state.ports["dscp_map"][given.port].astype(np.int64) * N_DSCPS + given.dscp]
    bits_ps = (given.frame_bytes + params.frames.wire_overhead_bytes) * 8 * PS_PER_S
    rows["interval_ps"], rows["rest"] = bits_ps // given.rate_bps, bits_ps % given.rate_bps
    state.rstreams["first_ps"] = state.rstreams["last_ps"] = -1
    order = np.lexsort((np.arange(len(given)), given.start_ps, given.src))  # each host's region is a heap
    state.stream_turns["time_ps"] = given.start_ps[order]
    state.stream_turns["item"] = state.stream_turns["order"] = order
    counts = np.bincount(given.src, minlength=len(state.hosts))
    state.sources["first"], state.sources["n_turns"] = np.cumsum(counts) - counts, counts
    for host in np.flatnonzero(counts).tolist():
        first = state.stream_turns[int(state.sources["first"][host])]
        schedule_from_outside(state, host, Aux.DATAGRAM, int(first["time_ps"]))
