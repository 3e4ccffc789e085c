"""The option --set PATH=VALUE of the verbs that read a scenario, a job or a topology."""

from __future__ import annotations

import argparse


def add_sets(
    parser: argparse._ActionsContainer, meaning: str = "override one value of the scenario; repeatable"
) -> None:
    """Declare --set, which may be given several times; the texts are in `sets`, [] without the option."""
    parser.add_argument("--set", metavar="PATH=VALUE", action="append", default=[], dest="sets", help=meaning)
