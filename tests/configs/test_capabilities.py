"""What a language can do is data: the table has every language, and no code asks for a language's name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, get_args

import pytest

import fabric
from fabric.configs.capabilities import CAPABILITIES, Language
from fabric.configs.load import parse_device

_ROOT: Final = Path(fabric.__file__).parent
_NAMES: Final = "|".join(get_args(Language))
_TEXTS: Final[dict[str, str]] = {
    "sonic": '{"PORT": {"Ethernet0": {}}}',
    "nvue": "- set:\n    interface:\n      swp1: {}\n",
    "eos": "qos profile X\n",
    "nxos": "feature bgp\n",
}


def test_every_language_has_one_row() -> None:
    assert set(CAPABILITIES) == set(get_args(Language)) == set(_TEXTS)


@pytest.mark.parametrize("language", CAPABILITIES)
def test_a_device_has_the_row_of_its_language(language: Language) -> None:
    assert parse_device(_TEXTS[language], "x").capabilities is CAPABILITIES[language]


def test_no_code_compares_the_name_of_a_language() -> None:
    compares = re.compile(rf"language\s*(?:[!=]=|not in|in)\s|[!=]= ?['\"](?:{_NAMES})['\"]")
    assert not [it for it in sorted(_ROOT.rglob("*.py")) if compares.search(it.read_text(encoding="utf-8"))]
