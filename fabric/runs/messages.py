"""messages.parquet: the outcome of every message, and distributions over messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fabric.runs import schemas
from fabric.runs.series import named
from fabric.runs.transfer_outcomes import Completed
from fabric.units import PS_PER_NS

if TYPE_CHECKING:  # annotations only: reading results must not load the compiler
    from fabric.dataplane.engine.counters import Snapshot

STATES: Final = ("waiting", "outstanding", "done", "failed")
WAITING, OUTSTANDING, DONE, FAILED = range(4)

SIZE_CLASSES: Final = (
    (10_000, "up to 10KB"),
    (100_000, "10KB-100KB"),
    (1_000_000, "100KB-1MB"),
    (10_000_000, "1MB-10MB"),
    (1 << 62, "over 10MB"),
)
"""(upper bound in bytes, name): mice to elephants, one decade each."""

_QUANTILES: Final = (("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999))


def states(now: Snapshot) -> NDArray[np.int8]:
    """Position in STATES of every message."""
    found = np.full(len(now.messages), WAITING, np.int8)
    found[now.messages["start_ps"] >= 0] = OUTSTANDING
    found[now.messages["end_ps"] >= 0] = DONE
    found[now.messages["failed"] != 0] = FAILED
    return found


def fct_ps(now: Snapshot) -> NDArray[np.int64]:
    """Completion time of every message; meaningless where it is not done."""
    return np.asarray(now.messages["end_ps"] - now.messages["start_ps"], np.int64)


def table(now: Snapshot, ideal_ps: NDArray[np.int64], labels: Sequence[str], paths: pa.Array) -> pa.Table:
    """The table of schemas.MESSAGES, one row per message in the order of the workload.

    Parameters
    ----------
    now : Snapshot                  the fabric at the end
    ideal_ps : (n,) int64           completion time alone in an idle fabric
    labels : n names, or empty      the workload's own names
    paths : list<string> array (n)  ports each message left by; null where it has no single path
    """
    rows, received = now.messages, now.rmessages
    hosts = [node.name for node in now.fabric.nodes[: len(now.hosts)]]
    state = states(now)
    pair = now.qps[rows["qp"]]
    done = state == DONE
    fct = fct_ps(now)
    columns = {
        "id": pa.array(labels or np.arange(len(rows)).astype("U20"), pa.string()),
        "src": named(pair["src"].astype(np.int64), hosts),
        "dst": named(pair["dst"].astype(np.int64), hosts),
        "size_bytes": pa.array(np.ascontiguousarray(rows["size_bytes"])),
        "priority": pa.array(pair["tc"].astype(np.int8)),
        "dscp": pa.array(pair["dscp"].astype(np.int8)),
        "qp": pa.array(rows["qp"].astype(np.int32)),
        "start_ns": _moment(rows["start_ps"]),
        "first_ns": _moment(received["first_ps"]),
        "arrived_ns": _moment(received["arrived_ps"]),
        "end_ns": _moment(np.where(done, rows["end_ps"], -1)),
        "fct_ns": pa.array(fct // PS_PER_NS, pa.int64(), mask=~done),
        "ideal_ns": pa.array(ideal_ps // PS_PER_NS, pa.int64()),
        "slowdown": pa.array(fct / ideal_ps, pa.float64(), mask=~done),
        "retransmits": pa.array(np.ascontiguousarray(rows["retransmitted_pkts"])),
        "hops": pa.array(received["hops"].astype(np.int16), pa.int16(), mask=received["first_ps"] < 0),
        "path": paths,
        "state": named(state.astype(np.int64), list(STATES)),
    }
    return pa.table(columns, schema=schemas.MESSAGES)


def distribution(values: NDArray[np.int64] | NDArray[np.float64]) -> dict[str, Any]:
    """mean, p50, p90, p95, p99, p999, max; all None without values. A quantile is the smallest value that at least
    that share of the values does not exceed, without interpolation.
    """
    names = ("mean", *(name for name, _ in _QUANTILES), "max")
    if not values.size:
        return dict.fromkeys(names)
    ordered = np.sort(values)
    places = [min(int(np.ceil(share * ordered.size)) - 1, ordered.size - 1) for _, share in _QUANTILES]
    number = float if values.dtype.kind == "f" else int
    found = [float(values.mean()), *(number(ordered[max(place, 0)]) for place in places), number(ordered[-1])]
    return dict(zip(names, found, strict=True))


def by_size(now: Snapshot, ideal_ps: NDArray[np.int64], sent: Completed | None = None) -> list[dict[str, Any]]:
    """Completion times (ns) and slowdowns of the messages done, per size class that occurs.

    sent: completed messages of transfers; a run that records them not has none of them here.
    """
    done = states(now) == DONE
    size = now.messages["size_bytes"]
    fct = fct_ps(now)
    if sent is not None:
        done = np.concatenate([done, np.ones(len(sent.fct_ps), np.bool_)])
        size, fct = np.concatenate([size, sent.size_bytes]), np.concatenate([fct, sent.fct_ps])
        ideal_ps = np.concatenate([ideal_ps, sent.ideal_ps])
    lower = 0
    found = []
    for upper, name in SIZE_CLASSES:
        mine = (size > lower) & (size <= upper)
        lower = upper
        if not mine.any():
            continue
        kept = mine & done
        found.append(
            {
                "size": name,
                "messages": int(mine.sum()),
                "done": int(kept.sum()),
                "fct_ns": distribution(fct[kept] // PS_PER_NS),
                "slowdown": distribution(fct[kept] / ideal_ps[kept]),
            }
        )
    return found


def _moment(time_ps: NDArray[np.int64]) -> pa.Array:
    return pa.array(time_ps // PS_PER_NS, pa.int64(), mask=time_ps < 0)
