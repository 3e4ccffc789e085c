"""Namespaces and daemons of one test, with a record as a laboratory's: whatever ends the test, `fabric lab down` finds
what is left of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

from fabric.lab.netns import Namespaces
from fabric.lab.record import Kind, Record
from fabric.lab.teardown import take_down

_NUMBERS = count(1)


@contextmanager
def owned() -> Iterator[tuple[Record, Namespaces]]:
    """A record and the namespaces that it lists; all of it is removed after the block."""
    record = Record.create(f"test-{os.getpid()}-{next(_NUMBERS)}", "test", Kind.TEST)
    spaces = Namespaces(record)
    try:
        yield record, spaces
    finally:
        spaces.close()
        assert take_down(record).left == []
