"""Acknowledgements on the longest path: they leave by the port on which their data arrive, and share it with data.

A first pass without them tells for each transfer during which part of its time on the port the port also received. In
that part a byte takes longer by the bytes of acknowledgements for a byte. Numbers of send and receive ports are those
of one list: a port has one number in both directions.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fabric.collectives.longest_path import Links, Occupied, of_transfers
from fabric.collectives.transfers import Transfers

Ints = NDArray[np.int64]


def with_acknowledgements(transfers: Transfers, n_ranks: int, links: Links, ack_share: NDArray[np.float64]) -> Links:
    """`links` with the time of acknowledgements.

    Parameters
    ----------
    ack_share : (n,)    acknowledgements for a byte of each transfer's data, in bytes of the wire
    """
    occupied = Occupied()
    of_transfers(transfers, n_ranks, links, occupied)
    n = len(transfers)
    sent, received = (np.array(found, np.int64).reshape(-1, 3).T for found in (occupied.sent, occupied.received))
    port = links.send_port[sent[0]]
    both = np.zeros(len(port), np.float64)
    order = np.argsort(links.receive_port[received[0]], kind="stable")  # pieces of a port are in order of time
    begins = np.searchsorted(links.receive_port[received[0]][order], np.arange(int(port.max(initial=-1)) + 2))
    for number in np.unique(port):
        mine = port == number
        rows = order[begins[number] : begins[number + 1]]
        both[mine] = _overlap(sent[1][mine], sent[2][mine], received[1][rows], received[2][rows])
    whole = np.bincount(sent[0], (sent[2] - sent[1]).astype(np.float64), n)
    ratio = np.bincount(sent[0], both, n) / np.maximum(whole, 1)
    return replace(links, fs_per_byte=np.round(links.fs_per_byte * (1 + ack_share * ratio)).astype(np.int64))


def _overlap(begin: Ints, end: Ints, first: Ints, last: Ints) -> NDArray[np.float64]:
    """Time that intervals begin .. end share with intervals first .. last, which are ascending and disjoint."""
    if not len(first):
        return np.zeros(len(begin))
    corners = np.stack([first, last], axis=1).ravel().astype(np.float64)
    busy = np.stack([np.zeros(len(first), np.int64), last - first], axis=1).ravel().cumsum().astype(np.float64)
    return np.asarray(np.interp(end, corners, busy) - np.interp(begin, corners, busy), np.float64)
