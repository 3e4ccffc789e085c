"""The benchmark's measurements are correct, and its page stays complete."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from bench import controls, page, plots
from bench.__main__ import main
from bench.cases import CURVE_HOSTS, NAMES, compiled, named, permutation
from bench.machine import conditions, undisturbed_s
from bench.profile import profile
from bench.sections import SECTIONS
from bench.table import Table
from fabric.dataplane.state.codes import CongestionControl, TraceBit
from fabric.dataplane.state.compiled.jit import is_compiled
from fabric.errors import InputErrors
from fabric.scenario.compile.controls import CONTROLS
from fabric.scenario.schema.endpoints import ControlName

MARKED = "# Page\n\nbefore\n<!-- bench: cases -->\nold\n<!-- end: cases -->\nafter <!-- bench: x -->\n"
PROFILE = {
    "packet_hops": 100,
    "rows": [
        {"kind": "port free", "events": 50, "ns": 40.0, "share_ratio": 0.5},
        {"kind": "pause frame", "events": 0, "ns": 0.0, "share_ratio": 0.0},
        {"kind": "calendar", "events": 150, "ns": 10.0, "share_ratio": 0.5},
    ],
}


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_switched_off_in_a_case(name: str, tmp_path: Path) -> None:
    case = compiled(named(name, quick=True), tmp_path)
    params = case.params
    assert params.transport.congestion_control is CongestionControl.DCQCN
    assert params.transport.ack_every_packets == 1
    assert all(port.flow_control.classes for port in params.ports)
    assert case.record == TraceBit.PAUSE | TraceBit.DROP | TraceBit.MARK | TraceBit.RATE | TraceBit.TRANSPORT
    marking = [
        queue
        for node in case.fabric.switches
        for port in node.ports
        for queue in params.ports[port].queues
        if queue.ecn is not None
    ]
    assert marking


def test_every_congestion_control_is_measured(tmp_path: Path) -> None:
    assert set(controls.CONTROLS) == set(get_args(ControlName))
    for name in controls.CONTROLS:
        params = compiled(controls.scenario(name, quick=True), tmp_path).params
        assert params.transport.congestion_control is CONTROLS[name].code


@pytest.mark.parametrize("hosts", CURVE_HOSTS[:-1])
def test_a_fabric_of_the_curve_has_the_hosts_it_is_named_after(hosts: int, tmp_path: Path) -> None:
    fabric = compiled(permutation(hosts, "1KB"), tmp_path).fabric
    assert len(fabric.hosts) == hosts
    assert {link.rate_bps for link in fabric.links} == {100 * 10**9}
    assert {link.delay_ps for link in fabric.links} == {10**6}


@pytest.mark.slow
@pytest.mark.skipif(not is_compiled(), reason="the profile times compiled kernels")
def test_the_profile_simulates_the_same_as_the_engine() -> None:
    """profile() itself compares its digest with the engine's."""
    found = profile(permutation(64, "200KB"))
    assert sum(row["events"] for row in found["rows"][:-1]) == found["events"] > 0
    assert found["packet_hops"] > 0


@pytest.mark.parametrize(
    ("steps", "expected_s"),
    [([[1.0, 2.0]], 3.0), ([[1.0, 9.0], [5.0, 2.0]], 14.0), ([[1.0, 9.0], [5.0, 2.0], [1.5, 2.5]], 4.0)],
)
def test_undisturbed_takes_the_second_fastest_of_each_step(steps: list[list[float]], expected_s: float) -> None:
    assert undisturbed_s(steps) == pytest.approx(expected_s)


def test_writing_a_part_leaves_the_prose_around_it(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(MARKED)
    page.write(path, {"cases": "new"})
    assert path.read_text() == MARKED.replace("old", "new")


def test_every_missing_mark_is_named(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(MARKED)
    with pytest.raises(InputErrors) as caught:
        page.check(path, [*NAMES, "curve"])
    assert [problem.text for problem in caught.value.problems] == [
        "has no place for 'conditions'",
        "has no place for 'curve'",
    ]


def test_the_table_of_cases_is_not_written_with_some_of_them_only(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(MARKED.replace("cases", "conditions") + MARKED)
    page.check(path, list(NAMES))
    with pytest.raises(InputErrors) as caught:
        page.check(path, ["I64"])
    assert [problem.hint for problem in caught.value.problems] == ["add --only P256 --only P1024 --only A64"]


def test_the_page_has_a_place_for_every_section(repo_root: Path) -> None:
    page.check(repo_root / "docs" / "performance.md", list(SECTIONS))


def test_options_that_contradict_are_refused_before_anything_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--quick", "--write", "docs/performance.md"]) == 2
    assert "leave out --quick" in capsys.readouterr().err


def test_a_page_that_is_not_there_is_an_error_of_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--write", "/nowhere/performance.md", "--only", "profile"]) == 2
    assert capsys.readouterr().err == "error: /nowhere/performance.md: No such file or directory\n"


def test_text_and_markdown_show_the_same_cells() -> None:
    table = Table("T", ("name", "value"), (("a", "1"), ("longer", "22")), "note")
    cells = {"name", "value", "a", "1", "longer", "22", "note"}
    assert cells <= set(table.text().split())
    assert cells <= set(table.markdown().split())
    assert "| longer | 22 |" in table.markdown()


def test_a_table_that_is_measured_apart_states_its_own_conditions() -> None:
    made = {"studies": Table("T", ("name", "value"), (("a", "1"),), "note")}
    whole, apart = (page.parts(made, "a processor", whole=it) for it in (True, False))
    assert whole["conditions"] == "a processor"
    assert "a processor" not in whole["studies"]
    assert "conditions" not in apart
    assert apart["studies"].endswith("note\n\nMeasured apart from the rest of the page: a processor.")


def test_conditions_name_processor_cores_load_and_versions() -> None:
    found = conditions()
    assert found["cores"] >= 1
    assert len(found["load_average"]) == 3
    assert all(found[key] for key in ("cpu", "python", "numba", "numpy"))


def test_a_plot_shows_the_kinds_that_happened_and_no_others(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    (path,) = plots.draw({"profile": PROFILE, "P256": {}}, tmp_path)
    text = path.read_text()
    assert "port free" in text
    assert "pause frame" not in text
