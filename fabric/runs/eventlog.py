"""The event log: the engine's trace rows in order, capped per category, with names.

Order is (picosecond, device, order within the device). The engine returns rows whenever it pauses, which depends on the
wall clock; so rows at or after the time up to which every device has been simulated are held back until the next
call. The log is therefore the same for any pace, and a cap keeps the same rows: the first of a category.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fabric.dataplane.state.codes import DropReason, EventKind
from fabric.dataplane.state.types import TRACE
from fabric.runs import schemas
from fabric.runs.series import named, optional
from fabric.topology.model import Fabric
from fabric.units import PS_PER_NS

NO_ID: Final = 0xFFFFFFFF
"""The engine's 'none' for ports and queue pairs."""

DEFAULT_CAP: Final = 1_000_000
"""Rows recorded per category; rows beyond are counted in the summary."""

ROW: Final = np.dtype(
    [
        ("time_ns", np.int64),
        ("kind", np.int8),
        ("device", np.int32),
        ("port", np.int32),
        ("class", np.int8),
        ("reason", np.int8),
        ("qp", np.int32),
        ("a", np.int64),
        ("b", np.int64),
        ("c", np.int64),
        ("d", np.int64),
    ]
)
"""A coded row; -1 = none."""


@dataclass(frozen=True, slots=True)
class KindInfo:
    """Meaning of the columns of one kind of event."""

    category: str
    help: str
    numbers: tuple[tuple[str, str], ...] = ()
    """(name, meaning) of a, b, c, d; fewer where the kind has fewer."""
    time_columns: tuple[str, ...] = ()
    """Columns the engine gives in picoseconds; written in nanoseconds."""


_PAUSE_NUMBERS: Final = (
    ("use_bytes", "shared use of the group"),
    ("limit_bytes", "its limit at that moment"),
    ("headroom_bytes", "headroom use of the group"),
    ("pool_free_bytes", "free bytes of the pool"),
)
_RATES: Final = (("before_bps", "rate before"), ("after_bps", "rate after"))

KINDS: Final[Mapping[EventKind, KindInfo]] = {
    EventKind.PAUSE_SENT: KindInfo(
        "pause", "XOFF sent: the device requests that the peer of this port stops this class.", _PAUSE_NUMBERS
    ),
    EventKind.RESUME_SENT: KindInfo("pause", "XON sent.", _PAUSE_NUMBERS),
    EventKind.PAUSED: KindInfo(
        "pause",
        "This port's class stopped sending: its peer paused it.",
        (("quanta", "timer value of the frame, in 512 bit times"), ("queue_bytes", "waiting in the queue")),
    ),
    EventKind.RESUMED: KindInfo(
        "pause",
        "This port's class may send again.",
        (
            ("paused_ns", "time it was paused"),
            ("queue_bytes", "waiting in the queue"),
            ("expired", "1: the timer ran out, 0: XON came"),
        ),
        ("a",),
    ),
    EventKind.DROP: KindInfo(
        "drop",
        "Frames discarded. b, c and d by reason: use, limit and size for buffer reasons; b = frames for "
        "link_down and watchdog flushes; b = MTU for mtu.",
        (
            ("bytes", "bytes discarded"),
            ("use_bytes", "use that decided it, or see above"),
            ("limit_bytes", "limit that decided it"),
            ("size_bytes", "size of what was full"),
        ),
    ),
    EventKind.MARK: KindInfo(
        "mark",
        "A packet was marked CE at this queue.",
        (("queue_bytes", "queue depth"), ("kmin_bytes", "Kmin"), ("kmax_bytes", "Kmax")),
    ),
    EventKind.RATE_CUT: KindInfo(
        "rate",
        "Congestion control decreased the rate of a queue pair.",
        (*_RATES, ("alpha_millionths", "alpha in millionths")),
    ),
    EventKind.LINK_DOWN: KindInfo("link", "The link of this port went down."),
    EventKind.LINK_UP: KindInfo("link", "The link of this port came up."),
    EventKind.RATE_CHANGED: KindInfo("link", "The link of this port changed speed.", _RATES),
    EventKind.STORM_DETECTED: KindInfo(
        "watchdog",
        "The PFC watchdog declared this queue stormed.",
        (("queue_bytes", "waiting in the queue"), ("action", "0 drop, 1 forward, 2 alert")),
    ),
    EventKind.STORM_RESTORED: KindInfo(
        "watchdog", "The PFC watchdog restored this queue.", (("stormed_ns", "time in storm"),), ("a",)
    ),
    EventKind.TIMEOUT: KindInfo(
        "transport",
        "A retransmission timer ran out.",
        (("psn", "first unacknowledged packet"), ("retries", "timeouts in a row")),
    ),
    EventKind.QP_FAILED: KindInfo(
        "transport", "A queue pair reached its retry limit.", (("pkts", "packets never acknowledged"),)
    ),
    EventKind.NAK_SENT: KindInfo(
        "transport", "A receiver saw a gap.", (("expected_psn", "packet expected"), ("psn", "packet received"))
    ),
    EventKind.LOSS_DECLARED: KindInfo(
        "transport",
        "A sender with recovery out-of-order holds packets for lost and sends them again.",
        (
            ("psn", "the first of them"),
            ("pkts", "how many"),
            ("window_ns", "reordering window: how much longer than a later packet they had taken"),
        ),
        ("c",),
    ),
    EventKind.DEADLOCK: KindInfo(
        "deadlock", "A cycle of paused queues was found.", (("queues", "queues in the cycle"),)
    ),
    EventKind.EDIT: KindInfo(
        "edit", "A dated edit of the scenario was applied.", (("edit", "its position among the edits"),)
    ),
}
_LAST: Final[int] = max(kind.value for kind in EventKind)
CATEGORIES: Final = tuple(dict.fromkeys(info.category for info in KINDS.values()))
KIND_NAMES: Final = tuple(EventKind(code).name.lower() if code in set(EventKind) else "" for code in range(_LAST + 1))
REASON_NAMES: Final = tuple(reason.name.lower() for reason in DropReason)

_CATEGORY_OF: Final = np.array(
    [CATEGORIES.index(KINDS[EventKind(code)].category) if code in set(EventKind) else -1 for code in range(_LAST + 1)]
)
_WITH_CLASS: Final = np.array(
    [
        code
        in {
            EventKind.PAUSE_SENT,
            EventKind.RESUME_SENT,
            EventKind.PAUSED,
            EventKind.RESUMED,
            EventKind.DROP,
            EventKind.MARK,
            EventKind.STORM_DETECTED,
            EventKind.STORM_RESTORED,
            EventKind.DEADLOCK,
        }
        for code in range(_LAST + 1)
    ]
)


class EventLog:
    """Orders, caps and counts trace rows."""

    def __init__(self, cap: int = DEFAULT_CAP) -> None:
        self._cap = cap
        self._held = np.empty(0, TRACE)
        self._seen = np.zeros(len(CATEGORIES), np.int64)

    def take(self, rows: NDArray[np.void], complete_ps: int) -> NDArray[np.void]:
        """Take trace rows. Returns: the rows (of ROW) before `complete_ps` and within the cap."""
        rows = np.concatenate([self._held, rows]) if self._held.size else rows
        # np.lexsort is stable: rows of one device at one moment keep their order.
        rows = rows[np.lexsort((rows["device"], rows["time_ps"]))]
        ready = int(np.searchsorted(rows["time_ps"], complete_ps))
        self._held = rows[ready:].copy()
        return self._capped(rows[:ready])

    def finish(self) -> NDArray[np.void]:
        """The rows held back, at the end of the run."""
        rows, self._held = self._held, np.empty(0, TRACE)
        return self._capped(rows)

    @property
    def recorded(self) -> dict[str, int]:
        """Rows written so far, by category."""
        return {name: min(seen, self._cap) for name, seen in zip(CATEGORIES, self._seen.tolist(), strict=True)}

    @property
    def unrecorded(self) -> dict[str, int]:
        """Rows beyond the cap, by category."""
        return {name: max(seen - self._cap, 0) for name, seen in zip(CATEGORIES, self._seen.tolist(), strict=True)}

    def save(self) -> dict[str, NDArray[np.void] | NDArray[np.int64]]:
        """State for a checkpoint."""
        return {"events_held": self._held, "events_seen": self._seen}

    def load(self, saved: Mapping[str, NDArray[np.void] | NDArray[np.int64]]) -> None:
        """Restore the state of save()."""
        self._held, self._seen = np.array(saved["events_held"], TRACE), np.array(saved["events_seen"], np.int64)

    def _capped(self, rows: NDArray[np.void]) -> NDArray[np.void]:
        category = _CATEGORY_OF[rows["kind"]]
        keep = np.ones(rows.size, np.bool_)
        for code in range(len(CATEGORIES)):
            mine = category == code
            number = np.cumsum(mine) + self._seen[code]
            keep &= ~mine | (number <= self._cap)
            self._seen[code] += int(mine.sum())
        return _code(rows[keep])


def _code(rows: NDArray[np.void]) -> NDArray[np.void]:
    """Trace rows as ROW: nanoseconds, -1 for none."""
    found = np.empty(rows.size, ROW)
    kind = rows["kind"]
    found["time_ns"], found["kind"], found["device"] = rows["time_ps"] // PS_PER_NS, kind, rows["device"]
    found["port"] = np.where(rows["port"] == NO_ID, -1, rows["port"].astype(np.int64))
    found["class"] = np.where(_WITH_CLASS[kind], rows["prio"].astype(np.int64), -1)
    found["reason"] = np.where(kind == EventKind.DROP, rows["reason"].astype(np.int64), -1)
    found["qp"] = np.where(rows["qp"] == NO_ID, -1, rows["qp"].astype(np.int64))
    for column in ("a", "b", "c", "d"):
        found[column] = rows[column]
    for event, info in KINDS.items():
        for column in info.time_columns:
            mine = kind == event
            found[column][mine] //= PS_PER_NS
    return found


def decode(table: pa.Table, fabric: Fabric) -> pa.Table:
    """Coded rows as columns of schemas.EVENTS; numbers that a kind does not have are null."""
    kind = table["kind"].to_numpy()
    columns = {
        "time_ns": table["time_ns"].combine_chunks(),
        "kind": named(kind, list(KIND_NAMES)),
        "device": named(table["device"].to_numpy(), [node.name for node in fabric.nodes]),
        "port": named(table["port"].to_numpy(), [port.name for port in fabric.ports]),
        "class": optional(table["class"].to_numpy(), pa.int8()),
        "reason": named(table["reason"].to_numpy(), list(REASON_NAMES)),
        "qp": optional(table["qp"].to_numpy(), pa.int32()),
    }
    has = np.array(
        [len(KINDS[EventKind(code)].numbers) if code in set(EventKind) else 0 for code in range(len(KIND_NAMES))]
    )
    for place, column in enumerate(("a", "b", "c", "d")):
        columns[column] = pa.array(table[column].to_numpy(), pa.int64(), mask=has[kind] <= place)
    return pa.table(columns, schema=schemas.EVENTS)
