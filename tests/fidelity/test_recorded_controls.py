"""DCTCP, TIMELY, HPCC and HPCC-PINT against recorded runs of the public HPCC simulator: equal to the nanosecond."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, Final

import pytest

from fabric.errors import InputErrors
from fabric.verify.fidelity import recorded
from fabric.verify.fidelity.case import make_case, read_case
from fabric.verify.fidelity.case_files import case_files, name_of, plain_text
from fabric.verify.fidelity.simulating import simulate
from tests.recordings import NS3_CC

EXACT: Final = [row for row in recorded.rows(NS3_CC) if row.id.endswith("/insertion")]
QUICK: Final = [row for row in EXACT if not row.slow]


def misses(rows: list[Any]) -> list[str]:
    return [
        f"{row.id}: {it.quantity} {it.ours} not in [{it.low}, {it.high}]"
        for row in rows
        for it in row.run()
        if not it.agrees
    ]


def raw_of(name: str) -> dict[str, Any]:
    raw: dict[str, Any] = json.loads(gzip.decompress((NS3_CC / "cases" / f"{name}.json.gz").read_bytes()))
    return raw


def test_every_deterministic_case_has_an_exact_row() -> None:
    files = case_files(NS3_CC)
    assert len(files) == 77
    random = {name_of(file) for file in files if not read_case(file).deterministic}
    assert random == {"dctcp_b4_coin_ackq0"}
    assert {row.id.split("/")[1] for row in EXACT} == {name_of(file) for file in files} - random


@pytest.mark.parametrize("control", ["dctcp", "timely", "hpcc", "pint"])
def test_every_flow_and_pause_is_equal(control: str) -> None:
    rows = [row for row in QUICK if control in row.id]
    assert len(rows) >= (6 if control == "pint" else 15)
    assert not misses(rows)


@pytest.mark.slow
@pytest.mark.parametrize("control", ["dctcp", "timely", "hpcc"])
def test_every_flow_of_websearch_is_equal(control: str) -> None:
    """366 flows of 64 hosts; flows start after all else that is due at their instant."""
    rows = [row for row in EXACT if row.id == f"ns3/{control}_d_ackq0/insertion"]
    assert len(rows) == 1
    assert not misses(rows)


@pytest.mark.parametrize(
    "name",
    [
        "dctcp_b2_ackq0",
        "hpcc_b2_ackq0",
        *(pytest.param(it, marks=pytest.mark.slow) for it in ("timely_b2_ackq0", "hpcc_chain6_ackq0", "pint_c_ackq0")),
    ],
)
def test_the_default_order_lies_within_the_spread_of_ties(name: str) -> None:
    (row,) = (row for row in recorded.rows(NS3_CC) if row.id == f"ns3/{name}/windows")
    assert not misses([row])


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("dctcp_b2_k30_ackq0", "EWMA_GAIN", 0.0626),
        ("dctcp_b2_k30_ackq0", "DCTCP_RATE_AI_Mbps", 616),
        ("dctcp_b2_k30_ackq0", "HAS_WIN", 0),
        ("timely_b2_ackq0", "RATE_AI_Mbps", 101),
        ("timely_b2_ackq0", "MIN_RATE_Mbps", 20_000),
        ("hpcc_b2_ackq0", "U_TARGET", 0.951),
        ("hpcc_b2_ackq0", "RATE_AI_Mbps", 41),
        ("hpcc_b2_ackq0", "MI_THRESH", 1),
        ("hpcc_b2_ackq0", "INT_MULTI", 2),
        ("hpcc_b2_ackq0", "FAST_REACT", 0),
        ("hpcc_b2_ackq0", "SAMPLE_FEEDBACK", 1),
        ("pint_b4_ackq0", "U_TARGET", 0.951),
        ("pint_b4_ackq0", "MI_THRESH", 1),
        ("pint_b4_ackq0", "PINT_LOG_BASE", 1.011),
        ("pint_b4_ackq0", "PINT_PROB", 0.9999),
    ],
)
def test_a_law_that_is_off_by_a_little_is_noticed(name: str, field: str, value: float) -> None:
    raw = raw_of(name)
    raw["cc"][field] = value
    result = recorded.read_recorded(NS3_CC / "cases" / f"{name}.json.gz").result
    assert not all(it.agrees for it in recorded.compare_exactly(simulate(make_case(raw), "insertion"), result))


def test_one_flow_without_a_reaction_takes_the_closed_form() -> None:
    """5000 frames of 1056 or 1048 bytes at 100G over three links of 1 us, and the last ACK's way back."""
    assert simulate(make_case(raw_of("timely_a_ackq0")), "insertion").fct_ns == {
        0: 84 * 5000 + 84 * 2 + 3000 + 3 * 1004
    }
    assert simulate(make_case(raw_of("dctcp_a_ackq0")), "insertion").fct_ns == {0: 83 * 5000 + 83 * 2 + 3000 + 3 * 1004}


def test_frames_carry_the_bytes_of_their_telemetry() -> None:
    sizes = {
        name: make_case(raw_of(name)).params.frames
        for name in ("dctcp_a_ackq0", "timely_a_ackq0", "hpcc_a_ackq0", "pint_a_ackq0")
    }
    assert {name: (it.data_header_bytes, it.ack_bytes) for name, it in sizes.items()} == {
        "dctcp_a_ackq0": (48, 60),
        "timely_a_ackq0": (56, 60),
        "hpcc_a_ackq0": (90, 88),
        "pint_a_ackq0": (50, 60),
    }


def test_windows_are_of_all_hosts_or_of_each_pair() -> None:
    together, own = make_case(raw_of("rand_hpcc_004")).params, make_case(raw_of("rand_hpcc_008")).params
    assert together.queue_pairs.window_bytes is None
    assert own.queue_pairs.window_bytes is not None
    assert own.queue_pairs.base_rtt_ns is not None
    assert len(set(own.queue_pairs.window_bytes.tolist())) > 1
    assert int(own.queue_pairs.window_bytes.max()) <= own.transport.window_bytes


def test_a_case_with_another_control_or_other_frames_names_the_field() -> None:
    for section, field, value, path in (
        ("cc", "cc_mode", 9, "cc.cc_mode"),
        ("packet", "data_header_bytes", 48, "packet.data_header_bytes"),
    ):
        raw = raw_of("hpcc_a_ackq0")
        raw[section][field] = value
        with pytest.raises(InputErrors) as caught:
            make_case(raw)
        assert path in {problem.path for problem in caught.value.problems}


def test_a_compressed_case_that_is_damaged_or_too_large_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "x.json.gz"
    file.write_bytes(b"no gzip")
    with pytest.raises(InputErrors, match="is not compressed by gzip"):
        read_case(file)
    file.write_bytes(gzip.compress(b" " * 100))
    with pytest.raises(InputErrors, match="larger than the maximum when decompressed"):
        plain_text(file, 50, "")
    file.write_bytes(gzip.compress(b"\xff"))
    with pytest.raises(InputErrors, match="is not UTF-8"):
        plain_text(file, 50, "")
