"""Ratios as arguments of options."""

from __future__ import annotations

from argparse import ArgumentTypeError


def ratio(text: str) -> float:
    """A ratio above 0, such as 3 for an oversubscription of 3:1. Raises: ArgumentTypeError."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise ArgumentTypeError(f"{text!r} is not a ratio above 0, such as 3 for 3:1")
    return value
