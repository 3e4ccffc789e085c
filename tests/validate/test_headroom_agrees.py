"""`fabric validate` and `fabric run` agree on headroom: what has no finding loses nothing with the same assumptions."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

import pytest
from fabrics import HOSTS, small_fabric

from fabric.configs.buffers.headroom import Assumptions
from fabric.configs.load import load_network
from fabric.configs.sonic.pgtable import HeadroomTables
from fabric.units import parse_time_ps
from fabric.validate.checks.base import Severity
from fabric.validate.runner import Verdict, validate

sys.path.insert(0, str(Path(__file__).parents[1] / "dataplane"))

from headroom_worlds import Case, limit_of, own_frame, run

FAR: Final = "pg_lossless_400000_40m_profile"
SHIPPED: Final = 77_824
"""NVIDIA's row for 400G and 40 m (ACS-MSN4700)."""


def validated(folder: Path, xoff: int, response: str, latency: str) -> Verdict:
    """The small fabric with this headroom on every 40 m port, and check H1 alone."""
    fabric = small_fabric()
    for name, tables in fabric.items():
        for profile, fields in tables["BUFFER_PROFILE"].items():
            if profile.startswith("pg_lossless"):
                fields["xoff"] = str(xoff) if profile == FAR else "1000000"
        (folder / f"{name}.json").write_text(json.dumps(tables), encoding="utf-8")
    (folder / "hosts.json").write_text(json.dumps(HOSTS), encoding="utf-8")
    network = load_network([folder], tables=HeadroomTables())
    stops = response if response in {"half", "worst"} else parse_time_ps(response)
    network.assumed = Assumptions(stops, parse_time_ps(latency))
    return validate(network, only={"H1"})


def lost(xoff: int, response: str, latency: str) -> int:
    """Frames lost by a run in the worst phase: 400G, 40 m, frames of RoCE MTU 4096 in both directions."""
    case = Case(response=response, latency=latency)
    crossed = run(case, limit_of(case), 4_000_000).xoff_ps
    return run(case, limit_of(case), xoff, [own_frame(case, crossed - 1)], [4096]).lost


@pytest.mark.parametrize(
    ("response", "latency", "needed"),
    [("half", "600ns", 96_048), ("half", "0ns", 62_640), ("worst", "0ns", 91_872), ("worst", "600ns", 121_104)],
)
def test_a_headroom_without_a_finding_loses_nothing_in_a_run_with_the_same_assumptions(
    response: str, latency: str, needed: int, tmp_path: Path
) -> None:
    clean = max(needed, 96_520)  # bound D
    assert validated(tmp_path, clean, response, latency).findings == ()
    assert lost(clean, response, latency) == 0
    assert lost(needed, response, latency) == 0
    (text,) = {it.text for it in validated(tmp_path, clean - 1, response, latency).findings}
    assert f"need of {needed} B" in text


def test_the_shipped_headroom_that_loses_packets_has_a_note_with_the_assumptions(tmp_path: Path) -> None:
    verdict = validated(tmp_path, SHIPPED, "half", "600ns")
    assert {it.severity for it in verdict.findings} == {Severity.INFO}
    (text,) = {it.text for it in verdict.findings}
    assert "18224 B less than the need of 96048 B if the peer stops in half of the 802.3 limit, reception takes" in text
    assert "need more" in verdict.headroom
    assert lost(SHIPPED, "half", "600ns") > 0


def test_the_shipped_headroom_is_enough_for_a_switch_without_latency(tmp_path: Path) -> None:
    verdict = validated(tmp_path, SHIPPED, "half", "0ns")
    (text,) = {it.text for it in verdict.findings}
    assert "enough for the need of 62640 B if the peer stops in half of the 802.3 limit, reception takes no" in text
    assert verdict.headroom.startswith("enough on ")
    assert lost(SHIPPED, "half", "0ns") == 0
