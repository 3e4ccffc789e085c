"""A plugin of pytest: tests in another order, by `--shuffle SEED`, so that one that needs an earlier one is found.

Files change places, and so do the tests of a file; a file's tests stay together, because they share its fixtures.
"""

from __future__ import annotations

import random
from itertools import groupby

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """The seed of the order."""
    parser.addoption("--shuffle", type=int, metavar="SEED", help="run the tests in an order drawn by this seed")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The same order in every worker process."""
    seed = config.getoption("--shuffle")
    if seed is None:
        return
    dice = random.Random(seed)
    files = [list(group) for _, group in groupby(items, key=lambda item: item.path)]
    dice.shuffle(files)
    for group in files:
        dice.shuffle(group)
    items[:] = [item for group in files for item in group]
