"""Logs of nccl-tests, and their comparison."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Final

import pytest

from fabric.errors import InputErrors
from fabric.traces.nccl_tests.compare import Series, compare, fit, series
from fabric.traces.nccl_tests.log import read_log
from tests.traces.damaged_bytes import STEPS, damaged

HEAD: Final = """# nccl-tests version 2.19.6 nccl-headers=23007 nccl-library=23007
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 2 minBytes 1024 maxBytes 4096
#
# Using devices
#  Rank  0 Group  0 Pid   4711 on     node1 device  0 [0000:1b:00] NVIDIA H100
#  Rank  1 Group  0 Pid   4711 on     node1 device  1 [0000:43:00] NVIDIA H100
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)
"""
ROWS: Final = """  1024   256  float  sum  -1    12.00  0.09  0.09    0   11.00  0.09  0.09    0
  2048   512  float  sum  -1    14.00  0.15  0.15    0   13.00  0.15  0.15    0
  4096  1024  float  sum  -1  1.8e+01  0.23  0.23  N/A   17.00  0.23  0.23  N/A
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 0.156667
"""


def log(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "log.txt"
    path.write_text(text)
    return path


def test_a_log_names_its_operation_ranks_and_times(tmp_path: Path) -> None:
    read = read_log(log(tmp_path, HEAD + ROWS))
    assert (read.operation, read.n_ranks, read.average_busbw_gbs) == ("all-reduce", 2, 0.156667)
    assert [(row.size_bytes, row.out_of_place_us, row.in_place_us, row.n_wrong) for row in read.rows] == [
        (1024, 12.0, 11.0, 0), (2048, 14.0, 13.0, 0), (4096, 18.0, 17.0, None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "row",
    [
        "2048 512 float none -1 14.0 1 1 12.0 16.0 15.5 1.5 0 13.0 1 1 12.0 16.0 15.5 1.5 0",
        "2048 512 float none -1 14.0 1 1 0 13.0 1 1 0 2026-11-22 10:00:01",
        "2048 512 float none -1 14.0 1 1 12.0 16.0 15.5 1.5 0 13.0 1 1 12.0 16.0 15.5 1.5 0 2026-11-22 10:00:01",
    ],
)
def test_columns_of_ranges_and_time_stamps_are_left_out(tmp_path: Path, row: str) -> None:
    read = read_log(log(tmp_path, HEAD + row + "\n")).rows[0]
    assert read.out_of_place_us == 14.0
    assert read.n_wrong == 0


def test_json_of_the_program_reads_like_its_text(tmp_path: Path) -> None:
    times = {1024: (12.0, 11.0), 2048: (14.0, 13.0), 4096: (18.0, 17.0)}
    value = {
        "version": "2.19.6",
        "args": ["./build/all_reduce_perf", "-J", "x.json"],
        "devices": [{"rank": 0}, {"rank": 1}],
        "results": [
            {"size": size, "count": size // 4, "type": "float", "redop": "sum", "root": -1,
             "out_of_place": {"time": out, "nwrong": 0}, "in_place": {"time": inside, "nwrong": 0}}
            for size, (out, inside) in times.items()
        ],
        "average_bus_bandwidth": {"bandwidth": 0.156667},
    }  # fmt: skip
    text = read_log(log(tmp_path, HEAD + ROWS))
    read = read_log(log(tmp_path, json.dumps(value)))
    assert series(read) == series(text)
    assert read.average_busbw_gbs == text.average_busbw_gbs


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD, "has no line of results"),
        (HEAD + "1024 256 float sum -1 12.0\n", "has 6 columns"),
        (HEAD + "1024 256 float sum -1 zero 1 1 0 1 1 1 0\n", "out-of-place time 'zero'"),
        (HEAD + "1024 256 float sum -1 nan 1 1 0 1 1 1 0\n", "out-of-place time 'nan'"),
        ('{"results": 3}', "results: is not a list"),
        ('{"results": [{"size": 3}]}', "results.0: has no size"),
        ("{", "not JSON"),
    ],
)
def test_a_wrong_log_is_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputErrors) as caught:
        read_log(log(tmp_path, text))
    assert said in str(caught.value)


def test_the_fit_finds_alpha_and_beta(tmp_path: Path) -> None:
    line = fit(series(read_log(log(tmp_path, HEAD + ROWS))).time_us.items())
    assert line is not None
    assert line.alpha_us == pytest.approx(10.0)
    assert line.beta_gbs == pytest.approx(0.512)
    assert fit([(8, 1.0)]) is None
    assert math.isinf((fit([(8, 1.0), (16, 1.0)]) or line).beta_gbs)


def test_ratios_are_of_common_sizes_and_unlike_runs_are_refused() -> None:
    one = Series("a", "all-reduce", 4, {8: 2.0, 16: 4.0, 32: 8.0})
    two = Series("b", "all-reduce", 4, {16: 2.0, 32: 16.0, 64: 1.0})
    found = compare(one, two)
    assert [(it.size_bytes, it.ratio) for it in found.ratios] == [(16, 0.5), (32, 2.0)]
    assert found.geometric_mean_ratio == pytest.approx(1.0)
    assert (found.only_first, found.only_second) == ((8,), (64,))
    with pytest.raises(InputErrors) as caught:
        compare(one, Series("c", "all-gather", 8, {1: 1.0}))
    assert len(caught.value.problems) == 3


@pytest.mark.parametrize("step", STEPS)
def test_every_truncation_and_bit_flip_is_read_or_refused(tmp_path: Path, step: int) -> None:
    good = ROWS.encode()
    every = list(damaged(good, step))
    path, refused = tmp_path / "log.txt", 0
    for data in every:
        path.write_bytes(data)
        try:
            compare(series(read_log(path)), series(read_log(path)))
        except InputErrors:
            refused += 1
    assert refused > len(every) // 10
