"""Reading YAML takes a small multiple of the time that libyaml needs for its events, and grows with the text."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
import yaml

from fabric.scenario.yaml_input import parse_yaml
from fabric.yamltext import build

MOST: Final = 6
"""Our reader over libyaml alone: 2 to 3.5 measured; PyYAML's own CSafeLoader takes about 10, its Python loader 60."""


def _keys(size_bytes: int) -> str:
    return "".join(f"key{number}: {number}\n" for number in range(size_bytes // 18))


def _messages(size_bytes: int) -> str:
    rows = (
        f"      - {{id: m{number}, src: host1, dst: host2, size: 1000B, start: {number}ns, priority: 3}}\n"
        for number in range(size_bytes // 78)
    )
    return "name: s\nworkload:\n  - kind: messages\n    messages:\n" + "".join(rows)


TEXTS = {"keys": _keys, "messages in flow style": _messages}


def _cpu_s(*does: Callable[[], object], tries: int) -> list[float]:
    """CPU seconds of each, the least of some tries, in turns: other programs only add to it, and to all of them."""
    least = [float("inf")] * len(does)
    for _ in range(tries):
        for number, do in enumerate(does):
            began = time.process_time()
            do()
            least[number] = min(least[number], time.process_time() - began)
    return least


def _events(text: str) -> None:
    for _ in yaml.parse(text, Loader=yaml.CSafeLoader):
        pass


@pytest.mark.parametrize("kind", TEXTS)
def test_yaml_takes_a_small_multiple_of_the_time_of_its_events(kind: str) -> None:
    text = TEXTS[kind](160_000)
    bare, ours = _cpu_s(lambda: _events(text), lambda: parse_yaml(text, Path("x.yml")), tries=7)
    assert ours < MOST * bare


@pytest.mark.slow
@pytest.mark.parametrize("kind", TEXTS)
def test_four_times_the_yaml_takes_about_four_times_as_long(kind: str) -> None:
    small, large = (TEXTS[kind](size) for size in (1 << 20, 4 << 20))
    once, four = _cpu_s(lambda: parse_yaml(small, Path("x.yml")), lambda: parse_yaml(large, Path("x.yml")), tries=3)
    assert four < 8 * once


def test_keys_that_are_given_twice_are_found_in_linear_time() -> None:
    def found(size_bytes: int) -> int:
        doubles: list[tuple[int, int]] = []
        text = 2 * _keys(size_bytes)
        build(
            text,
            lambda word, _plain, _line: word,
            max_nodes=10**6,
            too_many="",
            twice=lambda _, *lines: doubles.append(lines),
        )
        return len(doubles)

    assert found(18_000) == 1_000
    once, four = _cpu_s(lambda: found(90_000), lambda: found(360_000), tries=3)
    assert four < 8 * once
