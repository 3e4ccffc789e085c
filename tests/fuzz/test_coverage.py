"""The generator makes everything that the schema allows: a field or word that is added to it is missed by name."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

import pytest
from pydantic import BaseModel, Field

from fabric.scenario.schema.expectations import METRICS, OPERATORS
from fabric.scenario.schema.scenario import Scenario
from tests.fuzz.campaign import made
from tests.fuzz.choices import seeded
from tests.fuzz.filling import NoStrategyError, World, fill, strategy
from tests.fuzz.models import contents, models, universe

CASES = 20_000


def test_every_field_of_the_schema_has_values() -> None:
    missing = []
    for name, model in models().items():
        for field in model.model_fields:
            try:
                strategy(model, field)
            except NoStrategyError:
                missing.append(f"{name}.{field}")
    assert not missing, "add values for them to tests/fuzz"


REFUSED: Final = {("TransportOverride", *it) for it in (("cc", "hpcc-pint"), ("pint", ""), ("pint", "Pint"))}
"""HPCC-PINT cannot be one of several controls (docs/congestion-control.md)."""


@pytest.mark.slow  # the rarest word, a preset of an override, takes some thousands of scenarios
def test_every_field_word_and_kind_of_the_schema_is_generated(tmp_path: Path) -> None:
    missing: set[object] = {*universe(), *METRICS, *OPERATORS} - REFUSED
    for seed in range(CASES):
        if not missing:
            break
        scenario = Scenario.model_validate(made("valid", seed, tmp_path).raw)
        missing.difference_update(contents(scenario))
        missing.difference_update(word for it in scenario.expectations for word in (it.metric, it.op))
    assert not missing


def test_the_universe_holds_kinds_words_flags_and_nested_models() -> None:
    assert {
        ("Scenario", "topology", "RailSpec"),
        ("Watchdog", "action", "alert"),
        ("SwitchesSpec", "ecn", "EcnCurve"),
        ("SwitchesSpec", "ecn", "sonic"),
        ("BgpSpec", "unnumbered", "True"),
        ("PolicySet", "med", ""),
        ("SwitchOverride", "asic", "jericho2c+"),
        ("QpPolicy", "per", "pair"),
    } <= universe()


class _Grown(BaseModel):
    """A section that has gained fields."""

    word: Literal["a", "b"] = Field("a")
    size: int = Field(3)


def test_a_new_field_needs_values_and_a_new_word_does_not() -> None:
    world = World(seeded(1), 1000)
    assert {strategy(_Grown, "word")(world) for _ in range(50)} == {"a", "b"}
    with pytest.raises(NoStrategyError, match=r"_Grown\.size"):
        strategy(_Grown, "size")
    assert fill(world, _Grown, {"size": None, "word": "b"}) == {"word": "b"}
