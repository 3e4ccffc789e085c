"""The engine's table of shapers (docs/decisions/0104); conventions as in types.py."""

from __future__ import annotations

from typing import Final

from fabric.dataplane.state.layout import I8, table

SHAPERS_OF_A_PORT: Final = 9
"""One for each queue, then that of the whole port."""
# fmt: off
SHAPER = table(  # (n_ports * 9,) or (1,): row = port * 9 + queue, or + 8 for the whole port    owner: the port's device
    ("rate_bps", I8),
    ("burst_ps", I8),            # time in which the rate fills an empty bucket
    ("full_ps", I8),             # when the bucket will be full again                      writer: shaper
)
