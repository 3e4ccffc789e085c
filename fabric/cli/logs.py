"""Log records as lines on standard error: fixed words first, then the facts a record carries in ``extra``.

Library code writes ``log.info("session up", extra={"node": "leaf1", "at_ns": 1200})``; here that becomes
``info: session up node=leaf1 at_ns=1200``, which reads well and greps well. No colours, no clock: a run's times are
simulated and travel as facts.
"""

from __future__ import annotations

import logging
import sys
from typing import Final

_OWN_FIELDS: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}
"""What every record has; anything else on a record came in through ``extra``."""

_LEVELS: Final = (logging.WARNING, logging.INFO, logging.DEBUG)


class FactsFormatter(logging.Formatter):
    """One line a record: level, words, then ``name=value`` for each fact in the order they were given."""

    def format(self, record: logging.LogRecord) -> str:
        """Raises nothing; a traceback, where there is one, follows on its own lines."""
        facts = "".join(f" {name}={value}" for name, value in vars(record).items() if name not in _OWN_FIELDS)
        line = f"{record.levelname.lower()}: {record.getMessage()}{facts}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def configure(verbosity: int) -> None:
    """Send records of our packages to standard error: warnings, with ``-v`` info, with ``-vv`` debug.

    Other libraries stay at warnings, or ``-vv`` would drown a run in the compiler's own debug records. Idempotent.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(FactsFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    for package in ("fabric", "telemetry", "playbooks"):
        logging.getLogger(package).setLevel(_LEVELS[min(verbosity, len(_LEVELS) - 1)])
