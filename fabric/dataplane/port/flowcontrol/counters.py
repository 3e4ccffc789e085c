"""Link flow control for readers of counters: arrays by port and class, made of rows of PORT and PRIO.

Every kind keeps these, so what is read here needs no change for another kind. The names of the stored columns are those
of PFC: xoff frames stop a class, xon frames let it go on (for a kind with credits: grant more).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.state.codes import N_CLASSES
from fabric.dataplane.state.types import Table

Mask = NDArray[np.bool_]


def copied(table: Table) -> Table:
    """A copy of a contiguous table, padding included: NumPy copies the fields of a padded row one by one, which is
    slower, and leaves the padding to chance.
    """
    return table.reshape(-1).view(np.uint8).copy().view(table.dtype).reshape(table.shape)


def by_class(bitmaps: Table) -> Mask:
    """(n,) bitmaps of classes -> (n, 8)."""
    return np.asarray(bitmaps[:, np.newaxis] >> np.arange(N_CLASSES) & 1, np.bool_)


def paused(ports: Table) -> Mask:
    """(n_ports, 8) classes that a port may not send now."""
    return by_class(ports["paused"])


def controlled(ports: Table) -> Mask:
    """(n_ports, 8) classes under flow control."""
    return by_class(ports["pfc_classes"])


def pausing(prios: Table) -> Mask:
    """As `prios`: whether the port has stopped the peer's class."""
    return np.asarray(prios["xoff_sent"] != 0, np.bool_)


def any_lasts(ports: Table, prios: Table) -> bool:
    """Whether some class is paused, or stopped at the peer: readers see its time grow without an event."""
    return bool(ports["paused"].any() or prios["xoff_sent"].any())


def last_change_ps(prios: Table) -> int:
    """When the last pause began or ended; 0 without any."""
    return int(prios["since_ps"].max())


def frames_received(prios: Table) -> NDArray[np.int64]:
    """As `prios`: flow-control frames received, obeyed or not."""
    return np.asarray(prios["rx_xoff_pkts"] + prios["rx_xon_pkts"], np.int64)


def frames_sent(prios: Table) -> NDArray[np.int64]:
    """As `prios`: flow-control frames sent."""
    return np.asarray(prios["tx_xoff_pkts"] + prios["tx_xon_pkts"], np.int64)


def with_present_pauses(prios: Table, ports: Table, time_ps: int) -> Table:
    """(n_ports, 8) PRIO whose pause times include the pauses that still last at time_ps; `prios` itself if none does.

    Where a budget stopped the run, a device may be a window ahead of time_ps; what it began there counts nothing yet.
    """
    prios = prios.reshape(-1, N_CLASSES)
    received, sent = np.nonzero(paused(ports)), np.nonzero(pausing(prios))
    if not received[0].size and not sent[0].size:
        return prios
    prios = copied(prios)
    lasting = np.maximum(time_ps - prios["since_ps"][received], 0)
    prios["rx_paused_ps"][received] += lasting
    prios["longest_ps"][received] = np.maximum(prios["longest_ps"][received], lasting)
    prios["recent_ps"][received] = lasting
    prios["tx_paused_ps"][sent] += np.maximum(time_ps - prios["sent_since_ps"][sent], 0)
    return prios
