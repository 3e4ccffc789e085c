"""The bench case `idle` measures what its table says."""

from __future__ import annotations

from pathlib import Path

from bench import cases, idle
from fabric.units import PS_PER_S

FOUND = {
    "passed": {"seconds": 60, "cpu_s_per_s": 0.00185},
    "each": {"seconds": 1, "cpu_s_per_s": 1.39},
    "bgp_cpu_s": 7.09,
}


def test_an_idle_second_has_ten_thousand_samples_and_lasts_its_full_duration(tmp_path: Path) -> None:
    case = cases.compiled(idle.scenario(1000), tmp_path)
    assert PS_PER_S // case.sampling_ps == 10_000
    assert case.duration_ps == PS_PER_S
    assert not case.stop_when_done
    assert sorted(case.params.messages.start_ps.tolist()) == [0, 0]


def test_the_minute_of_bgp_has_one_failure_and_a_message_after_it(tmp_path: Path) -> None:
    case = cases.compiled(idle.minute_of_bgp(), tmp_path)
    assert case.control is not None
    assert [it["kind"] for it in case.truth] == ["link-down"]
    assert max(case.params.messages.start_ps.tolist()) == 59 * PS_PER_S
    assert case.duration_ps == 60 * PS_PER_S


def test_the_table_names_seconds_samples_and_the_minute() -> None:
    text = idle.idle_table(FOUND).text()
    assert "0.00185 s" in text
    assert "each of the 10,000 samples" in text
    assert "7.09 s" in text
