"""The grammar of expectations."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter

from fabric.errors import UnitError
from fabric.scenario.schema.expectations import FORMER_NAMES, METRICS, OPERATORS, Expectation, parse
from fabric.studies.schema import Measure

SAMPLES = {"count": "3", "time": "2ms", "size": "64KiB", "rate": "10G", "ratio": "0.25"}


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_can_be_expected_and_is_written_as_it_was_read(metric: str) -> None:
    text = f"{metric} <= {SAMPLES[METRICS[metric][0]]}"
    assert str(parse(text)) == text


@pytest.mark.parametrize(
    ("op", "below", "same", "above"),
    [
        ("==", False, True, False),
        ("!=", True, False, True),
        ("<", True, False, False),
        ("<=", True, True, False),
        (">", False, False, True),
        (">=", False, True, True),
    ],
)
def test_an_operator_means_what_it_says(op: str, below: bool, same: bool, above: bool) -> None:
    expectation = parse(f"drops.total {op} 5")
    assert [expectation.holds(value) for value in (4, 5, 6)] == [below, same, above]
    assert set(OPERATORS) == {"==", "!=", "<", "<=", ">", ">="}


@pytest.mark.parametrize(("former", "today"), FORMER_NAMES.items())
def test_a_former_name_of_a_metric_is_read_as_todays(former: str, today: str) -> None:
    assert former not in METRICS
    assert str(parse(f"{former} > 3")) == f"{today} > 3"
    assert TypeAdapter(Measure).validate_python(former) == today


def test_a_mapping_equals_a_sentence() -> None:
    assert (
        parse({"metric": "fct.p99", "op": "<", "value": "2ms"})
        == parse("fct.p99<2ms")
        == Expectation("fct.p99", "<", 2 * 10**9, "time")
    )


@pytest.mark.parametrize(
    "text", ["drops.total == nan", "drops.total == 1.5", "fct.p99 < 2", "queue.peak < 10us", "nothing", 5]
)
def test_a_value_of_the_wrong_kind_is_refused(text: object) -> None:
    with pytest.raises(UnitError):
        parse(text)


def test_zero_time_needs_no_unit() -> None:
    assert parse("pfc.paused_time == 0").value == 0
