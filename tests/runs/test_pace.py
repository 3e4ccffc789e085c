"""The estimate of a run's remaining time, and its text, over many orders of magnitude."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabric.cli.terminal import compiler_note
from fabric.cli.terminal.progress import ProgressLine, standing_text
from fabric.runs.pace import Observation, Pace
from fabric.runs.session import Progress
from fabric.units import format_bit_rate, format_duration_s, format_per_s
from tests.waiting import until

PS = 10**12
TICK_S = 0.25
NONE = np.zeros(2, np.int64)


def followed(
    total_s: float,
    gone_s: float,
    *,
    end_ps: int = PS,
    busy_ratio: float = 1.0,
    hops_per_s: float = 1e6,
    total_bytes: int | None = None,
) -> Pace:
    """A run that takes total_s at an even pace, observed every tick until gone_s have passed.

    busy_ratio: share of its duration in which its messages are done.
    """
    pace = Pace(end_ps, None if total_bytes is None else np.array([total_bytes, 0]))
    tick_s = min(TICK_S, gone_s / 40) if gone_s < 10 else gone_s / 400
    for tick in range(int(gone_s / tick_s) + 1):
        done = tick * tick_s / total_s
        sent = 0 if total_bytes is None else min(int(total_bytes * done), total_bytes)
        pace.observe(
            Observation(
                1000 + tick * tick_s,
                int(end_ps * done * busy_ratio),
                int(hops_per_s * tick * tick_s),
                np.array([sent, 0]),
            )
        )
    return pace


@pytest.mark.parametrize("total_s", [3, 10, 60, 600, 3600, 86_400, 10**6])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_an_even_run_is_estimated_within_a_tenth(total_s: float, share: float) -> None:
    eta_s = followed(total_s, share * total_s).eta_s
    if share * total_s < 2:
        assert eta_s is None
    else:
        assert eta_s == pytest.approx((1 - share) * total_s, rel=0.1, abs=0.6)


@pytest.mark.parametrize("busy_ratio", [1e-4, 1e-2, 0.3, 1.0])
def test_a_run_that_ends_when_its_messages_are_done_is_not_estimated_by_its_duration(busy_ratio: float) -> None:
    """A scenario may allow a second for messages that take a millisecond: 'at most 1 h 41 min left' for 20 s."""
    pace = followed(20, 5, busy_ratio=busy_ratio, total_bytes=10**9)
    assert pace.eta_s == pytest.approx(15, rel=0.1)
    lasting = followed(20, 5, busy_ratio=busy_ratio, total_bytes=None)
    assert lasting.eta_s is None or lasting.eta_s == pytest.approx(20 / busy_ratio - 5, rel=0.1)


def test_a_slow_beginning_is_forgotten() -> None:
    pace = Pace(PS, None)
    for tick in range(400):  # 20 s at a hundredth of the pace of the next 80 s
        at_s = tick / 4
        pace.observe(Observation(at_s, int(PS * (at_s * 1e-5 if at_s < 20 else 2e-4 + (at_s - 20) * 1e-3)), 0, NONE))
    assert pace.eta_s == pytest.approx((1 - 0.08) / 1e-3, rel=0.05)


def test_towards_the_end_the_slowest_receiver_counts() -> None:
    """Ten receivers are done after 10 s; the eleventh gets a twentieth of their rate."""
    expected = np.full(11, 10**9)
    pace = Pace(PS, expected)
    for tick in range(480):
        at_s = tick / 4
        got = np.minimum(expected, np.array([10**8 * at_s] * 10 + [5 * 10**6 * at_s], np.int64).astype(np.int64))
        pace.observe(Observation(at_s, int(PS * at_s * 1e-6), 0, got))
    assert pace.eta_s == pytest.approx(200 - 119.75, rel=0.05)


def test_a_long_run_with_many_hosts_keeps_few_observations() -> None:
    pace = followed(10**5, 5 * 10**4, total_bytes=10**9)
    assert len(pace._observations) < 200


def test_there_is_no_estimate_before_the_first_measurement() -> None:
    pace = Pace(PS, None)
    assert (pace.eta_s, pace.hops_per_s) == (None, None)
    pace.observe(Observation(0.0, 0, 0, NONE))
    assert (pace.eta_s, pace.hops_per_s) == (None, None)
    for tick in range(1, 100):
        pace.observe(Observation(tick * 0.25, 0, 0, NONE))  # simulated time does not advance
    assert (pace.eta_s, pace.hops_per_s) == (None, 0.0)


@pytest.mark.parametrize("hops_per_s", [3.0, 900.0, 6e4, 3.27e6, 1.4e10])
def test_packet_hops_are_counted_over_the_last_seconds(hops_per_s: float) -> None:
    assert followed(100, 50, hops_per_s=hops_per_s).hops_per_s == pytest.approx(hops_per_s, rel=0.02, abs=1)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 hops/s"),
        (0.5, "0.5 hops/s"),
        (7, "7 hops/s"),
        (850, "850 hops/s"),
        (999.6, "1 k hops/s"),
        (1000, "1 k hops/s"),
        (60_400, "60.4 k hops/s"),
        (999_999, "1 M hops/s"),
        (3_270_000, "3.27 M hops/s"),
        (14e6, "14 M hops/s"),
        (2.5e9, "2.5 G hops/s"),
        (999.9e6, "1 G hops/s"),
    ],
)
def test_a_rate_is_shown_in_a_unit_that_fits_it(value: float, text: str) -> None:
    assert format_per_s(value, "hops") == text


@pytest.mark.parametrize("exponent", range(-1, 12))
@pytest.mark.parametrize("digit", [1.0, 2.57, 9.99])
def test_no_rate_is_shown_as_zero(digit: float, exponent: int) -> None:
    value = digit * 10**exponent
    number, *prefix, _ = format_per_s(value, "hops").split(" ")
    shown = float(number) * {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}["".join(prefix)]
    assert shown == pytest.approx(value, rel=0.006)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.2, "less than 1 s"),
        (1, "1 s"),
        (20.4, "20 s"),
        (59.4, "59 s"),
        (59.6, "1 min"),
        (61, "1 min 1 s"),
        (3599.7, "1 h"),
        (3600, "1 h"),
        (6060, "1 h 41 min"),
        (7199, "1 h 59 min"),
        (86_400, "1 d"),
        (90_000, "1 d 1 h"),
        (10**7, "115 d 17 h"),
    ],
)
def test_a_duration_is_shown_in_its_two_largest_units(seconds: float, text: str) -> None:
    assert format_duration_s(seconds) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0bit/s"), (500, "500bit/s"), (41.32e9, "41.32Gbit/s"), (1.135e12, "1.135Tbit/s")]
)
def test_a_bit_rate_has_one_unit(value: float, text: str) -> None:
    assert format_bit_rate(value) == text


def standing(**changes: Any) -> Progress:  # noqa: ANN401  fields of Progress
    return Progress(
        **{"now_ps": 32 * 10**8, "end_ps": 10**10, "packet_hops": 1, "hops_per_s": 4.1e6, "eta_s": 20.2, "latest": None}
        | changes
    )


def test_the_progress_line_shows_only_known_values() -> None:
    assert standing_text(standing()) == "3.2ms of 10ms, 4.1 M packet-hops/s, about 20 s left"
    assert standing_text(standing(eta_s=0.3)) == "3.2ms of 10ms, 4.1 M packet-hops/s, less than 1 s left"
    assert standing_text(standing(eta_s=None, hops_per_s=51_000.0)) == "3.2ms of 10ms, 51 k packet-hops/s"
    assert standing_text(standing(eta_s=None, hops_per_s=None)) == "3.2ms of 10ms"
    assert standing_text(standing(eta_s=None, hops_per_s=0.0)) == "3.2ms of 10ms"


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler_note, "NOTE_AFTER_S", 0.02)
    monkeypatch.setattr(compiler_note, "LINE_EVERY_S", 600.0)
    monkeypatch.setattr(compiler_note, "is_first_use", lambda: True)


@pytest.mark.usefixtures("eager")
def test_a_wait_without_the_compiler_is_not_put_down_to_it() -> None:
    out = io.StringIO()
    with ProgressLine(out, quiet=False):
        time.sleep(0.2)  # such as thousands of route changes being prepared
    assert out.getvalue() == ""


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("quiet", [False, True])
def test_the_compiler_is_named_while_it_is_at_work(quiet: bool) -> None:
    out, shown = io.StringIO(), f"{compiler_note.FIRST_LINE}\n"
    numba = pytest.importorskip("numba")
    from fabric.dataplane.state.compiled.jit import is_compiled

    if not is_compiled():
        pytest.skip("nothing is compiled with NUMBA_DISABLE_JIT=1")

    def placeholder() -> int:
        return 0

    def compiled_slowly() -> Callable[[], int]:
        """What the compiler is to put in place of it: it asks, and waits for the answer."""
        if not quiet:
            until(out.getvalue, "the compiler is named")
        return placeholder

    def asking() -> int:
        return placeholder()

    numba.extending.overload(placeholder)(compiled_slowly)
    with ProgressLine(out, quiet=quiet):
        numba.njit(asking)()
        numba.njit(_quick_to_compile)(3)
    assert out.getvalue() == ("" if quiet else shown)


def _quick_to_compile(number: int) -> int:
    return number + 1


@pytest.mark.usefixtures("eager")
def test_a_kernel_that_no_run_needed_before_is_not_announced_as_the_whole_engine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    event = pytest.importorskip("numba.core.event")
    monkeypatch.setattr(compiler_note, "is_first_use", lambda: False)
    out = io.StringIO()
    with compiler_note.CompilerNote(out, quiet=False):
        event.start_event("numba:compile")
        until(out.getvalue, "the compiler is named")
        event.end_event("numba:compile")
    assert out.getvalue() == f"{compiler_note.ANOTHER_PART}\n"


@pytest.mark.usefixtures("eager")
def test_a_long_compilation_says_how_long_it_has_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    event = pytest.importorskip("numba.core.event")
    monkeypatch.setattr(compiler_note, "LINE_EVERY_S", 0.02)
    out, times = io.StringIO(), iter(range(0, 1_000, 10))
    with compiler_note.CompilerNote(out, quiet=False, clock=lambda: next(times)):
        for _ in range(2):  # two kernels, one after the other: the time is that of both
            event.start_event("numba:compile")
            lines = len(out.getvalue().splitlines())
            until(lambda: len(out.getvalue().splitlines()) > lines + 1, "another line")  # noqa: B023
            event.end_event("numba:compile")
    first, *later = out.getvalue().splitlines()
    assert first == compiler_note.FIRST_LINE
    assert later == [f"compiling the engine: {format_duration_s(10.0 * n)} so far" for n in range(2, 2 + len(later))]
    assert len(later) > 2


def test_a_study_says_that_its_runs_wait_for_the_compiler_only_where_nothing_is_compiled_yet(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from fabric.cli.terminal.study_progress import StudyProgress
    from fabric.studies import code

    if not code.is_compiled():
        pytest.skip("nothing is compiled with NUMBA_DISABLE_JIT=1")
    monkeypatch.setattr(code, "cache_folder", lambda: tmp_path)
    told = []
    for file in ("", "loop.nbi"):
        if file:
            (tmp_path / file).touch()
        out = io.StringIO()
        with StudyProgress(out, quiet=False) as line:
            line.begins(4, "2 processes", 10.0)
        told.append(compiler_note.BEFORE_OTHERS in out.getvalue())
    assert told == [True, False]
