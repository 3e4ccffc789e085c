"""Log records as lines on standard error: fixed words first, then the facts a record carries in ``extra``.

Library code writes ``log.info("session up", extra={"node": "leaf1", "at_ns": 1200})``; here that becomes
``info: session up node=leaf1 at_ns=1200``, which is easy to read and to grep. Lines have no colours and no clock: the
times of a run are simulated and are among the facts.
"""

from __future__ import annotations

import logging
import sys
from typing import Final

from fabric.visible import visible

_OWN_FIELDS: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}
"""Attributes of every record; other attributes come from ``extra``."""

_LEVELS: Final = (logging.WARNING, logging.INFO, logging.DEBUG)


class FactsFormatter(logging.Formatter):
    """One line per record: level, message, then ``name=value`` in the given order."""

    def format(self, record: logging.LogRecord) -> str:
        """Raises nothing; a traceback, where there is one, follows on its own lines."""
        facts = "".join(
            f" {name}={visible(str(value))}" for name, value in vars(record).items() if name not in _OWN_FIELDS
        )
        line = f"{record.levelname.lower()}: {visible(record.getMessage())}{facts}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def configure(verbosity: int) -> None:
    """Send records of this project to standard error: warnings, with ``-v`` info, with ``-vv`` debug.

    Other libraries stay at warnings: with ``-vv`` the compiler would print too many debug records. Idempotent.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(FactsFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    for package in ("fabric", "telemetry", "playbooks"):
        logging.getLogger(package).setLevel(_LEVELS[min(verbosity, len(_LEVELS) - 1)])
