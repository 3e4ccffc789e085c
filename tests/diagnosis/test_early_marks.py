"""A queue that marks before its link needs a queue is a root where that leaves the link idle, and only there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from fabric.explain.evidence import Evidence
from fabric.runs.rundir import RunDir
from fabric.topology.registry import build_topology, parse_topology
from telemetry.diagnosis.early_marks import early_marks
from telemetry.diagnosis.root import Root
from telemetry.diagnosis.view import View
from telemetry.sources.roots import roots_of
from tests.diagnosis.conftest import LEAF_SPINE, Diagnose, played

_SAMPLES = 11
_MS = 1_000_000
_FRAMES_PER_MS = 1500
_FRAME_BYTES = 4000


def _roots(*, use: float = 0.5, kmin: float = 1000, kmax: float = 4000, pmax: float = 1.0, marks: float = 300,
           answers: float = 5, pairs: float = 4, paused_s: float = 0.0, missing: frozenset[str] = frozenset(),
           ) -> list[Root]:  # fmt: skip
    """Roots of leaf1:Ethernet0 at 100G, towards host1, over ten intervals of 1 ms: growth of counters in each."""
    times, port, queue = np.arange(_SAMPLES) * _MS, {"device": "leaf1", "port": "Ethernet0"}, {"queue": "3"}
    counters = {
        "fabric_port_transmit_packets_total": (port, _FRAMES_PER_MS),
        "fabric_port_transmit_bytes_total": (port, _FRAMES_PER_MS * _FRAME_BYTES),
        "fabric_port_transmit_busy_seconds_total": (port, use * 1e-3),
        "fabric_pfc_receive_paused_seconds_total": (port | {"priority": "3"}, paused_s),
        "fabric_ecn_marked_packets_total": (port | queue, marks),
        "fabric_rnic_cnp_handled_packets_total": ({"device": "host2"}, answers),
    }
    gauges = {
        "fabric_port_speed_bytes_per_second": (port, 12.5e9),
        "fabric_ecn_kmin_bytes": (port | queue, kmin),
        "fabric_ecn_kmax_bytes": (port | queue, kmax),
        "fabric_ecn_pmax_ratio": (port | queue, pmax),
        "fabric_rnic_active_queue_pairs": ({"device": "host2"}, pairs),
        "fabric_queue_watermark_bytes": (port | queue, 50_000),
    }

    def iter_series(metric: str, **_: str) -> Iterator[tuple[dict[str, str], Any]]:
        if metric in counters:
            labels, step = counters[metric]
            yield labels, (times, step * np.arange(_SAMPLES))
        elif metric in gauges:
            labels, value = gauges[metric]
            yield labels, (times, np.full(_SAMPLES, value))

    store = SimpleNamespace(times_ns=times, iter_series=iter_series)
    return list(early_marks(View(cast("Any", store), build_topology(parse_topology(LEAF_SPINE)), missing)))


def test_marks_behind_less_than_a_packet_are_named_with_port_curve_and_cost() -> None:
    [root] = _roots()
    assert (root.kind.value, root.place) == ("ecn-wrong", "leaf1:Ethernet0 (class 3)")
    assert root.meaning.title == "a queue marks too early"
    assert root.evidence[0].startswith("Kmin 1KB, Kmax 4KB, Pmax 100%: 100% of packets that find 12KB are marked")
    assert "idle for 50% of 10ms" in root.evidence[0]
    assert "62.5MB more fit into the idle time at 100Gbit/s" in root.evidence[1]  # 5 ms of 100 Gbit/s
    assert "raise Kmin from 1KB to 62.5KB" in root.meaning.act
    assert "and Kmax from 4KB to 250KB" in root.meaning.act
    assert "held up to 50KB, and will hold up to 6 times as much (300KB, which takes 24us to send)" in root.meaning.act


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"use": 0.89}, True),
        ({"use": 0.91}, False),  # the link is full
        ({"kmin": 11_900, "kmax": 12_000}, True),
        ({"kmin": 12_000, "kmax": 12_001}, False),  # three frames, or a seventh of 5 us at 100G, may wait
        ({"kmin": 5_000, "kmax": 200_000, "pmax": 0.01}, False),  # of the DCQCN paper: 0.04 % at three frames
        ({"kmin": 0, "kmax": 120_000, "pmax": 1.0}, True),
        ({"kmin": 0, "kmax": 120_100, "pmax": 1.0}, False),  # 10 % of packets that find three frames is the limit
        ({"kmin": 0, "kmax": 0, "pmax": 0.0}, False),  # it marks nothing
        ({"marks": 15}, True),
        ({"marks": 14}, False),  # less than 1 % of what it sends
        ({"answers": 0}, False),  # senders do not answer: HPCC, TIMELY
        ({"pairs": 0}, False),  # nobody has more to send
        ({"paused_s": 0.11e-3}, False),  # it is idle because it is paused
        ({"paused_s": 0.09e-3}, True),
        ({"missing": frozenset({"fabric_ecn_marked_packets_total"})}, False),
    ],
)
def test_early_marking_is_a_root_where_it_costs(changes: dict[str, Any], *, named: bool) -> None:
    assert bool(_roots(**changes)) is named


def _incast(ecn: dict[str, Any], transport: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": "early",
        "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 4,
                     "host_rate": "100G", "fabric_rate": "400G"},
        "switches": {"overrides": [{"switch": "leaf2", "ecn": ecn}]},
        "transport": transport,
        "workload": [{"kind": "incast", "receiver": "host5", "senders": ["host1", "host2", "host6", "host7"],
                      "size": "6MB"}],
        "telemetry": {"interval": "200us", "events": []},
        "run": {"duration": "10ms"},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("ecn", "transport", "named"),
    [
        ({"kmin": "1KB", "kmax": "4KB", "pmax": 1}, {"cc": "dcqcn"}, True),
        ({"kmin": "5KB", "kmax": "20KB", "pmax": 1}, {"cc": "dcqcn"}, True),
        ({"kmin": "1KB", "kmax": "4KB", "pmax": 1}, {"cc": "hpcc"}, False),
        ({"kmin": "1KB", "kmax": "4KB", "pmax": 1}, {"cc": "timely"}, False),
        ({"kmin": "5KB", "kmax": "200KB", "pmax": 1}, {"cc": "dcqcn"}, False),
        ({"kmin": "100KB", "kmax": "400KB", "pmax": 0.2}, {"cc": "dcqcn"}, False),
        ({"kmin": "65KB", "kmax": "65001B", "pmax": 1}, {"cc": "dctcp"}, False),
    ],
    ids=["early", "two packets", "hpcc", "timely", "slow rise", "usual", "step"],
)
def test_of_twins_the_one_that_marks_too_early_is_named(
    ecn: dict[str, Any], transport: dict[str, Any], diagnosed: Diagnose, *, named: bool
) -> None:
    found = [it for it in diagnosed(_incast(ecn, transport)) if it.kind == "ecn-wrong"]
    assert [it.place for it in found] == (["leaf2:Ethernet0 (class 3)"] if named else [])


def _peak(run: RunDir) -> int:
    evidence = Evidence(run)
    _, values = evidence.series("queue_watermark_bytes")[evidence.port_named("leaf2:Ethernet0"), 3]
    return int(values.max())


@pytest.mark.parametrize(
    ("ecn", "senders"), [((1, 4), 4), pytest.param((5, 20), 3, marks=pytest.mark.slow),
                         pytest.param((1, 50), 2, marks=pytest.mark.slow)]
)  # fmt: skip
def test_a_rerun_with_the_curve_of_the_advice_has_no_such_root_and_the_price_that_it_names(
    ecn: tuple[int, int], senders: int, tmp_path: Path
) -> None:
    data = _incast({"kmin": f"{ecn[0]}KB", "kmax": f"{ecn[1]}KB", "pmax": 1}, {"cc": "dcqcn"})
    data["workload"][0]["senders"] = data["workload"][0]["senders"][:senders]
    (tmp_path / "before").mkdir()
    (tmp_path / "after").mkdir()
    before = played(tmp_path / "before", data)
    [root] = [it for it in roots_of(before) if it.kind == "ecn-wrong"]
    found = re.search(r"to (\S+), what .* Kmax from \S+ to (\S+)\. .* hold up to (\d+) times", root.meaning.act)
    assert found is not None
    data["switches"]["overrides"][0]["ecn"] = {"kmin": found[1], "kmax": found[2], "pmax": 1}
    after = played(tmp_path / "after", data)
    assert [it for it in roots_of(after) if it.kind == "ecn-wrong"] == []
    assert _peak(before) < _peak(after) <= int(found[3]) * _peak(before)
