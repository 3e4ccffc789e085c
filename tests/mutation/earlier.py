"""Scores of earlier states, which no run of today's code can give again."""

from __future__ import annotations

from typing import Final, NamedTuple

EARLIER_TEXT: Final = """Scores of earlier states. "Before the move": the code and tests of 2b83f1d, before packages got
their places of [architecture.md](architecture.md), with this runner and its seed, samples of
12; its engine was not tried, because golden runs of plain Python take too long. "Without" and
"with": samples of 24 of a later state, without and with the tests at the thresholds
(tests/edges, tests/validate/test_edges.py) that were written then
([0042](decisions/0042-mutants-run-in-forks.md)). All are lower bounds, as above; the code has
grown since, so today's table is of other mutants."""


class Earlier(NamedTuple):
    """Scores of one package; empty where none was measured."""

    package: str
    moved: str
    """Of the code before the move of packages."""
    without: str
    """Of the code after it, without the tests at the thresholds."""
    together: str
    """With them."""


EARLIER: Final = (
    Earlier("port", "", "50%", "83%"),
    Earlier("transport", "", "33%", "88%"),
    Earlier("switch", "", "54%", "79%"),
    Earlier("host", "", "43%", "78%"),
    Earlier("checks", "42% (19%–68%)", "52%", "86%"),
    Earlier("headroom", "50% (25%–75%)", "", ""),
    Earlier("decision", "42% (19%–68%)", "", ""),
    Earlier("overlay", "92% (65%–99%)", "", ""),
)
