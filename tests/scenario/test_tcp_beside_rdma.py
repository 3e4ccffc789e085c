"""CUBIC and DCTCP in lossy classes beside RDMA: the shares are those of the scheduler's weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from fabric.dataplane.engine.driver import Emulator
from fabric.scenario.compile.scenario import compile_scenario
from fabric.scenario.load import build_scenario

SCENARIO = Path(__file__).parents[2] / "scenarios" / "tcp-beside-rdma.yml"
MS = 10**9


def sent_bytes(engine: Emulator, port: int) -> list[int]:
    found: list[int] = engine.state.queues["sent_bytes"][port * 8 : port * 8 + 8].tolist()
    return found


def shares_of(raw: dict[str, Any], from_ps: int, to_ps: int) -> dict[int, float]:
    """Share of each class in what the receiver's port sent."""
    case = compile_scenario(build_scenario(raw, SCENARIO))
    port = int(case.fabric.ports[case.fabric.by_name["host1"].first_port].peer)
    engine = Emulator(case.fabric, case.params)
    engine.advance(from_ps)
    before = sent_bytes(engine, port)
    engine.advance(to_ps)
    sent = [after - then for after, then in zip(sent_bytes(engine, port), before, strict=True)]
    return {priority: sent[priority] / sum(sent) for priority in (0, 1, 3)}


@pytest.mark.parametrize("weights", [{0: 30, 1: 20, 3: 50}, {0: 60, 1: 25, 3: 15}])
def test_rdma_and_tcp_share_a_port_by_the_weights_of_their_classes(weights: dict[int, int]) -> None:
    raw = yaml.safe_load(SCENARIO.read_text())
    raw["switches"]["scheduler"] = dict(weights)
    shares = shares_of(raw, 1 * MS, 3 * MS)
    assert shares == {priority: pytest.approx(weight / 100, abs=0.02) for priority, weight in weights.items()}
