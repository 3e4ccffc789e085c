"""A receive buffer that does not fit its thresholds is an error of slow hosts only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabric.errors import InputErrors
from fabric.scenario.compile.scenario import compile_scenario
from fabric.scenario.load import build_scenario

# mlx5e's rule takes 1.6 us of 400G and two frames off the buffer for 500 m of cable: more than the default of 512 KiB.
LONG: dict[str, Any] = {
    "name": "long",
    "run": {"duration": "1ms"},
    "workload": [{"kind": "permutation", "size": "1KB", "shift": 1}],
    "topology": {
        "kind": "leaf-spine",
        "leaves": 2,
        "spines": 1,
        "hosts_per_leaf": 1,
        "host_rate": "400G",
        "fabric_rate": "400G",
        "host_cable": "500m",
    },
}
SLOW: dict[str, Any] = {"faults": [{"kind": "slow-receiver", "hosts": ["host2"], "drain": "1G", "at": "1us"}]}


def refused(raw: dict[str, Any]) -> list[str]:
    with pytest.raises(InputErrors) as caught:
        compile_scenario(build_scenario(raw, Path("long.yml")))
    return [problem.path for problem in caught.value.problems]


def test_hosts_that_keep_up_need_no_receive_buffer() -> None:
    mine = compile_scenario(build_scenario(LONG, Path("long.yml"))).params.hosts[0]
    assert (mine.drain_bps, mine.rx_xoff_bytes, mine.rx_xon_bytes) == (0, 0, 0)  # invariant 8: nothing is negative


def test_a_slow_host_needs_one() -> None:
    assert refused({**LONG, "hosts": {"drain": "90G"}}) == ["long.yml: hosts.rx_buffer"]
    assert refused({**LONG, **SLOW}) == ["long.yml: faults[0].hosts"]
    assert compile_scenario(build_scenario({**LONG, **SLOW, "hosts": {"rx_buffer": "4MB"}}, Path("long.yml"))).edits
