"""Recorded runs of the public HPCC simulator and closed forms: the rows agree, and detect differences."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabric.errors import FabricError, InputErrors
from fabric.verify.fidelity import closed_forms, recorded
from fabric.verify.fidelity.case import make_case, read_case, with_seed
from fabric.verify.fidelity.simulating import simulate
from fabric.verify.fidelity.table import Row, between, exactly, within

CLOSED = closed_forms.rows(None)


def misses(row: Row) -> list[str]:
    return [f"{row.id}: {it.quantity} {it.ours} not in [{it.low}, {it.high}]" for it in row.run() if not it.agrees]


@pytest.mark.parametrize("row", CLOSED, ids=[row.id for row in CLOSED])
def test_a_closed_form_is_met_to_the_nanosecond(row: Row) -> None:
    assert not misses(row)


@pytest.mark.parametrize("half", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_every_fast_recorded_row_agrees(half: int, ns3_dir: Path) -> None:
    rows = [row for row in recorded.rows(ns3_dir) if not row.slow][half::2]
    assert len(rows) >= 10
    assert not [text for row in rows for text in misses(row)]


@pytest.mark.slow
def test_every_slow_recorded_row_agrees(ns3_dir: Path) -> None:
    assert not [text for row in recorded.rows(ns3_dir) if row.slow for text in misses(row)]


def test_every_recorded_case_has_a_row_and_every_deterministic_one_an_exact_row(ns3_dir: Path) -> None:
    ids = {row.id for row in recorded.rows(ns3_dir)}
    for file in (ns3_dir / "cases").glob("*.json"):
        assert any(it.startswith(f"ns3/{file.stem}/") for it in ids), file.stem
        if read_case(file).deterministic:
            assert f"ns3/{file.stem}/insertion" in ids


@pytest.mark.parametrize(
    ("section", "field", "value"),
    [
        ("switch", "xon_offset_bytes", 4096),
        ("switch", "buffer_bytes", 2_080_768),
        ("dcqcn", "ALPHA_RESUME_INTERVAL_us", 2),
        ("dcqcn", "RATE_DECREASE_INTERVAL_us", 5),
        ("packet", "payload_max_bytes", 999),
    ],
)
def test_a_rule_that_is_off_by_a_little_is_noticed(ns3_dir: Path, section: str, field: str, value: int) -> None:
    name = "G_B_buf2_ackq0" if section == "switch" else "C_step_ackq0"
    raw = json.loads((ns3_dir / "cases" / f"{name}.json").read_text())
    raw[section][field] = value
    result = json.loads((ns3_dir / "results" / f"{name}.json").read_text())
    findings = recorded.compare_exactly(simulate(make_case(raw), "insertion"), result)
    assert not all(finding.agrees for finding in findings)


def test_without_a_folder_there_are_no_recorded_rows_and_an_empty_folder_is_refused(tmp_path: Path) -> None:
    assert recorded.rows(None) == []
    with pytest.raises(FabricError, match=r"holds no cases/\*\.json"):
        recorded.rows(tmp_path)


def test_intervals_include_their_ends() -> None:
    assert exactly("x", 3, 3).agrees
    assert not exactly("x", 3, 3.0000001).agrees
    assert within("x", 100, 101, 0.01).agrees
    assert not within("x", 100, 101.5, 0.01).agrees
    assert between("x", 0, 5, 4, 5, "").agrees
    assert between("x", 0, 5, 4, 5, "").error_ratio is None


def plain(**changes: Any) -> dict[str, Any]:  # noqa: ANN401
    raw = closed_forms.plain_case("plain", 1, [0, 0], 100 * 10**9, 1000, [(0, 1, 5000)])
    for path, value in changes.items():
        section, _, field = path.partition("__")
        raw[section] = {**raw[section], field: value} if field else value
    return raw


@pytest.mark.parametrize(
    ("changes", "place", "text"),
    [
        ({"host__ack_mode": "q7"}, "host.ack_mode", "'q7' is unknown"),
        ({"host__window": "1 BDP"}, "host.window", "recorded windows are not read"),
        ({"packet__ack_nack_total_bytes": 64}, "packet.ack_nack_total_bytes", "64 is not the simulator's 60"),
        (
            {"switch__headroom_per_port_bytes": {"100": 37500}},
            "switch.headroom_per_port_bytes",
            "is no number of bytes",
        ),
        ({"switch__buffer_bytes": 1000}, "switch.buffer_bytes", "do not hold headroom and reserve"),
        ({"flows": []}, "flows", "there is none"),
        ({"flows": [{"id": 0, "src": 0, "dst": 2, "size_bytes": 1, "start_s": 0}]}, "flows[0]", "no pair of hosts"),
    ],
)
def test_a_case_that_is_not_supported_names_the_field(changes: dict[str, Any], place: str, text: str) -> None:
    with pytest.raises(InputErrors) as caught:
        make_case(plain(**changes))
    assert [problem.path for problem in caught.value.problems] == [place]
    assert text in caught.value.problems[0].text


def test_a_missing_field_and_a_file_that_is_no_json_name_the_file(tmp_path: Path) -> None:
    file = tmp_path / "case.json"
    raw = plain()
    del raw["dcqcn"]["EWMA_GAIN"]
    file.write_text(json.dumps(raw))
    with pytest.raises(InputErrors, match=r"case\.json: EWMA_GAIN: is missing"):
        read_case(file)
    file.write_text("{")
    with pytest.raises(FabricError, match="is no JSON"):
        read_case(file)


def test_node_numbers_of_the_simulator_decide_addresses_and_hash_seeds_also_where_switches_come_first() -> None:
    raw = plain()
    raw["topology"] = {
        "hosts": 2,
        "switch_nodes": [0],
        "links": [
            {"a": 1, "b": 0, "rate_bps": 10**11, "prop_delay_ns": 1000},
            {"a": 2, "b": 0, "rate_bps": 10**11, "prop_delay_ns": 1000},
        ],
    }
    raw["flows"] = [{"id": 7, "src": 1, "dst": 2, "size_bytes": 1000, "start_s": 0.0}]
    case = make_case(raw)
    assert [node.name for node in case.fabric.nodes] == ["n1", "n2", "n0"]
    assert [int(ip) & 0xFFFF for ip in case.params.host_ip] == [0x101, 0x201, 0x001]
    assert case.params.switches[2].hash_seed == 0
    assert simulate(case).fct_ns == {7: 2 * 83 + 2000 + 2008}


@pytest.mark.parametrize(
    ("section", "field", "value"),
    [("dcqcn", "RP_TIMER_us", 270), ("switch", "pmax", 0.4), ("switch", "kmin_bytes", 300_000)],
)
def test_thirty_seeds_notice_another_rule(ns3_dir: Path, section: str, field: str, value: float) -> None:
    file = ns3_dir / "cases" / "C.json"
    raw = json.loads(file.read_text())
    (raw[section]["ecn"] if section == "switch" else raw[section])[field] = value
    case = make_case(raw)
    runs = [simulate(with_seed(case, seed)) for seed in range(1, recorded.SEEDS + 1)]
    findings = recorded.compare_spreads(runs, recorded.read_recorded(file))
    assert [it.quantity for it in findings if not it.agrees]


@pytest.mark.parametrize("name", ["C_step_ackq0", "C_step"])
def test_the_default_order_is_held_to_the_spread_of_ties_recorded_or_measured(ns3_dir: Path, name: str) -> None:
    found = recorded.read_recorded(ns3_dir / "cases" / f"{name}.json")
    raw = json.loads(found.file.read_text())
    drawn = [simulate(make_case(raw), "insertion", tie_key=key) for key in range(1, recorded.TIES + 1)]
    findings = recorded.compare_closely(simulate(make_case(raw)), drawn, found)
    assert all(it.agrees for it in findings)
    assert any("measured" in it.tolerance for it in findings) == (found.ties is None)
    raw["dcqcn"]["RP_TIMER_us"] = 290
    findings = recorded.compare_closely(simulate(make_case(raw)), drawn, found)
    assert not all(it.agrees for it in findings)


def test_equal_moments_run_in_a_random_order_that_its_key_repeats(ns3_dir: Path) -> None:
    case = read_case(ns3_dir / "cases" / "C_step.json")
    one, same, other = (simulate(case, "insertion", tie_key=key) for key in (1, 1, 2))
    assert one.digest == same.digest
    assert dict(one.fct_ns) != dict(other.fct_ns)
    with pytest.raises(FabricError, match="random ties need the order 'insertion'"):
        simulate(case, "source", tie_key=1)
