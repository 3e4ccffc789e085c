"""The rows of the shipped DCQCN parameter sets, and models that they must refuse."""

from __future__ import annotations

from typing import Final

import pytest

from fabric.scenario.presets.dcqcn import DCQCN_PRESETS
from fabric.verify.fidelity.v0_presets import ROWS
from tests.forked import UNCOMPILED, printed

MUTANTS: Final = {
    "none": "",
    "timers move no departure": "dcqcn.departure_ps = lambda state, qp, now, left: "
    "now + -(-left // int(state.qps[qp]['rate_bps']))",
    "cuts move no departure": "dcqcn.owed = lambda state, qp, now: 0",
}
SCRIPT: Final = """
from fabric.dataplane.transport import dcqcn
{patch}
from fabric.verify.fidelity.v0_presets import departure_after_a_cut
print(departure_after_a_cut("{preset}").agrees)
"""


def test_every_shipped_set_has_its_rows() -> None:
    ids = {row.id for row in ROWS}
    assert {f"V0/{kind}/{name}" for kind in ("floor", "incast", "long") for name in DCQCN_PRESETS} <= ids


@pytest.mark.parametrize("mutant", MUTANTS)
@pytest.mark.parametrize("preset", ["mlx5", "paper-2015"])
def test_a_model_that_does_not_pace_again_is_refused(mutant: str, preset: str) -> None:
    script = SCRIPT.format(patch=MUTANTS[mutant], preset=preset)
    assert printed(script, env=UNCOMPILED).strip() == str(mutant == "none")
