"""The dilation that every command has without --dilation, so that what one serves is what another writes rules for."""

from __future__ import annotations

from typing import Final

DEFAULT_DILATION: Final = 15_000.0
"""Wall seconds per simulated second: 1 ms takes 15 s, the usual scrape interval. The same as NOMINAL_DILATION in
telemetry/alerting/rules.py, which is not imported here because --help must not load the rules."""
