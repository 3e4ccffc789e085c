"""A queue that sends what it held while a host paused it is no root; one that fills later, or elsewhere, may be."""

from __future__ import annotations

import numpy as np
import pytest

from telemetry.diagnosis.queues import _drains_after
from telemetry.diagnosis.view import Values
from telemetry.diagnosis.waits import Origin, Waits
from tests.diagnosis.conftest import Diagnose

_HOST, _QUEUE, _OTHER = (0, 3), (10, 3), (20, 3)


def paused(*rows: int) -> Values:
    """Paused time in these of 20 intervals."""
    values = np.zeros(20)
    values[list(rows)] = 1.0
    return values


@pytest.mark.parametrize(
    ("place", "rows", "drains"),
    [
        (_QUEUE, (6, 7, 8), True),
        (_QUEUE, (5, 6), True),
        (_QUEUE, (7, 9), True),  # of one sample in between nothing is seen
        (_QUEUE, (8, 9), False),
        (_QUEUE, (6, 9), False),
        (_QUEUE, (3, 6), False),  # it held others up before
        (_OTHER, (6, 7), False),  # it never waited for the host
    ],
)
def test_a_queue_drains_where_it_waited_for_the_host_until_then(
    place: tuple[int, int], rows: tuple[int, ...], *, drains: bool
) -> None:
    host = Origin(_HOST, True, paused(4, 5), {_QUEUE: 2.0})
    own = Origin(place, False, paused(*rows), {(30, 3): 1.0})
    assert _drains_after(own, Waits([host, own], {})) is drains


def test_a_storm_whose_backlog_drains_is_one_root(diagnosed: Diagnose) -> None:
    roots = diagnosed(
        {
            "name": "drained",
            "topology": {"kind": "leaf-spine", "leaves": 4, "spines": 2, "hosts_per_leaf": 4, "host_rate": "100G",
                         "fabric_rate": "200G"},
            "switches": {"asic": "trident3"},
            "workload": [{"kind": "permutation", "size": "1MB", "shift": 4, "repeat": 20, "interval": "1ns"}],
            "faults": [{"kind": "pause-storm", "hosts": ["host1"], "at": "500us", "duration": "500us"}],
            "telemetry": {"interval": "100us", "events": []},
            "run": {"duration": "3ms", "stop": "duration"},
        }
    )  # fmt: skip
    assert [(it.kind.value, it.place) for it in roots] == [("broken-nic", "host1:eth0 (class 3)")]
