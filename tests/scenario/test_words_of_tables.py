"""A field takes the words of the table or enum behind it, and no others: an entry without its word cannot be chosen."""

from __future__ import annotations

from typing import Any, Final, get_args

import pytest

from fabric.dataplane.state.codes import HashAlgorithm, LoadBalance
from fabric.scenario.presets.dcqcn import DCQCN_PRESETS
from fabric.scenario.presets.models import ECN_CURVES
from fabric.scenario.schema.endpoints import DcqcnName
from fabric.scenario.schema.switches import EcnName, EcnPreset, Hash, SwitchSettings


def words(model: Any, field: str) -> set[str]:  # noqa: ANN401  a pydantic model
    """Of an optional field that takes words."""
    annotation = model.model_fields[field].annotation
    return {word for member in get_args(annotation) for word in get_args(member)}


TAKEN: Final[dict[str, tuple[set[str], set[str]]]] = {
    "ECN curves": (set(get_args(EcnPreset)), set(ECN_CURVES)),
    "ECN curves, and off": (set(get_args(EcnName)), {"off", *ECN_CURVES}),
    "DCQCN presets": (set(get_args(DcqcnName)), set(DCQCN_PRESETS)),
    "hash algorithms": (words(Hash, "algorithm"), {it.name.lower() for it in HashAlgorithm}),
    "load balancing": (
        words(SwitchSettings, "load_balancing"),
        {it.name.lower().replace("_", "-") for it in LoadBalance},
    ),
}


@pytest.mark.parametrize("what", TAKEN)
def test_the_words_of_a_field_are_the_entries_of_its_table(what: str) -> None:
    taken, entries = TAKEN[what]
    assert taken == entries
