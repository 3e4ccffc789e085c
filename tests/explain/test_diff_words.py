"""What `fabric diff` says first: which settings differ, and up to three figures that changed most."""

from __future__ import annotations

from typing import Any

from fabric.explain.diff_words import sentence


def row(metric: str, before: float | None, after: float | None) -> dict[str, Any]:
    """A row of compare()'s metrics."""
    change = None if not before or after is None else after / before - 1
    counts = {f"{side}_{what}": None for side in "ab" for what in ("left_out", "count")}
    return {"metric": metric, "a": before, "b": after, "change": change, **counts}


def found(*metrics: dict[str, Any], same: bool = False, **scenario: tuple[object, object]) -> dict[str, Any]:
    """What compare() finds, as far as the sentence reads it; `__` stands for a dot of a path."""
    fields = {name.replace("__", "."): list(pair) for name, pair in scenario.items()}
    return {"same": same, "manifest": {}, "scenario": fields, "metrics": list(metrics)}


def test_one_setting_and_the_three_figures_that_changed_most() -> None:
    rows = [
        row("fct.p50", 100, 1_000),
        row("fct.p99", 1_000, 1_500),
        row("goodput.total", 100e9, 50e9),
        row("pfc.pauses", 0, 244),
        row("queue.peak", 1_000, 1_001),
    ]
    assert sentence(found(*rows, switches__ecn__kmin=("100KB", "20MB"), name=("a", "b"))) == (
        "One setting differs, switches.ecn.kmin 100KB -> 20MB; most changed: pfc.pauses 0 -> 244, "
        "goodput.total 100Gbit/s -> 50Gbit/s (-50.0%), fct.p99 1us -> 1.5us (+50.0%) (2 more metrics differ)."
    )


def test_what_only_one_run_has_and_more_settings_than_are_named() -> None:
    fields: dict[str, tuple[object, object]] = {f"f{number}": (1, 2) for number in range(2)}
    told = sentence(found(added=(None, True), gone=({"kind": "x"}, None), **fields))
    assert told == (
        "4 settings differ, added only in the second run (true), gone only in the first run ({kind: x}), f0 1 -> 2 and "
        "1 more; no metric differs."
    )


def test_other_metrics_are_named_where_few_of_the_usual_ones_differ() -> None:
    told = sentence(found(row("bgp.updates", 3, 6), row("cnp.sent", 4, 5)))
    assert told == "No setting differs; most changed: bgp.updates 3 -> 6 (+100.0%), cnp.sent 4 -> 5 (+25.0%)."


def test_equal_results_and_another_program() -> None:
    assert sentence(found(same=True)) == "The same result: the digests are equal."
    assert sentence(found(same=True, run__threads=(1, 2))) == (
        "The same result: the digests are equal, although one setting differs, run.threads 1 -> 2."
    )
    other = found(row("fct.p99", 1_000, 2_000))
    other["manifest"] = {"version": ["1.0", "1.1"]}
    assert sentence(other).startswith("No setting differs, but the program does: 1.0 -> 1.1; most changed: fct.p99 1us")
