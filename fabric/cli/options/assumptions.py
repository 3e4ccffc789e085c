"""`--response` and `--latency`: what no configuration states and a headroom depends on."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from fabric.errors import UnitError
from fabric.theory.headroom import ASSUMED_LATENCY_PS, ASSUMED_RESPONSE
from fabric.units import format_time_ps, parse_time_ps

if TYPE_CHECKING:
    from fabric.configs.buffers.headroom import Assumptions

LONGEST_PS: Final = 10**9


def add_response(parser: argparse.ArgumentParser, option: str) -> None:
    """The time in which a peer stops."""
    parser.add_argument(
        option,
        type=response,
        metavar="half|worst|TIME",
        help=f"time in which the peer stops, or the share of 802.3's limit (default {ASSUMED_RESPONSE}, a scenario's)",
    )


def add_latency(parser: argparse.ArgumentParser) -> None:
    """The time from a frame's last bit to its admission."""
    parser.add_argument(
        "--latency",
        type=_time,
        metavar="TIME",
        help="time from a frame's last bit to its admission in the switch "
        f"(default {format_time_ps(ASSUMED_LATENCY_PS)}, as in a scenario)",
    )


def assumptions(args: argparse.Namespace, response_name: str, frames: tuple[int, int] | None = None) -> Assumptions:
    """The options, and a scenario's values where they were not given."""
    from fabric.configs.buffers.headroom import Assumptions  # noqa: PLC0415  --help needs no formulas

    given, latency_ps = getattr(args, response_name), args.latency
    least, most = frames or (None, None)
    return Assumptions(
        ASSUMED_RESPONSE if given is None else given,
        ASSUMED_LATENCY_PS if latency_ps is None else latency_ps,
        most,
        least,
    )


def response(text: str) -> int | str:
    """A share of the limit, or ps."""
    return text if text in {"half", "worst"} else _time(text)


def _time(text: str) -> int:
    try:
        value = parse_time_ps(text)
    except UnitError as error:
        raise argparse.ArgumentTypeError(f"{error.text}; {error.hint}") from error
    if not 0 <= value <= LONGEST_PS:
        raise argparse.ArgumentTypeError(f"{text!r} is outside 0ns..1ms")
    return value
