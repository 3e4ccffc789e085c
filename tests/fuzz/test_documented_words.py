"""Every value that the reference of scenarios documents by a word may be written in YAML as it is documented."""

from __future__ import annotations

from typing import Any, Literal, get_args, get_origin

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from fabric.scenario.yaml_input import read_yaml
from tests.fuzz.models import alternatives, members, models

Word = tuple[type[BaseModel], str, str]


def words() -> list[Word]:
    """(model, field, word) of the schema; flags are written as YAML writes them."""
    return [
        (model, field, word)
        for model in models().values()
        for field, info in model.model_fields.items()
        for word in alternatives(info.annotation)[0]
        if word not in {"True", "False"}
    ]


def stands_alone(model: type[BaseModel], field: str, word: str) -> bool:
    """Whether the word is the field's value, not one within a list or a mapping."""
    literals = (it for it in members(model.model_fields[field].annotation) if get_origin(it) is Literal)
    return any(word in map(str, get_args(it)) for it in literals)


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Word, Any]]:
    """Every word, and what it is in a scenario file that has it without quotation marks."""
    file = tmp_path_factory.mktemp("words") / "words.yml"
    found = words()
    lines = [f"w{row}: {word}\n" for row, (_, _, word) in enumerate(found)]
    file.write_text("".join(lines), encoding="utf-8")
    values = read_yaml(file)
    return [(word, values[f"w{row}"]) for row, word in enumerate(found)]


def test_a_documented_word_is_itself_in_yaml(read: list[tuple[Word, Any]]) -> None:
    assert len(read) > 150
    assert {"off", "frr", "done"} <= {word for (_, _, word), _ in read}
    wrong = [
        f"{model.__name__}.{field}: {word} is {value!r}" for (model, field, word), value in read if str(value) != word
    ]
    assert wrong == []


def test_a_field_takes_each_of_its_documented_words(read: list[tuple[Word, Any]]) -> None:
    refused = []
    for (model, field, word), value in read:
        try:
            if stands_alone(model, field, word):
                TypeAdapter[Any](model.model_fields[field].rebuild_annotation()).validate_python(value)
        except ValidationError as error:
            refused.append(f"{model.__name__}.{field}: {word}: {error.errors()[0]['msg']}")
    assert refused == []
