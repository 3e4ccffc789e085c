"""From which use on a link that marks for long has all it can carry: telemetry/diagnosis/queues.py, at its limit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from fabric.topology.registry import build_topology, parse_topology
from telemetry.diagnosis.queues import pause_roots
from telemetry.diagnosis.root import Root
from telemetry.diagnosis.view import View
from telemetry.diagnosis.waits import Waits
from tests.diagnosis.conftest import LEAF_SPINE

_SAMPLES = 21
_MS = 1_000_000


def _roots(use: Mapping[str, float]) -> list[Root]:
    """Roots of leaf1 where its uplinks mark in every interval of 1 ms, and are sending for `use` of the time."""
    times = np.arange(_SAMPLES) * _MS

    def iter_series(metric: str, **_: str) -> Iterator[tuple[dict[str, str], Any]]:
        growth = {"fabric_port_transmit_busy_seconds_total": 1e-3, "fabric_ecn_marked_packets_total": 40.0}
        for port, share in use.items():
            if metric in growth and share > 0:
                labels = {"device": "leaf1", "port": port}
                marks = metric == "fabric_ecn_marked_packets_total"
                step = growth[metric] * (1.0 if marks else share)
                yield labels | ({"queue": "3"} if marks else {}), (times, step * np.arange(_SAMPLES))
            elif metric == "fabric_port_transmit_busy_seconds_total":
                yield {"device": "leaf1", "port": port}, (times, np.zeros(_SAMPLES))

    store = SimpleNamespace(times_ns=times, iter_series=iter_series)
    view = View(cast("Any", store), build_topology(parse_topology(LEAF_SPINE)))
    return list(pause_roots(view, Waits([], {})))


@pytest.mark.parametrize(("share", "kinds"), [(0.85, []), (0.89, []), (0.91, ["elephants"]), (0.94, ["elephants"])])
def test_one_link_of_two_is_full_above_nine_tenths(share: float, kinds: list[str]) -> None:
    """A pair of flows that DCQCN holds at 94 % of a link is limited by it; one at 89 % may be so by its hosts."""
    assert [it.kind.value for it in _roots({"Ethernet16": share, "Ethernet20": 0.0})] == kinds


@pytest.mark.parametrize(("share", "kinds"), [(0.85, []), (0.89, []), (0.91, ["oversubscription"])])
def test_a_tier_is_full_where_all_of_it_is(share: float, kinds: list[str]) -> None:
    assert [it.kind.value for it in _roots({"Ethernet16": share, "Ethernet20": share})] == kinds
    assert _roots({"Ethernet16": share, "Ethernet20": 0.85}) == []
